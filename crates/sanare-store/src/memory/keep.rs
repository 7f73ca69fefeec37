//! Looking after the store in memory.

use sanare_core::hash::Digest;
use sanare_core::ledger::{ChainHead, Entry, Erasure, SYSTEM, Seal};
use sanare_core::port::{Erased, Keeper, Keeping, NotErased, StoreFault, Tidied};
use sanare_core::service::Moment;

use super::{Kept, Memory};
use crate::standing::Standing;

/// So long an act counts for the limits, whatever is erased of its application, in microseconds.
const COUNTS: u64 = 24 * 60 * 60 * 1_000_000;

impl Keeper for Memory {
    fn store_id(&self) -> Result<String, StoreFault> {
        Ok("memory".to_owned())
    }

    fn heads(&self) -> Result<Vec<ChainHead>, StoreFault> {
        Ok(self.kept().heads.values().cloned().collect())
    }

    fn hash_at(&self, chain: &str, place: u64) -> Result<Option<Digest>, StoreFault> {
        Ok(self.kept().hash_at(chain, place))
    }

    fn seals(&self) -> Result<Vec<Seal>, StoreFault> {
        Ok(self.kept().seals.clone())
    }

    fn tidy(&self, keeping: &Keeping, now: Moment, rows: usize) -> Result<Tidied, StoreFault> {
        let mut kept = self.kept();
        Ok(kept.service.tidy(keeping, now, rows))
    }

    fn prune(&self, chain: &str, before: u64, entry: &Entry) -> Result<Option<Seal>, StoreFault> {
        let mut kept = self.kept();
        let newest = kept.heads.get(chain).map_or(0, |head| head.place);
        let needed = kept.ledger.iter().filter(|record| record.chain == chain).find(|record| {
            let of = |known: &sanare_core::id::Id| *known == record.incident;
            record.at >= before
                || kept.service.is_open(&record.incident)
                || kept.incidents.iter().any(|(id, standing)| of(id) && *standing != Standing::Closed)
                || kept.receipts.iter().any(|receipt| of(&receipt.incident))
        });
        let place = needed.map_or(newest, |record| record.place).min(newest).saturating_sub(1);
        let Some(hash) = kept.hash_at(chain, place) else { return Ok(None) };
        let record = kept.add(SYSTEM, entry).place;
        let seal = Seal { head: ChainHead { chain: chain.to_owned(), place, hash }, record };
        kept.seals.push(seal.clone());
        kept.ledger.retain(|record| record.chain != chain || record.place > place);
        let Kept { incidents, ledger, .. } = &mut *kept;
        incidents.retain(|(id, standing)| {
            *standing != Standing::Closed || ledger.iter().any(|record| record.incident == *id)
        });
        Ok(Some(seal))
    }

    fn erase(&self, application: &str, entry: &Entry) -> Result<Erased, NotErased> {
        let mut kept = self.kept();
        if let Some(id) = kept.service.needed_of(application) {
            return Err(NotErased::Needed(id));
        }
        let upto = kept.heads.get(application).map_or(0, |head| head.place);
        let since = entry.at.saturating_mul(1_000).saturating_sub(COUNTS);
        let rows = kept.service.forget(application, since);
        if rows == 0 && upto == 0 {
            return Err(NotErased::Unknown(application.to_owned()));
        }
        let record = kept.add(SYSTEM, entry);
        kept.erasures.push(Erasure { chain: application.to_owned(), upto, record: record.place });
        let mut payloads = 0;
        for record in kept.ledger.iter_mut().filter(|record| record.chain == application && record.place <= upto) {
            payloads += u64::from(!record.payload.is_empty());
            record.payload.clear();
        }
        Ok(Erased { record, payloads, rows, left: 0 })
    }
}

impl Kept {
    fn hash_at(&self, chain: &str, place: u64) -> Option<Digest> {
        let found = self.ledger.iter().find(|record| record.chain == chain && record.place == place);
        found.map(|record| record.hash.clone())
    }
}
