//! What is proposed: one of eight actions on a configured target, with parameters of our own (S11).

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::declaration::Undo;
use super::diagnosis::Diagnosis;
use super::invalid::Invalid;
use super::name::{Component, Version};
use super::target::TargetKey;
use super::text::Text;
use crate::id::Id;

/// Parameters of an action: closed, and always from configuration or our own records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Params {
    /// None.
    #[default]
    Empty,
    /// Of a restart.
    Restart {
        /// What is restarted.
        component: Component,
    },
    /// Of a rollback.
    Rollback {
        /// What is live and goes.
        from_version: Version,
        /// What was good and comes.
        to_version: Version,
    },
    /// Of run_diagnostic.
    Diagnostic {
        /// Which configured check.
        name: String,
    },
}

/// What an agent may say of an action: everything else is added by us.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Advice {
    /// Which of the offered actions.
    pub action: Action,
    /// Why it.
    pub rationale: Text,
    /// What should be so afterwards.
    pub expected_outcome: Text,
}

/// A proposal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// `pro_…`.
    pub id: Id,
    /// The incident that it is for.
    pub incident_id: Id,
    /// The diagnosis that it follows from.
    pub diagnosis_id: Id,
    /// What is to be done.
    pub action: Action,
    /// To what; nothing for framework actions.
    pub target: Option<TargetKey>,
    /// With which parameters.
    pub params: Params,
    /// Why.
    pub rationale: Text,
    /// What should be so afterwards.
    pub expected_outcome: Text,
    /// How it is taken back.
    pub undo: Undo,
}

impl Proposal {
    /// Checks a proposal.
    ///
    /// # Errors
    /// [`Invalid`] for the first field that is wrong.
    pub fn check(self) -> Result<Self, Invalid> {
        if self.rationale.is_empty() {
            return Err(Invalid::new("rationale", "is blank"));
        }
        if self.expected_outcome.is_empty() {
            return Err(Invalid::new("expected_outcome", "is blank"));
        }
        if self.action.is_framework() == self.target.is_some() {
            return Err(Invalid::new("target", "stands with an application action, and only with one"));
        }
        let fits = match (&self.params, self.action) {
            (Params::Restart { .. }, action) => action == Action::RestartComponent,
            (Params::Rollback { from_version, to_version }, action) => {
                action == Action::RollbackModel && from_version != to_version
            }
            (Params::Diagnostic { .. }, action) => action == Action::RunDiagnostic,
            (Params::Empty, action) => {
                !matches!(action, Action::RestartComponent | Action::RollbackModel | Action::RunDiagnostic)
            }
        };
        if fits { Ok(self) } else { Err(Invalid::new("params", format!("are not those of {}", self.action))) }
    }
}

/// What an agent answers: a diagnosis, and at most one action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentResult {
    /// What is wrong.
    pub diagnosis: Diagnosis,
    /// What to do about it.
    pub advice: Option<Advice>,
}

impl AgentResult {
    /// Checks a result against what was asked: the incident, and the actions that were offered.
    ///
    /// # Errors
    /// [`Invalid`] for the first rule that it breaks; its diagnosis is checked as well.
    pub fn check(self, incident: &Id, offered: &[Action]) -> Result<Self, Invalid> {
        let diagnosis = self.diagnosis.check().map_err(|invalid| invalid.within("diagnosis"))?;
        if diagnosis.incident_id != *incident {
            return Err(Invalid::new("diagnosis.incident_id", "is another incident than was asked about"));
        }
        if let Some(advice) = &self.advice {
            if !offered.contains(&advice.action) {
                return Err(Invalid::new("advice.action", format!("`{}` was not offered", advice.action)));
            }
            if advice.rationale.is_empty() || advice.expected_outcome.is_empty() {
                return Err(Invalid::new("advice.rationale", "or `expected_outcome` is blank"));
            }
            if diagnosis.probable_cause.is_none() && !advice.action.is_framework() {
                return Err(Invalid::new("advice.action", "is an application action without a cause"));
            }
        }
        Ok(Self { diagnosis, advice: self.advice })
    }

    /// The proposal that follows: its target and parameters come from us.
    ///
    /// # Errors
    /// [`Invalid`] when they do not fit the action.
    pub fn propose(
        &self,
        id: Id,
        target: Option<TargetKey>,
        params: Params,
        undo: Undo,
    ) -> Option<Result<Proposal, Invalid>> {
        let advice = self.advice.as_ref()?;
        let proposal = Proposal {
            id,
            incident_id: self.diagnosis.incident_id.clone(),
            diagnosis_id: self.diagnosis.id.clone(),
            action: advice.action,
            target,
            params,
            rationale: advice.rationale.clone(),
            expected_outcome: advice.expected_outcome.clone(),
            undo,
        };
        Some(proposal.check())
    }
}

#[cfg(test)]
mod tests {
    use super::{Advice, AgentResult, Params, Proposal};
    use crate::id::Id;
    use crate::service::action::Action;
    use crate::service::declaration::Undo;
    use crate::service::diagnosis::tests::diagnosis;
    use crate::service::name::{Component, Version};
    use crate::service::target::TargetKey;
    use crate::service::text::Text;

    fn result(action: Action) -> AgentResult {
        let advice = Advice { action, rationale: Text::of("it hangs"), expected_outcome: Text::of("it answers") };
        AgentResult { diagnosis: diagnosis(), advice: Some(advice) }
    }

    fn refused(change: impl FnOnce(&mut AgentResult)) -> String {
        let mut one = result(Action::RestartComponent);
        change(&mut one);
        let offered = [Action::RestartComponent, Action::Escalate];
        one.check(&Id::new("inc", 1, 1), &offered).map_or_else(|invalid| invalid.field, |_| "good".to_owned())
    }

    #[test]
    fn each_refusal_of_a_result() {
        assert_eq!(refused(|_| {}), "good");
        assert_eq!(refused(|one| one.advice = None), "good");
        assert_eq!(refused(|one| one.diagnosis.incident_id = Id::new("inc", 9, 9)), "diagnosis.incident_id");
        assert_eq!(refused(|one| one.diagnosis.summary = Text::of("")), "diagnosis.summary");
        let advise = |one: &mut AgentResult, action| one.advice = result(action).advice;
        assert_eq!(refused(|one| advise(one, Action::ReloadModel)), "advice.action");
        let without_cause = |one: &mut AgentResult| {
            one.diagnosis.probable_cause = None;
            one.diagnosis.missing_information = vec![Text::of("logs")];
        };
        assert_eq!(refused(without_cause), "advice.action");
        assert_eq!(
            refused(|one| {
                without_cause(one);
                advise(one, Action::Escalate);
            }),
            "good"
        );
    }

    #[test]
    fn a_proposal_has_the_parameters_of_its_action() {
        let key = || TargetKey::parse("systemd:host/unit").expect("a key");
        let version = |text: &str| Version::parse(text).expect("a version");
        let check = |action: Action, target: Option<TargetKey>, params: Params| -> String {
            let made = result(action).propose(Id::new("pro", 1, 1), target, params, Undo::None);
            match made.expect("there is advice") {
                Ok(Proposal { .. }) => "good".to_owned(),
                Err(invalid) => invalid.field,
            }
        };
        let restart = || Params::Restart { component: Component::default() };
        assert_eq!(check(Action::RestartComponent, Some(key()), restart()), "good");
        assert_eq!(check(Action::RestartComponent, None, restart()), "target");
        assert_eq!(check(Action::RestartComponent, Some(key()), Params::Empty), "params");
        assert_eq!(check(Action::ReloadModel, Some(key()), restart()), "params");
        let back = |from: &str, to: &str| Params::Rollback { from_version: version(from), to_version: version(to) };
        assert_eq!(check(Action::RollbackModel, Some(key()), back("42", "41")), "good");
        assert_eq!(check(Action::RollbackModel, Some(key()), back("42", "42")), "params");
        assert_eq!(check(Action::Escalate, Some(key()), Params::Empty), "target");
        assert_eq!(check(Action::Escalate, None, Params::Empty), "good");
    }
}
