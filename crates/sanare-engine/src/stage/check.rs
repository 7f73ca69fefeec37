//! Judged to checked: the gates, cheap to dear; the first failure ends the candidate and teaches the next attempt.

use sanare_core::approval::Binding;
use sanare_core::gate::{Check, Gate, GateReport};
use sanare_core::hash::Digest;
use sanare_core::port::target::Placed;
use sanare_core::port::{Ran, RanState};
use sanare_core::proposal::Rejection;
use sanare_core::step::{Checked, Diagnosed, Judged, Proposed, Step};

use crate::run::{Fault, Progress, World};

/// Runs the gates.
pub(crate) fn check(judged: Judged, world: &mut World<'_>, progress: &mut Progress) -> Result<Step, Fault> {
    let proposed = judged.proposed;
    let mut report = world.target.vet(&proposed.candidate, &proposed.diagnosed.rejections);
    let placed = match (report.first_failure().is_none(), world.target.place(&proposed.candidate)) {
        (true, Ok(placed)) => Some(placed),
        (true, Err(check)) => {
            report.checks.push(check);
            None
        }
        (false, _) => None,
    };
    if let Some(placed) = &placed {
        dynamic_gates(&proposed, placed, world, &mut report)?;
    }
    progress.report = report.clone();
    let (None, Some(placed)) = (report.first_failure(), placed) else {
        return Ok(Step::Diagnosed(rejected(proposed, &report)));
    };
    Ok(Step::Checked(checked(proposed, report, placed)))
}

fn checked(proposed: Proposed, report: GateReport, placed: Placed) -> Checked {
    let target = Digest::of_parts(&[placed.before.as_str().as_bytes(), &placed.original]);
    let binding = Binding { before: placed.before, after: placed.after, target };
    Checked { proposed, report, module: placed.module, text: placed.text, binding, diff: placed.diff }
}

fn rejected(proposed: Proposed, report: &GateReport) -> Diagnosed {
    let mut diagnosed = proposed.diagnosed;
    let (check, reason) = report
        .first_failure()
        .map(|check| (format!("{}/{}", gate_word(check.gate), check.name), check.reason.clone()))
        .unwrap_or_default();
    let proposer = proposed.candidate.proposer;
    diagnosed.rejections.push(Rejection { proposer, function: proposed.candidate.function, check, reason });
    // The offline engine gives one answer to one question: asking it again would give the same.
    if proposer == sanare_core::incident::ProposerName::Drift {
        diagnosed.next_proposer += 1;
    }
    diagnosed
}

fn gate_word(gate: Gate) -> &'static str {
    match gate {
        Gate::Syntax => "syntax",
        Gate::Fence => "fence",
        Gate::Overfit => "overfit",
        Gate::Safety => "safety",
        Gate::Trial => "trial",
        Gate::Replay => "replay",
        Gate::Verify => "verify",
    }
}

fn dynamic_gates(
    proposed: &Proposed,
    placed: &Placed,
    world: &mut World<'_>,
    report: &mut GateReport,
) -> Result<(), Fault> {
    let complaint = world.subject.compiles(&placed.module)?;
    let compiles = match complaint {
        Some(complaint) => Check::failed(Gate::Syntax, "compiles", complaint),
        None => Check::passed(Gate::Syntax, "compiles"),
    };
    report.checks.push(compiles);
    if report.first_failure().is_some() {
        return Ok(());
    }
    trial(placed, world, report)?;
    if report.first_failure().is_some() {
        return Ok(());
    }
    replay(proposed, placed, world, report)
}

/// Gate 5. A candidate that the sandbox cannot judge is skipped, never passed.
fn trial(placed: &Placed, world: &mut World<'_>, report: &mut GateReport) -> Result<(), Fault> {
    let old_module = world.target.module().to_owned();
    let before = world.subject.trial(&old_module, None)?;
    let skip = match before.state {
        RanState::NoIsolation | RanState::CannotRun => Some(before.detail.clone()),
        RanState::Returned => Some("the old body does not fail in the sandbox".to_owned()),
        RanState::Denied => Some(format!("the old body itself asks for {}", before.detail)),
        _ => None,
    };
    if let Some(why) = skip {
        report.checks.push(Check::skipped(Gate::Trial, "undo_refails", why));
        return Ok(());
    }
    report.checks.push(Check::passed(Gate::Trial, "undo_refails"));
    let after = world.subject.trial(&placed.module, None)?;
    report.checks.extend(judge_ran(&before, &after));
    Ok(())
}

fn judge_ran(before: &Ran, after: &Ran) -> Vec<Check> {
    let gate = Gate::Trial;
    match after.state {
        RanState::Returned => {}
        RanState::Raised => return vec![Check::failed(gate, "returns", failure_text(after))],
        RanState::Denied => return vec![Check::failed(gate, "no_denied_effect", after.detail.clone())],
        RanState::TimedOut | RanState::MemoryLimit => {
            return vec![Check::failed(gate, "in_limits", after.detail.clone())];
        }
        RanState::Crashed | RanState::Exited => return vec![Check::failed(gate, "returns", after.detail.clone())],
        RanState::NoIsolation | RanState::CannotRun => {
            return vec![Check::skipped(gate, "returns", after.detail.clone())];
        }
    }
    let untouched = match after.arguments_changed && !before.arguments_changed {
        true => Check::failed(gate, "arguments_untouched", "the candidate changes its arguments; the old body did not"),
        false => Check::passed(gate, "arguments_untouched"),
    };
    vec![
        Check::passed(gate, "returns"),
        Check::passed(gate, "in_limits"),
        Check::passed(gate, "no_denied_effect"),
        untouched,
    ]
}

fn failure_text(ran: &Ran) -> String {
    match &ran.failure {
        Some(failure) => format!("{}: {}", failure.class, failure.message),
        None => ran.detail.clone(),
    }
}

/// Gate 6: shape twins, then recorded calls and examples.
fn replay(proposed: &Proposed, placed: &Placed, world: &mut World<'_>, report: &mut GateReport) -> Result<(), Fault> {
    let old_module = world.target.module().to_owned();
    let mut agreed = Vec::new();
    let mut silent = Vec::new();
    for twin in &proposed.candidate.twins {
        let old = world.subject.trial(&old_module, Some(&twin.arguments))?;
        if old.state != RanState::Returned {
            silent.push(format!("{}: the old body does not return on it", twin.label));
            continue;
        }
        let new = world.subject.trial(&placed.module, Some(&twin.arguments))?;
        if new.state != RanState::Returned || new.digest != old.digest {
            let what = if new.state == RanState::Returned { "another result".to_owned() } else { failure_text(&new) };
            let reason = format!("on input of the old shape ({}) the candidate gives {what}", twin.label);
            report.checks.push(Check::failed(Gate::Replay, "twin", reason));
            return Ok(());
        }
        agreed.push(twin.label.clone());
    }
    report.checks.push(match (agreed.is_empty(), silent.first()) {
        (false, _) => {
            let mut check = Check::passed(Gate::Replay, "twin");
            check.reason = format!("old and new body agree on {}", agreed.join(", "));
            check
        }
        (true, Some(why)) => Check::skipped(Gate::Replay, "twin", why.clone()),
        (true, None) => Check::skipped(Gate::Replay, "twin", "no input of the old shape could be made"),
    });
    report.checks.extend(world.subject.replay(&placed.module)?);
    Ok(())
}
