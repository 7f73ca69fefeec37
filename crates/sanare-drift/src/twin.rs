//! Small synthetic inputs of the old shape, on which old and new body must agree (C93). No real values.

mod cells;
mod object;
mod workbook;

pub use sanare_core::evidence::{TwinCall, TwinValue};

use sanare_core::value::Value;
use sanare_source::parse::Source;

use crate::code::Code;
use crate::code::table_reader::{Form, Reader};
use crate::code::table_reads::Key;
use crate::problem::{Argument, Problem};
use crate::profile::Profile;
use crate::shape::TableShape;
use crate::table::{Tables, remembered_for};
use cells::Column;

/// Synthetic calls of the remembered or implied shape: one of a few rows, one without rows; none when arguments of
/// another sort decide. The source of the problem is the body before any repair.
pub fn twins(problem: &Problem) -> Vec<TwinCall> {
    let Ok(source) = Source::parse(&problem.source) else { return Vec::new() };
    let Some(target) = source.function_at(&problem.function, problem.first_line) else { return Vec::new() };
    let tables = Tables::of(problem, Code::of(&source, target));
    [4, 0].into_iter().filter_map(|rows| twin(problem, &tables, rows)).collect()
}

fn twin(problem: &Problem, tables: &Tables, rows: usize) -> Option<TwinCall> {
    let mut arguments = Vec::new();
    let mut tabular = false;
    for (place, argument) in problem.arguments.iter().enumerate() {
        if place == 0 && is_receiver(problem, argument) {
            // The object of a method stays the real one, for old and new body alike.
            continue;
        }
        let reader = tables
            .readers
            .iter()
            .enumerate()
            .find(|(_, reader)| reader.input.as_ref().is_some_and(|input| input.argument == argument.name));
        let value = match reader {
            Some((at, reader)) => {
                tabular = true;
                table(problem, tables, at, reader, argument, rows)?
            }
            None => match &argument.value {
                plain @ (Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_)) => {
                    TwinValue::Value(plain.clone())
                }
                data => match object::value(problem, argument, rows) {
                    Some(made) => {
                        tabular = true;
                        made
                    }
                    // What only says how the data is read stays as it was passed.
                    None if argument.file.is_none() && is_option(data) => continue,
                    None => return None,
                },
            },
        };
        arguments.push((argument.name.clone(), value));
    }
    tabular.then(|| TwinCall { arguments, label: format!("{rows} rows") })
}

/// Whether it is the `self` or `cls` of a method.
fn is_receiver(problem: &Problem, argument: &Argument) -> bool {
    let in_class = problem.function.rsplit_once('.').is_some_and(|(outer, _)| !outer.ends_with("<locals>"));
    in_class && matches!(argument.name.as_str(), "self" | "cls") && matches!(argument.value, Value::Opaque(_))
}

/// A short text or a few of them: a mode, a name, a list of columns.
fn is_option(value: &Value) -> bool {
    let is_short = |value: &Value| match value {
        Value::Text(text) => text.len() <= 256 && !text.contains('\n'),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => true,
        _ => false,
    };
    match value {
        Value::List(items) => items.len() <= 8 && items.iter().all(is_short),
        other => is_short(other),
    }
}

/// Every reader that reads this argument adds its columns.
fn table(
    problem: &Problem,
    tables: &Tables,
    at: usize,
    reader: &Reader,
    argument: &Argument,
    rows: usize,
) -> Option<TwinValue> {
    let remembered = remembered_for(problem, &argument.name);
    let columns = columns(tables, at, reader, remembered)?;
    if columns.is_empty() {
        return None;
    }
    let name = argument.file.as_ref().map_or("twin.csv".to_owned(), |file| match file.name.rsplit_once('.') {
        Some((_, ending)) => format!("twin.{ending}"),
        None => "twin".to_owned(),
    });
    if matches!(reader.form, Form::Sheet | Form::Excel) {
        let view = tables.views.get(at)?.as_ref();
        let title = view
            .and_then(|view| view.declared_sheet.clone())
            .or_else(|| remembered.and_then(|table| table.sheets.first().cloned()));
        let above =
            view.and_then(|view| view.declared_header).or(remembered.map(|table| table.rows_above)).unwrap_or_default();
        let bytes = workbook::write(&title.unwrap_or_else(|| "Sheet1".to_owned()), above, &columns, rows);
        return Some(TwinValue::File { name, bytes });
    }
    let view = tables.views.get(at).and_then(Option::as_ref);
    let above =
        view.and_then(|view| view.declared_header).or(remembered.map(|table| table.rows_above)).unwrap_or_default();
    let delimiter = view
        .map(|view| view.declared_delimiter)
        .or(remembered.and_then(|table| table.delimiter.chars().next()))
        .unwrap_or(',');
    let text = delimited(&columns, delimiter, above, rows);
    if argument.file.is_none() {
        return Some(TwinValue::Value(Value::Text(text)));
    }
    let encoding = view.map(|view| view.declared_encoding.clone()).unwrap_or_default();
    let bytes = crate::table::encoding::encode(&text, &encoding);
    Some(TwinValue::File { name, bytes })
}

fn columns<'a>(
    tables: &Tables<'a>,
    at: usize,
    reader: &Reader,
    remembered: Option<&TableShape>,
) -> Option<Vec<Column<'a>>> {
    let mut columns = Vec::new();
    if let Some(table) = remembered {
        for (place, (name, profile)) in table.columns.iter().enumerate() {
            let place = i64::try_from(place).ok()?;
            let width = i64::try_from(table.columns.len()).ok()?;
            let keys = [Key::Name(name.clone()), Key::At(place), Key::At(place - width)];
            columns.push(column(tables, at, columns.len(), name, &keys, Some(profile.clone()), table));
        }
        return Some(columns);
    }
    let empty = TableShape::default();
    let mut places = 0;
    for read in tables.reads.all.iter().filter(|read| read.reader == at) {
        match &read.key {
            Key::Name(name) if !columns.iter().any(|column: &Column| column.name == *name) => {
                columns.push(column(tables, at, columns.len(), name, std::slice::from_ref(&read.key), None, &empty));
            }
            Key::At(place) => places = places.max(usize::try_from(*place + 1).unwrap_or_default()),
            Key::Name(_) => {}
        }
    }
    if columns.is_empty() && reader.form != Form::Dict {
        for place in 0..places {
            let key = Key::At(i64::try_from(place).ok()?);
            columns.push(column(tables, at, columns.len(), &format!("column {}", place + 1), &[key], None, &empty));
        }
    }
    Some(columns)
}

fn column<'a>(
    tables: &Tables<'a>,
    at: usize,
    shift: usize,
    name: &str,
    keys: &[Key],
    profile: Option<Profile>,
    table: &TableShape,
) -> Column<'a> {
    let uses = keys.iter().flat_map(|key| tables.reads.of(at, key)).flat_map(|read| tables.code.uses(read)).collect();
    Column {
        name: name.to_owned(),
        uses,
        profile,
        letter: table.letters.chars().find(|letter| letter.is_alphabetic()),
        shift,
    }
}

fn delimited(columns: &[Column], delimiter: char, above: usize, rows: usize) -> String {
    let mut text = String::new();
    for line in 0..above {
        text.push_str(&format!("note {}\n", line + 1));
    }
    let mut line = |cells: Vec<String>| {
        let quoted: Vec<String> = cells.iter().map(|cell| quote(cell, delimiter)).collect();
        text.push_str(&quoted.join(&delimiter.to_string()));
        text.push('\n');
    };
    line(columns.iter().map(|column| column.name.clone()).collect());
    for row in 0..rows {
        line(columns.iter().map(|column| column.cell(row)).collect());
    }
    text
}

fn quote(cell: &str, delimiter: char) -> String {
    if cell.contains([delimiter, '"', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}
