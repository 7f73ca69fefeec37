//! Looking through names: which dotted path an expression may stand for, whatever it was called on the way.
//!
//! `m = os`, `from os import popen as reader`, `getattr(os, "system")`, `functools.partial(os.remove, x)` and
//! `importlib.import_module("o" + "s")` are all seen for what they reach.

use ruff_python_ast::{Expr, ExprCall, StmtFunctionDef};

use crate::code::{Binding, BindingKind, Code};
use crate::constant;
use crate::lists::lists;
use crate::module::{Global, Module};

/// A function together with the module it stands in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lens<'a> {
    /// The function.
    pub code: &'a Code<'a>,
    /// What it sees around it.
    pub module: &'a Module<'a>,
}

/// What a name refers to.
#[derive(Debug)]
pub(crate) enum Referent<'l, 'a> {
    /// A name of the function, or of a function inside it; the scope that holds it.
    Local(usize, &'l [Binding<'a>]),
    /// A name of a function around the target, or of the module.
    Outer(&'l [Global<'a>]),
    /// Nobody binds it: a built-in.
    Builtin,
}

const DEPTH: usize = 10;
const WIDTH: usize = 8;

impl<'a> Lens<'a> {
    /// What a name means in a scope; `None` is the module's own scope.
    pub fn referent(&self, name: &str, scope: Option<usize>) -> Referent<'a, 'a> {
        if let Some((at, bindings)) = scope.and_then(|scope| self.code.lookup(name, scope)) {
            return Referent::Local(at, bindings);
        }
        self.module.names.get(name).map_or(Referent::Builtin, |globals| Referent::Outer(globals))
    }

    /// The dotted paths that an expression may stand for: `os.system`, `builtins.eval`, and with `()` what a call gives
    /// (`pathlib.Path().parent`). Empty for data.
    pub fn paths(&self, expr: &Expr) -> Vec<String> {
        let scope = self.code.place(expr).map(|at| self.code.exprs[at].scope);
        self.paths_in(expr, scope, 0)
    }

    fn paths_in(&self, expr: &Expr, scope: Option<usize>, depth: usize) -> Vec<String> {
        if depth > DEPTH {
            return Vec::new();
        }
        let go = |inner: &Expr| self.paths_in(inner, scope, depth + 1);
        let mut found = match expr {
            Expr::Name(name) => self.name_paths(name.id.as_str(), scope, depth),
            Expr::Attribute(node) => {
                go(&node.value).into_iter().map(|path| normal(&format!("{path}.{}", node.attr))).collect()
            }
            Expr::Call(call) => self.call_paths(call, scope, depth),
            Expr::Named(node) => go(&node.value),
            Expr::Await(node) => go(&node.value),
            Expr::If(node) => [go(&node.body), go(&node.orelse)].concat(),
            Expr::BoolOp(node) => node.values.iter().flat_map(go).collect(),
            Expr::Subscript(node) => self.subscript_paths(&node.value, scope, depth),
            _ => Vec::new(),
        };
        found.sort();
        found.dedup();
        found.truncate(WIDTH);
        found
    }

    fn name_paths(&self, name: &str, scope: Option<usize>, depth: usize) -> Vec<String> {
        match self.referent(name, scope) {
            Referent::Local(_, bindings) => {
                bindings.iter().flat_map(|binding| self.binding_paths(binding, depth)).collect()
            }
            Referent::Outer(globals) => globals
                .iter()
                .flat_map(|global| match global {
                    Global::Import(path) => vec![normal(path)],
                    Global::Value(value) => self.paths_in(value, None, depth + 1),
                    _ => Vec::new(),
                })
                .collect(),
            Referent::Builtin => vec![format!("builtins.{name}")],
        }
    }

    fn binding_paths(&self, binding: &Binding<'a>, depth: usize) -> Vec<String> {
        let scope = Some(binding.scope);
        match &binding.kind {
            BindingKind::Import(path) => vec![normal(path)],
            BindingKind::Value(value) | BindingKind::Parameter(_, Some(value)) => {
                self.paths_in(value, scope, depth + 1)
            }
            BindingKind::With(value) => self.paths_in(value, scope, depth + 1),
            BindingKind::Part(value, part) => self.part_paths(value, Some(*part), scope, depth),
            BindingKind::Each(value) => self.part_paths(value, None, scope, depth),
            BindingKind::EachPart(value, part) => {
                let rows = crate::code::collect_elements(value).unwrap_or_default();
                rows.iter().flat_map(|row| self.part_paths(row, Some(*part), scope, depth)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn part_paths(&self, value: &Expr, part: Option<usize>, scope: Option<usize>, depth: usize) -> Vec<String> {
        let parts = crate::code::collect_elements(value).unwrap_or_default();
        match part {
            Some(part) => parts.get(part).map_or_else(Vec::new, |part| self.paths_in(part, scope, depth + 1)),
            None => parts.iter().flat_map(|part| self.paths_in(part, scope, depth + 1)).collect(),
        }
    }

    fn subscript_paths(&self, value: &Expr, scope: Option<usize>, depth: usize) -> Vec<String> {
        let go = |inner: &Expr| self.paths_in(inner, scope, depth + 1);
        match value {
            Expr::Dict(node) => node.iter_values().flat_map(go).collect(),
            _ if crate::code::collect_elements(value).is_some() => self.part_paths(value, None, scope, depth),
            // An element of an imported object stays under its name: `os.environ["X"]`.
            _ => go(value).into_iter().map(|path| format!("{path}[]")).collect(),
        }
    }

    fn call_paths(&self, call: &ExprCall, scope: Option<usize>, depth: usize) -> Vec<String> {
        let go = |inner: &Expr| self.paths_in(inner, scope, depth + 1);
        let mut found = Vec::new();
        for path in go(&call.func) {
            match path.as_str() {
                "builtins.getattr" => {
                    let (Some(object), Some(name)) = (call.arguments.args.first(), call.arguments.args.get(1)) else {
                        continue;
                    };
                    for attribute in constant::texts(self, name, scope) {
                        found.extend(go(object).into_iter().map(|path| normal(&format!("{path}.{attribute}"))));
                    }
                }
                "builtins.__import__" | "importlib.import_module" | "importlib.__import__" => {
                    let module = call.arguments.args.first();
                    found.extend(module.into_iter().flat_map(|module| constant::texts(self, module, scope)));
                }
                "functools.partial" => found.extend(call.arguments.args.first().into_iter().flat_map(go)),
                _ => found.push(format!("{path}()")),
            }
        }
        found
    }

    /// The function of the file that a call runs: a local one, one of the module, or a method of the same class.
    pub fn callee(&self, call: &ExprCall) -> Option<&'a StmtFunctionDef> {
        match &*call.func {
            Expr::Name(name) => {
                let scope = self.code.scope_of(&call.func);
                match self.referent(name.id.as_str(), Some(scope)) {
                    Referent::Local(_, bindings) => bindings.iter().find_map(|binding| match binding.kind {
                        BindingKind::Function(function, _) => Some(function),
                        _ => None,
                    }),
                    Referent::Outer(_) => self.module.function(name.id.as_str()),
                    Referent::Builtin => None,
                }
            }
            Expr::Attribute(node) => match &*node.value {
                Expr::Name(receiver) if matches!(receiver.id.as_str(), "self" | "cls") => {
                    self.module.method(node.attr.as_str())
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// A path under its plain name: `logging.os.system` and `random._os.system` are `os.system`, `io.open` is `open`.
pub(crate) fn normal(path: &str) -> String {
    let modules = &lists().modules;
    let mut parts: Vec<&str> = path.split('.').collect();
    let guarded = &modules.guarded;
    let root = parts.first().copied().unwrap_or_default();
    let is_own = modules.own.iter().any(|own| is_under(path, own));
    let of_standard_library = modules.mixed.contains_key(root)
        || guarded.iter().any(|module| module == root)
        || modules.pure.iter().any(|module| module.split('.').next() == Some(root));
    let hides = if of_standard_library { guarded } else { &modules.guarded_anywhere };
    let hidden = parts.iter().enumerate().skip(1).rev().find(|(at, part)| {
        let reached_by_module = parts.iter().take(*at).all(|part| !part.ends_with(')') && !part.ends_with(']'));
        let plain = part.trim_start_matches('_');
        let named_like_its_module = parts.get(at - 1).is_some_and(|before| before == *part);
        reached_by_module && !named_like_its_module && !is_own && hides.iter().any(|module| module == plain)
    });
    if let Some((at, _)) = hidden {
        parts.drain(..at);
    }
    let joined = parts.join(".");
    let plain = joined.trim_start_matches('_');
    let joined = if plain.len() < joined.len() && guarded.iter().any(|module| is_under(plain, module)) {
        plain.to_owned()
    } else {
        joined
    };
    for (other, name) in &modules.same {
        if let Some(rest) = joined.strip_prefix(other.as_str())
            && (rest.is_empty() || rest.starts_with('.') || rest.starts_with('('))
        {
            return format!("{name}{rest}");
        }
    }
    joined
}

/// Is `path` this dotted prefix or below it?
pub(crate) fn is_under(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '(', '[']))
}
