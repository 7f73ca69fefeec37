//! A JSON array that now comes as one object on each line, or the reverse.
//!
//! What it does: reads both, told apart by the first character.
//! Why: every line is one JSON object with what the code reads from each member, or every member of the array is.
//! Unsafe when: a line is broken or lacks a key; then it is another failure.

use sanare_core::value::Value;
use sanare_source::ast::visitor::{Visitor, walk_expr, walk_stmt};
use sanare_source::ast::{Comprehension, Expr, ExprCall, Stmt};
use sanare_source::size::{Ranged, TextRange};

use crate::code::object_fit;
use crate::code::object_path::Step;
use crate::code::object_reads::{Form, Place, Root, Text};
use crate::code::object_view::{Trouble, View, text_behind};
use crate::code::object_write::Draft;
use crate::object_shape::{read_json, read_lines};
use crate::problem::{Answer, Tier};
use crate::shape::ObjectShape;

use super::object::layer;

pub(crate) fn answer(view: &View) -> Option<Answer> {
    for (at, root) in view.reading.roots.iter().enumerate() {
        let text = view
            .subject
            .problem
            .arguments
            .iter()
            .find(|argument| argument.name == root.parameter)
            .and_then(|argument| text_behind(root, argument));
        let (Some(text), Some(call)) = (text, root.call) else { continue };
        let place = Place { root: at, steps: Vec::new() };
        let answer = match root.form {
            Form::Json => to_lines(view, &place, root, call, &text),
            Form::Lines => to_array(view, &place, call, &text),
            Form::Parameter => None,
        };
        if answer.is_some() {
            return answer;
        }
    }
    None
}

/// An array was read, lines are there.
fn to_lines(view: &View, place: &Place, root: &Root, call: TextRange, text: &str) -> Option<Answer> {
    let broken = view.class() == "JSONDecodeError" && view.failure.message.starts_with("Extra data");
    let one_line = text.trim().lines().count() == 1
        && matches!(read_json(text), Some(Value::Map(_)))
        && matches!(view.trouble(), Some(Trouble::NotList(wrong)) if wrong == *place);
    if !root.in_target || !(broken || one_line) {
        return None;
    }
    let lines = read_lines(text)?;
    let members: Vec<&Value> = lines.iter().collect();
    if members.iter().any(|member| member.as_map().is_none()) || !is_list(view, place) {
        return None;
    }
    let fit = object_fit::fit(view, &place.then(Step::Member), &members)?;
    if fit.keys.is_empty() {
        return None;
    }
    let parsing = find_call(view, call)?;
    if !parsing.arguments.keywords.is_empty() || parsing.arguments.args.len() != 1 {
        return None;
    }
    let function = view.text(parsing.func.range());
    let module = function.strip_suffix(".load").or_else(|| function.strip_suffix(".loads"));
    let given = view.text(parsing.arguments.args.first()?.range());
    let handle = root.text == Text::Handle;
    let bytes = opened_as_bytes(view);
    let helper = |name: &str| {
        let mut out = vec![format!("def {name}({}):", if handle { "handle" } else { "text" })];
        if module.is_none() {
            out.push("    import json".into());
            out.push(String::new());
        }
        let json = module.unwrap_or("json");
        if handle {
            out.push(format!("    text = handle.read(){}", if bytes { ".decode(\"utf-8\")" } else { "" }));
        }
        out.push("    if text.lstrip().startswith(\"[\"):".into());
        out.push(format!("        return {json}.loads(text)"));
        out.push(format!("    return [{json}.loads(line) for line in text.split(\"\\n\") if line.strip()]"));
        out
    };
    let mut draft = Draft::new(view.subject);
    let comment = "the file now has one JSON object on each line, where it was one array";
    let name = draft.helper(&["json_records", "read_json_records"], comment, helper);
    draft.replace(call, format!("{name}({given})"));
    let evidence = format!("{} lines, each an object with {}", lines.len(), fit.keys.join(", "));
    layer("object_lines", draft.finish(), Tier::A, comment.into(), vec![evidence], Vec::new())
}

/// Lines were read, one array is there.
fn to_array(view: &View, place: &Place, call: TextRange, text: &str) -> Option<Answer> {
    let Some(Value::List(members)) = read_json(text) else { return None };
    let members: Vec<&Value> = members.iter().collect();
    if members.is_empty() || members.iter().any(|member| member.as_map().is_none()) {
        return None;
    }
    let fit = object_fit::fit(view, &place.then(Step::Member), &members)?;
    if fit.keys.is_empty() {
        return None;
    }
    let parsing = find_call(view, call)?;
    let function = view.text(parsing.func.range());
    let module = function.strip_suffix(".loads");
    let line = parsing.arguments.args.first().and_then(name_of)?;
    let iterated = loop_over(view, line)?;
    let helper = |name: &str| {
        let mut out = vec![format!("def {name}(lines):")];
        if module.is_none() {
            out.push("    import json".into());
            out.push(String::new());
        }
        let json = module.unwrap_or("json");
        out.push("    lines = list(lines)".into());
        out.push("    text = \"\".join(lines)".into());
        out.push("    if text.lstrip().startswith(\"[\"):".into());
        out.push(format!("        return [{json}.dumps(record) for record in {json}.loads(text)]"));
        out.push("    return lines".into());
        out
    };
    if opened_as_bytes(view) {
        return None;
    }
    let mut draft = Draft::new(view.subject);
    let comment = "the file is now one JSON array; each member is given as the line that it was";
    let name = draft.helper(&["json_lines", "record_lines"], comment, helper);
    let given = draft.text(iterated);
    draft.replace(iterated, format!("{name}({given})"));
    let evidence = format!("an array of {} objects, each with {}", members.len(), fit.keys.join(", "));
    layer("object_lines", draft.finish(), Tier::A, comment.into(), vec![evidence], Vec::new())
}

/// Whether the document was a list: remembered, or its members are read by key.
fn is_list(view: &View, place: &Place) -> bool {
    match view.remembered(place) {
        Some(ObjectShape::List { .. }) => true,
        Some(_) => false,
        None => view.reads_keys(&place.then(Step::Member)),
    }
}

fn opened_as_bytes(view: &View) -> bool {
    let text = view.text(view.subject.target.range());
    ["\"rb\"", "'rb'", "\"br\"", "'br'", "read_bytes"].iter().any(|mode| text.contains(mode))
}

fn name_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(attribute) if matches!(attribute.attr.as_str(), "strip" | "rstrip" | "lstrip") => {
                name_of(&attribute.value)
            }
            _ => None,
        },
        _ => None,
    }
}

/// The call at a range of the target.
pub(crate) fn find_call<'a>(view: &View<'a>, range: TextRange) -> Option<&'a ExprCall> {
    struct Finder<'a> {
        range: TextRange,
        found: Option<&'a ExprCall>,
    }
    impl<'a> Visitor<'a> for Finder<'a> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Call(call) = expr
                && call.range() == self.range
            {
                self.found = Some(call);
            }
            walk_expr(self, expr);
        }
    }
    let mut finder = Finder { range, found: None };
    for statement in &view.subject.target.body {
        finder.visit_stmt(statement);
    }
    finder.found
}

/// What the loop with this variable goes over.
fn loop_over(view: &View, name: &str) -> Option<TextRange> {
    struct Finder<'n> {
        name: &'n str,
        found: Vec<TextRange>,
    }
    impl<'a> Visitor<'a> for Finder<'_> {
        fn visit_stmt(&mut self, statement: &'a Stmt) {
            if let Stmt::For(each) = statement
                && matches!(&*each.target, Expr::Name(target) if target.id == self.name)
            {
                self.found.push(each.iter.range());
            }
            walk_stmt(self, statement);
        }
        fn visit_comprehension(&mut self, clause: &'a Comprehension) {
            if matches!(&clause.target, Expr::Name(target) if target.id == self.name) {
                self.found.push(clause.iter.range());
            }
            sanare_source::ast::visitor::walk_comprehension(self, clause);
        }
    }
    let mut finder = Finder { name, found: Vec::new() };
    for statement in &view.subject.target.body {
        finder.visit_stmt(statement);
    }
    match finder.found.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::kind::object_cases::{Case, check};

    fn array(new: &'static str) -> Case<'static> {
        Case {
            source: "import json\n\n\ndef load(data):\n    with open(data) as handle:\n        events = json.load(handle)\n    return [e[\"kind\"] for e in events]\n",
            old: r#"[{"kind": "a"}, {"kind": "b"}]"#,
            new,
            error: "json.decoder.JSONDecodeError: Extra data: line 2 column 1 (char 14)",
            at: "json.load",
            file: true,
        }
    }

    fn lines(new: &'static str) -> Case<'static> {
        Case {
            source: "import json\n\n\ndef load(data):\n    with open(data) as handle:\n        return [json.loads(line)[\"kind\"] for line in handle]\n",
            old: "{\"kind\": \"a\"}\n{\"kind\": \"b\"}\n",
            new,
            error: "TypeError: list indices must be integers or slices, not str",
            at: "json.loads",
            file: true,
        }
    }

    #[test]
    fn both_are_read() {
        let parts = ["events = json_records(handle)", "for line in text.split(\"\\n\") if line.strip()"];
        check(&array("{\"kind\": \"c\"}\n{\"kind\": \"d\"}\n"), &parts);
        check(&Case { old: "", ..array("{\"kind\": \"c\"}\n{\"kind\": \"d\"}\n") }, &parts);
        let one = Case {
            error: "TypeError: string indices must be integers, not 'str'",
            at: "e[\"kind\"]",
            ..array("{\"kind\": \"c\"}\n")
        };
        check(&one, &parts);
        check(&lines(r#"[{"kind": "c"}, {"kind": "d"}]"#), &["for line in json_lines(handle)", "json.dumps(record)"]);
    }

    #[test]
    fn a_broken_line_or_another_record_is_refused() {
        check(&array("{\"kind\": \"c\"}\n{\"kind\": "), &["no_proposer: "]);
        check(&array("{\"name\": \"c\"}\n{\"name\": \"d\"}\n"), &["no_proposer: "]);
        check(&lines(r#"[{"name": "c"}]"#), &["no_"]);
    }
}
