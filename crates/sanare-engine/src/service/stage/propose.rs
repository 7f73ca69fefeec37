//! Advice becomes a proposal: target, parameters and undo are ours (S11, S79).

use sanare_core::service::attempt::next_diagnostic;
use sanare_core::service::declaration::Undo;
use sanare_core::service::job::longest;
use sanare_core::service::proposal::Params;
use sanare_core::service::step::{Cause, Diagnosed, Proposed, Step};
use sanare_core::service::target::Identity;
use sanare_core::service::{Action, AgentResult, NotMade};

use super::gather::gather;
use crate::service::careful;
use crate::service::offer::fitting;
use crate::service::turn::{HOLD, Next, Turn};

/// Makes a proposal of advice; held while another run has the target, and then begun anew.
pub(crate) fn propose(turn: &mut Turn<'_>, diagnosed: &Diagnosed) -> Result<Next, NotMade> {
    let result = AgentResult { diagnosis: diagnosed.diagnosis.clone(), advice: diagnosed.advice.clone() };
    let Some(advice) = &diagnosed.advice else {
        return Ok(turn.escalate(Cause::Proposed, "nothing is proposed"));
    };
    let (target, params, undo, seen) = match advice.action {
        Action::Escalate => {
            let why = with_last_request(turn, advice.rationale.as_str());
            return Ok(turn.escalate(Cause::Proposed, why));
        }
        Action::NoAction => (None, Params::Empty, Undo::None, Identity::default()),
        Action::RunDiagnostic => {
            let configured = turn.world.house.diagnostics(&turn.incident.application, turn.incident.kind);
            let Some(name) = next_diagnostic(&turn.incident.attempts, &configured) else { return gather(turn) };
            (None, Params::Diagnostic { name: name.to_owned() }, Undo::None, Identity::default())
        }
        action => {
            // What went meanwhile is not offered in the next round.
            let Ok((fitting, params)) = fitting(turn, action) else { return gather(turn) };
            let declaration = fitting.adapter.declaration();
            (Some(declaration.target.clone()), params, declaration.undo, careful::identity(fitting.adapter))
        }
    };
    if let Some(target) = &target {
        if is_in_use(turn, target)? {
            turn.run.held_for_target = true;
            return Ok(Next::Hold(HOLD));
        }
        if turn.run.held_for_target {
            return gather(turn);
        }
    }
    match result.propose(turn.world.id("pro"), target, params, undo) {
        Some(Ok(proposal)) => Ok(Next::Go(Step::Proposed(Box::new(Proposed {
            diagnosis: diagnosed.diagnosis.clone(),
            proposal,
            seen,
            proposed_by: None,
        })))),
        _ => Ok(turn.escalate(Cause::Internal, "the proposal breaks a rule of its own")),
    }
}

/// Why it is handed over, with what came of a job that was asked for last: that is what the person goes on from.
fn with_last_request(turn: &Turn<'_>, why: &str) -> String {
    let last = turn.incident.attempts.last();
    match last.filter(|one| longest(one.action).is_some() && one.receipt_id.is_some()) {
        Some(last) => format!("{}; {why}", last.summary),
        None => why.to_owned(),
    }
}

/// Whether another run acts on or verifies a target, or a receipt of it is unsettled: asked of the store, without a
/// change.
fn is_in_use(turn: &Turn<'_>, target: &sanare_core::service::TargetKey) -> Result<bool, NotMade> {
    Ok(turn.world.store.target_in_use(target, &turn.incident.id)?)
}
