//! Gate 3: no new way for an error to disappear.
//!
//! A new handler is sound if on every path it raises, or does the work in another way from the data that is there: reads
//! another key, tries another format, sets what a retry uses. `continue` in a loop over a list of formats is sound if the
//! end of the list raises. One of `Exception` or wider must raise.

use std::collections::{BTreeSet, HashSet};

use ruff_python_ast::comparable::{ComparableExpr, ComparableStmt};
use ruff_python_ast::{ExceptHandlerExceptHandler, Expr, Stmt, StmtTry};

use super::Look;
use crate::code::{Code, blocks, handlers};
use crate::constant;
use crate::flow::{Flow, always_leaves, always_raises, covers, walk_tries};
use crate::lens::Lens;
use crate::reach::reached;
use crate::vet::Case;

/// **no_swallow**
pub(super) fn no_swallow(case: &Case<'_>) -> Look {
    let old = attempts(&case.old);
    let mut findings = Vec::new();
    for attempt in attempts(&case.new) {
        if let Some(why) = attempt.why
            && !was_there(&old, &attempt)
        {
            findings.push(format!("`except {}` {why}", attempt.says()));
        }
    }
    findings.extend(newly_guarded(case, &old));
    findings.extend(silent_context(case));
    findings.extend(leaving_finally(case));
    findings.into()
}

/// A handler and what is wrong with it, if anything.
struct Attempt<'a> {
    types: BTreeSet<String>,
    handler: &'a ExceptHandlerExceptHandler,
    attempt: &'a StmtTry,
    why: Option<&'static str>,
}

impl Attempt<'_> {
    fn says(&self) -> String {
        if self.types.is_empty() {
            return "everything".to_owned();
        }
        self.types.iter().map(|path| path.rsplit('.').next().unwrap_or(path)).collect::<Vec<_>>().join(", ")
    }
}

fn attempts<'a>(lens: &Lens<'a>) -> Vec<Attempt<'a>> {
    let mut found = Vec::new();
    walk_tries(&lens.code.function.body, &mut |attempt, flow| {
        for handler in handlers(attempt) {
            let types = types(lens, handler);
            let why = judge(lens, attempt, handler, &types, flow);
            found.push(Attempt { types, handler, attempt, why });
        }
    });
    found
}

fn judge(
    lens: &Lens<'_>,
    attempt: &StmtTry,
    handler: &ExceptHandlerExceptHandler,
    types: &BTreeSet<String>,
    flow: &Flow<'_>,
) -> Option<&'static str> {
    if types.is_empty() || types.iter().any(|name| is_wide(name)) {
        return (!always_raises(&handler.body)).then_some("is as wide as Exception and does not raise on every path");
    }
    if is_import_fallback(attempt, handler) || is_predicate(attempt, handler) {
        return None;
    }
    let name = handler.name.as_ref().map(|name| name.as_str());
    let reached_by_failure_only = always_leaves(&attempt.body) || always_leaves(&attempt.orelse);
    if types.iter().any(|name| name.ends_with("RecursionError"))
        && !always_raises(&handler.body)
        && !walks(&handler.body)
    {
        return Some("goes on where the walk did not come to its end");
    }
    if leaves_a_part_out(attempt, handler) {
        return Some("works with a part of what was to be read");
    }
    let fine = covers(lens, &handler.body, name, flow, &|| {
        if reached_by_failure_only {
            flow.rest_covers(lens, name)
        } else {
            flow.rest_asks(lens, &assigned(&attempt.body))
        }
    });
    (!fine).then_some("lets the error disappear: it neither raises nor does the work in another way")
}

/// Is there another walk, with a loop in place of the stack?
fn walks(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| matches!(stmt, Stmt::For(_) | Stmt::While(_)) || blocks(stmt).into_iter().any(walks))
}

/// `x = int(a) * 60 + int(b)` / `except ValueError: x = int(a) * 60`: the rest is lost.
fn leaves_a_part_out(attempt: &StmtTry, handler: &ExceptHandlerExceptHandler) -> bool {
    let mut parts: Vec<ComparableExpr<'_>> = Vec::new();
    for value in attempt.body.iter().filter_map(value_of) {
        let mut todo = vec![value];
        while let Some(value) = todo.pop() {
            let Expr::BinOp(node) = value else { continue };
            parts.extend([ComparableExpr::from(&*node.left), ComparableExpr::from(&*node.right)]);
            todo.extend([&*node.left, &*node.right]);
        }
    }
    let works = |value: &Expr| !value.is_name_expr() && !value.is_literal_expr();
    handler.body.iter().filter_map(value_of).any(|value| works(value) && parts.contains(&ComparableExpr::from(value)))
}

/// What a statement assigns, adds or returns.
fn value_of(stmt: &Stmt) -> Option<&Expr> {
    match stmt {
        Stmt::Assign(node) => Some(&node.value),
        Stmt::AugAssign(node) => Some(&node.value),
        Stmt::AnnAssign(node) => node.value.as_deref(),
        Stmt::Return(node) => node.value.as_deref(),
        _ => None,
    }
}

/// The classes that a handler names, as dotted paths; empty for a bare `except`.
fn types(lens: &Lens<'_>, handler: &ExceptHandlerExceptHandler) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let Some(expr) = &handler.type_ else { return found };
    let mut todo = vec![&**expr];
    while let Some(expr) = todo.pop() {
        if let Some(parts) = crate::code::collect_elements(expr) {
            todo.extend(parts);
            continue;
        }
        let paths = lens.paths(expr);
        let listed = constant::listed(lens, expr);
        if !listed.is_empty() {
            todo.extend(listed);
        } else if paths.is_empty() {
            found.insert(lens_text(expr));
        } else {
            found.extend(paths);
        }
    }
    found
}

fn lens_text(expr: &Expr) -> String {
    match expr {
        Expr::Name(name) => name.id.to_string(),
        Expr::Attribute(node) => format!("{}.{}", lens_text(&node.value), node.attr),
        _ => "…".to_owned(),
    }
}

fn is_wide(name: &str) -> bool {
    matches!(
        name.rsplit('.').next().unwrap_or(name),
        "Exception"
            | "BaseException"
            | "KeyboardInterrupt"
            | "SystemExit"
            | "GeneratorExit"
            | "MemoryError"
            | "CancelledError"
            | "ExceptionGroup"
            | "BaseExceptionGroup"
            | "StandardError"
    )
}

/// `try: import a` / `except ImportError: import b`.
fn is_import_fallback(attempt: &StmtTry, handler: &ExceptHandlerExceptHandler) -> bool {
    let is_import = |stmt: &Stmt| matches!(stmt, Stmt::Import(_) | Stmt::ImportFrom(_));
    attempt.body.iter().all(is_import) && handler.body.iter().any(is_import)
}

/// `try: float(x)`, `return True` / `except ValueError: return False`: the caller is told.
fn is_predicate(attempt: &StmtTry, handler: &ExceptHandlerExceptHandler) -> bool {
    let answers = |body: &[Stmt], wanted: bool| match body.last() {
        Some(Stmt::Return(node)) => matches!(node.value.as_deref(), Some(Expr::BooleanLiteral(b)) if b.value == wanted),
        _ => false,
    };
    handler.body.len() == 1
        && (answers(&attempt.body, true) || answers(&attempt.orelse, true))
        && answers(&handler.body, false)
}

/// Names that a block assigns.
fn assigned(body: &[Stmt]) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut todo: Vec<&Stmt> = body.iter().collect();
    while let Some(stmt) = todo.pop() {
        if let Stmt::Assign(node) = stmt {
            for target in &node.targets {
                match target {
                    Expr::Name(name) => drop(found.insert(name.id.as_str())),
                    _ => found.extend(
                        crate::code::collect_elements(target)
                            .unwrap_or_default()
                            .iter()
                            .filter_map(|part| part.as_name_expr().map(|name| name.id.as_str())),
                    ),
                }
            }
        }
        todo.extend(blocks(stmt).into_iter().flatten());
    }
    found
}

/// The old body let these errors disappear already, in a handler of the same or a wider list of classes.
fn was_there(old: &[Attempt<'_>], new: &Attempt<'_>) -> bool {
    let body = |attempt: &Attempt<'_>| -> Vec<String> {
        attempt.handler.body.iter().map(|stmt| format!("{:?}", ComparableStmt::from(stmt))).collect()
    };
    old.iter().any(|old| {
        let same = old.types == new.types && body(old) == body(new);
        let covered =
            old.why.is_some() && (old.types.is_empty() || (!new.types.is_empty() && new.types.is_subset(&old.types)));
        same || covered
    })
}

/// Work that stood outside every silent handler before and stands inside one now.
fn newly_guarded(case: &Case<'_>, old: &[Attempt<'_>]) -> Vec<String> {
    let inside = |attempts: &[Attempt<'_>], code: &Code<'_>| -> HashSet<usize> {
        let mut found = HashSet::new();
        for attempt in attempts.iter().filter(|attempt| attempt.why.is_some()) {
            for (at, node) in code.exprs.iter().enumerate() {
                let own = ruff_text_size::Ranged::range(node.expr);
                let within =
                    attempt.attempt.body.iter().any(|stmt| ruff_text_size::Ranged::range(stmt).contains_range(own));
                if within {
                    found.insert(at);
                }
            }
        }
        found
    };
    let new = attempts(&case.new);
    if old.iter().all(|attempt| attempt.why.is_none()) {
        return Vec::new();
    }
    let (old_inside, new_inside) = (inside(old, case.old.code), inside(&new, case.new.code));
    let works = |expr: &Expr| matches!(expr, Expr::Call(_) | Expr::Subscript(_));
    let mut open: HashSet<ComparableExpr<'_>> = HashSet::new();
    let mut guarded: HashSet<ComparableExpr<'_>> = HashSet::new();
    for (at, node) in case.old.code.exprs.iter().enumerate().filter(|(_, node)| works(node.expr)) {
        if old_inside.contains(&at) { &mut guarded } else { &mut open }.insert(node.expr.into());
    }
    let moved = case.new.code.exprs.iter().enumerate().any(|(at, node)| {
        works(node.expr) && new_inside.contains(&at) && {
            let expr = ComparableExpr::from(node.expr);
            open.contains(&expr) && !guarded.contains(&expr)
        }
    });
    if moved {
        vec!["work that could raise before now stands under a handler that does not".to_owned()]
    } else {
        Vec::new()
    }
}

/// `contextlib.suppress`, an `__exit__` that says yes, `gather(return_exceptions=True)`.
fn silent_context(case: &Case<'_>) -> Vec<String> {
    let mut findings = Vec::new();
    let old: HashSet<String> = reached(&case.old).into_iter().map(|reach| reach.bare).collect();
    for reach in reached(&case.new) {
        let silent = reach.bare == "contextlib.suppress" || reach.bare.ends_with(".suppress");
        if silent && reach.expr.is_some() && !old.contains(&reach.bare) {
            findings.push("`suppress` lets errors disappear".to_owned());
        }
    }
    for node in &case.new.code.stmts {
        if let Stmt::FunctionDef(function) = node.stmt
            && matches!(function.name.as_str(), "__exit__" | "__aexit__")
            && Code::of(function).stmts.iter().any(|inner| {
                matches!(inner.stmt, Stmt::Return(ret) if ret.value.as_deref().is_some_and(|value| !constant::is_empty_value(value)))
            })
        {
            findings.push(format!("`{}` may say that an error is dealt with", function.name));
        }
    }
    for node in &case.new.code.exprs {
        if let Expr::Call(call) = node.expr
            && let Some(keyword) = call.arguments.find_keyword("return_exceptions")
            && !matches!(&keyword.value, Expr::BooleanLiteral(value) if !value.value)
            && !case.is_old(node.expr)
        {
            findings.push("`return_exceptions` lets errors disappear".to_owned());
        }
    }
    findings.dedup();
    findings
}

/// `return`, `break` or `continue` in a `finally` throws the error away.
fn leaving_finally(case: &Case<'_>) -> Vec<String> {
    let count = |lens: &Lens<'_>| {
        lens.code
            .stmts
            .iter()
            .filter(|node| matches!(node.stmt, Stmt::Try(attempt) if leaves(&attempt.finalbody, false)))
            .count()
    };
    if count(&case.new) > count(&case.old) {
        return vec!["leaving a `finally` throws the error away".to_owned()];
    }
    Vec::new()
}

fn leaves(body: &[Stmt], in_loop: bool) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Return(_) => true,
        Stmt::Break(_) | Stmt::Continue(_) => !in_loop,
        Stmt::For(_) | Stmt::While(_) => blocks(stmt).into_iter().any(|block| leaves(block, true)),
        Stmt::FunctionDef(_) | Stmt::ClassDef(_) => false,
        _ => blocks(stmt).into_iter().any(|block| leaves(block, in_loop)),
    })
}
