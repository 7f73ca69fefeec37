//! Gate 3: nothing of the result is cut off.

use std::collections::BTreeSet;

use ruff_python_ast::{CmpOp, Expr, ExprCall, ExprSlice, Stmt, StmtFor};

use super::Look;
use super::absence::left_out;
use crate::code::{BindingKind, blocks};
use crate::constant::{integer, is_changed, is_empty_value};
use crate::flow::{is_written_list, mentions, names_in};
use crate::lens::Lens;
use crate::vet::Case;

/// **no_cut_result**: no new constant slice, `pop`, `del` or filter on what is returned, no new bound on how much is read,
/// no new stop after so many rows, no row passed over because the old form is not there.
pub(super) fn no_cut_result(case: &Case<'_>) -> Look {
    let lens = &case.new;
    let gathered = gathered(lens);
    let mut findings = Vec::new();
    for (at, node) in lens.code.exprs.iter().enumerate() {
        if case.is_old(node.expr) {
            continue;
        }
        let flows = || flows_into_result(lens, at, &gathered);
        match node.expr {
            Expr::Subscript(subscript) => {
                let Expr::Slice(slice) = &*subscript.slice else { continue };
                let of_comprehension = matches!(&*subscript.value, Expr::ListComp(comp)
                    if comp.generators.iter().all(|generator| !is_written_list(lens, &generator.iter)));
                let on_result = is_gathered(&subscript.value, &gathered) || (of_comprehension && flows());
                if on_result && bounds(slice) && !is_header_cut(lens, slice, &subscript.value) {
                    findings.push(format!("`{}` cuts the result", case.text(node.expr)));
                } else if upper_bound(slice)
                    && is_walked(lens, at, &gathered)
                    && !is_written_list(lens, &subscript.value)
                {
                    findings.push(format!("only `{}` is read", case.text(node.expr)));
                }
            }
            Expr::Call(call)
                if (takes_away(call, &gathered)
                    || (takes_some(case, call) && (is_walked(lens, at, &gathered) || flows()))) =>
            {
                findings.push(format!("`{}` cuts the result", case.text(node.expr)));
            }
            Expr::ListComp(comp) => {
                let filters = comp
                    .generators
                    .iter()
                    .any(|generator| !generator.ifs.is_empty() && is_gathered(&generator.iter, &gathered));
                if filters && flows() {
                    findings.push("a new filter leaves out parts of the result".to_owned());
                }
            }
            _ => {}
        }
    }
    findings.extend(deletions(case, &gathered));
    findings.extend(counted_stops(case, &gathered));
    findings.extend(left_out(case));
    findings.into()
}

/// The names of what is gathered and returned: they start empty or as a list of work, and are (part of) the result.
fn gathered<'a>(lens: &Lens<'a>) -> BTreeSet<&'a str> {
    let mut returned = BTreeSet::new();
    for (_, node) in lens.code.own_stmts() {
        if let Stmt::Return(ret) = node.stmt
            && let Some(value) = &ret.value
        {
            returned.extend(names_in(value));
        }
    }
    returned
        .into_iter()
        .filter(|name| {
            let Some((holder, bindings)) = lens.code.lookup(name, 0) else { return false };
            let starts_empty = is_changed(lens, name, holder)
                && bindings.iter().any(|b| matches!(b.kind, BindingKind::Value(value) if is_empty_value(value)));
            starts_empty
                || bindings.iter().any(|binding| match binding.kind {
                    BindingKind::Value(value) => {
                        matches!(value, Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_))
                    }
                    _ => false,
                })
        })
        .collect()
}

fn is_gathered(expr: &Expr, gathered: &BTreeSet<&str>) -> bool {
    match expr {
        Expr::Name(name) => gathered.contains(name.id.as_str()),
        Expr::Call(call) => match (&*call.func, &*call.arguments.args) {
            (Expr::Name(name), [first, ..]) => {
                matches!(name.id.as_str(), "list" | "sorted" | "tuple" | "reversed" | "set")
                    && is_gathered(first, gathered)
            }
            _ => false,
        },
        _ => false,
    }
}

fn bounds(slice: &ExprSlice) -> bool {
    [&slice.lower, &slice.upper, &slice.step]
        .into_iter()
        .flatten()
        .any(|bound| integer(bound).is_some_and(|number| number != 0 && number != 1) || !is_number(bound))
        || slice.lower.as_deref().and_then(integer) == Some(1)
        || slice.upper.as_deref().and_then(integer).is_some()
}

fn is_number(expr: &Expr) -> bool {
    integer(expr).is_some()
}

fn upper_bound(slice: &ExprSlice) -> bool {
    slice.upper.as_deref().and_then(integer).is_some_and(|number| number > 0)
}

/// `rows[1:]` beside `rows[0]`: the header is taken off, not data.
fn is_header_cut(lens: &Lens<'_>, slice: &ExprSlice, value: &Expr) -> bool {
    let Expr::Name(name) = value else { return false };
    slice.lower.as_deref().and_then(integer) == Some(1)
        && slice.upper.is_none()
        && slice.step.is_none()
        && lens.code.exprs.iter().any(|node| match node.expr {
            Expr::Subscript(other) => {
                matches!(&*other.value, Expr::Name(base) if base.id == name.id) && integer(&other.slice) == Some(0)
            }
            _ => false,
        })
}

/// Is an expression what a loop goes over that gathers, or a comprehension? A loop that only looks for something is not.
fn is_walked(lens: &Lens<'_>, at: usize, gathered: &BTreeSet<&str>) -> bool {
    let node = &lens.code.exprs[at];
    let top = lens.code.around(at).last().map_or(node.expr, |outer| outer.expr);
    let inside =
        |iter: &Expr| ruff_text_size::Ranged::range(iter).contains_range(ruff_text_size::Ranged::range(node.expr));
    let by_loop = matches!(lens.code.stmts[node.stmt].stmt, Stmt::For(each)
        if std::ptr::eq(&raw const *each.iter, top) && (fills(&each.body, gathered) || holds_yield(lens, each)));
    by_loop
        || lens.code.around(at).any(|outer| {
            let generators = match outer.expr {
                Expr::ListComp(comp) => &comp.generators,
                Expr::SetComp(comp) => &comp.generators,
                Expr::DictComp(comp) => &comp.generators,
                Expr::Generator(comp) => &comp.generators,
                _ => return false,
            };
            generators.iter().any(|generator| inside(&generator.iter))
        })
}

/// Does a loop yield what it goes over, or sum it up?
fn holds_yield(lens: &Lens<'_>, each: &StmtFor) -> bool {
    let range = ruff_text_size::Ranged::range(each);
    let yields = lens.code.exprs.iter().any(|node| {
        matches!(node.expr, Expr::Yield(_)) && range.contains_range(ruff_text_size::Ranged::range(node.expr))
    });
    yields || each.body.iter().any(|stmt| matches!(stmt, Stmt::AugAssign(_)))
}

/// Does the value of an expression go into the result: it is returned, or assigned to what is?
fn flows_into_result(lens: &Lens<'_>, at: usize, gathered: &BTreeSet<&str>) -> bool {
    match lens.code.stmts[lens.code.exprs[at].stmt].stmt {
        Stmt::Return(_) => true,
        Stmt::Assign(node) => node
            .targets
            .iter()
            .any(|target| names_in(target).iter().any(|name| gathered.contains(name) || is_returned(lens, name))),
        _ => false,
    }
}

fn is_returned(lens: &Lens<'_>, name: &str) -> bool {
    lens.code.own_stmts().any(|(_, node)| match node.stmt {
        Stmt::Return(ret) => ret.value.as_deref().is_some_and(|value| mentions(value, name)),
        _ => false,
    })
}

/// Methods that take something out of what is gathered.
fn takes_away(call: &ExprCall, gathered: &BTreeSet<&str>) -> bool {
    let Expr::Attribute(method) = &*call.func else { return false };
    let by_key = call.arguments.args.first().is_some_and(|key| integer(key).is_none());
    matches!(method.attr.as_str(), "pop" | "popitem" | "popleft" | "clear" | "remove" | "discard")
        && matches!(&*method.value, Expr::Name(name) if gathered.contains(name.id.as_str()))
        && !(method.attr.as_str() == "pop" && by_key)
}

/// Calls that give only so many.
fn takes_some(case: &Case<'_>, call: &ExprCall) -> bool {
    let name = match &*call.func {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(node) => node.attr.as_str(),
        _ => return false,
    };
    let number = |at: usize| call.arguments.args.get(at).and_then(integer);
    let keyword = |name: &str| call.arguments.find_keyword(name).and_then(|keyword| integer(&keyword.value));
    match name {
        "islice" => match call.arguments.args.len() {
            2 => number(1).is_some(),
            len => len > 2 && number(2).is_some(),
        },
        "head" | "tail" | "sample" => !case.old_uses_attribute(name),
        "nlargest" | "nsmallest" => number(0).is_some(),
        _ => ["nrows", "max_rows", "skipfooter", "limit"].iter().any(|name| keyword(name).is_some_and(|n| n > 0)),
    }
}

fn deletions(case: &Case<'_>, gathered: &BTreeSet<&str>) -> Vec<String> {
    let mut findings = Vec::new();
    for node in &case.new.code.stmts {
        let Stmt::Delete(delete) = node.stmt else { continue };
        for target in &delete.targets {
            if let Expr::Subscript(subscript) = target
                && is_gathered(&subscript.value, gathered)
                && !case.is_old(target)
            {
                findings.push(format!("`del {}` takes away from the result", case.text(target)));
            }
        }
    }
    findings
}

/// `if len(rows) >= 20: break`, `if i > 100: return rows`.
fn counted_stops(case: &Case<'_>, gathered: &BTreeSet<&str>) -> Vec<String> {
    let lens = &case.new;
    let mut findings = Vec::new();
    for (at, node) in lens.code.stmts.iter().enumerate() {
        let Stmt::If(branch) = node.stmt else { continue };
        let stops = |body: &[Stmt]| {
            body.iter().any(|stmt| matches!(stmt, Stmt::Break(_) | Stmt::Return(_) | Stmt::Continue(_)))
        };
        if case.is_old(&branch.test) || !stops(&branch.body) {
            continue;
        }
        let around = lens.code.stmts_around(at).find_map(|around| match lens.code.stmts[around].stmt {
            Stmt::For(each) => Some(each),
            _ => None,
        });
        let Some(each) = around else { continue };
        let gathers = fills(&each.body, gathered) && !is_written_list(lens, &each.iter);
        if gathers && counts(&branch.test, &each.target, gathered) {
            findings.push(format!("it stops at `{}`", case.text(&branch.test)));
        }
    }
    findings
}

fn fills(body: &[Stmt], gathered: &BTreeSet<&str>) -> bool {
    body.iter().any(|stmt| {
        let here = match stmt {
            Stmt::Expr(node) => match &*node.value {
                Expr::Call(call) => match &*call.func {
                    Expr::Attribute(method) => names_in(&method.value).iter().any(|name| gathered.contains(name)),
                    _ => false,
                },
                _ => false,
            },
            Stmt::Assign(node) => node.targets.iter().any(|target| {
                target.is_subscript_expr() && names_in(target).iter().any(|name| gathered.contains(name))
            }),
            _ => false,
        };
        here || blocks(stmt).into_iter().any(|block| fills(block, gathered))
    })
}

/// A comparison of a count of rows with a number above one.
fn counts(test: &Expr, target: &Expr, gathered: &BTreeSet<&str>) -> bool {
    match test {
        Expr::BoolOp(node) => node.values.iter().any(|value| counts(value, target, gathered)),
        Expr::Compare(node) => {
            let ordered =
                node.ops.iter().all(|op| matches!(op, CmpOp::Gt | CmpOp::GtE | CmpOp::Eq | CmpOp::Lt | CmpOp::LtE));
            let number = node.comparators.iter().any(|other| integer(other).is_some_and(|n| n > 1));
            let is_count = match &*node.left {
                Expr::Call(call) => match (&*call.func, &*call.arguments.args) {
                    (Expr::Name(name), [only]) => name.id.as_str() == "len" && is_gathered(only, gathered),
                    _ => false,
                },
                // `for i, row in enumerate(rows)`: the first of two targets.
                Expr::Name(name) => match crate::code::collect_elements(target) {
                    Some([first, ..]) => matches!(first, Expr::Name(first) if first.id == name.id),
                    _ => false,
                },
                _ => false,
            };
            ordered && number && is_count
        }
        _ => false,
    }
}
