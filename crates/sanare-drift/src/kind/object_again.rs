//! Keys of a record that have another new name once more: the helper of the first repair gets one more alias.
//!
//! What it does: asks what the layer would be if the code still read the old names alone, and adds those names.
//! Why: the evidence for a name is the same as the first time, and one helper is read more easily than two.
//! Unsafe when: the helper is not as it was written, or one name is read from several records; then it says nothing.

use sanare_core::value::Value;
use sanare_source::ast::{Expr, ExprCall};
use sanare_source::edit::{self, Edit};
use sanare_source::parse::Source;
use sanare_source::size::Ranged;

use crate::code::known::{self, Alias};
use crate::code::write::Writer;
use crate::code::{Code, called, text_of};
use crate::kind::Subject;
use crate::problem::{Answer, Failure, Layer, Problem};

/// Answers when the helper of an earlier layer found none of its names.
pub fn answer(subject: &Subject) -> Option<Answer> {
    let failure = &subject.problem.failure;
    if !failure.by_repair {
        return None;
    }
    let code = Code::of(subject.source, subject.target);
    let helper = code.helper("field")?;
    let parameter = helper.parameters.iter().next()?.name().to_string();
    let there = code.text(helper);
    let had_several = known::is_text(there, &known::field(&parameter, "", true));
    if !had_several && !known::is_text(there, &known::field(&parameter, "", false)) {
        return None;
    }
    let calls: Vec<&ExprCall> = code
        .tree
        .exprs()
        .filter_map(|(_, expr)| expr.as_call_expr())
        .filter(|call| matches!(called(call), ("field", None)))
        .collect();
    let stripped = without_aliases(&code, &calls)?;
    let then = Problem { source: stripped, failure: as_plain(failure)?, ..subject.problem.clone() };
    let source = Source::parse(&then.source).ok()?;
    let target = source.function_at(&then.function, then.first_line)?;
    let layer = match super::object::answer(&Subject::new(&then, &source, target))? {
        Answer::Layer(layer) if layer.kind == "object_renamed" => layer,
        Answer::Layer(_) => return None,
        refused => return Some(refused),
    };
    let mut all: Vec<Alias> = calls.iter().flat_map(|call| aliases(call)).fold(Vec::new(), |mut all, alias| {
        if !all.contains(&alias) {
            all.push(alias);
        }
        all
    });
    let mut writer = Writer::new(&code);
    let mut added = 0;
    for mapping in &layer.mappings {
        let leaf = |path: &str, name: &str| path == name || path.ends_with(&format!(".{name}"));
        let of_name: Vec<&&ExprCall> =
            calls.iter().filter(|call| name_of(call).is_some_and(|name| leaf(&mapping.expected, name))).collect();
        let Some(first) = of_name.first() else { continue };
        let record = |call: &ExprCall| call.arguments.args.first().map(|base| code.text(base));
        if of_name.iter().any(|call| record(call) != record(first)) {
            return None;
        }
        let seen = mapping.seen.strip_prefix(mapping.expected.strip_suffix(name_of(first)?)?)?;
        all.push((name_of(first)?.to_owned(), seen.to_owned()));
        for call in of_name {
            writer.after(call.arguments.args.last()?, format!(", {}", writer.quote(seen)));
            added += 1;
        }
    }
    if added == 0 {
        return None;
    }
    let comment = format!("{}; the old name is tried first", known::said(&all));
    writer.rewrite(helper, &known::field(&parameter, &comment, had_several || known::several(&all)));
    Some(Answer::Layer(Layer { source: writer.finish()?, ..layer }))
}

/// The module as it would be if `field(record, "name", "alias")` still were `record["name"]`, each line where it was.
fn without_aliases(code: &Code, calls: &[&ExprCall]) -> Option<String> {
    let plain = |call: &&ExprCall| {
        let [record, name, aliases @ ..] = &*call.arguments.args else { return None };
        let written_out = name.is_string_literal_expr() && aliases.iter().all(Expr::is_string_literal_expr);
        let text = format!("{}[{}]", code.text(record), code.text(name));
        written_out.then(|| Edit::replace(call.range(), text))
    };
    let edits: Vec<Edit> = calls.iter().map(plain).collect::<Option<_>>()?;
    edit::apply(code.source.text(), &edits)
}

/// The failure as the plain read would have failed: the helper's local variables have the name.
fn as_plain(failure: &Failure) -> Option<Failure> {
    let (helper, outer) = failure.frames.split_last()?;
    let name = helper.locals.iter().find(|(name, _)| name == "name").and_then(|(_, value)| value.as_text())?;
    Some(Failure {
        class: "KeyError".to_owned(),
        bases: vec!["LookupError".to_owned(), "Exception".to_owned()],
        message: format!("'{name}'"),
        args: vec![Value::Text(name.to_owned())],
        frames: outer.to_vec(),
        ..Failure::default()
    })
}

fn name_of(call: &ExprCall) -> Option<&str> {
    call.arguments.args.get(1).and_then(text_of)
}

fn aliases(call: &ExprCall) -> Vec<Alias> {
    let Some(name) = name_of(call) else { return Vec::new() };
    call.arguments.args.iter().skip(2).filter_map(text_of).map(|seen| (name.to_owned(), seen.to_owned())).collect()
}
