//! The eight actions: what they mean, for people and models alike (S7).

use super::word::words;

words! {
    /// What may be done about an incident.
    Action("action") {
        /// Starts the serving process again.
        RestartComponent = "restart_component",
        /// Loads the current artefact again.
        ReloadModel = "reload_model",
        /// Makes the last known-good version live.
        RollbackModel = "rollback_model",
        /// Asks a pipeline for a new model.
        RequestRetraining = "request_retraining",
        /// Rolls out a model or service.
        RequestRedeployment = "request_redeployment",
        /// Runs a configured read-only check.
        RunDiagnostic = "run_diagnostic",
        /// Hands the incident to a person.
        Escalate = "escalate",
        /// Waits and looks again.
        NoAction = "no_action",
    }
}

/// The fixed meaning of an action, shown wherever one is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guide {
    /// What it does, and for what.
    pub does: &'static str,
    /// What it leaves alone.
    pub does_not: &'static str,
    /// How it is taken back.
    pub undo: &'static str,
}

impl Action {
    /// Its line of the guide.
    pub fn guide(self) -> Guide {
        let line = |does, does_not, undo| Guide { does, does_not, undo };
        match self {
            Self::RestartComponent => line(
                "starts the serving process again: for hangs, crashes, passing slowness",
                "does not touch the model",
                "cannot be undone",
            ),
            Self::ReloadModel => line(
                "loads the current artefact again from storage: for a failed or damaged load",
                "does not change which version is live",
                "cannot be undone",
            ),
            Self::RollbackModel => line(
                "makes the last known-good version live: for a bad recent model change",
                "does not pick any other version",
                "moves back, if the version is still the one that was written",
            ),
            Self::RequestRetraining => line(
                "asks a pipeline for a new model",
                "does not change what is live",
                "cancels the job, if the adapter can",
            ),
            Self::RequestRedeployment => line(
                "rolls out a model or service; a person always approves",
                "does not choose what is rolled out",
                "goes back to the previous revision, if the adapter can",
            ),
            Self::RunDiagnostic => line(
                "runs a configured read-only check and adds its output as evidence",
                "does not change anything",
                "needs no undo",
            ),
            Self::Escalate => line("hands the incident to a person", "does not act", "needs no undo"),
            Self::NoAction => line("waits 10 minutes and looks again", "does not act", "needs no undo"),
        }
    }

    /// Whether it needs no adapter and changes nothing: run_diagnostic, escalate, no_action.
    pub fn is_framework(self) -> bool {
        matches!(self, Self::RunDiagnostic | Self::Escalate | Self::NoAction)
    }

    /// Whether it can change which model is live, so that its effect is told by a version.
    pub fn changes_model(self) -> bool {
        matches!(self, Self::RollbackModel | Self::RequestRedeployment)
    }
}

#[cfg(test)]
mod tests {
    use super::Action;

    #[test]
    fn five_need_an_adapter_and_all_have_a_line() {
        let framework: Vec<&str> = Action::ALL.iter().filter(|one| one.is_framework()).map(|one| one.word()).collect();
        assert_eq!(framework, ["run_diagnostic", "escalate", "no_action"]);
        for action in Action::ALL {
            let guide = action.guide();
            for text in [guide.does, guide.does_not, guide.undo] {
                assert!(text.len() > 10 && !text.ends_with('.'), "{action}");
            }
        }
        assert!(Action::parse("Restart_Component").is_err());
    }
}
