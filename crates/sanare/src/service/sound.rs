//! Whether the store can be trusted when a healer begins, and who else is on it (S121).

use sanare_core::port::StoreFault;
use sanare_core::port::store::Lease;
use serde_json::json;

use super::Healer;
use super::healer::locked;
use super::memoir::KEY;

/// How long all of it may be looked through, in milliseconds.
const LOOKS: u64 = 5_000;

/// What a healer knows of its store and of others on it.
#[derive(Debug, Default)]
pub(super) struct Soundness {
    /// What came of the look.
    known: Option<Result<(), StoreFault>>,
    /// Who keeps detection in its place, and until when that was so at the last look.
    beside: Option<(String, u64)>,
    /// Of whom that was told.
    told: Option<String>,
}

impl Healer {
    /// Looks through the store, once and before anything is done with it, where the healer before did not end in order, or runs
    /// still. A damaged store is not used.
    ///
    /// # Errors
    /// [`StoreFault::Corrupt`] for a damaged one, at every call.
    pub fn sound(&self) -> Result<(), StoreFault> {
        let mut soundness = locked(self.soundness());
        if let Some(known) = &soundness.known {
            return known.clone();
        }
        let found = self.look_through();
        if matches!(found, Ok(()) | Err(StoreFault::Corrupt(_))) {
            soundness.known = Some(found.clone());
        }
        found
    }

    fn look_through(&self) -> Result<(), StoreFault> {
        let Some((holder, _)) = self.keeps_detection()? else { return Ok(()) };
        let Some(keeper) = self.store().whole().and_then(|whole| whole.keeper()) else { return Ok(()) };
        if keeper.is_whole(LOOKS)? {
            return Ok(());
        }
        // What was not looked at is not known to be whole.
        self.write_down("store_not_looked_through", &json!({ "left_by": holder, "within_ms": LOOKS }))
    }

    /// Who keeps detection, or left it without a word.
    fn keeps_detection(&self) -> Result<Option<(String, Lease)>, StoreFault> {
        self.store().whole().map_or(Ok(None), |whole| whole.lease_of(KEY))
    }

    /// Says once that another healer is on the store and goes on: this one detects on its own readings alone, until it has the
    /// lease. One that is gone does not renew it.
    pub(super) fn look_beside(&self, is_keeper: bool) -> Result<(), StoreFault> {
        if is_keeper {
            (locked(self.soundness()).beside, locked(self.soundness()).told) = (None, None);
            return Ok(());
        }
        let Some((holder, lease)) = self.keeps_detection()? else { return Ok(()) };
        let before = locked(self.soundness()).beside.replace((holder.clone(), lease.until));
        let goes_on = before.is_some_and(|(known, until)| known == holder && lease.until > until);
        if !goes_on || locked(self.soundness()).told.as_ref() == Some(&holder) {
            return Ok(());
        }
        self.write_down("healer_beside", &json!({ "keeps_detection": holder }))?;
        locked(self.soundness()).told = Some(holder);
        if let Some(tell) = &*locked(self.beside_teller()) {
            tell(
                "another healer is on this store and keeps detection: this one detects on its own readings alone, acts by the same leases, and goes on in its place once it is gone",
            );
        }
        Ok(())
    }
}
