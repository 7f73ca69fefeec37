//! The closed lists of service healing (S6): each member has one word, an unknown word is refused and never a default.

use super::invalid::Invalid;

/// Makes a closed list: an enum with `ALL`, `word`, `parse`, and the same words in serde.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident($field:literal) { $($(#[$member_doc:meta])* $member:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$member_doc])* #[serde(rename = $word)] $member,)*
        }

        impl $name {
            /// Every member, in order.
            pub const ALL: &'static [Self] = &[$(Self::$member,)*];

            /// Its word outside.
            pub fn word(self) -> &'static str {
                match self { $(Self::$member => $word,)* }
            }

            /// The member of a word.
            ///
            /// # Errors
            /// `Invalid` for any other text, letter case included.
            pub fn parse(word: &str) -> Result<Self, $crate::service::invalid::Invalid> {
                match word {
                    $($word => Ok(Self::$member),)*
                    other => Err($crate::service::word::unknown($field, other, &[$($word,)*])),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}
pub(crate) use words;

/// The refusal of a word that is not on a list.
pub(crate) fn unknown(field: &str, given: &str, known: &[&str]) -> Invalid {
    Invalid::quoting(field, given, &format!("one of {}", known.join(", ")))
}

words! {
    /// What an observation is about.
    ObservationKind("kind") {
        /// A number of the service.
        Metric = "metric",
        /// Whether a check passes.
        Health = "health",
        /// How often a configured pattern was logged.
        LogSignal = "log_signal",
        /// How good predictions were, by labels.
        PredictionQuality = "prediction_quality",
        /// A sketch of data.
        Drift = "drift",
        /// Another version went live.
        Deployment = "deployment",
        /// A number of the machine under it.
        Resource = "resource",
    }
}

words! {
    /// How bad an incident is; ordered, the worst last.
    Severity("severity") {
        /// For the record.
        Low = "low",
        /// Worse than it should be.
        Medium = "medium",
        /// Users are hurt.
        High = "high",
        /// Users are not served.
        Critical = "critical",
    }
}

words! {
    /// Who made a diagnosis.
    Origin("origin") {
        /// The rules agent.
        Rules = "rules",
        /// A language model.
        Model = "model",
        /// The rules agent, because the model failed.
        Fallback = "fallback",
        /// A person.
        Person = "person",
    }
}

words! {
    /// How an incident's symptom stands; detectors own it.
    Condition("condition") {
        /// Out of bounds, not yet for long enough.
        Pending = "pending",
        /// Out of bounds.
        Firing = "firing",
        /// Within bounds, not yet for long enough.
        Clearing = "clearing",
        /// Within bounds.
        Cleared = "cleared",
    }
}

words! {
    /// Where a run is; the loop owns it.
    StepName("step") {
        /// There is an incident with its first evidence.
        Opened = "opened",
        /// Its evidence is frozen in a snapshot.
        Evident = "evident",
        /// There is a diagnosis.
        Diagnosed = "diagnosed",
        /// There is an action with its target.
        Proposed = "proposed",
        /// Policy has spoken.
        Judged = "judged",
        /// The gates have answered.
        Checked = "checked",
        /// A person is asked.
        Waiting = "waiting",
        /// It may be acted on.
        Approved = "approved",
        /// The receipt is written.
        Prepared = "prepared",
        /// The adapter has answered; verification runs.
        Applied = "applied",
        /// The act is being taken back.
        Undoing = "undoing",
        /// A person is being told.
        Escalating = "escalating",
        /// The end of the run.
        Closed = "closed",
    }
}

words! {
    /// What an adapter reports of an act (S91).
    Effect("effect") {
        /// It was carried out.
        Done = "done",
        /// The target declined; nothing changed.
        Refused = "refused",
        /// Surely nothing was sent.
        NotStarted = "not_started",
        /// Anything else.
        Unknown = "unknown",
    }
}

words! {
    /// How a receipt stands (S106).
    ReceiptState("receipt_state") {
        /// Written; nothing was sent.
        Intended = "intended",
        /// The act may have begun.
        Started = "started",
        /// It was carried out.
        Done = "done",
        /// It surely changed nothing.
        Failed = "failed",
        /// Nobody knows; the target is blocked until a person settles it.
        Unknown = "unknown",
        /// It was carried out and taken back.
        Undone = "undone",
    }
}

words! {
    /// What came of watching after an act (S110).
    VerificationOutcome("verification") {
        /// Every signal was inside its bound for the whole window, on fresh data, and the target changed.
        Recovered = "recovered",
        /// It is as bad as before.
        NotRecovered = "not_recovered",
        /// It is worse than before.
        Worse = "worse",
        /// There was too little to tell.
        Inconclusive = "inconclusive",
        /// Nothing could have told.
        NotVerified = "not_verified",
    }
}

words! {
    /// Who or what ended an incident.
    ClosedBy("closed_by") {
        /// An act of ours that was verified.
        Action = "action",
        /// It passed.
        Itself = "itself",
        /// A person.
        Person = "person",
    }
}

words! {
    /// How a question to a person stands (S102).
    ApprovalState("approval_state") {
        /// Nobody has answered yet.
        Waiting = "waiting",
        /// Enough persons said yes.
        Granted = "granted",
        /// A receipt was started on it.
        Used = "used",
        /// A person said no.
        Denied = "denied",
        /// Nobody said yes in time.
        Expired = "expired",
        /// What it was about has changed.
        Voided = "voided",
    }
}

words! {
    /// How an incident stands, derived from condition and step (S9).
    Status("status") {
        /// Its run goes on.
        Open = "open",
        /// Its run is over and it still fires: a person has it.
        HandedOver = "handed_over",
        /// Over.
        Closed = "closed",
    }
}

words! {
    /// Whether an observation's texts are ours; set by the door.
    Trust("trust") {
        /// Our clients and configured pulls.
        Own = "own",
        /// Webhooks and event doors.
        Outside = "outside",
    }
}

words! {
    /// What intake noticed of an observation.
    Flag("flag") {
        /// Behind the watermark.
        Late = "late",
        /// Not in the order of event times.
        OutOfOrder = "out_of_order",
        /// Ahead of our clock.
        Future = "future",
        /// Over a day old.
        Backfill = "backfill",
        /// Not a number, or infinite: kept as null.
        NonFinite = "non_finite",
        /// Made by us because the signal stays away.
        Missing = "missing",
        /// Another reading of the same moment; the first stands.
        Restated = "restated",
        /// A text of it was redacted.
        Redacted = "redacted",
        /// A text of it was cut.
        Truncated = "truncated",
        /// Nobody knows how old the reading is.
        FreshnessUnknown = "freshness_unknown",
    }
}

words! {
    /// What marks an incident.
    IncidentFlag("flag") {
        /// Its condition changes too often.
        Flapping = "flapping",
        /// A silence covers it.
        Silenced = "silenced",
        /// A person holds it.
        Held = "held",
        /// Healed too often in a day.
        Chronic = "chronic",
        /// It is only played through.
        DryRun = "dry_run",
        /// A person called it a false alarm.
        FalseAlarm = "false_alarm",
    }
}

words! {
    /// The answer of a health check.
    Health("health") {
        /// It passes.
        Pass = "pass",
        /// It does not.
        Fail = "fail",
        /// It could not be made.
        Unknown = "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::{ObservationKind, Severity, StepName};

    #[test]
    fn words_are_what_serde_writes_and_no_other_is_read() {
        for kind in ObservationKind::ALL {
            assert_eq!(serde_json::to_string(kind).ok(), Some(format!("\"{}\"", kind.word())));
            assert_eq!(ObservationKind::parse(kind.word()), Ok(*kind));
        }
        for bad in ["metrics", "Metric", "", "metric "] {
            assert!(ObservationKind::parse(bad).is_err(), "{bad}");
            assert!(serde_json::from_value::<ObservationKind>(bad.into()).is_err(), "{bad}");
        }
        assert!(Severity::Low < Severity::Medium && Severity::High < Severity::Critical);
        assert_eq!(StepName::ALL.len(), 13);
    }
}
