//! Putting a helper around the rows of a reader, where the body takes them.

use crate::code::Code;
use crate::code::table_origin::What;
use crate::code::write::Writer;
use crate::table::Tables;
use sanare_source::ast::{Expr, Stmt};

/// Wraps the reader, or, where the body asks the reader itself for more than rows, each loop over it.
pub fn wrap_rows(tables: &Tables, at: usize, writer: &mut Writer, name: &str, rest: &[String]) -> Option<()> {
    let reader = tables.readers.get(at)?;
    if !asked_for_more(&tables.code, reader.whole) {
        writer.wrap(outermost(tables, reader.whole), name, rest);
        return Some(());
    }
    let loops = tables.code.tree.stmts().filter_map(|(_, statement)| statement.as_for_stmt()).map(|each| &*each.iter);
    let clauses = tables.code.tree.comprehensions().map(|clause| &clause.iter);
    let mut found = false;
    for iterable in loops.chain(clauses) {
        if tables.code.origin(&tables.readers, iterable) == What::Rows(at) {
            writer.wrap(iterable, name, rest);
            found = true;
        }
    }
    found.then_some(())
}

/// The reader with the helpers of earlier layers around it: the next one goes around those.
pub fn outermost<'a>(tables: &Tables<'a>, whole: &'a Expr) -> &'a Expr {
    let mut at = whole;
    while let Some((_, above)) = tables.code.tree.id(at).and_then(|id| tables.code.tree.parent_expr(id)) {
        let ours = above.as_call_expr().is_some_and(|call| {
            call.func.as_name_expr().is_some_and(|name| tables.code.has(name.id.as_str()))
                && call.arguments.find_positional(0).is_some_and(|first| std::ptr::eq(first, at))
        });
        if !ours {
            break;
        }
        at = above;
    }
    at
}

/// Whether the variable that holds the reader is asked for `fieldnames`, `line_num` and the like.
fn asked_for_more<'a>(code: &Code<'a>, whole: &'a Expr) -> bool {
    let named = code.tree.stmts().find_map(|(_, statement)| match statement {
        Stmt::Assign(assign) if std::ptr::eq(&*assign.value, whole) => {
            assign.targets.first().and_then(Expr::as_name_expr)
        }
        _ => None,
    });
    let Some(named) = named else { return false };
    code.tree.exprs().any(|(_, expr)| {
        expr.as_attribute_expr().is_some_and(|attribute| {
            matches!(attribute.attr.as_str(), "fieldnames" | "line_num" | "dialect" | "restkey")
                && attribute.value.as_name_expr().is_some_and(|value| value.id == named.id)
        })
    })
}
