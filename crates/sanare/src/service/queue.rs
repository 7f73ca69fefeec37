//! What waits between a service's calls and the intake: bounded, counted, never waited for (S14, S15).

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sanare_core::service::{Draft, ObservationKind};

/// Where readings wait.
#[derive(Debug)]
pub(crate) struct Queue {
    limit: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: VecDeque<Draft>,
    /// Taken, and not yet stored.
    in_flight: u64,
    sent: u64,
    dropped: u64,
    refused: u64,
}

/// What became of the calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Stats {
    /// Taken in, and not stored yet.
    pub queued: u64,
    /// Stored.
    pub sent: u64,
    /// Taken out because there were too many.
    pub dropped: u64,
    /// Values that cannot be used.
    pub refused: u64,
    /// Rows that this client has gathered for profiles and not sent yet. At the end of the process those of fewer than 200
    /// are not: they could say nothing.
    pub rows: u64,
}

impl Queue {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), inner: Mutex::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a reading. Where there is no room the oldest metric makes it; where none waits the new reading is dropped.
    pub(crate) fn put(&self, draft: Draft) {
        let mut inner = self.inner();
        if inner.waiting.len() >= self.limit {
            let oldest = inner.waiting.iter().position(|waiting| waiting.value.kind() == ObservationKind::Metric);
            inner.dropped += 1;
            match oldest {
                Some(place) => drop(inner.waiting.remove(place)),
                None => return,
            }
        }
        inner.waiting.push_back(draft);
    }

    /// Counts a value that cannot be used.
    pub(crate) fn refuse(&self) {
        self.inner().refused += 1;
    }

    /// Takes out what waits longest; [`Queue::stored`] or [`Queue::back`] has to follow.
    pub(crate) fn take(&self, most: usize) -> Vec<Draft> {
        let mut inner = self.inner();
        let count = most.min(inner.waiting.len());
        let taken: Vec<Draft> = inner.waiting.drain(..count).collect();
        inner.in_flight += taken.len() as u64;
        taken
    }

    /// So many of those that were taken are stored, and so many were refused at the door.
    pub(crate) fn stored(&self, sent: u64, refused: u64) {
        let mut inner = self.inner();
        inner.in_flight = inner.in_flight.saturating_sub(sent + refused);
        inner.sent += sent;
        inner.refused += refused;
    }

    /// The store failed: they wait again, in their order, as far as there is room.
    pub(crate) fn back(&self, taken: Vec<Draft>) {
        let mut inner = self.inner();
        inner.in_flight = inner.in_flight.saturating_sub(taken.len() as u64);
        for draft in taken.into_iter().rev() {
            if inner.waiting.len() < self.limit {
                inner.waiting.push_front(draft);
            } else {
                inner.dropped += 1;
            }
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        let inner = self.inner();
        let queued = inner.waiting.len() as u64 + inner.in_flight;
        Stats { queued, sent: inner.sent, dropped: inner.dropped, refused: inner.refused, rows: 0 }
    }
}

#[cfg(test)]
mod tests {
    use sanare_core::service::{Application, Draft, Health, ObservedValue, Signal};

    use super::{Queue, Stats};

    fn draft(value: ObservedValue) -> Draft {
        let fraud = Application::parse("fraud").expect("a name");
        Draft::new(fraud, Signal::parse("s").expect("a name"), value)
    }

    fn metric(number: f64) -> Draft {
        draft(ObservedValue::metric(number))
    }

    #[test]
    fn the_oldest_metric_makes_room_and_nothing_else_does() {
        let queue = Queue::new(3);
        let ill = || draft(ObservedValue::Health { status: Health::Fail, detail: None });
        for one in [ill(), metric(1.0), metric(2.0), metric(3.0)] {
            queue.put(one);
        }
        assert_eq!(queue.stats(), Stats { queued: 3, dropped: 1, ..Stats::default() });
        let kept: Vec<Option<f64>> = queue.take(10).iter().map(|one| one.value.number()).collect();
        assert_eq!(kept, [Some(0.0), Some(2.0), Some(3.0)]);
        queue.stored(3, 0);
        for _ in 0..4 {
            queue.put(ill());
        }
        assert_eq!(queue.stats(), Stats { queued: 3, sent: 3, dropped: 2, ..Stats::default() });
    }

    #[test]
    fn what_could_not_be_stored_waits_again_in_its_order() {
        let queue = Queue::new(3);
        (1..=2).for_each(|number| queue.put(metric(f64::from(number))));
        let taken = queue.take(10);
        assert_eq!(queue.stats().queued, 2, "what is on its way is not lost from sight");
        queue.put(metric(3.0));
        queue.back(taken);
        let kept: Vec<Option<f64>> = queue.take(10).iter().map(|one| one.value.number()).collect();
        assert_eq!(kept, [Some(1.0), Some(2.0), Some(3.0)]);
    }

    #[test]
    fn sixteen_threads_lose_nothing_uncounted() {
        let queue = Queue::new(1_000);
        let calls: u64 = 16 * 10_000;
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| (0..10_000).for_each(|_| queue.put(metric(1.0))));
            }
            scope.spawn(|| {
                for _ in 0..200 {
                    let taken = queue.take(500).len() as u64;
                    queue.stored(taken, 0);
                }
            });
        });
        let stats = queue.stats();
        assert_eq!(stats.sent + stats.dropped + stats.queued, calls);
    }
}
