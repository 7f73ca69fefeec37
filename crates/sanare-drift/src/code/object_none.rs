//! Whether the absence of a value may become `None` in the result: only where the value goes there as it is.

use sanare_source::ast::visitor::{Visitor, walk_expr};
use sanare_source::ast::{Expr, Stmt};
use sanare_source::size::{Ranged, TextRange};

use crate::code::object_reads::{Place, Usage};
use crate::code::object_view::View;
use crate::code::object_write::has_word;

/// How a missing value is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// It is stored as it is.
    Plain,
    /// It is converted first; the whole conversion's text range.
    Converted(TextRange),
}

/// The way in which `None` may stand for a missing value at a place; nothing where the code computes with it.
pub fn way(view: &View, place: &Place) -> Option<Way> {
    let direct: Vec<_> = view.reading.uses_of(place).collect();
    let made: Vec<_> = view.reading.uses_of_made(place).collect();
    let harmless = |how: &Usage| matches!(how, Usage::Stored | Usage::NoneTest);
    if direct.is_empty() {
        return None;
    }
    let mut key_used = false;
    let mut converted = None;
    for used in &direct {
        match &used.how {
            how if harmless(how) => {}
            Usage::Compare if used.owner == 0 => {}
            Usage::Key => key_used = true,
            Usage::Convert(name)
                if matches!(name.as_str(), "int" | "float" | "decimal.Decimal")
                    && used.owner == 0
                    && converted.is_none() =>
            {
                converted = Some(used.range);
            }
            _ => return None,
        }
    }
    if key_used && (keys_leak(view) || converted.is_some()) {
        return None;
    }
    match converted {
        None => Some(Way::Plain),
        Some(argument) => {
            let harmless = !made.is_empty() && made.iter().all(|used| harmless(&used.how));
            harmless.then(|| call_around(view, argument).map(Way::Converted)).flatten()
        }
    }
}

/// Whether a mapping or set that is filled under computed keys is returned with its keys.
fn keys_leak(view: &View) -> bool {
    let mut finder = Names { collected: Vec::new(), leaked: Vec::new() };
    for statement in &view.subject.target.body {
        finder.visit_stmt(statement);
    }
    finder.collected.is_empty() || finder.collected.iter().any(|name| finder.leaked.contains(name))
}

struct Names {
    collected: Vec<String>,
    leaked: Vec<String>,
}

impl<'a> Visitor<'a> for Names {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    if let Expr::Subscript(subscript) = target
                        && let Expr::Name(name) = &*subscript.value
                    {
                        self.collected.push(name.id.to_string());
                    }
                }
                self.leak(&assign.value);
            }
            Stmt::AugAssign(assign) => {
                if let Expr::Subscript(subscript) = &*assign.target
                    && let Expr::Name(name) = &*subscript.value
                {
                    self.collected.push(name.id.to_string());
                }
                self.leak(&assign.value);
            }
            Stmt::Return(back) => {
                if let Some(value) = &back.value {
                    self.leak(value);
                }
            }
            _ => {}
        }
        sanare_source::ast::visitor::walk_stmt(self, statement);
    }
}

impl Names {
    /// Names whose whole value goes on: everything but reads of one entry, sums of values and lengths.
    fn leak(&mut self, expr: &Expr) {
        match expr {
            Expr::Name(name) => self.leaked.push(name.id.to_string()),
            Expr::Subscript(subscript) => self.leak(&subscript.slice),
            Expr::Call(call) => {
                let method = match &*call.func {
                    Expr::Attribute(attribute) => Some((attribute.attr.as_str(), &attribute.value)),
                    _ => None,
                };
                if let Some((name, base)) = method
                    && !matches!(name, "get" | "values")
                {
                    self.leak(base);
                }
                let length = matches!(&*call.func, Expr::Name(name) if name.id == "len");
                for argument in &call.arguments.args {
                    if !(length && matches!(argument, Expr::Name(_))) {
                        self.leak(argument);
                    }
                }
            }
            other => {
                let mut inner = Inner { found: Vec::new(), top: true };
                inner.visit_expr(other);
                inner.found.into_iter().for_each(|expr| self.leak(expr));
            }
        }
    }
}

/// The expressions directly inside another one.
struct Inner<'a> {
    found: Vec<&'a Expr>,
    top: bool,
}

impl<'a> Visitor<'a> for Inner<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if self.top {
            self.top = false;
            walk_expr(self, expr);
        } else {
            self.found.push(expr);
        }
    }
}

/// The call whose first argument this is.
pub fn call_around(view: &View, argument: TextRange) -> Option<TextRange> {
    struct Finder {
        argument: TextRange,
        found: Option<TextRange>,
    }
    impl<'a> Visitor<'a> for Finder {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Call(call) = expr
                && call.arguments.args.first().is_some_and(|first| first.range() == self.argument)
            {
                self.found = Some(call.range());
            }
            walk_expr(self, expr);
        }
    }
    let mut finder = Finder { argument, found: None };
    for statement in &view.subject.target.body {
        finder.visit_stmt(statement);
    }
    finder.found
}

/// Whether the function says in its docstring or its return annotation that it may give `None` for this field.
pub fn said_none(view: &View, field: &str) -> bool {
    let target = view.subject.target;
    let docstring = match target.body.first() {
        Some(Stmt::Expr(expr)) => expr.value.as_string_literal_expr().map(|text| text.value.to_str().to_owned()),
        _ => None,
    };
    let doc = docstring.unwrap_or_default();
    let annotated = target.returns.as_deref().is_some_and(|returns| {
        let text = view.text(returns.range());
        text.contains("None") || text.contains("Optional")
    });
    let named = has_word(&doc, field)
        || field
            .split(['_', '-'])
            .filter(|word| word.len() > 3)
            .any(|word| doc.to_lowercase().contains(&word.to_lowercase()));
    annotated || (has_word(&doc, "None") && named)
}
