//! The gates between verdict and approval: available, still the same, preconditions, dry run (S90).

use sanare_core::incident::Mode;
use sanare_core::outcome::Outcome;
use sanare_core::policy::Verdict;
use sanare_core::service::policy;
use sanare_core::service::port::{Availability, Fitting, Intent};
use sanare_core::service::proposal::Params;
use sanare_core::service::receipt::{ActKey, Purpose};
use sanare_core::service::step::{Checked, Closed, Judged, Proposed, Step};
use sanare_core::service::target::Identity;
use sanare_core::service::verification::changes;
use sanare_core::service::word::IncidentFlag;
use sanare_core::service::{Action, GateCheck, GateReport, NotMade};
use serde_json::json;

use super::examine::examine;
use super::gather::{after_others, gather};
use super::judge::refused;
use crate::service::careful;
use crate::service::offer::{House, binding, case, fitting, owed};
use crate::service::turn::{Next, Turn};

/// Runs a diagnostic, or the gates of an application action.
pub(crate) fn check(turn: &mut Turn<'_>, judged: Judged) -> Result<Next, NotMade> {
    if let Params::Diagnostic { name } = &judged.proposed.proposal.params {
        return examine(turn, name);
    }
    let gates = report(turn, &judged.proposed);
    if let Some(failed) = gates.first_failure() {
        let action = judged.proposed.proposal.action;
        *turn.run.gate_failures.entry(action).or_insert(0) += 1;
        turn.note(
            "gate_failed",
            &json!({ "action": action, "gate": failed.gate, "check": failed.name, "reason": failed.reason }),
        );
        let why = failed.reason.as_str().to_owned();
        return match failed.gate == "identity" && others_acted(turn, &judged.proposed) {
            true => after_others(turn, action, &why),
            false => gather(turn),
        };
    }
    let house = House::of(turn);
    let case = case(turn, &house, &judged.proposed, Some(&gates))?;
    let decision = policy::judge(&case, &house.numbers, &house.policy);
    if decision.verdict == Verdict::Refuse {
        return Ok(refused(turn, &house, &judged.proposed, &decision, &case));
    }
    if house.mode == Mode::DryRun {
        turn.incident.flags.insert(IncidentFlag::DryRun);
        turn.note("would_have", &json!({ "proposal": judged.proposed.proposal, "decision": decision, "gates": gates }));
        let why = format!("dry run: {} would have been {}", judged.proposed.proposal.action, words(decision.verdict));
        return Ok(Next::Go(Step::Closed(Closed { outcome: Outcome::Refused, closed_by: None, why })));
    }
    let binding = binding(turn, &house, &judged.proposed, &gates);
    Ok(Next::Go(Step::Checked(Box::new(Checked { proposed: judged.proposed, decision, gates, binding }))))
}

fn words(verdict: Verdict) -> &'static str {
    if verdict == Verdict::Permit { "done" } else { "asked for" }
}

fn report(turn: &Turn<'_>, proposed: &Proposed) -> GateReport {
    let (fitting, _) = match fitting(turn, proposed.proposal.action) {
        Ok(found) => found,
        Err(why) => return GateReport { checks: vec![GateCheck::failed("available", "configured", &why)] },
    };
    let mut checks = vec![match careful::available(fitting.adapter) {
        Availability::Available => GateCheck::passed("available", "reachable"),
        Availability::Unavailable(why) => GateCheck::failed("available", "reachable", why.as_str()),
    }];
    checks.push(same(&fitting, &proposed.seen, &careful::identity(fitting.adapter)));
    let declaration = fitting.adapter.declaration();
    let owed = owed(declaration);
    if owed.contains(&"preconditions") || owed.contains(&"dry_run") {
        checks.extend(careful::rehearse(fitting.adapter, &intent(turn, &fitting, proposed)));
    }
    GateReport { checks }
}

/// Whether the target is still what it was when it was proposed.
pub(crate) fn same(fitting: &Fitting<'_>, seen: &Identity, now: &Identity) -> GateCheck {
    let declared = &fitting.adapter.declaration().fence;
    let marks: Vec<_> =
        if declared.is_empty() { seen.marks().map(|(mark, _)| mark).collect() } else { declared.clone() };
    // What answered nothing then and answers nothing now is as ill as it was, and a start is for just that.
    let starts = fitting.adapter.declaration().action == Action::RestartComponent && declared.is_empty();
    match (seen.is_empty(), now.is_empty()) {
        (true, true) if starts && !fitting.last.is_empty() => return GateCheck::passed("identity", "unchanged"),
        // Somebody started it meanwhile, or it came back: nothing is done on top of that.
        (true, false) if starts => return GateCheck::failed("identity", "unchanged", "it answers again"),
        _ => {}
    }
    if seen.is_empty() || now.is_empty() {
        return GateCheck::skipped("identity", "unchanged", "nothing says what the target is");
    }
    if let Some(mark) = marks.iter().find(|mark| now.differs(seen, **mark)) {
        return GateCheck::failed("identity", "unchanged", &format!("its {mark} is another one"));
    }
    if now.is_still(seen, &marks) {
        GateCheck::passed("identity", "unchanged")
    } else {
        GateCheck::skipped("identity", "unchanged", "what it is compared by cannot be read")
    }
}

/// Whether what an action changes is another one than was seen: somebody else has done it, or the target itself.
pub(crate) fn is_changed(fitting: &Fitting<'_>, seen: &Identity, now: &Identity) -> bool {
    let action = fitting.adapter.declaration().action;
    let answers_again = action == Action::RestartComponent && seen.is_empty() && !now.is_empty();
    answers_again || changes(action).iter().any(|mark| now.differs(seen, *mark))
}

fn others_acted(turn: &Turn<'_>, proposed: &Proposed) -> bool {
    let fitting = fitting(turn, proposed.proposal.action);
    fitting.is_ok_and(|(fitting, _)| is_changed(&fitting, &proposed.seen, &careful::identity(fitting.adapter)))
}

/// The intent that would be, for a rehearsal.
fn intent(turn: &Turn<'_>, fitting: &Fitting<'_>, proposed: &Proposed) -> Intent {
    let declaration = fitting.adapter.declaration();
    let proposal = &proposed.proposal;
    Intent {
        receipt_id: turn.world.id("rct"),
        key: ActKey {
            incident: turn.incident.id.clone(),
            attempt: turn.run.attempt + 1,
            action: proposal.action,
            purpose: Purpose::Act,
        },
        application: turn.incident.application.clone(),
        component: fitting.component.clone(),
        target: declaration.target.clone(),
        params: proposal.params.clone(),
        fence: 0,
        before: proposed.seen.clone(),
        intended: super::prepare::intended(proposal),
        deadline: turn.now().plus(declaration.timeout_ms * 1_000),
        timeout_ms: declaration.timeout_ms,
        job: None,
    }
}
