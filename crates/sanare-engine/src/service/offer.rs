//! What may be offered to an agent, and what policy judges by: looked at anew each time.

use sanare_core::id::Id;
use sanare_core::incident::Mode;
use sanare_core::policy::Policy;
use sanare_core::policy::stricter;
use sanare_core::port::StoreFault;
use sanare_core::service::approval::Binding;
use sanare_core::service::attempt::{application_attempts, spent, tried};
use sanare_core::service::confidence::{FigureKey, Record};
use sanare_core::service::context::{LiveSpan, Standing};
use sanare_core::service::job::longest;
use sanare_core::service::limits::{Planned, counts, rest_left};
use sanare_core::service::moment::DAY;
use sanare_core::service::name::Version;
use sanare_core::service::policy::{Case, Numbers};
use sanare_core::service::port::{Availability, Fitting};
use sanare_core::service::proposal::Params;
use sanare_core::service::step::{Proposed, Step, Withheld};
use sanare_core::service::target::{Identity, Mark};
use sanare_core::service::{Action, Declaration, GateReport, Moment, Text};

use super::careful;
use super::turn::Turn;

/// Failures of gates after which an action is not offered again in the incident.
const GATE_FAILURES: u32 = 2;

/// Why there is nothing to roll back to.
pub(crate) const NONE_GOOD: &str = "no version before is known as good";

/// The policy of this moment, with the numbers for the application.
pub(crate) struct House {
    pub policy: Policy,
    pub numbers: Numbers,
    pub mode: Mode,
}

impl House {
    pub(crate) fn of(turn: &Turn<'_>) -> Self {
        let application = &turn.incident.application;
        let policy = turn.world.house.policy();
        let numbers = Numbers::of(&policy, application);
        let mode = stricter(turn.world.house.mode(application), numbers.mode);
        Self { policy, numbers, mode }
    }
}

/// Actions that are configured, reachable, not spent and not tried (S80, S12), in the order of the list.
pub(crate) fn offered(turn: &Turn<'_>) -> Vec<Action> {
    let (incident, house) = (&turn.incident, turn.world.house);
    let diagnostics = house.diagnostics(&incident.application, incident.kind);
    let fits = |action: &Action| match action.is_framework() {
        true => spent(*action, &incident.attempts, &diagnostics, turn.now()).is_none(),
        false => why_not(turn, *action).is_none(),
    };
    Action::ALL.iter().copied().filter(fits).collect()
}

/// Actions on the application that are not offered, each with the reason, in the order of the list.
pub(crate) fn withheld(turn: &Turn<'_>) -> Vec<Withheld> {
    let acting = Action::ALL.iter().copied().filter(|action| !action.is_framework());
    acting.filter_map(|action| why_not(turn, action).map(|why| Withheld { action, why: Text::of(&why) })).collect()
}

/// Why an action on the application is not offered now.
fn why_not(turn: &Turn<'_>, action: Action) -> Option<String> {
    if let Some(why) = spent(action, &turn.incident.attempts, &[], turn.now()) {
        return Some(why.to_owned());
    }
    let failures = turn.run.gate_failures.get(&action).copied().unwrap_or(0);
    if failures >= GATE_FAILURES {
        return Some(format!("a gate failed {failures} times"));
    }
    fitting(turn, action).err()
}

/// The target for an action, reachable now, with the parameters that are ours.
pub(crate) fn fitting<'a>(turn: &Turn<'a>, action: Action) -> Result<(Fitting<'a>, Params), String> {
    let fitting = turn.world.house.fitting(&turn.incident.application, action)?;
    if fitting.adapter.declaration().action != action {
        return Err("the configured target is for another action".to_owned());
    }
    if let Availability::Unavailable(why) = careful::available(fitting.adapter) {
        return Err(why.to_string());
    }
    if let Some(open) = open_request(turn, &fitting)? {
        return Err(open);
    }
    let params = match action {
        Action::RestartComponent => Params::Restart { component: fitting.component.clone() },
        Action::RollbackModel => rollback(&turn.world.house.versions(&turn.incident))?,
        _ => Params::Empty,
    };
    Ok((fitting, params))
}

/// Why a request is not made again yet: where nobody can say how its job stands, it counts as under way for as long as one
/// may be (S88).
fn open_request(turn: &Turn<'_>, fitting: &Fitting<'_>) -> Result<Option<String>, String> {
    let declaration = fitting.adapter.declaration();
    let (action, target) = (declaration.action, &declaration.target);
    let Some(longest) = longest(action).filter(|_| careful::follows(fitting.adapter).is_none()) else {
        return Ok(None);
    };
    let acts = turn.world.store.acts(turn.now().minus(longest)).map_err(|fault| fault.to_string())?;
    let own = |receipt: &Id| matches!(&turn.run.step, Step::Prepared(_, id) if id == receipt);
    let open = acts.iter().rfind(|act| act.action == action && act.target == *target && !own(&act.receipt));
    Ok(open.map(|act| format!("{action} was asked for at {}, and may still be under way", act.at)))
}

/// From the version that is live to the newest other one that is known as good (S87).
fn rollback(history: &[LiveSpan]) -> Result<Params, String> {
    let live = history.iter().rfind(|span| span.to.is_none()).ok_or("which version is live is not known")?;
    let bad = |version: &Version| history.iter().any(|span| span.version == *version && span.standing == Standing::Bad);
    let good = history
        .iter()
        .rfind(|span| span.standing == Standing::Good && span.version != live.version && !bad(&span.version))
        .ok_or(NONE_GOOD)?;
    Ok(Params::Rollback { from_version: live.version.clone(), to_version: good.version.clone() })
}

/// What a target is. A process that is to be started again may answer nothing, because it hangs or is gone: then it is what
/// it was when it last answered, and a start shows by what is another then.
pub(crate) fn known(fitting: &Fitting<'_>, now: Identity) -> Identity {
    let starts = fitting.adapter.declaration().action == Action::RestartComponent;
    if starts && now.is_empty() { fitting.last.clone() } else { now }
}

/// The gates that an adapter owes by its declaration.
pub(crate) fn owed(declaration: &Declaration) -> Vec<&'static str> {
    let mut gates = vec!["available", "identity"];
    if !declaration.preconditions.is_empty() {
        gates.push("preconditions");
    }
    if declaration.dry_run {
        gates.push("dry_run");
    }
    gates
}

/// The key under which an agent's proposals of this kind are measured.
pub(crate) fn figure_key(turn: &Turn<'_>, proposed: &Proposed) -> FigureKey {
    FigureKey {
        kind: turn.incident.kind,
        action: proposed.proposal.action,
        origin: proposed.diagnosis.origin,
        agent: proposed.diagnosis.agent.figure_key(),
    }
}

/// The case that policy judges, of this moment. `gates` stand once they have answered.
pub(crate) fn case(
    turn: &Turn<'_>,
    house: &House,
    proposed: &Proposed,
    gates: Option<&GateReport>,
) -> Result<Case, StoreFault> {
    case_and_limits(turn, house, proposed, gates, None).map(|(case, _)| case)
}

/// The same, with how many acts there were since when the limits were looked at. `own` is a receipt whose act is counted
/// already, and does not stand in its own way.
pub(crate) fn case_and_limits(
    turn: &Turn<'_>,
    house: &House,
    proposed: &Proposed,
    gates: Option<&GateReport>,
    own: Option<&Id>,
) -> Result<(Case, (Moment, usize)), StoreFault> {
    let (incident, world) = (&turn.incident, turn.world);
    let (proposal, diagnosis) = (&proposed.proposal, &proposed.diagnosis);
    let (now, application) = (turn.now(), &incident.application);
    let measured = world.store.measured(&figure_key(turn, proposed))?;
    let mut case = Case {
        application: application.clone(),
        component: incident.component.clone(),
        kind: incident.kind,
        severity: incident.severity,
        action: proposal.action,
        origin: diagnosis.origin,
        mode: house.mode,
        now,
        stopped: world.house.stopped(application),
        since_clock_jump_ms: world.house.since_clock_jump_ms(),
        in_storm: world.house.in_storm(application),
        attempts: u32::try_from(application_attempts(&incident.attempts).saturating_sub(turn.run.attempts_before))
            .unwrap_or(u32::MAX),
        tried: tried(proposal.action, &incident.attempts),
        confidence: diagnosis.judged_confidence(),
        verified_attempts: Record::of(&figure_key(turn, proposed), &measured, now).verified,
        cited: u32::try_from(diagnosis.evidence_used.len()).unwrap_or(u32::MAX),
        applications_at_once: world.house.applications_at_once(application),
        chronic: incident.is(sanare_core::service::IncidentFlag::Chronic),
        flapping: incident.is(sanare_core::service::IncidentFlag::Flapping),
        ..Case::default()
    };
    let since = now.minus(2 * DAY);
    if proposal.action.is_framework() {
        return Ok((case, (since, 0)));
    }
    let target = proposal.target.as_ref();
    match fitting(turn, proposal.action) {
        Ok((fitting, params)) => {
            let declaration = fitting.adapter.declaration();
            if target != Some(&declaration.target) || params != proposal.params {
                case.unavailable = Some("the configured target is another one now".to_owned());
            }
            case.adapter = fitting.kind.to_owned();
            case.truth_elsewhere.clone_from(&declaration.source_of_truth);
            case.blast = declaration.blast;
            case.healthy = fitting.healthy;
            case.takes_healthy = fitting.takes_healthy;
            case.fenced = !declaration.fence.is_empty();
            case.idempotent = declaration.idempotent;
            case.reversible = declaration.reversible;
            let seen = known(&fitting, proposed.seen.clone());
            let told = |marks: &[Mark]| marks.iter().any(|mark| seen.get(*mark).is_some());
            case.verifiable = match proposal.action {
                Action::RestartComponent => told(&[Mark::StartTime, Mark::Instance]),
                Action::ReloadModel => told(&[Mark::LoadTime, Mark::Generation]),
                Action::RollbackModel => {
                    let has_alias = declaration.fence.contains(&Mark::AliasVersion);
                    told(&[Mark::ServedVersion]) && (!has_alias || told(&[Mark::AliasVersion]))
                }
                Action::RequestRedeployment => told(&[Mark::Revision]),
                // What comes of it is seen by its job, which changes nothing that is live.
                Action::RequestRetraining => careful::follows(fitting.adapter).is_some(),
                _ => false,
            };
            case.gate_skipped = gates
                .and_then(|report| report.first_skip(&owed(declaration)).map(|(gate, why)| format!("{gate}: {why}")));
        }
        Err(why) => case.unavailable = Some(why),
    }
    let mut acts = world.store.acts(since)?;
    acts.retain(|act| own != Some(&act.receipt));
    if let Some(target) = target {
        let planned = Planned { application, target, action: proposal.action };
        case.cooldown_left_ms = rest_left(house.numbers.cooldown, &acts, planned, now).div_ceil(1_000);
        case.counts = counts(&acts, planned, now);
    }
    Ok((case, (since, acts.len())))
}

/// What an approval of this proposal covers now.
pub(crate) fn binding(turn: &Turn<'_>, house: &House, proposed: &Proposed, gates: &GateReport) -> Binding {
    Binding::of(
        &proposed.proposal,
        turn.run.attempt + 1,
        house.policy.digest(),
        turn.world.house.configuration(),
        proposed.diagnosis.evidence_digest.clone(),
        gates,
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use sanare_core::service::context::{LiveSpan, MovedBy, Standing};
    use sanare_core::service::proposal::Params;
    use sanare_core::service::{Moment, Version};

    use super::rollback;

    /// Versions one after the other, the last one live unless the text ends with `|`; `+` is good, `-` is bad.
    fn check(history: &str) -> String {
        let (ended, history) = (history.ends_with('|'), history.trim_end_matches('|'));
        let words: Vec<&str> = history.split_whitespace().collect();
        let spans: Vec<LiveSpan> = words
            .iter()
            .zip(1_u64..)
            .map(|(word, hour)| LiveSpan {
                version: Version::parse(word.trim_end_matches(['+', '-'])).unwrap(),
                from: Moment::from_millis(hour * 3_600_000),
                to: (ended || hour < words.len() as u64).then(|| Moment::from_millis((hour + 1) * 3_600_000)),
                moved_by: MovedBy::Others,
                standing: match word.chars().last() {
                    Some('+') => Standing::Good,
                    Some('-') => Standing::Bad,
                    _ => Standing::Unknown,
                },
            })
            .collect();
        match rollback(&spans) {
            Ok(Params::Rollback { from_version, to_version }) => format!("{from_version} to {to_version}"),
            Ok(other) => format!("{other:?}"),
            Err(why) => why,
        }
    }

    /// S87, item by item.
    #[test]
    fn known_good_is_the_newest_that_is_not_live_and_failed_nowhere() {
        assert_eq!(check("1+ 2+ 3"), "3 to 2");
        assert_eq!(check("1"), "no version before is known as good", "the first version ever");
        assert_eq!(check("1+"), "no version before is known as good", "the only good one is live");
        assert_eq!(check("1+ 2 3+"), "3 to 1", "the newest good one is live");
        assert_eq!(check("1+ 2+ 3 2- 4"), "4 to 1", "what was good once and failed later");
        assert_eq!(check("1 2 3"), "no version before is known as good");
        assert_eq!(check("1+ 2|"), "which version is live is not known", "a gap in the history");
        assert_eq!(check(""), "which version is live is not known");
        assert_eq!(check("1+ 2 1 3"), "3 to 1", "back and forth");
    }
}
