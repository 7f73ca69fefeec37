//! A division by the number of things where there are none.
//!
//! What it does: gives `None` in place of the quotient.
//! Why: the docstring or the return annotation says that `None` results when there is none.
//! Unsafe when: nothing says what results; then it refuses.

use sanare_core::outcome::Reason;
use sanare_source::ast::visitor::{Visitor, walk_expr};
use sanare_source::ast::{Expr, ExprBinOp, Operator, Stmt};
use sanare_source::size::Ranged;

use crate::code::object_view::{Scene, effective};
use crate::code::object_write::{Draft, has_word};
use crate::kind::Subject;
use crate::problem::{Answer, Refusal, Tier};

use super::object::layer;

pub(crate) fn answer(subject: &Subject) -> Option<Answer> {
    let scene = Scene::of(subject);
    let failure = effective(scene);
    if !failure.class.ends_with("ZeroDivisionError") {
        return None;
    }
    let line = failure.frames.iter().rev().map(|frame| frame.line).find(|line| *line > 0)?;
    let mut finder = Divisions { scene, line, found: Vec::new() };
    for statement in &scene.target.body {
        finder.visit_stmt(statement);
    }
    let [division] = finder.found.as_slice() else { return None };
    let text = scene.source.slice(*division);
    let divisor = scene.source.slice(&*division.right);
    let whole = whole_result(scene, division);
    if !simple(&division.right) || !(whole && says_none(scene)) {
        return Some(Answer::Refused(Refusal {
            reason: Reason::NoIdentity,
            summary: format!("`{divisor}` is zero, and nothing says what results then"),
            fields: Vec::new(),
            hint: "say in the docstring or the return annotation what results".into(),
        }));
    }
    let mut draft = Draft::new(scene);
    draft.replace(division.range(), format!("{text} if {divisor} else None"));
    draft.note(division.range(), "there is no quotient when there is nothing to divide by");
    let evidence = vec!["the docstring or annotation says None".to_owned()];
    layer("bug_zero", draft.finish(), Tier::B, format!("None results when `{divisor}` is zero"), evidence, Vec::new())
}

/// Whether the quotient is all that the function returns.
fn whole_result(scene: Scene, division: &ExprBinOp) -> bool {
    scene.target.body.iter().any(|statement| matches!(statement, Stmt::Return(back) if back.value.as_ref().is_some_and(|value| value.range() == division.range())))
}

fn says_none(scene: Scene) -> bool {
    let docstring = match scene.target.body.first() {
        Some(Stmt::Expr(expr)) => expr.value.as_string_literal_expr().map(|text| text.value.to_str().to_owned()),
        _ => None,
    };
    let annotation = scene.target.returns.as_deref().map(|returns| scene.source.slice(returns.range()));
    docstring.is_some_and(|text| has_word(&text, "None"))
        || annotation.is_some_and(|text| text.contains("None") || text.contains("Optional"))
}

/// Names, their attributes and the length of a name may be asked twice.
fn simple(expr: &Expr) -> bool {
    match expr {
        Expr::Name(_) => true,
        Expr::Attribute(attribute) => simple(&attribute.value),
        Expr::Call(call) => {
            matches!(&*call.func, Expr::Name(name) if name.id == "len") && call.arguments.args.iter().all(simple)
        }
        _ => false,
    }
}

struct Divisions<'a> {
    scene: Scene<'a>,
    line: usize,
    found: Vec<&'a ExprBinOp>,
}

impl<'a> Visitor<'a> for Divisions<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::BinOp(operation) = expr
            && matches!(operation.op, Operator::Div | Operator::FloorDiv)
        {
            let line = |offset: usize| self.scene.source.line(offset);
            let range = operation.range();
            if (line(range.start().to_usize())..=line(range.end().to_usize())).contains(&self.line) {
                self.found.push(operation);
            }
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use crate::kind::object_cases::{Case, check};

    fn mean(source: &'static str) -> Case<'static> {
        Case {
            source,
            old: "[1, 2]",
            new: "[]",
            error: "ZeroDivisionError: division by zero",
            at: "return",
            file: false,
        }
    }

    #[test]
    fn only_where_none_is_said() {
        let parts = ["return sum(data) / len(data) if len(data) else None"];
        check(
            &mean("def load(data):\n    \"\"\"Mean, None without values.\"\"\"\n    return sum(data) / len(data)\n"),
            &parts,
        );
        check(&mean("def load(data) -> float | None:\n    return sum(data) / len(data)\n"), &parts);
        check(
            &mean(
                "from typing import Optional\n\n\ndef load(data) -> Optional[float]:\n    return sum(data) / len(data)\n",
            ),
            &parts,
        );
        check(&mean("def load(data):\n    return sum(data) / len(data)\n"), &["no_identity: "]);
        check(
            &mean("def load(data):\n    \"\"\"None at all.\"\"\"\n    return {\"mean\": sum(data) / len(data)}\n"),
            &["no_identity: "],
        );
    }
}
