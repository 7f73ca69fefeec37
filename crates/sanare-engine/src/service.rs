//! The loop of service healing: runs that are due go on by one step, each stored before the next begins (S105).
//!
//! Whoever hosts it calls [`Loop::tick`] again and again, on as many workers and machines as there are: a lease an
//! application lets one of them at a time advance its runs, and whatever a dead one left is gone on with from its last
//! step. No thread waits for anything.

mod advance;
pub mod agent;
mod answer;
mod mark;
mod by_hand;
mod careful;
mod next;
mod offer;
mod person;
mod report;
mod settle;
mod stage;
mod storm;
mod turn;

use sanare_core::id::Id;
use sanare_core::port::store::Lease;
use sanare_core::port::{Clock, StoreFault};
use sanare_core::service::confidence::Caps;
use sanare_core::service::{
    Agent, Application, House, Incident, Moment, NotMade, ReceiptState, Run, ServiceStore, StepName,
};

pub use answer::{Answered, NotAnswered};
pub use by_hand::acknowledged_by;
pub use mark::Marks;
pub use next::next;
pub use person::NotDone;
pub use report::{Reported, Symptom};
pub use settle::NotSettled;
pub use storm::fleet;

/// Everything outside.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// Memory.
    pub store: &'a dyn ServiceStore,
    /// What is configured, and what is so now.
    pub house: &'a dyn House,
    /// Who says what is wrong.
    pub agent: &'a dyn Agent,
    /// Time and chance.
    pub clock: &'a dyn Clock,
    /// The most that an agent is believed.
    pub caps: Caps,
}

impl World<'_> {
    /// Now, by the wall.
    pub(crate) fn now(&self) -> Moment {
        Moment::from_millis(self.clock.now())
    }

    pub(crate) fn id(&self, kind: &str) -> sanare_core::id::Id {
        sanare_core::id::Id::new(kind, self.clock.now(), self.clock.chance())
    }
}

/// One worker of the loop.
pub struct Loop<'a> {
    world: World<'a>,
    /// Unique among all workers that ever were.
    owner: String,
}

/// Milliseconds of an owner's lease beside the time that a call may take.
pub(crate) const LEASE_MS: u64 = 30_000;

impl<'a> Loop<'a> {
    /// A worker; `name` is for people and need not be unique.
    pub fn new(world: World<'a>, name: &str) -> Self {
        let owner = format!("{name}/{:020x}", world.clock.chance());
        Self { world, owner }
    }

    /// Advances runs that are due, at most so many steps; how many were made.
    ///
    /// # Errors
    /// [`StoreFault`]: a store that fails is a reason to do nothing.
    pub fn tick(&self, steps: usize) -> Result<usize, StoreFault> {
        let mut made = 0;
        while made < steps {
            let due = self.world.store.due(self.world.now(), steps)?;
            let before = made;
            for run in due {
                if made < steps {
                    made += self.step(&run, steps - made)?;
                }
            }
            if made == before {
                break;
            }
        }
        self.expire_approvals()?;
        Ok(made)
    }

    /// One step of one run, under the lease of its application, and with a receipt that it wrote the next one, too; how many
    /// were made.
    fn step(&self, run: &Run, most: usize) -> Result<usize, StoreFault> {
        let store = self.world.store;
        let key = format!("application:{}", run.application);
        let millis = self.lease_of(&run.application)?;
        let Some(lease) = store.lease(&key, &self.owner, self.world.clock.now(), millis)? else { return Ok(0) };
        // What was due may have gone on before the lease was ours.
        let fresh = store.run(&run.incident)?.filter(|found| found.revision == run.revision);
        let made = match (fresh, store.incident(&run.incident)?) {
            (Some(run), Some(incident)) => self.advanced(run, incident, lease.clone()),
            _ => Ok(false),
        };
        let made = match made {
            Ok(true) if most > 1 => self.goes_on_to_act(&run.incident, &lease).map(|more| 1 + usize::from(more)),
            other => other.map(usize::from),
        };
        store.release(&lease)?;
        made
    }

    /// Whoever has just written a receipt has its target, too, and goes on to the act: another worker would have to wait until
    /// that lease is over.
    fn goes_on_to_act(&self, incident: &Id, lease: &Lease) -> Result<bool, StoreFault> {
        let store = self.world.store;
        let is_due =
            |run: &Run| run.step.name() == StepName::Prepared && run.due.is_some_and(|due| due <= self.world.now());
        match (store.run(incident)?.filter(is_due), store.incident(incident)?) {
            (Some(run), Some(known)) => self.advanced(run, known, lease.clone()),
            _ => Ok(false),
        }
    }

    /// For how long an application is asked for. A lease that runs much longer than one that is asked for is taken for
    /// one of a clock that went wrong: so whoever asks while an act is under way asks for as long as who acts.
    pub(crate) fn lease_of(&self, application: &Application) -> Result<u64, StoreFault> {
        let unsettled = self.world.store.unsettled()?;
        let acting =
            unsettled.iter().filter(|one| one.application == *application && one.state == ReceiptState::Started);
        let longest = acting.map(|one| one.deadline.since(one.intended_at) / 1_000).max();
        Ok(LEASE_MS + longest.unwrap_or(0))
    }

    fn advanced(&self, run: Run, incident: Incident, lease: Lease) -> Result<bool, StoreFault> {
        let mut turn = turn::Turn::new(self.world, &self.owner, run, incident, lease);
        match advance::advance(&mut turn) {
            Ok(()) => Ok(true),
            // Another worker took over, or a person changed something: what is stored is looked at again.
            Err(NotMade::LeaseLost(_) | NotMade::Moved(_) | NotMade::InUse(_)) => Ok(false),
            Err(NotMade::Store(fault)) => Err(fault),
            Err(NotMade::Open(what) | NotMade::Conflict(what)) => Err(StoreFault::Corrupt(what)),
        }
    }
}

impl std::fmt::Debug for Loop<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loop").field("owner", &self.owner).finish_non_exhaustive()
    }
}
