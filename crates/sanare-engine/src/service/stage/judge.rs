//! Policy is asked for the first time: what it refuses goes no further (S94).

use sanare_core::incident::Mode;
use sanare_core::outcome::Outcome;
use sanare_core::policy::{Decision, Verdict};
use sanare_core::service::attempt::WAIT;
use sanare_core::service::policy;
use sanare_core::service::run::MessageKind;
use sanare_core::service::step::{Closed, Judged, Proposed, Step};
use sanare_core::service::word::VerificationOutcome;
use sanare_core::service::{Action, NotMade};
use serde_json::json;

use super::gather::gather;
use crate::service::offer::{House, case};
use crate::service::turn::{Next, Turn};

/// Judges a proposal. Waiting is never judged: it ends here, and the next round begins.
pub(crate) fn judge(turn: &mut Turn<'_>, proposed: Proposed) -> Result<Next, NotMade> {
    if proposed.proposal.action == Action::NoAction {
        return waited(turn);
    }
    let house = House::of(turn);
    let case = case(turn, &house, &proposed, None)?;
    let decision = policy::judge(&case, &house.numbers, &house.policy);
    match decision.verdict {
        Verdict::Refuse => Ok(refused(turn, &house, &proposed, &decision, &case)),
        Verdict::Ask | Verdict::Permit => {
            Ok(Next::Go(Step::Judged(Box::new(Judged { proposed, decision, case: Some(Box::new(case)) }))))
        }
    }
}

/// First the wait is begun, then it is over; what wakes the run meanwhile does not shorten it.
fn waited(turn: &mut Turn<'_>) -> Result<Next, NotMade> {
    let now = turn.now();
    let until = *turn.run.wait_until.get_or_insert(now.plus(WAIT));
    if now < until {
        return Ok(Next::Hold(until.since(now)));
    }
    turn.run.wait_until = None;
    let summary = "it still fires after 10 minutes";
    turn.attempted(Action::NoAction, VerificationOutcome::NotRecovered, summary, None, None, now);
    gather(turn)
}

/// Ends a run that policy refuses: a person is told why, except in the modes that only look.
pub(crate) fn refused(
    turn: &mut Turn<'_>,
    house: &House,
    proposed: &Proposed,
    decision: &Decision,
    case: &policy::Case,
) -> Next {
    let why = decision.because();
    if !matches!(house.mode, Mode::Observe | Mode::DryRun | Mode::Off) {
        let mut body = turn.shown(proposed);
        body["refused"] = json!(why);
        turn.tell(MessageKind::Refused, &body);
    }
    turn.note(
        "refused",
        &json!({ "proposal": proposed.proposal.id, "would": proposed.proposal.action, "decision": decision,
            "case": case }),
    );
    // Still firing, it is handed over: nobody has closed it.
    Next::Go(Step::Closed(Closed { outcome: Outcome::Refused, closed_by: None, why }))
}
