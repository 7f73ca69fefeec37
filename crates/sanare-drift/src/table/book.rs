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

/// A workbook that is larger than this when unpacked is not read.
const UNPACKED: u64 = 256 * 1_024 * 1_024;

/// Reads every sheet; nothing if it is no workbook or a very large one.
pub fn read(bytes: &[u8]) -> Option<Vec<Sheet>> {
    unpacked_size(bytes).filter(|size| *size <= UNPACKED)?;
    let mut book: Xlsx<_> = Xlsx::new(Cursor::new(bytes)).ok()?;
    let mut sheets = Vec::new();
    let mut left = CELLS;
    for name in book.sheet_names() {
        let rows = rows_of(&mut book, &name, left)?;
        left = left.checked_sub(rows.iter().map(Vec::len).sum())?;
        sheets.push(Sheet { name, rows });
    }
    Some(sheets)
}

/// The rows of a sheet, all of one width; nothing if they have more cells than that.
fn rows_of(book: &mut Xlsx<Cursor<&[u8]>>, name: &str, most: usize) -> Option<Vec<Vec<Value>>> {
    let mut reader = book.worksheet_cells_reader(name).ok()?;
    let mut cells: Vec<(usize, usize, Value)> = Vec::new();
    let (mut height, mut width) = (0, 0);
    while let Some(cell) = reader.next_cell().ok()? {
        let (row, column) = cell.get_position();
        let found = value(&Data::from(cell.get_value().clone()));
        if found == Value::Null {
            continue;
        }
        let (row, column) = (usize::try_from(row).ok()?, usize::try_from(column).ok()?);
        (height, width) = (height.max(row + 1), width.max(column + 1));
        if height.saturating_mul(width) > most {
            return None;
        }
        cells.push((row, column, found));
    }
    let mut rows = vec![vec![Value::Null; width]; height];
    for (row, column, found) in cells {
        if let Some(place) = rows.get_mut(row).and_then(|row| row.get_mut(column)) {
            *place = found;
        }
    }
    Some(rows)
}

/// What the parts of a zip file say they unpack to, by its directory; nothing if it has none.
fn unpacked_size(bytes: &[u8]) -> Option<u64> {
    let number = |at: usize, width: usize| -> Option<u64> {
        let raw = bytes.get(at..at.checked_add(width)?)?;
        Some(raw.iter().rev().fold(0, |so_far, byte| so_far << 8 | u64::from(*byte)))
    };
    let tail = bytes.len().saturating_sub(66_000);
    let end = tail + bytes.get(tail..)?.windows(4).rposition(|four| four == b"PK\x05\x06")?;
    let (count, mut at) = (number(end + 10, 2)?, usize::try_from(number(end + 16, 4)?).ok()?);
    let mut size: u64 = 0;
    for _ in 0..count {
        if number(at, 4)? != 0x0201_4b50 {
            return None;
        }
        size = size.checked_add(number(at + 24, 4)?)?;
        let more = number(at + 28, 2)? + number(at + 30, 2)? + number(at + 32, 2)?;
        at = at.checked_add(46 + usize::try_from(more).ok()?)?;
    }
    Some(size)
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
