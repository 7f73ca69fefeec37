//! The healer: one process that takes readings, detects, diagnoses, asks, acts, verifies and writes all of it down (S140).

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use sanare_core::port::{Clock, StoreFault};
use sanare_core::service::confidence::Caps;
use sanare_core::service::{Action, Agent, Application, Component, Invalid, ServiceStore};
use sanare_core::settings::Trouble;
use sanare_engine::service::{Loop, World};

use super::calm::Calm;
use super::client::{Options, Reporter, Service};
use super::courier;
use super::hands::{Capability, Function, Hands};
use super::house::{LiveHouse, Memory};
use super::queue::Queue;
use super::references::{self, References};
use super::setup::Setup;
use super::watch::Watch;
use crate::wire::clock::SystemClock;

/// Readings that wait for the intake, at most (S14).
const WAITING: usize = 10_000;
/// Steps of runs that one pass makes, at most.
const STEPS: usize = 200;
/// What lies between two passes.
const PASS: Duration = Duration::from_secs(1);

/// Watches and heals services. Cheap to clone: clones are the same healer.
#[derive(Clone)]
pub struct Healer {
    inner: Arc<Inner>,
}

/// What a healer is given, where it is not its own.
pub struct Tools {
    /// Memory.
    pub store: Arc<dyn ServiceStore>,
    /// Time and chance.
    pub clock: Arc<dyn Clock + Send + Sync>,
    /// Who says what is wrong.
    pub agent: Arc<dyn Agent>,
}

struct Inner {
    setup: Arc<Setup>,
    tools: Tools,
    queue: Arc<Queue>,
    hands: Mutex<Arc<Hands>>,
    watch: Mutex<Watch>,
    memory: Arc<Mutex<Memory>>,
    references: Arc<References>,
    reporters: Mutex<Vec<Weak<Reporter>>>,
    /// One worker acts at a time in this process.
    acting: Mutex<()>,
    ending: (Mutex<bool>, Condvar),
    running: AtomicBool,
    /// Under which name this healer tells people: unique among all that ever were.
    courier: String,
}

/// Why there is no healer.
#[derive(Debug, thiserror::Error)]
pub enum NotMadeHealer {
    /// The configuration is wrong.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Configuration(Vec<Trouble>),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// What one pass did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Pass {
    /// Readings that were stored.
    pub stored: u64,
    /// Incidents that were opened or reopened.
    pub opened: u64,
    /// Steps that runs have made.
    pub steps: u64,
    /// Messages to people that were taken.
    pub told: u64,
}

impl Healer {
    /// A healer of the services in a configuration, with its store beside code healing's.
    ///
    /// # Errors
    /// [`NotMadeHealer`].
    pub fn from_config(path: Option<&Path>, folder: &Path) -> Result<Self, NotMadeHealer> {
        let setup = Setup::find(path, folder).map_err(NotMadeHealer::Configuration)?;
        let (store, agent) = setup.open()?;
        let tools = Tools { store, clock: Arc::new(SystemClock::new()), agent };
        Self::with(setup, tools)
    }

    /// A healer with other tools.
    ///
    /// # Errors
    /// [`NotMadeHealer`].
    pub fn with(setup: Setup, tools: Tools) -> Result<Self, NotMadeHealer> {
        let hands = Hands::of(&setup).map_err(NotMadeHealer::Configuration)?;
        Self::with_hands(setup, tools, hands)
    }

    /// A healer with other hands too.
    pub(super) fn with_hands(setup: Setup, tools: Tools, hands: Hands) -> Result<Self, NotMadeHealer> {
        let detectors = super::detectors(&setup).map_err(NotMadeHealer::Configuration)?;
        let references = Arc::new(references::with_keys(&setup, &detectors.drifts));
        let memory = Arc::new(Mutex::new(Memory::default()));
        let calm = Calm::of(&setup, Arc::clone(&memory)).map_err(NotMadeHealer::Configuration)?;
        let watch = Watch::new(detectors, calm, Arc::clone(&memory));
        let courier = format!("courier/{:020x}", tools.clock.chance());
        let inner = Inner {
            setup: Arc::new(setup),
            tools,
            queue: Arc::new(Queue::new(WAITING)),
            hands: Mutex::new(Arc::new(hands)),
            watch: Mutex::new(watch),
            memory,
            references,
            reporters: Mutex::default(),
            acting: Mutex::default(),
            ending: (Mutex::new(false), Condvar::new()),
            running: AtomicBool::new(false),
            courier,
        };
        let healer = Self { inner: Arc::new(inner) };
        locked(&healer.inner.watch).remember(&*healer.inner.tools.store, &healer.inner.setup.configuration)?;
        Ok(healer)
    }

    /// What it is configured by.
    pub fn setup(&self) -> &Setup {
        &self.inner.setup
    }

    /// The store.
    pub fn store(&self) -> &dyn ServiceStore {
        &*self.inner.tools.store
    }

    pub(super) fn clock(&self) -> &Arc<dyn Clock + Send + Sync> {
        &self.inner.tools.clock
    }

    /// A client for a service of this process.
    pub fn service(&self, application: Application, options: Options) -> Service {
        let (queue, clock) = (Arc::clone(&self.inner.queue), Arc::clone(&self.inner.tools.clock));
        let references = Arc::clone(&self.inner.references);
        let service = Service::new(application, options, queue, clock, references, self.clone());
        locked(&self.inner.reporters).push(Arc::downgrade(service.reporter()));
        service
    }

    /// Lets it call a function of this program (S16).
    ///
    /// # Errors
    /// [`Invalid`].
    pub fn capability(
        &self,
        application: &Application,
        component: &Component,
        action: Action,
        function: Arc<Function>,
        capability: Capability,
    ) -> Result<(), Invalid> {
        let configuration = &self.inner.setup.configuration;
        let mut hands = locked(&self.inner.hands);
        let mut changed = Hands::clone(&hands);
        changed.lend(configuration, application, component, action, function, capability)?;
        // A pass that is under way goes on with what it has.
        *hands = Arc::new(changed);
        Ok(())
    }

    /// Takes notice of a version that a person spoke of.
    pub(super) fn remember(&self, seen: &sanare_core::service::Observation) {
        locked(&self.inner.watch).note_version(seen);
    }

    /// Takes what is queued, asks what is due, detects, lets every run that is due go on, and tells people.
    ///
    /// # Errors
    /// [`StoreFault`]; then nothing is acted on.
    pub fn run_once(&self) -> Result<Pass, StoreFault> {
        let mut pass = self.watch_once()?;
        pass.steps = self.act_once()?;
        pass.told = self.tell_once()?;
        self.knows_the_time()?;
        Ok(pass)
    }

    /// By a clock that could not tell the time when it was asked last, nothing is done.
    fn knows_the_time(&self) -> Result<(), StoreFault> {
        match self.clock().is_broken() {
            true => Err(StoreFault::Unusable("the clock gives no time".to_owned())),
            false => Ok(()),
        }
    }

    /// The half of a pass that only looks.
    pub(super) fn watch_once(&self) -> Result<Pass, StoreFault> {
        let reporters: Vec<Arc<Reporter>> = {
            let mut all = locked(&self.inner.reporters);
            all.retain(|one| one.strong_count() > 0);
            all.iter().filter_map(Weak::upgrade).collect()
        };
        let ending = *locked(&self.inner.ending.0);
        reporters.iter().for_each(|one| one.send(ending));
        let house = self.house();
        let mut watch = locked(&self.inner.watch);
        self.within(&house, |acting| watch.pass(&house, &self.inner.queue, acting))
    }

    /// Keeps what detection knows, and lets another process watch: after the last pass of this one.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn rest(&self) -> Result<(), StoreFault> {
        let house = self.house();
        locked(&self.inner.watch).rest(&house)
    }

    /// The half of a pass that may act.
    fn act_once(&self) -> Result<u64, StoreFault> {
        let _one = locked(&self.inner.acting);
        self.knows_the_time()?;
        let house = self.house();
        self.within(&house, |acting| {
            self.withdraw(acting)?;
            acting.tick(STEPS)
        })
        .map(|steps| steps as u64)
    }

    /// Questions of what is stopped are void, by whomever and however the switch was set: lifting it begins nothing.
    fn withdraw(&self, acting: &Loop<'_>) -> Result<(), StoreFault> {
        let setup = &self.inner.setup;
        if setup.is_stopped(None) {
            return acting.void_approvals(None, "stopped").map(drop);
        }
        let mut stopped = setup.configuration.services.keys().filter(|application| setup.is_stopped(Some(application)));
        stopped.try_for_each(|application| acting.void_approvals(Some(application), "stopped").map(drop))
    }

    /// Brings messages to people that are due.
    pub(super) fn tell_once(&self) -> Result<u64, StoreFault> {
        let hands = Arc::clone(&locked(&self.inner.hands));
        let tools = &self.inner.tools;
        courier::round(&*tools.store, &*tools.clock, &hands.routes, &self.inner.courier)
    }

    /// Does something with the loop.
    pub(super) fn within<T>(&self, house: &LiveHouse, then: impl FnOnce(&Loop<'_>) -> T) -> T {
        let tools = &self.inner.tools;
        let world =
            World { store: &*tools.store, house, agent: &*tools.agent, clock: &*tools.clock, caps: Caps::default() };
        then(&Loop::new(world, "healer"))
    }

    /// The house of this moment.
    pub(super) fn house(&self) -> LiveHouse {
        LiveHouse {
            setup: Arc::clone(&self.inner.setup),
            hands: Arc::clone(&locked(&self.inner.hands)),
            store: Arc::clone(&self.inner.tools.store),
            clock: Arc::clone(&self.inner.tools.clock),
            memory: Arc::clone(&self.inner.memory),
            references: Arc::clone(&self.inner.references),
        }
    }

    /// Goes on until [`Healer::close`]: looking once a second, however long an act or a message takes. A store that fails
    /// is a reason to do nothing, and to try again.
    pub fn run(&self) {
        if self.inner.running.swap(true, Ordering::SeqCst) {
            return;
        }
        let looks = self.beside("sanare-watch", |healer| drop(healer.watch_once()));
        let tells = self.beside("sanare-courier", |healer| drop(healer.tell_once()));
        while !self.waits_for_end() {
            if looks.is_err() {
                drop(self.watch_once());
            }
            drop(self.act_once());
            if tells.is_err() {
                drop(self.tell_once());
            }
        }
        for thread in [looks, tells].into_iter().flatten() {
            drop(thread.join());
        }
        // What came last is not lost, and whoever watches next need not wait.
        drop(self.watch_once());
        drop(self.rest());
        self.inner.running.store(false, Ordering::SeqCst);
    }

    /// Does something once a pass on a thread of its own, until the end.
    fn beside(&self, name: &str, does: fn(&Self)) -> std::io::Result<std::thread::JoinHandle<()>> {
        let healer = self.clone();
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            while !healer.waits_for_end() {
                does(&healer);
            }
        })
    }

    /// Runs it on a thread of its own.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(&self) -> std::io::Result<()> {
        if self.inner.running.load(Ordering::SeqCst) {
            return Ok(());
        }
        *locked(&self.inner.ending.0) = false;
        let healer = self.clone();
        std::thread::Builder::new().name("sanare-healer".to_owned()).spawn(move || healer.run()).map(drop)
    }

    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        self.inner.running.load(Ordering::SeqCst)
    }

    /// Ends [`Healer::run`] after its pass.
    pub fn close(&self) {
        *locked(&self.inner.ending.0) = true;
        self.inner.ending.1.notify_all();
    }

    /// Waits for the next pass; whether it is the end.
    fn waits_for_end(&self) -> bool {
        let (ending, told) = &self.inner.ending;
        let waited = told.wait_timeout_while(locked(ending), PASS, |ending| !*ending);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl std::fmt::Debug for Healer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Healer").field("setup", &self.inner.setup.file).finish_non_exhaustive()
    }
}

pub(super) fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
