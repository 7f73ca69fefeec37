//! One call at a time, and what is known of calls that nobody waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use sanare_core::id::Id;
use sanare_core::service::Action;
use sanare_core::service::declaration::Written;
use sanare_core::service::port::{Adapter as _, Availability};
use sanare_core::service::receipt::{Receipt, WorldState};
use sanare_core::service::target::Identity;
use sanare_core::service::word::Effect;

use super::{Callback, End, Function};
use crate::service::twin::{declared, intent, receipt};

fn callback(function: Arc<Function>, timeout_ms: i64) -> Callback {
    let written = Written { timeout_ms: Some(timeout_ms), ..Written::default() };
    Callback::new(function, declared(Action::ReloadModel, written), None).expect("a callback")
}

fn written() -> Receipt {
    receipt(Action::ReloadModel, Identity::default(), Identity::default())
}

#[test]
fn every_end_is_an_effect() {
    for (end, effect, state) in [
        (End::Done, Effect::Done, WorldState::After),
        (End::NotStarted, Effect::NotStarted, WorldState::Before),
        (End::Refused, Effect::Refused, WorldState::Before),
        (End::Failed("ValueError".to_owned()), Effect::Unknown, WorldState::CannotTell),
    ] {
        let said = end.clone();
        let callback = callback(Arc::new(move |_| said.clone()), 2_000);
        let acted = callback.act(&intent(&written()));
        assert_eq!((acted.effect, callback.state(&written())), (effect, state), "{end:?}");
        let name = acted.reference.map(|text| text.to_string());
        assert_eq!(name.as_deref(), (effect == Effect::Unknown).then_some("ValueError"));
    }
    let other = Receipt { id: Id::new("rct", 9, 9), ..written() };
    let callback = callback(Arc::new(|_| End::Done), 2_000);
    callback.act(&intent(&written()));
    assert_eq!(callback.state(&other), WorldState::CannotTell, "another receipt's end proves nothing");
}

#[test]
fn a_panic_is_unknown_and_nothing_more() {
    let callback = callback(Arc::new(|_| panic!("token=abc")), 2_000);
    let acted = callback.act(&intent(&written()));
    assert_eq!(acted.effect, Effect::Unknown);
    assert_eq!(acted.reference.map(|text| text.to_string()).as_deref(), Some("panic"));
    assert_eq!(acted.output.as_str(), "", "what it said is not repeated");
    assert_eq!(callback.available(), Availability::Available);
}

#[test]
fn one_at_a_time_and_a_late_end_is_known_to_its_receipt() {
    let (go, wait) = channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let function: Arc<Function> = Arc::new(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        let _ = wait.lock().expect("a lock").recv();
        End::Done
    });
    let callback = callback(function, 50);
    let begun = Instant::now();
    assert_eq!(callback.act(&intent(&written())).effect, Effect::Unknown, "the time is over");
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert_eq!(callback.state(&written()), WorldState::CannotTell);
    assert!(matches!(callback.available(), Availability::Unavailable(_)));
    let other = Receipt { id: Id::new("rct", 9, 9), ..written() };
    assert_eq!(callback.act(&intent(&other)).effect, Effect::NotStarted, "the first is still at work");
    go.send(()).expect("listening");
    let end = Instant::now() + Duration::from_secs(5);
    while callback.state(&written()) != WorldState::After {
        assert!(Instant::now() < end, "it never ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert_eq!(callback.state(&other), WorldState::CannotTell);
}
