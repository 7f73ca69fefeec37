//! Gate 3: what happens where the old form of the data is not there.
//!
//! A repair may ask whether a key that the old body demanded is there. Then the other way must do the work too: read
//! something else of the data, or raise. A row that is passed over because it has the new form is a row lost.

use std::collections::BTreeSet;

use ruff_python_ast::comparable::ComparableExpr;
use ruff_python_ast::{BoolOp, CmpOp, Comprehension, Expr, ExprSubscript, Stmt, StmtIf, UnaryOp};
use ruff_text_size::{Ranged, TextRange};

use crate::code::{BindingKind, Code, blocks};
use crate::constant::{self, CHANGING, is_constant};
use crate::flow::{always_leaves, is_written_list};
use crate::lens::Lens;
use crate::same::is_report;
use crate::vet::Case;

/// Rows and results that are left out where the old form is not there.
pub(super) fn left_out(case: &Case<'_>) -> Vec<String> {
    let absence = Absence::of(case);
    let mut findings: Vec<String> = absence.branches().into_iter().chain(absence.filters()).collect();
    findings.dedup();
    findings
}

/// What the old body demanded, and what the candidate does without it.
pub(super) struct Absence<'c, 'a> {
    case: &'c Case<'a>,
    /// Keys read by a constant subscript, and never asked for softly.
    keys: BTreeSet<String>,
    /// `TABLE[row["kind"]]`: what was looked up in what.
    lookups: Vec<(&'a Expr, &'a Expr)>,
}

impl<'c, 'a> Absence<'c, 'a> {
    pub(super) fn of(case: &'c Case<'a>) -> Self {
        let mut keys = BTreeSet::new();
        let mut soft = BTreeSet::new();
        for code in case.old_helpers.iter().chain([case.old.code]) {
            for node in &code.exprs {
                match node.expr {
                    Expr::Subscript(read) if read.ctx.is_load() => keys.extend(text_of(&read.slice)),
                    Expr::Call(call) => soft.extend(soft_key(call.func.as_attribute_expr(), &call.arguments.args)),
                    Expr::Compare(test) if is_membership(test.ops.first()) => soft.extend(text_of(&test.left)),
                    _ => {}
                }
            }
        }
        let lookups = case.old.code.exprs.iter().filter_map(|node| match node.expr {
            Expr::Subscript(read) if read.ctx.is_load() && text_of(&read.slice).is_none() && !is_place(read) => {
                Some((&*read.value, plain(case.old.code, &read.slice)))
            }
            _ => None,
        });
        Self { case, keys: keys.difference(&soft).cloned().collect(), lookups: lookups.collect() }
    }

    /// Was this looked up in that without a default?
    pub(super) fn was_looked_up(&self, table: &Expr, key: &Expr) -> bool {
        let key = ComparableExpr::from(plain(self.case.new.code, key));
        self.lookups.iter().any(|(old_table, old_key)| {
            ComparableExpr::from(*old_table) == ComparableExpr::from(table) && ComparableExpr::from(*old_key) == key
        })
    }

    /// What a new test answers where the old form is absent; `None` if that does not decide it.
    pub(super) fn answer(&self, test: &Expr) -> Option<bool> {
        if self.case.is_old(test) {
            return None;
        }
        match test {
            Expr::UnaryOp(node) if node.op == UnaryOp::Not => self.answer(&node.operand).map(|answer| !answer),
            Expr::BoolOp(node) => {
                let deciding = node.op == BoolOp::Or;
                let answers: Vec<Option<bool>> = node.values.iter().map(|value| self.answer(value)).collect();
                let decided = answers.contains(&Some(deciding));
                let agreed = answers.iter().all(|answer| *answer == Some(!deciding));
                if decided { Some(deciding) } else { agreed.then_some(!deciding) }
            }
            Expr::Compare(node) => self.compared(&node.left, node.ops.first()?, node.comparators.first()?),
            Expr::Call(_) => self.is_soft_read(test).then_some(false),
            Expr::Named(node) => self.answer(&node.value),
            _ => None,
        }
    }

    fn compared(&self, left: &Expr, op: &CmpOp, right: &Expr) -> Option<bool> {
        match op {
            CmpOp::In | CmpOp::NotIn if self.is_demanded(left) || self.was_looked_up(right, left) => {
                Some(*op == CmpOp::NotIn)
            }
            CmpOp::Is | CmpOp::Eq | CmpOp::IsNot | CmpOp::NotEq
                if right.is_none_literal_expr() && self.is_soft_read(left) =>
            {
                Some(matches!(op, CmpOp::Is | CmpOp::Eq))
            }
            _ => None,
        }
    }

    /// Is it a key that was demanded, and nothing else?
    fn is_demanded(&self, key: &Expr) -> bool {
        let lens = &self.case.new;
        let texts = constant::texts(lens, key, Some(lens.code.scope_of(key)));
        !texts.is_empty() && texts.iter().all(|text| self.keys.contains(text))
    }

    /// `row.get("amount")`, `hasattr(row, "amount")`: nothing or no where the key is absent.
    fn is_soft_read(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Named(node) => self.is_soft_read(&node.value),
            Expr::Call(call) => match (&*call.func, &*call.arguments.args) {
                (Expr::Attribute(method), [key]) => method.attr.as_str() == "get" && self.is_demanded(key),
                (Expr::Attribute(method), [key, default]) => {
                    method.attr.as_str() == "get" && self.is_demanded(key) && constant::is_empty_value(default)
                }
                (Expr::Name(name), [_, key]) => name.id.as_str() == "hasattr" && self.is_demanded(key),
                _ => false,
            },
            _ => false,
        }
    }

    /// Branches that pass over the new form.
    fn branches(&self) -> Vec<String> {
        let code = self.case.new.code;
        let mut findings = Vec::new();
        for (at, node) in code.stmts.iter().enumerate() {
            if let Stmt::If(branch) = node.stmt
                && let Some((test, way)) = self.way(branch)
                && self.passes_over(at, branch, way)
            {
                findings.push(format!(
                    "where `{}` says that the old form is not there, nothing is read and nothing raised",
                    self.case.text(test)
                ));
            }
        }
        findings
    }

    /// The test that the absence decides, and the block that runs then; `None` for the block if there is no such.
    fn way<'b>(&self, branch: &'b StmtIf) -> Option<(&'b Expr, Option<&'b [Stmt]>)> {
        let mut decided = None;
        let first = (Some(&*branch.test), branch.body.as_slice());
        let clauses = branch.elif_else_clauses.iter().map(|clause| (clause.test.as_ref(), clause.body.as_slice()));
        for (test, body) in std::iter::once(first).chain(clauses) {
            match test.map(|test| (test, self.answer(test))) {
                Some((test, Some(true))) => return Some((test, Some(body))),
                Some((test, Some(false))) => decided = Some(test),
                // Some other way is asked for: what it does is not ours to say.
                Some((_, None)) => return None,
                None => return decided.map(|test| (test, Some(body))),
            }
        }
        decided.map(|test| (test, None))
    }

    fn passes_over(&self, at: usize, branch: &StmtIf, way: Option<&[Stmt]>) -> bool {
        let code = self.case.new.code;
        if way.is_some_and(|block| self.stands(block)) {
            return false;
        }
        let leaves = way.is_some_and(always_leaves);
        let in_loop = code.stmts_around(at).any(|outer| self.is_over_data(code.stmts[outer].stmt));
        if leaves {
            return in_loop || way.is_some_and(|block| block.iter().any(|stmt| matches!(stmt, Stmt::Return(_))));
        }
        let guarded = std::iter::once(branch.body.as_slice())
            .chain(branch.elif_else_clauses.iter().map(|clause| clause.body.as_slice()));
        let guards_work = guarded.flatten().any(|stmt| self.reads_old(stmt.range()));
        in_loop && guards_work && !self.rest(at).into_iter().any(|block| self.stands(block))
    }

    /// A loop, but not one over names or formats to try.
    fn is_over_data(&self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::For(each) => !is_written_list(&self.case.new, &each.iter),
            Stmt::While(_) => true,
            _ => false,
        }
    }

    /// The statements after one, in its block and in those around it, up to the loop.
    fn rest(&self, at: usize) -> Vec<&'a [Stmt]> {
        let code = self.case.new.code;
        let mut found = Vec::new();
        let mut inner = at;
        while let Some(outer) = code.stmts[inner].parent {
            for block in blocks(code.stmts[outer].stmt) {
                if let Some(place) = block.iter().position(|stmt| std::ptr::eq(stmt, code.stmts[inner].stmt)) {
                    found.push(block.get(place + 1..).unwrap_or_default());
                }
            }
            if self.is_over_data(code.stmts[outer].stmt) {
                break;
            }
            inner = outer;
        }
        found
    }

    /// Does a block raise, read something new of the data, or demand the old form?
    fn stands(&self, block: &[Stmt]) -> bool {
        block.iter().any(|stmt| {
            holds_refusal(stmt)
                || self.exprs_in(stmt.range()).any(|expr| self.is_new_read(expr) || self.reads_demanded(expr))
        })
    }

    fn exprs_in(&self, range: TextRange) -> impl Iterator<Item = &'a Expr> + use<'a> {
        let exprs = &self.case.new.code.exprs;
        exprs.iter().map(|node| node.expr).filter(move |expr| range.contains_range(expr.range()))
    }

    fn reads_old(&self, range: TextRange) -> bool {
        self.exprs_in(range).any(|expr| self.reads_demanded(expr))
    }

    fn reads_demanded(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Subscript(read) if read.ctx.is_load() => {
                self.is_demanded(&read.slice) || self.was_looked_up(&read.value, &read.slice)
            }
            _ => false,
        }
    }

    /// A read of the data that the old body did not do, or a value put where the demanded one stands.
    fn is_new_read(&self, expr: &Expr) -> bool {
        let lens = &self.case.new;
        match expr {
            Expr::Subscript(read) if read.ctx.is_store() => {
                self.is_demanded(&read.slice) || self.was_looked_up(&read.value, &read.slice)
            }
            Expr::Subscript(read) => {
                !read.slice.is_slice_expr() && !self.case.is_old(expr) && !is_constant(lens, &read.value)
            }
            Expr::Call(call) => {
                let name = match &*call.func {
                    Expr::Name(name) => name.id.as_str(),
                    Expr::Attribute(method) => method.attr.as_str(),
                    _ => return true,
                };
                let silent = CHANGING.contains(&name) || MEASURING.contains(&name) || is_report(&call.func);
                !silent && !self.case.is_old(expr) && !self.is_soft_read(expr) && !is_constant(lens, expr)
            }
            _ => false,
        }
    }

    /// Filters that keep the old form only, where nobody else walks the same rows.
    fn filters(&self) -> Vec<String> {
        let mut findings = Vec::new();
        for node in &self.case.new.code.exprs {
            let dropped = match node.expr {
                Expr::Call(call) => match (&*call.func, &*call.arguments.args) {
                    (Expr::Name(name), [Expr::Lambda(lambda), rows]) if name.id.as_str() == "filter" => {
                        (self.answer(&lambda.body) == Some(false)).then_some((&*lambda.body, rows))
                    }
                    _ => None,
                },
                expr => generators(expr).iter().find_map(|generator| self.filter_of(generator)),
            };
            if let Some((test, rows)) = dropped
                && !is_written_list(&self.case.new, rows)
                && !self.is_walked_besides(rows, node.expr)
            {
                findings.push(format!("`{}` leaves out every row of the new form", self.case.text(test)));
            }
        }
        findings
    }

    fn filter_of<'e>(&self, generator: &'e Comprehension) -> Option<(&'e Expr, &'e Expr)> {
        let test = generator.ifs.iter().find(|test| self.answer(test) == Some(false))?;
        Some((test, &generator.iter))
    }

    fn is_walked_besides(&self, rows: &Expr, by: &Expr) -> bool {
        let code = self.case.new.code;
        let same = |iter: &Expr| ComparableExpr::from(iter) == ComparableExpr::from(rows);
        let by_loop = code.stmts.iter().any(|node| matches!(node.stmt, Stmt::For(each) if same(&each.iter)));
        by_loop
            || code.exprs.iter().filter(|node| !std::ptr::eq(node.expr, by)).any(|node| {
                generators(node.expr)
                    .iter()
                    .any(|generator| same(&generator.iter) && self.filter_of(generator).is_none())
            })
    }
}

/// Calls that tell the size or sort of something, not what is in it.
const MEASURING: &[&str] = &[
    "len",
    "isinstance",
    "type",
    "id",
    "hash",
    "bool",
    "range",
    "enumerate",
    "list",
    "tuple",
    "set",
    "dict",
    "sorted",
    "keys",
    "copy",
];

/// Is a value no more than a constant, a count of steps, or the size of the record that the key was read from?
pub(super) fn is_measure(case: &Case<'_>, expr: &Expr) -> bool {
    let lens = &case.new;
    let go = |inner: &Expr| is_constant(lens, inner) || is_measure(case, inner);
    match expr {
        Expr::Tuple(node) => !node.elts.is_empty() && node.elts.iter().all(go),
        Expr::List(node) => !node.elts.is_empty() && node.elts.iter().all(go),
        Expr::BinOp(node) => go(&node.left) && go(&node.right),
        Expr::UnaryOp(node) => go(&node.operand),
        Expr::Call(call) => match (&*call.func, &*call.arguments.args) {
            (Expr::Name(name), [only]) => match name.id.as_str() {
                "len" => is_record(case, only),
                "str" | "int" | "float" => is_measure(case, only),
                _ => false,
            },
            _ => false,
        },
        Expr::Name(name) => is_counter(lens, name.id.as_str(), expr),
        Expr::Attribute(node) => is_limit(lens, node),
        _ => false,
    }
}

/// Is it what the old body reads demanded keys of: `row` in `row["amount"]`?
fn is_record(case: &Case<'_>, expr: &Expr) -> bool {
    case.old.code.exprs.iter().any(|node| match node.expr {
        Expr::Subscript(read) => {
            text_of(&read.slice).is_some() && ComparableExpr::from(&*read.value) == ComparableExpr::from(expr)
        }
        _ => false,
    })
}

/// A name that counts rounds: `for number, row in enumerate(rows)`, `for at in range(9)`.
fn is_counter(lens: &Lens<'_>, name: &str, expr: &Expr) -> bool {
    let calls = |value: &Expr, wanted: &str| {
        value.as_call_expr().is_some_and(|call| call.func.as_name_expr().is_some_and(|name| name.id.as_str() == wanted))
    };
    let Some((_, bindings)) = lens.code.lookup(name, lens.code.scope_of(expr)) else { return false };
    bindings.iter().any(|binding| match &binding.kind {
        BindingKind::EachPart(value, 0) => calls(value, "enumerate"),
        BindingKind::Each(value) => calls(value, "range"),
        _ => false,
    })
}

/// `date.max`, `sys.maxsize`: a constant of a module.
fn is_limit(lens: &Lens<'_>, node: &ruff_python_ast::ExprAttribute) -> bool {
    let limit = matches!(node.attr.as_str(), "max" | "min" | "nan" | "inf" | "maxsize" | "resolution" | "NaT" | "NA");
    limit && !lens.paths(&node.value).is_empty()
}

/// The expression behind a name that is bound once, else the expression itself.
fn plain<'a>(code: &Code<'a>, expr: &'a Expr) -> &'a Expr {
    let Expr::Name(name) = expr else { return expr };
    match code.lookup(name.id.as_str(), code.scope_of(expr)) {
        Some((_, [only])) => match only.kind {
            BindingKind::Value(value) => value,
            _ => expr,
        },
        _ => expr,
    }
}

fn text_of(expr: &Expr) -> Option<String> {
    expr.as_string_literal_expr().map(|text| text.value.to_str().to_owned())
}

fn soft_key(method: Option<&ruff_python_ast::ExprAttribute>, arguments: &[Expr]) -> Option<String> {
    let soft = matches!(method?.attr.as_str(), "get" | "setdefault" | "pop");
    arguments.first().filter(|_| soft).and_then(text_of)
}

fn is_membership(op: Option<&CmpOp>) -> bool {
    matches!(op, Some(CmpOp::In | CmpOp::NotIn))
}

/// A read by place: `row[2]`, `row[-1]`, `row[1:]`.
fn is_place(read: &ExprSubscript) -> bool {
    read.slice.is_slice_expr() || constant::integer(&read.slice).is_some()
}

fn holds_refusal(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Raise(_) | Stmt::Assert(_)) || blocks(stmt).into_iter().flatten().any(holds_refusal)
}

fn generators(expr: &Expr) -> &[Comprehension] {
    match expr {
        Expr::ListComp(node) => &node.generators,
        Expr::SetComp(node) => &node.generators,
        Expr::DictComp(node) => &node.generators,
        Expr::Generator(node) => &node.generators,
        _ => &[],
    }
}
