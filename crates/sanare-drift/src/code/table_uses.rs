//! What becomes of a column's value: the text methods on the way and the conversion at the end.

use sanare_source::ast::{BoolOp, Expr, ExprCall, Operator, Stmt};

use super::table_reads::{Read, Via};
use super::tree::{Node, Tree};
use super::{Binding, Code, called, keyword, text_of};
use crate::matching::ImpliedType;

/// A step between the read and the conversion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op<'a> {
    /// `.strip()` and its sisters.
    Strip,
    /// `.replace("a", "b")`.
    Replace(&'a str, &'a str),
    /// `[:10]`.
    Slice,
    /// `or something`.
    Or,
    /// `+` with another text.
    Joined,
    /// Any other method.
    Method(&'a str),
    /// A function of the module.
    Function(&'a str),
}

/// What the value becomes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Becomes<'a> {
    /// `int(...)`.
    Int,
    /// `float(...)`.
    Float,
    /// `Decimal(...)`.
    Decimal,
    /// `strptime(...)`, `to_datetime(..., format=...)`: the format, if it is constant.
    Date(Option<&'a str>),
    /// `date.fromisoformat(...)`, `datetime.fromisoformat(...)`.
    IsoDate,
    /// Compared with these texts.
    Compared(&'a str),
    /// A key of this constant mapping.
    LookedUp(&'a Expr),
    /// Asked whether it is empty.
    Tested,
    /// A number by arithmetic or aggregation, in a data frame.
    Number,
    /// Kept, joined, printed, or a text method that is none of the above.
    Text,
}

/// One way that a value is used.
#[derive(Clone, Debug)]
pub struct Use<'a> {
    /// Steps in order.
    pub ops: Vec<Op<'a>>,
    /// The end.
    pub becomes: Becomes<'a>,
    /// The converting call.
    pub call: Option<&'a ExprCall>,
    /// The read expression, or the variable that holds it, at which this use begins.
    pub from: &'a Expr,
    /// Whether a bad value here is caught by the code itself.
    pub set_aside: bool,
    /// Whether the call stands in another function.
    pub outside: bool,
}

impl Use<'_> {
    /// The type that the code expects.
    pub fn implied(&self) -> Option<ImpliedType> {
        match self.becomes {
            Becomes::Int => Some(ImpliedType::Int),
            Becomes::Float | Becomes::Decimal | Becomes::Number => Some(ImpliedType::Float),
            Becomes::Date(_) | Becomes::IsoDate => Some(ImpliedType::Date),
            _ => None,
        }
    }

    /// Whether the value becomes a number.
    pub fn is_number(&self) -> bool {
        matches!(self.becomes, Becomes::Int | Becomes::Float | Becomes::Decimal | Becomes::Number)
    }
}

impl<'a> Code<'a> {
    /// How the value of a read is used.
    pub fn uses(&self, read: &Read<'a>) -> Vec<Use<'a>> {
        let mut uses = Vec::new();
        if let Some(function) = read.elsewhere {
            self.uses_elsewhere(read, function, &mut uses);
            return uses;
        }
        if read.expr.as_name_expr().is_some() && read.via == Via::Place {
            self.uses_of_unpacked(read.expr, &mut uses);
            return uses;
        }
        if let Some(id) = self.tree.id(read.expr) {
            self.climb(id, read.expr, read.expr, Vec::new(), &mut uses, 0);
        }
        uses
    }

    fn uses_elsewhere(
        &self,
        read: &Read<'a>,
        function: &'a sanare_source::ast::StmtFunctionDef,
        uses: &mut Vec<Use<'a>>,
    ) {
        let super::table_reads::Key::Name(name) = &read.key else { return };
        let inner = Code::of(self.source, function);
        for (id, expr) in Tree::exprs(&inner.tree) {
            let found = match expr {
                Expr::Subscript(subscript) => inner.constant_text(&subscript.slice) == Some(name.as_str()),
                _ => false,
            };
            if found {
                let before = uses.len();
                inner.climb(id, expr, expr, Vec::new(), uses, 0);
                uses.iter_mut().skip(before).for_each(|one| one.outside = true);
            }
        }
    }

    fn uses_of_unpacked(&self, target: &'a Expr, uses: &mut Vec<Use<'a>>) {
        let Some(name) = target.as_name_expr() else { return };
        for (id, expr) in self.tree.exprs() {
            if expr.as_name_expr().is_some_and(|other| other.id == name.id && other.ctx.is_load()) {
                self.climb(id, expr, expr, Vec::new(), uses, 0);
            }
        }
    }

    /// Goes up from a value to what becomes of it.
    fn climb(
        &self,
        id: usize,
        value: &'a Expr,
        from: &'a Expr,
        ops: Vec<Op<'a>>,
        uses: &mut Vec<Use<'a>>,
        depth: usize,
    ) {
        let end = |becomes: Becomes<'a>, call: Option<&'a ExprCall>, ops: &[Op<'a>]| Use {
            ops: ops.to_vec(),
            becomes,
            call,
            from,
            set_aside: self.set_aside(id),
            outside: false,
        };
        if depth > 12 {
            uses.push(end(Becomes::Text, None, &ops));
            return;
        }
        let Some((above, node)) = self.tree.above(id).next() else { return };
        let mut go = |next: &'a Expr, at: usize, op: Option<Op<'a>>| {
            let mut ops = ops.clone();
            ops.extend(op);
            self.climb(at, next, from, ops, uses, depth + 1);
        };
        match node {
            Node::Stmt(Stmt::Assign(assign)) if std::ptr::eq(&*assign.value, value) => match assign.targets.first() {
                Some(target @ Expr::Name(_)) => self.follow(target, value, &ops, uses, depth),
                _ => uses.push(end(Becomes::Text, None, &ops)),
            },
            Node::Stmt(Stmt::If(branch)) if std::ptr::eq(&*branch.test, value) => {
                uses.push(end(Becomes::Tested, None, &ops))
            }
            Node::Stmt(Stmt::AugAssign(_)) => uses.push(end(Becomes::Number, None, &ops)),
            Node::Comprehension(clause) if !std::ptr::eq(&clause.iter, value) => {
                uses.push(end(Becomes::Tested, None, &ops))
            }
            Node::Stmt(_) | Node::Comprehension(_) => uses.push(end(Becomes::Text, None, &ops)),
            Node::Expr(parent) => match parent {
                Expr::Attribute(attribute) if attribute.attr.as_str() == "str" => go(parent, above, None),
                Expr::Attribute(attribute) => match self.tree.parent_expr(above) {
                    Some((called_at, call_expr @ Expr::Call(call))) if std::ptr::eq(&*call.func, parent) => {
                        let texts: Vec<&str> = call.arguments.args.iter().filter_map(text_of).collect();
                        match (attribute.attr.as_str(), texts.as_slice()) {
                            ("strip" | "lstrip" | "rstrip", _) => go(call_expr, called_at, Some(Op::Strip)),
                            ("replace", [old, new]) => go(call_expr, called_at, Some(Op::Replace(old, new))),
                            ("astype", _) => {
                                let kind =
                                    call.arguments.find_positional(0).map(|kind| self.text(kind)).unwrap_or_default();
                                let becomes = match kind.trim_matches(['"', '\'']) {
                                    "int" | "int64" | "Int64" | "int32" => Becomes::Int,
                                    "float" | "float64" | "float32" => Becomes::Float,
                                    _ => Becomes::Text,
                                };
                                uses.push(end(becomes, Some(call), &ops));
                            }
                            ("sum" | "mean" | "max" | "min" | "median" | "std" | "cumsum", _) => {
                                uses.push(end(Becomes::Number, Some(call), &ops))
                            }
                            (method, _) => go(call_expr, called_at, Some(Op::Method(leak_free(method)))),
                        }
                    }
                    _ => uses.push(end(Becomes::Text, None, &ops)),
                },
                Expr::Call(call) => {
                    if call.arguments.keywords.iter().any(|keyword| std::ptr::eq(&keyword.value, value)) {
                        // A record's field, or a name of columns: what happens to it there is not followed.
                        uses.push(end(Becomes::Text, None, &ops));
                        return;
                    }
                    if !call.arguments.args.iter().any(|argument| std::ptr::eq(argument, value)) {
                        go(parent, above, None);
                        return;
                    }
                    let first = call.arguments.find_positional(0).is_some_and(|argument| std::ptr::eq(argument, value));
                    match called(call).0 {
                        "int" if first => uses.push(end(Becomes::Int, Some(call), &ops)),
                        "float" if first => uses.push(end(Becomes::Float, Some(call), &ops)),
                        "Decimal" if first => uses.push(end(Becomes::Decimal, Some(call), &ops)),
                        "strptime" if first => {
                            let format =
                                call.arguments.find_positional(1).and_then(|format| self.constant_text(format));
                            uses.push(end(Becomes::Date(format), Some(call), &ops));
                        }
                        "to_datetime" if first => {
                            let format = keyword(call, "format").and_then(|format| self.constant_text(format));
                            uses.push(end(Becomes::Date(format), Some(call), &ops));
                        }
                        "to_numeric" if first => uses.push(end(Becomes::Float, Some(call), &ops)),
                        "fromisoformat" if first => uses.push(end(Becomes::IsoDate, Some(call), &ops)),
                        "bool" | "len" => uses.push(end(Becomes::Tested, Some(call), &ops)),
                        name if self.helpers.contains(&name) => {
                            let format =
                                call.arguments.find_positional(1).and_then(|format| self.constant_text(format));
                            match (name, format) {
                                ("read_date" | "read_dates", format) => {
                                    uses.push(end(Becomes::Date(format), Some(call), &ops))
                                }
                                ("read_iso_date", _) => uses.push(end(Becomes::IsoDate, Some(call), &ops)),
                                _ => go(parent, above, None),
                            }
                        }
                        name => match self.function(name) {
                            Some(function) => self.uses_in(function, call, value, &ops, from, uses, depth),
                            None => uses.push(end(Becomes::Text, Some(call), &ops)),
                        },
                    }
                }
                Expr::BoolOp(both)
                    if both.op == BoolOp::Or && both.values.first().is_some_and(|first| std::ptr::eq(first, value)) =>
                {
                    go(parent, above, Some(Op::Or));
                }
                Expr::BoolOp(_) => {
                    uses.push(end(Becomes::Tested, None, &ops));
                }
                Expr::If(choice) if std::ptr::eq(&*choice.test, value) => uses.push(end(Becomes::Tested, None, &ops)),
                Expr::If(_) => go(parent, above, None),
                Expr::UnaryOp(unary) if unary.op == sanare_source::ast::UnaryOp::Not => {
                    uses.push(end(Becomes::Tested, None, &ops))
                }
                Expr::Subscript(subscript) if std::ptr::eq(&*subscript.value, value) => {
                    go(parent, above, Some(Op::Slice))
                }
                Expr::Subscript(subscript) => match self.resolve(&subscript.value) {
                    mapping @ Expr::Dict(_) => uses.push(end(Becomes::LookedUp(mapping), None, &ops)),
                    _ => uses.push(end(Becomes::Text, None, &ops)),
                },
                Expr::BinOp(both) => {
                    let other = if std::ptr::eq(&*both.left, value) { &both.right } else { &both.left };
                    let numeric = !matches!(both.op, Operator::Add | Operator::Mod) || other.is_number_literal_expr();
                    if numeric {
                        uses.push(end(Becomes::Number, None, &ops))
                    } else {
                        go(parent, above, Some(Op::Joined))
                    }
                }
                Expr::Compare(compare) => {
                    let other = std::iter::once(&*compare.left)
                        .chain(compare.comparators.iter())
                        .find(|side| !std::ptr::eq(*side, value));
                    let text = other.and_then(|side| self.constant_text(side));
                    uses.push(end(text.map_or(Becomes::Text, Becomes::Compared), None, &ops));
                }
                _ => uses.push(end(Becomes::Text, None, &ops)),
            },
        }
    }

    /// The uses of a variable that was assigned this value.
    fn follow(&self, target: &'a Expr, value: &'a Expr, ops: &[Op<'a>], uses: &mut Vec<Use<'a>>, depth: usize) {
        let Some(name) = target.as_name_expr() else { return };
        for (id, expr) in self.tree.exprs() {
            let load = expr.as_name_expr().is_some_and(|other| other.id == name.id && other.ctx.is_load());
            let ours =
                load && matches!(self.binding(expr), Some(Binding::Assigned(bound)) if std::ptr::eq(bound, value));
            if ours {
                self.climb(id, expr, expr, ops.to_vec(), uses, depth + 1);
            }
        }
    }

    /// The uses of a value inside a function of the module that it is passed to.
    fn uses_in(
        &self,
        function: &'a sanare_source::ast::StmtFunctionDef,
        call: &'a ExprCall,
        value: &'a Expr,
        ops: &[Op<'a>],
        from: &'a Expr,
        uses: &mut Vec<Use<'a>>,
        depth: usize,
    ) {
        let place = call.arguments.args.iter().position(|argument| std::ptr::eq(argument, value));
        let parameter = place.and_then(|place| function.parameters.iter().nth(place));
        let Some(parameter) = parameter.map(|parameter| parameter.name().as_str()) else { return };
        let inner = Code::of(self.source, function);
        let before = uses.len();
        for (id, expr) in Tree::exprs(&inner.tree) {
            if expr.as_name_expr().is_some_and(|name| name.id == parameter && name.ctx.is_load()) {
                let mut ops = ops.to_vec();
                ops.push(Op::Function(function.name.as_str()));
                inner.climb(id, expr, from, ops, uses, depth + 4);
            }
        }
        uses.iter_mut().skip(before).for_each(|one| one.outside = true);
    }

    /// Whether an error at this node is caught by the code, which goes on with the next row.
    fn set_aside(&self, id: usize) -> bool {
        self.tree.above(id).any(|(_, node)| match node {
            Node::Stmt(Stmt::Try(attempt)) => attempt.handlers.iter().any(|handler| {
                let sanare_source::ast::ExceptHandler::ExceptHandler(handler) = handler;
                let named = handler.type_.as_deref().map(|kind| self.text(kind)).unwrap_or("Exception");
                let catches =
                    ["ValueError", "TypeError", "Exception", "ArithmeticError", "InvalidOperation", "KeyError"];
                catches.iter().any(|name| named.contains(name)) && !handler.body.iter().any(Stmt::is_raise_stmt)
            }),
            _ => false,
        })
    }
}

/// Method names are compared only; a short list keeps them without an owned text.
fn leak_free(method: &str) -> &'static str {
    const KNOWN: &[&str] = &[
        "split",
        "lower",
        "upper",
        "casefold",
        "title",
        "startswith",
        "endswith",
        "removesuffix",
        "removeprefix",
        "partition",
        "zfill",
        "format",
    ];
    KNOWN.iter().find(|known| **known == method).copied().unwrap_or("other")
}
