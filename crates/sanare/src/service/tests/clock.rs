//! The wall clock jumps, in each step of a run: windows and expiries go on by the time that passes, nothing is done for five
//! minutes, and it is in the ledger (S34).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use sanare_core::port::{Clock, Store as _};
use sanare_core::service::rules::RulesAgent;
use sanare_core::service::{Signal, StepName};
use sanare_store::Memory;

use super::super::{Healer, Options, Setup, Tools};
use super::{ASKS, AUTO, CONFIGURATION, Hand, Plant, Version, fraud, goes_bad};

const HOUR: i64 = 3_600_000;

/// A clock on the wall that somebody sets.
struct Wall {
    hand: Arc<Hand>,
    ahead: AtomicI64,
    stands: AtomicBool,
    stood: AtomicU64,
}

impl Wall {
    fn set(&self, turn: Turn) {
        match turn {
            Turn::By(millis) => drop(self.ahead.fetch_add(millis, Ordering::SeqCst)),
            Turn::Stop => {
                self.stood.store(self.now(), Ordering::SeqCst);
                self.stands.store(true, Ordering::SeqCst);
            }
        }
    }
}

impl Clock for Wall {
    fn now(&self) -> u64 {
        match self.stands.load(Ordering::SeqCst) {
            true => self.stood.load(Ordering::SeqCst),
            false => self.hand.now().saturating_add_signed(self.ahead.load(Ordering::SeqCst)),
        }
    }
    fn elapsed(&self) -> u64 {
        self.hand.elapsed()
    }
    fn chance(&self) -> u128 {
        self.hand.chance()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Turn {
    By(i64),
    Stop,
}

const TURNS: [Turn; 4] = [Turn::By(HOUR), Turn::By(-HOUR), Turn::By(87_600 * HOUR), Turn::Stop];

/// A plant whose healer looks at a wall clock of its own.
fn plant(policy: &str) -> (Plant, Arc<Wall>, Arc<Memory>) {
    let mut plant = Plant::new(CONFIGURATION, policy);
    let store = Arc::new(Memory::default());
    plant.store = store.clone();
    let wall = Arc::new(Wall {
        hand: plant.clock.clone(),
        ahead: AtomicI64::new(0),
        stands: AtomicBool::new(false),
        stood: AtomicU64::new(0),
    });
    begin(&mut plant, &wall);
    (plant, wall, store)
}

/// A healer of the same store begins.
fn begin(plant: &mut Plant, wall: &Arc<Wall>) {
    let setup = Setup::read(&plant.healer.setup().file).unwrap();
    let tools = Tools { store: Arc::clone(&plant.store), clock: wall.clone(), agent: Arc::new(RulesAgent) };
    plant.healer = Healer::with(setup, tools).unwrap();
    plant.service = plant.healer.service(fraud(), Options::default());
}

/// What the ledger says of the clock.
fn noted(store: &Memory) -> Vec<String> {
    let steps = store.ledger_after(0, 100_000).unwrap().into_iter().map(|one| one.step);
    steps.filter(|step| step.starts_with("clock_")).collect()
}

/// Minutes, by the time that passes, from the change of version to the act and from there to the end.
fn story(turn: Option<(u64, Turn)>) -> (Option<u64>, Option<u64>, String) {
    let (plant, wall, store) = plant(AUTO);
    plant.lend();
    plant.deploy("1");
    plant.minutes(5);
    plant.healer.mark_good(&fraud(), &Version::parse("1").unwrap(), "it has served for months").unwrap();
    plant.deploy("2");
    let (mut acted, mut healed) = (None, None);
    for minute in 0..60 {
        if let Some((at, turn)) = turn
            && at == minute
        {
            wall.set(turn);
        }
        plant.minutes(1);
        let calls = plant.calls.lock().unwrap().len();
        assert!(calls <= 1, "never twice");
        acted = acted.or((calls == 1).then_some(minute));
        let closed = plant.healer.incidents(1).unwrap().pop().and_then(|one| one.outcome);
        healed = healed.or(closed.is_some_and(|outcome| format!("{outcome:?}") == "Healed").then_some(minute));
    }
    (acted, healed, noted(&store).join(" "))
}

#[test]
fn in_each_step_of_a_run_windows_go_on_by_the_time_that_passes() {
    let (acted, healed, nothing) = story(None);
    let (acted, healed) = (acted.unwrap(), healed.unwrap());
    assert_eq!(nothing, "");
    for turn in TURNS {
        for minute in 0..=healed {
            let (act, end, noted) = story(Some((minute, turn)));
            assert!(noted.starts_with("clock_jumped"), "{turn:?} in minute {minute}: {noted}");
            // A clock that stands is told from one that goes once it is a minute behind.
            let known = minute + u64::from(turn == Turn::Stop);
            if known > acted {
                assert_eq!(
                    (act, end),
                    (Some(acted), Some(healed)),
                    "{turn:?} in minute {minute}: not sooner, not later"
                );
            } else if let Some(act) = act {
                assert!(act >= known + 5 || act < known, "{turn:?} in minute {minute}: an act in minute {act}");
            }
            let followed = matches!(turn, Turn::By(by) if by.abs() == HOUR);
            assert_eq!(noted.contains("clock_followed"), followed, "{turn:?} in minute {minute}: {noted}");
        }
    }
}

#[test]
fn no_expiry_is_prolonged_and_no_question_is_answered_by_it() {
    for turn in TURNS {
        let (plant, wall, _) = plant(ASKS);
        goes_bad(&plant);
        assert_eq!(plant.healer.pending_approvals().unwrap().len(), 1);
        wall.set(turn);
        plant.minutes(26);
        assert_eq!(plant.healer.pending_approvals().unwrap().len(), 1, "{turn:?}");
        plant.minutes(6);
        assert!(plant.healer.pending_approvals().unwrap().is_empty(), "{turn:?}");
        assert!(plant.steps().contains("escalating"), "{turn:?}: {}", plant.steps());
        assert!(plant.calls.lock().unwrap().is_empty());
    }
}

#[test]
fn nothing_is_missing_and_nobody_is_deaf_because_the_clock_was_set() {
    for turn in [Turn::By(HOUR), Turn::By(-HOUR), Turn::By(24 * 3 * HOUR)] {
        let (plant, wall, store) = plant(AUTO);
        plant.lend();
        plant.deploy("1");
        plant.minutes(10);
        wall.set(turn);
        plant.minutes(10);
        assert!(noted(&store).contains(&"clock_followed".to_owned()), "{turn:?}");
        let told = plant.healer.clock().now();
        assert_eq!(told, wall.now(), "{turn:?}: it goes on by the clock on the wall");
        assert!(plant.healer.incidents(5).unwrap().is_empty(), "{turn:?}: {:?}", plant.healer.incidents(5));
        plant.deploy("2");
        plant.minutes(3);
        let incident = plant.only_incident();
        assert!(incident.opened.millis().abs_diff(wall.now()) < 3 * 60_000, "{turn:?}: dated by the clock");
    }
}

#[test]
fn a_clock_that_was_set_back_while_nobody_ran_prolongs_nothing() {
    let (mut plant, wall, _) = plant(ASKS);
    goes_bad(&plant);
    assert_eq!(plant.healer.pending_approvals().unwrap().len(), 1);
    plant.healer.rest().unwrap();
    wall.set(Turn::By(-HOUR));
    begin(&mut plant, &wall);
    plant.lend();
    plant.minutes(1);
    assert!(plant.healer.pending_approvals().unwrap().is_empty(), "what was asked is void");
    plant.minutes(4);
    assert!(plant.calls.lock().unwrap().is_empty());
    // Detection goes on where it was: it is not deaf for an hour.
    *plant.served.lock().unwrap() = "1".to_owned();
    let signal = Signal::parse("error_share").unwrap();
    plant.service.observe(&signal, 0.01);
    plant.minutes(10);
    let incident = plant.only_incident();
    assert_eq!((incident.condition.word(), incident.step), ("cleared", StepName::Closed), "{}", plant.steps());
}
