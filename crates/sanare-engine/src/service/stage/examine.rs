//! A configured check is run: it changes nothing, and what it says is evidence of the next round (S76).

use std::panic::{AssertUnwindSafe, catch_unwind};

use sanare_core::service::context::DiagnosticOutput;
use sanare_core::service::observation::CHECKS;
use sanare_core::service::port::Found;
use sanare_core::service::word::VerificationOutcome;
use sanare_core::service::{
    Action, Draft, Evidence, Labels, LogCount, NotMade, Observation, ObservedValue, Output, Signal, Source, Stamp,
    Text, Trust,
};

use super::gather::gather;
use crate::service::turn::{Next, Turn};

/// Runs a check. One that did not end as it should is told as that, and is no reading of anything.
pub(crate) fn examine(turn: &mut Turn<'_>, name: &str) -> Result<Next, NotMade> {
    let at = turn.now();
    let failed = |why: &str| Found { succeeded: false, number: None, series: Vec::new(), output: Output::of(why) };
    let found = match turn.world.house.diagnostic(name) {
        Some(diagnostic) => {
            catch_unwind(AssertUnwindSafe(|| diagnostic.run())).unwrap_or_else(|_| failed("it broke down"))
        }
        None => failed("it is not configured any more"),
    };
    for observation in if found.succeeded { readings(turn, name, &found) } else { Vec::new() } {
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

/// What a check said, as observations: each number of several, one number, or one line of text.
fn readings(turn: &Turn<'_>, name: &str, found: &Found) -> Vec<Observation> {
    if !found.series.is_empty() {
        let each = found.series.iter();
        return each
            .filter_map(|(labels, number)| reading(turn, name, ObservedValue::metric(*number), labels))
            .collect();
    }
    let value = match found.number {
        Some(number) => ObservedValue::metric(number),
        None => {
            let text = Text::of(found.output.as_str());
            let templates = if text.is_empty() { Vec::new() } else { vec![text] };
            ObservedValue::LogSignal(LogCount { count: 1, templates })
        }
    };
    reading(turn, name, value, &Labels::default()).into_iter().collect()
}

fn reading(turn: &Turn<'_>, name: &str, value: ObservedValue, labels: &Labels) -> Option<Observation> {
    let (incident, own) = (&turn.incident, name.rsplit('/').next().unwrap_or(name));
    let signal = Signal::parse(format!("diagnostic/{own}")).ok()?;
    let (component, labels) = (incident.component.clone(), labels.clone());
    let draft = Draft { component, labels, ..Draft::new(incident.application.clone(), signal, value) };
    let stamp =
        Stamp { id: turn.world.id("obs"), arrival: turn.now(), source: Source::parse(CHECKS).ok()?, trust: Trust::Own };
    Observation::accept(draft, stamp).ok()
}
