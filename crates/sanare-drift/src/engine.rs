//! The entry: asks each kind in order for the next layer of a repair.

use sanare_core::outcome::Reason;
use sanare_source::parse::Source;

use crate::kind::{self, Subject};
use crate::problem::{Answer, Problem, Refusal};

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
            return answer;
        }
    }
    refused(Reason::NoProposer, "no kind of drift that can be repaired offline explains this failure")
}

/// A refusal without candidates.
pub fn refused(reason: Reason, summary: &str) -> Answer {
    Answer::Refused(Refusal { reason, summary: summary.into(), fields: Vec::new(), hint: String::new() })
}
