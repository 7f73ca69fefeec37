//! The act: re-checked, started, called once, and its effect taken as what it is (S91, S103, S106, S107).

use sanare_core::approval::Approved;
use sanare_core::gate::Answer;
use sanare_core::id::Id;
use sanare_core::port::store::Lease;
use sanare_core::service::limits::PastAct;
use sanare_core::service::policy;
use sanare_core::service::policy::rules::STEADY_MS;
use sanare_core::service::port::{Acted, Adapter, Fitting, Intent};
use sanare_core::service::step::{Applied, Cause, Checked, Step, admit};
use sanare_core::service::word::{ApprovalState, Condition, Effect, ReceiptState, VerificationOutcome};
use sanare_core::service::{NotMade, Output, Receipt, WorldState};
use serde_json::json;

use super::check::{is_changed, same};
use super::follow;
use super::gather::{after_others, gather};
use super::prepare::expired;
use crate::service::LEASE_MS;
use crate::service::careful;
use crate::service::offer::{House, binding, case_and_limits, fitting};
use crate::service::turn::{HOLD, Next, Turn, target_key};

/// Milliseconds within which a call begins after its receipt was started, or not at all.
const BEGIN_MS: u64 = 2_000;

/// Goes from the written receipt to its effect. A receipt that is started already was left by a worker that died.
pub(crate) fn act(turn: &mut Turn<'_>, checked: Checked, id: &Id) -> Result<(), NotMade> {
    let Some(receipt) = turn.world.store.service_receipt(id)? else {
        let next = turn.escalate(Cause::Internal, "the receipt is not in the store");
        return turn.take(next);
    };
    match receipt.state {
        ReceiptState::Intended => begin(turn, checked, receipt),
        ReceiptState::Started => recover(turn, checked, receipt),
        // A person settled it meanwhile: the next round takes what is so now.
        _ => {
            let next = gather(turn)?;
            turn.take(next)
        }
    }
}

fn begin(turn: &mut Turn<'_>, checked: Checked, receipt: Receipt) -> Result<(), NotMade> {
    let Ok((fitting, _)) = fitting(turn, checked.proposed.proposal.action) else {
        return again(turn, checked, receipt, "the target is not available");
    };
    if fitting.adapter.declaration().target != receipt.target {
        let why = "another target is configured now";
        put_away(turn, why)?;
        turn.note("not_begun", &json!({ "why": why }));
        turn.run.target = None;
        let next = gather(turn)?;
        return turn.take(next);
    }
    match hold_target(turn, &receipt)? {
        None => return turn.take(Next::Hold(HOLD)),
        // Whoever wrote the receipt lost the target since; nothing was sent on it.
        Some(lease) if lease.fence != receipt.fence => {
            return again(turn, checked, receipt, "the target was another's meanwhile");
        }
        Some(_) => {}
    }
    let looked = turn.world.clock.elapsed();
    let identity = careful::identity(fitting.adapter);
    let unchanged = same(&fitting, &receipt.before, &identity);
    if unchanged.answer == Answer::Failed {
        let why = unchanged.reason.to_string();
        if is_changed(&fitting, &receipt.before, &identity) {
            turn.note("not_begun", &json!({ "why": why }));
            let next = after_others(turn, receipt.key.action, &why)?;
            return turn.take(next);
        }
        return again(turn, checked, receipt, &why);
    }
    if let Some(next) = expired(turn, receipt.approval.as_ref())? {
        settle_unsent(turn, receipt);
        turn.run.target = None;
        return turn.take(next);
    }
    let approved = match admitted(turn, &checked, &receipt)? {
        Ok(approved) => approved,
        Err(why) => return again(turn, checked, receipt, &why),
    };
    let begun = turn.world.clock.elapsed();
    if begun.saturating_sub(looked) > BEGIN_MS {
        return again(turn, checked, receipt, "what was looked at is too old");
    }
    let started = start(turn, receipt)?;
    called(turn, approved, started, fitting.adapter, begun)
}

/// The re-check: everything that was decided is decided again now, in the words of the moment. Of a receipt that is started
/// already its own act is not counted against it, and its approval is used by it.
fn admitted(
    turn: &mut Turn<'_>,
    checked: &Checked,
    receipt: &Receipt,
) -> Result<Result<Approved<Checked>, String>, NotMade> {
    let house = House::of(turn);
    let begun = receipt.state == ReceiptState::Started;
    let own = begun.then_some(&receipt.id);
    let (case, acts_seen) = case_and_limits(turn, &house, &checked.proposed, Some(&checked.gates), own)?;
    turn.change.acts_seen = (!begun).then_some(acts_seen);
    let decision = policy::judge(&case, &house.numbers, &house.policy);
    let mut approval = match &receipt.approval {
        Some(id) => turn.world.store.approval(id)?,
        None => None,
    };
    if let Some(used) = approval.as_mut().filter(|one| begun && one.state == ApprovalState::Used) {
        used.state = ApprovalState::Granted;
    }
    // The attempt was counted when the receipt was written.
    let mut now = binding(turn, &house, &checked.proposed, &checked.gates);
    now.attempt = receipt.key.attempt;
    let approvers = &house.numbers.approvals.approvers;
    Ok(admit(checked.clone(), &decision, &now, approval.as_ref(), approvers, turn.now()))
}

/// Nothing was sent, and nothing will be on this receipt: back to the proposal, which is judged anew.
fn again(turn: &mut Turn<'_>, checked: Checked, receipt: Receipt, why: &str) -> Result<(), NotMade> {
    turn.change.acts_seen = None;
    put_away(turn, why)?;
    if !turn.change.receipts.iter().any(|(known, _)| known.id == receipt.id) {
        settle_unsent(turn, receipt);
    }
    turn.run.target = None;
    turn.note("not_begun", &json!({ "why": why }));
    // Judged anew from the same snapshot: it can only become stricter; with other evidence a new round begins.
    turn.run.rounds += 1;
    let next = if turn.run.rounds >= super::gather::ROUNDS {
        gather(turn)?
    } else {
        Next::Go(Step::Proposed(Box::new(checked.proposed)))
    };
    turn.take(next)
}

fn settle_unsent(turn: &mut Turn<'_>, receipt: Receipt) {
    let ended_at = Some(turn.now());
    let unsent = Receipt { state: ReceiptState::Failed, effect: Some(Effect::NotStarted), ended_at, ..receipt };
    turn.change.receipts.push((unsent, Some(ReceiptState::Intended)));
}

/// Whether an act may have begun, so that nothing but its receipt decides how it goes on.
pub(crate) fn is_begun(turn: &Turn<'_>) -> Result<bool, NotMade> {
    let Step::Prepared(_, id) = &turn.run.step else { return Ok(false) };
    Ok(turn.world.store.service_receipt(id)?.is_some_and(|receipt| receipt.state != ReceiptState::Intended))
}

/// Voids what waits for the act of this run: its approval, and a receipt that nothing was sent on.
pub(crate) fn put_away(turn: &mut Turn<'_>, why: &str) -> Result<(), NotMade> {
    let (approval, receipt) = match &turn.run.step {
        Step::Waiting(_, approval) => (Some(approval.clone()), None),
        Step::Approved(_, approval) => (approval.clone(), None),
        Step::Prepared(_, id) => {
            let receipt = turn.world.store.service_receipt(id)?;
            (receipt.as_ref().and_then(|receipt| receipt.approval.clone()), receipt)
        }
        _ => (None, None),
    };
    if let Some(id) = approval
        && let Some(mut approval) = turn.world.store.approval(&id)?
    {
        let before = approval.state;
        if approval.void(why, turn.now()) {
            turn.change.approvals.push((approval, Some(before)));
        }
    }
    if let Some(receipt) = receipt.filter(|receipt| receipt.state == ReceiptState::Intended) {
        settle_unsent(turn, receipt);
    }
    turn.run.waiting_since = None;
    Ok(())
}

/// One transaction: receipt started, approval used, act counted. After it the call may begin.
fn start(turn: &mut Turn<'_>, receipt: Receipt) -> Result<Receipt, NotMade> {
    let now = turn.now();
    let receipt = Receipt { state: ReceiptState::Started, started_at: Some(now), ..receipt };
    renew(turn, &receipt)?;
    if let Some(id) = &receipt.approval
        && let Some(mut approval) = turn.world.store.approval(id)?
    {
        approval.mark_used(now).map_err(|invalid| NotMade::Moved(invalid.to_string()))?;
        turn.change.approvals.push((approval, Some(ApprovalState::Granted)));
    }
    turn.change.acts.push(PastAct {
        at: now,
        receipt: receipt.id.clone(),
        application: receipt.application.clone(),
        target: receipt.target.clone(),
        action: receipt.key.action,
        failed: false,
    });
    turn.change.free.push(receipt.target.clone());
    turn.change.receipts.push((receipt.clone(), Some(ReceiptState::Intended)));
    turn.note("started", &json!({ "receipt": receipt.id, "action": receipt.key.action, "fence": receipt.fence }));
    turn.commit()?;
    Ok(receipt)
}

/// The target's lease, for as long as the call may take; `None` while another holds it.
fn hold_target(turn: &Turn<'_>, receipt: &Receipt) -> Result<Option<Lease>, NotMade> {
    let millis = LEASE_MS + receipt.deadline.since(receipt.intended_at) / 1_000;
    Ok(turn.world.store.lease(&target_key(&receipt.target), turn.owner, turn.world.clock.now(), millis)?)
}

/// Both leases hold for as long as the call may take; a fence that grew meanwhile is another's.
pub(crate) fn renew(turn: &mut Turn<'_>, receipt: &Receipt) -> Result<(), NotMade> {
    let lost = |key: &str| NotMade::LeaseLost(key.to_owned());
    let target = hold_target(turn, receipt)?.filter(|lease| lease.fence == receipt.fence);
    turn.change.under.push(target.ok_or_else(|| lost(receipt.target.as_str()))?);
    let millis = LEASE_MS + receipt.deadline.since(receipt.intended_at) / 1_000;
    let own = turn.world.store.lease(&turn.lease.key, turn.owner, turn.world.clock.now(), millis)?;
    turn.lease = own.filter(|lease| lease.fence == turn.lease.fence).ok_or_else(|| lost(&turn.lease.key))?;
    Ok(())
}

/// The one call, and what came of it.
fn called(
    turn: &mut Turn<'_>,
    approved: Approved<Checked>,
    receipt: Receipt,
    adapter: &dyn Adapter,
    begun: u64,
) -> Result<(), NotMade> {
    let intent = Intent::of(&receipt, adapter.declaration().timeout_ms);
    let acted = in_time(turn, approved.inner(), &receipt, adapter, &intent, begun)?;
    took(turn, approved.inner().clone(), receipt, &acted, adapter)
}

/// The last look: what was compared for the start must not have ended while the start was being stored (S103).
fn in_time(
    turn: &Turn<'_>,
    checked: &Checked,
    receipt: &Receipt,
    adapter: &dyn Adapter,
    intent: &Intent,
    begun: u64,
) -> Result<Acted, NotMade> {
    let (house, now) = (turn.world.house, turn.now());
    let expired = match &receipt.approval {
        Some(id) => turn.world.store.approval(id)?.is_none_or(|approval| now >= approval.expires_at),
        None => false,
    };
    let changed = if expired {
        "the approval expired before the call could begin"
    } else if house.policy().digest() != checked.binding.policy {
        "the policy changed before the call could begin"
    } else if house.configuration() != checked.binding.configuration {
        "the configuration changed before the call could begin"
    } else {
        return Ok(call(turn, adapter, intent, begun));
    };
    Ok(Acted { output: Output::of(changed), ..Acted::plain(Effect::NotStarted) })
}

/// Calls the adapter, if that can still begin in time after its receipt began to be started, and nobody has stopped it
/// since.
pub(crate) fn call(turn: &Turn<'_>, adapter: &dyn Adapter, intent: &Intent, begun: u64) -> Acted {
    let not = |why: &str| Acted { output: Output::of(why), ..Acted::plain(Effect::NotStarted) };
    if !turn.world.house.may_begin(&intent.application) {
        return not("the stop switch is set, or cannot be read");
    }
    if turn.world.clock.elapsed().saturating_sub(begun) > BEGIN_MS {
        return not("the call could not begin in time");
    }
    let mut acted = None;
    turn.world.house.calling(&intent.application, &mut || {
        acted = Some(careful::act(adapter, intent));
    });
    acted.unwrap_or_else(|| Acted::plain(Effect::Unknown))
}

/// Takes an effect: done is verified, unknown is asked of the world, the others are an attempt that did nothing.
fn took(
    turn: &mut Turn<'_>,
    checked: Checked,
    receipt: Receipt,
    acted: &Acted,
    adapter: &dyn Adapter,
) -> Result<(), NotMade> {
    let receipt = Receipt { reference: acted.reference.clone().or_else(|| receipt.reference.clone()), ..receipt };
    let effect = match acted.effect {
        // Nothing is acted twice for not knowing: only the world can say that it is done.
        Effect::Unknown if careful::state(adapter, &receipt) == WorldState::After => Effect::Done,
        other => other,
    };
    turn.note(
        "effect",
        &json!({ "receipt": receipt.id, "reported": acted.effect, "effect": effect, "output": acted.output }),
    );
    match effect {
        // Accepting is not success: the receipt stays started until its job has ended.
        Effect::Done if let Some(following) = careful::follows(adapter) => {
            let next = follow::begin(turn, checked, &receipt, following);
            turn.take(next)
        }
        Effect::Done => {
            let acted_at = receipt.started_at.unwrap_or_else(|| turn.now());
            settle(turn, receipt.clone(), effect);
            let receipt = receipt.id;
            turn.take(Next::Go(Step::Applied(Box::new(Applied {
                checked,
                receipt,
                acted_at,
                extended: false,
                asked: Vec::new(),
                job: None,
            }))))
        }
        Effect::Refused | Effect::NotStarted => {
            let (id, action, now) = (receipt.id.clone(), receipt.key.action, turn.now());
            settle(turn, receipt, effect);
            let summary = if effect == Effect::Refused { "the target declined" } else { "it could not be sent" };
            turn.attempted(action, VerificationOutcome::NotRecovered, summary, Some((id, effect)), None, now);
            let next = gather(turn)?;
            turn.take(next)
        }
        Effect::Unknown => unknown(turn, receipt),
    }
}

/// Nobody knows: the target stays blocked until a person settles the receipt.
fn unknown(turn: &mut Turn<'_>, receipt: Receipt) -> Result<(), NotMade> {
    let why = format!("nobody knows what came of {}", receipt.key.action);
    let next = blocked(turn, receipt, "nobody knows what came of it", &why);
    turn.take(next)
}

/// Blocks the target of a receipt until a person settles it.
pub(crate) fn blocked(turn: &mut Turn<'_>, receipt: Receipt, summary: &str, why: &str) -> Next {
    let (id, action, now) = (receipt.id.clone(), receipt.key.action, turn.now());
    settle(turn, receipt, Effect::Unknown);
    let outcome = VerificationOutcome::NotVerified;
    turn.attempted(action, outcome, summary, Some((id.clone(), Effect::Unknown)), None, now);
    turn.escalate(Cause::Unknown, format!("{why}; settle receipt {id}"))
}

pub(crate) fn settle(turn: &mut Turn<'_>, receipt: Receipt, effect: Effect) {
    let ended_at = Some(turn.now());
    let settled = Receipt { state: ReceiptState::after(effect), effect: Some(effect), ended_at, ..receipt };
    turn.change.receipts.push((settled, Some(ReceiptState::Started)));
}

/// A worker died with the act under way: the world is compared with the receipt, nothing is guessed from time passed.
fn recover(turn: &mut Turn<'_>, checked: Checked, receipt: Receipt) -> Result<(), NotMade> {
    // As long as whoever started it may be at work, its lease holds. A clock that has just jumped says nothing of that.
    let jumped = turn.world.house.since_clock_jump_ms().is_some_and(|since| since < STEADY_MS);
    if jumped || hold_target(turn, &receipt)?.is_none() {
        return turn.take(Next::Hold(HOLD));
    }
    let Ok(fitting) = turn.world.house.resolved(&receipt) else {
        return unknown(turn, receipt);
    };
    let (adapter, state) = (fitting.adapter, careful::state(fitting.adapter, &receipt));
    turn.note("recovered", &json!({ "receipt": receipt.id, "world": state }));
    match state {
        WorldState::After => took(turn, checked, receipt, &Acted::plain(Effect::Done), adapter),
        WorldState::Before if adapter.declaration().idempotent => act_again(turn, checked, receipt, &fitting),
        _ => unknown(turn, receipt),
    }
}

/// The same key and fence once more, if everything else still holds; else nobody knows whether the first is on its way.
fn act_again(turn: &mut Turn<'_>, checked: Checked, receipt: Receipt, fitting: &Fitting<'_>) -> Result<(), NotMade> {
    let cleared = turn.incident.condition == Condition::Cleared;
    if cleared || same(fitting, &receipt.before, &careful::identity(fitting.adapter)).answer == Answer::Failed {
        return unknown(turn, receipt);
    }
    if let Err(why) = admitted(turn, &checked, &receipt)? {
        turn.note("not_again", &json!({ "receipt": receipt.id, "why": why }));
        return unknown(turn, receipt);
    }
    turn.note("started", &json!({ "receipt": receipt.id, "action": receipt.key.action, "again": true }));
    let begun = turn.world.clock.elapsed();
    turn.commit()?;
    let receipt = Receipt { started_at: Some(turn.now()), ..receipt };
    let intent = Intent::of(&receipt, fitting.adapter.declaration().timeout_ms);
    let acted = in_time(turn, &checked, &receipt, fitting.adapter, &intent, begun)?;
    took(turn, checked, receipt, &acted, fitting.adapter)
}
