//! A function laid out flat: its statements, expressions, scopes and texts, each with what it stands in.
//!
//! The checks read these lists instead of walking the tree, each in its own way.

mod collect;

pub(crate) use collect::elements as collect_elements;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ruff_python_ast::{Expr, Parameters, Stmt, StmtFunctionDef};

/// What one function holds. The header (decorators, parameters) is not part of it; the parameters' names are bound in
/// scope 0.
#[derive(Debug)]
pub(crate) struct Code<'a> {
    /// The function.
    pub function: &'a StmtFunctionDef,
    /// All statements, outer before inner.
    pub stmts: Vec<StmtNode<'a>>,
    /// All expressions, outer before inner.
    pub exprs: Vec<ExprNode<'a>>,
    /// Scope 0 is the function's own.
    pub scopes: Vec<Scope<'a>>,
    /// All literal texts, parts of f-strings included.
    pub texts: Vec<Text<'a>>,
    /// Attribute names in `match` patterns: `case Point(x=0)`.
    pub pattern_attributes: Vec<&'a str>,
    places: HashMap<usize, usize>,
}

/// A statement and what it stands in.
#[derive(Debug)]
pub(crate) struct StmtNode<'a> {
    /// The statement.
    pub stmt: &'a Stmt,
    /// The statement around it.
    pub parent: Option<usize>,
    /// The scope it runs in.
    pub scope: usize,
}

/// An expression and what it stands in.
#[derive(Debug)]
pub(crate) struct ExprNode<'a> {
    /// The expression.
    pub expr: &'a Expr,
    /// The expression around it.
    pub parent: Option<usize>,
    /// The statement around it.
    pub stmt: usize,
    /// The scope it is evaluated in.
    pub scope: usize,
}

/// A literal text.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    /// Its value.
    pub value: &'a str,
}

/// What sort of scope it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScopeKind {
    /// The function itself or one inside it.
    Function,
    /// A lambda.
    Lambda,
    /// A class body.
    Class,
    /// A comprehension.
    Comprehension,
}

/// The names bound in one scope.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    /// What sort of scope it is.
    pub kind: ScopeKind,
    /// The scope around it.
    pub parent: Option<usize>,
    /// Every binding of every name.
    pub names: BTreeMap<&'a str, Vec<Binding<'a>>>,
    /// Names declared `global`.
    pub globals: BTreeSet<&'a str>,
    /// Names declared `nonlocal`.
    pub nonlocals: BTreeSet<&'a str>,
}

/// One binding of a name.
#[derive(Clone, Debug)]
pub(crate) struct Binding<'a> {
    /// How it is bound.
    pub kind: BindingKind<'a>,
    /// The scope in which its value is evaluated.
    pub scope: usize,
    /// The statement that binds it; `None` for parameters.
    pub stmt: Option<usize>,
}

/// How a name is bound.
#[derive(Clone, Debug)]
pub(crate) enum BindingKind<'a> {
    /// A parameter: its position among all, and its default.
    Parameter(usize, Option<&'a Expr>),
    /// `*args` or `**kwargs`.
    Rest,
    /// To this value.
    Value(&'a Expr),
    /// To one part of this value.
    Part(&'a Expr, usize),
    /// To each element of this value.
    Each(&'a Expr),
    /// To one part of each element of this value.
    EachPart(&'a Expr, usize),
    /// To what this context manager gives.
    With(&'a Expr),
    /// By an import of this dotted path.
    Import(String),
    /// A function defined here; its scope.
    Function(&'a StmtFunctionDef, usize),
    /// A class defined here.
    Class,
    /// The exception of a handler.
    Handler,
    /// A part of what a `match` looks at.
    Pattern,
    /// `name += value`.
    Augmented,
    /// `del name`, `type name = …`, anything else.
    Other,
}

impl<'a> Code<'a> {
    /// Lays a function out.
    pub fn of(function: &'a StmtFunctionDef) -> Self {
        collect::function(function)
    }

    /// Where an expression of this function is in [`Code::exprs`].
    pub fn place(&self, expr: &Expr) -> Option<usize> {
        self.places.get(&address(expr)).copied()
    }

    /// The scope an expression is evaluated in (the function's own for one that is not of this function).
    pub fn scope_of(&self, expr: &Expr) -> usize {
        self.place(expr).map_or(0, |at| self.exprs[at].scope)
    }

    /// The expression around an expression.
    pub fn parent(&self, at: usize) -> Option<&ExprNode<'a>> {
        self.exprs[at].parent.map(|parent| &self.exprs[parent])
    }

    /// The expressions around an expression, inside out.
    pub fn around(&self, at: usize) -> impl Iterator<Item = &ExprNode<'a>> {
        std::iter::successors(self.exprs[at].parent, |at| self.exprs[*at].parent).map(|at| &self.exprs[at])
    }

    /// The statements around a statement, inside out.
    pub fn stmts_around(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.stmts[at].parent, |at| self.stmts[*at].parent)
    }

    /// The bindings of a name as seen from a scope, and the scope that holds them. Class scopes are seen from inside only.
    pub fn lookup(&self, name: &str, from: usize) -> Option<(usize, &[Binding<'a>])> {
        let mut at = Some(from);
        while let Some(scope) = at {
            let here = &self.scopes[scope];
            if here.globals.contains(name) {
                return None;
            }
            let visible = scope == from || !matches!(here.kind, ScopeKind::Class);
            if visible
                && !here.nonlocals.contains(name)
                && let Some(found) = here.names.get(name)
            {
                return Some((scope, found));
            }
            at = here.parent;
        }
        None
    }

    /// The statements of the function itself, not of functions or classes inside it.
    pub fn own_stmts(&self) -> impl Iterator<Item = (usize, &StmtNode<'a>)> {
        self.stmts.iter().enumerate().filter(|(_, node)| node.scope == 0)
    }

    /// Is this scope the function's own, comprehensions and lambdas in it included?
    pub fn is_own(&self, scope: usize) -> bool {
        let mut at = scope;
        while let (ScopeKind::Comprehension, Some(parent)) = (self.scopes[at].kind, self.scopes[at].parent) {
            at = parent;
        }
        at == 0
    }

    /// The names of the function's parameters, in order.
    pub fn parameters(&self) -> impl Iterator<Item = &'a str> {
        parameter_names(&self.function.parameters)
    }
}

/// The names of parameters, `*args` and `**kwargs` included.
pub(crate) fn parameter_names(parameters: &Parameters) -> impl Iterator<Item = &str> {
    parameters.iter().map(|parameter| parameter.name().as_str())
}

/// A node's identity: its address, which stays while the tree does.
fn address(expr: &Expr) -> usize {
    std::ptr::from_ref(expr).addr()
}

/// The handlers of a `try`.
pub(crate) fn handlers(
    attempt: &ruff_python_ast::StmtTry,
) -> impl Iterator<Item = &ruff_python_ast::ExceptHandlerExceptHandler> {
    attempt.handlers.iter().map(|handler| {
        let ruff_python_ast::ExceptHandler::ExceptHandler(handler) = handler;
        handler
    })
}

/// The blocks inside a statement, in order of their text (nested functions and classes included).
pub(crate) fn blocks(stmt: &Stmt) -> Vec<&[Stmt]> {
    match stmt {
        Stmt::FunctionDef(node) => vec![&node.body],
        Stmt::ClassDef(node) => vec![&node.body],
        Stmt::For(node) => vec![&node.body, &node.orelse],
        Stmt::While(node) => vec![&node.body, &node.orelse],
        Stmt::If(node) => {
            let mut found: Vec<&[Stmt]> = vec![&node.body];
            found.extend(node.elif_else_clauses.iter().map(|clause| clause.body.as_slice()));
            found
        }
        Stmt::With(node) => vec![&node.body],
        Stmt::Match(node) => node.cases.iter().map(|case| case.body.as_slice()).collect(),
        Stmt::Try(node) => {
            let mut found: Vec<&[Stmt]> = vec![&node.body];
            found.extend(handlers(node).map(|handler| handler.body.as_slice()));
            found.extend([node.orelse.as_slice(), node.finalbody.as_slice()]);
            found
        }
        _ => Vec::new(),
    }
}
