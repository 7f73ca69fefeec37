//! Gate 3: the old work is still there.

use std::collections::BTreeSet;

use ruff_python_ast::{Expr, Pattern, Stmt};

use super::Look;
use crate::code::Code;
use crate::constant;
use crate::lens::{Lens, Referent};
use crate::same::is_report;
use crate::vet::Case;

/// **no_shrink**: at least half as many statements, or half as many expressions, as before.
pub(super) fn no_shrink(case: &Case<'_>) -> Look {
    let statements = |code: &Code<'_>| code.stmts.iter().filter(|node| !matches!(node.stmt, Stmt::Pass(_))).count();
    let (old, new) = (statements(case.old.code), statements(case.new.code));
    let (old_exprs, new_exprs) = (case.old.code.exprs.len(), case.new.code.exprs.len());
    if old >= 4 && new * 2 < old && new_exprs * 2 < old_exprs {
        return Look::Failed(vec![format!("{new} statements are left of {old}")]);
    }
    Look::Passed
}

/// **old_path_kept**: every key that the old body reads is still read, and every parameter still used.
pub(super) fn old_path_kept(case: &Case<'_>) -> Look {
    let wanted: BTreeSet<String> = if case.context.expected_names.is_empty() {
        keys_read(&case.old)
    } else {
        case.context.expected_names.iter().cloned().collect()
    };
    let there = texts_that_may_read(&case.new);
    let mut findings: Vec<String> =
        wanted.iter().filter(|key| !there.contains(*key)).map(|key| format!("`{key}` is not read any more")).collect();
    for parameter in case.old.code.parameters() {
        let uses = |code: &Code<'_>| {
            code.exprs.iter().any(
                |node| matches!(node.expr, Expr::Name(name) if name.id.as_str() == parameter && name.ctx.is_load()),
            )
        };
        if uses(case.old.code) && !uses(case.new.code) && !matches!(parameter, "self" | "cls") {
            findings.push(format!("the parameter `{parameter}` is not used any more"));
        }
    }
    findings.into()
}

/// The constant keys that a function of the file reads of anything.
pub(crate) fn keys_in(code: &Code<'_>) -> BTreeSet<String> {
    let key = |expr: &Expr| expr.as_string_literal_expr().map(|text| text.value.to_str().to_owned());
    let read = code.exprs.iter().filter_map(|node| match node.expr {
        Expr::Subscript(subscript) if subscript.ctx.is_load() => key(&subscript.slice),
        Expr::Call(call) if matches!(&*call.func, Expr::Attribute(method) if method.attr.as_str() == "get") => {
            call.arguments.args.first().and_then(key)
        }
        _ => None,
    });
    read.collect()
}

/// The keys that a body reads: constant subscripts, `get`, `getattr`, `match` on mappings, attributes of rows.
pub(crate) fn keys_read(lens: &Lens<'_>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, node) in lens.code.exprs.iter().enumerate() {
        if in_report(lens, at) {
            continue;
        }
        match node.expr {
            Expr::Subscript(subscript) if subscript.ctx.is_load() && is_local_data(lens, &subscript.value) => {
                found.extend(literal(&subscript.slice));
            }
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(method)
                    if matches!(method.attr.as_str(), "get" | "pop" | "findtext")
                        && is_local_data(lens, &method.value) =>
                {
                    found.extend(call.arguments.args.first().and_then(literal));
                }
                Expr::Name(name) if name.id.as_str() == "getattr" => {
                    found.extend(call.arguments.args.get(1).and_then(literal));
                }
                _ => {}
            },
            _ => {}
        }
    }
    for node in &lens.code.stmts {
        if let Stmt::Match(node) = node.stmt {
            node.cases.iter().for_each(|case| pattern_keys(&case.pattern, &mut found));
        }
    }
    found
}

fn in_report(lens: &Lens<'_>, at: usize) -> bool {
    lens.code.around(at).any(|outer| matches!(outer.expr, Expr::Call(call) if is_report(&call.func)))
}

/// Not an imported module's table.
fn is_local_data(lens: &Lens<'_>, expr: &Expr) -> bool {
    match expr {
        Expr::Name(name) => matches!(
            lens.referent(name.id.as_str(), Some(lens.code.scope_of(expr))),
            Referent::Local(..) | Referent::Outer(_)
        ),
        Expr::Dict(_) => false,
        _ => true,
    }
}

fn literal(expr: &Expr) -> Option<String> {
    expr.as_string_literal_expr().map(|text| text.value.to_str().to_owned())
}

fn pattern_keys(pattern: &Pattern, found: &mut BTreeSet<String>) {
    match pattern {
        Pattern::MatchMapping(node) => {
            found.extend(node.keys.iter().filter_map(literal));
            node.patterns.iter().for_each(|inner| pattern_keys(inner, found));
        }
        Pattern::MatchSequence(node) => node.patterns.iter().for_each(|inner| pattern_keys(inner, found)),
        Pattern::MatchOr(node) => node.patterns.iter().for_each(|inner| pattern_keys(inner, found)),
        Pattern::MatchAs(node) => node.pattern.iter().for_each(|inner| pattern_keys(inner, found)),
        _ => {}
    }
}

/// The texts of a body that stand where they may name a key: anywhere but as the key of a record, in a message, or as
/// the docstring. Attributes count too.
fn texts_that_may_read(lens: &Lens<'_>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, node) in lens.code.exprs.iter().enumerate() {
        match node.expr {
            Expr::StringLiteral(text) => {
                let is_docstring =
                    lens.code.exprs[at].parent.is_none() && matches!(lens.code.stmts[node.stmt].stmt, Stmt::Expr(_));
                if !is_docstring && !is_record_key(lens, at) && !in_report(lens, at) && !is_message(lens, at) {
                    found.insert(text.value.to_str().to_owned());
                }
            }
            Expr::BinOp(_) | Expr::FString(_) | Expr::Call(_) => {
                found.extend(constant::texts(lens, node.expr, Some(node.scope)));
            }
            Expr::Attribute(attribute) => {
                found.insert(attribute.attr.to_string());
            }
            _ => {}
        }
    }
    found
}

/// The text of an exception that is raised: `raise KeyError("amount")`.
fn is_message(lens: &Lens<'_>, at: usize) -> bool {
    let node = &lens.code.exprs[at];
    let Stmt::Raise(raise) = lens.code.stmts[node.stmt].stmt else { return false };
    match (lens.code.parent(at), raise.exc.as_deref()) {
        (Some(parent), Some(exc)) => std::ptr::eq(parent.expr, exc),
        _ => false,
    }
}

/// The key of a dict display whose value is worked out: a field of the result, not a name to read by.
fn is_record_key(lens: &Lens<'_>, at: usize) -> bool {
    let Some(parent) = lens.code.parent(at) else { return false };
    match parent.expr {
        Expr::Dict(dict) => dict.items.iter().any(|item| {
            item.key.as_ref().is_some_and(|key| std::ptr::eq(key, lens.code.exprs[at].expr))
                && !constant::is_constant(lens, &item.value)
        }),
        Expr::Subscript(subscript) => !subscript.ctx.is_load(),
        _ => false,
    }
}
