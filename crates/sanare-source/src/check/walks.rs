//! Gate 4: no way out of a value into the interpreter, not by attribute and not by text.

use std::collections::BTreeSet;

use ruff_python_ast::{Expr, ExprCall, Stmt};

use super::Look;
use crate::constant;
use crate::lens::Lens;
use crate::lists::lists;
use crate::vet::Case;

/// **no_dunder_walk**: no new double-underscore or frame attribute, neither as such nor as text in `getattr`,
/// `attrgetter` or a format string. As plain data such texts pass.
pub(super) fn no_dunder_walk(case: &Case<'_>) -> Look {
    let mut findings = BTreeSet::new();
    for node in &case.new.code.exprs {
        match node.expr {
            Expr::Attribute(attribute) if is_walk(attribute.attr.as_str()) => {
                if !case.old_uses_attribute(attribute.attr.as_str()) {
                    findings.insert(format!("the attribute `{}`", attribute.attr));
                }
            }
            Expr::Call(call) => findings.extend(by_text(case, call)),
            Expr::Subscript(subscript) => {
                for text in constant::texts(&case.new, &subscript.slice, Some(node.scope)) {
                    if KEYS.contains(&text.as_str()) && !case.is_old(node.expr) {
                        findings.insert(format!("the element `{text}`"));
                    }
                }
            }
            Expr::Name(name) if name.id.as_str() == "__class__" && !case.is_old(node.expr) => {
                findings.insert("the name `__class__`".to_owned());
            }
            _ => {}
        }
    }
    for name in &case.new.code.pattern_attributes {
        if is_walk(name) && !case.old_uses_attribute(name) {
            findings.insert(format!("the attribute `{name}` in a pattern"));
        }
    }
    findings.extend(formats(case));
    findings.extend(methods(case));
    findings.into_iter().collect::<Vec<_>>().into()
}

/// Keys by which a namespace gives away the interpreter.
const KEYS: &[&str] =
    &["__builtins__", "__import__", "__globals__", "__subclasses__", "__loader__", "__spec__", "__dict__"];

/// Does an attribute lead out of a value?
fn is_walk(name: &str) -> bool {
    let list = &lists().walks;
    let is_dunder = name.len() > 4 && name.starts_with("__") && name.ends_with("__");
    (is_dunder && !list.harmless.iter().any(|harmless| harmless == name))
        || list.attributes.iter().any(|attribute| attribute == name)
}

/// `getattr(row, "__class__")`, `attrgetter("a.__class__")`, and either with a name that is not written in the code.
fn by_text(case: &Case<'_>, call: &ExprCall) -> Vec<String> {
    let lens = &case.new;
    let mut findings = Vec::new();
    let paths = lens.paths(&call.func);
    let is = |wanted: &[&str]| paths.iter().any(|path| wanted.contains(&path.as_str()));
    let is_old = || case.old.code.exprs.iter().any(|node| matches!(node.expr, Expr::Call(old) if same_call(old, call)));
    let names: Vec<&Expr> = if is(&["builtins.getattr", "builtins.hasattr", "builtins.setattr", "builtins.delattr"]) {
        call.arguments.args.get(1).into_iter().collect()
    } else if is(&["operator.attrgetter", "operator.methodcaller"]) {
        call.arguments.args.iter().collect()
    } else {
        return findings;
    };
    let asks_only = is(&["builtins.hasattr"]);
    for name in names {
        let texts = constant::texts(lens, name, Some(lens.code.scope_of(name)));
        if texts.is_empty() && !asks_only && !is_old() {
            findings.push(format!("the attribute `{}` is not written in the code", case.text(name)));
        }
        for text in texts {
            if text.split('.').any(is_walk) && !case.old_uses_attribute(&text) {
                findings.push(format!("the attribute `{text}` by its name"));
            }
        }
    }
    findings
}

fn same_call(a: &ExprCall, b: &ExprCall) -> bool {
    use ruff_python_ast::comparable::{ComparableArguments, ComparableExpr};
    ComparableExpr::from(&a.func) == ComparableExpr::from(&b.func)
        && ComparableArguments::from(&a.arguments) == ComparableArguments::from(&b.arguments)
}

/// Format strings that walk, and format strings that are not written in the code.
fn formats(case: &Case<'_>) -> Vec<String> {
    let lens = &case.new;
    let mut findings = Vec::new();
    let mut texts: Vec<String> = lens.code.texts.iter().map(|text| text.value.to_owned()).collect();
    for node in &lens.code.exprs {
        match node.expr {
            Expr::BinOp(_) | Expr::FString(_) => texts.extend(constant::texts(lens, node.expr, Some(node.scope))),
            Expr::Call(call) => {
                if let Expr::Attribute(method) = &*call.func
                    && matches!(method.attr.as_str(), "format" | "format_map" | "vformat")
                    && !case.is_old(&call.func)
                    && lens.paths(&method.value).iter().all(|path| path.starts_with("builtins.str"))
                {
                    let receiver = if lens.paths(&method.value).is_empty() {
                        Some(&*method.value)
                    } else {
                        call.arguments.args.first()
                    };
                    let known = receiver.map(|expr| constant::texts(lens, expr, Some(lens.code.scope_of(expr))));
                    match known {
                        Some(known) if !known.is_empty() => texts.extend(known),
                        _ => findings.push("a format string that is not written in the code".to_owned()),
                    }
                }
            }
            _ => {}
        }
    }
    for text in texts {
        if let Some(field) = walking_field(&text)
            && !case.old_texts.contains(text.as_str())
        {
            findings.push(format!("the format field `{field}`"));
        }
    }
    findings
}

/// A replacement field with a double underscore or a frame attribute in it.
fn walking_field(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        rest = rest.get(open + 1..)?;
        let end = rest.find('}').unwrap_or(rest.len());
        let field = rest.get(..end)?;
        let walks = field.split(['.', '[', ']', '!', ':']).skip(1).any(|part| is_walk(part) || part.starts_with("__"));
        if walks {
            return Some(field);
        }
    }
    None
}

/// Methods of local classes that the interpreter calls behind the scenes.
fn methods(case: &Case<'_>) -> Vec<String> {
    let defined = |lens: &Lens<'_>| -> BTreeSet<String> {
        lens.code
            .stmts
            .iter()
            .filter_map(|node| match node.stmt {
                Stmt::FunctionDef(function) if is_walk(function.name.as_str()) => Some(function.name.to_string()),
                _ => None,
            })
            .collect()
    };
    let old = defined(&case.old);
    defined(&case.new).into_iter().filter(|name| !old.contains(name)).map(|name| format!("a method `{name}`")).collect()
}
