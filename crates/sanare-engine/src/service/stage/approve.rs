//! What is permitted goes on; for everything else a person is asked (S100).

use sanare_core::policy::Verdict;
use sanare_core::service::NotMade;
use sanare_core::service::approval::Approval;
use sanare_core::service::run::MessageKind;
use sanare_core::service::step::{Checked, Step};
use sanare_core::service::word::ApprovalState;
use serde_json::json;

use crate::service::offer::House;
use crate::service::turn::{Next, Turn};

/// Why a question of before does not stand any more, where one was asked and this one comes instead of it.
fn asked_before(turn: &Turn<'_>) -> Result<Option<String>, NotMade> {
    let records = turn.world.store.records_of(&turn.incident.id)?;
    let Some(asked) = records.iter().rposition(|one| one.step == "waiting") else { return Ok(None) };
    let ends = ["not_begun", "put_back", "changed_by_others"];
    let why = records.iter().skip(asked).find(|one| ends.contains(&one.step.as_str()));
    Ok(why.and_then(|one| one.json()["why"].as_str().map(str::to_owned)))
}

/// Permits, or asks.
pub(crate) fn approve(turn: &mut Turn<'_>, checked: Box<Checked>) -> Result<Next, NotMade> {
    if checked.decision.verdict == Verdict::Permit {
        return Ok(Next::Go(Step::Approved(checked, None)));
    }
    let now = turn.now();
    let rules = House::of(turn).numbers.approvals;
    let approval = Approval {
        id: turn.world.id("apr"),
        binding: checked.binding.clone(),
        proposal: checked.proposed.proposal.clone(),
        reasons: checked.decision.fired.clone(),
        asked_at: now,
        expires_at: now.plus(rules.expire),
        count: rules.count,
        approvers: rules.approvers,
        proposed_by: checked.proposed.proposed_by.clone(),
        answers: Vec::new(),
        state: ApprovalState::Waiting,
        ended: None,
    };
    let mut body = turn.shown(&checked.proposed);
    body["approval"] = json!(approval.id);
    body["binding"] = json!(approval.binding.digest());
    body["reasons"] = json!(approval.reasons);
    body["gates"] = json!(checked.gates);
    body["expires"] = json!(approval.expires_at);
    if let Some(why) = asked_before(turn)? {
        body["asked_again"] = json!(why);
    }
    turn.tell(MessageKind::ApprovalAsked, &body);
    let (id, expires) = (approval.id.clone(), approval.expires_at);
    turn.change.approvals.push((approval, None));
    turn.run.waiting_since = Some(now);
    turn.run.due = Some(expires);
    Ok(Next::Go(Step::Waiting(checked, id)))
}
