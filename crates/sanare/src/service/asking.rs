//! A probe that asks the owner's program, for no longer than a probe by request may take.

use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sanare_core::service::port::{Answered, Probe};
use sanare_core::service::{Health, Identity};

/// Says what is so now, by mark; nothing where it cannot.
type Ask = dyn Fn() -> Option<Identity> + Send + Sync;

/// How long it may take.
const TIME: Duration = Duration::from_secs(5);

/// A probe that asks the owner's program, on a thread of its own: one that never answers holds nothing up. Until it does it
/// is not asked again, and nothing is known.
pub struct Asking {
    ask: Arc<Ask>,
    asked: Arc<Asked>,
    time: Duration,
}

/// Since when it is asked, while it is.
#[derive(Default)]
struct Asked {
    since: Mutex<Option<Instant>>,
    over: Condvar,
}

impl Asking {
    /// A probe by a function that says what is so now, by mark; nothing where it cannot.
    pub fn new(ask: impl Fn() -> Option<Identity> + Send + Sync + 'static) -> Self {
        Self { ask: Arc::new(ask), asked: Arc::default(), time: TIME }
    }

    /// What it says in time.
    fn told(&self) -> Option<Identity> {
        let mine = self.asked.begin(self.time)?;
        let (sender, receiver) = channel();
        let ask = Arc::clone(&self.ask);
        let thread = std::thread::Builder::new().name("sanare-probe".to_owned()).spawn(move || {
            // Over before it is told: whoever hears of it may ask again.
            let told = ask();
            drop(mine);
            let _ = sender.send(told);
        });
        // What could not be moved to a thread was dropped, and with it the mark that it is asked.
        thread.ok()?;
        receiver.recv_timeout(self.time).ok().flatten()
    }
}

impl Asked {
    /// Marks it as asked, once nobody else is at it; nothing where one has been at it for longer than this.
    fn begin(self: &Arc<Self>, time: Duration) -> Option<Mine> {
        let since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let left = since.map_or(time, |since| time.saturating_sub(since.elapsed()));
        let waited = self.over.wait_timeout_while(since, left, |since| since.is_some());
        let (mut since, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if since.is_some() {
            return None;
        }
        *since = Some(Instant::now());
        Some(Mine(Arc::clone(self)))
    }
}

/// Takes the mark that it is asked away, however the asking ended.
struct Mine(Arc<Asked>);

impl Drop for Mine {
    fn drop(&mut self) {
        *self.0.since.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.0.over.notify_all();
    }
}

impl Probe for Asking {
    fn name(&self) -> &'static str {
        "callback"
    }

    fn ask(&self) -> Answered {
        let began = Instant::now();
        let identity = self.told();
        let health = if identity.is_some() { Health::Pass } else { Health::Unknown };
        let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Answered { health, identity: identity.unwrap_or_default(), millis, detail: None }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use sanare_core::service::port::Probe as _;
    use sanare_core::service::{Health, Identity, Mark};

    use super::Asking;

    #[test]
    fn what_hangs_is_not_known_and_not_asked_again_until_it_is_over() {
        let (go, gate) = channel::<()>();
        let (gate, calls) = (Mutex::new(gate), std::sync::Arc::new(Mutex::new(0)));
        let counted = std::sync::Arc::clone(&calls);
        let hangs = move || {
            *counted.lock().unwrap() += 1;
            gate.lock().unwrap().recv().ok()?;
            Some(Identity::default().with(Mark::ServedVersion, "7"))
        };
        let probe = Asking { time: Duration::from_millis(50), ..Asking::new(hangs) };
        assert_eq!(probe.ask().health, Health::Unknown);
        assert_eq!(probe.ask().health, Health::Unknown);
        assert_eq!(*calls.lock().unwrap(), 1, "it is still at the first");
        go.send(()).unwrap();
        go.send(()).unwrap();
        // Whoever asks while another does waits for his turn.
        let probe = Asking { time: Duration::from_secs(60), ..probe };
        assert_eq!(probe.ask().identity.get(Mark::ServedVersion), Some("7"));
    }

    #[test]
    fn what_panics_knows_nothing_and_is_asked_again() {
        std::panic::set_hook(Box::new(|_| {}));
        let probe = Asking::new(|| panic!("scripted"));
        for _ in 0..2 {
            assert_eq!(probe.ask().health, Health::Unknown);
        }
        assert!(probe.asked.since.lock().unwrap().is_none());
    }
}
