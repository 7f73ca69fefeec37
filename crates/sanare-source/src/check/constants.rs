//! Gate 3: the result still comes from the input.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use ruff_python_ast::comparable::ComparableExpr;
use ruff_python_ast::{Expr, Stmt, StmtFunctionDef};

use super::Look;
use crate::code::{BindingKind, Code, blocks};
use crate::constant::{is_changed, is_constant, is_empty_value};
use crate::flow::{always_leaves, is_work, is_written_list};
use crate::lens::Lens;
use crate::vet::Case;

/// **no_constant_result**: no literal is returned, yielded or put into a record where there was work, and the function
/// does not come to its end without a result where it always gave one.
pub(super) fn no_constant_result(case: &Case<'_>) -> Look {
    let old: HashSet<ComparableExpr<'_>> = results(&case.old).into_iter().map(|(_, expr)| expr.into()).collect();
    let gave_truth = results(&case.old).iter().any(|(_, expr)| expr.is_boolean_literal_expr());
    let mut findings = Vec::new();
    for (_, result) in results(&case.new) {
        if old.contains(&ComparableExpr::from(result)) || (gave_truth && result.is_boolean_literal_expr()) {
            continue;
        }
        if is_constant(&case.new, result) {
            findings.push(format!("the result `{}` does not come from the input", case.text(result)));
        } else if let Some(part) = made_up_choice(case, result) {
            findings.push(format!("the result may be `{}`, which does not come from the input", case.text(part)));
        }
    }
    findings.extend(empty_returns(case));
    findings.extend(constant_fields(case));
    findings.into()
}

/// What the function itself returns and yields.
fn results<'a>(lens: &Lens<'a>) -> Vec<(usize, &'a Expr)> {
    let code = lens.code;
    let mut found: Vec<(usize, &Expr)> = code
        .own_stmts()
        .filter_map(|(at, node)| match node.stmt {
            Stmt::Return(ret) => ret.value.as_deref().map(|value| (at, value)),
            _ => None,
        })
        .collect();
    for node in code.exprs.iter().filter(|node| node.scope == 0) {
        match node.expr {
            Expr::Yield(inner) => found.extend(inner.value.as_deref().map(|value| (node.stmt, value))),
            Expr::YieldFrom(inner) => found.push((node.stmt, &inner.value)),
            _ => {}
        }
    }
    found
}

/// The values that a conditional or `or` may come to.
pub(crate) fn choices(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::If(node) => [choices(&node.body), choices(&node.orelse)].concat(),
        Expr::BoolOp(node) if node.op == ruff_python_ast::BoolOp::Or => node.values.iter().flat_map(choices).collect(),
        Expr::BoolOp(node) => node.values.last().map(choices).unwrap_or_default(),
        Expr::Named(node) => choices(&node.value),
        _ => vec![expr],
    }
}

/// The choice of a value that does not come from the input. `None` for a value that is `None` is no made-up value.
fn made_up_choice<'e>(case: &Case<'_>, value: &'e Expr) -> Option<&'e Expr> {
    let asks_for_none = |test: &Expr| match test {
        Expr::Compare(node) => node.comparators.iter().any(Expr::is_none_literal_expr),
        _ => false,
    };
    let null_stays_null =
        matches!(value, Expr::If(node) if asks_for_none(&node.test) || promises_none(case.old.code.function));
    choices(value)
        .into_iter()
        .find(|part| is_constant(&case.new, part) && !(null_stays_null && part.is_none_literal_expr()))
}

/// Whether the owner's docstring or return annotation says that `None` may result.
fn promises_none(function: &StmtFunctionDef) -> bool {
    let said = |expr: &Expr| match expr {
        Expr::StringLiteral(text) => {
            text.value.to_str().split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "None")
        }
        _ => false,
    };
    let documented = matches!(function.body.first(), Some(Stmt::Expr(first)) if said(&first.value));
    documented || function.returns.as_deref().is_some_and(may_be_none)
}

/// Whether an annotation is `T | None` or `Optional[T]`.
fn may_be_none(annotation: &Expr) -> bool {
    match annotation {
        Expr::BinOp(either) => may_be_none(&either.left) || may_be_none(&either.right),
        Expr::Subscript(whole) => match &*whole.value {
            Expr::Name(name) => name.id == "Optional",
            Expr::Attribute(name) => name.attr.as_str() == "Optional",
            _ => false,
        },
        other => other.is_none_literal_expr(),
    }
}

fn empty_returns(case: &Case<'_>) -> Vec<String> {
    let bare = |code: &Code<'_>| {
        code.own_stmts().filter(|(_, node)| matches!(node.stmt, Stmt::Return(ret) if ret.value.is_none())).count()
    };
    let has_result = results(&case.old).iter().any(|(_, expr)| !expr.is_none_literal_expr());
    let is_generator = case
        .old
        .code
        .exprs
        .iter()
        .any(|node| node.scope == 0 && matches!(node.expr, Expr::Yield(_) | Expr::YieldFrom(_)));
    let mut findings = Vec::new();
    if !has_result {
        return findings;
    }
    if bare(case.new.code) > bare(case.old.code) {
        findings.push("a new `return` gives nothing".to_owned());
    }
    let ends = |code: &Code<'_>| !always_leaves(&code.function.body);
    if !is_generator && ends(case.new.code) && !ends(case.old.code) {
        findings.push("it can come to its end without a result".to_owned());
    }
    findings
}

/// Records of the old body whose fields held data, and hold a literal now.
fn constant_fields(case: &Case<'_>) -> Vec<String> {
    let mut wanted: BTreeMap<String, bool> = BTreeMap::new();
    for (field, value) in fields(&case.old) {
        let constant = choices(value).into_iter().any(|part| is_constant(&case.old, part));
        wanted.entry(field).and_modify(|all| *all &= !constant).or_insert(!constant);
    }
    let mut findings = Vec::new();
    for (field, value) in fields(&case.new) {
        let held_data = wanted.get(&field).copied().unwrap_or(false);
        if held_data && let Some(made_up) = made_up_choice(case, value) {
            findings.push(format!("the field {field} would be `{}`, whatever the input says", case.text(made_up)));
        }
    }
    findings
}

/// The fields of the records that go into the result: dict displays and calls with keywords that are returned, yielded,
/// gathered, or bound to a name that is.
fn fields<'a>(lens: &Lens<'a>) -> Vec<(String, &'a Expr)> {
    let mut found = Vec::new();
    for record in records(lens) {
        match record {
            Expr::Dict(node) => {
                for item in &node.items {
                    if let Some(Expr::StringLiteral(key)) = &item.key {
                        found.push((format!("`{}`", key.value.to_str()), &item.value));
                    }
                }
            }
            Expr::Call(call) => {
                let name = match &*call.func {
                    Expr::Name(name) => name.id.as_str(),
                    Expr::Attribute(node) => node.attr.as_str(),
                    _ => continue,
                };
                for keyword in &*call.arguments.keywords {
                    if let Some(field) = &keyword.arg {
                        found.push((format!("`{field}` of `{name}`"), &keyword.value));
                    }
                }
                if call.arguments.args.len() > 1 {
                    for (at, value) in call.arguments.args.iter().enumerate() {
                        found.push((format!("{} of `{name}`", at + 1), value));
                    }
                }
            }
            _ => {}
        }
    }
    found
}

fn records<'a>(lens: &Lens<'a>) -> Vec<&'a Expr> {
    let mut direct: Vec<&Expr> = results(lens).into_iter().map(|(_, expr)| expr).collect();
    for node in &lens.code.exprs {
        if let Expr::Call(call) = node.expr
            && let Expr::Attribute(method) = &*call.func
            && matches!(method.attr.as_str(), "append" | "add" | "appendleft" | "insert" | "extend")
        {
            direct.extend(call.arguments.args.iter());
        }
    }
    for node in &lens.code.stmts {
        if let Stmt::Assign(assign) = node.stmt
            && assign.targets.iter().any(Expr::is_subscript_expr)
        {
            direct.push(&assign.value);
        }
    }
    let names: BTreeSet<&str> =
        direct.iter().filter_map(|expr| expr.as_name_expr().map(|name| name.id.as_str())).collect();
    for scope in &lens.code.scopes {
        for name in &names {
            for binding in scope.names.get(name).into_iter().flatten() {
                if let BindingKind::Value(value) = binding.kind {
                    direct.push(value);
                }
            }
        }
    }
    let mut found = Vec::new();
    while let Some(expr) = direct.pop() {
        match expr {
            Expr::ListComp(node) => direct.push(&node.elt),
            Expr::Generator(node) => direct.push(&node.elt),
            Expr::DictComp(node) => direct.push(&node.value),
            Expr::List(node) => direct.extend(&node.elts),
            Expr::If(node) => direct.extend([&*node.body, &*node.orelse]),
            _ => found.push(expr),
        }
    }
    found
}

/// **no_early_return**: no new return before the work is done gives back what was given, an empty or half-filled
/// result. An early return of something worked out from the input is another matter: the other format's branch.
pub(super) fn no_early_return(case: &Case<'_>) -> Look {
    let lens = &case.new;
    let mut findings = Vec::new();
    // What the old body gave back early may be given back early.
    let had: Vec<ComparableExpr<'_>> = early(&case.old).map(|(_, value)| ComparableExpr::from(value)).collect();
    for (at, value) in early(lens) {
        if had.contains(&ComparableExpr::from(value)) {
            continue;
        }
        if in_data_loop(lens, at) && is_gathered(lens, value) {
            findings.push(format!("`return {}` inside the loop leaves the rest of the data out", case.text(value)));
        } else if !is_work(lens, value, None) && !is_filled_here(lens, at, value) && !is_constant(lens, value) {
            findings.push(format!("`return {}` comes before the work", case.text(value)));
        }
    }
    findings.into()
}

/// The returns with a value that are not the last thing a body does.
fn early<'a>(lens: &Lens<'a>) -> impl Iterator<Item = (usize, &'a Expr)> {
    let code = lens.code;
    results(lens).into_iter().filter(move |(at, _)| {
        let stmt = code.stmts[*at].stmt;
        matches!(stmt, Stmt::Return(_)) && !is_last(&code.function.body, stmt)
    })
}

/// Is a statement the last thing that a block does on some path?
fn is_last(body: &[Stmt], wanted: &Stmt) -> bool {
    let Some(last) = body.last() else { return false };
    if std::ptr::eq(last, wanted) {
        return true;
    }
    match last {
        Stmt::If(_) | Stmt::With(_) | Stmt::Match(_) => blocks(last).into_iter().any(|block| is_last(block, wanted)),
        Stmt::Try(node) => [&node.body, &node.orelse, &node.finalbody].into_iter().any(|block| is_last(block, wanted)),
        _ => false,
    }
}

/// Is a statement inside a loop over data (not over a list of things to try)?
fn in_data_loop(lens: &Lens<'_>, at: usize) -> bool {
    lens.code.stmts_around(at).any(|around| match lens.code.stmts[around].stmt {
        Stmt::For(node) => !is_written_list(lens, &node.iter),
        _ => false,
    })
}

/// A name that starts empty and is filled.
fn is_gathered(lens: &Lens<'_>, value: &Expr) -> bool {
    let Expr::Name(name) = value else { return false };
    let Some((holder, bindings)) = lens.code.lookup(name.id.as_str(), 0) else { return false };
    is_changed(lens, name.id.as_str(), holder)
        && bindings.iter().any(|binding| matches!(binding.kind, BindingKind::Value(value) if is_empty_value(value)))
}

/// Is a returned name given its value by work in the same block, before the return?
fn is_filled_here(lens: &Lens<'_>, at: usize, value: &Expr) -> bool {
    let Expr::Name(name) = value else {
        return crate::flow::names_in(value).iter().any(|name| {
            lens.code.lookup(name, 0).is_some_and(|(_, bindings)| {
                bindings.iter().any(|binding| match binding.kind {
                    BindingKind::Value(value) | BindingKind::Part(value, _) => is_work(lens, value, None),
                    BindingKind::Each(_) | BindingKind::EachPart(..) => true,
                    _ => false,
                })
            })
        });
    };
    // What stands before the return in its own block and in those around it.
    let mut before: Vec<&Stmt> = Vec::new();
    for inner in std::iter::once(at).chain(lens.code.stmts_around(at)) {
        let own = lens.code.stmts[inner].stmt;
        let block: Vec<&Stmt> = match lens.code.stmts[inner].parent {
            Some(parent) => blocks(lens.code.stmts[parent].stmt)
                .into_iter()
                .find(|block| block.iter().any(|stmt| std::ptr::eq(stmt, own)))
                .map(|block| block.iter().collect())
                .unwrap_or_default(),
            None => lens.code.function.body.iter().collect(),
        };
        before.extend(block.into_iter().take_while(|stmt| !std::ptr::eq(*stmt, own)));
    }
    // A loop's or test's own head counts: `for key in keys: if key in row: return row[key]`.
    let loop_target = lens.code.stmts_around(at).any(|around| match lens.code.stmts[around].stmt {
        Stmt::For(node) => crate::flow::mentions(&node.target, name.id.as_str()),
        Stmt::With(node) => node
            .items
            .iter()
            .filter_map(|item| item.optional_vars.as_deref())
            .any(|target| crate::flow::mentions(target, name.id.as_str())),
        Stmt::Match(_) => lens
            .code
            .lookup(name.id.as_str(), 0)
            .is_some_and(|(_, bindings)| bindings.iter().any(|binding| matches!(binding.kind, BindingKind::Pattern))),
        _ => false,
    });
    if loop_target {
        return true;
    }
    while let Some(stmt) = before.pop() {
        let fills = match stmt {
            Stmt::Assign(node) => {
                node.targets.iter().any(|target| crate::flow::mentions(target, name.id.as_str()))
                    && !is_constant(lens, &node.value)
            }
            Stmt::AugAssign(node) => crate::flow::mentions(&node.target, name.id.as_str()),
            Stmt::Expr(node) => match &*node.value {
                Expr::Call(call) => match &*call.func {
                    Expr::Attribute(method) => {
                        matches!(&*method.value, Expr::Name(receiver) if receiver.id == name.id)
                    }
                    _ => false,
                },
                _ => false,
            },
            _ => false,
        };
        if fills {
            return true;
        }
        before.extend(blocks(stmt).into_iter().flatten());
    }
    false
}
