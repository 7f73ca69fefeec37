//! How an incident stands and how it ended: status, outcome, reason code (C1, C2).

use serde::{Deserialize, Serialize};

/// Where an incident is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// On its way through the steps.
    Open,
    /// Waiting for a person.
    Waiting,
    /// The repair is in force, no real call has confirmed it yet.
    Applied,
    /// Ended, with exactly one [`Outcome`].
    Closed,
}

/// How a closed incident ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The owner's call returned under the repair.
    Healed,
    /// A repair was applied and taken back.
    RolledBack,
    /// Handed to a person.
    Escalated,
    /// Nothing was changed, and the reason says why.
    Refused,
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident => $code:literal, $sentence:literal;)*) => {
        /// The closed list of reason codes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Reason {
            $(#[doc = $sentence] $name,)*
        }

        impl Reason {
            /// Every reason, in the order of the reference page.
            pub const ALL: &'static [Reason] = &[$(Reason::$name,)*];

            /// The code as it stands in records.
            pub fn code(self) -> &'static str {
                match self { $(Reason::$name => $code,)* }
            }

            /// One sentence for people: lower case, no final period.
            pub fn sentence(self) -> &'static str {
                match self { $(Reason::$name => $sentence,)* }
            }
        }
    };
}

reasons! {
    Transient => "transient", "a passing failure of network or service, which no change of code repairs";
    RateLimited => "rate_limited", "the service asked to slow down";
    DiskFull => "disk_full", "the disk is full";
    Permission => "permission", "access was not permitted";
    Memory => "memory", "memory ran out";
    DependencyMissing => "dependency_missing", "a package that the code needs is not installed";
    Deliberate => "deliberate", "the program raised this on purpose";
    NotData => "not_data", "what arrived is not the expected data";
    IncompleteData => "incomplete_data", "part of the data is missing";
    MissingField => "missing_field", "a needed field is not in the data, under any name that can be proved";
    Ambiguous => "ambiguous", "more than one field could be meant";
    Vetoed => "vetoed", "the likeliest field means something else";
    ScaleOrUnit => "scale_or_unit", "unit or scale of the values changed";
    NoIdentity => "no_identity", "no evidence says which field is meant";
    UnsupportedTarget => "unsupported_target", "the function may not be rewritten";
    NoSource => "no_source", "the source of the function is not available";
    SourceChanged => "source_changed", "the source on disk is not the code that runs";
    NoProposer => "no_proposer", "no proposer had a repair";
    GatesFailed => "gates_failed", "no candidate passed the gates";
    VerifyCannotStart => "verify_cannot_start", "the owner's verify command could not be started";
    BudgetSpent => "budget_spent", "a budget is spent";
    Deadline => "deadline", "the deadline passed";
    Cooldown => "cooldown", "this failure rests after an earlier attempt";
    ForeignLoop => "foreign_loop", "the event loop is not asyncio's";
    Policy => "policy", "policy does not allow it";
    Denied => "denied", "a person said no";
    Expired => "expired", "nobody answered in time";
    Settings => "settings", "the settings are broken";
    WorldChanged => "world_changed", "the file is neither as before the repair nor as after it";
    RerunFailed => "rerun_failed", "the call failed again under the repair";
    RerunUnsafe => "rerun_unsafe", "the repair is in place; running the call again could repeat effects";
    Unconfirmed => "unconfirmed", "the repair is in place; no call has confirmed it yet";
    Internal => "internal", "sanare itself failed";
    Ok => "ok", "the call returned under the repair";
}

#[cfg(test)]
mod tests {
    use super::Reason;

    #[test]
    fn codes_are_what_serde_writes() {
        for reason in Reason::ALL {
            assert_eq!(serde_json::to_string(reason).ok(), Some(format!("\"{}\"", reason.code())));
        }
    }
}
