//! One failure, one heal, over all processes of a store: a lease per function and running code, renewed while its holder
//! works, taken over when the holder is gone or stands still (C116).

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::incident::Incident;
use sanare_core::port::store::Lease;
use sanare_core::port::{Clock, Store, StoreFault};
use sanare_effects::process::{Fate, ProcessMark};
use sanare_effects::regular_file;
use sanare_engine::run::of_last_target;

use crate::wire::clock::SystemClock;

/// Longest pause between two looks at a lease that another holds.
const LOOK: Duration = Duration::from_millis(20);

/// The lease of one function's running code, wanted for one incident.
///
/// Every failure of that code shares it: two repairs of one body at a time would undo each other, and the fingerprint
/// of a process whose file was rewritten under it cannot be relied on.
#[derive(Debug)]
pub(super) struct Flight<'a> {
    pub(super) incident: &'a Incident,
    pub(super) clock: &'a SystemClock,
    /// How long a lease lasts without being renewed, in milliseconds.
    pub(super) millis: u64,
    /// When to wait no longer, on the clock that never goes back.
    pub(super) end: u64,
}

impl Flight<'_> {
    fn key(&self) -> String {
        let incident = self.incident;
        let parts = [&incident.project, &incident.path, &incident.function, &incident.code];
        Digest::of_parts(&parts.map(|part| part.as_bytes())).as_str().to_owned()
    }

    /// The lease, if nobody else works on this code. What a holder that is gone left open is settled first.
    pub(super) fn take(&self, store: &dyn Store) -> Result<Option<Lease>, StoreFault> {
        let key = self.key();
        let before = store.lease_of(&key)?;
        if let Some((holder, lease)) = &before
            && is_dead(holder)
        {
            store.give_back(lease)?;
        }
        let holder = format!("{}/{}", self.incident.process, self.incident.id);
        let taken = store.take_lease(&key, &holder, self.clock.now(), self.millis)?;
        if taken.is_some() && before.is_some() {
            self.settle(store)?;
        }
        Ok(taken)
    }

    /// Waits a moment; false when the time for waiting is over.
    pub(super) fn pause(&self) -> bool {
        let left = self.end.saturating_sub(self.clock.elapsed());
        std::thread::sleep(LOOK.min(Duration::from_millis(left)));
        left > 0
    }

    /// Looks under the lease, which is given back afterwards. A look takes milliseconds: nothing has to renew it, and a
    /// thread for that would cost a tenth of the look.
    pub(super) fn look<T>(&self, store: &dyn Store, lease: &Lease, look: impl FnOnce() -> T) -> T {
        let done = look();
        let _ = store.give_back(lease);
        done
    }

    /// Works under the lease, which is renewed meanwhile and given back afterwards.
    pub(super) fn keep<T>(&self, store: &dyn Store, lease: &Lease, work: impl FnOnce() -> T) -> T {
        let (stop, stopped) = channel::<()>();
        let pause = Duration::from_millis((self.millis / 3).max(1));
        let renew = move || {
            let clock = SystemClock::new();
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                if store.renew_lease(lease, clock.now(), self.millis) == Ok(false) {
                    break;
                }
            }
        };
        let done = std::thread::scope(|scope| {
            // Without the thread the lease lasts as long as it lasts; what comes later is refused.
            let spawned = Builder::new().name("sanare-lease".to_owned()).spawn_scoped(scope, renew);
            drop(spawned);
            let done = work();
            drop(stop);
            done
        });
        // Where this fails the lease runs out by itself.
        let _ = store.give_back(lease);
        done
    }

    /// Settles incidents of this code that were begun under an earlier lease: nothing can be written in them any more.
    fn settle(&self, store: &dyn Store) -> Result<(), StoreFault> {
        let goes_on = |id: &Id| *id == self.incident.id || !self.is_of_this_code(store, id);
        let digest_of = |path: &str| regular_file::read(Path::new(path)).ok().map(|bytes| Digest::of(&bytes));
        sanare_engine::recover::settle(store, self.clock, &goes_on, &digest_of).map(drop)
    }

    fn is_of_this_code(&self, store: &dyn Store, id: &Id) -> bool {
        let records = store.records(id).unwrap_or_default();
        let Some(opened) = of_last_target(&records).first().map(|record| record.json()) else { return false };
        let incident = &opened["incident"];
        incident["function_hash"] == self.incident.code.as_str()
            && incident["function"] == self.incident.function.as_str()
            && incident["path"] == self.incident.path.as_str()
    }
}

fn is_dead(holder: &str) -> bool {
    let mark = holder.split('/').next().and_then(ProcessMark::parse);
    mark.is_some_and(|mark| mark.fate() == Fate::Dead)
}
