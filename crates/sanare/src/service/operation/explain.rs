//! Why policy says what it says: of a case that somebody makes up (S98).

use sanare_core::policy::{Decision, Policy, Verdict, stricter};
use sanare_core::port::StoreFault;
use sanare_core::service::Moment;
use sanare_core::service::config::{Obstacle, obstacles};
use sanare_core::service::policy::{Case, Explained, Numbers, explain, judge};

use sanare_engine::service::NotDone;

use super::incidents::LOOKED_THROUGH;
use super::people::NotByPerson;
use crate::service::Healer;

impl Healer {
    /// Every rule on a case, with the verdict. The mode is the stricter of the case's, the service's and the policy's.
    pub fn explain(&self, case: &Case) -> (Decision, Vec<Explained>) {
        let now = self.clock().now();
        let setup = self.setup();
        let policy = setup.policy(now);
        let numbers = Numbers::of(&policy, &case.application);
        let service = setup.configuration.services.get(&case.application);
        let mode = service.map_or(case.mode, |service| stricter(case.mode, service.mode));
        let case = Case { mode: stricter(mode, numbers.mode), ..case.clone() };
        (judge(&case, &numbers, &policy), explain(&case, &numbers, &policy))
    }

    /// The same for the last proposal of an incident, as it would be judged now.
    ///
    /// # Errors
    /// [`NotByPerson`]: there is no such incident, or nothing was proposed in it.
    pub fn explain_incident(&self, id: &str) -> Result<(Decision, Vec<Explained>), NotByPerson> {
        let (incident, _) = self.incident(id)?;
        let house = self.house();
        let case = self.within(&house, |acting| acting.case_now(&incident.id))?;
        let nothing = || NotDone::NotAvailable("nothing was proposed: there is nothing to judge".to_owned());
        let case = case.ok_or_else(nothing)?;
        let policy = self.setup().policy(self.clock().now());
        let numbers = Numbers::of(&policy, &case.application);
        Ok((judge(&case, &numbers, &policy), explain(&case, &numbers, &policy)))
    }

    /// Past decisions that would be others under a policy, one line each, and how many were looked at. The mode is the
    /// stricter of the service's as it is now and the policy's.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn judged_again(&self, policy: &Policy, since: Moment) -> Result<(usize, Vec<String>), StoreFault> {
        let (mut count, mut differences) = (0, Vec::new());
        for incident in self.store().newest_incidents(LOOKED_THROUGH)? {
            for record in self.store().records_of(&incident.id)? {
                let json = record.json();
                let case = serde_json::from_value::<Case>(json["case"].clone());
                let was = serde_json::from_value::<Decision>(json["decision"].clone());
                let (Ok(case), Ok(was)) = (case, was) else { continue };
                if record.at < since.millis() {
                    continue;
                }
                count += 1;
                let numbers = Numbers::of(policy, &case.application);
                let setup = self.setup();
                let service = setup.configuration.services.get(&case.application);
                let mode = service.map_or(numbers.mode, |service| stricter(service.mode, numbers.mode));
                let now = judge(&Case { mode, policy_trouble: None, ..case }, &numbers, policy);
                if now.verdict != was.verdict {
                    let (was, is) = (word(was.verdict), word(now.verdict));
                    differences.push(format!("{}: was {was}, would be {is} ({})", incident.id, now.rules.join(", ")));
                }
            }
        }
        Ok((count, differences))
    }

    /// What will never be done by itself, and why.
    pub fn obstacles(&self) -> Vec<Obstacle> {
        let now = self.clock().now();
        let setup = self.setup();
        obstacles(&setup.configuration, &setup.policy(now), Moment::from_millis(now))
    }
}

/// The word of a verdict.
pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Permit => "permit",
        Verdict::Ask => "ask",
        Verdict::Refuse => "refuse",
    }
}
