//! Gate 4: nothing outside the function is changed: no module, class, built-in, global or object that outlives the call.

use std::collections::{BTreeSet, HashSet};

use ruff_python_ast::Expr;
use ruff_python_ast::comparable::ComparableExpr;

use super::Look;
use crate::code::{BindingKind, Code};
use crate::constant::{CHANGING, is_empty_value};
use crate::lens::{Lens, Referent};
use crate::module::Global;
use crate::vet::Case;

/// **no_patching**: no new assignment to, deletion from or changing call on what is not the function's own.
pub(super) fn no_patching(case: &Case<'_>) -> Look {
    let lens = &case.new;
    let old_targets: HashSet<ComparableExpr<'_>> =
        targets(case.old.code).into_iter().map(ComparableExpr::from).collect();
    let mut findings = BTreeSet::new();
    for target in targets(lens.code) {
        let is_element_of_old = match target {
            Expr::Subscript(new) => targets(case.old.code).iter().any(|old| match old {
                Expr::Subscript(old) => ComparableExpr::from(&*old.value) == ComparableExpr::from(&*new.value),
                _ => false,
            }),
            _ => false,
        };
        if is_element_of_old || old_targets.contains(&ComparableExpr::from(target)) {
            continue;
        }
        if let Some(whose) = outside(case, target, true) {
            findings.insert(format!("`{}` belongs to {whose}", case.text(target)));
        }
    }
    let old_calls = changing_calls(case.old.code);
    for (receiver, method) in changing_calls(lens.code) {
        let was_there = old_calls
            .iter()
            .any(|(old, name)| *name == method && ComparableExpr::from(*old) == ComparableExpr::from(receiver));
        let is_function_of_module =
            lens.paths(receiver).iter().any(|path| !path.contains('(') && is_module(lens, receiver, path));
        if !was_there
            && !is_function_of_module
            && !is_stream(lens, receiver)
            && let Some(whose) = outside(case, receiver, false)
        {
            findings.insert(format!("`{}.{method}` changes {whose}", case.text(receiver)));
        }
    }
    findings.extend(by_setattr(case));
    findings.into_iter().collect::<Vec<_>>().into()
}

/// Everything with a dot or brackets that is assigned, deleted or bound by a loop or `with`.
fn targets<'a>(code: &Code<'a>) -> Vec<&'a Expr> {
    code.exprs
        .iter()
        .filter(|node| match node.expr {
            Expr::Attribute(target) => !target.ctx.is_load(),
            Expr::Subscript(target) => !target.ctx.is_load(),
            _ => false,
        })
        .map(|node| node.expr)
        .collect()
}

fn changing_calls<'a>(code: &Code<'a>) -> Vec<(&'a Expr, &'a str)> {
    code.exprs
        .iter()
        .filter_map(|node| match node.expr {
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(method) if CHANGING.contains(&method.attr.as_str()) => {
                    Some((&*method.value, method.attr.as_str()))
                }
                _ => None,
            },
            _ => None,
        })
        .collect()
}

/// `operator.add(a, b)`: a function of an imported module, no method.
fn is_module(lens: &Lens<'_>, receiver: &Expr, path: &str) -> bool {
    match receiver {
        Expr::Name(name) => match lens.referent(name.id.as_str(), Some(lens.code.scope_of(receiver))) {
            Referent::Local(_, bindings) => bindings.iter().all(|b| matches!(b.kind, BindingKind::Import(_))),
            Referent::Outer(globals) => globals.iter().all(|global| matches!(global, Global::Import(_))),
            Referent::Builtin => false,
        },
        Expr::Attribute(node) => {
            path.matches('.').count() <= 1 && path != "os.environ" && is_module(lens, &node.value, path)
        }
        _ => false,
    }
}

fn is_stream(lens: &Lens<'_>, receiver: &Expr) -> bool {
    lens.paths(receiver).iter().any(|path| matches!(path.as_str(), "sys.stderr" | "sys.stdout"))
}

/// Whose thing is at the root of an expression, if not the function's own?
fn outside(case: &Case<'_>, expr: &Expr, is_target: bool) -> Option<String> {
    let lens = &case.new;
    let (root, steps) = root_of(expr, is_target);
    let name = match root {
        Expr::Name(name) => name.id.as_str(),
        // `type(self).cache = …`, `logging.getLogger("x").disabled = True`
        Expr::Call(call) => {
            let paths = lens.paths(&call.func);
            let is_class = paths.iter().any(|path| path == "builtins.type");
            let shared = paths.iter().any(|path| path.starts_with("logging.") || path.starts_with("importlib."));
            return (is_class || shared).then(|| "a class or a shared object".to_owned());
        }
        _ => return None,
    };
    match lens.referent(name, Some(lens.code.scope_of(root))) {
        Referent::Outer(globals) => {
            let what =
                if globals.iter().any(|global| matches!(global, Global::Import(_))) { "a module" } else { "the file" };
            Some(format!("{what}, not to the function"))
        }
        Referent::Builtin => Some("the built-ins".to_owned()),
        Referent::Local(_, bindings) => {
            if let Some(path) = lens.paths(root).iter().find(|path| is_shared(path)) {
                return Some(format!("`{path}`, not to the function"));
            }
            let parameter = bindings.iter().all(|b| matches!(b.kind, BindingKind::Parameter(..)));
            let is_header = parameter && bindings.iter().all(|b| b.scope == 0 && b.stmt.is_none());
            let is_self = is_header && case.new.module.class.is_some() && lens.code.parameters().next() == Some(name);
            let builds = matches!(
                lens.code.function.name.as_str(),
                "__init__" | "__new__" | "__post_init__" | "__setstate__" | "__enter__" | "__aenter__"
            );
            if is_self && !builds {
                return Some("the object, which outlives the call".to_owned());
            }
            let keeps = bindings.iter().any(|b| match b.kind {
                BindingKind::Parameter(_, Some(default)) => is_mutable(default),
                _ => false,
            });
            if is_header && keeps {
                return Some("a default value, which outlives the call".to_owned());
            }
            let attribute = is_target && steps == 1 && expr.is_attribute_expr();
            (is_header && attribute).then(|| "what the call was given".to_owned())
        }
    }
}

fn is_mutable(default: &Expr) -> bool {
    is_empty_value(default) && matches!(default, Expr::Dict(_) | Expr::List(_) | Expr::Call(_))
}

/// A module or class itself, or an object that modules keep: not what a call gave.
fn is_shared(path: &str) -> bool {
    let is_instance = path.contains("()") || path.contains("[]");
    (!is_instance && !path.starts_with("builtins."))
        || path.starts_with("logging.getLogger")
        || path.starts_with("decimal.getcontext")
}

/// The innermost thing that an attribute or element chain hangs on.
fn root_of(expr: &Expr, is_target: bool) -> (&Expr, usize) {
    let (mut at, mut steps) = (expr, 0);
    loop {
        at = match at {
            Expr::Attribute(node) => &node.value,
            Expr::Subscript(node) => &node.value,
            Expr::Call(call) if !is_target => match &*call.func {
                Expr::Attribute(method) => &method.value,
                _ => return (at, steps),
            },
            _ => return (at, steps),
        };
        steps += 1;
    }
}

/// `setattr(csv, "DictReader", X)` and its like.
fn by_setattr(case: &Case<'_>) -> Vec<String> {
    let lens = &case.new;
    let mut findings = Vec::new();
    for node in &lens.code.exprs {
        let Expr::Call(call) = node.expr else { continue };
        let sets = lens.paths(&call.func).iter().any(|path| {
            matches!(
                path.as_str(),
                "builtins.setattr"
                    | "builtins.delattr"
                    | "operator.setitem"
                    | "operator.delitem"
                    | "unittest.mock.patch"
            ) || path.ends_with(".__setattr__")
                || path.ends_with(".__setitem__")
        });
        if !sets || case.is_old(node.expr) {
            continue;
        }
        let Some(object) = call.arguments.args.first() else { continue };
        let is_own = match object {
            Expr::Name(name) => match lens.referent(name.id.as_str(), Some(node.scope)) {
                Referent::Local(_, bindings) => {
                    lens.paths(object).iter().all(|path| !is_shared(path))
                        && bindings.iter().all(|b| matches!(b.kind, BindingKind::Value(_) | BindingKind::Each(_)))
                }
                _ => false,
            },
            _ => false,
        };
        if !is_own {
            findings.push(format!("`{}` changes what is not the function's own", case.text(node.expr)));
        }
    }
    findings
}
