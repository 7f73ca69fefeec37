//! The numbers of the policy file as they hold for one application (S93): the file's own, overridden by its table.

use std::collections::BTreeSet;

use crate::incident::Mode;
use crate::policy::file::{Count as WrittenCount, ServiceTable, milliseconds};
use crate::policy::{Policy, Verdict};
use crate::service::action::Action;
use crate::service::limits::{Cooldown, Count, Counts};
use crate::service::moment::{MINUTE, Moment};
use crate::service::name::Application;

/// What the built-in rules compare with.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// What may be done at all; the stricter of this and the settings' holds.
    pub mode: Mode,
    /// Below it a person is asked.
    pub confidence_gate: f64,
    /// Verified attempts before measured confidence counts.
    pub history_min: u32,
    /// Actions that always ask; request_redeployment is always among them.
    pub always_ask: BTreeSet<Action>,
    /// Actions that nothing lifts.
    pub forbidden: BTreeSet<Action>,
    /// Application attempts of one incident.
    pub attempts: u32,
    /// How long a target rests.
    pub cooldown: Cooldown,
    /// Acts that an hour and a day may see.
    pub windows: Counts,
    /// How much at once.
    pub blast: BlastLimits,
    /// Who is asked, and for how long.
    pub approvals: ApprovalRules,
}

/// How much may be touched at once.
#[derive(Clone, Debug, PartialEq)]
pub struct BlastLimits {
    /// Share of the instances.
    pub share: f64,
    /// Instances that may be more than the share.
    pub floor: u32,
    /// What those within the floor get.
    pub floor_verdict: Verdict,
    /// Applications.
    pub applications_at_once: u32,
    /// Share of the instances that stays healthy.
    pub min_healthy: f64,
}

/// Who is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRules {
    /// Microseconds for which a question stands.
    pub expire: u64,
    /// Accounts and `group:NAME`; an empty list is nobody.
    pub approvers: Vec<String>,
    /// How many different persons.
    pub count: u32,
}

impl Default for Numbers {
    fn default() -> Self {
        let count = |hour, day| Count { hour, day };
        Self {
            mode: Mode::Ask,
            confidence_gate: 0.7,
            history_min: 5,
            always_ask: [Action::RequestRedeployment, Action::RollbackModel, Action::RequestRetraining].into(),
            forbidden: BTreeSet::new(),
            attempts: 3,
            cooldown: Cooldown::default(),
            windows: Counts { target: count(2, 6), application: count(4, 12), all: count(10, 50) },
            blast: BlastLimits {
                share: 0.34,
                floor: 1,
                floor_verdict: Verdict::Ask,
                applications_at_once: 2,
                min_healthy: 0.5,
            },
            approvals: ApprovalRules { expire: 30 * MINUTE, approvers: Vec::new(), count: 1 },
        }
    }
}

impl Numbers {
    /// The numbers for an application.
    pub fn of(policy: &Policy, application: &Application) -> Self {
        let mut numbers = Self::default();
        let Some(file) = policy.file() else { return numbers };
        numbers.take(&file.service);
        if let Some(table) = file.applications.get(application.as_str()) {
            numbers.take(table);
        }
        numbers.mode = policy.mode_for(application.as_str()).unwrap_or(Mode::Ask);
        numbers
    }

    fn take(&mut self, table: &ServiceTable) {
        let set = |words: &[String]| words.iter().filter_map(|word| Action::parse(word).ok()).collect();
        if let Some(gate) = table.confidence_gate {
            self.confidence_gate = gate;
        }
        if let Some(least) = table.history_min {
            self.history_min = least;
        }
        if let Some(words) = &table.always_ask {
            self.always_ask = set(words);
            self.always_ask.insert(Action::RequestRedeployment);
        }
        if let Some(words) = &table.forbidden {
            self.forbidden = set(words);
        }
        if let Some(attempts) = table.attempts {
            self.attempts = attempts;
        }
        if let Some(cooldown) = &table.cooldown {
            self.cooldown.first = micros(cooldown.first.as_deref()).unwrap_or(self.cooldown.first);
            self.cooldown.factor = cooldown.factor.unwrap_or(self.cooldown.factor);
            self.cooldown.max = micros(cooldown.max.as_deref()).unwrap_or(self.cooldown.max);
        }
        if let Some(windows) = &table.windows {
            let take = |count: &mut Count, written: &Option<WrittenCount>| {
                if let Some(written) = written {
                    count.hour = written.hour.unwrap_or(count.hour);
                    count.day = written.day.unwrap_or(count.day);
                }
            };
            take(&mut self.windows.target, &windows.target);
            take(&mut self.windows.application, &windows.application);
            take(&mut self.windows.all, &windows.all);
        }
        if let Some(blast) = &table.blast {
            let own = &mut self.blast;
            own.share = blast.share.unwrap_or(own.share);
            own.floor = blast.floor.unwrap_or(own.floor);
            own.applications_at_once = blast.applications_at_once.unwrap_or(own.applications_at_once);
            own.min_healthy = blast.min_healthy.unwrap_or(own.min_healthy);
            match blast.floor_verdict.as_deref() {
                Some("refuse") => own.floor_verdict = Verdict::Refuse,
                Some(_) => own.floor_verdict = Verdict::Ask,
                None => {}
            }
        }
        if let Some(approvals) = &table.approvals {
            let own = &mut self.approvals;
            own.expire = micros(approvals.expire.as_deref()).unwrap_or(own.expire);
            own.count = approvals.count.unwrap_or(own.count);
            if let Some(approvers) = &approvals.approvers {
                own.approvers.clone_from(approvers);
            }
        }
    }

    /// When a question that is asked now expires.
    pub fn expires(&self, now: Moment) -> Moment {
        now.plus(self.approvals.expire)
    }
}

fn micros(written: Option<&str>) -> Option<u64> {
    milliseconds(written?)?.checked_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::Numbers;
    use crate::incident::Mode;
    use crate::policy::Policy;
    use crate::service::action::Action;
    use crate::service::moment::{HOUR, MINUTE};
    use crate::service::name::Application;

    /// The specification's example.
    const EXAMPLE: &str = r#"
version = 1
mode = "auto"
confidence_gate = 0.8
always_ask = ["rollback_model"]
cooldown = { first = "20m", factor = 3, max = "12h" }
windows = { target = { hour = 1 } }
blast = { share = 0.5, floor_verdict = "refuse" }
approvals = { expire = "5m", approvers = ["ann", "group:mlops"], count = 2 }

[application.fraud]
mode = "ask"
always_ask = []
attempts = 1
"#;

    #[test]
    fn tables_override_and_what_is_not_written_is_the_default() {
        let policy = Policy::read(EXAMPLE);
        assert_eq!(policy.trouble(), None);
        let of = |name: &str| Numbers::of(&policy, &Application::parse(name).expect("a name"));
        let (fraud, other) = (of("fraud"), of("churn"));
        assert_eq!((fraud.mode, other.mode), (Mode::Ask, Mode::Auto));
        assert_eq!((fraud.attempts, other.attempts), (1, 3));
        assert_eq!(fraud.always_ask.iter().copied().collect::<Vec<_>>(), [Action::RequestRedeployment]);
        assert!(
            other.always_ask.contains(&Action::RollbackModel)
                && other.always_ask.contains(&Action::RequestRedeployment)
        );
        assert_eq!((fraud.cooldown.first, fraud.cooldown.max), (20 * MINUTE, 12 * HOUR));
        assert_eq!((fraud.windows.target.hour, fraud.windows.target.day, fraud.windows.all.day), (1, 6, 50));
        assert_eq!((fraud.approvals.expire, fraud.approvals.count), (5 * MINUTE, 2));
        assert_eq!(fraud.confidence_gate, 0.8);
        let none = Numbers::of(&Policy::none(), &Application::parse("fraud").expect("a name"));
        assert_eq!(none, Numbers::default());
        assert!(none.approvals.approvers.is_empty(), "an empty list is nobody");
    }

    #[test]
    fn what_is_no_action_or_no_number_makes_the_file_unreadable() {
        for bad in [
            "always_ask = [\"reboot\"]",
            "forbidden = [\"Restart_Component\"]",
            "cooldown = { factor = 0.5 }",
            "cooldown = { first = \"10\" }",
            "confidence_gate = 0.2",
            "blast = { share = 34 }",
            "unknown = 1",
        ] {
            assert!(Policy::read(&format!("version = 1\n{bad}\n")).trouble().is_some(), "{bad}");
        }
    }
}
