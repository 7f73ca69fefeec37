//! Notes or totals stand below the table, after a blank line and with fewer fields than the header. Rows of any other
//! sort could be data: they are not dropped.

use crate::code::dotted;
use crate::code::table_reader::Form;
use crate::code::write::Writer;
use crate::kind::{Layers, Subject};
use crate::problem::Answer;
use crate::table::{Tables, View};

/// Answers when the last rows are shorter than the header and stand apart.
pub fn answer(subject: &Subject) -> Option<Answer> {
    let tables = subject.tables();
    let (at, reader, view) = tables.first()?;
    if tables.code.has("without_footer") || !matches!(reader.form, Form::Dict | Form::Rows) || !view.found {
        return None;
    }
    let rows = footer_rows(view)?;
    let summary = if rows == 1 {
        "a line now stands below the table".to_owned()
    } else {
        format!("{rows} lines now stand below the table")
    };
    let evidence = vec!["the lines follow a blank line and have fewer fields than the header".to_owned()];
    Some(Layers::structural("footer", edit(tables, at, view), summary, evidence))
}

/// How many rows at the end are a footer.
fn footer_rows(view: &View) -> Option<usize> {
    let width = view.header.len();
    let first =
        view.rows.iter().zip(&view.after_blank).position(|(row, after_blank)| *after_blank && row.len() < width)?;
    let (table, below) = view.rows.split_at(first);
    let whole = !table.is_empty() && table.iter().all(|row| row.len() >= width);
    (whole && below.iter().all(|row| row.len() < width) && width > 1).then_some(below.len())
}

fn edit(tables: &Tables, at: usize, view: &View) -> Option<String> {
    let call = tables.readers.get(at)?.call?;
    let mut writer = Writer::new(&tables.code);
    let import = if dotted(&call.func)?.starts_with("csv.") { "" } else { "    import csv\n\n" };
    let delimiter = if view.delimiter == ',' {
        String::new()
    } else {
        format!(", delimiter={}", writer.quote(&view.delimiter.to_string()))
    };
    writer.wrap(call.arguments.find_positional(0)?, "without_footer", &[]);
    writer.helper(&format!(
        "def without_footer(lines):\n    # notes may stand below the table, after a blank line and with fewer fields than the header\n{import}    \
         lines = list(lines)\n    width = len(next(csv.reader(lines{delimiter}), []))\n    for number, line in enumerate(lines):\n        \
         if not line.strip() and all(len(row) < width for row in csv.reader(lines[number:]{delimiter})):\n            return lines[:number]\n    return lines"
    ));
    writer.finish()
}
