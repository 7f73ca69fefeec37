//! A blank line among the rows of `csv.reader` is a row without cells; it holds nothing, and is passed over.

use sanare_core::value::Value;

use crate::code::table_reader::Form;
use crate::code::write::Writer;
use crate::kind::{Layers, Subject};
use crate::problem::Answer;

/// Answers when an index fails on a row without cells.
pub fn answer(subject: &Subject) -> Option<Answer> {
    let failure = &subject.problem.failure;
    if failure.class != "IndexError" && failure.class != "ValueError" {
        return None;
    }
    let tables = subject.tables();
    let (at, reader, view) = tables.first()?;
    let blank =
        failure.frames.iter().any(|frame| frame.locals.iter().any(|(_, value)| *value == Value::List(Vec::new())));
    if reader.form != Form::Rows || view.blank_rows == 0 || !blank {
        return None;
    }
    let source = edit(subject, at);
    let summary = "there are blank lines among the rows".to_owned();
    Some(Layers::structural("blank_rows", source, summary, vec!["the failing row has no cells".to_owned()]))
}

/// `for row in reader` becomes `for row in filter(None, reader)`.
fn edit(subject: &Subject, at: usize) -> Option<String> {
    let tables = subject.tables();
    let loops = tables.code.tree.stmts().filter_map(|(_, statement)| statement.as_for_stmt()).map(|each| &*each.iter);
    let clauses = tables.code.tree.comprehensions().map(|clause| &clause.iter);
    let mut writer = Writer::new(&tables.code);
    let mut found = false;
    for iterable in loops.chain(clauses) {
        if tables.code.origin(&tables.readers, iterable) == crate::code::table_origin::What::Rows(at) {
            writer.before(iterable, "filter(None, ");
            writer.after(iterable, ")");
            writer.comment(iterable, "a blank line is a row without cells; it is passed over");
            found = true;
        }
    }
    if found { writer.finish() } else { None }
}
