//! A name is looked up in a list of names by `list.index(name)`, and the list calls it something else now.

use sanare_core::value::Value;
use sanare_source::ast::Expr;

use crate::code::called;
use crate::code::write::Writer;
use crate::kind::{Layers, Subject};
use crate::matching::{Expected, MatchContext, Seen, match_fields};
use crate::problem::Answer;
use crate::profile::Profile;

/// Answers when `.index("name")` fails on a list of texts that the failing frame holds.
pub fn answer(subject: &Subject) -> Option<Answer> {
    let failure = &subject.problem.failure;
    let tables = subject.tables();
    if failure.class != "ValueError" || !failure.message.ends_with("not in list") || tables.code.has("position") {
        return None;
    }
    if tables.first().is_some_and(|(at, _, view)| !tables.missing(subject.problem, at, view).is_empty()) {
        return None;
    }
    let code = &tables.code;
    let frame = failure.frames.iter().rev().find(|frame| frame.line > 0)?;
    let lookups: Vec<(&Expr, &Expr, &Expr)> = code
        .tree
        .exprs()
        .filter_map(|(_, expr)| {
            let call = expr.as_call_expr()?;
            let (name, list) = called(call);
            let literal = call.arguments.find_positional(0)?;
            (name == "index" && call.arguments.len() == 1 && code.constant_text(literal).is_some())
                .then_some((expr, list?, literal))
        })
        .collect();
    let line_of = |expr: &Expr| {
        use sanare_source::size::Ranged;
        subject.source.line(expr.range().start().to_usize())
    };
    let (_, list, _) = lookups.iter().find(|(whole, list, literal)| {
        let wanted = code.constant_text(literal).unwrap_or_default();
        let items = items_of(frame, list);
        line_of(whole) == frame.line && items.is_some_and(|items| !items.iter().any(|item| item == wanted))
    })?;
    let items = items_of(frame, list)?;
    let same_list = |other: &Expr| code.text(other) == code.text(*list);
    let wanted: Vec<(&Expr, &str)> = lookups
        .iter()
        .filter(|(_, other, _)| same_list(other))
        .filter_map(|(whole, _, literal)| Some((*whole, code.constant_text(literal)?)))
        .collect();
    let expected: Vec<Expected> = wanted
        .iter()
        .map(|(_, name)| Expected { name: (*name).to_owned(), needed: true, ..Expected::default() })
        .collect();
    let seen: Vec<Seen> = items
        .iter()
        .enumerate()
        .filter(|(_, item)| !item.trim().is_empty())
        .map(|(position, item)| Seen { name: item.clone(), profile: Profile::default(), position })
        .collect();
    let words = &subject.problem.words;
    let context = MatchContext {
        lexicon: words.lexicon(),
        contract_aliases: words.aliases(),
        lockfile: &[],
        closed_record: false,
    };
    let mappings = match match_fields(&expected, &seen, &context) {
        Ok(mappings) => mappings,
        Err(refusal) => return Some(Answer::Refused(refusal)),
    };
    let mappings: Vec<_> = mappings.into_iter().filter(|one| one.expected != one.seen).collect();
    if mappings.is_empty() {
        return None;
    }
    let mut writer = Writer::new(code);
    for mapping in &mappings {
        for (whole, name) in wanted.iter().filter(|(_, name)| *name == mapping.expected) {
            let (name, alias) = (writer.quote(name), writer.quote(&mapping.seen));
            writer.replace(*whole, format!("position({}, {name}, {alias})", code.text(*list)));
        }
    }
    let renames: Vec<String> =
        mappings.iter().map(|one| format!("{} was renamed to {}", one.expected, one.seen)).collect();
    writer.helper(&format!(
        "def position(names, name, alias):\n    # {}; the old name is tried first\n    for key in (name, alias):\n        \
         if key in names:\n            return names.index(key)\n    raise ValueError(f\"neither {{name!r}} nor {{alias!r}} in {{names}}\")",
        renames.join(", ")
    ));
    let summary = mappings
        .iter()
        .map(|one| format!("{} is now called {}", one.expected, one.seen))
        .collect::<Vec<_>>()
        .join(", ");
    Some(Layers::mapped("name_in_list", writer.finish(), mappings, summary))
}

/// The texts of the list that a variable held when the call failed.
fn items_of(frame: &crate::problem::Frame, list: &Expr) -> Option<Vec<String>> {
    let name = list.as_name_expr()?;
    let (_, value) = frame.locals.iter().find(|(local, _)| name.id == *local)?;
    let items = value.as_list()?;
    items
        .iter()
        .map(|item| item.as_text().map(str::to_owned))
        .collect::<Option<Vec<String>>>()
        .filter(|_| !items.contains(&Value::Cut(0)))
}
