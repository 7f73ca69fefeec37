//! Workbooks: sheet names and cells, as openpyxl gives them.

use std::io::Cursor;

use calamine::{Data, Reader, Xlsx};
use sanare_core::value::Value;

/// Rows of one sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// Its name.
    pub name: String,
    /// Its cells by row, from the first row of the sheet.
    pub rows: Vec<Vec<Value>>,
}

/// At most this many cells are looked at in one workbook.
const CELLS: usize = 4_000_000;

/// Reads every sheet; nothing if it is no workbook or a very large one.
pub fn read(bytes: &[u8]) -> Option<Vec<Sheet>> {
    let mut book: Xlsx<_> = Xlsx::new(Cursor::new(bytes)).ok()?;
    let mut sheets = Vec::new();
    let mut cells = 0;
    for name in book.sheet_names() {
        let range = book.worksheet_range(&name).ok()?;
        let (height, width) = range.end().map_or((0, 0), |(row, column)| (row as usize + 1, column as usize + 1));
        cells += height.saturating_mul(width);
        if cells > CELLS {
            return None;
        }
        let (above, left) = range.start().map_or((0, 0), |(row, column)| (row as usize, column as usize));
        let mut rows = vec![vec![Value::Null; width]; height];
        for (at, row) in range.rows().enumerate() {
            for (place, cell) in row.iter().enumerate() {
                if let Some(target) = rows.get_mut(at + above).and_then(|row| row.get_mut(place + left)) {
                    *target = value(cell);
                }
            }
        }
        sheets.push(Sheet { name, rows });
    }
    Some(sheets)
}

fn value(cell: &Data) -> Value {
    match cell {
        Data::Empty => Value::Null,
        Data::String(text) => Value::Text(text.clone()),
        Data::Float(number) if number.fract() == 0.0 && number.abs() < 9e15 => Value::Int(*number as i64),
        Data::Float(number) => Value::Float(*number),
        Data::Int(number) => Value::Int(*number),
        Data::Bool(flag) => Value::Bool(*flag),
        Data::DateTime(_) => Value::Opaque("datetime.datetime".into()),
        Data::DateTimeIso(text) | Data::DurationIso(text) => Value::Text(text.clone()),
        Data::Error(error) => Value::Text(error.to_string()),
    }
}
