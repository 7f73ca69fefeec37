//! The target's statements and expressions in text order, each with its parent: what the analyses walk over.

use sanare_source::ast::visitor::source_order::{SourceOrderVisitor, walk_comprehension, walk_expr, walk_stmt};
use sanare_source::ast::{Comprehension, Expr, Stmt};
use sanare_source::size::{Ranged, TextRange};

/// One node.
#[derive(Clone, Copy, Debug)]
pub enum Node<'a> {
    /// A statement.
    Stmt(&'a Stmt),
    /// An expression.
    Expr(&'a Expr),
    /// One `for ... in ...` of a comprehension.
    Comprehension(&'a Comprehension),
}

/// Nodes with parents. A node's id is its place.
#[derive(Debug, Default)]
pub struct Tree<'a> {
    nodes: Vec<(Node<'a>, Option<usize>)>,
    stack: Vec<usize>,
    skipped: Vec<&'a str>,
}

impl<'a> Tree<'a> {
    /// The tree below these statements. Inner functions of the names in `skipped` are left out.
    pub fn of(body: &'a [Stmt], skipped: &[&'a str]) -> Self {
        let mut tree = Self { nodes: Vec::new(), stack: Vec::new(), skipped: skipped.to_vec() };
        body.iter().for_each(|statement| tree.visit_stmt(statement));
        tree
    }

    /// Every expression with its id, in order of the text.
    pub fn exprs(&self) -> impl Iterator<Item = (usize, &'a Expr)> {
        self.nodes.iter().enumerate().filter_map(|(id, (node, _))| match node {
            Node::Expr(expr) => Some((id, *expr)),
            _ => None,
        })
    }

    /// Every statement with its id.
    pub fn stmts(&self) -> impl Iterator<Item = (usize, &'a Stmt)> {
        self.nodes.iter().enumerate().filter_map(|(id, (node, _))| match node {
            Node::Stmt(stmt) => Some((id, *stmt)),
            _ => None,
        })
    }

    /// Every comprehension clause.
    pub fn comprehensions(&self) -> impl Iterator<Item = &'a Comprehension> {
        self.nodes.iter().filter_map(|(node, _)| match node {
            Node::Comprehension(clause) => Some(*clause),
            _ => None,
        })
    }

    /// The id of an expression that is in the tree.
    pub fn id(&self, expr: &Expr) -> Option<usize> {
        self.exprs().find(|(_, other)| std::ptr::eq(*other, expr)).map(|(id, _)| id)
    }

    /// The nodes above one, nearest first.
    pub fn above(&self, id: usize) -> impl Iterator<Item = (usize, Node<'a>)> + '_ {
        let mut at = self.nodes.get(id).and_then(|(_, parent)| *parent);
        std::iter::from_fn(move || {
            let here = at?;
            let (node, parent) = self.nodes.get(here)?;
            at = *parent;
            Some((here, *node))
        })
    }

    /// The expression directly above, if there is one.
    pub fn parent_expr(&self, id: usize) -> Option<(usize, &'a Expr)> {
        match self.above(id).next()? {
            (at, Node::Expr(expr)) => Some((at, expr)),
            _ => None,
        }
    }

    /// The statement that holds a node.
    pub fn statement(&self, id: usize) -> Option<&'a Stmt> {
        self.above(id).find_map(|(_, node)| match node {
            Node::Stmt(stmt) => Some(stmt),
            _ => None,
        })
    }

    /// The innermost statement that covers an offset.
    pub fn statement_at(&self, offset: usize) -> Option<&'a Stmt> {
        let covers = |range: TextRange| range.start().to_usize() <= offset && offset < range.end().to_usize();
        self.stmts().map(|(_, stmt)| stmt).filter(|stmt| covers(stmt.range())).last()
    }

    fn push(&mut self, node: Node<'a>) {
        self.nodes.push((node, self.stack.last().copied()));
        self.stack.push(self.nodes.len() - 1);
    }
}

impl<'a> SourceOrderVisitor<'a> for Tree<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::FunctionDef(inner) = stmt
            && self.skipped.contains(&inner.name.as_str())
        {
            return;
        }
        self.push(Node::Stmt(stmt));
        walk_stmt(self, stmt);
        self.stack.pop();
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        self.push(Node::Expr(expr));
        walk_expr(self, expr);
        self.stack.pop();
    }

    fn visit_comprehension(&mut self, clause: &'a Comprehension) {
        self.push(Node::Comprehension(clause));
        walk_comprehension(self, clause);
        self.stack.pop();
    }
}
