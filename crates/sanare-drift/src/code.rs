//! What the target's source says about the data it reads: values known from the text, and where names come from.

pub mod known;
pub mod table_origin;
pub mod table_reader;
pub mod table_reads;
pub mod table_uses;
pub mod tree;
pub mod write;

pub mod object_path;
pub mod object_reads;
pub(crate) mod object_walk;
pub(crate) mod object_decide;
pub(crate) mod object_project;
pub(crate) mod object_calls;
pub(crate) mod object_eval;
pub(crate) mod object_view;
pub(crate) mod object_fit;
pub(crate) mod object_complete;
pub(crate) mod object_veto;
pub(crate) mod object_write;
pub(crate) mod object_field;
pub(crate) mod object_place;
pub(crate) mod object_leaf;
pub(crate) mod object_none;
pub(crate) mod object_scale;
pub(crate) mod object_xml;

use sanare_source::ast::{Expr, ExprCall, Number, Stmt, StmtFunctionDef, UnaryOp};
use sanare_source::parse::Source;
use sanare_source::size::Ranged;

use tree::{Node, Tree};

/// The target function and the module around it.
pub struct Code<'a> {
    /// The module.
    pub source: &'a Source,
    /// The function that may change.
    pub target: &'a StmtFunctionDef,
    /// Its body, helper functions of earlier layers left out.
    pub tree: Tree<'a>,
    /// Names of the helper functions that earlier layers wrote into it.
    pub helpers: Vec<&'a str>,
}

/// How a name got its value.
#[derive(Clone, Copy, Debug)]
pub enum Binding<'a> {
    /// `name = value`.
    Assigned(&'a Expr),
    /// Item at a place of `a, b = value`.
    Unpacked(&'a Expr, usize),
    /// `for name in iterable`.
    Item(&'a Expr),
    /// Item at a place of `for a, b in iterable`.
    ItemPart(&'a Expr, usize),
    /// `with value as name`.
    Entered(&'a Expr),
    /// `first, *name = value`.
    Rest(&'a Expr),
    /// A parameter of the target.
    Parameter,
}

impl<'a> Code<'a> {
    /// Looks at a target. Inner functions with a name of [`write::HELPERS`] are taken for ours.
    pub fn of(source: &'a Source, target: &'a StmtFunctionDef) -> Self {
        let helpers: Vec<&str> = target
            .body
            .iter()
            .filter_map(|statement| statement.as_function_def_stmt())
            .map(|inner| inner.name.as_str())
            .filter(|name| write::HELPERS.contains(name))
            .collect();
        Self { source, target, tree: Tree::of(&target.body, &helpers), helpers }
    }

    /// Whether an earlier layer wrote this helper.
    pub fn has(&self, helper: &str) -> bool {
        self.helpers.contains(&helper)
    }

    /// The text of a node.
    pub fn text(&self, node: impl Ranged) -> &'a str {
        self.source.slice(node)
    }

    /// Names of the target's parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &'a str> {
        self.target.parameters.iter().map(|parameter| parameter.name().as_str())
    }

    /// The value that a module-level name is assigned, if once.
    pub fn constant(&self, name: &str) -> Option<&'a Expr> {
        let mut found = None;
        for statement in self.source.body() {
            let (target, value) = match statement {
                Stmt::Assign(assign) => (assign.targets.first()?, &*assign.value),
                Stmt::AnnAssign(assign) => (&*assign.target, assign.value.as_deref()?),
                _ => continue,
            };
            if target.as_name_expr().is_some_and(|target| target.id == name) {
                if found.is_some() {
                    return None;
                }
                found = Some(value);
            }
        }
        found
    }

    /// The module-level function of this name.
    pub fn function(&self, name: &str) -> Option<&'a StmtFunctionDef> {
        let mut found = self.source.body().iter().filter_map(Stmt::as_function_def_stmt);
        found.find(|function| function.name.as_str() == name && !std::ptr::eq(*function, self.target))
    }

    /// Follows names to the constant expression that they stand for.
    pub fn resolve(&self, expr: &'a Expr) -> &'a Expr {
        let mut expr = expr;
        for _ in 0..4 {
            let Some(name) = expr.as_name_expr() else { return expr };
            match self.binding(expr) {
                Some(Binding::Assigned(value)) => expr = value,
                Some(_) => return expr,
                None => match self.constant(&name.id) {
                    Some(value) => expr = value,
                    None => return expr,
                },
            }
        }
        expr
    }

    /// The text that an expression stands for, if it is constant.
    pub fn constant_text(&self, expr: &'a Expr) -> Option<&'a str> {
        text_of(self.resolve(expr))
    }

    /// The whole number that an expression stands for, if it is constant.
    pub fn constant_int(&self, expr: &'a Expr) -> Option<i64> {
        int_of(self.resolve(expr))
    }

    /// The texts of a constant list, tuple or set, or the keys of a constant dictionary.
    pub fn constant_texts(&self, expr: &'a Expr) -> Option<Vec<&'a str>> {
        match self.resolve(expr) {
            Expr::List(list) => list.elts.iter().map(|item| self.constant_text(item)).collect(),
            Expr::Tuple(tuple) => tuple.elts.iter().map(|item| self.constant_text(item)).collect(),
            Expr::Set(set) => set.elts.iter().map(|item| self.constant_text(item)).collect(),
            Expr::Dict(dict) => dict.iter_keys().map(|key| text_of(key?)).collect(),
            _ => None,
        }
    }

    /// How a name that is used here got its value: in the comprehension around it, else by the last binding before it.
    pub fn binding(&self, used: &'a Expr) -> Option<Binding<'a>> {
        let name = used.as_name_expr()?.id.as_str();
        let id = self.tree.id(used)?;
        for (above, node) in self.tree.above(id) {
            let Node::Expr(expr) = node else { continue };
            for clause in generators(expr).iter().rev() {
                if !clause.iter.range().contains_range(used.range())
                    && let Some(found) = in_target(&clause.target, name, &clause.iter)
                {
                    return Some(found);
                }
            }
            if let Expr::Lambda(lambda) = expr
                && lambda.parameters.as_ref().is_some_and(|parameters| parameters.includes(name))
            {
                return self.gone_through(above).map(Binding::Item);
            }
        }
        let before = used.range().start();
        let mut last = self.parameters().any(|parameter| parameter == name).then_some(Binding::Parameter);
        let mut later = None;
        for (_, statement) in self.tree.stmts() {
            let found = bound_by(statement, name);
            if statement.range().start() < before && !assigned_here(statement, used) {
                last = found.or(last);
            } else {
                later = later.or(found);
            }
        }
        last.or(later)
    }

    /// What the one parameter of this lambda goes through, as in `sorted(rows, key=lambda row: ...)`.
    fn gone_through(&self, lambda: usize) -> Option<&'a Expr> {
        let (_, Expr::Call(call)) = self.tree.parent_expr(lambda)? else { return None };
        match called(call) {
            ("sorted" | "max" | "min" | "groupby" | "nlargest" | "nsmallest", _) => call.arguments.args.last(),
            ("sort", receiver) => receiver,
            ("filter" | "map" | "takewhile", _) => argument(call, "iterable", 1),
            _ => None,
        }
    }

    /// The statement whose line is this one, innermost.
    pub fn statement_on(&self, line: usize) -> Option<&'a Stmt> {
        let mut best: Option<&Stmt> = None;
        for (_, statement) in self.tree.stmts() {
            let range = statement.range();
            let (first, last) = (self.source.line(range.start().to_usize()), self.source.line(range.end().to_usize()));
            if (first..=last).contains(&line) {
                best = Some(statement);
            }
        }
        best
    }
}

/// The text of a string literal.
pub fn text_of(expr: &Expr) -> Option<&str> {
    expr.as_string_literal_expr().map(|literal| literal.value.to_str())
}

/// The number of an integer literal, a minus in front included.
pub fn int_of(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::NumberLiteral(literal) => match &literal.value {
            Number::Int(number) => number.as_i64(),
            _ => None,
        },
        Expr::UnaryOp(unary) if unary.op == UnaryOp::USub => int_of(&unary.operand).map(|number| -number),
        _ => None,
    }
}

/// The dotted name of an expression such as `pd.read_csv`.
pub fn dotted(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(attribute) => Some(format!("{}.{}", dotted(&attribute.value)?, attribute.attr)),
        _ => None,
    }
}

/// The last part of what is called, such as `read_csv`, and the receiver if it is a method.
pub fn called(call: &ExprCall) -> (&str, Option<&Expr>) {
    match &*call.func {
        Expr::Name(name) => (name.id.as_str(), None),
        Expr::Attribute(attribute) => (attribute.attr.as_str(), Some(&attribute.value)),
        _ => ("", None),
    }
}

/// An argument of a call by keyword or place.
pub fn argument<'a>(call: &'a ExprCall, name: &str, position: usize) -> Option<&'a Expr> {
    call.arguments.find_argument_value(name, position)
}

/// A keyword argument of a call.
pub fn keyword<'a>(call: &'a ExprCall, name: &str) -> Option<&'a Expr> {
    call.arguments.find_keyword(name).map(|keyword| &keyword.value)
}

/// The clauses of a comprehension.
pub fn generators(expr: &Expr) -> &[sanare_source::ast::Comprehension] {
    match expr {
        Expr::ListComp(comp) => &comp.generators,
        Expr::SetComp(comp) => &comp.generators,
        Expr::DictComp(comp) => &comp.generators,
        Expr::Generator(comp) => &comp.generators,
        _ => &[],
    }
}

fn assigned_here(statement: &Stmt, used: &Expr) -> bool {
    matches!(statement, Stmt::Assign(_) | Stmt::AugAssign(_) | Stmt::AnnAssign(_))
        && statement.range().contains_range(used.range())
}

fn bound_by<'a>(statement: &'a Stmt, name: &str) -> Option<Binding<'a>> {
    match statement {
        Stmt::Assign(assign) => assign.targets.iter().find_map(|target| assigned(target, name, &assign.value)),
        Stmt::AnnAssign(assign) => assigned(&assign.target, name, assign.value.as_deref()?),
        Stmt::For(each) => in_target(&each.target, name, &each.iter),
        Stmt::With(with) => with.items.iter().find_map(|item| {
            let target = item.optional_vars.as_deref()?.as_name_expr()?;
            (target.id == name).then_some(Binding::Entered(&item.context_expr))
        }),
        _ => None,
    }
}

fn assigned<'a>(target: &'a Expr, name: &str, value: &'a Expr) -> Option<Binding<'a>> {
    match target {
        Expr::Name(target) => (target.id == name).then_some(Binding::Assigned(value)),
        Expr::Tuple(tuple) => {
            let starred = |item: &Expr| {
                item.as_starred_expr().and_then(|item| item.value.as_name_expr()).is_some_and(|item| item.id == name)
            };
            if tuple.elts.last().is_some_and(starred) {
                return Some(Binding::Rest(value));
            }
            let place = tuple.elts.iter().position(|item| item.as_name_expr().is_some_and(|item| item.id == name))?;
            match value {
                Expr::Tuple(values) if values.elts.len() == tuple.elts.len() => {
                    values.elts.get(place).map(Binding::Assigned)
                }
                _ => Some(Binding::Unpacked(value, place)),
            }
        }
        _ => None,
    }
}

fn in_target<'a>(target: &'a Expr, name: &str, iterable: &'a Expr) -> Option<Binding<'a>> {
    match target {
        Expr::Name(target) => (target.id == name).then_some(Binding::Item(iterable)),
        Expr::Tuple(tuple) => {
            let place = tuple.elts.iter().position(|item| item.as_name_expr().is_some_and(|item| item.id == name))?;
            Some(Binding::ItemPart(iterable, place))
        }
        _ => None,
    }
}
