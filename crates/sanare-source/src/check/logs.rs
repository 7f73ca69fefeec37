//! Gate 4: data does not go where people read along.

use std::collections::BTreeSet;

use ruff_python_ast::{Expr, InterpolatedStringElement};

use super::Look;
use crate::code::BindingKind;
use crate::flow::is_written_list;
use crate::lens::{Lens, Referent};
use crate::same::is_report;
use crate::vet::Case;

/// **no_data_in_logs**: no new log line, print or warning holds a whole row, record, text or environment. Single fields,
/// counts and the name of the input pass.
pub(super) fn no_data_in_logs(case: &Case<'_>) -> Look {
    let lens = &case.new;
    let mut findings = BTreeSet::new();
    for node in &lens.code.exprs {
        let Expr::Call(call) = node.expr else { continue };
        let reports = is_report(&call.func)
            || lens.paths(&call.func).iter().any(|path| {
                matches!(
                    path.as_str(),
                    "builtins.print" | "warnings.warn" | "sys.stderr.write" | "sys.stdout.write" | "pprint.pprint"
                ) || (path.starts_with("logging.") && is_level(path))
            });
        if !reports || case.is_old(node.expr) {
            continue;
        }
        let keywords = call.arguments.keywords.iter().map(|keyword| &keyword.value);
        for argument in call.arguments.args.iter().chain(keywords) {
            for value in shown(argument) {
                if let Some(what) = whole(lens, value) {
                    findings.insert(format!("`{}` is {what}", case.text(value)));
                }
            }
        }
    }
    findings.into_iter().collect::<Vec<_>>().into()
}

fn is_level(path: &str) -> bool {
    matches!(
        path.rsplit('.').next().unwrap_or(path),
        "debug" | "info" | "warning" | "warn" | "error" | "exception" | "critical" | "log" | "fatal"
    )
}

/// The values that end up in the text of a report.
fn shown(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::FString(node) => node
            .value
            .elements()
            .filter_map(|element| match element {
                InterpolatedStringElement::Interpolation(inner) => Some(&*inner.expression),
                InterpolatedStringElement::Literal(_) => None,
            })
            .flat_map(shown)
            .collect(),
        Expr::BinOp(node) => [shown(&node.left), shown(&node.right)].concat(),
        Expr::BoolOp(node) if node.op == ruff_python_ast::BoolOp::And => {
            node.values.last().map(shown).unwrap_or_default()
        }
        Expr::BoolOp(node) => node.values.iter().flat_map(shown).collect(),
        Expr::If(node) => [shown(&node.body), shown(&node.orelse)].concat(),
        Expr::Tuple(node) => node.elts.iter().flat_map(shown).collect(),
        Expr::List(node) => node.elts.iter().flat_map(shown).collect(),
        Expr::Dict(node) => node.iter_values().flat_map(shown).collect(),
        Expr::Starred(node) => shown(&node.value),
        Expr::Await(node) => shown(&node.value),
        Expr::Call(call) => match &*call.func {
            Expr::Name(name) if WRAPPERS.contains(&name.id.as_str()) => {
                call.arguments.args.iter().flat_map(shown).collect()
            }
            Expr::Attribute(method) => match method.attr.as_str() {
                "dumps" | "pformat" => call.arguments.args.iter().flat_map(shown).collect(),
                "format" | "join" => {
                    let keywords = call.arguments.keywords.iter().map(|keyword| &keyword.value);
                    call.arguments.args.iter().chain(keywords).flat_map(shown).collect()
                }
                "items" | "values" | "to_dict" | "to_string" | "copy" | "strip" | "rstrip" | "encode" | "decode"
                | "splitlines" | "split" | "_asdict" => shown(&method.value),
                _ => vec![expr],
            },
            _ => Vec::new(),
        },
        _ => vec![expr],
    }
}

const WRAPPERS: &[&str] =
    &["str", "repr", "dict", "list", "tuple", "set", "sorted", "ascii", "format", "vars", "bytes"];

/// Is a value a whole thing rather than a field of it?
fn whole(lens: &Lens<'_>, value: &Expr) -> Option<&'static str> {
    if lens.paths(value).iter().any(|path| {
        path.starts_with("os.environ") || path.starts_with("builtins.locals") || path.starts_with("builtins.globals")
    }) {
        return Some("the environment");
    }
    match value {
        Expr::Name(name) => {
            let id = name.id.as_str();
            let Referent::Local(_, bindings) = lens.referent(id, Some(lens.code.scope_of(value))) else { return None };
            let over_data = bindings.iter().any(|binding| match binding.kind {
                BindingKind::Each(iter) => !is_written_list(lens, iter),
                _ => false,
            });
            let is_key =
                bindings.iter().any(|binding| matches!(binding.kind, BindingKind::Each(iter) if is_keys(iter)));
            if is_taken_apart(lens, id) || (over_data && !is_key && !is_scalar_loop(lens, id)) {
                return Some("a whole record");
            }
            None
        }
        // A row of a list: `rows[0]`, `rows[-1]`.
        Expr::Subscript(node) => {
            let by_number = crate::constant::integer(&node.slice).is_some() || node.slice.is_slice_expr();
            (by_number && matches!(&*node.value, Expr::Name(name) if is_gathering(lens, name.id.as_str())))
                .then_some("a whole record")
        }
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => {
                matches!(method.attr.as_str(), "read" | "readlines" | "read_text" | "read_bytes" | "json")
                    .then_some("a whole text")
            }
            _ => None,
        },
        Expr::Attribute(node)
            if matches!(node.attr.as_str(), "__dict__" | "environ" | "values" | "text" | "content" | "body") =>
        {
            Some("a whole record")
        }
        _ => None,
    }
}

/// `for name in header`, `for key in row.keys()`: names, not data.
fn is_keys(iter: &Expr) -> bool {
    match iter {
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => matches!(method.attr.as_str(), "keys" | "fieldnames"),
            Expr::Name(name) => name.id.as_str() == "range",
            _ => false,
        },
        Expr::Name(name) => {
            matches!(name.id.as_str(), "header" | "headers" | "names" | "columns" | "fieldnames" | "missing")
        }
        Expr::Attribute(node) => matches!(node.attr.as_str(), "fieldnames" | "columns"),
        _ => false,
    }
}

/// A loop variable that is only handed to a conversion or compared, never taken apart.
fn is_scalar_loop(lens: &Lens<'_>, name: &str) -> bool {
    lens.code.exprs.iter().enumerate().any(|(at, node)| {
        matches!(node.expr, Expr::Name(here) if here.id.as_str() == name)
            && matches!(lens.code.parent(at).map(|parent| parent.expr), Some(Expr::Subscript(subscript))
                if std::ptr::eq(&raw const *subscript.slice, std::ptr::from_ref(node.expr)))
    })
}

/// Is a name used like a record or a text of many parts: by key, by `items`, split, parsed?
fn is_taken_apart(lens: &Lens<'_>, name: &str) -> bool {
    is_gathering(lens, name)
        || lens.code.exprs.iter().enumerate().any(|(at, node)| {
            if !matches!(node.expr, Expr::Name(here) if here.id.as_str() == name) {
                return false;
            }
            match lens.code.parent(at).map(|parent| parent.expr) {
                Some(Expr::Subscript(subscript)) => {
                    std::ptr::eq(&raw const *subscript.value, std::ptr::from_ref(node.expr))
                        && !subscript.slice.is_slice_expr()
                }
                Some(Expr::Attribute(attribute)) => matches!(
                    attribute.attr.as_str(),
                    "items"
                        | "values"
                        | "get"
                        | "splitlines"
                        | "iterrows"
                        | "itertuples"
                        | "to_dict"
                        | "split"
                        | "partition"
                        | "attrib"
                ),
                Some(Expr::Call(call)) => lens.paths(&call.func).iter().any(|path| {
                    matches!(
                        path.as_str(),
                        "json.loads"
                            | "json.load"
                            | "csv.reader"
                            | "csv.DictReader"
                            | "xml.etree.ElementTree.fromstring"
                            | "builtins.dict"
                    )
                }),
                _ => false,
            }
        })
}

/// Is a name a list or mapping that is filled?
fn is_gathering(lens: &Lens<'_>, name: &str) -> bool {
    lens.code.exprs.iter().enumerate().any(|(at, node)| {
        matches!(node.expr, Expr::Name(here) if here.id.as_str() == name)
            && matches!(lens.code.parent(at).map(|parent| parent.expr), Some(Expr::Attribute(attribute))
                if matches!(attribute.attr.as_str(), "append" | "extend" | "update" | "setdefault" | "add"))
    })
}
