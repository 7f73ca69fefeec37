//! Gate 2, names: what the function takes from outside itself stays the same.

use std::collections::BTreeSet;

use ruff_python_ast::{Expr, StmtFunctionDef};

use super::Look;
use crate::code::{Code, ScopeKind};
use crate::vet::FenceCase;

/// **same_free_variables**: the tuple of closure names is the same; cells are bound by position.
pub(super) fn same_free_variables(case: &FenceCase<'_>) -> Look {
    let Some(new) = case.new else { return Look::Passed };
    let (old, new) = (free(case, case.old), free(case, new));
    let mut findings = Vec::new();
    findings.extend(new.difference(&old).map(|name| format!("closure name `{name}` is new")));
    findings.extend(old.difference(&new).map(|name| format!("closure name `{name}` is not used any more")));
    findings.into()
}

/// The names that a function, and those inside it, take from the functions around it; `__class__` for `super()`.
fn free(case: &FenceCase<'_>, function: &StmtFunctionDef) -> BTreeSet<String> {
    let code = Code::of(function);
    let mut found = BTreeSet::new();
    for node in &code.exprs {
        let Expr::Name(name) = node.expr else { continue };
        let name = name.id.as_str();
        if matches!(name, "super" | "__class__")
            && case.module.class.is_some()
            && code.lookup(name, node.scope).is_none()
        {
            found.insert("__class__".to_owned());
        }
        let is_global = code.scopes[node.scope].globals.contains(name);
        if !is_global && case.module.closure.contains(name) && code.lookup(name, node.scope).is_none() {
            found.insert(name.to_owned());
        }
    }
    found
}

/// **no_new_globals**: no new `global`; no new `nonlocal` that reaches out of the function.
pub(super) fn no_new_globals(case: &FenceCase<'_>) -> Look {
    let Some(new) = case.new else { return Look::Passed };
    let (old, new) = (declared(case.old), declared(new));
    let findings: Vec<String> = new.difference(&old).map(|(word, name)| format!("`{word} {name}` is new")).collect();
    findings.into()
}

fn declared(function: &StmtFunctionDef) -> BTreeSet<(&'static str, String)> {
    let code = Code::of(function);
    let mut found = BTreeSet::new();
    for (at, scope) in code.scopes.iter().enumerate() {
        found.extend(scope.globals.iter().map(|name| ("global", (*name).to_owned())));
        let outward = scope.nonlocals.iter().filter(|name| !bound_inside(&code, at, name));
        found.extend(outward.map(|name| ("nonlocal", (*name).to_owned())));
    }
    found
}

/// Is a `nonlocal` name one of the target's own locals?
fn bound_inside(code: &Code<'_>, from: usize, name: &str) -> bool {
    let mut at = code.scopes[from].parent;
    while let Some(scope) = at {
        let here = &code.scopes[scope];
        if matches!(here.kind, ScopeKind::Function) && !here.nonlocals.contains(name) && here.names.contains_key(name) {
            return true;
        }
        at = here.parent;
    }
    false
}
