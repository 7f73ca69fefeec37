//! What acts touch: every target with what is declared of it, what it is now, and which act has it (S79, S107).

use std::collections::BTreeSet;

use sanare_core::port::StoreFault;
use sanare_core::service::port::Availability;
use sanare_core::service::{Action, Application, Component, Identity, Mark, Receipt, TargetKey};
use serde::Serialize;

use crate::service::Healer;

/// A target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Target {
    /// The service.
    pub application: Application,
    /// The part of it.
    pub component: Component,
    /// What is done to it.
    pub action: Action,
    /// By what.
    pub adapter: String,
    /// What it physically is; absent where the program has not lent its function to this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetKey>,
    /// What is declared of it, as `idempotent`, `reversible`, `fenced`.
    pub declared: Vec<&'static str>,
    /// Instances that are touched at once, of how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub touches: Option<(u32, u32)>,
    /// Whether it can be acted on now: `available`, or why not; absent where nobody asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
    /// What it is now, where it was asked and says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// The receipt that has it, and how that stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by: Option<(String, String)>,
}

impl Healer {
    /// Every target that is configured or lent, by service, part and action. With `ask` each is asked how it is; nothing
    /// is changed.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn targets(&self, ask: bool) -> Result<Vec<Target>, StoreFault> {
        let unsettled = self.store().unsettled()?;
        let house = self.house();
        let setup = self.setup();
        let configured = setup.configuration.services.iter().flat_map(|(application, service)| {
            service.targets.iter().map(|target| (application.clone(), target.component.clone(), target.action))
        });
        let mut keys: BTreeSet<(Application, Component, Action)> = configured.collect();
        keys.extend(house.hands.targets.keys().cloned());
        Ok(keys.into_iter().map(|key| self.target(&house, key, &unsettled, ask)).collect())
    }

    fn target(
        &self,
        house: &crate::service::house::LiveHouse,
        key: (Application, Component, Action),
        unsettled: &[Receipt],
        ask: bool,
    ) -> Target {
        let hand = house.hands.targets.get(&key);
        let (application, component, action) = key;
        let setup = self.setup();
        let services = &setup.configuration.services;
        let settings = services
            .get(&application)
            .and_then(|service| service.targets.iter().find(|one| one.action == action && one.component == component));
        let declaration = hand.map(|hand| hand.adapter.declaration());
        let flags = declaration.map(|one| {
            [("idempotent", one.idempotent), ("reversible", one.reversible), ("fenced", !one.fence.is_empty())]
        });
        let target = declaration.map(|one| one.target.clone());
        let held = unsettled.iter().find(|one| target.as_ref() == Some(&one.target) && one.state.blocks());
        let identity = hand.filter(|_| ask).map(|hand| {
            let own = hand.adapter.identity();
            let told = hand.probe.as_ref().map(|probe| probe.ask().identity).unwrap_or_default();
            let marks: Vec<(Mark, String)> = told.marks().map(|(mark, value)| (mark, value.to_owned())).collect();
            marks.into_iter().fold(own, |identity, (mark, value)| identity.with(mark, value.as_str()))
        });
        let now = match hand {
            None => Some("the program has not lent it to this process".to_owned()),
            Some(hand) => ask.then(|| match hand.adapter.available() {
                Availability::Available => "available".to_owned(),
                Availability::Unavailable(why) => why.to_string(),
            }),
        };
        let adapter = hand.map(|hand| hand.kind).or(settings.map(|one| one.adapter.word())).unwrap_or_default();
        Target {
            application,
            component,
            action,
            adapter: adapter.to_owned(),
            target,
            declared: flags.iter().flatten().filter(|(_, is)| *is).map(|(word, _)| *word).collect(),
            touches: declaration.map(|one| (one.blast.touched, one.blast.of)),
            now,
            identity: identity.filter(|one| !one.is_empty()),
            held_by: held.map(|one| (one.id.to_string(), one.state.to_string())),
        }
    }
}
