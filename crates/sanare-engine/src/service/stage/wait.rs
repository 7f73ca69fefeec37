//! A person's answer, or its absence (S102).

use sanare_core::id::Id;
use sanare_core::service::NotMade;
use sanare_core::service::step::{Cause, Checked, Step};
use sanare_core::service::word::ApprovalState;

use super::gather::gather;
use crate::service::turn::{HOLD, Next, Turn};

/// Looks how the question stands; it never waits past its expiry.
pub(crate) fn wait(turn: &mut Turn<'_>, checked: Box<Checked>, id: Id) -> Result<Next, NotMade> {
    let Some(mut approval) = turn.world.store.approval(&id)? else {
        return Ok(turn.escalate(Cause::Internal, "the approval is not in the store"));
    };
    let now = turn.now();
    let before = approval.state;
    if turn.world.house.stopped(&turn.incident.application) {
        approval.void("the stop switch is set", now);
    }
    approval.expire(now);
    if approval.state != before {
        turn.change.approvals.push((approval.clone(), Some(before)));
    }
    if approval.state == ApprovalState::Waiting {
        // Woken by something else: it rests until its expiry.
        return Ok(Next::Hold(approval.expires_at.since(now).clamp(1, HOLD * 40)));
    }
    waited(turn);
    Ok(match approval.state {
        ApprovalState::Granted => Next::Go(Step::Approved(checked, Some(id))),
        ApprovalState::Denied | ApprovalState::Expired => {
            let cause = if approval.state == ApprovalState::Denied { Cause::Denied } else { Cause::Expired };
            let why = approval.ended.map_or_else(|| cause.to_string(), |(_, why)| why.to_string());
            turn.escalate(cause, why)
        }
        _ => gather(turn)?,
    })
}

/// Time with people is over.
fn waited(turn: &mut Turn<'_>) {
    turn.run.end_wait(turn.now());
    turn.run.due = None;
}
