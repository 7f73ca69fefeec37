//! What the loop of service healing asks of the world: adapters, probes, agents, the house with its configuration, and
//! the store. The clock is [`crate::port::Clock`].

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::context::{Context, LiveSpan, RegistryView};
use super::declaration::Declaration;
use super::diagnosis::AgentFailure;
use super::gates::GateCheck;
use super::incident::Incident;
use super::job::{Following, JobState};
use super::kind::IncidentKind;
use super::moment::Moment;
use super::name::{Application, Component, Labels};
use super::proposal::{AgentResult, Params};
use super::receipt::{ActKey, Purpose, Receipt, WorldState};
use super::target::{Identity, TargetKey};
use super::text::{Output, Text};
use super::verification::{Guard, Seen};
use super::word::{Effect, Health};
use crate::hash::Digest;
use crate::id::Id;
use crate::incident::Mode;
use crate::policy::Policy;

pub mod scripted;
pub mod store;

pub use store::ServiceStore;

/// One configured target with the one action that it is for. A call may wait for the network, never longer than the
/// declared timeout; whoever runs the loop decides on threads.
pub trait Adapter: Send + Sync {
    /// What it declares of itself (S78).
    fn declaration(&self) -> &Declaration;

    /// Whether it can be reached now (S80). Nothing is changed.
    fn available(&self) -> Availability;

    /// What the target is now, by the marks that can be read (S79). Nothing is changed.
    fn identity(&self) -> Identity;

    /// Preconditions, and the dry run where it has one (S90): checks of the gates `preconditions` and `dry_run`. Nothing
    /// is changed.
    fn rehearse(&self, intent: &Intent) -> Vec<GateCheck>;

    /// Does it, or takes it back, as the intent's key says. Called at most once for a started receipt, unless the adapter
    /// is declared idempotent. It compares the marks of its fence with [`Intent::before`] first, and refuses when they
    /// differ. When in doubt what happened: [`Effect::Unknown`].
    fn act(&self, intent: &Intent) -> Acted;

    /// What the world says of an act that was begun (S91). Nothing is changed.
    fn state(&self, receipt: &Receipt) -> WorldState;

    /// How the jobs are followed that its acts begin (S88); nothing where an act is over when it returns.
    fn follows(&self) -> Option<Following> {
        None
    }

    /// How the job of an act stands, by the reference that the act has given. Nothing is changed.
    fn job(&self, _receipt: &Receipt, _job: Option<&str>) -> JobState {
        JobState::CannotTell(Text::of("it is not followed"))
    }
}

/// Whether an adapter can be used now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    /// It can.
    Available,
    /// It cannot, and why.
    Unavailable(Text),
}

/// What is to be done, exactly: nothing in it comes from an agent, an alert or a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intent {
    /// The started receipt; for a rehearsal the one that would be.
    pub receipt_id: Id,
    /// Incident, attempt, action and purpose: the idempotency key.
    pub key: ActKey,
    /// The service.
    pub application: Application,
    /// The part of it.
    pub component: Component,
    /// What is touched.
    pub target: TargetKey,
    /// With which parameters.
    pub params: Params,
    /// The lease's fence; it only grows.
    pub fence: u64,
    /// What the target was when this was decided.
    pub before: Identity,
    /// What it is to be, as far as that is known before.
    pub intended: Identity,
    /// By the wall clock, for people and other machines.
    pub deadline: Moment,
    /// From the call on, in milliseconds.
    pub timeout_ms: u64,
    /// Where a job is to be cancelled: its name, or the receipt by which it is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Text>,
}

impl Intent {
    /// The intent that a receipt records.
    pub fn of(receipt: &Receipt, timeout_ms: u64) -> Self {
        Self {
            receipt_id: receipt.id.clone(),
            key: receipt.key.clone(),
            application: receipt.application.clone(),
            component: receipt.component.clone(),
            target: receipt.target.clone(),
            params: receipt.params.clone(),
            fence: receipt.fence,
            before: receipt.before.clone(),
            intended: receipt.intended.clone(),
            deadline: receipt.deadline,
            timeout_ms,
            job: receipt.reference.clone().filter(|_| receipt.key.purpose == Purpose::Undo),
        }
    }
}

/// What an adapter says of an act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acted {
    /// What happened.
    pub effect: Effect,
    /// The adapter's own name for it, such as a job's.
    pub reference: Option<Text>,
    /// Marks that the act has set and that were not known before, such as a new revision.
    pub arrived: Identity,
    /// What it wrote.
    pub output: Output,
}

impl Acted {
    /// An effect with nothing else to say.
    pub fn plain(effect: Effect) -> Self {
        Self { effect, reference: None, arrived: Identity::default(), output: Output::of("") }
    }
}

/// A configured request through the path that users use, or a ping beside it (S28).
pub trait Probe: Send + Sync {
    /// Its configured name.
    fn name(&self) -> &str;

    /// Asks once, within its own time limit.
    fn ask(&self) -> Answered;
}

/// What a probe got.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    /// Whether it passes; `unknown` only where the asking itself failed on our side.
    pub health: Health,
    /// Who answered, by the marks that could be read.
    pub identity: Identity,
    /// How long it took, in milliseconds.
    pub millis: u64,
    /// Why it does not pass.
    pub detail: Option<Text>,
}

/// A configured read-only check (S76).
pub trait Diagnostic: Send + Sync {
    /// Its configured id.
    fn name(&self) -> &str;

    /// Runs it once, within its own time limit.
    fn run(&self) -> Found;
}

/// What a check found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Whether it ended as it should.
    pub succeeded: bool,
    /// The number that its output is, where it is nothing but one finite number.
    pub number: Option<f64>,
    /// The numbers that it gave, each with its labels, where it gave several.
    pub series: Vec<(Labels, f64)>,
    /// What it wrote.
    pub output: Output,
}

/// Something that says what is wrong and what might help (S58). The engine checks what it answers.
pub trait Agent: Send + Sync {
    /// Thinks about an incident.
    ///
    /// # Errors
    /// [`AgentFailure`]: the way in which it failed, and nothing of what a provider said.
    fn diagnose(&self, context: &Context, call: &AgentCall) -> Result<AgentResult, AgentFailure>;
}

/// What an agent is given beside the context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentCall {
    /// The id of the diagnosis to be made.
    pub diagnosis_id: Id,
    /// Now.
    pub now: Moment,
    /// Milliseconds that are left.
    pub millis: u64,
    /// 128 bits of chance, for a marker.
    pub chance: u128,
}

/// A target that is configured for an action.
pub struct Fitting<'a> {
    /// How it is acted on.
    pub adapter: &'a dyn Adapter,
    /// The adapter's kind, such as `command`.
    pub kind: &'a str,
    /// The request through the path that users use.
    pub probe: Option<&'a dyn Probe>,
    /// What its probe told when it last told anything: of a process that hangs or is gone nothing can be read.
    pub last: Identity,
    /// The component that is meant.
    pub component: Component,
    /// Instances that are healthy now.
    pub healthy: u32,
    /// Healthy ones that the act takes down.
    pub takes_healthy: u32,
}

/// What verification goes by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watched {
    /// Readings of each signal that opened the incident, and of those that the adapter declares.
    pub signals: Vec<Vec<Seen>>,
    /// What must not get worse.
    pub guards: Vec<Guard>,
}

/// The house: what is configured, and what is so now. Every answer is of this moment; what cannot be read is the answer
/// that stops.
pub trait House: Send + Sync {
    /// The target for an action on an application (S79), or why there is none.
    ///
    /// # Errors
    /// The reason, for people.
    fn fitting(&self, application: &Application, action: Action) -> Result<Fitting<'_>, String>;

    /// The target that a receipt was written for, whatever is configured for its action by now: nothing is ever looked at,
    /// begun again or taken back on another one.
    ///
    /// # Errors
    /// The reason, for people.
    fn resolved(&self, receipt: &Receipt) -> Result<Fitting<'_>, String> {
        let fitting = self.fitting(&receipt.application, receipt.key.action)?;
        if fitting.adapter.declaration().target == receipt.target {
            Ok(fitting)
        } else {
            Err(format!("another target is configured for {} now", receipt.key.action))
        }
    }

    /// Ids of the checks that are configured for a kind of incident (S76).
    fn diagnostics(&self, application: &Application, kind: IncidentKind) -> Vec<String>;

    /// A configured check.
    fn diagnostic(&self, name: &str) -> Option<&dyn Diagnostic>;

    /// The policy file as it is now; one that cannot be read is such a policy.
    fn policy(&self) -> Policy;

    /// Hash of the configuration.
    fn configuration(&self) -> Digest;

    /// The mode that the settings give.
    fn mode(&self, application: &Application) -> Mode;

    /// Whether a stop switch is set; `true` where that cannot be read.
    fn stopped(&self, application: &Application) -> bool;

    /// Whether a call may begin at this very moment; asked last, right before it. Once whoever sets the stop switch has
    /// been answered, nobody is told yes any more.
    fn may_begin(&self, application: &Application) -> bool {
        !self.stopped(application)
    }

    /// Calls an adapter, once [`House::may_begin`] has said yes: whoever has a gate that an effect passes when it leaves this
    /// process puts the call behind it.
    fn calling(&self, _application: &Application, call: &mut dyn FnMut()) {
        call();
    }

    /// Whether storm mode holds for it.
    fn in_storm(&self, application: &Application) -> bool;

    /// Milliseconds since the wall clock jumped, if it ever did.
    fn since_clock_jump_ms(&self) -> Option<u64>;

    /// Applications beside this one on which something is being done.
    fn applications_at_once(&self, application: &Application) -> u32;

    /// Which version was live when, oldest first (S87).
    fn versions(&self, incident: &Incident) -> Vec<LiveSpan>;

    /// What the registry says of what is served (S29).
    fn registry(&self, incident: &Incident) -> Option<RegistryView>;

    /// Readings since a moment, with the bounds of the rules that opened the incident, for an act of another moment (S110).
    fn watched(&self, incident: &Incident, since: Moment, acted_at: Moment) -> Watched;
}
