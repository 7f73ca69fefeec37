//! When two functions say the same: comments, layout, docstring, names of locals and dead words do not count.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::comparable::ComparableStmt;
use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::transformer::{self, Transformer};
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{ExceptHandler, Expr, Parameter, Pattern, Stmt, StmtFunctionDef, Suite};

use crate::candidate::{flatten, too_deep};
use crate::code::{BindingKind, Code, ScopeKind};
use crate::parse::Source;

/// Do two texts of one function say the same, beyond comments, layout, docstring, annotations of locals, names of locals,
/// and statements without effect? Texts that do not parse are equal only if their bytes are.
pub fn same_code(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    if too_deep(a).is_some() || too_deep(b).is_some() {
        return false;
    }
    let (Ok(a), Ok(b)) = (Source::parse(&flatten(a)), Source::parse(&flatten(b))) else { return false };
    match (only(&a), only(&b)) {
        (Some(a), Some(b)) => same_functions(a, b),
        _ => false,
    }
}

fn only(source: &Source) -> Option<&StmtFunctionDef> {
    match source.body() {
        [Stmt::FunctionDef(function)] => Some(function),
        _ => None,
    }
}

/// [`same_code`] for two functions already parsed; their headers are not compared.
pub(crate) fn same_functions(a: &StmtFunctionDef, b: &StmtFunctionDef) -> bool {
    plain(a) == plain(b)
}

/// A text that is equal for functions that say the same.
fn plain(function: &StmtFunctionDef) -> String {
    let renamed = renaming(function);
    let mut body: Vec<Stmt> = function.body.iter().cloned().collect();
    if matches!(body.first(), Some(Stmt::Expr(node)) if node.value.is_string_literal_expr()) {
        body.remove(0);
    }
    // Taking a log line away can leave a name that nobody reads, so tidying is repeated until nothing changes.
    let body = loop {
        let read = names_read(&body);
        let (before, after) = (body.len(), tidy(body, &read));
        if after.len() == before {
            break after;
        }
        body = after;
    };
    let mut out = String::new();
    for mut stmt in body {
        Renamer(&renamed).visit_stmt(&mut stmt);
        out.push_str(&format!("{:?}\n", ComparableStmt::from(&stmt)));
    }
    out
}

/// The names that a body reads anywhere.
fn names_read(body: &[Stmt]) -> BTreeSet<String> {
    struct Read(BTreeSet<String>);
    impl<'a> Visitor<'a> for Read {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Name(name) = expr
                && !name.ctx.is_store()
            {
                self.0.insert(name.id.to_string());
            }
            visitor::walk_expr(self, expr);
        }
    }
    let mut read = Read(BTreeSet::new());
    for stmt in body {
        if !matches!(stmt, Stmt::Expr(node) if is_idle(&node.value)) {
            read.visit_stmt(stmt);
        }
    }
    read.0
}

/// A name bound to a value that does nothing by itself, or an import, that nobody reads.
fn is_unread(stmt: &Stmt, read: &BTreeSet<String>) -> bool {
    let unread = |name: &str| !read.contains(name);
    match stmt {
        Stmt::Assign(node) => {
            node.targets.iter().all(|target| matches!(target, Expr::Name(name) if unread(name.id.as_str())))
                && is_still(&node.value)
        }
        Stmt::Import(node) => node.names.iter().all(|alias| {
            let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
            unread(name.split('.').next().unwrap_or(name))
        }),
        Stmt::ImportFrom(node) => {
            node.names.iter().all(|alias| unread(alias.asname.as_ref().unwrap_or(&alias.name).as_str()))
        }
        _ => false,
    }
}

/// A value whose making cannot be noticed.
fn is_still(value: &Expr) -> bool {
    match value {
        Expr::Name(_) => true,
        Expr::Tuple(node) => node.elts.iter().all(is_still),
        Expr::List(node) => node.elts.iter().all(is_still),
        Expr::Set(node) => node.elts.iter().all(is_still),
        Expr::Dict(node) => {
            node.items.iter().all(|item| item.key.as_ref().is_none_or(is_still) && is_still(&item.value))
        }
        Expr::UnaryOp(node) => is_still(&node.operand),
        Expr::Lambda(_) => true,
        _ => value.is_literal_expr(),
    }
}

/// Leaves out what has no effect: `pass`, bare constants, logging, annotations, `x = x`, a handler that only re-raises.
fn tidy(body: impl IntoIterator<Item = Stmt>, read: &BTreeSet<String>) -> Vec<Stmt> {
    let mut out = Vec::new();
    for stmt in body {
        match stmt {
            Stmt::Pass(_) => {}
            unread if is_unread(&unread, read) => {}
            Stmt::Expr(node) if is_idle(&node.value) => {}
            Stmt::Assign(node) if is_self_assignment(&node.targets, &node.value) => {}
            Stmt::AnnAssign(node) => {
                if let Some(value) = node.value {
                    out.push(Stmt::Assign(ruff_python_ast::StmtAssign {
                        node_index: node.node_index,
                        range: node.range,
                        targets: vec![*node.target],
                        value,
                    }));
                }
            }
            Stmt::Try(node) if node.finalbody.is_empty() && node.orelse.is_empty() && only_reraises(&node.handlers) => {
                out.extend(tidy(node.body, read));
            }
            Stmt::If(node) if is_true(&node.test) && node.elif_else_clauses.is_empty() => {
                out.extend(tidy(node.body, read))
            }
            other => out.push(tidy_inside(other, read)),
        }
    }
    out
}

fn tidy_inside(mut stmt: Stmt, read: &BTreeSet<String>) -> Stmt {
    let swap = |block: &mut Suite| {
        *block = tidy(std::mem::take(block), read).into_iter().collect();
    };
    match &mut stmt {
        Stmt::For(node) => {
            swap(&mut node.body);
            swap(&mut node.orelse);
        }
        Stmt::While(node) => {
            swap(&mut node.body);
            swap(&mut node.orelse);
        }
        Stmt::If(node) => {
            swap(&mut node.body);
            node.elif_else_clauses.iter_mut().for_each(|clause| swap(&mut clause.body));
            node.elif_else_clauses.retain(|clause| clause.test.is_some() || !clause.body.is_empty());
        }
        Stmt::With(node) => swap(&mut node.body),
        Stmt::Try(node) => {
            swap(&mut node.body);
            for handler in &mut node.handlers {
                let ExceptHandler::ExceptHandler(handler) = handler;
                swap(&mut handler.body);
            }
            swap(&mut node.orelse);
            swap(&mut node.finalbody);
        }
        Stmt::Match(node) => node.cases.iter_mut().for_each(|case| swap(&mut case.body)),
        Stmt::FunctionDef(node) => swap(&mut node.body),
        _ => {}
    }
    stmt
}

fn is_idle(expr: &Expr) -> bool {
    match expr {
        Expr::Name(_) => true,
        Expr::Call(call) => is_report(&call.func),
        _ => expr.is_literal_expr(),
    }
}

/// Logging, printing, warning: seen by people, not by the caller.
pub(crate) fn is_report(func: &Expr) -> bool {
    match func {
        Expr::Name(name) => matches!(name.id.as_str(), "print" | "warn"),
        Expr::Attribute(node) => {
            let level = matches!(
                node.attr.as_str(),
                "debug" | "info" | "warning" | "warn" | "error" | "exception" | "critical" | "log" | "fatal"
            );
            let receiver = match &*node.value {
                Expr::Name(name) => Some(name.id.as_str()),
                Expr::Attribute(inner) => Some(inner.attr.as_str()),
                Expr::Call(call) => match &*call.func {
                    Expr::Attribute(inner) => Some(inner.attr.as_str()),
                    Expr::Name(name) => Some(name.id.as_str()),
                    _ => None,
                },
                _ => None,
            };
            level && receiver.is_some_and(|name| name.to_ascii_lowercase().contains("log") || name == "warnings")
        }
        _ => false,
    }
}

fn is_self_assignment(targets: &[Expr], value: &Expr) -> bool {
    matches!((targets, value), ([Expr::Name(target)], Expr::Name(value)) if target.id == value.id)
}

fn only_reraises(handlers: &[ExceptHandler]) -> bool {
    handlers.iter().all(|handler| {
        let ExceptHandler::ExceptHandler(handler) = handler;
        matches!(handler.body.as_slice(), [Stmt::Raise(node)] if node.exc.is_none())
    })
}

fn is_true(expr: &Expr) -> bool {
    match expr {
        Expr::BooleanLiteral(node) => node.value,
        Expr::NumberLiteral(_) => crate::constant::integer(expr).is_some_and(|number| number != 0),
        _ => false,
    }
}

/// New names for the locals of a function, by the order in which they appear.
fn renaming(function: &StmtFunctionDef) -> BTreeMap<String, Name> {
    let code = Code::of(function);
    let outer: Vec<&str> = code.scopes.iter().flat_map(|scope| scope.globals.iter().copied()).collect();
    let mut locals: Vec<(usize, &str)> = Vec::new();
    for scope in &code.scopes {
        if matches!(scope.kind, ScopeKind::Class) {
            continue;
        }
        for (name, bindings) in &scope.names {
            let own = bindings.iter().all(|binding| {
                let header =
                    matches!(binding.kind, BindingKind::Parameter(..) | BindingKind::Rest) && binding.scope == 0;
                !header && !matches!(binding.kind, BindingKind::Import(_))
            });
            if own && !outer.contains(name) {
                let first = code
                    .exprs
                    .iter()
                    .position(|node| matches!(node.expr, Expr::Name(here) if here.id.as_str() == *name))
                    .unwrap_or(usize::MAX);
                locals.push((first, name));
            }
        }
    }
    locals.sort_unstable();
    locals.dedup();
    locals.iter().enumerate().map(|(at, (_, name))| ((*name).to_owned(), Name::new(format!("local {at}")))).collect()
}

struct Renamer<'r>(&'r BTreeMap<String, Name>);

impl Renamer<'_> {
    fn rename(&self, name: &mut Name) {
        if let Some(new) = self.0.get(name.as_str()) {
            *name = new.clone();
        }
    }
}

impl Transformer for Renamer<'_> {
    fn visit_stmt(&self, stmt: &mut Stmt) {
        if let Stmt::FunctionDef(node) = stmt {
            self.rename(&mut node.name.id);
        }
        transformer::walk_stmt(self, stmt);
    }

    fn visit_expr(&self, expr: &mut Expr) {
        if let Expr::Name(node) = expr {
            self.rename(&mut node.id);
        }
        transformer::walk_expr(self, expr);
    }

    fn visit_parameter(&self, parameter: &mut Parameter) {
        self.rename(&mut parameter.name.id);
        transformer::walk_parameter(self, parameter);
    }

    fn visit_except_handler(&self, handler: &mut ExceptHandler) {
        let ExceptHandler::ExceptHandler(node) = handler;
        if let Some(name) = &mut node.name {
            self.rename(&mut name.id);
        }
        transformer::walk_except_handler(self, handler);
    }

    fn visit_pattern(&self, pattern: &mut Pattern) {
        let name = match pattern {
            Pattern::MatchAs(node) => node.name.as_mut(),
            Pattern::MatchStar(node) => node.name.as_mut(),
            Pattern::MatchMapping(node) => node.rest.as_mut(),
            _ => None,
        };
        if let Some(name) = name {
            self.rename(&mut name.id);
        }
        transformer::walk_pattern(self, pattern);
    }
}

#[cfg(test)]
mod tests {
    use super::same_code;

    fn check(a: &str, b: &str, same: bool) {
        let wrap = |body: &str| format!("def f(x, y=1):\n    \"\"\"Doc.\"\"\"\n    {}\n", body.replace('\n', "\n    "));
        assert_eq!(same_code(&wrap(a), &wrap(b)), same, "{a:?} {b:?}");
    }

    #[test]
    fn what_counts_and_what_does_not() {
        for (a, b) in [
            ("return x", "# c\nreturn  (x)"),
            ("return 'a'", "return \"a\""),
            ("z = x\nreturn z", "total = x\nreturn total"),
            ("return x", "pass\nlog.info('x')\nreturn x"),
            ("z = 1\nreturn z", "z: int = 1\nreturn z"),
            ("return [a for a in x]", "return [b for b in x]"),
            ("return x", "try:\n    return x\nexcept KeyError:\n    raise"),
            ("return x", "if True:\n    return x"),
        ] {
            check(a, b, true);
        }
        for (a, b) in [
            ("return x", "return y"),
            ("return x['a']", "return x['b']"),
            ("z = x\nreturn z", "z = y\nreturn z"),
            ("a = x\nb = y\nreturn a", "a = x\nb = y\nreturn b"),
            ("return x", "x.clear()\nreturn x"),
            ("import json\nreturn json", "import csv\nreturn csv"),
            ("return x + 1", "return x + 2"),
        ] {
            check(a, b, false);
        }
    }

    #[test]
    fn texts_that_do_not_parse_are_equal_byte_for_byte_only() {
        assert!(same_code("def (", "def ("));
        assert!(!same_code("def (", "def ( "));
    }
}
