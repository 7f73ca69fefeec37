//! Gate 2, the header: a candidate is a new body for one function and nothing else.

use ruff_python_ast::comparable::{ComparableDecorator, ComparableExpr, ComparableParameters, ComparableTypeParams};
use ruff_python_ast::statement_visitor::{StatementVisitor, walk_stmt};
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Parameters, Stmt, StmtFunctionDef};

use super::Look;
use crate::vet::FenceCase;

/// **one_function**: nothing before or after it, no class around it, nothing inside it that takes its own name.
pub(super) fn one_function(case: &FenceCase<'_>) -> Look {
    let Some(new) = case.new else {
        let what = match case.statements {
            [Stmt::ClassDef(_)] => "it is a class, not the function alone",
            [] => "it holds no statement",
            _ => "it holds no function",
        };
        return Look::Failed(vec![what.to_owned()]);
    };
    let mut findings: Vec<String> = case
        .statements
        .iter()
        .filter(|stmt| !matches!(stmt, Stmt::FunctionDef(function) if std::ptr::eq(function, new)))
        .map(|stmt| format!("{} stands beside the function", describe(stmt)))
        .collect();
    let mut inner = OwnName { name: case.old.name.as_str(), found: false };
    new.body.iter().for_each(|stmt| inner.visit_stmt(stmt));
    if inner.found {
        findings.push(format!("something inside it takes its own name `{}`", case.old.name));
    }
    findings.into()
}

fn describe(stmt: &Stmt) -> String {
    match stmt {
        Stmt::FunctionDef(node) => format!("another function `{}`", node.name),
        Stmt::ClassDef(node) => format!("a class `{}`", node.name),
        Stmt::Import(_) | Stmt::ImportFrom(_) => "an import".to_owned(),
        Stmt::Assign(_) | Stmt::AnnAssign(_) | Stmt::AugAssign(_) => "an assignment".to_owned(),
        _ => "a statement".to_owned(),
    }
}

struct OwnName<'a> {
    name: &'a str,
    found: bool,
}

impl<'a> StatementVisitor<'a> for OwnName<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let takes = |target: &Expr| matches!(target, Expr::Name(name) if name.id.as_str() == self.name);
        self.found |= match stmt {
            Stmt::FunctionDef(node) => node.name.as_str() == self.name,
            Stmt::ClassDef(node) => node.name.as_str() == self.name,
            Stmt::Assign(node) => node.targets.iter().any(takes) && node.value.is_lambda_expr(),
            _ => false,
        };
        walk_stmt(self, stmt);
    }
}

/// **same_name**: the function keeps its name.
pub(super) fn same_name(case: &FenceCase<'_>) -> Look {
    with(case, |new| {
        let same = new.name.as_str() == case.old.name.as_str();
        (!same).then(|| format!("it is called `{}`, not `{}`", new.name, case.old.name))
    })
}

/// **same_kind**: plain, generator, coroutine and async generator stay what they are.
pub(super) fn same_kind(case: &FenceCase<'_>) -> Look {
    with(case, |new| {
        let (old, new) = (kind(case.old), kind(new));
        (old != new).then(|| format!("it was {old} and would be {new}"))
    })
}

fn kind(function: &StmtFunctionDef) -> &'static str {
    let mut yields = Yields(false);
    yields.visit_body(&function.body);
    match (function.is_async, yields.0) {
        (false, false) => "a plain function",
        (false, true) => "a generator",
        (true, false) => "a coroutine",
        (true, true) => "an async generator",
    }
}

/// Looks for `yield` in a function's own body.
struct Yields(bool);

impl<'a> Visitor<'a> for Yields {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if !matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            visitor::walk_stmt(self, stmt);
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Yield(_) | Expr::YieldFrom(_) => self.0 = true,
            Expr::Lambda(_) => {}
            _ => visitor::walk_expr(self, expr),
        }
    }
}

/// **same_parameters**: names, order, kinds, defaults and annotations are as they were.
pub(super) fn same_parameters(case: &FenceCase<'_>) -> Look {
    with(case, |new| {
        let (old, new_parameters) = (&case.old.parameters, &new.parameters);
        if ComparableParameters::from(&**old) != ComparableParameters::from(&**new_parameters) {
            return Some(difference(old, new_parameters));
        }
        let types = |function: &StmtFunctionDef| function.type_params.is_some();
        let same_types = match (&case.old.type_params, &new.type_params) {
            (Some(old), Some(new)) => ComparableTypeParams::from(&**old) == ComparableTypeParams::from(&**new),
            _ => types(case.old) == types(new),
        };
        (!same_types).then(|| "its type parameters differ".to_owned())
    })
}

fn difference(old: &Parameters, new: &Parameters) -> String {
    let names = |parameters: &Parameters| -> Vec<String> {
        parameters.iter().map(|parameter| parameter.name().to_string()).collect()
    };
    let (old, new) = (names(old), names(new));
    if let Some(extra) = new.iter().find(|name| !old.contains(name)) {
        return format!("parameter `{extra}` is new");
    }
    match old.iter().find(|name| !new.contains(name)) {
        Some(lost) => format!("parameter `{lost}` is gone"),
        None => "a parameter's order, kind, default or annotation differs".to_owned(),
    }
}

/// **same_return**: the return annotation is as it was.
pub(super) fn same_return(case: &FenceCase<'_>) -> Look {
    with(case, |new| {
        let old = case.old.returns.as_ref().map(|expr| ComparableExpr::from(&**expr));
        let new = new.returns.as_ref().map(|expr| ComparableExpr::from(&**expr));
        (old != new).then(|| "the return annotation differs".to_owned())
    })
}

/// **same_decorators**: the same decorators in the same order.
pub(super) fn same_decorators(case: &FenceCase<'_>) -> Look {
    with(case, |new| {
        let list = |function: &StmtFunctionDef| function.decorator_list.len();
        (!has_same_decorators(case.old, new))
            .then(|| format!("{} decorators before, {} now, or other ones", list(case.old), list(new)))
    })
}

fn has_same_decorators(old: &StmtFunctionDef, new: &StmtFunctionDef) -> bool {
    let old: Vec<ComparableDecorator<'_>> = old.decorator_list.iter().map(ComparableDecorator::from).collect();
    let new: Vec<ComparableDecorator<'_>> = new.decorator_list.iter().map(ComparableDecorator::from).collect();
    old == new
}

/// Do the two share decorators and parameters?
pub(crate) fn has_same_header(old: &StmtFunctionDef, new: &StmtFunctionDef) -> bool {
    has_same_decorators(old, new)
        && ComparableParameters::from(&*old.parameters) == ComparableParameters::from(&*new.parameters)
}

/// **docstring_kept**: a docstring may grow; half of its words must stay.
pub(super) fn docstring_kept(case: &FenceCase<'_>) -> Look {
    with(case, |new| {
        let old = docstring(case.old)?;
        let Some(new) = docstring(new) else { return Some("the docstring is gone".to_owned()) };
        let words = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_lowercase).collect() };
        let (old, new) = (words(old), words(new));
        let kept = old.iter().filter(|word| new.contains(word)).count();
        (kept * 2 < old.len()).then(|| "the docstring says something else".to_owned())
    })
}

/// The text of a function's docstring.
pub(crate) fn docstring(function: &StmtFunctionDef) -> Option<&str> {
    match function.body.first() {
        Some(Stmt::Expr(node)) => node.value.as_string_literal_expr().map(|text| text.value.to_str()),
        _ => None,
    }
}

fn with(case: &FenceCase<'_>, find: impl FnOnce(&StmtFunctionDef) -> Option<String>) -> Look {
    case.new.and_then(find).into_iter().collect::<Vec<String>>().into()
}
