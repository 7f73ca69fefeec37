//! A changed copy of the module's own functions inside the target, where the one that failed may not be changed itself.

use std::collections::BTreeSet;

use sanare_source::ast::visitor::{Visitor, walk_expr, walk_stmt};
use sanare_source::ast::{Expr, ExprContext, Stmt, StmtFunctionDef};
use sanare_source::edit::{self, Edit};
use sanare_source::size::Ranged;

use crate::code::object_view::Scene;

/// Most lines that are copied.
const LINES: usize = 48;

/// The lines of the copies, four blanks a level, to stand at the top of the target; `None` where a copy would not be the
/// same function.
pub(crate) fn lines(scene: Scene, chain: &[&StmtFunctionDef], edits: &[Edit], reason: &str) -> Option<Vec<String>> {
    let bound = bound_names(&scene.target.body);
    let mut out = Vec::new();
    for function in chain {
        if !function.decorator_list.is_empty()
            || bound.contains(function.name.as_str())
            || is_parameter(scene.target, function.name.as_str())
        {
            return None;
        }
        if reads(function).iter().any(|name| bound.contains(name) || is_parameter(scene.target, name)) {
            return None;
        }
        out.extend(one(scene, function, edits, reason)?);
        out.push(String::new());
    }
    (out.len() <= LINES).then_some(out)
}

fn one(scene: Scene, function: &StmtFunctionDef, edits: &[Edit], reason: &str) -> Option<Vec<String>> {
    let range = function.range();
    let (start, end) = (range.start().to_usize(), range.end().to_usize());
    let inside: Vec<Edit> = edits
        .iter()
        .filter(|edit| start <= edit.start && edit.end <= end)
        .map(|edit| Edit { start: edit.start - start, end: edit.end - start, text: edit.text.clone() })
        .collect();
    let text = edit::apply(scene.source.slice(function), &inside)?;
    if text.contains("\"\"\"\n") && text.matches("\"\"\"").count() % 2 == 1 {
        return None;
    }
    let body = edit::indentation(scene.source.text(), function.body.first()?.range().start().to_usize());
    let unit = if body.is_empty() { "    " } else { body };
    let mut out = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let trimmed = line.trim_start_matches([' ', '\t']);
        let width = line.len() - trimmed.len();
        let levels = width / unit.len().max(1);
        let rest = width % unit.len().max(1);
        let text = if trimmed.is_empty() {
            String::new()
        } else {
            format!("{}{}{trimmed}", "    ".repeat(levels), " ".repeat(rest))
        };
        out.push(text);
        if at == 0 && inside.is_empty() {
            out.push(format!("    # {} calls the changed copy below", function.name));
        } else if at == 0 {
            out.push(format!("    # the module's {} with one change: {reason}", function.name));
        }
    }
    Some(out)
}

fn is_parameter(target: &StmtFunctionDef, name: &str) -> bool {
    target.parameters.iter().any(|parameter| parameter.name().as_str() == name)
}

struct Names<'a> {
    bound: BTreeSet<&'a str>,
    read: BTreeSet<&'a str>,
}

impl<'a> Visitor<'a> for Names<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => {
                self.bound.insert(function.name.as_str());
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                    self.bound.insert(name.split('.').next().unwrap_or(name));
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    self.bound.insert(alias.asname.as_ref().unwrap_or(&alias.name).as_str());
                }
            }
            _ => {}
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr {
            match name.ctx {
                ExprContext::Load => self.read.insert(name.id.as_str()),
                _ => self.bound.insert(name.id.as_str()),
            };
        }
        walk_expr(self, expr);
    }
}

fn bound_names(body: &[Stmt]) -> BTreeSet<&str> {
    let mut names = Names { bound: BTreeSet::new(), read: BTreeSet::new() };
    for statement in body {
        names.visit_stmt(statement);
    }
    names.bound
}

/// Names that a function takes from outside.
fn reads(function: &StmtFunctionDef) -> Vec<&str> {
    let mut names = Names { bound: BTreeSet::new(), read: BTreeSet::new() };
    for statement in &function.body {
        names.visit_stmt(statement);
    }
    let own: Vec<&str> = function.parameters.iter().map(|parameter| parameter.name().as_str()).collect();
    names.read.into_iter().filter(|name| !names.bound.contains(name) && !own.contains(name)).collect()
}
