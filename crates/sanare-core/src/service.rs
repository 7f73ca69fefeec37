//! Service healing: its nouns, and the decisions that follow from values alone.
//!
//! What does not live here: detectors (`sanare-detect`), the order of steps (`sanare-engine`), SQL (`sanare-store`), the
//! adapters, probes and providers behind the ports in [`port`] (`sanare-effects`).

pub mod invalid;
pub mod moment;
pub mod name;
pub mod text;
pub mod template;
pub mod word;
pub mod action;
pub mod kind;
pub mod profile;
pub mod value;
pub mod observation;
pub mod attempt;
pub mod incident;
pub mod component;
pub mod target;
pub mod declaration;
pub mod diagnosis;
pub mod proposal;
pub mod context;
pub mod gates;
pub mod receipt;
pub mod job;
pub mod port;
pub mod confidence;
pub mod rules;
pub mod limits;
pub mod policy;
pub mod prompt;
pub mod reply;
pub mod history;
pub mod figures;
pub mod lists;
pub mod config;
pub mod approval;
pub mod silence;
pub mod verification;
pub mod step;
pub mod run;
pub mod delivery;
#[cfg(test)]
mod invariants;

pub use action::Action;
pub use attempt::Attempt;
pub use component::ComponentTable;
pub use context::Context;
pub use declaration::Declaration;
pub use delivery::{Delivery, DeliveryState};
pub use diagnosis::{AgentFailure, AgentName, Diagnosis};
pub use gates::{GateCheck, GateReport};
pub use incident::{Evidence, Incident};
pub use invalid::Invalid;
pub use job::{Following, Job, JobState};
pub use kind::IncidentKind;
pub use moment::Moment;
pub use name::{Application, Component, Labels, Signal, Source, Version};
pub use observation::{Draft, Observation, Stamp};
pub use port::{Adapter, Agent, House, Probe, ServiceStore};
pub use profile::Profile;
pub use proposal::{Advice, AgentResult, Params, Proposal};
pub use receipt::{ActKey, Purpose, Receipt, WorldState};
pub use run::{Change, Message, NotMade, Run};
pub use silence::Silence;
pub use step::Step;
pub use target::{Identity, Mark, TargetKey};
pub use text::{Output, Text};
pub use value::{LogCount, ObservedValue, Quality};
pub use word::{
    ApprovalState, ClosedBy, Condition, Effect, Flag, Health, IncidentFlag, ObservationKind, Origin, ReceiptState,
    Severity, Status, StepName, Trust, VerificationOutcome,
};
