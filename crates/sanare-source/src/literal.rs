//! A Python file of settings read as data: names at its top and the plain values that they are given. Nothing runs.

use ruff_python_ast::{Expr, ExprCall, Number, Stmt, UnaryOp};
use ruff_text_size::Ranged;
use sanare_core::settings::former::Given;

use crate::parse::{Broken, Source};

/// What a file assigns at its top, in order, with the line of each; of two assignments of one name the last counts.
///
/// Literals are read, and `os.getenv("X")` and its like as the name of a variable. Everything else that stands at the
/// top, calls and conditions included, is given back as text that was not understood.
///
/// # Errors
/// [`Broken`] when the text is not Python.
pub fn assignments(text: &str) -> Result<Vec<(String, usize, Given)>, Broken> {
    let source = Source::parse(text)?;
    let mut found: Vec<(String, usize, Given)> = Vec::new();
    for statement in source.body() {
        let line = source.line(statement.start().to_usize());
        let named = match statement {
            Stmt::Assign(assign) => match assign.targets.as_slice() {
                [Expr::Name(name)] => Some((name.id.as_str(), &*assign.value)),
                _ => None,
            },
            Stmt::AnnAssign(assign) => {
                assign.target.as_name_expr().map(|name| name.id.as_str()).zip(assign.value.as_deref())
            }
            Stmt::Import(_) | Stmt::ImportFrom(_) | Stmt::Pass(_) => continue,
            Stmt::Expr(expr) if expr.value.is_string_literal_expr() => continue,
            _ => None,
        };
        match named {
            Some((name, value)) => {
                found.retain(|(known, _, _)| known != name);
                found.push((name.to_owned(), line, given(&source, value)));
            }
            None => found.push((String::new(), line, not_understood(&source, statement))),
        }
    }
    Ok(found)
}

fn given(source: &Source, value: &Expr) -> Given {
    match value {
        Expr::NoneLiteral(_) => Given::Nothing,
        Expr::BooleanLiteral(flag) => Given::Flag(flag.value),
        Expr::StringLiteral(text) => Given::Text(text.value.to_str().to_owned()),
        Expr::NumberLiteral(number) => match &number.value {
            Number::Int(number) => number.as_i64().map_or_else(|| not_understood(source, value), Given::Integer),
            Number::Float(number) => Given::Float(*number),
            Number::Complex { .. } => not_understood(source, value),
        },
        Expr::UnaryOp(unary) if unary.op == UnaryOp::USub => match given(source, &unary.operand) {
            Given::Integer(number) => Given::Integer(-number),
            Given::Float(number) => Given::Float(-number),
            _ => not_understood(source, value),
        },
        Expr::List(list) => Given::List(list.elts.iter().map(|item| given(source, item)).collect()),
        Expr::Tuple(tuple) => Given::List(tuple.elts.iter().map(|item| given(source, item)).collect()),
        Expr::Dict(dict) => {
            let entries = dict.items.iter().map(|item| {
                let name = item.key.as_ref().and_then(|key| key.as_string_literal_expr());
                name.map(|name| (name.value.to_str().to_owned(), given(source, &item.value)))
            });
            entries.collect::<Option<Vec<_>>>().map_or_else(|| not_understood(source, value), Given::Map)
        }
        Expr::Call(call) => variable_of(call).map_or_else(|| not_understood(source, value), Given::Variable),
        Expr::Subscript(subscript) if source.slice(&*subscript.value) == "os.environ" => subscript
            .slice
            .as_string_literal_expr()
            .map_or_else(|| not_understood(source, value), |name| Given::Variable(name.value.to_str().to_owned())),
        // `os.getenv("X") or "default"`: the variable is what was meant.
        Expr::BoolOp(either) => match either.values.first().map(|first| given(source, first)) {
            Some(Given::Variable(name)) => Given::Variable(name),
            _ => not_understood(source, value),
        },
        _ => not_understood(source, value),
    }
}

/// The variable that a call asks the environment for.
fn variable_of(call: &ExprCall) -> Option<String> {
    let function = call.func.as_attribute_expr()?;
    let (asks, from) = (function.attr.as_str(), &*function.value);
    let os = |expr: &Expr| expr.as_name_expr().is_some_and(|name| name.id == "os");
    let environment =
        from.as_attribute_expr().is_some_and(|inner| inner.attr.as_str() == "environ" && os(&inner.value));
    if !(asks == "getenv" && os(from)) && !(asks == "get" && environment) {
        return None;
    }
    call.arguments.args.first()?.as_string_literal_expr().map(|name| name.value.to_str().to_owned())
}

fn not_understood(source: &Source, node: impl Ranged) -> Given {
    let line = source.slice(node).lines().next().unwrap_or_default();
    Given::NotUnderstood(line.chars().take(80).collect())
}

#[cfg(test)]
mod tests {
    use super::assignments;
    use sanare_core::settings::former::Given;

    fn check(text: &str, expected: &[(&str, Given)]) {
        let found: Vec<(String, Given)> =
            assignments(text).map(|all| all.into_iter().map(|(name, _, given)| (name, given)).collect()).unwrap();
        let expected: Vec<(String, Given)> =
            expected.iter().map(|(name, given)| ((*name).to_owned(), given.clone())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn literals_and_variables_are_read_and_nothing_else() {
        check(
            "import os\n\"doc\"\nA = -3\nB: str = os.getenv('X', 'y')\nC = {'k': [True, None, os.environ['Z']]}\nA = 4\n",
            &[
                ("B", Given::Variable("X".into())),
                (
                    "C",
                    Given::Map(vec![(
                        "k".into(),
                        Given::List(vec![Given::Flag(true), Given::Nothing, Given::Variable("Z".into())]),
                    )]),
                ),
                ("A", Given::Integer(4)),
            ],
        );
        check(
            "open('x', 'w')\nA = f()\nB = {**A}\n",
            &[
                ("", Given::NotUnderstood("open('x', 'w')".into())),
                ("A", Given::NotUnderstood("f()".into())),
                ("B", Given::NotUnderstood("{**A}".into())),
            ],
        );
    }
}
