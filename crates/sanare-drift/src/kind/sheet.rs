//! The sheet was renamed: without the expected one, the only sheet that holds the needed columns is read.

use sanare_core::outcome::Reason;
use sanare_source::ast::Expr;

use crate::code::table_reader::Form;
use crate::code::write::Writer;
use crate::code::{argument, dotted};
use crate::engine::refused;
use crate::kind::header_row::{condition, header_names};
use crate::kind::{Layers, Subject};
use crate::problem::Answer;
use crate::table::{Tables, View};

/// Answers when the sheet that the code asks for is not in the workbook.
pub fn answer(subject: &Subject) -> Option<Answer> {
    let tables = subject.tables();
    let (at, reader, view) = tables.first_of_any_form()?;
    if !matches!(reader.form, Form::Sheet | Form::Excel | Form::Cells) || tables.code.has("sheet_of") {
        return None;
    }
    let expected = view.declared_sheet.as_deref()?;
    if view.sheets.iter().any(|name| name == expected) {
        return None;
    }
    let listed = view.sheets.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if view.sheet.is_none() || view.header_rivals {
        return Some(refused(
            Reason::Ambiguous,
            &format!("there is no sheet `{expected}`, and not one sheet alone of {listed} fits"),
        ));
    }
    if !view.found {
        return Some(refused(
            Reason::MissingField,
            &format!("there is no sheet `{expected}`, and {listed} has no header with the needed names"),
        ));
    }
    if reader.form == Form::Cells && !same_columns(view) {
        return Some(refused(
            Reason::MissingField,
            &format!("there is no sheet `{expected}`, and {listed} has other columns, which the code reads by place"),
        ));
    }
    let sets = match header_names(tables, at, view) {
        Ok(sets) => sets,
        Err(refusal) => return Some(Answer::Refused(refusal)),
    };
    let source =
        if reader.form == Form::Excel { in_excel(tables, at, &sets) } else { in_book(tables, at, view, &sets) };
    let seen = view.sheet.clone().unwrap_or_default();
    let summary = format!("the sheet {expected} is now called {seen}");
    let evidence = vec![format!("of {listed} only `{seen}` holds the needed columns")];
    Some(Layers::structural("sheet_renamed", source, summary, evidence))
}

/// Whether the sheet's columns are those remembered, from the first row on.
fn same_columns(view: &View) -> bool {
    view.header_row == 0
        && view.remembered.is_some_and(|table| {
            table.columns.len() == view.header.len()
                && table.columns.iter().zip(&view.header).all(|((known, _), name)| known == name)
        })
}

fn in_book(tables: &Tables, at: usize, view: &View, sets: &[Vec<String>]) -> Option<String> {
    let reader = tables.readers.get(at)?;
    let sheet = reader.sheet?;
    let (book, name) = match sheet {
        Expr::Subscript(subscript) => (&*subscript.value, &*subscript.slice),
        Expr::Call(call) => (crate::code::called(call).1?, call.arguments.find_positional(0)?),
        _ => return None,
    };
    let _ = view;
    let mut writer = Writer::new(&tables.code);
    let (names, condition) = condition(&writer, sets, "row");
    writer.replace(sheet, format!("sheet_of({}, {})", tables.code.text(book), tables.code.text(name)));
    writer.helper(&format!(
        "def sheet_of(book, title):\n    # the sheet may have another name; then it is the only one that holds the needed columns\n    \
         if title in book.sheetnames:\n        return book[title]\n    {names}\n    found = [\n        sheet\n        for sheet in book.worksheets\n        \
         if any({condition} for row in sheet.iter_rows(max_row=50, values_only=True))\n    ]\n    \
         if len(found) != 1:\n        raise KeyError(f\"no sheet {{title!r}}, and {{len(found)}} sheets of {{book.sheetnames}} hold the needed columns\")\n    \
         return found[0]"
    ));
    writer.finish()
}

fn in_excel(tables: &Tables, at: usize, sets: &[Vec<String>]) -> Option<String> {
    let call = tables.readers.get(at)?.call?;
    let (path, sheet) = (argument(call, "io", 0)?, argument(call, "sheet_name", 1)?);
    let module = dotted(&call.func)?;
    let mut writer = Writer::new(&tables.code);
    let (names, condition) = condition(&writer, sets, "row");
    writer.replace(sheet, format!("sheet_of({}, {})", tables.code.text(path), tables.code.text(sheet)));
    writer.helper(&format!(
        "def sheet_of(path, title):\n    # the sheet may have another name; then it is the only one that holds the needed columns\n    {names}\n    \
         heads = {module}(path, sheet_name=None, header=None, nrows=50)\n    if title in heads:\n        return title\n    found = [\n        \
         name\n        for name, head in heads.items()\n        if any({condition} for row in head.itertuples(index=False))\n    ]\n    \
         if len(found) != 1:\n        raise ValueError(f\"no sheet {{title!r}}, and {{len(found)}} sheets of {{list(heads)}} hold the needed columns\")\n    \
         return found[0]"
    ));
    writer.finish()
}
