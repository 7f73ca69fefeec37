//! A job that an act has begun is followed to its end, over restarts and without holding anybody up (S88).

use sanare_core::service::job::{Following, JOBS, Job, JobState};
use sanare_core::service::moment::{HOUR, MINUTE};
use sanare_core::service::step::{Applied, Cause, Checked, Step};
use sanare_core::service::word::{Effect, VerificationOutcome};
use sanare_core::service::{
    Action, Draft, Evidence, LogCount, NotMade, Observation, ObservedValue, Receipt, Signal, Source, Stamp, Text,
    Trust, Version,
};
use serde_json::json;

use super::act::{blocked, settle};
use super::gather::gather;
use super::verify::count;
use crate::service::careful;
use crate::service::turn::{Next, Turn};

/// The request was accepted; its receipt stays started, so that no other is made of the same thing meanwhile.
pub(crate) fn begin(turn: &mut Turn<'_>, checked: Checked, receipt: &Receipt, following: Following) -> Next {
    let acted_at = receipt.started_at.unwrap_or_else(|| turn.now());
    turn.run.waiting_since = Some(turn.now());
    let Following { every, within } = following;
    let job = Some(Job { id: receipt.reference.clone(), every, until: acted_at.plus(within) });
    let applied = Applied { checked, receipt: receipt.id.clone(), acted_at, extended: false, asked: Vec::new(), job };
    Next::Go(Step::Applied(Box::new(applied)))
}

/// One look at the job.
pub(crate) fn follow(turn: &mut Turn<'_>, mut applied: Applied, receipt: Receipt, job: Job) -> Result<Next, NotMade> {
    let (now, action) = (turn.now(), receipt.key.action);
    // Whatever comes of it is told under the name that the job has where it runs.
    let receipt = Receipt { reference: job.id.clone().or(receipt.reference.clone()), ..receipt };
    let name = job.id.as_ref().map_or_else(String::new, |id| format!(" `{id}`"));
    let state = asked(turn, &receipt, &job);
    let over = now >= job.until;
    if !over && matches!(state, JobState::Running | JobState::Missing | JobState::CannotTell(_)) {
        turn.run.step = Step::Applied(Box::new(applied));
        return Ok(Next::Hold(job.every));
    }
    turn.run.end_wait(now);
    turn.note("job", &json!({ "receipt": receipt.id, "job": job.id, "state": state }));
    let why = match state {
        JobState::Done { candidate } if action == Action::RequestRetraining => {
            settle(turn, receipt.clone(), Effect::Done);
            return trained(turn, &applied, &receipt, candidate);
        }
        JobState::Done { .. } => {
            settle(turn, receipt, Effect::Done);
            // What was rolled out is watched from now on, like any other act.
            (applied.job, applied.acted_at) = (None, now);
            turn.note("rolled_out", &json!({ "receipt": applied.receipt }));
            turn.run.step = Step::Applied(Box::new(applied));
            return Ok(Next::Hold(1));
        }
        JobState::Failed(word) => {
            settle(turn, receipt.clone(), Effect::Done);
            return failed(turn, &applied, &receipt, &format!("the job{name} of {action} has ended as `{word}`"));
        }
        JobState::Many(count) => {
            format!("{count} jobs run for one {action}: look at all of them before anything is asked for again")
        }
        JobState::Missing => {
            format!("{action} was accepted, and no job has run for it within {}", lasted(&receipt, now))
        }
        JobState::Running => format!("the job{name} of {action} has not ended within {}", lasted(&receipt, now)),
        JobState::CannotTell(said) => {
            format!("how the job{name} of {action} stands could not be told for {}: {said}", lasted(&receipt, now))
        }
    };
    Ok(blocked(turn, receipt, &why, &why))
}

/// How a job stands now.
pub(crate) fn asked(turn: &Turn<'_>, receipt: &Receipt, job: &Job) -> JobState {
    let cannot = |why: &str| JobState::CannotTell(Text::of(why));
    match turn.world.house.resolved(receipt) {
        Ok(fitting) => {
            let id = job.id.as_ref().map(Text::as_str);
            careful::job(fitting.adapter, receipt, id)
        }
        Err(why) => cannot(&why),
    }
}

fn lasted(receipt: &Receipt, now: sanare_core::service::Moment) -> String {
    let micros = now.since(receipt.started_at.unwrap_or(receipt.intended_at));
    if micros >= 2 * HOUR { format!("{} h", micros / HOUR) } else { format!("{} min", micros / MINUTE) }
}

/// A model that was made is a candidate and no more: making it live is a request of its own, which a person approves.
fn trained(
    turn: &mut Turn<'_>,
    applied: &Applied,
    receipt: &Receipt,
    candidate: Option<Version>,
) -> Result<Next, NotMade> {
    let version = candidate.map_or_else(String::new, |version| format!(", version {version}"));
    let why = format!("the retraining has ended well; its model{version} is a candidate and not live");
    if let Some(observation) = reading(turn, &why) {
        turn.incident.add_evidence(Evidence { observation: observation.id.clone(), badness: 0.0 });
        turn.change.observations.push(observation);
    }
    count(turn, applied, receipt, VerificationOutcome::NotVerified, &why);
    gather(turn)
}

/// A retraining that failed has changed nothing that is live; of a roll-out that failed a person has to look what runs.
fn failed(turn: &mut Turn<'_>, applied: &Applied, receipt: &Receipt, why: &str) -> Result<Next, NotMade> {
    count(turn, applied, receipt, VerificationOutcome::NotRecovered, why);
    if receipt.key.action == Action::RequestRetraining {
        return gather(turn);
    }
    Ok(turn.escalate(Cause::NotVerified, format!("{why}; look what runs now")))
}

fn reading(turn: &Turn<'_>, said: &str) -> Option<Observation> {
    let incident = &turn.incident;
    let value = ObservedValue::LogSignal(LogCount { count: 1, templates: vec![Text::of(said)] });
    let signal = Signal::parse("job/request_retraining").ok()?;
    let draft =
        Draft { component: incident.component.clone(), ..Draft::new(incident.application.clone(), signal, value) };
    let source = Source::parse(JOBS).ok()?;
    let stamp = Stamp { id: turn.world.id("obs"), arrival: turn.now(), source, trust: Trust::Own };
    Observation::accept(draft, stamp).ok()
}
