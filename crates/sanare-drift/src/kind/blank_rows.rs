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
    if tables.readers.is_empty() {
        return blank_lines(subject);
    }
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

/// `for line in handle`, where the failing line is blank: blank lines are passed over.
fn blank_lines(subject: &Subject) -> Option<Answer> {
    let tables = subject.tables();
    let code = &tables.code;
    let frame = subject.problem.failure.frames.iter().rev().find(|frame| frame.line > 0)?;
    let blank = |name: &str| {
        frame
            .locals
            .iter()
            .any(|(local, value)| local == name && value.as_text().is_some_and(|text| text.trim().is_empty()))
    };
    let loops =
        code.tree.stmts().filter_map(|(_, statement)| statement.as_for_stmt()).map(|each| (&*each.target, &*each.iter));
    let clauses = code.tree.comprehensions().map(|clause| (&clause.target, &clause.iter));
    for (target, iterable) in loops.chain(clauses) {
        let named = target.as_name_expr().is_some_and(|name| blank(name.id.as_str()));
        if !named || code.origin(&tables.readers, iterable) != crate::code::table_origin::What::Lines {
            continue;
        }
        let mut writer = Writer::new(code);
        writer.before(iterable, "filter(str.strip, ");
        writer.after(iterable, ")");
        writer.comment(iterable, "a blank line holds no record; it is passed over");
        let summary = "there are blank lines among the lines".to_owned();
        return Some(Layers::structural(
            "blank_rows",
            writer.finish(),
            summary,
            vec!["the failing line is blank".to_owned()],
        ));
    }
    None
}
