//! Agents put together: the model behind its limits, and the rules as the safety net (S70 to S72, S77).

mod model;

pub use model::{CallLimits, ModelAgent};
use sanare_core::service::confidence::Caps;
use sanare_core::service::port::AgentCall;
use sanare_core::service::rules::RulesAgent;
use sanare_core::service::{Agent, AgentFailure, AgentResult, Context, Origin};

/// The model, and where it fails the rules: capped, and told as what they are.
pub struct Chain<'a> {
    /// Who is asked first.
    pub model: &'a dyn Agent,
    /// Whether the rules answer when the model fails; else a person does.
    pub use_fallback: bool,
    /// The most that the fallback is believed.
    pub caps: Caps,
}

impl Agent for Chain<'_> {
    fn diagnose(&self, context: &Context, call: &AgentCall) -> Result<AgentResult, AgentFailure> {
        match self.model.diagnose(context, call) {
            Err(failure) if self.use_fallback => Ok(self.stand_in(context, call, failure)),
            other => other,
        }
    }
}

impl Chain<'_> {
    /// The rules' answer with the failure's type, and nothing of what the provider said.
    fn stand_in(&self, context: &Context, call: &AgentCall, failure: AgentFailure) -> AgentResult {
        let mut result = RulesAgent.answer(context, call.diagnosis_id.clone(), call.now);
        let diagnosis = &mut result.diagnosis;
        let (cited, cause) = (diagnosis.evidence_used.len(), diagnosis.probable_cause.is_some());
        let cap = self.caps.cap(Origin::Fallback, diagnosis.confidence_reported, cited, cause);
        diagnosis.confidence = diagnosis.confidence.min(cap);
        diagnosis.origin = Origin::Fallback;
        diagnosis.failure = Some(failure);
        result
    }
}

impl std::fmt::Debug for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chain").field("use_fallback", &self.use_fallback).finish_non_exhaustive()
    }
}
