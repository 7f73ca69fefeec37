//! Looking after the store in memory.

use sanare_core::hash::Digest;
use sanare_core::ledger::{ChainHead, Entry, Erasure, Record, SYSTEM, Seal};
use sanare_core::port::{Erased, Item, Keeper, Keeping, NotErased, Sort, StoreFault, Tidied};
use sanare_core::service::{Moment, ServiceStore};

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

    fn begin_erasing(&self, application: &str, entry: &Entry) -> Result<u64, NotErased> {
        let mut kept = self.kept();
        if let Some(id) = kept.service.needed_of(application) {
            return Err(NotErased::Needed(id));
        }
        let upto = kept.heads.get(application).map_or(0, |head| head.place);
        let since = entry.at.saturating_mul(1_000).saturating_sub(COUNTS);
        let begun = kept.erasing.contains_key(application);
        if !begun && upto == 0 && !kept.service.has_of(application, since) {
            return Err(NotErased::Unknown(application.to_owned()));
        }
        let record = kept.add(SYSTEM, entry);
        kept.erasures.push(Erasure { chain: application.to_owned(), upto, record: record.place });
        kept.erasing.insert(application.to_owned(), (upto, since));
        Ok(0)
    }

    fn erase_some(&self, application: &str, rows: usize) -> Result<Erased, NotErased> {
        let mut kept = self.kept();
        let Some((upto, since)) = kept.erasing.get(application).copied() else {
            return Err(NotErased::Unfinished(application.to_owned()));
        };
        if let Some(id) = kept.service.needed_of(application) {
            return Err(NotErased::Needed(id));
        }
        let gone = kept.service.forget(application, since);
        let mut payloads = 0;
        let of =
            |record: &&mut Record| record.chain == application && record.place <= upto && !record.payload.is_empty();
        for record in kept.ledger.iter_mut().filter(of).take(rows) {
            payloads += 1;
            record.payload.clear();
        }
        Ok(Erased { payloads, rows: gone })
    }

    fn end_erasing(&self, application: &str, entry: &Entry) -> Result<Record, NotErased> {
        let mut kept = self.kept();
        let left = kept.erasing.get(application).is_none_or(|(upto, since)| {
            let of = |one: &&Record| one.chain == application && one.place <= *upto;
            kept.service.has_of(application, *since) || !kept.ledger.iter().filter(of).all(|one| one.payload.is_empty())
        });
        if left {
            return Err(NotErased::Unfinished(application.to_owned()));
        }
        kept.erasing.remove(application);
        Ok(kept.add(SYSTEM, entry))
    }

    fn items(&self, sort: Sort, of: Option<&str>, after: &str, most: usize) -> Result<Vec<Item>, StoreFault> {
        let kept = self.kept();
        let fits = |item: &Item| of.is_none_or(|of| item.application == of);
        Ok(kept.service.items(sort, after).filter(fits).take(most).collect())
    }

    fn is_whole(&self, _within: u64) -> Result<bool, StoreFault> {
        Ok(true)
    }

    fn services(&self) -> &dyn ServiceStore {
        self
    }
}

impl Kept {
    fn hash_at(&self, chain: &str, place: u64) -> Option<Digest> {
        let found = self.ledger.iter().find(|record| record.chain == chain && record.place == place);
        found.map(|record| record.hash.clone())
    }
}
