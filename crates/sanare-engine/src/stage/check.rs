//! Judged to checked: the gates, cheap to dear; the first failure ends the candidate and teaches the next attempt.

use sanare_core::approval::Binding;
use sanare_core::evidence::TwinValue;
use sanare_core::gate::{Check, Gate, GateReport};
use sanare_core::hash::Digest;
use sanare_core::ledger::v1::canonical;
use sanare_core::outcome::Reason;
use sanare_core::port::target::Placed;
use sanare_core::port::{Ran, RanState, Verified};
use sanare_core::proposal::Rejection;
use sanare_core::step::{Checked, Diagnosed, Judged, Proposed, Step};

use crate::run::{Case, Fault, Progress, World};
use crate::stage::close;

/// Runs the gates.
pub(crate) fn check(
    judged: Judged,
    case: &Case<'_>,
    world: &mut World<'_>,
    progress: &mut Progress,
) -> Result<Step, Fault> {
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
    if let (None, Some(placed)) = (report.first_failure(), &placed) {
        let spent = world.clock.elapsed().saturating_sub(progress.started);
        let left = case.incident.rules.deadline_ms.saturating_sub(spent);
        let subject = &mut *world.subject;
        match world.verifier.verify(placed, left, &mut || subject.abandoned()) {
            Verified::None => {}
            Verified::Checks(checks) => report.checks.extend(checks),
            // The setup is at fault, not the candidate: trying another would end the same way.
            Verified::CannotStart(why) => {
                progress.report = report;
                return Ok(close::refused(Reason::VerifyCannotStart, why, proposed.diagnosed.declined));
            }
        }
    }
    progress.report = report.clone();
    let (None, Some(placed)) = (report.first_failure(), placed) else {
        return Ok(Step::Diagnosed(rejected(proposed, report)));
    };
    Ok(Step::Checked(checked(proposed, report, placed, case)))
}

fn checked(proposed: Proposed, report: GateReport, placed: Placed, case: &Case<'_>) -> Checked {
    let binding = Binding {
        before: placed.before,
        after: placed.after,
        target: Binding::target_of(&case.incident.path, &case.incident.function),
        candidate: Digest::of(proposed.candidate.function.as_bytes()),
        policy: case.policy.digest(),
        evidence: Digest::of(canonical(case.recorded.as_ref()).as_bytes()),
    };
    Checked { proposed, report, module: placed.module, text: placed.text, binding, diff: placed.diff }
}

fn rejected(proposed: Proposed, report: GateReport) -> Diagnosed {
    let mut diagnosed = proposed.diagnosed;
    let (check, reason) = report
        .first_failure()
        .map(|check| (format!("{}/{}", check.gate.word(), check.name), check.reason.clone()))
        .unwrap_or_default();
    let proposer = proposed.candidate.proposer;
    diagnosed.rejections.push(Rejection { proposer, function: proposed.candidate.function, check, reason });
    // The offline engine gives one answer to one question: asking it again would give the same.
    if proposer == sanare_core::incident::ProposerName::Drift {
        diagnosed.next_proposer += 1;
    }
    diagnosed.gates = report.checks;
    diagnosed
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
    let runs = Runs::of(proposed, placed, world)?;
    trial(&runs, report);
    if report.first_failure().is_some() {
        return Ok(());
    }
    twins(&runs, report);
    if report.first_failure().is_some() {
        return Ok(());
    }
    report.checks.extend(world.subject.replay(&placed.module)?);
    Ok(())
}

/// What both bodies did with the real arguments and with each twin of the old shape.
struct Runs<'a> {
    old: Ran,
    new: Option<Ran>,
    twins: Vec<(&'a str, Ran, Option<Ran>)>,
}

impl<'a> Runs<'a> {
    /// Twins run before the real call, for both bodies alike: a call that fails half-way may leave the copy changed.
    /// The candidate is only run where the old body has something to compare with.
    fn of(proposed: &'a Proposed, placed: &Placed, world: &mut World<'_>) -> Result<Self, Fault> {
        let old_module = world.target.module().to_owned();
        let twins = &proposed.candidate.twins;
        let all = |real: bool| -> Vec<Option<&'a [(String, TwinValue)]>> {
            twins.iter().map(|twin| Some(twin.arguments.as_slice())).chain(real.then_some(None)).collect()
        };
        let mut before = world.subject.trials(&old_module, &all(true))?;
        let old = before.pop().unwrap_or_else(|| Ran::ended(RanState::CannotRun, "it was not run"));
        let judged = trial_skipped(&old).is_none();
        let wanted = judged || before.iter().any(|ran| ran.state == RanState::Returned);
        let mut after = if wanted { world.subject.trials(&placed.module, &all(judged))? } else { Vec::new() };
        let new = if judged { after.pop() } else { None };
        let mut after = after.into_iter();
        let twins = twins.iter().zip(before).map(|(twin, old)| (twin.label.as_str(), old, after.next())).collect();
        Ok(Self { old, new, twins })
    }
}

/// Why the old body's run proves nothing about a candidate, if so.
fn trial_skipped(before: &Ran) -> Option<String> {
    match before.state {
        RanState::NoIsolation | RanState::CannotRun => Some(before.detail.clone()),
        RanState::Returned => Some("the old body does not fail in the sandbox".to_owned()),
        RanState::Denied => Some(format!("the old body itself asks for {}", before.detail)),
        _ => None,
    }
}

/// Gate 5. A candidate that the sandbox cannot judge is skipped, never passed.
fn trial(runs: &Runs<'_>, report: &mut GateReport) {
    match (trial_skipped(&runs.old), &runs.new) {
        (Some(why), _) => report.checks.push(Check::skipped(Gate::Trial, "undo_refails", why)),
        (None, None) => report.checks.push(Check::skipped(Gate::Trial, "returns", "it was not run")),
        (None, Some(new)) => {
            report.checks.push(Check::passed(Gate::Trial, "undo_refails"));
            report.checks.extend(judge_ran(&runs.old, new));
        }
    }
}

/// What the candidate was refused and the old body was not: going on after it is no excuse.
fn newly_denied(before: &Ran, after: &Ran) -> Option<String> {
    let new: Vec<&str> = after.denied.iter().filter(|it| !before.denied.contains(it)).map(String::as_str).collect();
    (!new.is_empty()).then(|| format!("refused: {}", new.join(", ")))
}

fn judge_ran(before: &Ran, after: &Ran) -> Vec<Check> {
    let gate = Gate::Trial;
    if let (RanState::Returned | RanState::Raised, Some(denied)) = (after.state, newly_denied(before, after)) {
        return vec![Check::failed(gate, "no_denied_effect", denied)];
    }
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

/// Gate 6, first part: on input of the old shape both bodies agree.
fn twins(runs: &Runs<'_>, report: &mut GateReport) {
    let mut agreed = Vec::new();
    let mut silent = Vec::new();
    for (label, old, new) in &runs.twins {
        if old.state != RanState::Returned {
            silent.push(format!("{label}: the old body does not return on it"));
            continue;
        }
        let what = match new {
            None => "nothing".to_owned(),
            Some(new) => match newly_denied(old, new) {
                Some(denied) => denied,
                None if new.state == RanState::Returned && new.digest == old.digest => {
                    agreed.push(*label);
                    continue;
                }
                None if new.state == RanState::Returned => "another result".to_owned(),
                None => failure_text(new),
            },
        };
        let reason = format!("on input of the old shape ({label}) the candidate gives {what}");
        report.checks.push(Check::failed(Gate::Replay, "twin", reason));
        return;
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
}
