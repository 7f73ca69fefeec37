//! Text with delimiters, read as Python's `csv` module reads it (blank lines are rows without cells).

/// How fields are separated and quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Between fields.
    pub delimiter: char,
    /// Around fields.
    pub quote: Option<char>,
    /// Whether blanks after a delimiter are dropped.
    pub skip_blanks: bool,
}

impl Default for Dialect {
    fn default() -> Self {
        Self { delimiter: ',', quote: Some('"'), skip_blanks: false }
    }
}

/// A row and the line of the text on which it begins, from 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Line, from 0.
    pub line: usize,
    /// Fields.
    pub cells: Vec<String>,
}

/// Cells of one row beyond these are left out: so many columns are refused anyway.
const MOST_CELLS: usize = 20_000;

/// Reads at most `limit` rows.
pub fn read(text: &str, dialect: Dialect, limit: usize) -> Vec<Record> {
    let mut records = Vec::new();
    let mut letters = text.chars().peekable();
    let (mut line, mut began) = (0, 0);
    let (mut cells, mut cell) = (Vec::new(), String::new());
    let (mut quoted, mut started, mut any) = (false, false, false);
    while let Some(letter) = letters.next() {
        if quoted {
            if Some(letter) == dialect.quote {
                if letters.peek() == Some(&letter) {
                    cell.push(letter);
                    letters.next();
                } else {
                    quoted = false;
                }
            } else {
                line += usize::from(letter == '\n');
                cell.push(letter);
            }
            continue;
        }
        match letter {
            '\r' | '\n' => {
                if letter == '\r' && letters.peek() == Some(&'\n') {
                    letters.next();
                }
                if any {
                    cells.push(std::mem::take(&mut cell));
                }
                records.push(Record { line: began, cells: std::mem::take(&mut cells) });
                line += 1;
                (began, started, any) = (line, false, false);
                if records.len() >= limit {
                    return records;
                }
            }
            letter if letter == dialect.delimiter => {
                if cells.len() < MOST_CELLS {
                    cells.push(std::mem::take(&mut cell));
                } else {
                    cell.clear();
                }
                (started, any) = (false, true);
            }
            letter if Some(letter) == dialect.quote && !started => (quoted, started, any) = (true, true, true),
            ' ' if dialect.skip_blanks && !started => any = true,
            letter => {
                cell.push(letter);
                (started, any) = (true, true);
            }
        }
    }
    if any {
        cells.push(cell);
        records.push(Record { line: began, cells });
    }
    records
}

#[cfg(test)]
mod tests {
    use super::{Dialect, read};

    fn check(text: &str, expected: &[&[&str]]) {
        let rows: Vec<Vec<String>> =
            read(text, Dialect::default(), 100).into_iter().map(|record| record.cells).collect();
        assert_eq!(
            rows,
            expected
                .iter()
                .map(|row| row.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>())
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn rows_are_those_of_python() {
        check("a,b\n1,\"x, \"\"y\"\"\"\n", &[&["a", "b"], &["1", "x, \"y\""]]);
        check("a\n\n\"\"\r\nb", &[&["a"], &[], &[""], &["b"]]);
        check("a,\n\"two\nlines\",c\n", &[&["a", ""], &["two\nlines", "c"]]);
        check("", &[]);
    }
}
