//! The receipt is written before anything is sent (S106).

use sanare_core::gate::Answer;
use sanare_core::id::Id;
use sanare_core::service::proposal::Params;
use sanare_core::service::receipt::{ActKey, Purpose};
use sanare_core::service::step::{Cause, Checked, Step};
use sanare_core::service::target::{Identity, Mark};
use sanare_core::service::word::{ApprovalState, ReceiptState};
use sanare_core::service::{NotMade, Proposal, Receipt};

use super::act::put_away;
use super::check::{is_changed, same};
use super::gather::{after_others, gather};
use crate::service::LEASE_MS;
use crate::service::careful;
use crate::service::offer::{fitting, known};
use crate::service::turn::{HOLD, Next, Turn, target_key};

/// Takes the target, looks at it, and writes the receipt. Held while another has the target; the approval's time runs.
pub(crate) fn prepare(turn: &mut Turn<'_>, checked: Box<Checked>, approval: Option<Id>) -> Result<Next, NotMade> {
    if let Some(next) = expired(turn, approval.as_ref())? {
        return Ok(next);
    }
    let proposal = &checked.proposed.proposal;
    let Ok((fitting, _)) = fitting(turn, proposal.action) else {
        put_away(turn, "the target is not available")?;
        return gather(turn);
    };
    let declaration = fitting.adapter.declaration();
    if proposal.target.as_ref() != Some(&declaration.target) {
        put_away(turn, "another target is configured now")?;
        return gather(turn);
    }
    let now_seen = careful::identity(fitting.adapter);
    if same(&fitting, &checked.proposed.seen, &now_seen).answer == Answer::Failed {
        let why = "the target is another one than was proposed";
        if is_changed(&fitting, &checked.proposed.seen, &now_seen) {
            return after_others(turn, proposal.action, why);
        }
        put_away(turn, why)?;
        return gather(turn);
    }
    let before = known(&fitting, now_seen);
    let target = declaration.target.clone();
    let store = turn.world.store;
    let millis = LEASE_MS + declaration.timeout_ms;
    let lease = store.lease(&target_key(&target), turn.owner, turn.world.clock.now(), millis)?;
    let Some(lease) = lease.filter(|_| !matches!(store.target_in_use(&target, &turn.incident.id), Ok(true) | Err(_)))
    else {
        return Ok(Next::Hold(HOLD));
    };
    turn.run.attempt += 1;
    let now = turn.now();
    let receipt = Receipt {
        id: turn.world.id("rct"),
        key: ActKey {
            incident: turn.incident.id.clone(),
            attempt: turn.run.attempt,
            action: proposal.action,
            purpose: Purpose::Act,
        },
        application: turn.incident.application.clone(),
        component: fitting.component.clone(),
        target: target.clone(),
        fence: lease.fence,
        params: proposal.params.clone(),
        before,
        intended: intended(proposal),
        undo: declaration.undo,
        snapshot: checked.proposed.diagnosis.evidence_digest.clone(),
        approval,
        deadline: now.plus(declaration.timeout_ms * 1_000),
        state: ReceiptState::Intended,
        effect: None,
        reference: None,
        intended_at: now,
        started_at: None,
        ended_at: None,
    };
    let id = receipt.id.clone();
    turn.run.target = Some(target.clone());
    turn.change.free.push(target);
    turn.change.under.push(lease);
    turn.change.receipts.push((receipt, None));
    Ok(Next::Go(Step::Prepared(checked, id)))
}

/// What the target has when the act has arrived, as far as that can be known before.
pub(crate) fn intended(proposal: &Proposal) -> Identity {
    match &proposal.params {
        Params::Rollback { to_version, .. } => Identity::default().with(Mark::AliasVersion, to_version.as_str()),
        _ => Identity::default(),
    }
}

/// Ends an approval whose time is over: then a person is told, and nobody is asked the same again.
pub(crate) fn expired(turn: &mut Turn<'_>, approval: Option<&Id>) -> Result<Option<Next>, NotMade> {
    let Some(id) = approval else { return Ok(None) };
    let Some(mut approval) = turn.world.store.approval(id)? else {
        return Ok(Some(turn.escalate(Cause::Internal, "the approval is not in the store")));
    };
    let before = approval.state;
    if approval.expire(turn.now()) {
        turn.change.approvals.push((approval, Some(before)));
    } else if approval.state != ApprovalState::Expired {
        return Ok(None);
    }
    Ok(Some(turn.escalate(Cause::Expired, "the approval expired before the target was free")))
}
