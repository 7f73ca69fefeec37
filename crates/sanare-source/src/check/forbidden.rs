//! Gate 4: nothing runs text as code or reaches into the interpreter, under whatever name.

use std::collections::{BTreeSet, HashSet};

use ruff_python_ast::{Expr, Stmt};

use super::Look;
use crate::code::Code;
use crate::constant;
use crate::lens::{Lens, Referent, is_under};
use crate::lists::{covers, lists};
use crate::reach::{Reach, reached_deeply};
use crate::vet::Case;

/// **no_forbidden_names**: nothing of `data/forbidden.toml` that the old body did not name already.
pub(super) fn no_forbidden_names(case: &Case<'_>) -> Look {
    let old: HashSet<String> = reached_deeply(&case.old).into_iter().map(|reach| reach.bare).collect();
    let mut findings = BTreeSet::new();
    for reach in reached_deeply(&case.new) {
        if !old.contains(&reach.bare)
            && let Some(what) = forbidden(&case.new, &reach)
        {
            findings.insert(match &reach.through {
                Some(function) => format!("{what}, through `{function}`"),
                None => what,
            });
        }
    }
    findings.extend(names(case));
    findings.extend(classes(case));
    findings.extend(methods(case));
    findings.into_iter().collect::<Vec<_>>().into()
}

fn forbidden(lens: &Lens<'_>, reach: &Reach<'_>) -> Option<String> {
    let list = &lists().forbidden;
    let path = &reach.bare;
    if let Some(name) = reach.path.strip_prefix("builtins.") {
        let name = name.split('.').next().unwrap_or(name);
        let is_forbidden = list.builtins.iter().any(|entry| entry == name)
            || (list.only_called.iter().any(|entry| entry == name)
                && reach.through.is_none()
                && is_value(lens, reach, name));
        return is_forbidden.then(|| format!("`{name}` is forbidden"));
    }
    let found = list.modules.iter().any(|module| is_under(path, module))
        || list.members.iter().any(|member| covers(member, path));
    found.then(|| format!("`{path}` is forbidden"))
}

/// Is a function that may only be called named as a value: bound, handed on, kept in a list?
fn is_value(lens: &Lens<'_>, reach: &Reach<'_>, name: &str) -> bool {
    let Some(expr) = reach.expr else { return false };
    let Some(at) = lens.code.place(expr) else { return false };
    if matches!(expr, Expr::Name(here) if here.id.as_str() != name) {
        return false;
    }
    match lens.code.parent(at).map(|parent| parent.expr) {
        Some(Expr::Call(call)) => !std::ptr::eq(&raw const *call.func, std::ptr::from_ref(expr)),
        _ => true,
    }
}

/// `__builtins__` and its like, wherever the name stands.
fn names(case: &Case<'_>) -> Vec<String> {
    let loaded = |lens: &Lens<'_>| -> BTreeSet<String> {
        lens.code
            .exprs
            .iter()
            .filter_map(|node| match node.expr {
                Expr::Name(name) if matches!(lens.referent(name.id.as_str(), Some(node.scope)), Referent::Builtin) => {
                    Some(name.id.to_string())
                }
                _ => None,
            })
            .collect()
    };
    let old = loaded(&case.old);
    let list = &lists().forbidden.builtins;
    loaded(&case.new)
        .into_iter()
        .filter(|name| !old.contains(name) && (list.contains(name) || name == "vars"))
        .map(|name| format!("`{name}` is forbidden"))
        .collect()
}

/// `type` with three arguments, `type` as a base, a metaclass.
fn classes(case: &Case<'_>) -> Vec<String> {
    let count = |code: &Code<'_>| {
        let made = code.exprs.iter().filter(|node| match node.expr {
            Expr::Call(call) => {
                matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "type") && call.arguments.len() != 1
            }
            _ => false,
        });
        let meta = code.stmts.iter().filter(|node| match node.stmt {
            Stmt::ClassDef(class) => class.arguments.as_ref().is_some_and(|arguments| {
                arguments.find_keyword("metaclass").is_some()
                    || arguments.args.iter().any(|base| matches!(base, Expr::Name(name) if name.id.as_str() == "type"))
            }),
            _ => false,
        });
        made.count() + meta.count()
    };
    if count(case.new.code) > count(case.old.code) {
        return vec!["a class made by `type` or a metaclass is forbidden".to_owned()];
    }
    Vec::new()
}

/// Methods by which data becomes code.
fn methods(case: &Case<'_>) -> Vec<String> {
    let mut findings = Vec::new();
    for node in &case.new.code.exprs {
        if let Expr::Call(call) = node.expr
            && let Expr::Attribute(method) = &*call.func
            && !call.arguments.is_empty()
            && lists().forbidden.methods.iter().any(|name| name == method.attr.as_str())
            && !case.old_uses_attribute(method.attr.as_str())
        {
            findings.push(format!("`.{}` is forbidden", method.attr));
        }
        // A table's `query` runs what its text says, calls included.
        if let Expr::Call(call) = node.expr
            && let Expr::Attribute(method) = &*call.func
            && method.attr.as_str() == "query"
            && !case.old_uses_attribute("query")
            && let Some(text) = call.arguments.args.first()
        {
            let texts = constant::texts(&case.new, text, Some(node.scope));
            if texts.is_empty() || texts.iter().any(|text| text.contains('@') && text.contains('(')) {
                findings.push("a `query` that is not a plain condition is forbidden".to_owned());
            }
        }
    }
    findings
}
