//! Gate 4: imports are harmless, and of modules that can do more only the harmless members are used.

use std::collections::{BTreeSet, HashSet};

use ruff_python_ast::{Expr, Stmt};

use super::Look;
use crate::lens::{Lens, is_under};
use crate::lists::lists;
use crate::reach::{imported, reached_deeply};
use crate::vet::Case;

/// **no_new_imports**: what is imported is in the fixed list of pure modules, or imported by the file, or allowed; of
/// mixed modules only harmless members are used; no module of the system is handed on as a value.
pub(super) fn no_new_imports(case: &Case<'_>) -> Look {
    let mut findings = BTreeSet::new();
    findings.extend(statements(case));
    let old: HashSet<String> = reached_deeply(&case.old).into_iter().map(|reach| reach.bare).collect();
    for reach in reached_deeply(&case.new) {
        if old.contains(&reach.bare) || is_allowed(case, &reach.bare) {
            continue;
        }
        if let Some(member) = harmful_member(&reach.bare) {
            findings.insert(format!("`{member}` is not among the harmless members of its module"));
        }
        if let Some(expr) = reach.expr
            && lists().modules.guarded.contains(&reach.bare)
            && is_value(&case.new, expr)
        {
            findings.insert(format!("the module `{}` is handed on as a value", reach.bare));
        }
    }
    findings.into_iter().collect::<Vec<_>>().into()
}

fn is_allowed(case: &Case<'_>, path: &str) -> bool {
    case.context.allow_imports.iter().any(|allowed| is_under(path, allowed))
}

/// A member of a mixed module that is not in its list.
fn harmful_member(path: &str) -> Option<&str> {
    let (module, members) = lists().modules.mixed.iter().find(|(module, _)| is_under(path, module))?;
    let member = path.strip_prefix(module.as_str())?.strip_prefix('.')?;
    if member == "path" && module == "os" {
        return None;
    }
    let harmless = members.iter().any(|harmless| match harmless.strip_suffix('!') {
        Some(alone) => member == alone,
        None => is_under(member, harmless),
    });
    (!harmless).then_some(path)
}

fn is_value(lens: &Lens<'_>, expr: &Expr) -> bool {
    let Some(at) = lens.code.place(expr) else { return false };
    let parent = lens.code.parent(at).map(|parent| parent.expr);
    // `m = os` is looked through by its name; anything else hides the module.
    let is_bound = parent.is_none()
        && matches!(lens.code.stmts[lens.code.exprs[at].stmt].stmt, Stmt::Assign(node) if node.targets.iter().all(Expr::is_name_expr));
    !is_bound && !matches!(parent, Some(Expr::Attribute(_)))
}

fn statements(case: &Case<'_>) -> Vec<String> {
    let old: HashSet<String> = imported(case.old.code).into_iter().map(|reach| reach.bare).collect();
    let mut findings = Vec::new();
    for node in &case.new.code.stmts {
        match node.stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let name = alias.name.as_str();
                    if !old.contains(name) && !may_import(case, name) {
                        findings.push(format!("`import {name}` is new"));
                    }
                }
            }
            Stmt::ImportFrom(import) => {
                let dots = ".".repeat(import.level as usize);
                let module = format!("{dots}{}", import.module.as_ref().map_or("", |name| name.as_str()));
                for alias in &import.names {
                    let path = format!("{module}.{}", alias.name);
                    if alias.name.as_str() == "*" {
                        findings.push(format!("`from {module} import *` is new"));
                    } else if !old.contains(&path) && !may_import(case, &path) {
                        findings.push(format!("`from {module} import {}` is new", alias.name));
                    }
                }
            }
            _ => {}
        }
    }
    findings
}

fn may_import(case: &Case<'_>, path: &str) -> bool {
    let modules = &lists().modules;
    if is_allowed(case, path) || modules.pure.iter().any(|module| is_under(path, module)) {
        return true;
    }
    if modules.mixed.iter().any(|(module, _)| is_under(path, module)) {
        return harmful_member(path).is_none();
    }
    // A package of whose parts some are pure: `import urllib.parse`, `import xml`.
    if path.starts_with('.') {
        return case.new.module.imports.contains(path);
    }
    let root = path.split('.').next().unwrap_or(path);
    let by_file =
        case.new.module.imports.iter().any(|imported| imported == path || imported.split('.').next() == Some(root));
    by_file && super::abilities::ability_of(path).is_none()
}
