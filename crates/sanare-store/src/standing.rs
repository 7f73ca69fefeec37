//! How an incident stands, told from a ledger entry.

use sanare_core::ledger::Entry;
use serde_json::Value as Json;

/// How an incident stands after its last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// On its way; if no process runs it, it is to be settled.
    Open,
    /// A person is asked.
    Waiting,
    /// The repair is in force and waits for a call to confirm it.
    Applied,
    /// Ended.
    Closed,
}

impl Standing {
    /// What the entry makes of its incident; `None` for a note beside the steps.
    pub(crate) fn after(entry: &Entry) -> Option<Self> {
        const ON_THE_WAY: [&str; 10] = [
            "opened",
            "continued",
            "evident",
            "diagnosed",
            "proposed",
            "judged",
            "checked",
            "approved",
            "prepared",
            "undoing",
        ];
        match entry.step.as_str() {
            "closed" | "captured" => Some(Self::Closed),
            "waiting" => Some(Self::Waiting),
            "applied" if entry.payload.as_ref().get("standing").is_some_and(|why| *why != Json::Null) => {
                Some(Self::Applied)
            }
            "applied" | "escalating" => Some(Self::Open),
            step if ON_THE_WAY.contains(&step) => Some(Self::Open),
            _ => None,
        }
    }

    /// Its word in the table.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Waiting => "waiting",
            Self::Applied => "applied",
            Self::Closed => "closed",
        }
    }
}
