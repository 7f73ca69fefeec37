//! An agent is asked; whatever it answers is checked again here (S58).

use std::panic::{AssertUnwindSafe, catch_unwind};

use sanare_core::hash::Digest;
use sanare_core::service::attempt::spent;
use sanare_core::service::confidence::{FigureKey, Record};
use sanare_core::service::diagnosis::AgentFailure;
use sanare_core::service::port::AgentCall;
use sanare_core::service::step::{Cause, Diagnosed, Step};
use sanare_core::service::{AgentResult, Context, NotMade};
use serde_json::json;

use crate::service::offer::House;
use crate::service::turn::{Next, Turn};

/// Milliseconds for an answer.
const TIME_MS: u64 = 180_000;

/// Asks the agent.
pub(crate) fn diagnose(turn: &mut Turn<'_>, snapshot: &Digest) -> Result<Next, NotMade> {
    let Some(context) = turn.world.store.snapshot(snapshot)? else {
        return Ok(turn.escalate(Cause::Internal, "the snapshot is not in the store"));
    };
    match asked(turn, &context).and_then(|result| checked(turn, &context, result)) {
        Ok(mut result) => {
            if let Some(advice) = &result.advice {
                let diagnosis = &result.diagnosis;
                let key = FigureKey {
                    kind: turn.incident.kind,
                    action: advice.action,
                    origin: diagnosis.origin,
                    agent: diagnosis.agent.figure_key(),
                };
                let record = Record::of(&key, &turn.world.store.measured(&key)?, turn.now());
                result.diagnosis.confidence_measured = record.measured(House::of(turn).numbers.history_min);
            }
            Ok(Next::Go(Step::Diagnosed(Box::new(Diagnosed { diagnosis: result.diagnosis, advice: result.advice }))))
        }
        Err(failure) => {
            turn.note("agent_failed", &json!({ "failure": failure }));
            Ok(turn.escalate(Cause::NoAgent, format!("no agent answered: {failure}")))
        }
    }
}

fn asked(turn: &Turn<'_>, context: &Context) -> Result<AgentResult, AgentFailure> {
    let clock = turn.world.clock;
    let call = AgentCall {
        diagnosis_id: turn.world.id("dia"),
        now: turn.now(),
        millis: TIME_MS,
        chance: clock.chance() << 64 ^ clock.chance(),
    };
    let began = clock.elapsed();
    let answer = catch_unwind(AssertUnwindSafe(|| turn.world.agent.diagnose(context, &call)));
    if clock.elapsed().saturating_sub(began) > TIME_MS {
        return Err(AgentFailure::Timeout);
    }
    answer.unwrap_or(Err(AgentFailure::Panicked))
}

/// Every rule again: an agent is never trusted to have looked.
fn checked(turn: &Turn<'_>, context: &Context, result: AgentResult) -> Result<AgentResult, AgentFailure> {
    let wrong = |_| AgentFailure::InvalidResult;
    let mut result = result.check(&turn.incident.id, &context.available_actions).map_err(wrong)?;
    let diagnosis = &mut result.diagnosis;
    let known = |id: &sanare_core::id::Id| {
        context.evidence.iter().chain(&context.recent_observations).any(|seen| seen.id == *id)
    };
    if diagnosis.evidence_digest != context.digest() || !diagnosis.evidence_used.iter().all(known) {
        return Err(AgentFailure::InvalidResult);
    }
    let (cited, cause) = (diagnosis.evidence_used.len(), diagnosis.probable_cause.is_some());
    let cap = turn.world.caps.cap(diagnosis.origin, diagnosis.confidence_reported, cited, cause);
    diagnosis.confidence = diagnosis.confidence.min(cap);
    if let Some(advice) = &result.advice {
        let diagnostics = turn.world.house.diagnostics(&turn.incident.application, turn.incident.kind);
        if spent(advice.action, &turn.incident.attempts, &diagnostics, turn.now()).is_some() {
            return Err(AgentFailure::InvalidResult);
        }
    }
    Ok(result)
}
