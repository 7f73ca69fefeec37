//! A name that stays unbound when a loop finds nothing.
//!
//! What it does: binds it to `None` before the loop.
//! Why: the docstring or the return annotation says that `None` results when there is none.
//! Unsafe when: nothing says what results; then it refuses.

use sanare_core::outcome::Reason;
use sanare_source::ast::visitor::{Visitor, walk_stmt};
use sanare_source::ast::{Expr, Stmt};
use sanare_source::size::{Ranged, TextRange};

use crate::code::object_view::{Scene, effective};
use crate::code::object_write::{Draft, has_word};
use crate::kind::Subject;
use crate::problem::{Answer, Refusal, Tier};

use super::object::layer;

pub(crate) fn answer(subject: &Subject) -> Option<Answer> {
    let scene = Scene::of(subject);
    let failure = effective(scene);
    if !failure.class.ends_with("UnboundLocalError") {
        return None;
    }
    let name = failure.message.split('\'').nth(1)?;
    let line = failure.frames.iter().rev().map(|frame| frame.line).find(|line| *line > 0)?;
    let range = scene.target.range();
    let inside =
        (scene.source.line(range.start().to_usize())..=scene.source.line(range.end().to_usize())).contains(&line);
    let mut finder = Loops { name, loops: Vec::new(), bound_in: Vec::new(), bound_elsewhere: false };
    for statement in &scene.target.body {
        finder.visit_stmt(statement);
    }
    let [around] = finder.bound_in.as_slice() else { return None };
    if !inside || finder.bound_elsewhere {
        return None;
    }
    if !says_none(scene, name) {
        return Some(Answer::Refused(Refusal {
            reason: Reason::NoIdentity,
            summary: format!("`{name}` stays unbound when the loop finds nothing, and nothing says what results then"),
            fields: Vec::new(),
            hint: "say in the docstring or the return annotation what results".into(),
        }));
    }
    let mut draft = Draft::new(scene);
    draft.before(*around, &[format!("# {name} stays None when the loop finds none"), format!("{name} = None")]);
    let summary = format!("{name} is None when the loop finds none");
    layer(
        "bug_unbound",
        draft.finish(),
        Tier::B,
        summary,
        vec!["the docstring or annotation says None".into()],
        Vec::new(),
    )
}

/// Whether docstring or annotation says `None`, and of this name where it speaks of several results.
fn says_none(scene: Scene, name: &str) -> bool {
    let docstring = match scene.target.body.first() {
        Some(Stmt::Expr(expr)) => expr.value.as_string_literal_expr().map(|text| text.value.to_str().to_lowercase()),
        _ => None,
    };
    if let Some(text) = docstring.filter(|text| has_word(text, "none")) {
        let words: Vec<&str> = name.split('_').filter(|word| word.len() > 2).collect();
        return has_word(&text, name) || words.iter().any(|word| text.contains(word)) || returned_alone(scene, name);
    }
    let annotated = scene.target.returns.as_deref().is_some_and(|returns| {
        let text = scene.source.slice(returns.range());
        text.contains("None") || text.contains("Optional")
    });
    annotated && returned_alone(scene, name)
}

/// Whether the function returns just this name.
fn returned_alone(scene: Scene, name: &str) -> bool {
    scene.target.body.iter().any(|statement| matches!(statement, Stmt::Return(back) if matches!(back.value.as_deref(), Some(Expr::Name(value)) if value.id == name)))
}

struct Loops<'n> {
    name: &'n str,
    loops: Vec<TextRange>,
    bound_in: Vec<TextRange>,
    bound_elsewhere: bool,
}

impl<'a> Visitor<'a> for Loops<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let is_loop = matches!(statement, Stmt::For(_) | Stmt::While(_));
        if is_loop {
            self.loops.push(statement.range());
        }
        let targets: Vec<&Expr> = match statement {
            Stmt::Assign(assign) => assign.targets.iter().collect(),
            Stmt::AnnAssign(assign) => vec![&assign.target],
            _ => Vec::new(),
        };
        if targets.iter().any(|target| matches!(target, Expr::Name(target) if target.id == self.name)) {
            match self.loops.first() {
                Some(around) if !self.bound_in.contains(around) => self.bound_in.push(*around),
                Some(_) => {}
                None => self.bound_elsewhere = true,
            }
        }
        if !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            walk_stmt(self, statement);
        }
        if is_loop {
            self.loops.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::kind::object_cases::{Case, check};

    fn last(source: &'static str) -> Case<'static> {
        Case {
            source,
            old: r#"[{"open": true, "size": 4}]"#,
            new: r#"[{"open": false, "size": 4}]"#,
            error: "UnboundLocalError: cannot access local variable 'largest' where it is not associated with a value",
            at: "return",
            file: false,
        }
    }

    #[test]
    fn the_docstring_or_the_annotation_says_none() {
        let body = "    for item in data:\n        if item[\"open\"]:\n            largest = item[\"size\"]\n    return largest\n";
        let parts = ["    largest = None\n    for item in data:"];
        let doc = format!("def load(data):\n    \"\"\"Largest open item, None if nothing is open.\"\"\"\n{body}");
        check(&last(Box::leak(doc.into_boxed_str())), &parts);
        let annotated = format!("def load(data) -> int | None:\n{body}");
        check(&last(Box::leak(annotated.into_boxed_str())), &parts);
        let optional = format!("from typing import Optional\n\n\ndef load(data) -> Optional[int]:\n{body}");
        check(&last(Box::leak(optional.into_boxed_str())), &parts);
        check(&last(Box::leak(format!("def load(data):\n{body}").into_boxed_str())), &["no_identity: "]);
        let other = format!("def load(data):\n    \"\"\"Largest open item, 0 if nothing is open.\"\"\"\n{body}");
        check(&last(Box::leak(other.into_boxed_str())), &["no_identity: "]);
    }
}
