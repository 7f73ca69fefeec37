//! The healer: one process that takes readings, detects, diagnoses, asks, acts, verifies and writes all of it down (S140).

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use sanare_core::hash::Digest;
use sanare_core::port::{Clock, Store, StoreFault};
use sanare_core::service::config::Configuration;
use sanare_core::service::{Action, Agent, Application, Component, Invalid, ServiceStore};
use sanare_core::settings::Trouble;
use sanare_engine::service::{Loop, World};
use serde_json::json;

use super::calm::Calm;
use super::client::{Options, Reporter, Service};
use super::courier;
use super::hands::{Capability, Function, Hands};
use super::house::{LiveHouse, Memory};
use super::operation::{Changed, NotReloaded, Watched};
use super::queue::Queue;
use super::references::{self, References};
use super::setup::Setup;
use super::sound::Soundness;
use super::upkeep::Upkept;
use super::watch::Watch;
use crate::wire::clock::SystemClock;
use crate::wire::steady::Steady;

/// Readings that wait for the intake, at most (S14).
const WAITING: usize = 10_000;
/// Steps of runs that one pass makes, at most.
const STEPS: usize = 200;
/// How long a clock that jumped has to be steady, in milliseconds (S34).
const STEADY: u64 = 300_000;
/// Further than this no clock is followed, in milliseconds: what is kept for a time would be forgotten at once.
const FAR: i64 = 30 * 86_400_000;
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
    live: Mutex<Live>,
    tools: Tools,
    /// The clock in `tools`.
    steady: Arc<Steady>,
    queue: Arc<Queue>,
    lent: Mutex<Vec<Lent>>,
    remake: Option<Box<Remake>>,
    /// The file, where it may be read again.
    watched: Option<Mutex<Watched>>,
    reloading: Mutex<()>,
    teller: Mutex<Option<Box<Teller>>>,
    hangs_up: AtomicBool,
    watch: Mutex<Watch>,
    memory: Arc<Mutex<Memory>>,
    upkept: Mutex<Upkept>,
    soundness: Mutex<Soundness>,
    beside: Mutex<Option<Box<Beside>>>,
    /// The policy that was seen last.
    policy: Mutex<Option<Digest>>,
    /// The configuration that the store knows of.
    configured: Mutex<Option<Arc<Setup>>>,
    /// Those of the configuration that is live, for whoever counts rows.
    references: Arc<Mutex<Arc<References>>>,
    reporters: Mutex<Vec<Weak<Reporter>>>,
    /// One worker acts at a time in this process.
    acting: Mutex<()>,
    ending: (Mutex<bool>, Condvar),
    running: AtomicBool,
    /// Under which name this healer tells people: unique among all that ever were.
    courier: String,
}

/// What one configuration makes: swapped as a whole.
#[derive(Clone)]
pub(super) struct Live {
    pub setup: Arc<Setup>,
    pub hands: Arc<Hands>,
    pub agent: Arc<dyn Agent>,
    pub references: Arc<References>,
}

/// A function that the program has lent, for every configuration that comes.
pub(super) struct Lent {
    pub application: Application,
    component: Component,
    action: Action,
    function: Arc<Function>,
    capability: Capability,
}

impl Lent {
    /// Lends it.
    ///
    /// # Errors
    /// [`Invalid`].
    pub fn to(&self, hands: &mut Hands, configuration: &Configuration) -> Result<(), Invalid> {
        let (function, capability) = (Arc::clone(&self.function), self.capability.clone());
        hands.lend(configuration, &self.application, &self.component, self.action, function, capability)
    }
}

type Remake = dyn Fn(&Setup) -> Result<Arc<dyn Agent>, String> + Send + Sync;
type Beside = dyn Fn(&str) + Send + Sync;
type Teller = dyn Fn(&Result<Vec<Changed>, NotReloaded>) + Send + Sync;

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
        let store = setup.open_store()?;
        let counted: Arc<dyn Store> = store.clone();
        let remake: Box<Remake> = Box::new(move |setup| super::agent::agent(setup, Arc::clone(&counted)));
        let agent = remake(&setup).map_err(|why| setup.no_agent(&why))?;
        let tools = Tools { store, clock: Arc::new(SystemClock::new()), agent };
        let hands = Hands::of(&setup).map_err(NotMadeHealer::Configuration)?;
        let watched = Watched::of(&setup.file);
        Self::made(setup, tools, hands, Some(remake), Some(watched))
    }

    /// A healer with other tools.
    ///
    /// # Errors
    /// [`NotMadeHealer`].
    pub fn with(setup: Setup, tools: Tools) -> Result<Self, NotMadeHealer> {
        let hands = Hands::of(&setup).map_err(NotMadeHealer::Configuration)?;
        let watched = Watched::of(&setup.file);
        Self::made(setup, tools, hands, None, Some(watched))
    }

    /// A healer with other hands too: whatever its file says later, it keeps them.
    pub(super) fn with_hands(setup: Setup, tools: Tools, hands: Hands) -> Result<Self, NotMadeHealer> {
        Self::made(setup, tools, hands, None, None)
    }

    fn made(
        setup: Setup,
        tools: Tools,
        hands: Hands,
        remake: Option<Box<Remake>>,
        watched: Option<Watched>,
    ) -> Result<Self, NotMadeHealer> {
        let detectors = super::detectors(&setup).map_err(NotMadeHealer::Configuration)?;
        let references = Arc::new(references::with_keys(&setup, &detectors.drifts));
        let memory = Arc::new(Mutex::new(Memory::default()));
        let calm = Calm::of(&setup, Arc::clone(&memory)).map_err(NotMadeHealer::Configuration)?;
        let watch = Watch::new(detectors, calm, Arc::clone(&memory));
        let courier = format!("courier/{:020x}", tools.clock.chance());
        let steady = Arc::new(Steady::new(Arc::clone(&tools.clock)));
        let tools = Tools { clock: steady.clone(), ..tools };
        let agent = Arc::clone(&tools.agent);
        let shared = Arc::new(Mutex::new(Arc::clone(&references)));
        let live = Live { setup: Arc::new(setup), hands: Arc::new(hands), agent, references };
        let inner = Inner {
            live: Mutex::new(live),
            tools,
            steady,
            queue: Arc::new(Queue::new(WAITING)),
            lent: Mutex::default(),
            remake,
            watched: watched.map(Mutex::new),
            reloading: Mutex::default(),
            teller: Mutex::default(),
            hangs_up: AtomicBool::new(false),
            watch: Mutex::new(watch),
            memory,
            upkept: Mutex::default(),
            soundness: Mutex::default(),
            beside: Mutex::default(),
            policy: Mutex::default(),
            configured: Mutex::default(),
            references: shared,
            reporters: Mutex::default(),
            acting: Mutex::default(),
            ending: (Mutex::new(false), Condvar::new()),
            running: AtomicBool::new(false),
            courier,
        };
        let healer = Self { inner: Arc::new(inner) };
        locked(&healer.inner.watch).remember(healer.store(), &healer.setup().configuration)?;
        Ok(healer)
    }

    /// What it is configured by now.
    pub fn setup(&self) -> Arc<Setup> {
        locked(&self.inner.live).setup.clone()
    }

    /// Whoever is told of each reload that nobody called for by [`Healer::reload`].
    pub fn on_reload(&self, tell: impl Fn(&Result<Vec<Changed>, NotReloaded>) + Send + Sync + 'static) {
        *locked(&self.inner.teller) = Some(Box::new(tell));
    }

    /// Whoever is told that another healer is on the store.
    pub fn on_beside(&self, tell: impl Fn(&str) + Send + Sync + 'static) {
        *locked(&self.inner.beside) = Some(Box::new(tell));
    }

    pub(super) fn beside_teller(&self) -> &Mutex<Option<Box<Beside>>> {
        &self.inner.beside
    }

    pub(super) fn soundness(&self) -> &Mutex<Soundness> {
        &self.inner.soundness
    }

    /// From now on SIGHUP has the configuration read again, in place of ending the program.
    ///
    /// # Errors
    /// When the system refuses it.
    pub fn reload_on_hangup(&self) -> std::io::Result<()> {
        sanare_effects::hangup::listen()?;
        self.inner.hangs_up.store(true, Ordering::SeqCst);
        Ok(())
    }

    pub(super) fn live(&self) -> Live {
        locked(&self.inner.live).clone()
    }

    pub(super) fn go_live(&self, live: Live) {
        *locked(&self.inner.references) = Arc::clone(&live.references);
        *locked(&self.inner.live) = live;
    }

    pub(super) fn reloading(&self) -> &Mutex<()> {
        &self.inner.reloading
    }

    pub(super) fn watched(&self) -> Option<&Mutex<Watched>> {
        self.inner.watched.as_ref()
    }

    pub(super) fn watch(&self) -> &Mutex<Watch> {
        &self.inner.watch
    }

    pub(super) fn lent(&self) -> &Mutex<Vec<Lent>> {
        &self.inner.lent
    }

    pub(super) fn teller(&self) -> &Mutex<Option<Box<Teller>>> {
        &self.inner.teller
    }

    pub(super) fn memory(&self) -> Arc<Mutex<Memory>> {
        Arc::clone(&self.inner.memory)
    }

    pub(super) fn upkept(&self) -> &Mutex<Upkept> {
        &self.inner.upkept
    }

    pub(super) fn upkept_policy(&self) -> &Mutex<Option<Digest>> {
        &self.inner.policy
    }

    pub(super) fn noted_configuration(&self) -> &Mutex<Option<Arc<Setup>>> {
        &self.inner.configured
    }

    pub(super) fn hangs_up(&self) -> bool {
        self.inner.hangs_up.load(Ordering::SeqCst)
    }

    pub(super) fn remade(&self, setup: &Setup) -> Option<Result<Arc<dyn Agent>, String>> {
        self.inner.remake.as_ref().map(|remake| remake(setup))
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
        // A reload that is under way either has it, or takes it from the list.
        let _one = locked(&self.inner.reloading);
        let lent =
            Lent { application: application.clone(), component: component.clone(), action, function, capability };
        let mut live = locked(&self.inner.live);
        let mut changed = Hands::clone(&live.hands);
        lent.to(&mut changed, &live.setup.configuration)?;
        // A pass that is under way goes on with what it has.
        live.hands = Arc::new(changed);
        drop(live);
        let mut all = locked(&self.inner.lent);
        all.retain(|one| (&one.application, &one.component, one.action) != (application, component, action));
        all.push(lent);
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

    /// Notices that the wall clock moved otherwise than time did: it is in the ledger, and for 5 minutes nothing is acted on
    /// (S34). Until it is let follow the clock, everything goes on by the time that has passed.
    fn look_at_the_clock(&self) -> Result<(), StoreFault> {
        let steady = &self.inner.steady;
        let (jump, found) = steady.look();
        if found {
            locked(&self.inner.memory).jumped = Some(steady.elapsed());
        }
        let Some(jump) = jump else { return Ok(()) };
        self.write_down("clock_jumped", &json!({ "expected": jump.expected, "wall": jump.wall }))?;
        steady.noted();
        Ok(())
    }

    /// Once the clock was steady for 5 minutes and nothing is under way that lasts a time, the healer goes on by it.
    fn follow_the_clock(&self, watch: &mut Watch, house: &LiveHouse) -> Result<(), StoreFault> {
        let steady = &self.inner.steady;
        let jumped = locked(&self.inner.memory).jumped;
        let rests = jumped.is_some_and(|at| steady.elapsed().saturating_sub(at) < STEADY);
        if !steady.is_apart() || steady.ahead().abs() > FAR || rests {
            return Ok(());
        }
        let Ok(_one) = self.inner.acting.try_lock() else { return Ok(()) };
        match watch.follow(house, steady)? {
            Some(by) => self.write_down("clock_followed", &json!({ "by_ms": by })),
            None => Ok(()),
        }
    }

    /// The half of a pass that only looks.
    pub(super) fn watch_once(&self) -> Result<Pass, StoreFault> {
        self.sound()?;
        let reporters: Vec<Arc<Reporter>> = {
            let mut all = locked(&self.inner.reporters);
            all.retain(|one| one.strong_count() > 0);
            all.iter().filter_map(Weak::upgrade).collect()
        };
        let ending = *locked(&self.inner.ending.0);
        self.look_at_the_clock()?;
        reporters.iter().for_each(|one| one.send(ending));
        self.reload_if_due();
        let mut watch = locked(&self.inner.watch);
        // Taken while nothing is swapped: detectors and house are of one configuration.
        let house = self.house();
        let pass = self.within(&house, |acting| watch.pass(&house, &self.inner.queue, acting))?;
        self.follow_the_clock(&mut watch, &house)?;
        self.look_beside(watch.keeps())?;
        Ok(pass)
    }

    /// Keeps what detection knows, and lets another process watch: after the last pass of this one.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn rest(&self) -> Result<(), StoreFault> {
        let mut watch = locked(&self.inner.watch);
        watch.rest(&self.house())
    }

    /// The half of a pass that may act.
    fn act_once(&self) -> Result<u64, StoreFault> {
        self.sound()?;
        let _one = locked(&self.inner.acting);
        self.knows_the_time()?;
        self.look_at_the_clock()?;
        let house = self.house();
        self.within(&house, |acting| {
            self.withdraw(acting)?;
            acting.tick(STEPS)
        })
        .map(|steps| steps as u64)
    }

    /// Questions of what is stopped are void, by whomever and however the switch was set: lifting it begins nothing.
    fn withdraw(&self, acting: &Loop<'_>) -> Result<(), StoreFault> {
        self.note_switches_if_free()?;
        self.note_policy()?;
        self.note_configuration()?;
        let setup = self.setup();
        if setup.is_stopped(None) {
            return acting.void_approvals(None, "stopped").map(drop);
        }
        let mut stopped = setup.configuration.services.keys().filter(|application| setup.is_stopped(Some(application)));
        stopped.try_for_each(|application| acting.void_approvals(Some(application), "stopped").map(drop))
    }

    /// Brings messages to people that are due.
    pub(super) fn tell_once(&self) -> Result<u64, StoreFault> {
        self.sound()?;
        let hands = self.live().hands;
        let tools = &self.inner.tools;
        let stormy = locked(&self.inner.memory).weather.is_storm();
        self.upkeep()?;
        courier::round(&*tools.store, &*tools.clock, &hands.routes, &self.inner.courier, stormy)
    }

    /// Does something with the loop.
    pub(super) fn within<T>(&self, house: &LiveHouse, then: impl FnOnce(&Loop<'_>) -> T) -> T {
        let tools = &self.inner.tools;
        let caps = super::agent::caps(&house.setup.settings);
        let world = World { store: &*tools.store, house, agent: &*house.agent, clock: &*tools.clock, caps };
        then(&Loop::new(world, "healer"))
    }

    /// The house of this moment.
    pub(super) fn house(&self) -> LiveHouse {
        let Live { setup, hands, agent, references } = self.live();
        LiveHouse {
            setup,
            hands,
            agent,
            store: Arc::clone(&self.inner.tools.store),
            clock: Arc::clone(&self.inner.tools.clock),
            memory: Arc::clone(&self.inner.memory),
            references,
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
    /// When no thread can be started, or the store is damaged.
    pub fn start(&self) -> std::io::Result<()> {
        if let Err(fault @ StoreFault::Corrupt(_)) = self.sound() {
            return Err(std::io::Error::other(fault));
        }
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
        f.debug_struct("Healer").field("setup", &self.setup().file).finish_non_exhaustive()
    }
}

pub(super) fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
