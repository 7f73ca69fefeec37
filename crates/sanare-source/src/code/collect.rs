//! Filling a [`Code`] by one walk over the tree.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    Alias, Comprehension, ElifElseClause, ExceptHandler, Expr, InterpolatedStringElement, Parameters, Pattern, Stmt,
    StmtFunctionDef, StringLiteral, WithItem,
};

use super::{Binding, BindingKind, Code, ExprNode, Scope, ScopeKind, StmtNode, Text, address};

pub(super) fn function(function: &StmtFunctionDef) -> Code<'_> {
    let mut collector = Collector {
        code: Code {
            function,
            stmts: Vec::new(),
            exprs: Vec::new(),
            scopes: Vec::new(),
            texts: Vec::new(),
            pattern_attributes: Vec::new(),
            places: HashMap::new(),
        },
        stmts: Vec::new(),
        exprs: Vec::new(),
        scope: 0,
    };
    collector.open(ScopeKind::Function, None);
    collector.bind_parameters(&function.parameters);
    collector.visit_body(&function.body);
    collector.code
}

struct Collector<'a> {
    code: Code<'a>,
    stmts: Vec<usize>,
    exprs: Vec<usize>,
    scope: usize,
}

impl<'a> Collector<'a> {
    fn open(&mut self, kind: ScopeKind, parent: Option<usize>) -> usize {
        self.code.scopes.push(Scope {
            kind,
            parent,
            names: BTreeMap::new(),
            globals: BTreeSet::new(),
            nonlocals: BTreeSet::new(),
        });
        self.scope = self.code.scopes.len() - 1;
        self.scope
    }

    fn inside(&mut self, kind: ScopeKind, work: impl FnOnce(&mut Self)) {
        let outer = self.scope;
        self.open(kind, Some(outer));
        work(self);
        self.scope = outer;
    }

    fn bind(&mut self, name: &'a str, kind: BindingKind<'a>) {
        self.bind_in(self.scope, name, kind);
    }

    fn bind_in(&mut self, scope: usize, name: &'a str, kind: BindingKind<'a>) {
        let binding = Binding { kind, scope: self.scope, stmt: self.stmts.last().copied() };
        self.code.scopes[scope].names.entry(name).or_default().push(binding);
    }

    /// Binds the names of an assignment target.
    fn bind_target(&mut self, target: &'a Expr, kind: &dyn Fn(Option<usize>) -> BindingKind<'a>) {
        match target {
            Expr::Name(name) => self.bind(name.id.as_str(), kind(None)),
            Expr::Starred(starred) => self.bind_target(&starred.value, kind),
            Expr::Tuple(tuple) => self.bind_parts(&tuple.elts, kind),
            Expr::List(list) => self.bind_parts(&list.elts, kind),
            _ => {}
        }
    }

    fn bind_parts(&mut self, parts: &'a [Expr], kind: &dyn Fn(Option<usize>) -> BindingKind<'a>) {
        for (position, part) in parts.iter().enumerate() {
            self.bind_target(part, &|_| kind(Some(position)));
        }
    }

    /// `a, b = x, y` binds each name to its own value.
    fn bind_assign(&mut self, target: &'a Expr, value: &'a Expr) {
        if let (Some(targets), Some(values)) = (elements(target), elements(value))
            && targets.len() == values.len()
            && !targets.iter().chain(values).any(Expr::is_starred_expr)
        {
            targets.iter().zip(values).for_each(|(target, value)| self.bind_assign(target, value));
        } else {
            self.bind_target(target, &|part| match part {
                None => BindingKind::Value(value),
                Some(position) => BindingKind::Part(value, position),
            });
        }
    }

    fn bind_each(&mut self, target: &'a Expr, iter: &'a Expr) {
        self.bind_target(target, &|part| match part {
            None => BindingKind::Each(iter),
            Some(position) => BindingKind::EachPart(iter, position),
        });
    }

    fn bind_parameters(&mut self, parameters: &'a Parameters) {
        let named = parameters.posonlyargs.iter().chain(&parameters.args).chain(&parameters.kwonlyargs);
        for (position, parameter) in named.enumerate() {
            let default = parameter.default.as_deref();
            self.bind(parameter.parameter.name.as_str(), BindingKind::Parameter(position, default));
        }
        for rest in parameters.vararg.iter().chain(&parameters.kwarg) {
            self.bind(rest.name.as_str(), BindingKind::Rest);
        }
    }

    fn bind_alias(&mut self, alias: &'a Alias, from: Option<&str>) {
        let name = alias.name.as_str();
        let path = from.map_or_else(|| name.to_owned(), |module| format!("{module}.{name}"));
        match (&alias.asname, from) {
            (Some(local), _) => self.bind(local.as_str(), BindingKind::Import(path)),
            (None, Some(_)) => self.bind(name, BindingKind::Import(path)),
            (None, None) => {
                let root = name.split('.').next().unwrap_or(name);
                self.bind(root, BindingKind::Import(root.to_owned()));
            }
        }
    }

    fn bind_statement(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign(node) => node.targets.iter().for_each(|target| self.bind_assign(target, &node.value)),
            Stmt::AnnAssign(node) => {
                if let Some(value) = &node.value {
                    self.bind_assign(&node.target, value);
                }
            }
            Stmt::AugAssign(node) => {
                if let Expr::Name(name) = &*node.target {
                    self.bind(name.id.as_str(), BindingKind::Augmented);
                }
            }
            Stmt::For(node) => self.bind_each(&node.target, &node.iter),
            Stmt::Import(node) => node.names.iter().for_each(|alias| self.bind_alias(alias, None)),
            Stmt::ImportFrom(node) => {
                let dots = ".".repeat(node.level as usize);
                let module = format!("{dots}{}", node.module.as_ref().map_or("", |name| name.as_str()));
                node.names.iter().for_each(|alias| self.bind_alias(alias, Some(&module)));
            }
            Stmt::ClassDef(node) => self.bind(node.name.as_str(), BindingKind::Class),
            Stmt::Delete(node) => {
                for target in &node.targets {
                    self.bind_target(target, &|_| BindingKind::Other);
                }
            }
            Stmt::TypeAlias(node) => self.bind_target(&node.name, &|_| BindingKind::Other),
            Stmt::Global(node) => {
                self.code.scopes[self.scope].globals.extend(node.names.iter().map(|name| name.as_str()));
            }
            Stmt::Nonlocal(node) => {
                self.code.scopes[self.scope].nonlocals.extend(node.names.iter().map(|name| name.as_str()));
            }
            _ => {}
        }
    }

    fn walk_function(&mut self, function: &'a StmtFunctionDef) {
        function.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
        self.visit_parameters(&function.parameters);
        if let Some(returns) = &function.returns {
            self.visit_annotation(returns);
        }
        let scope = self.code.scopes.len();
        self.bind(function.name.as_str(), BindingKind::Function(function, scope));
        self.inside(ScopeKind::Function, |this| {
            this.bind_parameters(&function.parameters);
            this.visit_body(&function.body);
        });
    }

    fn walk_comprehension(&mut self, generators: &'a [Comprehension], parts: &[&'a Expr]) {
        self.inside(ScopeKind::Comprehension, |this| {
            for generator in generators {
                this.visit_comprehension(generator);
                this.bind_each(&generator.target, &generator.iter);
            }
            parts.iter().for_each(|part| this.visit_expr(part));
        });
    }

    fn bind_walrus(&mut self, target: &'a Expr, value: &'a Expr) {
        let Expr::Name(name) = target else { return };
        let mut scope = self.scope;
        while let (ScopeKind::Comprehension, Some(parent)) =
            (self.code.scopes[scope].kind, self.code.scopes[scope].parent)
        {
            scope = parent;
        }
        self.bind_in(scope, name.id.as_str(), BindingKind::Value(value));
    }

    fn bind_pattern_name(&mut self, name: &'a str) {
        self.bind(name, BindingKind::Pattern);
    }
}

impl<'a> Visitor<'a> for Collector<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.code.stmts.push(StmtNode { stmt, parent: self.stmts.last().copied(), scope: self.scope });
        self.stmts.push(self.code.stmts.len() - 1);
        let outer = std::mem::take(&mut self.exprs);
        self.bind_statement(stmt);
        match stmt {
            Stmt::FunctionDef(function) => self.walk_function(function),
            Stmt::ClassDef(class) => {
                class.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                if let Some(arguments) = &class.arguments {
                    self.visit_arguments(arguments);
                }
                self.inside(ScopeKind::Class, |this| this.visit_body(&class.body));
            }
            _ => visitor::walk_stmt(self, stmt),
        }
        self.exprs = outer;
        self.stmts.pop();
    }

    fn visit_elif_else_clause(&mut self, clause: &'a ElifElseClause) {
        visitor::walk_elif_else_clause(self, clause);
    }

    fn visit_with_item(&mut self, item: &'a WithItem) {
        if let Some(target) = &item.optional_vars {
            let value = &item.context_expr;
            self.bind_target(target, &|_| BindingKind::With(value));
        }
        visitor::walk_with_item(self, item);
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(node) = handler;
        if let Some(name) = &node.name {
            self.bind(name.as_str(), BindingKind::Handler);
        }
        visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = match pattern {
            Pattern::MatchAs(node) => node.name.as_ref(),
            Pattern::MatchStar(node) => node.name.as_ref(),
            Pattern::MatchMapping(node) => node.rest.as_ref(),
            _ => None,
        };
        if let Some(name) = name {
            self.bind_pattern_name(name.as_str());
        }
        if let Pattern::MatchClass(node) = pattern {
            let attributes = node.arguments.keywords.iter().map(|keyword| keyword.attr.as_str());
            self.code.pattern_attributes.extend(attributes);
        }
        visitor::walk_pattern(self, pattern);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        let at = self.code.exprs.len();
        self.code.exprs.push(ExprNode {
            expr,
            parent: self.exprs.last().copied(),
            stmt: self.stmts.last().copied().unwrap_or(0),
            scope: self.scope,
        });
        self.code.places.insert(address(expr), at);
        self.exprs.push(at);
        match expr {
            Expr::Lambda(node) => {
                if let Some(parameters) = &node.parameters {
                    self.visit_parameters(parameters);
                }
                self.inside(ScopeKind::Lambda, |this| {
                    if let Some(parameters) = &node.parameters {
                        this.bind_parameters(parameters);
                    }
                    this.visit_expr(&node.body);
                });
            }
            Expr::ListComp(node) => self.walk_comprehension(&node.generators, &[&node.elt]),
            Expr::SetComp(node) => self.walk_comprehension(&node.generators, &[&node.elt]),
            Expr::Generator(node) => self.walk_comprehension(&node.generators, &[&node.elt]),
            Expr::DictComp(node) => {
                let mut parts: Vec<&Expr> = node.key.iter().map(|key| &**key).collect();
                parts.push(&node.value);
                self.walk_comprehension(&node.generators, &parts);
            }
            Expr::Named(node) => {
                self.bind_walrus(&node.target, &node.value);
                visitor::walk_expr(self, expr);
            }
            _ => visitor::walk_expr(self, expr),
        }
        self.exprs.pop();
    }

    fn visit_string_literal(&mut self, literal: &'a StringLiteral) {
        self.code.texts.push(Text { value: &literal.value });
    }

    fn visit_interpolated_string_element(&mut self, element: &'a InterpolatedStringElement) {
        if let InterpolatedStringElement::Literal(literal) = element {
            self.code.texts.push(Text { value: &literal.value });
        }
        visitor::walk_interpolated_string_element(self, element);
    }
}

/// The elements of a tuple or list display.
pub(crate) fn elements(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Tuple(node) => Some(&node.elts),
        Expr::List(node) => Some(&node.elts),
        _ => None,
    }
}
