//! Scripted twins of the service half's ports: a plant that is ill and may be cured, its adapters, and a house round it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::hash::Digest;
use crate::incident::Mode;
use crate::policy::Policy;
use crate::service::action::Action;
use crate::service::context::{Context, LiveSpan, RegistryView};
use crate::service::declaration::Declaration;
use crate::service::diagnosis::AgentFailure;
use crate::service::gates::GateCheck;
use crate::service::incident::Incident;
use crate::service::job::{Following, JobState};
use crate::service::kind::IncidentKind;
use crate::service::moment::Moment;
use crate::service::name::{Application, Component, Labels};
use crate::service::port::{
    Acted, Adapter, Agent, AgentCall, Answered, Availability, Diagnostic, Fitting, Found, House, Intent, Probe, Watched,
};
use crate::service::proposal::{AgentResult, Params};
use crate::service::receipt::{Purpose, Receipt, WorldState};
use crate::service::target::{Identity, Mark};
use crate::service::text::{Output, Text};
use crate::service::verification::Seen;
use crate::service::word::{Effect, Health};

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a scripted adapter takes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// The target changes, and it says what is so.
    Obeys,
    /// The target changes, and it says this.
    ActsAndSays(Effect),
    /// Nothing changes, and it says this.
    Says(Effect),
    /// It breaks down without having changed anything.
    Panics,
    /// The target changes, then it breaks down.
    ActsAndPanics,
}

/// An adapter that follows its script and notes what it was asked.
#[derive(Debug)]
pub struct ScriptedAdapter {
    /// What it declares.
    pub declaration: Declaration,
    /// Reactions in order; then it obeys.
    pub reactions: Mutex<VecDeque<Reaction>>,
    /// Every call of `act`, in order.
    pub calls: Mutex<Vec<Intent>>,
    /// Why it cannot be reached.
    pub unreachable: Mutex<Option<String>>,
    /// What it touches.
    pub identity: Mutex<Identity>,
    /// What it answers of a receipt, where that is not read from the identity.
    pub state: Mutex<Option<WorldState>>,
    /// What a rehearsal finds.
    pub rehearsal: Mutex<Vec<GateCheck>>,
    /// How its jobs are followed, if they are.
    pub follows: Option<Following>,
    /// How its job stands, each time that it is asked for; then as the last time.
    pub jobs: Mutex<VecDeque<JobState>>,
    /// What it breaks down at, by the name of the call: `available`, `identity`, `rehearse`, `state`, `follows`, `job`.
    pub breaks: Mutex<Option<String>>,
}

impl ScriptedAdapter {
    /// One that obeys, of a target with these marks.
    pub fn new(declaration: Declaration, identity: Identity) -> Self {
        Self {
            declaration,
            reactions: Mutex::default(),
            calls: Mutex::default(),
            unreachable: Mutex::default(),
            identity: Mutex::new(identity),
            state: Mutex::default(),
            rehearsal: Mutex::default(),
            follows: None,
            jobs: Mutex::default(),
            breaks: Mutex::default(),
        }
    }

    #[expect(clippy::panic, reason = "an adapter that breaks down is what is played here")]
    fn may_break(&self, call: &str) {
        let breaks = locked(&self.breaks).as_deref() == Some(call);
        if breaks {
            panic!("scripted: {call}");
        }
    }

    /// How often the target was changed by us.
    pub fn changes(&self) -> usize {
        locked(&self.identity).get(Mark::Generation).and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    fn change(&self, intent: &Intent) {
        if intent.job.is_some() {
            *locked(&self.jobs) = [JobState::Failed(Text::of("cancelled"))].into();
            return;
        }
        let mut identity = locked(&self.identity);
        let next = identity.get(Mark::Generation).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) + 1;
        let mut now = identity.clone().with(Mark::Generation, next.to_string());
        match (&intent.params, intent.key.purpose) {
            (Params::Rollback { to_version, .. }, Purpose::Act) => {
                now = now.with(Mark::AliasVersion, to_version.as_str()).with(Mark::ServedVersion, to_version.as_str());
            }
            (Params::Rollback { from_version, .. }, Purpose::Undo) => {
                now = now
                    .with(Mark::AliasVersion, from_version.as_str())
                    .with(Mark::ServedVersion, from_version.as_str());
            }
            _ => now = now.with(Mark::StartTime, format!("start {next}")),
        }
        *identity = now;
    }
}

impl Adapter for ScriptedAdapter {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn available(&self) -> Availability {
        self.may_break("available");
        locked(&self.unreachable)
            .as_ref()
            .map_or(Availability::Available, |why| Availability::Unavailable(Text::of(why)))
    }

    fn identity(&self) -> Identity {
        self.may_break("identity");
        locked(&self.identity).clone()
    }

    fn rehearse(&self, _intent: &Intent) -> Vec<GateCheck> {
        self.may_break("rehearse");
        locked(&self.rehearsal).clone()
    }

    #[expect(clippy::panic, reason = "an adapter that breaks down is what is played here")]
    fn act(&self, intent: &Intent) -> Acted {
        locked(&self.calls).push(intent.clone());
        let reaction = locked(&self.reactions).pop_front().unwrap_or(Reaction::Obeys);
        match reaction {
            Reaction::Obeys => {
                self.change(intent);
                Acted::plain(Effect::Done)
            }
            Reaction::ActsAndSays(effect) => {
                self.change(intent);
                Acted::plain(effect)
            }
            Reaction::Says(effect) => Acted::plain(effect),
            Reaction::Panics => panic!("scripted"),
            Reaction::ActsAndPanics => {
                self.change(intent);
                panic!("scripted")
            }
        }
    }

    fn state(&self, receipt: &Receipt) -> WorldState {
        self.may_break("state");
        if let Some(state) = *locked(&self.state) {
            return state;
        }
        match self.identity().differs(&receipt.before, Mark::Generation) {
            true => WorldState::After,
            false => WorldState::Before,
        }
    }

    fn follows(&self) -> Option<Following> {
        self.may_break("follows");
        self.follows
    }

    fn job(&self, _receipt: &Receipt, _job: Option<&str>) -> JobState {
        self.may_break("job");
        let mut jobs = locked(&self.jobs);
        let next = if jobs.len() > 1 { jobs.pop_front() } else { jobs.front().cloned() };
        next.unwrap_or(JobState::Missing)
    }
}

/// A probe of the plant.
#[derive(Debug, Default)]
pub struct ScriptedProbe {
    /// What it answers.
    pub health: Mutex<Option<Health>>,
}

impl Probe for ScriptedProbe {
    fn name(&self) -> &str {
        "score"
    }

    fn ask(&self) -> Answered {
        let health = locked(&self.health).unwrap_or(Health::Pass);
        Answered { health, identity: Identity::default(), millis: 5, detail: None }
    }
}

/// A check that answers one text.
#[derive(Debug)]
pub struct ScriptedDiagnostic {
    /// Its id.
    pub name: String,
    /// What it writes.
    pub output: String,
    /// Whether it ends as it should.
    pub succeeds: bool,
}

impl Diagnostic for ScriptedDiagnostic {
    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self) -> Found {
        let number = self.output.parse().ok();
        let series = self.output.lines().filter_map(series).collect();
        Found { succeeded: self.succeeds, number, series, output: Output::of(&self.output) }
    }
}

/// A line such as `pod=a: 3`.
fn series(line: &str) -> Option<(Labels, f64)> {
    let (label, number) = line.split_once(": ")?;
    let (name, value) = label.split_once('=')?;
    Some((Labels::new([(name.to_owned(), value.to_owned())].into()).ok()?, number.parse().ok()?))
}

/// A house with one application.
#[derive(Debug)]
pub struct ScriptedHouse {
    /// Its targets.
    pub adapters: BTreeMap<Action, ScriptedAdapter>,
    /// Its probe, if it has one.
    pub probe: Option<ScriptedProbe>,
    /// What its probe told when it last told anything.
    pub last: Mutex<Identity>,
    /// Its checks.
    pub diagnostics: Vec<ScriptedDiagnostic>,
    /// Its policy file.
    pub policy: Mutex<Policy>,
    /// Its mode.
    pub mode: Mutex<Mode>,
    /// Hash of its configuration.
    pub configuration: Mutex<Digest>,
    /// Its stop switch.
    pub stopped: Mutex<bool>,
    /// Its storm mode.
    pub in_storm: Mutex<bool>,
    /// Its versions.
    pub versions: Mutex<Vec<LiveSpan>>,
    /// What its registry says.
    pub registry: Mutex<Option<RegistryView>>,
    /// Readings of the one signal.
    pub readings: Mutex<Vec<Seen>>,
    /// Its guards.
    pub guards: Mutex<Vec<crate::service::verification::Guard>>,
    /// Actions whose target is not configured any more.
    pub removed: Mutex<Vec<Action>>,
    /// Milliseconds since its clock jumped.
    pub jumped: Mutex<Option<u64>>,
}

impl Default for ScriptedHouse {
    fn default() -> Self {
        Self {
            adapters: BTreeMap::new(),
            probe: None,
            last: Mutex::default(),
            diagnostics: Vec::new(),
            policy: Mutex::default(),
            mode: Mutex::new(Mode::Auto),
            configuration: Mutex::new(Digest::of(b"configuration")),
            stopped: Mutex::default(),
            in_storm: Mutex::default(),
            versions: Mutex::default(),
            registry: Mutex::default(),
            readings: Mutex::default(),
            guards: Mutex::default(),
            removed: Mutex::default(),
            jumped: Mutex::default(),
        }
    }
}

impl House for ScriptedHouse {
    fn fitting(&self, _application: &Application, action: Action) -> Result<Fitting<'_>, String> {
        let configured = self.adapters.get(&action).filter(|_| !locked(&self.removed).contains(&action));
        let adapter = configured.ok_or_else(|| format!("no target is configured for {action}"))?;
        Ok(Fitting {
            adapter,
            kind: "command",
            probe: self.probe.as_ref().map(|probe| probe as &dyn Probe),
            last: locked(&self.last).clone(),
            component: Component::default(),
            healthy: 0,
            takes_healthy: 0,
        })
    }

    fn diagnostics(&self, _application: &Application, _kind: IncidentKind) -> Vec<String> {
        self.diagnostics.iter().map(|one| one.name.clone()).collect()
    }

    fn diagnostic(&self, name: &str) -> Option<&dyn Diagnostic> {
        self.diagnostics.iter().find(|one| one.name == name).map(|one| one as &dyn Diagnostic)
    }

    fn policy(&self) -> Policy {
        locked(&self.policy).clone()
    }

    fn configuration(&self) -> Digest {
        locked(&self.configuration).clone()
    }

    fn mode(&self, _application: &Application) -> Mode {
        *locked(&self.mode)
    }

    fn stopped(&self, _application: &Application) -> bool {
        *locked(&self.stopped)
    }

    fn in_storm(&self, _application: &Application) -> bool {
        *locked(&self.in_storm)
    }

    fn since_clock_jump_ms(&self) -> Option<u64> {
        *locked(&self.jumped)
    }

    fn applications_at_once(&self, _application: &Application) -> u32 {
        0
    }

    fn versions(&self, _incident: &Incident) -> Vec<LiveSpan> {
        locked(&self.versions).clone()
    }

    fn registry(&self, _incident: &Incident) -> Option<RegistryView> {
        locked(&self.registry).clone()
    }

    fn watched(&self, _incident: &Incident, since: Moment, _acted_at: Moment) -> Watched {
        let seen = locked(&self.readings).iter().copied().filter(|seen| seen.at >= since).collect();
        Watched { signals: vec![seen], guards: locked(&self.guards).clone() }
    }
}

/// What a scripted agent does when it is asked; it is told the context and the call.
pub type Behaviour = dyn Fn(&Context, &AgentCall) -> Result<AgentResult, AgentFailure> + Send + Sync;

/// An agent that does what it is told.
pub struct ScriptedAgent {
    /// What that is.
    pub behaviour: Box<Behaviour>,
}

impl Agent for ScriptedAgent {
    fn diagnose(&self, context: &Context, call: &AgentCall) -> Result<AgentResult, AgentFailure> {
        (self.behaviour)(context, call)
    }
}

impl std::fmt::Debug for ScriptedAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptedAgent").finish_non_exhaustive()
    }
}

/// A clock that stands until it is moved.
#[derive(Debug)]
pub struct HandClock {
    /// Wall and monotonic milliseconds, and what was drawn of chance.
    shows: Mutex<(u64, u64, u128)>,
}

impl HandClock {
    /// One that shows this time.
    pub fn at(moment: Moment) -> Self {
        Self { shows: Mutex::new((moment.millis(), 0, 1)) }
    }

    /// Moves it on.
    pub fn pass(&self, millis: u64) {
        let mut shows = locked(&self.shows);
        shows.0 += millis;
        shows.1 += millis;
    }
}

impl crate::port::Clock for HandClock {
    fn now(&self) -> u64 {
        locked(&self.shows).0
    }

    fn elapsed(&self) -> u64 {
        locked(&self.shows).1
    }

    fn chance(&self) -> u128 {
        let mut shows = locked(&self.shows);
        shows.2 += 1;
        shows.2
    }
}
