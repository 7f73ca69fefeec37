//! A person says what came of an act of which nobody knew; the target is free again (S107, S114).

use sanare_core::id::Id;
use sanare_core::ledger::Entry;
use sanare_core::port::StoreFault;
use sanare_core::redact::Redactor;
use sanare_core::service::run::Change;
use sanare_core::service::word::ReceiptState;
use sanare_core::service::{NotMade, Receipt, Text};
use serde_json::json;

use super::Loop;

/// Why a receipt was not settled.
#[derive(Debug, thiserror::Error)]
pub enum NotSettled {
    /// There is no such receipt.
    #[error("there is no such receipt")]
    Unknown,
    /// It is not one of which nobody knows.
    #[error("the receipt is {0}")]
    Settled(ReceiptState),
    /// It can only be settled as done, failed or undone.
    #[error("a receipt is settled as done, failed or undone, not as {0}")]
    State(ReceiptState),
    /// A reason is needed.
    #[error("a reason is needed")]
    NoReason,
    /// Somebody else settled it at the same moment.
    #[error("it changed at the same moment; look again")]
    AtOnce,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

impl Loop<'_> {
    /// Settles a receipt.
    ///
    /// # Errors
    /// [`NotSettled`]; then nothing changed.
    pub fn settle(&self, id: &Id, state: ReceiptState, principal: &str, reason: &str) -> Result<(), NotSettled> {
        let receipt = self.world.store.service_receipt(id)?.ok_or(NotSettled::Unknown)?;
        let reason = Text::<300>::of(reason);
        if reason.is_empty() {
            return Err(NotSettled::NoReason);
        }
        if receipt.state != ReceiptState::Unknown {
            return Err(NotSettled::Settled(receipt.state));
        }
        if !receipt.state.may_become(state) {
            return Err(NotSettled::State(state));
        }
        let payload = json!({ "receipt": id, "as": state, "by": principal, "reason": reason });
        let mut change = Change { now: self.world.clock.now(), ..Change::default() };
        change.entries.push(Entry {
            incident: receipt.key.incident.clone(),
            step: "settled".to_owned(),
            at: change.now,
            payload: Redactor::standard().json(&payload),
        });
        let settled = Receipt { state, ended_at: Some(self.world.now()), ..receipt };
        change.receipts.push((settled, Some(ReceiptState::Unknown)));
        match self.world.store.commit(&change) {
            Ok(_) => Ok(()),
            Err(NotMade::Store(fault)) => Err(fault.into()),
            Err(_) => Err(NotSettled::AtOnce),
        }
    }
}
