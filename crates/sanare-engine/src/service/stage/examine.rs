//! A configured check is run: it changes nothing, and what it says is evidence of the next round (S76).

use std::panic::{AssertUnwindSafe, catch_unwind};

use sanare_core::service::context::DiagnosticOutput;
use sanare_core::service::observation::CHECKS;
use sanare_core::service::port::Found;
use sanare_core::service::word::VerificationOutcome;
use sanare_core::service::{
    Action, Draft, Evidence, LogCount, NotMade, Observation, ObservedValue, Output, Signal, Source, Stamp, Text, Trust,
};

use super::gather::gather;
use crate::service::turn::{Next, Turn};

/// Runs a check. One that did not end as it should is told as that, and is no reading of anything.
pub(crate) fn examine(turn: &mut Turn<'_>, name: &str) -> Result<Next, NotMade> {
    let at = turn.now();
    let failed = |why: &str| Found { succeeded: false, number: None, output: Output::of(why) };
    let found = match turn.world.house.diagnostic(name) {
        Some(diagnostic) => {
            catch_unwind(AssertUnwindSafe(|| diagnostic.run())).unwrap_or_else(|_| failed("it broke down"))
        }
        None => failed("it is not configured any more"),
    };
    if let Some(observation) = found.succeeded.then(|| reading(turn, name, &found)).flatten() {
        turn.incident.add_evidence(Evidence { observation: observation.id.clone(), badness: 0.0 });
        turn.change.observations.push(observation);
    }
    let summary = format!("the check {name} {}", if found.succeeded { "answered" } else { "did not end as it should" });
    let Found { succeeded, output, .. } = found;
    turn.run.diagnostics.push(DiagnosticOutput { name: name.to_owned(), at, succeeded, output });
    let outcome = VerificationOutcome::Inconclusive;
    turn.attempted(Action::RunDiagnostic, outcome, &summary, None, Some(name.to_owned()), at);
    gather(turn)
}

/// What a check said, as an observation: a number, or one line of text.
fn reading(turn: &Turn<'_>, name: &str, found: &Found) -> Option<Observation> {
    let (incident, own) = (&turn.incident, name.rsplit('/').next().unwrap_or(name));
    let value = match found.number {
        Some(number) => ObservedValue::metric(number),
        None => {
            let text = Text::of(found.output.as_str());
            let templates = if text.is_empty() { Vec::new() } else { vec![text] };
            ObservedValue::LogSignal(LogCount { count: 1, templates })
        }
    };
    let signal = Signal::parse(format!("diagnostic/{own}")).ok()?;
    let draft =
        Draft { component: incident.component.clone(), ..Draft::new(incident.application.clone(), signal, value) };
    let stamp =
        Stamp { id: turn.world.id("obs"), arrival: turn.now(), source: Source::parse(CHECKS).ok()?, trust: Trust::Own };
    Observation::accept(draft, stamp).ok()
}
