//! The entry: asks each kind in order for the next layer of a repair.

use sanare_core::outcome::Reason;
use sanare_source::parse::Source;

use crate::kind::{self, Subject};
use crate::problem::{Answer, Layer, Problem, Refusal};
use crate::profile::Profile;
use crate::table::audit::{self, Finding};
use crate::table::mapping;

/// The next layer of a repair, or why there is none. Same problem, same answer.
pub fn next_layer(problem: &Problem) -> Answer {
    let Ok(source) = Source::parse(&problem.source) else {
        return refused(Reason::NoSource, "the module does not parse");
    };
    let Some(target) = source.function_at(&problem.function, problem.first_line) else {
        return refused(Reason::NoSource, &format!("`{}` is not in the module", problem.function));
    };
    let subject = Subject::new(problem, &source, target);
    for kind in kind::ALL {
        if let Some(answer) = (kind.answer)(&subject) {
            return match answer {
                Answer::Layer(layer) => audited(problem, Layer { profiles: profiles(&subject, &layer), ..layer }),
                refused => refused,
            };
        }
    }
    refused(Reason::NoProposer, "no kind of drift that can be repaired offline explains this failure")
}

/// What the values of the mapped columns look like.
fn profiles(subject: &Subject, layer: &Layer) -> Vec<(String, Profile)> {
    let Some((_, _, view)) = subject.tables().first_of_any_form().filter(|_| !layer.mappings.is_empty()) else {
        return Vec::new();
    };
    let of = |seen: &str| view.place(seen).map(|place| (seen.to_owned(), mapping::profile_of(view, place)));
    layer.mappings.iter().filter_map(|mapping| of(&mapping.seen)).collect()
}

/// A layer is offered only if the code with it would not misread, without an error, a column that it reads: the number
/// kind's layer is laid with it where that is all that is wrong.
fn audited(problem: &Problem, layer: Layer) -> Answer {
    let then = Problem { source: layer.source.clone(), ..problem.clone() };
    let Ok(source) = Source::parse(&then.source) else {
        return refused(Reason::Internal, "the repaired module does not parse");
    };
    let Some(target) =
        source.function_at(&then.function, 0).or_else(|| source.function_at(&then.function, then.first_line))
    else {
        return refused(Reason::Internal, "the repaired function is gone");
    };
    let subject = Subject::new(&then, &source, target);
    match audit::findings(&then, subject.tables(), layer.kind == "bug_unbound") {
        None => Answer::Layer(layer),
        Some(Finding::Objection(answer)) => answer,
        Some(Finding::Misread) => match kind::number_format::answer(&subject) {
            Some(Answer::Layer(numbers)) => Answer::Layer(Layer {
                source: numbers.source,
                tier: layer.tier.max(numbers.tier),
                summary: format!("{}; {}", layer.summary, numbers.summary),
                evidence: layer.evidence.into_iter().chain(numbers.evidence).collect(),
                ..layer
            }),
            Some(refusal) => refusal,
            None => Answer::Layer(layer),
        },
    }
}

/// A refusal without candidates.
pub fn refused(reason: Reason, summary: &str) -> Answer {
    Answer::Refused(Refusal { reason, summary: summary.into(), fields: Vec::new(), hint: String::new() })
}
