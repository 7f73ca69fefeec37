//! The program raised on purpose: its guard is right, the data is not. Nothing is repaired, unless the guard only
//! passes on an error of the data.

use sanare_core::outcome::Reason;
use sanare_source::ast::Stmt;
use sanare_source::size::Ranged;

use crate::code::called;
use crate::code::tree::Tree;
use crate::engine::refused;
use crate::kind::Subject;
use crate::problem::Answer;

/// Errors that data of another shape causes.
const DRIFT: &[&str] = &[
    "KeyError",
    "IndexError",
    "ValueError",
    "TypeError",
    "AttributeError",
    "UnicodeDecodeError",
    "JSONDecodeError",
    "LookupError",
    "InvalidOperation",
    "ParserError",
    "StopIteration",
    "EmptyDataError",
];

/// Errors of libraries that check data.
const CHECKERS: &[&str] = &["ValidationError", "SchemaError", "SchemaErrors"];

/// Answers when the failing statement is `raise` or `assert`.
pub fn answer(subject: &Subject) -> Option<Answer> {
    let failure = &subject.problem.failure;
    let class = failure.class.rsplit('.').next().unwrap_or_default();
    if failure.by_repair {
        // A name that is not there may have another one now. What else a helper refuses it refuses for good reason: no
        // layer goes around its check.
        let why = "a helper of an earlier repair refuses this data, which has a form that it does not know";
        return (class != "KeyError").then(|| refused(Reason::NoProposer, why));
    }
    if CHECKERS.contains(&class) {
        return Some(refused(Reason::Deliberate, "a validation refused the data"));
    }
    let line = failure.frames.iter().rev().find(|frame| frame.line > 0)?.line;
    let tree = Tree::of(subject.source.body(), &[]);
    let on_line = |statement: &Stmt| {
        let range = statement.range();
        let (first, last) =
            (subject.source.line(range.start().to_usize()), subject.source.line(range.end().to_usize()));
        (first..=last).contains(&line)
    };
    let statement = tree.stmts().map(|(_, statement)| statement).filter(|statement| on_line(statement)).last()?;
    let deliberate = match statement {
        Stmt::Raise(raise) => {
            let named = raise.exc.as_deref().map(|raised| match raised.as_call_expr() {
                Some(call) => called(call).0.to_owned(),
                None => crate::code::dotted(raised).unwrap_or_default(),
            });
            named.is_none_or(|named| named.is_empty() || named.ends_with(class) || !DRIFT.contains(&class))
        }
        Stmt::Assert(_) => class == "AssertionError",
        _ => false,
    };
    if !deliberate {
        return None;
    }
    let passed_on = matches!(statement, Stmt::Raise(_))
        && failure
            .cause
            .as_ref()
            .is_some_and(|cause| DRIFT.contains(&cause.class.rsplit('.').next().unwrap_or_default()));
    if passed_on {
        return None;
    }
    Some(refused(Reason::Deliberate, "the program checks its data and raised this on purpose"))
}
