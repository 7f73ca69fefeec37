//! Receipts: what is written before an act, so that it happens at most once and what came of it can be told (S106, S107).

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::declaration::Undo;
use super::moment::Moment;
use super::name::{Application, Component};
use super::proposal::Params;
use super::target::{Identity, TargetKey};
use super::text::Text;
use super::word::{Effect, ReceiptState, words};
use crate::hash::Digest;
use crate::id::Id;

/// What makes an act one act: it is handed to the adapter as its idempotency key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActKey {
    /// The incident.
    pub incident: Id,
    /// The attempt within it, from 1.
    pub attempt: u32,
    /// The action.
    pub action: Action,
    /// Whether it is the act or its undo.
    pub purpose: Purpose,
}

impl std::fmt::Display for ActKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.incident, self.attempt, self.action)?;
        if self.purpose == Purpose::Undo { f.write_str("/undo") } else { Ok(()) }
    }
}

words! {
    /// What a receipt is for.
    Purpose("purpose") {
        /// The act.
        Act = "act",
        /// Taking it back.
        Undo = "undo",
    }
}

words! {
    /// What the world says of a receipt (S91).
    WorldState("world") {
        /// As before the act.
        Before = "before",
        /// As the act leaves it.
        After = "after",
        /// Something else.
        Neither = "neither",
        /// It cannot be told.
        CannotTell = "cannot_tell",
    }
}

/// A receipt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// `rct_…`.
    pub id: Id,
    /// What makes it one act.
    pub key: ActKey,
    /// The service.
    pub application: Application,
    /// The part of it.
    pub component: Component,
    /// What is touched.
    pub target: TargetKey,
    /// The lease's fence under which it is done.
    pub fence: u64,
    /// With which parameters.
    pub params: Params,
    /// The target before.
    pub before: Identity,
    /// Marks that the target has when the act has arrived, as far as they can be known before.
    pub intended: Identity,
    /// How it is taken back.
    pub undo: Undo,
    /// The snapshot that led to it.
    pub snapshot: Digest,
    /// The approval that it uses; nothing where policy permitted it.
    pub approval: Option<Id>,
    /// When it is given up.
    pub deadline: Moment,
    /// How it stands.
    pub state: ReceiptState,
    /// What the adapter reported.
    pub effect: Option<Effect>,
    /// The adapter's own name for it, such as a job's.
    pub reference: Option<Text>,
    /// When it was written.
    pub intended_at: Moment,
    /// When the act was let begin.
    pub started_at: Option<Moment>,
    /// When its effect was known, or a person settled it.
    pub ended_at: Option<Moment>,
}

impl ReceiptState {
    /// Whether a receipt may go from this state to another.
    pub fn may_become(self, next: Self) -> bool {
        use ReceiptState::{Done, Failed, Intended, Started, Undone, Unknown};
        matches!(
            (self, next),
            (Intended, Started | Failed)
                | (Started, Done | Failed | Unknown | Undone)
                | (Unknown, Done | Failed | Undone)
                | (Done, Undone)
        )
    }

    /// Whether its target stays blocked: the act may be at work, or nobody knows what it did.
    pub fn blocks(self) -> bool {
        matches!(self, Self::Started | Self::Unknown)
    }

    /// The state that an effect leads to.
    pub fn after(effect: Effect) -> Self {
        match effect {
            Effect::Done => Self::Done,
            Effect::Refused | Effect::NotStarted => Self::Failed,
            Effect::Unknown => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ReceiptState;
    use crate::service::word::Effect;

    #[test]
    fn the_states_of_a_receipt() {
        let mut table = String::new();
        for from in ReceiptState::ALL {
            let next = ReceiptState::ALL.iter().filter(|next| from.may_become(**next));
            let next: Vec<&str> = next.map(|next| next.word()).collect();
            table.push_str(&format!("{from}: {}\n", next.join(" ")));
        }
        let expected = "intended: started failed\nstarted: done failed unknown undone\ndone: undone\nfailed: \n\
                        unknown: done failed undone\nundone: \n";
        assert_eq!(table, expected);
        for effect in Effect::ALL {
            assert!(ReceiptState::Started.may_become(ReceiptState::after(*effect)), "{effect}");
        }
        let blocking: Vec<&str> = ReceiptState::ALL.iter().filter(|one| one.blocks()).map(|one| one.word()).collect();
        assert_eq!(blocking, ["started", "unknown"]);
    }
}
