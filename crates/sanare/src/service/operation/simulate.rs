//! A fault played through the whole loop on the owner's own configuration, on a clock of its own: what would be opened,
//! diagnosed, proposed and decided. Nothing outside is asked or touched (S137).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sanare_core::incident::Mode;
use sanare_core::ledger::Record;
use sanare_core::policy::stricter;
use sanare_core::port::{Clock, StoreFault};
use sanare_core::service::config::{AdapterSettings, Bound, RuleSettings};
use sanare_core::service::declaration::Declaration;
use sanare_core::service::port::{Acted, Adapter, Answered, Availability, Intent, Probe};
use sanare_core::service::receipt::{Receipt, WorldState};
use sanare_core::service::rules::RulesAgent;
use sanare_core::service::{
    Application, Effect, GateCheck, Health, Identity, Incident, Labels, Mark, NotMade, ObservedValue, Version,
};

use super::mark_good::NotMarked;
use crate::service::hands::{Hand, Hands};
use crate::service::{Healer, More, NotMadeHealer, Options, Setup, Tools};
use crate::wire::clock::SystemClock;

/// What was played.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// Incidents, with their records.
    pub incidents: Vec<(Incident, Vec<Record>)>,
    /// Seconds until the first was opened; nothing where none was.
    pub opened_after: Option<u64>,
}

/// Why nothing was played.
#[derive(Debug, thiserror::Error)]
pub enum NotSimulated {
    /// There is no such rule.
    #[error("no rule `{rule}` at [service.{application}]")]
    NoRule {
        /// The service.
        application: Application,
        /// The rule.
        rule: String,
    },
    /// The configuration is wrong.
    #[error(transparent)]
    Healer(#[from] NotMadeHealer),
    /// The store in memory failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// Milliseconds between two readings.
const STEP: u64 = 5_000;
/// Minutes of good readings, and of bad ones at most beside what the rule waits for.
const GOOD: u64 = 5;
const BAD: u64 = 10;

/// Plays readings beyond the bound of a rule. `changed` says that a version went live ten minutes before, after one that is
/// known as good.
///
/// # Errors
/// [`NotSimulated`].
pub fn simulate(
    setup: &Setup,
    application: &Application,
    rule: &str,
    changed: bool,
) -> Result<Simulated, NotSimulated> {
    let mut setup = setup.clone();
    let service = setup.configuration.services.get_mut(application);
    let found = service.and_then(|service| {
        service.mode = stricter(service.mode, Mode::DryRun);
        // Nobody outside is asked.
        (service.probes, service.queries, service.diagnostics) = (Vec::new(), Vec::new(), Vec::new());
        service.rules.iter().find(|one| one.id == rule).cloned()
    });
    let no_rule = || NotSimulated::NoRule { application: application.clone(), rule: rule.to_owned() };
    let found = found.ok_or_else(no_rule)?;
    let hands = stand_ins(&setup, application);
    let clock = Arc::new(Moved { began: SystemClock::new().now(), passed: AtomicU64::new(0) });
    let store = Arc::new(sanare_store::Memory::default());
    let tools = Tools { store, clock: clock.clone(), agent: Arc::new(RulesAgent) };
    let healer = Healer::with_hands(setup, tools, hands)?;
    play(&healer, &clock, application, &found, changed)
}

fn play(
    healer: &Healer,
    clock: &Moved,
    application: &Application,
    rule: &RuleSettings,
    changed: bool,
) -> Result<Simulated, NotSimulated> {
    let options = Options { component: rule.component.clone().unwrap_or_default(), ..Options::default() };
    let service = healer.service(application.clone(), options);
    let (good, bad) = numbers(rule);
    let labels = Labels::new(rule.labels.clone()).unwrap_or_default();
    let minutes = |minutes: u64, number: f64, until: &dyn Fn() -> bool| -> Result<(), StoreFault> {
        for _ in 0..minutes * 60_000 / STEP {
            clock.passed.fetch_add(STEP, Ordering::SeqCst);
            let more = More { labels: labels.clone(), ..More::default() };
            service.report(&rule.signal, ObservedValue::metric(number), more);
            healer.run_once()?;
            if until() {
                break;
            }
        }
        Ok(())
    };
    if let (true, Ok(one), Ok(two)) = (changed, Version::parse("before"), Version::parse("now")) {
        healer.mark_good(application, &one, "simulated").map_err(|error| match error {
            NotMarked::NotMade(NotMade::Store(fault)) => fault,
            other => StoreFault::Corrupt(other.to_string()),
        })?;
        for version in [one, two] {
            // A second between the two, so that they have an order.
            clock.passed.fetch_add(1_000, Ordering::SeqCst);
            drop(service.deployed(None, version));
        }
    }
    minutes(GOOD, good, &|| false)?;
    let fault_at = clock.now();
    let pending = rule.pending.unwrap_or(60_000_000) / 60_000_000;
    let ended = || healer.incidents(10).is_ok_and(|all| !all.is_empty() && all.iter().all(|one| one.outcome.is_some()));
    minutes(pending + BAD, bad, &ended)?;
    let mut incidents = Vec::new();
    for incident in healer.incidents(100)? {
        let records = healer.store().records_of(&incident.id)?;
        incidents.push((incident, records));
    }
    let first = incidents.iter().map(|(incident, _)| incident.opened.millis()).min();
    let opened_after = first.map(|opened| opened.saturating_sub(fault_at) / 1_000);
    Ok(Simulated { incidents, opened_after })
}

/// A number well within the bound, and one well beyond it.
fn numbers(rule: &RuleSettings) -> (f64, f64) {
    let (bound, up) = match rule.bound {
        Bound::Above(bound) => (bound, 1.0),
        Bound::Below(bound) => (bound, -1.0),
    };
    let far = bound.abs().max(1.0);
    let clear = rule.clear.unwrap_or(bound);
    (clear - up * far * 0.5, bound + up * far)
}

/// For every configured target one that declares the same, is there, and is never acted on.
fn stand_ins(setup: &Setup, application: &Application) -> Hands {
    let mut hands = Hands::default();
    let targets = setup.configuration.services.get(application).map(|service| service.targets.as_slice());
    for target in targets.unwrap_or_default() {
        let mlflow = matches!(target.adapter, AdapterSettings::Mlflow { .. });
        let mut declared = target.declared.clone();
        if mlflow {
            declared.idempotent = declared.idempotent.or(Some(true));
            declared.fence = Some(vec![Mark::AliasVersion]);
            declared.identity_probe = declared.identity_probe.or_else(|| Some("alias".to_owned()));
        }
        let told = declared.identity_probe.is_some();
        let Ok(declaration) = Declaration::check(target.action, target.key.clone(), declared) else { continue };
        let marks: &[Mark] = if told { Mark::ALL } else { &[] };
        let identity = marks.iter().fold(Identity::default(), |identity, mark| identity.with(*mark, "now"));
        let stand_in = Arc::new(StandIn { declaration, identity });
        let hand = Hand {
            adapter: stand_in.clone(),
            kind: target.adapter.word(),
            probe: told.then_some(stand_in as Arc<dyn Probe>),
            component: target.component.clone(),
        };
        hands.targets.insert((application.clone(), target.component.clone(), target.action), hand);
    }
    hands
}

/// A target that is well, and that nobody touches.
struct StandIn {
    declaration: Declaration,
    identity: Identity,
}

impl Adapter for StandIn {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn available(&self) -> Availability {
        Availability::Available
    }

    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    fn rehearse(&self, _: &Intent) -> Vec<GateCheck> {
        vec![GateCheck::passed("preconditions", "simulated"), GateCheck::passed("dry_run", "simulated")]
    }

    fn act(&self, _: &Intent) -> Acted {
        Acted::plain(Effect::NotStarted)
    }

    fn state(&self, _: &Receipt) -> WorldState {
        WorldState::Before
    }
}

impl Probe for StandIn {
    fn name(&self) -> &'static str {
        "simulated"
    }

    fn ask(&self) -> Answered {
        Answered { health: Health::Pass, identity: self.identity.clone(), millis: 0, detail: None }
    }
}

/// A clock that is moved by hand.
struct Moved {
    began: u64,
    passed: AtomicU64,
}

impl Clock for Moved {
    fn now(&self) -> u64 {
        self.began + self.elapsed()
    }

    fn elapsed(&self) -> u64 {
        self.passed.load(Ordering::SeqCst)
    }

    fn chance(&self) -> u128 {
        SystemClock::new().chance()
    }
}
