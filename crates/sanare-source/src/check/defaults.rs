//! Gate 3: what the old body demanded of its input is not made up now.

use std::collections::BTreeSet;

use ruff_python_ast::comparable::ComparableExpr;
use ruff_python_ast::{Expr, ExprCall, Operator, Stmt};

use super::Look;
use super::absence::{Absence, is_measure};
use super::constants::choices;
use super::kept::{keys_in, keys_read};
use crate::code::BindingKind;
use crate::constant::{self, is_constant, is_empty_value};
use crate::flow::{holds_raise, mentions, names_in, texts_in};
use crate::lens::Lens;
use crate::same::is_report;
use crate::vet::Case;

/// **no_new_default**: for a key that the old body reads, no `get` or `getattr` with a default, no `or` or `else` with a
/// constant, no constant bound to what held its value; no `fillna`, `errors=`, `on_bad_lines=` and their like. `None` is
/// left to the trial, which sees whether it is new in the result.
pub(super) fn no_new_default(case: &Case<'_>) -> Look {
    let mut keys = keys_read(&case.old);
    // What a function of the file demands of the row that it is handed is demanded of the caller too.
    keys.extend(case.old_helpers.iter().flat_map(keys_in));
    keys.extend(case.context.no_new_default_keys.iter().cloned());
    keys.extend(case.context.expected_names.iter().cloned());
    let held = holders(&case.new, &keys);
    let absence = Absence::of(case);
    let mut findings = Vec::new();
    for (at, node) in case.new.code.exprs.iter().enumerate() {
        if case.is_old(node.expr) || in_report(&case.new, at) {
            continue;
        }
        match node.expr {
            Expr::Call(call) => {
                findings.extend(call_default(case, call, &keys, &absence));
                findings.extend(lenient(case, call));
            }
            Expr::BoolOp(_) if !is_test(&case.new, at) && absence.answer(node.expr) == Some(false) => {
                findings.push(format!("`{}` would be false where the input lacks it", case.text(node.expr)));
            }
            Expr::If(_) | Expr::BoolOp(_) if !is_test(&case.new, at) => {
                findings.extend(choice_default(case, node.expr, &keys, &held));
            }
            Expr::Dict(node) if node.items.iter().any(|item| item.key.is_none()) => {
                findings.extend(spread_default(case, node.iter(), &keys));
            }
            Expr::Dict(node) if is_one_of_many(&case.new, at) => {
                findings.extend(record_default(case, node, &keys));
            }
            Expr::BinOp(node) if node.op == Operator::BitOr => {
                for side in [&*node.left, &*node.right] {
                    if let Expr::Dict(dict) = side {
                        findings.extend(spread_default(case, dict.iter(), &keys));
                    }
                }
            }
            _ => {}
        }
    }
    findings.extend(bound_default(case, &held));
    findings.dedup();
    findings.into()
}

fn in_report(lens: &Lens<'_>, at: usize) -> bool {
    lens.code.around(at).any(|outer| matches!(outer.expr, Expr::Call(call) if is_report(&call.func)))
}

/// Names that hold the value of a key, perhaps cleaned, in the candidate: bound to a read of it, or bound by the old body
/// to work and still there.
fn holders<'a>(lens: &Lens<'a>, keys: &BTreeSet<String>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    for scope in &lens.code.scopes {
        for (name, bindings) in &scope.names {
            let holds = bindings.iter().any(|binding| match binding.kind {
                BindingKind::Value(value) => choices(value).into_iter().any(|part| reads_key(lens, part, keys)),
                _ => false,
            });
            if holds {
                found.insert(*name);
            }
        }
    }
    found
}

/// A read of a key, perhaps cleaned or converted: `rec["amount"]`, `rec.get("amount").strip()`, `Decimal(rec["amount"])`.
fn reads_key(lens: &Lens<'_>, expr: &Expr, keys: &BTreeSet<String>) -> bool {
    let texts = |expr: &Expr| constant::texts(lens, expr, Some(lens.code.scope_of(expr)));
    match expr {
        Expr::Subscript(node) => {
            texts(&node.slice).iter().any(|text| keys.contains(text)) || reads_key(lens, &node.value, keys)
        }
        Expr::Attribute(node) => keys.contains(node.attr.as_str()) && node.value.is_name_expr(),
        Expr::Call(call) => {
            let arguments = &call.arguments.args;
            match &*call.func {
                Expr::Attribute(method) => {
                    let gets = matches!(method.attr.as_str(), "get" | "pop" | "findtext" | "getlist");
                    (gets && arguments.first().is_some_and(|key| texts(key).iter().any(|text| keys.contains(text))))
                        || reads_key(lens, &method.value, keys)
                        || (arguments.len() == 1 && arguments.iter().any(|argument| reads_key(lens, argument, keys)))
                }
                Expr::Name(name) if name.id.as_str() == "getattr" => {
                    arguments.get(1).is_some_and(|key| texts(key).iter().any(|text| keys.contains(text)))
                }
                Expr::Name(_) => {
                    // A helper of the candidate that is handed the key, or a conversion of a read.
                    let helper = lens.callee(call).is_some()
                        && arguments.iter().any(|argument| texts(argument).iter().any(|text| keys.contains(text)));
                    helper || (arguments.len() == 1 && arguments.iter().any(|argument| reads_key(lens, argument, keys)))
                }
                _ => false,
            }
        }
        Expr::Named(node) => reads_key(lens, &node.value, keys),
        Expr::ListComp(node) => reads_key(lens, &node.elt, keys),
        Expr::SetComp(node) => reads_key(lens, &node.elt, keys),
        Expr::DictComp(node) => reads_key(lens, &node.value, keys),
        _ => false,
    }
}

fn is_made_up(case: &Case<'_>, expr: &Expr) -> bool {
    !expr.is_none_literal_expr() && (is_constant(&case.new, expr) || is_measure(case, expr))
}

/// `get(key, 0)`, `getattr(row, key, "")`, `pop(key, "")`, `setdefault(key, 0)`.
fn call_default(
    case: &Case<'_>,
    call: &ExprCall,
    keys: &BTreeSet<String>,
    absence: &Absence<'_, '_>,
) -> Option<String> {
    let lens = &case.new;
    let arguments = &call.arguments.args;
    let (key, default) = match &*call.func {
        Expr::Attribute(method) => match method.attr.as_str() {
            "get" | "pop" | "setdefault" | "findtext" | "getattr" | "getfloat" | "getint" | "getboolean" => {
                let named = ["default", "fallback"].iter().find_map(|name| call.arguments.find_keyword(name));
                (arguments.first()?, arguments.get(1).or(named.map(|keyword| &keyword.value))?)
            }
            _ => return None,
        },
        Expr::Name(name) if name.id.as_str() == "getattr" => (arguments.get(1)?, arguments.get(2)?),
        _ => return None,
    };
    let texts = constant::texts(lens, key, Some(lens.code.scope_of(key)));
    let looked_up = || match &*call.func {
        Expr::Attribute(method) => absence.was_looked_up(&method.value, key).then(|| case.text(key)),
        _ => None,
    };
    let wanted = texts.iter().find(|text| keys.contains(*text)).cloned().or_else(looked_up)?;
    let made_up = choices(default).into_iter().any(|part| is_made_up(case, part));
    let was_there = || {
        case.old_calls().any(|old| {
            let same = |at: usize, new: &Expr| {
                old.arguments.args.get(at).is_some_and(|old| ComparableExpr::from(old) == ComparableExpr::from(new))
            };
            same(0, key) && same(1, default)
        })
    };
    (made_up && !was_there()).then(|| format!("`{wanted}` would be `{}` where it is absent", case.text(default)))
}

/// `rec["amount"] or "0"`, `x if x else 0` where one choice reads a key or holds its value.
fn choice_default(case: &Case<'_>, expr: &Expr, keys: &BTreeSet<String>, held: &BTreeSet<&str>) -> Option<String> {
    let lens = &case.new;
    let parts: Vec<&Expr> = choices(expr).into_iter().flat_map(|part| nested(part)).collect();
    let made_up = parts.iter().find(|part| is_made_up(case, part))?;
    let of_key = parts.iter().any(|part| {
        reads_key(lens, part, keys)
            || names_of_value(part).iter().any(|name| held.contains(name) || is_old_work(case, name))
            || (case.is_old(part) && reads_a_place(part))
    });
    (of_key && !had_choice(case, made_up, expr))
        .then(|| format!("`{}` would stand in for what the input lacks", case.text(made_up)))
}

/// A read of data by its place, perhaps converted: `row[2]`, `int(row[2])`. Whatever the old body read so, it demanded.
fn reads_a_place(expr: &Expr) -> bool {
    match expr {
        Expr::Subscript(node) => node.ctx.is_load() && !node.slice.is_slice_expr(),
        Expr::Call(call) => {
            let of_method = matches!(&*call.func, Expr::Attribute(method) if reads_a_place(&method.value));
            of_method || matches!(&*call.arguments.args, [only] if reads_a_place(only))
        }
        _ => false,
    }
}

/// Did the old body choose the same constant where it read the same key?
fn had_choice(case: &Case<'_>, made_up: &Expr, expr: &Expr) -> bool {
    let texts = texts_in(expr);
    case.old.code.exprs.iter().any(|node| {
        let has_constant =
            || choices(node.expr).iter().any(|part| ComparableExpr::from(*part) == ComparableExpr::from(made_up));
        matches!(node.expr, Expr::If(_) | Expr::BoolOp(_)) && has_constant() && !texts_in(node.expr).is_disjoint(&texts)
    })
}

/// A choice, and the defaults inside it.
fn nested(part: &Expr) -> Vec<&Expr> {
    let mut found = vec![part];
    if let Expr::Call(call) = part
        && let Expr::Attribute(method) = &*call.func
        && matches!(method.attr.as_str(), "get" | "pop")
        && let Some(default) = call.arguments.args.get(1)
    {
        found.extend(choices(default));
    }
    if let Expr::Call(call) = part
        && let [only] = &*call.arguments.args
    {
        found.extend(choices(only).into_iter().filter(|inner| !std::ptr::eq(*inner, only)));
    }
    found
}

/// The name that a choice is, perhaps cleaned: `raw`, `raw.strip()`.
fn names_of_value(expr: &Expr) -> BTreeSet<&str> {
    match expr {
        Expr::Name(_) => names_in(expr),
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => names_of_value(&method.value),
            Expr::Name(_) => match &*call.arguments.args {
                [only] => names_of_value(only),
                _ => BTreeSet::new(),
            },
            _ => BTreeSet::new(),
        },
        _ => BTreeSet::new(),
    }
}

/// Did the old body bind this name, and to work only?
fn is_old_work(case: &Case<'_>, name: &str) -> bool {
    case.old.code.scopes[0].names.get(name).is_some_and(|bindings| {
        bindings.iter().all(|binding| match binding.kind {
            BindingKind::Value(value) => !is_constant(&case.old, value) && !is_empty_value(value),
            BindingKind::Part(..) | BindingKind::EachPart(..) => true,
            _ => false,
        })
    })
}

/// Is an expression asked for its truth only?
fn is_test(lens: &Lens<'_>, at: usize) -> bool {
    let node = &lens.code.exprs[at];
    let is = |other: &Expr| std::ptr::eq(other, node.expr);
    match lens.code.parent(at).map(|parent| parent.expr) {
        Some(Expr::If(parent)) => is(&parent.test),
        Some(Expr::UnaryOp(parent)) => parent.op == ruff_python_ast::UnaryOp::Not,
        Some(Expr::BoolOp(_)) => lens.code.exprs[at].parent.is_some_and(|parent| is_test(lens, parent)),
        Some(Expr::ListComp(parent)) => parent.generators.iter().flat_map(|generator| &generator.ifs).any(is),
        Some(Expr::Generator(parent)) => parent.generators.iter().flat_map(|generator| &generator.ifs).any(is),
        Some(_) => false,
        None => match lens.code.stmts[node.stmt].stmt {
            Stmt::If(branch) => {
                is(&branch.test) || branch.elif_else_clauses.iter().filter_map(|clause| clause.test.as_ref()).any(is)
            }
            Stmt::While(node) => is(&node.test),
            Stmt::Assert(node) => is(&node.test),
            _ => false,
        },
    }
}

/// `{"amount": 0, **rec}`, `{"amount": 0} | rec`, `ChainMap(rec, {"amount": 0})`.
fn spread_default<'d>(
    case: &Case<'_>,
    items: impl Iterator<Item = &'d ruff_python_ast::DictItem>,
    keys: &BTreeSet<String>,
) -> Vec<String> {
    let mut findings = Vec::new();
    for item in items {
        if let (None, Expr::Dict(inner)) = (&item.key, &item.value) {
            findings.extend(spread_default(case, inner.iter(), keys));
        }
        if let Some(Expr::StringLiteral(key)) = &item.key
            && keys.contains(key.value.to_str())
            && is_made_up(case, &item.value)
        {
            findings.push(format!("`{}` would be `{}` where it is absent", key.value.to_str(), case.text(&item.value)));
        }
    }
    findings
}

/// Is an expression an element that is made many times over, or is put to others?
fn is_one_of_many(lens: &Lens<'_>, at: usize) -> bool {
    let is = |other: &Expr| std::ptr::eq(other, lens.code.exprs[at].expr);
    match lens.code.parent(at).map(|parent| parent.expr) {
        Some(Expr::ListComp(node)) => is(&node.elt),
        Some(Expr::Generator(node)) => is(&node.elt),
        Some(Expr::List(_)) => true,
        Some(Expr::Call(call)) => matches!(&*call.func, Expr::Attribute(method) if method.attr.as_str() == "append"),
        _ => false,
    }
}

/// `{"probe": name, "grade": 0}` as a record of the input: a number or nothing under a key that the old body reads.
fn record_default(case: &Case<'_>, record: &ruff_python_ast::ExprDict, keys: &BTreeSet<String>) -> Vec<String> {
    let old_fields: BTreeSet<&str> = case
        .old
        .code
        .exprs
        .iter()
        .filter_map(|node| node.expr.as_dict_expr())
        .flat_map(|dict| {
            dict.items
                .iter()
                .filter_map(|item| item.key.as_ref()?.as_string_literal_expr().map(|key| key.value.to_str()))
        })
        .collect();
    let mut findings = Vec::new();
    for item in &record.items {
        if let Some(Expr::StringLiteral(key)) = &item.key
            && keys.contains(key.value.to_str())
            && !old_fields.contains(key.value.to_str())
            && (item.value.is_number_literal_expr()
                || (is_empty_value(&item.value) && !item.value.is_none_literal_expr()))
        {
            findings.push(format!(
                "`{}` would be `{}`, whatever the input says",
                key.value.to_str(),
                case.text(&item.value)
            ));
        }
    }
    findings
}

/// Methods and keywords that go on where the old code stopped.
fn lenient(case: &Case<'_>, call: &ExprCall) -> Vec<String> {
    let lens = &case.new;
    let mut findings = Vec::new();
    let name = match &*call.func {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(node) => node.attr.as_str(),
        _ => "",
    };
    if FILLING.contains(&name) {
        findings.push(format!("`{name}` fills in what the input lacks"));
    }
    // Of one column that is looked at, blanks may be left out; of a table, rows would be.
    let of_column = matches!(&*call.func, Expr::Attribute(method) if matches!(&*method.value, Expr::Subscript(column)
        if !column.slice.is_list_expr()));
    if name == "dropna" && !of_column && !is_text(call.arguments.find_keyword("how").map(|k| &k.value), &["all"]) {
        findings.push("`dropna` leaves rows out".to_owned());
    }
    if name == "ChainMap" {
        for argument in &call.arguments.args {
            if let Expr::Dict(dict) = argument {
                findings.extend(spread_default(case, dict.iter(), &keys_read(&case.old)));
            }
        }
    }
    for keyword in &*call.arguments.keywords {
        let Some(arg) = &keyword.arg else { continue };
        let strict = match arg.as_str() {
            "errors" | "encoding_errors" => is_text(Some(&keyword.value), &["strict", "raise"]) || name == "drop",
            "on_bad_lines" => is_text(Some(&keyword.value), &["error"]),
            "error_bad_lines" | "skip_blank_lines" => !is_empty_value(&keyword.value),
            "restval" | "fill_value" | "na_value" | "fillvalue" => keyword.value.is_none_literal_expr(),
            "default" if matches!(name, "max" | "min") && call.func.is_name_expr() => !is_made_up(case, &keyword.value),
            _ => true,
        };
        if !strict && !was_lenient(case, arg.as_str()) {
            findings.push(format!("`{arg}=` goes on where the old code stopped"));
        }
    }
    let positional = match name {
        "decode" | "encode" if call.func.is_attribute_expr() => call.arguments.args.get(1),
        "str" | "bytes" => call.arguments.args.get(2),
        "open" if call.func.is_name_expr() => call.arguments.args.get(4),
        _ => None,
    };
    // Taking accents off a name is no loss of data.
    let folds = matches!(&*call.func, Expr::Attribute(method) if matches!(&*method.value, Expr::Call(inner)
        if lens.paths(&inner.func).iter().any(|path| path == "unicodedata.normalize")));
    if let Some(value) = positional
        && !is_text(Some(value), &["strict"])
        && !folds
    {
        findings.push("the error handler goes on where the old code stopped".to_owned());
    }
    if folds {
        findings.retain(|finding| !finding.starts_with("`errors=`"));
    }
    if matches!(name, "where" | "mask")
        && call.arguments.args.last().is_some_and(|last| call.arguments.args.len() >= 2 && is_made_up(case, last))
    {
        findings.push(format!("`{name}` puts a constant where data was"));
    }
    findings
}

/// Was the old body as lenient, by this keyword or the one it is named after now?
fn was_lenient(case: &Case<'_>, arg: &str) -> bool {
    let family: &[&str] = match arg {
        "on_bad_lines" | "error_bad_lines" => &["on_bad_lines", "error_bad_lines", "warn_bad_lines"],
        "errors" | "encoding_errors" => &["errors", "encoding_errors"],
        "default" => &["default"],
        _ => return false,
    };
    case.old_calls().flat_map(|call| &*call.arguments.keywords).any(|keyword| {
        let strict = is_text(Some(&keyword.value), &["strict", "raise", "error"]);
        keyword.arg.as_ref().is_some_and(|arg| family.contains(&arg.as_str())) && !strict
    })
}

const FILLING: &[&str] = &[
    "fillna",
    "ffill",
    "bfill",
    "pad",
    "backfill",
    "interpolate",
    "nan_to_num",
    "fill_null",
    "fill_nan",
    "drop_nulls",
];

fn is_text(value: Option<&Expr>, wanted: &[&str]) -> bool {
    matches!(value, Some(Expr::StringLiteral(node)) if wanted.contains(&node.value.to_str()))
}

/// A constant bound, on some path, to a name that holds a key's value or that the old body bound to work.
fn bound_default(case: &Case<'_>, held: &BTreeSet<&str>) -> Vec<String> {
    let mut findings = Vec::new();
    for scope in &case.new.code.scopes {
        for (name, bindings) in &scope.names {
            if !held.contains(name) && !is_old_work(case, name) {
                continue;
            }
            let is_summed = bindings.iter().any(|binding| matches!(binding.kind, BindingKind::Augmented));
            for binding in bindings {
                let BindingKind::Value(value) = binding.kind else { continue };
                if is_made_up(case, value) && !case.is_old(value) && !is_summed && !is_asked(&case.new, name) {
                    findings.push(format!("`{name}` would be `{}` where the input lacks it", case.text(value)));
                }
            }
        }
    }
    findings
}

/// Is a name tested somewhere with a `raise` to follow?
fn is_asked(lens: &Lens<'_>, name: &str) -> bool {
    lens.code.stmts.iter().any(|node| match node.stmt {
        Stmt::If(branch) => mentions(&branch.test, name) && is_absence(&branch.test) && holds_raise(&branch.body),
        _ => false,
    })
}

fn is_absence(test: &Expr) -> bool {
    match test {
        Expr::UnaryOp(node) => node.op == ruff_python_ast::UnaryOp::Not,
        Expr::Compare(node) => node.comparators.iter().any(|other| is_empty_value(other) || other.is_name_expr()),
        Expr::BoolOp(node) => node.values.iter().any(is_absence),
        _ => false,
    }
}
