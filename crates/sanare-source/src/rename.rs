//! Replacing one imported package by another in a file: its import statements, and every use of what they bind.

use std::collections::BTreeMap;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Decorator, Expr, ExprCall, Stmt};
use ruff_text_size::Ranged;

use crate::edit::{Edit, apply};
use crate::parse::{Broken, Source};

/// What is replaced by what.
#[derive(Debug)]
pub struct Renaming<'a> {
    /// The package that goes.
    pub old: &'a str,
    /// The package that comes.
    pub new: &'a str,
    /// Old and new names of its members.
    pub members: &'a [(&'a str, &'a str)],
    /// The new keyword argument of a decorator for an old one: name and value as they are written.
    pub option: fn(&str, &str) -> Result<String, String>,
}

/// The file with the package replaced; `None` when it does not use it. With it, what has no counterpart, by line.
///
/// # Errors
/// [`Broken`] when the text is not Python.
pub fn rename(text: &str, renaming: &Renaming<'_>) -> Result<Option<(String, Vec<(usize, String)>)>, Broken> {
    let source = Source::parse(text)?;
    let mut finder = Finder { source: &source, renaming, bound: BTreeMap::new(), edits: Vec::new(), left: Vec::new() };
    finder.imports(source.body());
    if finder.bound.is_empty() {
        return Ok(None);
    }
    for statement in source.body() {
        finder.visit_stmt(statement);
    }
    let Finder { edits, left, .. } = finder;
    Ok(apply(text, &edits).map(|renamed| (renamed, left)))
}

/// What a local name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound<'a> {
    Package,
    Member(&'a str),
}

struct Finder<'a> {
    source: &'a Source,
    renaming: &'a Renaming<'a>,
    bound: BTreeMap<&'a str, Bound<'a>>,
    edits: Vec<Edit>,
    left: Vec<(usize, String)>,
}

impl<'a> Finder<'a> {
    fn imports(&mut self, body: &'a [Stmt]) {
        let mut done = false;
        for statement in body {
            let found = match statement {
                Stmt::Import(import) => match import.names.as_slice() {
                    [only] if only.name.as_str() == self.renaming.old => {
                        let local = only.asname.as_ref().map_or(self.renaming.old, |name| name.as_str());
                        self.bound.insert(local, Bound::Package);
                        true
                    }
                    _ => false,
                },
                Stmt::ImportFrom(import) if import.module.as_deref() == Some(self.renaming.old) => {
                    for name in &import.names {
                        let local = name.asname.as_ref().unwrap_or(&name.name);
                        self.bound.insert(local.as_str(), Bound::Member(name.name.as_str()));
                    }
                    true
                }
                _ => false,
            };
            if found && done {
                // One import is enough; its line stays as a blank one.
                self.edits.push(Edit::replace(statement.range(), String::new()));
            } else if found {
                self.edits.push(Edit::replace(statement.range(), format!("import {}", self.renaming.new)));
                done = true;
            }
        }
    }

    /// The member that an expression names.
    fn member(&self, expr: &Expr) -> Option<&'a str> {
        match expr {
            Expr::Name(name) => match self.bound.get(name.id.as_str()) {
                Some(Bound::Member(member)) => Some(member),
                _ => None,
            },
            Expr::Attribute(attribute) => {
                let package = attribute.value.as_name_expr()?;
                let is_package = self.bound.get(package.id.as_str()) == Some(&Bound::Package);
                let known = self.renaming.members.iter().map(|(old, _)| *old);
                is_package.then(|| known.into_iter().find(|old| *old == attribute.attr.as_str())).flatten()
            }
            _ => None,
        }
    }

    fn replace(&mut self, expr: &Expr, member: &str) {
        let line = self.source.line(expr.start().to_usize());
        match self.renaming.members.iter().find(|(old, _)| *old == member) {
            Some((_, new)) => {
                self.edits.push(Edit::replace(expr.range(), format!("{}.{new}", self.renaming.new)));
            }
            None => self.left.push((line, format!("`{member}` has no counterpart"))),
        }
    }

    fn options(&mut self, call: &ExprCall) {
        let line = self.source.line(call.start().to_usize());
        let mut kept = Vec::new();
        for argument in &call.arguments.args {
            kept.push(self.source.slice(argument).to_owned());
        }
        for keyword in &call.arguments.keywords {
            let name = keyword.arg.as_ref().map_or("**", |name| name.as_str());
            match (self.renaming.option)(name, self.source.slice(&keyword.value)) {
                Ok(option) => kept.push(option),
                Err(why) => self.left.push((line, format!("`{name}`: {why}"))),
            }
        }
        self.edits.push(Edit::replace(call.arguments.range(), format!("({})", kept.join(", "))));
    }
}

impl<'a> Visitor<'a> for Finder<'a> {
    fn visit_decorator(&mut self, decorator: &'a Decorator) {
        if let Expr::Call(call) = &decorator.expression
            && let Some(member) = self.member(&call.func)
        {
            self.replace(&call.func, member);
            self.options(call);
            return;
        }
        visitor::walk_decorator(self, decorator);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match self.member(expr) {
            Some(member) => self.replace(expr, member),
            None => visitor::walk_expr(self, expr),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Renaming, rename};

    fn check(text: &str, expected: Option<&str>) {
        let renaming = Renaming {
            old: "mender",
            new: "sanare",
            members: &[("mender", "heal"), ("ask", "request")],
            option: |name, value| match name {
                "TRIES" => Ok(format!("attempts={value}")),
                _ => Err("gone".to_owned()),
            },
        };
        let found = rename(text, &renaming).unwrap().map(|(text, _)| text);
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn imports_decorators_and_calls_are_replaced() {
        check("x = 1\n", None);
        check(
            "from mender import mender, ask as beg\n@mender\ndef f():\n    beg('x')\n@mender(TRIES=2, OLD=1)\ndef g(): ...\n",
            Some(
                "import sanare\n@sanare.heal\ndef f():\n    sanare.request('x')\n@sanare.heal(attempts=2)\ndef g(): ...\n",
            ),
        );
        check("import mender as m\n@m.mender\ndef f(): ...\n", Some("import sanare\n@sanare.heal\ndef f(): ...\n"));
    }
}
