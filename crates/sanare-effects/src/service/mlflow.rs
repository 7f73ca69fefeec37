//! The alias of a model in an MLflow registry: moved only from where it was seen, and read again after it (S86).
//!
//! The registry has no compare-and-set. The fence is a read just before the write and two after it; what others do in
//! between is seen and not overwritten.

pub mod registry;
#[cfg(test)]
pub(super) mod twin;

use std::sync::Arc;
use std::time::Duration;

use sanare_core::service::declaration::{Blast, Declaration, Undo};
use sanare_core::service::gates::GateCheck;
use sanare_core::service::port::{Acted, Adapter, Availability, Intent, Probe};
use sanare_core::service::receipt::{Receipt, WorldState};
use sanare_core::service::target::{Identity, Mark, TargetKey};
use sanare_core::service::word::Effect;
use sanare_core::service::{Action, Invalid, Version};

use super::adapter::{availability, identity_of, told};
use super::{fill, world};
use registry::{Alias, Model, Registry, RegistryFault, VersionState};

/// How long after the write the alias is read a second time.
const AGAIN: Duration = Duration::from_secs(1);
/// The tag that names the incident on the version that is made live.
const TAG: &str = "sanare.incident";

/// An alias under care.
pub struct Mlflow {
    registry: Registry,
    model: Model,
    declaration: Declaration,
    /// Who answers for the service.
    served: Option<Arc<dyn Probe>>,
    /// How the service learns of it; without one it looks by itself.
    then: Option<Arc<dyn Adapter>>,
    again: Duration,
}

/// What an act came to before its end.
type Stopped = Acted;

impl Mlflow {
    /// An alias. Its declaration is fixed: idempotent, reversible, with a dry run, fenced by the alias.
    ///
    /// # Errors
    /// [`Invalid`] for a name that no target has.
    pub fn new(
        registry: Registry,
        model: Model,
        served: Option<Arc<dyn Probe>>,
        then: Option<Arc<dyn Adapter>>,
    ) -> Result<Self, Invalid> {
        let target = TargetKey::parse(format!("mlflow:{}/{}/{}", registry.authority(), model.name(), model.alias()))?;
        let declaration = Declaration {
            action: Action::RollbackModel,
            target,
            idempotent: true,
            reversible: true,
            dry_run: true,
            fence: vec![Mark::AliasVersion],
            blast: Blast { touched: 1, of: 1 },
            expected_ms: 5_000,
            timeout_ms: 60_000,
            preconditions: vec!["alias_unmoved".to_owned(), "version_exists".to_owned()],
            identity_probe: Some("alias".to_owned()),
            verification: Vec::new(),
            undo: Undo::MoveBack,
            source_of_truth: None,
        };
        Ok(Self { registry, model, declaration, served, then, again: AGAIN })
    }

    /// With what a configuration declares, which may only be stricter.
    ///
    /// # Errors
    /// [`Invalid`] for what would loosen it.
    pub fn declared(mut self, written: &sanare_core::service::declaration::Written) -> Result<Self, Invalid> {
        self.declaration = self.declaration.stricter(written)?;
        Ok(self)
    }

    /// The alias is where it has to be, or the reason why nothing is done. Only reads: whatever goes wrong, nothing was sent.
    fn unmoved(&self, before: &Version) -> Result<(), Stopped> {
        match self.registry.alias(&self.model) {
            Ok(Alias::At(found)) if found == *before => Ok(()),
            Ok(Alias::At(found)) => Err(told(Effect::Refused, &format!("the alias is at {found}, not at {before}"))),
            Ok(Alias::Absent) => Err(told(Effect::Refused, "there is no such alias")),
            Err(fault) => Err(told(Effect::NotStarted, &fault.to_string())),
        }
    }

    fn exists(&self, version: &Version) -> Result<(), Stopped> {
        match self.registry.version(&self.model, version) {
            Ok(VersionState::Known(known)) if known.is_ready() => Ok(()),
            Ok(VersionState::Known(known)) => {
                Err(told(Effect::Refused, &format!("version {version} is {}", known.status)))
            }
            Ok(VersionState::Absent) => Err(told(Effect::Refused, &format!("there is no version {version}"))),
            Err(fault) => Err(told(Effect::NotStarted, &fault.to_string())),
        }
    }

    fn switch(&self, intent: &Intent, before: &Version, after: &Version) -> Result<(), Stopped> {
        self.unmoved(before)?;
        self.exists(after)?;
        let tagged = self.registry.tag(&self.model, after, TAG, intent.key.incident.as_str());
        if let Err(fault) = tagged {
            // A tag makes nothing live: of the act itself surely nothing was sent.
            return Err(told(Effect::NotStarted, &fault.to_string()));
        }
        self.unmoved(before)?;
        match self.registry.move_alias(&self.model, after) {
            Ok(()) => self.arrived(before, after),
            Err(RegistryFault::NotSent(why)) => Err(told(Effect::NotStarted, &why)),
            Err(RegistryFault::Declined(why)) => Err(told(Effect::Refused, &why)),
            Err(RegistryFault::Lost(why)) => match self.registry.alias(&self.model) {
                Ok(Alias::At(found)) if found == *after => self.arrived(before, after),
                // Before, or unreadable: the write may still be under way.
                _ => Err(told(Effect::Unknown, &why)),
            },
        }
    }

    /// Read back at once and after a second. Any value but ours: somebody else moved it, and nothing is written again.
    fn arrived(&self, before: &Version, after: &Version) -> Result<(), Stopped> {
        for pause in [Duration::ZERO, self.again] {
            std::thread::sleep(pause);
            match self.registry.alias(&self.model) {
                Ok(Alias::At(found)) if found == *after => {}
                Ok(Alias::At(found)) if found == *before => {
                    return Err(told(
                        Effect::Unknown,
                        &format!("the alias is back at {found}: somebody else moved it"),
                    ));
                }
                Ok(Alias::At(found)) => {
                    return Err(told(Effect::Unknown, &format!("somebody else moved the alias to {found}")));
                }
                Ok(Alias::Absent) => return Err(told(Effect::Unknown, "somebody else took the alias away")),
                Err(fault) => return Err(told(Effect::Unknown, &fault.to_string())),
            }
        }
        Ok(())
    }

    /// Lets the service load what the alias names now.
    fn load(&self, intent: &Intent, after: &Version) -> Acted {
        let arrived = Identity::default().with(Mark::AliasVersion, after.as_str());
        let Some(then) = &self.then else { return Acted { arrived, ..Acted::plain(Effect::Done) } };
        let own = Intent { before: then.identity(), target: then.declaration().target.clone(), ..intent.clone() };
        let loaded = then.act(&own);
        match loaded.effect {
            Effect::Done => Acted { arrived, ..loaded },
            // The alias is moved, so "not started" of the whole would be wrong.
            effect => Acted {
                arrived,
                ..told(Effect::Unknown, &format!("the alias is moved, the service's load is {effect}"))
            },
        }
    }
}

impl Adapter for Mlflow {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn available(&self) -> Availability {
        let known_good = self.registry.alias(&self.model);
        availability(known_good.err().map(|fault| fault.to_string()))
    }

    fn identity(&self) -> Identity {
        let served = identity_of(self.served.as_ref());
        match self.registry.alias(&self.model) {
            Ok(Alias::At(version)) => served.with(Mark::AliasVersion, version.as_str()),
            _ => served,
        }
    }

    fn rehearse(&self, intent: &Intent) -> Vec<GateCheck> {
        let (Some(before), Some(after)) = (fill::version_before(intent), fill::version(intent)) else {
            return vec![GateCheck::failed("preconditions", "versions", "there is no version to move from or to")];
        };
        let check = |name: &str, stopped: Result<(), Stopped>| match stopped {
            Ok(()) => GateCheck::passed("preconditions", name),
            // What could not be read is no answer; what could be read and is wrong is one.
            Err(acted) if acted.effect == Effect::NotStarted => {
                GateCheck::skipped("preconditions", name, acted.output.as_str())
            }
            Err(acted) => GateCheck::failed("preconditions", name, acted.output.as_str()),
        };
        let checks = vec![check("alias_unmoved", self.unmoved(before)), check("version_exists", self.exists(after))];
        let good = checks.iter().all(|check| check.answer == sanare_core::gate::Answer::Passed);
        // All that the act does before its one write is a read, so these reads are the dry run.
        let dry = match good {
            true => GateCheck::passed("dry_run", "reads"),
            false => GateCheck::failed("dry_run", "reads", "a precondition does not hold"),
        };
        checks.into_iter().chain([dry]).collect()
    }

    fn act(&self, intent: &Intent) -> Acted {
        let (Some(before), Some(after)) = (fill::version_before(intent), fill::version(intent)) else {
            return told(Effect::NotStarted, "there is no version to move from or to");
        };
        match self.switch(intent, before, after) {
            Ok(()) => self.load(intent, after),
            Err(stopped) => stopped,
        }
    }

    fn state(&self, receipt: &Receipt) -> WorldState {
        world::compare(receipt, &self.identity())
    }
}

#[cfg(test)]
mod tests;
