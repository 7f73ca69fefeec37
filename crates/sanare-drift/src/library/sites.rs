//! Where in a function the old member stands.

use std::collections::HashMap;

use sanare_source::ast::visitor::{Visitor, walk_expr, walk_stmt};
use sanare_source::ast::{Expr, ExprAttribute, ExprCall, ExprName, Stmt, StmtFunctionDef};
use sanare_source::parse::Source;
use sanare_source::size::{Ranged, TextRange};

use crate::code::object_view::Scene;

/// The function that failed, with all that an entry could look for.
pub(crate) struct Sites<'a> {
    pub(crate) source: &'a Source,
    /// Names that imports gave, with the dotted name behind.
    pub(crate) imports: HashMap<String, String>,
    pub(crate) calls: Vec<&'a ExprCall>,
    pub(crate) attributes: Vec<&'a ExprAttribute>,
    pub(crate) names: Vec<&'a ExprName>,
    pub(crate) statements: Vec<&'a Stmt>,
    pub(crate) texts: Vec<&'a Expr>,
    line: usize,
}

impl<'a> Sites<'a> {
    /// The function whose text covers the failing line.
    pub(crate) fn of(scene: Scene<'a>, function: &'a StmtFunctionDef, line: usize) -> Self {
        let mut imports = HashMap::new();
        for statement in scene.source.body() {
            note_import(statement, &mut imports);
        }
        let mut sites = Self {
            source: scene.source,
            imports,
            calls: Vec::new(),
            attributes: Vec::new(),
            names: Vec::new(),
            statements: Vec::new(),
            texts: Vec::new(),
            line,
        };
        for decorator in &function.decorator_list {
            sites.visit_decorator(decorator);
        }
        for statement in &function.body {
            sites.visit_stmt(statement);
        }
        sites
    }

    /// The dotted name that an expression of plain names stands for, imports resolved.
    pub(crate) fn dotted(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Name(name) => {
                Some(self.imports.get(name.id.as_str()).cloned().unwrap_or_else(|| name.id.to_string()))
            }
            Expr::Attribute(attribute) => Some(format!("{}.{}", self.dotted(&attribute.value)?, attribute.attr)),
            _ => None,
        }
    }

    /// The text of a node.
    pub(crate) fn text(&self, node: impl Ranged) -> &'a str {
        self.source.slice(node)
    }

    /// Whether a node lies on the failing line.
    pub(crate) fn on_line(&self, node: impl Ranged) -> bool {
        let range = node.range();
        let line = |offset: usize| self.source.line(offset);
        self.line == 0 || (line(range.start().to_usize())..=line(range.end().to_usize())).contains(&self.line)
    }

    /// The statement that holds a range, innermost.
    pub(crate) fn statement(&self, range: TextRange) -> Option<&'a Stmt> {
        self.statements.iter().rev().find(|statement| statement.range().contains_range(range)).copied()
    }
}

impl<'a> Visitor<'a> for Sites<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        note_import(statement, &mut self.imports);
        self.statements.push(statement);
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => self.calls.push(call),
            Expr::Attribute(attribute) => self.attributes.push(attribute),
            Expr::Name(name) => self.names.push(name),
            Expr::StringLiteral(_) => self.texts.push(expr),
            _ => {}
        }
        walk_expr(self, expr);
    }
}

fn note_import(statement: &Stmt, imports: &mut HashMap<String, String>) {
    match statement {
        Stmt::Import(import) => {
            for alias in &import.names {
                let full = alias.name.as_str();
                match &alias.asname {
                    Some(name) => imports.insert(name.to_string(), full.to_owned()),
                    None => {
                        let first = full.split('.').next().unwrap_or(full);
                        imports.insert(first.to_owned(), first.to_owned())
                    }
                };
            }
        }
        Stmt::ImportFrom(import) => {
            let module = import.module.as_ref().map(|module| module.as_str()).unwrap_or_default();
            for alias in &import.names {
                let name = alias.asname.as_ref().unwrap_or(&alias.name);
                imports.insert(name.to_string(), format!("{module}.{}", alias.name));
            }
        }
        _ => {}
    }
}

/// The functions that the failing call went through, from the target's own callee to the one that failed; empty when it
/// failed in the target. `None` when one of them cannot be told or copied.
pub(crate) fn chain<'a>(scene: Scene<'a>, line: usize) -> Option<Vec<&'a StmtFunctionDef>> {
    let covers = |function: &StmtFunctionDef, line: usize| {
        let range = function.range();
        (scene.source.line(range.start().to_usize())..=scene.source.line(range.end().to_usize())).contains(&line)
    };
    if line == 0 || covers(scene.target, line) {
        return Some(Vec::new());
    }
    let frames = &scene.problem.failure.frames;
    let target = frames.iter().rposition(|frame| frame.line > 0 && covers(scene.target, frame.line))?;
    let mut chain: Vec<&StmtFunctionDef> = Vec::new();
    for frame in frames.get(target + 1..)?.iter().filter(|frame| frame.line > 0) {
        let mut found = scene.source.body().iter().filter_map(|statement| match statement {
            Stmt::FunctionDef(function) if covers(function, frame.line) => Some(function),
            _ => None,
        });
        let function = found.next()?;
        if !chain.iter().any(|known| std::ptr::eq(*known, function)) {
            chain.push(function);
        }
    }
    (!chain.is_empty()).then_some(chain)
}
