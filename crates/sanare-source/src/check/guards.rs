//! Gate 3: what the old body refused, the new one refuses.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::comparable::ComparableExpr;
use ruff_python_ast::{CmpOp, Expr, Stmt, UnaryOp};

use super::Look;
use crate::code::{BindingKind, blocks, handlers};
use crate::constant;
use crate::flow::{always_leaves, always_raises, names_in, texts_in};
use crate::lens::Lens;
use crate::vet::Case;

/// **guards_kept**: per class as many `raise`, `assert` and `sanare.request` sites as before (an `assert` may become a
/// `raise`); as many calls that check (`validate…`, `raise_for_status`) and as much strictness; no lost test whose names
/// are still there. A site that cannot be reached, or whose error a handler around it takes, does not count.
pub(super) fn guards_kept(case: &Case<'_>) -> Look {
    let (old, new) = (guards(&case.old), guards(&case.new));
    let mut findings = fewer(&old, &new);
    findings.extend(fewer_checks(case));
    findings.extend(lost(case, &old, &new));
    findings.into()
}

/// A place that refuses.
struct Guard<'a> {
    class: String,
    test: Option<(&'a Expr, bool)>,
}

fn guards<'a>(lens: &Lens<'a>) -> Vec<Guard<'a>> {
    let mut found = Vec::new();
    collect(lens, &lens.code.function.body, None, &[], &mut found);
    found
}

fn collect<'a>(
    lens: &Lens<'a>,
    body: &'a [Stmt],
    test: Option<(&'a Expr, bool)>,
    caught: &[String],
    found: &mut Vec<Guard<'a>>,
) {
    for stmt in body {
        match stmt {
            Stmt::Raise(node) => {
                let class = class_of(lens, node.exc.as_deref());
                if !caught.iter().any(|name| *name == class || name == "Exception") {
                    found.push(Guard { class, test });
                }
                return;
            }
            Stmt::Assert(node) => {
                if !is_always(&node.test, true) {
                    found.push(Guard { class: "assert".to_owned(), test: Some((&node.test, true)) });
                }
            }
            Stmt::Expr(node) => {
                if let Expr::Call(call) = &*node.value
                    && lens.paths(&call.func).iter().any(|path| path.ends_with("sanare.request"))
                {
                    found.push(Guard { class: "sanare.request".to_owned(), test });
                }
            }
            Stmt::If(node) => {
                if !is_always(&node.test, false) {
                    collect(lens, &node.body, Some((&node.test, false)), caught, found);
                }
                for clause in &node.elif_else_clauses {
                    let own = clause.test.as_ref().map(|test| (test, false)).or(Some((&*node.test, true)));
                    collect(lens, &clause.body, own, caught, found);
                }
            }
            Stmt::While(node) if is_always(&node.test, false) => {}
            Stmt::Try(node) => {
                let mut inner = caught.to_vec();
                for handler in handlers(node).filter(|handler| !always_raises(&handler.body)) {
                    match &handler.type_ {
                        None => inner.push("Exception".to_owned()),
                        Some(kinds) => {
                            let parts = crate::code::collect_elements(kinds).unwrap_or(std::slice::from_ref(&**kinds));
                            inner.extend(parts.iter().map(|part| class_of(lens, Some(part))));
                        }
                    }
                }
                collect(lens, &node.body, test, &inner, found);
                handlers(node).for_each(|handler| collect(lens, &handler.body, None, caught, found));
                collect(lens, &node.orelse, test, caught, found);
                collect(lens, &node.finalbody, test, caught, found);
            }
            Stmt::FunctionDef(node) => {
                if is_named(lens, node.name.as_str()) {
                    collect(lens, &node.body, None, caught, found);
                }
            }
            Stmt::ClassDef(node) => {
                if is_named(lens, node.name.as_str()) {
                    for inner in blocks(stmt).into_iter().flatten() {
                        if let Stmt::FunctionDef(method) = inner {
                            collect(lens, &method.body, None, caught, found);
                        }
                    }
                }
            }
            _ => blocks(stmt).into_iter().for_each(|block| collect(lens, block, test, caught, found)),
        }
        if always_leaves(std::slice::from_ref(stmt)) {
            return;
        }
    }
}

/// Is a function defined inside the body used by it at all?
fn is_named(lens: &Lens<'_>, name: &str) -> bool {
    lens.code
        .exprs
        .iter()
        .any(|node| matches!(node.expr, Expr::Name(here) if here.ctx.is_load() && here.id.as_str() == name))
}

fn class_of(lens: &Lens<'_>, exc: Option<&Expr>) -> String {
    match exc {
        None => "raise again".to_owned(),
        Some(Expr::Call(call)) => class_of(lens, Some(&call.func)),
        Some(Expr::Attribute(node)) => node.attr.to_string(),
        Some(Expr::Name(name)) => {
            let bound = lens.code.scopes.iter().find_map(|scope| scope.names.get(name.id.as_str()));
            match bound.and_then(|bindings| bindings.first()).map(|binding| &binding.kind) {
                Some(BindingKind::Handler) => "raise again".to_owned(),
                Some(BindingKind::Value(Expr::Call(call))) => class_of(lens, Some(&call.func)),
                _ => name.id.to_string(),
            }
        }
        Some(_) => "raise".to_owned(),
    }
}

fn is_always(test: &Expr, value: bool) -> bool {
    match test {
        Expr::BooleanLiteral(node) => node.value == value,
        Expr::NoneLiteral(_) => !value,
        Expr::NumberLiteral(_) => constant::integer(test).is_some_and(|number| (number != 0) == value),
        Expr::StringLiteral(node) => node.value.is_empty() != value,
        Expr::UnaryOp(node) if node.op == UnaryOp::Not => is_always(&node.operand, !value),
        Expr::BoolOp(node) => {
            let any = node.op == ruff_python_ast::BoolOp::Or;
            if any == value {
                node.values.iter().any(|part| is_always(part, value))
            } else {
                node.values.iter().all(|part| is_always(part, value))
            }
        }
        Expr::Tuple(node) => node.elts.is_empty() != value,
        Expr::List(node) => node.elts.is_empty() != value,
        _ => false,
    }
}

fn fewer(old: &[Guard<'_>], new: &[Guard<'_>]) -> Vec<String> {
    let count = |guards: &[Guard<'_>]| {
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for guard in guards {
            *found.entry(guard.class.clone()).or_default() += 1;
        }
        found
    };
    let (old, new) = (count(old), count(new));
    let at = |class: &str| new.get(class).copied().unwrap_or(0);
    let spare: usize = new
        .iter()
        .filter(|(class, _)| *class != "assert")
        .map(|(class, number)| number.saturating_sub(old.get(class).copied().unwrap_or(0)))
        .sum();
    let mut findings = Vec::new();
    for (class, number) in &old {
        let there = at(class) + if class == "assert" { spare } else { 0 };
        if there < *number {
            findings.push(format!("`{class}`: {number} before, {} now", at(class)));
        }
    }
    findings
}

/// Calls that check, and keywords that make a call strict.
fn fewer_checks(case: &Case<'_>) -> Vec<String> {
    let count = |lens: &Lens<'_>| {
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for node in &lens.code.exprs {
            let Expr::Call(call) = node.expr else { continue };
            let name = match &*call.func {
                Expr::Name(name) => name.id.as_str(),
                Expr::Attribute(node) => node.attr.as_str(),
                _ => continue,
            };
            let plain = name.trim_start_matches('_').to_ascii_lowercase();
            if CHECKING.iter().any(|start| plain.starts_with(start)) {
                *found.entry(format!("`{name}`")).or_default() += 1;
            }
            for keyword in &*call.arguments.keywords {
                let strict = keyword.arg.as_ref().is_some_and(|arg| STRICT.contains(&arg.as_str()));
                if strict && !constant::is_empty_value(&keyword.value) {
                    let arg = keyword.arg.as_ref().map_or("", |arg| arg.as_str());
                    *found.entry(format!("`{arg}=`")).or_default() += 1;
                }
            }
        }
        found
    };
    let (old, new) = (count(&case.old), count(&case.new));
    old.iter()
        .filter(|(what, number)| new.get(*what).copied().unwrap_or(0) < **number)
        .map(|(what, number)| format!("{what}: {number} before, {} now", new.get(what).copied().unwrap_or(0)))
        .collect()
}

const CHECKING: &[&str] = &[
    "validate",
    "check",
    "verify",
    "ensure",
    "require",
    "assert",
    "raise_for",
    "must_",
    "expect_",
    "guard",
    "enforce",
];
const STRICT: &[&str] = &["strict", "validate", "verify", "verify_integrity", "check", "check_circular"];

/// Tests of the old body that are gone although what they ask about is still there.
fn lost(case: &Case<'_>, old: &[Guard<'_>], new: &[Guard<'_>]) -> Vec<String> {
    let key = |guard: &Guard<'_>| guard.test.map(|(test, negated)| condition(test, negated));
    let old_keys: Vec<Option<String>> = old.iter().map(key).collect();
    let new_keys: Vec<Option<String>> = new.iter().map(key).collect();
    let mut spare: Vec<&Guard<'_>> =
        new.iter().zip(&new_keys).filter(|(_, key)| !old_keys.contains(key)).map(|(guard, _)| guard).collect();
    let mut findings = Vec::new();
    for (guard, key) in old.iter().zip(&old_keys) {
        let (Some((test, _)), Some(_)) = (guard.test, key) else { continue };
        if new_keys.contains(key) {
            continue;
        }
        let asked: BTreeSet<&str> = names_in(test)
            .into_iter()
            .filter(|name| case.old.code.scopes.iter().any(|s| s.names.contains_key(name)))
            .collect();
        let still =
            asked.iter().filter(|name| case.new.code.scopes.iter().any(|s| s.names.contains_key(*name))).count();
        let texts = texts_in(test);
        let replaced = spare.iter().position(|new| {
            let same_class = new.class == guard.class || guard.class == "assert";
            same_class
                && new.test.is_some_and(|(test, _)| {
                    let names = expanded(&case.new, test);
                    asked.iter().any(|name| names.contains(name))
                        || texts.iter().any(|text| expanded_texts(&case.new, test).contains(text))
                })
        });
        if let Some(at) = replaced {
            spare.remove(at);
        } else if still > 0 && still == asked.len() {
            findings.push(format!("the test `{}` is gone", old_text(case, test)));
        }
    }
    findings
}

fn old_text(case: &Case<'_>, expr: &Expr) -> String {
    case.old_source.slice(expr).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The names in a test, and those in what they are bound to.
fn expanded<'a>(lens: &Lens<'a>, test: &'a Expr) -> BTreeSet<&'a str> {
    let mut names = names_in(test);
    for name in names.clone() {
        for scope in &lens.code.scopes {
            for binding in scope.names.get(name).into_iter().flatten() {
                match binding.kind {
                    BindingKind::Value(value) | BindingKind::Part(value, _) | BindingKind::Each(value) => {
                        names.extend(names_in(value));
                    }
                    _ => {}
                }
            }
        }
    }
    names
}

fn expanded_texts<'a>(lens: &Lens<'a>, test: &'a Expr) -> BTreeSet<&'a str> {
    let mut texts = texts_in(test);
    for name in names_in(test) {
        for scope in &lens.code.scopes {
            for binding in scope.names.get(name).into_iter().flatten() {
                if let BindingKind::Value(value) = binding.kind {
                    texts.extend(texts_in(value));
                }
            }
        }
    }
    texts
}

/// A test in one form, whichever way round it is written: `not a in b` and `a not in b` are one.
fn condition(test: &Expr, negated: bool) -> String {
    match test {
        Expr::UnaryOp(node) if node.op == UnaryOp::Not => condition(&node.operand, !negated),
        Expr::Compare(node) => {
            if let ([op], [right]) = (&*node.ops, &*node.comparators) {
                let (op, turned) = match op {
                    CmpOp::NotIn => ("in", true),
                    CmpOp::In => ("in", false),
                    CmpOp::IsNot => ("is", true),
                    CmpOp::Is => ("is", false),
                    CmpOp::NotEq => ("==", true),
                    CmpOp::Eq => ("==", false),
                    CmpOp::GtE => ("<", true),
                    CmpOp::Lt => ("<", false),
                    CmpOp::Gt => ("<=", true),
                    CmpOp::LtE => ("<=", false),
                };
                let (left, right) = (ComparableExpr::from(&*node.left), ComparableExpr::from(right));
                return format!("{} {left:?} {op} {right:?}", negated != turned);
            }
            format!("{negated} {:?}", ComparableExpr::from(test))
        }
        _ => format!("{negated} {:?}", ComparableExpr::from(test)),
    }
}
