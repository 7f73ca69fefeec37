//! Gate 4: the change is small enough to be read, and it ends.

use std::collections::BTreeSet;

use ruff_python_ast::{Expr, ExprCall, Operator, Stmt, StmtWhile};

use super::Look;
use crate::code::{ScopeKind, blocks, parameter_names};
use crate::constant::{CHANGING, integer};
use crate::flow::names_in;
use crate::lens::Lens;
use crate::vet::Case;

/// The deepest nesting of blocks.
const MAX_NESTING: usize = 8;
/// The most elements or bytes that a literal may ask for.
const MAX_SIZE: i64 = 10_000_000;

/// **bounded**: at most `max_changed_lines` lines differ, blocks nest at most 8 deep, no new loop without an exit, no new
/// call of itself with what it was given, no huge literal size.
pub(super) fn bounded(case: &Case<'_>) -> Look {
    let mut findings = Vec::new();
    let changed =
        changed_lines(case.old_source.slice(case.old.code.function), case.new_source.slice(case.new.code.function));
    if changed > case.context.max_changed_lines {
        findings.push(format!("{changed} lines change, more than {}", case.context.max_changed_lines));
    }
    let nesting = depth(&case.new.code.function.body);
    if nesting > MAX_NESTING && nesting > depth(&case.old.code.function.body) {
        findings.push(format!("blocks nest {nesting} deep, more than {MAX_NESTING}"));
    }
    findings.extend(endless(case));
    findings.extend(itself(case));
    findings.extend(huge(case));
    findings.into()
}

/// How many lines differ: the larger of those gone and those come, by the longest common subsequence.
fn changed_lines(old: &str, new: &str) -> usize {
    let lines = |text: &str| -> Vec<String> { text.lines().map(|line| line.trim().to_owned()).collect() };
    let (old, new) = (lines(old), lines(new));
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let old = old.get(..old.len() - tail).unwrap_or_default();
    let new = new.get(..new.len() - tail).unwrap_or_default();
    if old.len().saturating_mul(new.len()) > 4_000_000 {
        return old.len().max(new.len());
    }
    let mut row = vec![0usize; new.len() + 1];
    for a in old {
        let mut corner = 0;
        for (at, b) in new.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if a == b { corner + 1 } else { above.max(row[at]) };
            corner = above;
        }
    }
    let common = row.last().copied().unwrap_or(0);
    old.len().max(new.len()) - common
}

fn depth(body: &[Stmt]) -> usize {
    body.iter()
        .map(|stmt| match stmt {
            Stmt::If(node) => {
                let clauses = node.elif_else_clauses.iter().map(|clause| depth(&clause.body));
                1 + clauses.chain([depth(&node.body)]).max().unwrap_or(0)
            }
            _ => {
                let inner = blocks(stmt);
                if inner.is_empty() { 0 } else { 1 + inner.into_iter().map(depth).max().unwrap_or(0) }
            }
        })
        .max()
        .unwrap_or(0)
}

/// New `while` loops that nothing ends, and `for` loops over endless iterators.
fn endless(case: &Case<'_>) -> Vec<String> {
    let mut findings = Vec::new();
    for node in &case.new.code.stmts {
        match node.stmt {
            Stmt::While(node) if !case.is_old(&node.test) || is_true(&node.test) => {
                let was_there = case.old.code.stmts.iter().any(|old| {
                    use ruff_python_ast::comparable::ComparableStmt;
                    matches!(old.stmt, Stmt::While(old) if old.body.len() == node.body.len()
                        && old.body.iter().zip(&node.body).all(|(a, b)| ComparableStmt::from(a) == ComparableStmt::from(b)))
                });
                if !was_there && !ends(node) {
                    findings.push("a `while` loop that nothing ends".to_owned());
                }
            }
            Stmt::For(node) if !case.is_old(&node.iter) => {
                if is_endless(&case.new, &node.iter) && !has_exit(&node.body, true) {
                    findings.push("a `for` loop that nothing ends".to_owned());
                }
            }
            _ => {}
        }
    }
    for node in &case.new.code.exprs {
        let endless = match node.expr {
            Expr::Call(call) => {
                let gathers = matches!(&*call.func, Expr::Name(name) if matches!(name.id.as_str(),
                    "list" | "tuple" | "set" | "sum" | "max" | "min" | "sorted" | "dict" | "frozenset" | "len"));
                gathers && call.arguments.args.iter().any(|argument| is_endless(&case.new, argument))
            }
            Expr::ListComp(comp) => is_endless(&case.new, &comp.generators[0].iter),
            Expr::SetComp(comp) => is_endless(&case.new, &comp.generators[0].iter),
            Expr::DictComp(comp) => is_endless(&case.new, &comp.generators[0].iter),
            _ => false,
        };
        if endless && !case.is_old(node.expr) {
            findings.push(format!("`{}` never ends", case.text(node.expr)));
        }
    }
    findings
}

/// An iterator without an end, or a generator over one.
fn is_endless(lens: &Lens<'_>, iter: &Expr) -> bool {
    match iter {
        Expr::Call(call) => lens.paths(&call.func).iter().any(|path| {
            matches!(path.as_str(), "itertools.count" | "itertools.cycle")
                || (path == "itertools.repeat" && call.arguments.len() == 1)
                || (path == "builtins.iter" && call.arguments.len() == 2 && never_equal(call))
        }),
        Expr::Generator(node) => is_endless(lens, &node.generators[0].iter),
        _ => false,
    }
}

/// `iter(int, 1)`
fn never_equal(call: &ExprCall) -> bool {
    matches!(call.arguments.args.first(), Some(Expr::Name(name)) if matches!(name.id.as_str(), "int" | "str" | "list" | "dict" | "float"))
}

fn is_true(test: &Expr) -> bool {
    match test {
        Expr::BooleanLiteral(node) => node.value,
        Expr::UnaryOp(node) => {
            node.op == ruff_python_ast::UnaryOp::Not && crate::constant::is_empty_value(&node.operand)
        }
        Expr::StringLiteral(node) => !node.value.is_empty(),
        _ => integer(test).is_some_and(|number| number != 0),
    }
}

/// Can a `while` loop come to an end: it can be left, or its test can change?
fn ends(node: &StmtWhile) -> bool {
    has_exit(&node.body, true) || (!is_true(&node.test) && (moves_on(&node.test) || changes(node)))
}

fn has_exit(body: &[Stmt], own_loop: bool) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Return(_) | Stmt::Raise(_) => true,
        Stmt::Break(_) => own_loop,
        Stmt::Expr(node) => {
            matches!(&*node.value, Expr::Yield(_) | Expr::YieldFrom(_) | Expr::Await(_)) || calls_next(&node.value)
        }
        Stmt::Assign(node) => calls_next(&node.value),
        Stmt::FunctionDef(_) | Stmt::ClassDef(_) => false,
        Stmt::For(_) | Stmt::While(_) => blocks(stmt).into_iter().any(|block| has_exit(block, false)),
        _ => blocks(stmt).into_iter().any(|block| has_exit(block, own_loop)),
    })
}

/// `next(it)` raises at the end.
fn calls_next(expr: &Expr) -> bool {
    matches!(expr, Expr::Call(call) if call.arguments.len() == 1
        && matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "next"))
}

/// A test that moves something on each time: a walrus, a call on a stream held by a name.
fn moves_on(test: &Expr) -> bool {
    match test {
        Expr::Named(_) => true,
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => {
                let moves = matches!(
                    method.attr.as_str(),
                    "read" | "readline" | "pop" | "popleft" | "popitem" | "send" | "get" | "advance"
                );
                (moves && method.value.is_name_expr()) || moves_on(&method.value)
            }
            Expr::Name(name) => name.id.as_str() == "next" || call.arguments.args.iter().any(moves_on),
            _ => false,
        },
        Expr::Compare(node) => moves_on(&node.left) || node.comparators.iter().any(moves_on),
        Expr::BoolOp(node) => node.values.iter().any(moves_on),
        Expr::UnaryOp(node) => moves_on(&node.operand),
        _ => false,
    }
}

/// Does the body assign, or call a changing method on, a name of the test?
fn changes(node: &StmtWhile) -> bool {
    let names = names_in(&node.test);
    let mut todo: Vec<&Stmt> = node.body.iter().collect();
    while let Some(stmt) = todo.pop() {
        let hits = |target: &Expr| names_in(target).iter().any(|name| names.contains(name));
        let here = match stmt {
            Stmt::Assign(node) => node.targets.iter().any(hits),
            Stmt::AugAssign(node) => hits(&node.target),
            Stmt::AnnAssign(node) => hits(&node.target),
            Stmt::Delete(node) => node.targets.iter().any(hits),
            Stmt::For(node) => hits(&node.target),
            Stmt::With(node) => node.items.iter().filter_map(|item| item.optional_vars.as_deref()).any(hits),
            Stmt::Expr(node) => changing_call(&node.value, &names),
            _ => false,
        };
        let value = match stmt {
            Stmt::Assign(node) => changing_call(&node.value, &names),
            _ => false,
        };
        if here || value {
            return true;
        }
        todo.extend(blocks(stmt).into_iter().flatten());
    }
    false
}

fn changing_call(expr: &Expr, names: &BTreeSet<&str>) -> bool {
    match expr {
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => {
                let changes = CHANGING.contains(&method.attr.as_str())
                    || matches!(
                        method.attr.as_str(),
                        "read" | "readline" | "seek" | "popleft" | "get" | "send" | "next" | "advance"
                    );
                changes && names_in(&method.value).iter().any(|name| names.contains(name))
                    || call.arguments.args.iter().any(|argument| changing_call(argument, names))
            }
            _ => call.arguments.args.iter().any(|argument| {
                names_in(argument).iter().any(|name| names.contains(name)) || changing_call(argument, names)
            }),
        },
        _ => false,
    }
}

/// A new call of itself with exactly what it was given.
fn itself(case: &Case<'_>) -> Vec<String> {
    let lens = &case.new;
    let function = lens.code.function;
    let parameters: Vec<&str> = parameter_names(&function.parameters).collect();
    let mut findings = Vec::new();
    for node in &lens.code.exprs {
        let Expr::Call(call) = node.expr else { continue };
        let at = node.stmt;
        let own = match &*call.func {
            Expr::Name(name) => name.id == function.name.id && lens.module.class.is_none(),
            Expr::Attribute(method) => {
                method.attr.id == function.name.id
                    && matches!(&*method.value, Expr::Name(name) if matches!(name.id.as_str(), "self" | "cls"))
            }
            _ => false,
        };
        let same = call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|keyword| &keyword.value)).all(|argument| {
            matches!(argument, Expr::Name(name) if parameters.contains(&name.id.as_str()) && is_as_given(lens, name.id.as_str(), at))
                || matches!(argument, Expr::Starred(_))
        });
        if own && same && !case.is_old(node.expr) && is_own_scope(lens, node.scope) {
            findings.push("it calls itself with what it was given".to_owned());
        }
    }
    findings
}

fn is_own_scope(lens: &Lens<'_>, scope: usize) -> bool {
    lens.code.is_own(scope) || matches!(lens.code.scopes[scope].kind, ScopeKind::Function)
}

/// Has a parameter not been bound anew before this statement?
fn is_as_given(lens: &Lens<'_>, name: &str, before: usize) -> bool {
    lens.code.scopes[0]
        .names
        .get(name)
        .is_some_and(|bindings| bindings.iter().all(|binding| binding.stmt.is_none_or(|stmt| stmt >= before)))
}

/// `bytearray(64 * 1024 * 1024)`, `"x" * 10**9`, `range(10**12)`, `10 ** 10 ** 10`.
fn huge(case: &Case<'_>) -> Vec<String> {
    let mut findings = Vec::new();
    for node in &case.new.code.exprs {
        if case.is_old(node.expr) {
            continue;
        }
        let large = |expr: &Expr| integer(expr).is_some_and(|number| number > MAX_SIZE);
        let found = match node.expr {
            Expr::Call(call) => {
                let makes = matches!(&*call.func, Expr::Name(name) if matches!(name.id.as_str(), "bytearray" | "bytes" | "range"));
                let repeats = case.new.paths(&call.func).iter().any(|path| path == "itertools.repeat");
                (makes || repeats) && call.arguments.args.iter().any(large)
            }
            Expr::BinOp(product) if product.op == Operator::Mult => {
                let is_sequence = |expr: &Expr| {
                    matches!(
                        expr,
                        Expr::StringLiteral(_)
                            | Expr::BytesLiteral(_)
                            | Expr::List(_)
                            | Expr::Tuple(_)
                            | Expr::ListComp(_)
                    )
                };
                (is_sequence(&product.left) && large(&product.right))
                    || (is_sequence(&product.right) && large(&product.left))
            }
            Expr::BinOp(power) if power.op == Operator::Pow => {
                integer(&power.right).is_some_and(|number| number > 10_000)
            }
            Expr::BinOp(shift) if shift.op == Operator::LShift => {
                integer(&shift.right).is_some_and(|number| number > 100_000)
            }
            _ => false,
        };
        if found {
            findings.push(format!("`{}` asks for too much", case.text(node.expr)));
        }
    }
    findings
}
