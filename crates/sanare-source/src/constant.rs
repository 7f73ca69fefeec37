//! What can be known of a value without running anything: constants, texts put together from parts, fixed lists.

use ruff_python_ast::{Expr, ExprCall, Number, Operator, UnaryOp};

use crate::code::{Binding, BindingKind, collect_elements};
use crate::lens::{Lens, Referent};
use crate::module::Global;

const DEPTH: usize = 8;
const WIDTH: usize = 64;

/// All texts that an expression may be, as far as they are written in the code: literals, sums, joins, reversed or
/// decoded ones, through names, loops over literal lists and parameters of local functions. Empty if not known.
pub(crate) fn texts(lens: &Lens<'_>, expr: &Expr, scope: Option<usize>) -> Vec<String> {
    let mut found = texts_in(lens, expr, scope, 0);
    found.sort();
    found.dedup();
    found.truncate(WIDTH);
    found
}

fn texts_in(lens: &Lens<'_>, expr: &Expr, scope: Option<usize>, depth: usize) -> Vec<String> {
    if depth > DEPTH {
        return Vec::new();
    }
    let go = |inner: &Expr| texts_in(lens, inner, scope, depth + 1);
    match expr {
        Expr::StringLiteral(node) => vec![node.value.to_str().to_owned()],
        Expr::BinOp(node) if node.op == Operator::Add => pairs(&go(&node.left), &go(&node.right)),
        Expr::If(node) => [go(&node.body), go(&node.orelse)].concat(),
        Expr::BoolOp(node) => node.values.iter().flat_map(go).collect(),
        Expr::Named(node) => go(&node.value),
        Expr::FString(node) => interpolated(lens, node, scope, depth),
        Expr::Name(name) => name_texts(lens, name.id.as_str(), scope, depth),
        Expr::Subscript(node) => match &*node.slice {
            Expr::Slice(slice) if is_minus_one(slice.step.as_deref()) => {
                go(&node.value).into_iter().map(|text| text.chars().rev().collect()).collect()
            }
            Expr::Slice(_) => Vec::new(),
            _ => element_texts(lens, &node.value, None, scope, depth),
        },
        Expr::Call(call) => call_texts(lens, call, scope, depth),
        _ => Vec::new(),
    }
}

fn pairs(left: &[String], right: &[String]) -> Vec<String> {
    left.iter().flat_map(|left| right.iter().map(move |right| format!("{left}{right}"))).take(WIDTH).collect()
}

fn interpolated(
    lens: &Lens<'_>,
    node: &ruff_python_ast::ExprFString,
    scope: Option<usize>,
    depth: usize,
) -> Vec<String> {
    let mut found = vec![String::new()];
    for element in node.value.elements() {
        let parts = match element {
            ruff_python_ast::InterpolatedStringElement::Literal(literal) => vec![literal.value.to_string()],
            ruff_python_ast::InterpolatedStringElement::Interpolation(inner) => {
                texts_in(lens, &inner.expression, scope, depth + 1)
            }
        };
        found = pairs(&found, &parts);
    }
    found
}

fn name_texts(lens: &Lens<'_>, name: &str, scope: Option<usize>, depth: usize) -> Vec<String> {
    match lens.referent(name, scope) {
        Referent::Local(holder, bindings) => {
            bindings.iter().flat_map(|binding| binding_texts(lens, name, holder, binding, depth)).collect()
        }
        Referent::Outer(globals) => globals
            .iter()
            .flat_map(|global| match global {
                Global::Value(value) => texts_in(lens, value, None, depth + 1),
                _ => Vec::new(),
            })
            .collect(),
        Referent::Builtin => Vec::new(),
    }
}

fn binding_texts(lens: &Lens<'_>, name: &str, holder: usize, binding: &Binding<'_>, depth: usize) -> Vec<String> {
    let scope = Some(binding.scope);
    match &binding.kind {
        BindingKind::Value(value) => texts_in(lens, value, scope, depth + 1),
        BindingKind::Part(value, part) => element_texts(lens, value, Some(*part), scope, depth),
        BindingKind::Each(value) => element_texts(lens, value, None, scope, depth),
        BindingKind::EachPart(value, part) => {
            let rows = fixed_elements(lens, value, scope, depth);
            rows.iter().flat_map(|(row, scope)| element_texts(lens, row, Some(*part), *scope, depth)).collect()
        }
        BindingKind::Parameter(position, default) => {
            let mut found = argument_texts(lens, name, holder, *position, depth);
            found.extend(default.iter().flat_map(|default| texts_in(lens, default, scope, depth + 1)));
            found
        }
        _ => Vec::new(),
    }
}

/// What local callers hand to a parameter of a function inside the target.
fn argument_texts(lens: &Lens<'_>, name: &str, holder: usize, position: usize, depth: usize) -> Vec<String> {
    if depth > DEPTH || holder == 0 {
        return Vec::new();
    }
    let calls = calls_of_scope(lens, holder);
    calls
        .iter()
        .filter_map(|call| call.arguments.find_argument_value(name, position))
        .flat_map(|value| texts_in(lens, value, Some(lens.code.scope_of(value)), depth + 1))
        .collect()
}

/// The calls, within the target, of the function whose scope this is.
pub(crate) fn calls_of_scope<'a>(lens: &Lens<'a>, scope: usize) -> Vec<&'a ExprCall> {
    lens.code
        .exprs
        .iter()
        .filter_map(|node| {
            let Expr::Call(call) = node.expr else { return None };
            let Expr::Name(callee) = &*call.func else { return None };
            let (_, bindings) = lens.code.lookup(callee.id.as_str(), node.scope)?;
            let is_it =
                bindings.iter().any(|binding| matches!(binding.kind, BindingKind::Function(_, at) if at == scope));
            is_it.then_some(call)
        })
        .collect()
}

/// The elements of a list that is written in the code: a display, a name bound to one, the items of a literal mapping.
pub(crate) fn listed<'e>(lens: &Lens<'e>, expr: &'e Expr) -> Vec<&'e Expr> {
    let scope = lens.code.place(expr).map(|at| lens.code.exprs[at].scope);
    fixed_elements(lens, expr, scope, 0).into_iter().map(|(part, _)| part).collect()
}

/// The elements of a list that is written in the code, with the scope they are evaluated in.
fn fixed_elements<'e>(
    lens: &Lens<'e>,
    expr: &'e Expr,
    scope: Option<usize>,
    depth: usize,
) -> Vec<(&'e Expr, Option<usize>)> {
    if depth > DEPTH {
        return Vec::new();
    }
    if let Some(parts) = collect_elements(expr) {
        return parts.iter().map(|part| (part, scope)).collect();
    }
    match expr {
        Expr::Set(node) => node.elts.iter().map(|part| (part, scope)).collect(),
        Expr::Dict(node) => node.iter_keys().flatten().map(|part| (part, scope)).collect(),
        Expr::Name(name) => match lens.referent(name.id.as_str(), scope) {
            Referent::Local(_, bindings) => bindings
                .iter()
                .flat_map(|binding| match &binding.kind {
                    BindingKind::Value(value) => fixed_elements(lens, value, Some(binding.scope), depth + 1),
                    _ => Vec::new(),
                })
                .collect(),
            Referent::Outer(globals) => globals
                .iter()
                .flat_map(|global| match global {
                    Global::Value(value) => fixed_elements(lens, value, None, depth + 1),
                    _ => Vec::new(),
                })
                .collect(),
            Referent::Builtin => Vec::new(),
        },
        Expr::Call(call) => match (&*call.func, call.arguments.args.first()) {
            (Expr::Name(name), Some(first))
                if matches!(name.id.as_str(), "sorted" | "reversed" | "list" | "tuple" | "set" | "enumerate") =>
            {
                fixed_elements(lens, first, scope, depth + 1)
            }
            (Expr::Attribute(node), None) if matches!(node.attr.as_str(), "items" | "keys" | "values") => {
                dict_parts(lens, &node.value, node.attr.as_str(), scope, depth)
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn dict_parts<'e>(
    lens: &Lens<'e>,
    expr: &'e Expr,
    which: &str,
    scope: Option<usize>,
    depth: usize,
) -> Vec<(&'e Expr, Option<usize>)> {
    let mut found = Vec::new();
    let mut take = |expr: &'e Expr, scope: Option<usize>| {
        let Expr::Dict(node) = expr else { return };
        if which != "values" {
            found.extend(node.iter_keys().flatten().map(|part| (part, scope)));
        }
        if which != "keys" {
            found.extend(node.iter_values().map(|part| (part, scope)));
        }
    };
    take(expr, scope);
    if let Expr::Name(name) = expr
        && depth < DEPTH
    {
        match lens.referent(name.id.as_str(), scope) {
            Referent::Local(_, bindings) => {
                for binding in bindings {
                    if let BindingKind::Value(value) = binding.kind {
                        take(value, Some(binding.scope));
                    }
                }
            }
            Referent::Outer(globals) => {
                for global in globals {
                    if let Global::Value(value) = global {
                        take(value, None);
                    }
                }
            }
            Referent::Builtin => {}
        }
    }
    found
}

fn element_texts(lens: &Lens<'_>, expr: &Expr, part: Option<usize>, scope: Option<usize>, depth: usize) -> Vec<String> {
    if depth > DEPTH {
        return Vec::new();
    }
    if let (Some(part), Some(parts)) = (part, collect_elements(expr)) {
        return parts.get(part).map_or_else(Vec::new, |part| texts_in(lens, part, scope, depth + 1));
    }
    let parts = match expr {
        Expr::Dict(node) => {
            node.items.iter().flat_map(|item| item.key.iter().chain([&item.value])).map(|part| (part, scope)).collect()
        }
        _ => fixed_elements(lens, expr, scope, depth + 1),
    };
    parts.into_iter().flat_map(|(part, scope)| texts_in(lens, part, scope, depth + 1)).collect()
}

fn call_texts(lens: &Lens<'_>, call: &ExprCall, scope: Option<usize>, depth: usize) -> Vec<String> {
    let go = |inner: &Expr| texts_in(lens, inner, scope, depth + 1);
    let first = call.arguments.args.first();
    match &*call.func {
        Expr::Name(name) if name.id.as_str() == "chr" => first
            .and_then(integer)
            .and_then(|n| u32::try_from(n).ok())
            .and_then(char::from_u32)
            .map(String::from)
            .into_iter()
            .collect(),
        Expr::Name(name) if matches!(name.id.as_str(), "str" | "format") => first.map_or_else(Vec::new, go),
        Expr::Attribute(node) => match node.attr.as_str() {
            "join" => joined(lens, &node.value, first, scope, depth),
            "lower" | "casefold" => go(&node.value).iter().map(|text| text.to_lowercase()).collect(),
            "upper" => go(&node.value).iter().map(|text| text.to_uppercase()).collect(),
            "strip" | "lstrip" | "rstrip" => go(&node.value).iter().map(|text| text.trim().to_owned()).collect(),
            "decode" => match &*node.value {
                Expr::BytesLiteral(bytes) => {
                    vec![String::from_utf8_lossy(&bytes.value.bytes().collect::<Vec<u8>>()).into_owned()]
                }
                _ => Vec::new(),
            },
            "replace" => match (first.map(go), call.arguments.args.get(1).map(go)) {
                (Some(old), Some(new)) => go(&node.value)
                    .iter()
                    .flat_map(|text| old.iter().flat_map(move |old| vec![(text.clone(), old.clone())]))
                    .flat_map(|(text, old)| new.iter().map(move |new| text.replace(&old, new)).collect::<Vec<_>>())
                    .collect(),
                _ => Vec::new(),
            },
            "format" => Vec::new(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn joined(lens: &Lens<'_>, glue: &Expr, parts: Option<&Expr>, scope: Option<usize>, depth: usize) -> Vec<String> {
    let (Some(glue), Some(parts)) = (texts_in(lens, glue, scope, depth + 1).into_iter().next(), parts) else {
        return Vec::new();
    };
    if let Some(parts) = collect_elements(parts) {
        let texts: Vec<String> =
            parts.iter().filter_map(|part| texts_in(lens, part, scope, depth + 1).into_iter().next()).collect();
        return if texts.len() == parts.len() { vec![texts.join(&glue)] } else { Vec::new() };
    }
    characters(parts).map_or_else(Vec::new, |codes| {
        let texts: Vec<String> = codes
            .iter()
            .filter_map(|code| u32::try_from(*code).ok().and_then(char::from_u32))
            .map(String::from)
            .collect();
        vec![texts.join(&glue)]
    })
}

/// The numbers of `chr(c) for c in (111, 115)` and of `map(chr, [111, 115])`.
pub(crate) fn characters(expr: &Expr) -> Option<Vec<i64>> {
    let numbers = |expr: &Expr| -> Option<Vec<i64>> {
        match expr {
            Expr::BytesLiteral(node) => Some(node.value.bytes().map(i64::from).collect()),
            _ => collect_elements(expr)?.iter().map(integer).collect(),
        }
    };
    let (elt, generators) = match expr {
        Expr::Generator(node) => (&*node.elt, node.generators.as_slice()),
        Expr::ListComp(node) => (&*node.elt, node.generators.as_slice()),
        Expr::Call(call) => {
            let is_map = matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "map");
            let by_chr = matches!(call.arguments.args.first(), Some(Expr::Name(name)) if name.id.as_str() == "chr");
            return if is_map && by_chr { call.arguments.args.get(1).and_then(numbers) } else { None };
        }
        _ => return None,
    };
    let is_chr =
        matches!(elt, Expr::Call(call) if matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "chr"));
    match generators {
        [only] if is_chr => numbers(&only.iter),
        _ => None,
    }
}

/// A whole number written in the code; sums, products, powers and shifts of small ones too.
pub(crate) fn integer(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::NumberLiteral(node) => match &node.value {
            Number::Int(value) => value.as_i64(),
            #[expect(clippy::cast_possible_truncation, reason = "a bound for sizes, not a value")]
            Number::Float(value) if value.abs() < 1e15 => Some(*value as i64),
            _ => None,
        },
        Expr::UnaryOp(node) if node.op == UnaryOp::USub => integer(&node.operand)?.checked_neg(),
        Expr::BinOp(node) => {
            let (left, right) = (integer(&node.left)?, integer(&node.right)?);
            match node.op {
                Operator::Add => left.checked_add(right),
                Operator::Sub => left.checked_sub(right),
                Operator::Mult => left.checked_mul(right),
                Operator::Pow => Some(left.saturating_pow(u32::try_from(right).ok()?)),
                Operator::LShift => Some(left.saturating_mul(2i64.saturating_pow(u32::try_from(right).ok()?))),
                Operator::FloorDiv => left.checked_div(right),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_minus_one(expr: Option<&Expr>) -> bool {
    expr.and_then(integer) == Some(-1)
}

/// Is the value the same whatever the call was given: literals, displays of them, constructors over them, names bound
/// to nothing else and never changed?
pub(crate) fn is_constant(lens: &Lens<'_>, expr: &Expr) -> bool {
    let scope = lens.code.place(expr).map(|at| lens.code.exprs[at].scope);
    constant_in(lens, expr, scope, 0)
}

fn constant_in(lens: &Lens<'_>, expr: &Expr, scope: Option<usize>, depth: usize) -> bool {
    if depth > DEPTH {
        return false;
    }
    let go = |inner: &Expr| constant_in(lens, inner, scope, depth + 1);
    match expr {
        Expr::StringLiteral(_)
        | Expr::BytesLiteral(_)
        | Expr::NumberLiteral(_)
        | Expr::BooleanLiteral(_)
        | Expr::NoneLiteral(_)
        | Expr::EllipsisLiteral(_) => true,
        Expr::Tuple(node) => node.elts.iter().all(go),
        Expr::List(node) => node.elts.iter().all(go),
        Expr::Set(node) => node.elts.iter().all(go),
        Expr::Dict(node) => node.items.iter().all(|item| item.key.as_ref().is_none_or(&go) && go(&item.value)),
        Expr::UnaryOp(node) => go(&node.operand),
        Expr::BinOp(node) => go(&node.left) && go(&node.right),
        Expr::BoolOp(node) => node.values.iter().all(go),
        Expr::If(node) => go(&node.body) && go(&node.orelse),
        Expr::Starred(node) => go(&node.value),
        Expr::FString(node) => node.value.elements().all(|element| match element {
            ruff_python_ast::InterpolatedStringElement::Literal(_) => true,
            ruff_python_ast::InterpolatedStringElement::Interpolation(inner) => go(&inner.expression),
        }),
        Expr::Call(call) => {
            is_constructor(lens, &call.func, scope)
                && call.arguments.args.iter().all(go)
                && call.arguments.keywords.iter().all(|keyword| go(&keyword.value))
        }
        Expr::Name(name) => match lens.referent(name.id.as_str(), scope) {
            Referent::Local(holder, bindings) => {
                !is_changed(lens, name.id.as_str(), holder)
                    && bindings.iter().all(|binding| match &binding.kind {
                        BindingKind::Value(value) => constant_in(lens, value, Some(binding.scope), depth + 1),
                        _ => false,
                    })
            }
            Referent::Outer(globals) => globals.iter().all(|global| match global {
                Global::Value(value) => constant_in(lens, value, None, depth + 1),
                _ => false,
            }),
            Referent::Builtin => false,
        },
        _ => false,
    }
}

/// `Decimal`, `datetime.date`, `dict`: not a method of data, not a sentinel made by `object()`.
fn is_constructor(lens: &Lens<'_>, func: &Expr, scope: Option<usize>) -> bool {
    match func {
        Expr::Name(name) => match lens.referent(name.id.as_str(), scope) {
            Referent::Local(_, bindings) => {
                bindings.iter().all(|binding| matches!(binding.kind, BindingKind::Import(_)))
            }
            Referent::Outer(globals) => {
                globals.iter().all(|global| matches!(global, Global::Import(_) | Global::Class))
            }
            Referent::Builtin => !matches!(name.id.as_str(), "object" | "input" | "open" | "next" | "iter"),
        },
        Expr::Attribute(node) => is_constructor(lens, &node.value, scope),
        _ => false,
    }
}

/// Methods that change what they are called on.
pub(crate) const CHANGING: &[&str] = &[
    "append",
    "extend",
    "insert",
    "remove",
    "pop",
    "popitem",
    "clear",
    "sort",
    "reverse",
    "add",
    "discard",
    "update",
    "setdefault",
    "appendleft",
    "extendleft",
    "rotate",
    "difference_update",
    "intersection_update",
    "symmetric_difference_update",
    "write",
    "writelines",
    "writerow",
    "writerows",
    "__setitem__",
    "__delitem__",
    "move_to_end",
    "subtract",
    "rename",
    "put",
];

/// Is the object behind a local name changed, or handed to somebody who may change it?
pub(crate) fn is_changed(lens: &Lens<'_>, name: &str, holder: usize) -> bool {
    lens.code.exprs.iter().enumerate().any(|(at, node)| {
        let Expr::Name(here) = node.expr else { return false };
        if here.id.as_str() != name || lens.code.lookup(name, node.scope).is_none_or(|(scope, _)| scope != holder) {
            return false;
        }
        let Some(parent) = lens.code.parent(at) else { return false };
        match parent.expr {
            Expr::Attribute(attribute) => CHANGING.contains(&attribute.attr.as_str()) || attribute.ctx.is_store(),
            Expr::Subscript(subscript) => {
                !subscript.ctx.is_load() && std::ptr::eq(&raw const *subscript.value, std::ptr::from_ref(node.expr))
            }
            Expr::Call(call) => {
                lens.callee(call).is_some()
                    && call.arguments.args.iter().any(|argument| std::ptr::eq(argument, node.expr))
            }
            _ => false,
        }
    })
}

/// Nothing, zero, empty: what a made-up value usually is.
pub(crate) fn is_empty_value(expr: &Expr) -> bool {
    match expr {
        Expr::NoneLiteral(_) => true,
        Expr::BooleanLiteral(node) => !node.value,
        Expr::NumberLiteral(node) => match &node.value {
            Number::Int(value) => value.as_i64() == Some(0),
            Number::Float(value) => *value == 0.0,
            Number::Complex { .. } => false,
        },
        Expr::StringLiteral(node) => node.value.is_empty(),
        Expr::BytesLiteral(node) => node.value.is_empty(),
        Expr::UnaryOp(node) => is_empty_value(&node.operand),
        Expr::Dict(node) => node.items.is_empty(),
        Expr::Call(call) => {
            call.arguments.keywords.is_empty()
                && match &*call.arguments.args {
                    [] => matches!(&*call.func, Expr::Name(name) if matches!(name.id.as_str(),
                        "list" | "dict" | "set" | "tuple" | "str" | "bytes" | "int" | "float" | "frozenset" | "bool" | "Decimal")),
                    [only] => is_zero_text(only) || is_empty_value(only),
                    _ => false,
                }
        }
        _ => collect_elements(expr).is_some_and(<[Expr]>::is_empty),
    }
}

/// `"0"`, `"0.00"`, `"nan"`: a made-up number as text.
pub(crate) fn is_zero_text(expr: &Expr) -> bool {
    let Expr::StringLiteral(node) = expr else { return false };
    let text = node.value.to_str().trim().to_ascii_lowercase();
    matches!(text.as_str(), "nan" | "none" | "null" | "n/a" | "na" | "inf" | "unknown")
        || text.parse::<f64>().is_ok_and(|number| number == 0.0)
}
