//! Where control goes after a statement: what a handler leads to, and whether a block can be left at its end.

use std::collections::BTreeSet;

use ruff_python_ast::{Expr, Stmt, StmtTry};

use crate::code::{BindingKind, ScopeKind, blocks, collect_elements};
use crate::constant;
use crate::lens::{Lens, Referent};
use crate::same::is_report;

/// What comes after a place: the rest of each block around it, and the loops around it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow<'a> {
    rest: Vec<&'a [Stmt]>,
    loops: Vec<(&'a Stmt, Vec<&'a [Stmt]>)>,
}

/// Calls `visit` for every `try`, functions inside included, with what comes after it.
pub(crate) fn walk_tries<'a>(body: &'a [Stmt], visit: &mut dyn FnMut(&'a StmtTry, &Flow<'a>)) {
    walk(body, &Flow::default(), visit);
}

fn walk<'a>(body: &'a [Stmt], flow: &Flow<'a>, visit: &mut dyn FnMut(&'a StmtTry, &Flow<'a>)) {
    for (at, stmt) in body.iter().enumerate() {
        let mut after = flow.clone();
        after.rest.push(body.get(at + 1..).unwrap_or_default());
        match stmt {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => after = Flow::default(),
            Stmt::For(_) | Stmt::While(_) => {
                let rest = std::mem::take(&mut after.rest);
                after.loops.push((stmt, rest));
            }
            Stmt::Try(attempt) => visit(attempt, &after),
            _ => {}
        }
        blocks(stmt).into_iter().for_each(|block| walk(block, &after, visit));
    }
}

impl<'a> Flow<'a> {
    /// Do the statements that come next raise or do the work, with nothing between?
    pub fn rest_covers(&self, lens: &Lens<'_>, exception: Option<&str>) -> bool {
        self.rest_covers_from(lens, exception, self.rest.len())
    }

    fn rest_covers_from(&self, lens: &Lens<'_>, exception: Option<&str>, level: usize) -> bool {
        match level.checked_sub(1).and_then(|level| self.rest.get(level)) {
            Some(block) => covers(lens, block, exception, self, &|| self.rest_covers_from(lens, exception, level - 1)),
            None => self.next_round_covers(lens, exception),
        }
    }

    /// Does a later statement ask about one of these names, and raise or do the work if it has no value?
    pub fn rest_asks(&self, lens: &Lens<'_>, names: &BTreeSet<&str>) -> bool {
        let after = self.rest.iter().rev().chain(self.loops.iter().rev().flat_map(|(_, rest)| rest.iter().rev()));
        let mut todo: Vec<&Stmt> = after.flat_map(|block| block.iter()).collect();
        if let Some((Stmt::For(node), _)) = self.loops.last() {
            todo.extend(&node.orelse);
        }
        todo.into_iter().any(|stmt| match stmt {
            Stmt::If(node) => is_absence_test(&node.test, names) && covers(lens, &node.body, None, self, &|| false),
            _ => false,
        })
    }

    /// What happens when a loop goes on: over a written list, its end counts; over data, the error is gone.
    fn next_round_covers(&self, lens: &Lens<'_>, exception: Option<&str>) -> bool {
        let Some((Stmt::For(node), after)) = self.loops.last() else { return false };
        if !is_written_list(lens, &node.iter) {
            return false;
        }
        let outer = Flow { rest: after.clone(), loops: self.loops[..self.loops.len() - 1].to_vec() };
        let end = || outer.rest_covers(lens, exception) || outer.rest_asks(lens, &target_names(&node.body));
        covers(lens, &node.orelse, exception, &outer, &end)
    }
}

fn target_names(body: &[Stmt]) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut todo: Vec<&Stmt> = body.iter().collect();
    while let Some(stmt) = todo.pop() {
        if let Stmt::Assign(node) = stmt {
            found.extend(node.targets.iter().filter_map(|target| target.as_name_expr().map(|name| name.id.as_str())));
        }
        todo.extend(blocks(stmt).into_iter().flatten());
    }
    found
}

/// `x is None`, `not x`, `x == ""` for one of the names.
fn is_absence_test(test: &Expr, names: &BTreeSet<&str>) -> bool {
    let is_one = |expr: &Expr| matches!(expr, Expr::Name(name) if names.contains(name.id.as_str()));
    match test {
        Expr::UnaryOp(node) => node.op == ruff_python_ast::UnaryOp::Not && is_one(&node.operand),
        Expr::Compare(node) => is_one(&node.left) && node.comparators.iter().all(|other| !is_one(other)),
        Expr::BoolOp(node) => node.values.iter().any(|value| is_absence_test(value, names)),
        _ => false,
    }
}

/// A list of things to try, written in the code: not the data.
pub(crate) fn is_written_list(lens: &Lens<'_>, iter: &Expr) -> bool {
    if collect_elements(iter).is_some() || iter.is_set_expr() || !constant::listed(lens, iter).is_empty() {
        return true;
    }
    match iter {
        Expr::Name(name) => {
            let scope = lens.code.scope_of(iter);
            let Referent::Local(holder, bindings) = lens.referent(name.id.as_str(), Some(scope)) else { return false };
            let helper = holder != 0 && matches!(lens.code.scopes[holder].kind, ScopeKind::Function);
            bindings.iter().all(|binding| match &binding.kind {
                BindingKind::Rest => helper,
                BindingKind::Parameter(position, default) => {
                    let calls = if helper { constant::calls_of_scope(lens, holder) } else { Vec::new() };
                    let given: Vec<&Expr> = calls
                        .iter()
                        .filter_map(|call| call.arguments.find_argument_value(name.id.as_str(), *position))
                        .collect();
                    let all: Vec<&Expr> = given.into_iter().chain(*default).collect();
                    !all.is_empty() && all.into_iter().all(|value| is_written_list(lens, value))
                }
                BindingKind::Value(value) => is_written_list(lens, value),
                _ => false,
            })
        }
        Expr::Call(call) => match (&*call.func, call.arguments.args.first()) {
            (Expr::Name(name), Some(first)) => match name.id.as_str() {
                "enumerate" | "reversed" | "sorted" | "list" | "tuple" | "zip" => is_written_list(lens, first),
                "range" => call.arguments.args.iter().all(|n| constant::integer(n).is_some_and(|n| n <= 16)),
                _ => false,
            },
            (Expr::Attribute(node), None) => {
                matches!(node.attr.as_str(), "items" | "keys" | "values") && is_written_list(lens, &node.value)
            }
            _ => false,
        },
        Expr::Dict(_) => true,
        Expr::Subscript(node) => constant::is_constant(lens, &node.value),
        _ => false,
    }
}

/// Does a block raise, or do the work in another way, on every path? `end` answers for its end.
pub(crate) fn covers(
    lens: &Lens<'_>,
    body: &[Stmt],
    exception: Option<&str>,
    flow: &Flow<'_>,
    end: &dyn Fn() -> bool,
) -> bool {
    let Some((stmt, rest)) = body.split_first() else { return end() };
    let then = || covers(lens, rest, exception, flow, end);
    let inside = |block: &[Stmt]| covers(lens, block, exception, flow, &then);
    match stmt {
        Stmt::Raise(_) => true,
        Stmt::Assert(node) => matches!(&*node.test, Expr::BooleanLiteral(value) if !value.value) || then(),
        Stmt::Return(node) => node.value.as_deref().is_some_and(|value| is_work(lens, value, exception)),
        Stmt::Continue(_) => flow.next_round_covers(lens, exception),
        Stmt::Break(_) => false,
        Stmt::If(node) => {
            let has_else = node.elif_else_clauses.last().is_some_and(|clause| clause.test.is_none());
            inside(&node.body)
                && node.elif_else_clauses.iter().all(|clause| inside(&clause.body))
                && (has_else || then())
        }
        Stmt::With(node) => inside(&node.body),
        Stmt::Try(node) => inside(&node.body),
        Stmt::For(node) => holds_work(lens, &node.body, exception) || then(),
        Stmt::While(node) => holds_work(lens, &node.body, exception) || then(),
        Stmt::Match(node) => {
            let total = node.cases.iter().any(|case| case.pattern.is_irrefutable() && case.guard.is_none());
            node.cases.iter().all(|case| inside(&case.body)) && (total || then())
        }
        Stmt::Assign(node) => {
            node.targets.iter().any(|target| assigns_work(lens, target, &node.value, exception)) || then()
        }
        Stmt::AnnAssign(node) => {
            node.value.as_deref().is_some_and(|value| assigns_work(lens, &node.target, value, exception)) || then()
        }
        Stmt::AugAssign(node) => asked_later(lens, &node.target) || is_work(lens, &node.value, exception) || then(),
        Stmt::Expr(node) => states_work(lens, &node.value, exception) || then(),
        _ => then(),
    }
}

fn holds_work(lens: &Lens<'_>, body: &[Stmt], exception: Option<&str>) -> bool {
    body.iter().any(|stmt| {
        let here = match stmt {
            Stmt::Assign(node) => is_work(lens, &node.value, exception),
            Stmt::Return(node) => node.value.as_deref().is_some_and(|value| is_work(lens, value, exception)),
            Stmt::Expr(node) => states_work(lens, &node.value, exception),
            _ => false,
        };
        here || blocks(stmt).into_iter().any(|block| holds_work(lens, block, exception))
    })
}

fn states_work(lens: &Lens<'_>, value: &Expr, exception: Option<&str>) -> bool {
    match value {
        Expr::Yield(node) => node.value.as_deref().is_some_and(|value| is_work(lens, value, exception)),
        Expr::YieldFrom(node) => is_work(lens, &node.value, exception),
        Expr::Await(node) => is_work(lens, &node.value, exception),
        Expr::Call(call) if !is_report(&call.func) => {
            let Expr::Attribute(method) = &*call.func else { return false };
            let gathers = constant::CHANGING.contains(&method.attr.as_str());
            gathers
                && (asked_later(lens, &method.value)
                    || (is_result(lens, &method.value)
                        && call.arguments.args.iter().any(|argument| is_work(lens, argument, exception))))
        }
        _ => false,
    }
}

/// Is this name what the function returns?
fn is_result(lens: &Lens<'_>, expr: &Expr) -> bool {
    let Expr::Name(name) = expr else { return false };
    lens.code.stmts.iter().any(|node| match node.stmt {
        Stmt::Return(ret) => ret.value.as_deref().is_some_and(|value| mentions(value, name.id.as_str())),
        _ => false,
    })
}

/// Does a later test of this name lead to a `raise`? Then the error is kept for it.
fn asked_later(lens: &Lens<'_>, expr: &Expr) -> bool {
    let Expr::Name(name) = expr else { return false };
    lens.code.stmts.iter().any(|node| match node.stmt {
        Stmt::If(branch) => {
            let clauses = branch.elif_else_clauses.iter();
            mentions(&branch.test, name.id.as_str())
                && (holds_raise(&branch.body) || clauses.into_iter().any(|clause| holds_raise(&clause.body)))
        }
        Stmt::Assert(node) => mentions(&node.test, name.id.as_str()),
        _ => false,
    })
}

/// Is there a `raise` in these statements, functions inside not counted?
pub(crate) fn holds_raise(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Raise(_) => true,
        Stmt::FunctionDef(_) | Stmt::ClassDef(_) => false,
        _ => blocks(stmt).into_iter().any(holds_raise),
    })
}

fn assigns_work(lens: &Lens<'_>, target: &Expr, value: &Expr, exception: Option<&str>) -> bool {
    if let (Some(targets), Some(values)) = (collect_elements(target), collect_elements(value)) {
        return targets.iter().zip(values).any(|(target, value)| assigns_work(lens, target, value, exception));
    }
    is_work(lens, value, exception)
        || asked_later(lens, target)
        || (is_written_text(value) && is_used_to_read(lens, target))
}

fn is_written_text(value: &Expr) -> bool {
    matches!(value, Expr::StringLiteral(node) if !node.value.is_empty())
}

/// Functions that take a format, an encoding, a separator or a name to read by.
const READING: &[&str] = &[
    "open",
    "decode",
    "encode",
    "strptime",
    "split",
    "rsplit",
    "partition",
    "rpartition",
    "reader",
    "DictReader",
    "read_csv",
    "read_table",
    "read_excel",
    "read_json",
    "read_fwf",
    "TextIOWrapper",
    "read_text",
    "get",
    "getattr",
    "find",
    "findall",
    "iter",
    "iterfind",
    "findtext",
    "search",
    "match",
    "fullmatch",
    "compile",
    "replace",
    "strip",
    "count",
    "sub",
    "index",
    "column",
    "Sniffer",
    "sniff",
    "bytes",
    "str",
];

/// Is a name, once set, what something is read by: a key, an encoding, a format?
fn is_used_to_read(lens: &Lens<'_>, target: &Expr) -> bool {
    let Expr::Name(target) = target else { return false };
    lens.code.exprs.iter().enumerate().any(|(at, node)| {
        let Expr::Name(name) = node.expr else { return false };
        if name.id != target.id || !name.ctx.is_load() {
            return false;
        }
        let Some(parent) = lens.code.parent(at) else { return false };
        match parent.expr {
            Expr::Subscript(subscript) => std::ptr::eq(&raw const *subscript.slice, std::ptr::from_ref(node.expr)),
            Expr::Call(call) => {
                let called = match &*call.func {
                    Expr::Name(name) => name.id.as_str(),
                    Expr::Attribute(node) => node.attr.as_str(),
                    _ => "",
                };
                READING.contains(&called) || lens.callee(call).is_some()
            }
            _ => false,
        }
    })
}

/// Does a value come from work on the data: a call, a subscript or a comprehension over names of the function, other than
/// the exception and what was gathered so far?
pub(crate) fn is_work(lens: &Lens<'_>, value: &Expr, exception: Option<&str>) -> bool {
    if constant::is_constant(lens, value) {
        return false;
    }
    match value {
        Expr::Call(call) => {
            if let (Expr::Name(name), [only]) = (&*call.func, &*call.arguments.args)
                && matches!(
                    name.id.as_str(),
                    "list"
                        | "tuple"
                        | "dict"
                        | "set"
                        | "sorted"
                        | "len"
                        | "sum"
                        | "str"
                        | "repr"
                        | "iter"
                        | "frozenset"
                )
            {
                return is_work(lens, only, exception);
            }
            let receiver = match &*call.func {
                Expr::Attribute(node) => uses_data(lens, &node.value, exception),
                Expr::Name(name) => lens.module.function(name.id.as_str()).is_some(),
                _ => true,
            };
            receiver || call.arguments.args.iter().any(|argument| uses_data(lens, argument, exception))
        }
        Expr::Subscript(node) => uses_data(lens, &node.value, exception),
        Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
            uses_data(lens, value, exception)
        }
        Expr::Dict(node) => node.iter_values().any(|value| is_work(lens, value, exception)),
        Expr::BinOp(node) => is_work(lens, &node.left, exception) || is_work(lens, &node.right, exception),
        Expr::UnaryOp(node) => is_work(lens, &node.operand, exception),
        Expr::BoolOp(node) => node.values.iter().all(|value| is_work(lens, value, exception)),
        Expr::If(node) => is_work(lens, &node.body, exception) && is_work(lens, &node.orelse, exception),
        Expr::Await(node) => is_work(lens, &node.value, exception),
        Expr::Starred(node) => is_work(lens, &node.value, exception),
        Expr::Named(node) => is_work(lens, &node.value, exception),
        Expr::FString(_) => false,
        _ => collect_elements(value).is_some_and(|parts| parts.iter().any(|part| is_work(lens, part, exception))),
    }
}

fn uses_data(lens: &Lens<'_>, expr: &Expr, exception: Option<&str>) -> bool {
    let names = names_in(expr);
    names.iter().any(|name| {
        if exception == Some(*name) {
            return false;
        }
        let found = lens.code.scopes.iter().find_map(|scope| scope.names.get(name));
        found.is_some_and(|bindings| {
            !bindings.iter().all(|binding| {
                matches!(binding.kind, BindingKind::Import(_) | BindingKind::Function(..) | BindingKind::Class)
            })
        })
    })
}

/// All names that an expression reads.
pub(crate) fn names_in(expr: &Expr) -> BTreeSet<&str> {
    struct Names<'n>(BTreeSet<&'n str>);
    impl<'n> ruff_python_ast::visitor::Visitor<'n> for Names<'n> {
        fn visit_expr(&mut self, expr: &'n Expr) {
            if let Expr::Name(name) = expr {
                self.0.insert(name.id.as_str());
            }
            ruff_python_ast::visitor::walk_expr(self, expr);
        }
    }
    let mut names = Names(BTreeSet::new());
    ruff_python_ast::visitor::Visitor::visit_expr(&mut names, expr);
    names.0
}

/// All texts in an expression.
pub(crate) fn texts_in(expr: &Expr) -> BTreeSet<&str> {
    struct Texts<'t>(BTreeSet<&'t str>);
    impl<'t> ruff_python_ast::visitor::Visitor<'t> for Texts<'t> {
        fn visit_string_literal(&mut self, literal: &'t ruff_python_ast::StringLiteral) {
            self.0.insert(&literal.value);
        }
    }
    let mut texts = Texts(BTreeSet::new());
    ruff_python_ast::visitor::Visitor::visit_expr(&mut texts, expr);
    texts.0
}

/// Does an expression read this name?
pub(crate) fn mentions(expr: &Expr, name: &str) -> bool {
    names_in(expr).contains(name)
}

/// Does control never come to the end of a block?
pub(crate) fn always_leaves(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Return(_) | Stmt::Raise(_) | Stmt::Continue(_) | Stmt::Break(_) => true,
        Stmt::If(node) => {
            node.elif_else_clauses.last().is_some_and(|clause| clause.test.is_none())
                && always_leaves(&node.body)
                && node.elif_else_clauses.iter().all(|clause| always_leaves(&clause.body))
        }
        Stmt::With(node) => always_leaves(&node.body),
        Stmt::Try(node) => {
            let handled = crate::code::handlers(node).all(|handler| always_leaves(&handler.body));
            always_leaves(&node.finalbody) || (handled && (always_leaves(&node.body) || always_leaves(&node.orelse)))
        }
        Stmt::While(node) => {
            matches!(&*node.test, Expr::BooleanLiteral(value) if value.value) && !holds_break(&node.body)
        }
        Stmt::Match(node) => {
            node.cases.iter().any(|case| case.pattern.is_irrefutable() && case.guard.is_none())
                && node.cases.iter().all(|case| always_leaves(&case.body))
        }
        Stmt::For(node) => !node.orelse.is_empty() && always_leaves(&node.orelse) && !holds_break(&node.body),
        _ => false,
    })
}

fn holds_break(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Break(_) => true,
        Stmt::For(_) | Stmt::While(_) | Stmt::FunctionDef(_) | Stmt::ClassDef(_) => false,
        _ => blocks(stmt).into_iter().any(holds_break),
    })
}

/// Does every path through a block raise?
pub(crate) fn always_raises(body: &[Stmt]) -> bool {
    for stmt in body {
        let raises = match stmt {
            Stmt::Raise(_) => true,
            Stmt::Return(_) | Stmt::Continue(_) | Stmt::Break(_) => return false,
            Stmt::If(node) => {
                let branches = node.elif_else_clauses.iter();
                node.elif_else_clauses.last().is_some_and(|clause| clause.test.is_none())
                    && always_raises(&node.body)
                    && branches.into_iter().all(|clause| always_raises(&clause.body))
            }
            Stmt::With(node) => always_raises(&node.body),
            Stmt::Try(node) => {
                always_raises(&node.body) && crate::code::handlers(node).all(|handler| always_raises(&handler.body))
            }
            _ => false,
        };
        if raises {
            return true;
        }
        if escapes(stmt) {
            return false;
        }
    }
    false
}

/// Can a statement leave the block without raising?
fn escapes(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Return(_) | Stmt::Continue(_) | Stmt::Break(_) => true,
        Stmt::FunctionDef(_) | Stmt::ClassDef(_) => false,
        _ => blocks(stmt).into_iter().flatten().any(escapes),
    }
}
