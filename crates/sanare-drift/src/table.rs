//! What an argument holds, read the way the code reads it: bytes, text, dialect, header row, columns.

pub mod audit;
pub mod book;
pub mod delimited;
pub mod encoding;
pub mod mapping;
pub mod numbers;
pub mod wanted;

use sanare_core::value::Value;

use crate::code::table_origin::What;
use crate::code::table_reader::{Form, Reader, Step};
use crate::code::table_reads::Reads;
use crate::code::{Code, argument, called, int_of};
use crate::problem::{Argument, Problem};
use crate::shape::{Shape, TableShape};
use delimited::Dialect;
use encoding::Found;
use wanted::Wanted;

/// At most this many rows are looked at.
pub const ROWS: usize = 200_000;

/// At most this many cells are kept.
const CELLS: usize = 3_000_000;

/// Tables of a problem: the code that reads them and what it finds.
pub struct Tables<'a> {
    /// The target.
    pub code: Code<'a>,
    /// Its readers.
    pub readers: Vec<Reader<'a>>,
    /// What it reads.
    pub reads: Reads<'a>,
    /// Columns that the target writes itself.
    pub made: Vec<String>,
    /// Entries of the lockfile.
    pub accepted: Vec<crate::lockfile::Entry>,
    /// What names mean.
    pub words: crate::problem::Words,
    /// For each reader: what the argument holds; nothing if that cannot be told.
    pub views: Vec<Option<View<'a>>>,
}

/// One argument as the code reads it.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The argument.
    pub argument: &'a Argument,
    /// What was remembered of it.
    pub remembered: Option<&'a TableShape>,
    /// Encoding that the code asks for, by Python's name; empty for text in memory and workbooks.
    pub declared_encoding: String,
    /// What the bytes are.
    pub encoding: Found,
    /// Delimiter that the code asks for.
    pub declared_delimiter: char,
    /// The delimiter under which the expected names appear; the declared one if none does.
    pub delimiter: char,
    /// Other delimiters that fit as well.
    pub rival_delimiters: Vec<char>,
    /// Whether the header row was found by its names.
    pub found: bool,
    /// Row that the code takes for the header; nothing if it chooses in a way that is not followed here.
    pub declared_header: Option<usize>,
    /// Row that holds the names.
    pub header_row: usize,
    /// Whether the rows have a header at all, as far as the code shows.
    pub has_header: bool,
    /// Whether two rows could be the header.
    pub header_rivals: bool,
    /// Sheets of a workbook.
    pub sheets: Vec<String>,
    /// The sheet that the code asks for, by name.
    pub declared_sheet: Option<String>,
    /// The sheet that was looked at.
    pub sheet: Option<String>,
    /// The names.
    pub header: Vec<String>,
    /// Rows above the header, text only.
    pub above: Vec<Vec<String>>,
    /// Rows below the header, blank ones left out.
    pub rows: Vec<Vec<Value>>,
    /// Blank rows among them.
    pub blank_rows: usize,
    /// Whether the text ends with a line end.
    pub ends_whole: bool,
    /// For each row below the header: whether a blank line stands directly before it.
    pub after_blank: Vec<bool>,
}

impl View<'_> {
    /// Place of a column by its name; the last one, as a mapping keeps the last of two.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.header.iter().rposition(|column| column == name)
    }

    /// The values of a column.
    pub fn column(&self, place: usize) -> impl Iterator<Item = &Value> {
        self.rows.iter().filter_map(move |row| row.get(place))
    }

    /// The texts of a column.
    pub fn texts(&self, place: usize) -> impl Iterator<Item = &str> {
        self.column(place).filter_map(Value::as_text)
    }
}

impl<'a> Tables<'a> {
    /// Looks at a problem's code and arguments.
    pub fn of(problem: &'a Problem, code: Code<'a>) -> Self {
        let readers = code.readers();
        let known: Vec<String> =
            remembered_tables(problem).flat_map(|table| table.columns.iter().map(|(name, _)| name.clone())).collect();
        let reads = code.reads(&readers, &known, looked_up_in_vain(problem));
        let made = code.made(&readers).into_iter().map(str::to_owned).collect();
        let accepted = problem.accepted.clone();
        let words = problem.words.clone();
        let mut tables = Self { code, readers, reads, made, accepted, words, views: Vec::new() };
        for at in 0..tables.readers.len() {
            let view = tables.view(problem, at);
            tables.views.push(view);
        }
        tables
    }

    /// The first reader of rows that can be looked into, with its view.
    pub fn first(&self) -> Option<(usize, &Reader<'a>, &View<'a>)> {
        self.first_of_any_form().filter(|(_, reader, _)| reader.form != Form::Cells)
    }

    /// Like [`Self::first`], a sheet of which single cells are read included.
    pub fn first_of_any_form(&self) -> Option<(usize, &Reader<'a>, &View<'a>)> {
        self.views.iter().enumerate().find_map(|(at, view)| Some((at, self.readers.get(at)?, view.as_ref()?)))
    }

    fn view(&self, problem: &'a Problem, at: usize) -> Option<View<'a>> {
        let reader = self.readers.get(at)?;
        let input = reader.input.as_ref()?;
        let argument = problem.arguments.iter().find(|argument| argument.name == input.argument)?;
        let remembered = remembered_for(problem, input.argument);
        let wanted = Wanted::of(&self.reads, at, remembered, self.expected(at, remembered), &self.words);
        let view = View {
            argument,
            remembered,
            declared_encoding: String::new(),
            encoding: Found::AsDeclared,
            declared_delimiter: ',',
            delimiter: ',',
            rival_delimiters: Vec::new(),
            found: false,
            declared_header: None,
            header_row: 0,
            has_header: true,
            header_rivals: false,
            sheets: Vec::new(),
            declared_sheet: None,
            sheet: None,
            header: Vec::new(),
            above: Vec::new(),
            rows: Vec::new(),
            blank_rows: 0,
            ends_whole: true,
            after_blank: Vec::new(),
        };
        if reader.form.is_text() {
            self.text_view(reader, view, &wanted)
        } else {
            self.book_view(reader, view, &wanted)
        }
    }

    fn text_view(&self, reader: &Reader<'a>, mut view: View<'a>, wanted: &Wanted) -> Option<View<'a>> {
        let input = reader.input.as_ref()?;
        let text = match &view.argument.file {
            Some(file) => {
                view.declared_encoding = self.declared_encoding(reader);
                let hints =
                    format!("{}{}", wanted.letters(), view.remembered.map_or("", |table| table.letters.as_str()));
                let (found, text) = encoding::decide(&file.bytes, &view.declared_encoding, &hints);
                view.encoding = found;
                text
            }
            None => view.argument.value.as_text()?.to_owned(),
        };
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) => {
                view.encoding =
                    if view.argument.file.is_none() && !input.strips_mark() { Found::Bom } else { view.encoding };
                rest.to_owned()
            }
            None => text,
        };
        let mut dropped: Vec<&str> = input.dropped.clone().unwrap_or_default();
        dropped.extend(reader.keyword("comment").and_then(|comment| self.code.constant_text(comment)));
        let text = if dropped.is_empty() {
            text
        } else {
            text.split_inclusive('\n').filter(|line| !dropped.iter().any(|start| line.starts_with(start))).collect()
        };
        view.ends_whole = text.ends_with(['\n', '\r']);
        view.declared_delimiter = self.declared_delimiter(reader)?;
        let dialect = |delimiter| Dialect { delimiter, quote: self.quote(reader), skip_blanks: false };
        let helper = input.steps.iter().any(|step| matches!(step, Step::Helper(_)));
        let chosen = self.code.has("from_header") || self.code.has("rows_above_header") || helper;
        let mut best: Option<(char, wanted::Row, Vec<delimited::Record>)> = None;
        let mut delimiters = vec![view.declared_delimiter];
        delimiters.extend([';', ',', '\t', '|'].into_iter().filter(|delimiter| *delimiter != view.declared_delimiter));
        for delimiter in delimiters {
            let head = delimited::read(&text, dialect(delimiter), wanted::ROWS_LOOKED_AT);
            let rows: Vec<Vec<String>> = head.iter().map(|record| record.cells.clone()).collect();
            let Some(row) = wanted.header(&rows) else { continue };
            match &best {
                None => best = Some((delimiter, row, delimited::read(&text, dialect(delimiter), rows_within(&rows)))),
                Some((first, _, _)) if *first != view.declared_delimiter => view.rival_delimiters.push(delimiter),
                Some(_) => {}
            }
        }
        let (delimiter, row, records) = match best {
            Some(best) => {
                view.found = true;
                best
            }
            None => {
                let head = delimited::read(&text, dialect(view.declared_delimiter), wanted::ROWS_LOOKED_AT);
                let rows: Vec<Vec<String>> = head.into_iter().map(|record| record.cells).collect();
                let records = delimited::read(&text, dialect(view.declared_delimiter), rows_within(&rows));
                (view.declared_delimiter, wanted::Row { at: usize::MAX, rivals: false }, records)
            }
        };
        view.delimiter = delimiter;
        view.header_rivals = row.rivals;
        view.declared_header = if chosen { None } else { self.declared_row(reader, &records) };
        view.has_header = view.found || self.skips_header(reader);
        view.header_row = if view.found { row.at } else { view.declared_header.unwrap_or_default() };
        let mut blank_before = false;
        for (at, record) in records.iter().enumerate() {
            let blank = record.cells.iter().all(|cell| cell.trim().is_empty()) && record.cells.len() <= 1;
            if at < view.header_row {
                view.above.push(record.cells.clone());
            } else if at == view.header_row && view.has_header {
                view.header = record.cells.clone();
            } else if blank {
                view.blank_rows += 1;
            } else {
                view.rows.push(record.cells.iter().map(|cell| Value::Text(cell.clone())).collect());
                view.after_blank.push(blank_before);
            }
            blank_before = blank;
        }
        if !view.has_header {
            view.header = vec![String::new(); view.rows.iter().map(Vec::len).max().unwrap_or_default()];
        }
        Some(view)
    }

    fn book_view(&self, reader: &Reader<'a>, mut view: View<'a>, wanted: &Wanted) -> Option<View<'a>> {
        let sheets = book::read(&view.argument.file.as_ref()?.bytes)?;
        view.sheets = sheets.iter().map(|sheet| sheet.name.clone()).collect();
        view.declared_sheet = self.declared_sheet(reader);
        let text_rows = |sheet: &book::Sheet| -> Vec<Vec<String>> {
            sheet.rows.iter().take(wanted::ROWS_LOOKED_AT).map(|row| row.iter().map(cell_text).collect()).collect()
        };
        let named = view.declared_sheet.as_deref().and_then(|name| sheets.iter().find(|sheet| sheet.name == name));
        let fitting: Vec<&book::Sheet> =
            sheets.iter().filter(|sheet| wanted.header(&text_rows(sheet)).is_some()).collect();
        let sheet = match (named, view.declared_sheet.is_some(), fitting.as_slice()) {
            (Some(sheet), _, _) => sheet,
            (None, false, _) => sheets.first()?,
            (None, true, [only]) => only,
            (None, true, _) if sheets.len() == 1 => sheets.first()?,
            (None, true, several) => {
                view.header_rivals = several.len() > 1;
                return Some(view);
            }
        };
        view.sheet = Some(sheet.name.clone());
        let found = wanted.header(&text_rows(sheet));
        view.found = found.is_some();
        let chosen = self.code.has("from_header");
        view.declared_header = if chosen { None } else { self.first_sheet_row(reader) };
        view.header_rivals = found.is_some_and(|row| row.rivals);
        view.has_header = view.found || self.skips_header(reader);
        view.header_row = found.map_or(view.declared_header.unwrap_or_default(), |row| row.at);
        let mut blank_before = false;
        for (at, row) in sheet.rows.iter().take(ROWS).enumerate() {
            let blank = row.iter().all(|cell| *cell == Value::Null);
            if at < view.header_row {
                view.above.push(row.iter().map(cell_text).collect());
            } else if at == view.header_row && view.has_header {
                view.header = row.iter().map(cell_text).collect();
            } else if blank {
                view.blank_rows += 1;
            } else {
                view.rows.push(row.clone());
                view.after_blank.push(blank_before);
            }
            blank_before = blank;
        }
        if !view.has_header {
            view.header = vec![String::new(); view.rows.iter().map(Vec::len).max().unwrap_or_default()];
        }
        Some(view)
    }

    /// The encoding that the code asks for.
    fn declared_encoding(&self, reader: &Reader<'a>) -> String {
        let open = reader.input.as_ref().and_then(|input| input.open());
        let given = match open {
            Some(call) => {
                let place = if called(call).0 == "read_text" { 0 } else { 3 };
                argument(call, "encoding", place)
            }
            None => reader.keyword("encoding"),
        };
        let bytes =
            open.is_some_and(|call| self.code.text_argument(call, "mode", 1).is_some_and(|mode| mode.contains('b')));
        let named = given.and_then(|given| self.code.constant_text(given));
        match (named, given, bytes) {
            (Some(name), _, _) => encoding::python_name(name),
            (None, Some(given), _) if given.is_none_literal_expr() => "utf-8".into(),
            _ => "utf-8".into(),
        }
    }

    /// The delimiter that the code asks for; nothing for a pattern or a sniffer.
    fn declared_delimiter(&self, reader: &Reader<'a>) -> Option<char> {
        let call = reader.call?;
        let plain = if called(call).0 == "read_table" { '\t' } else { ',' };
        let given = match reader.form {
            Form::Frame => reader.keyword("sep").or(reader.keyword("delimiter")).or(call.arguments.find_positional(1)),
            _ => reader.keyword("delimiter"),
        };
        if let Some(dialect) = reader.keyword("dialect") {
            return match self.code.constant_text(dialect)? {
                "excel-tab" => Some('\t'),
                _ => Some(','),
            };
        }
        let Some(given) = given else { return Some(plain) };
        match self.code.constant_text(given) {
            Some(text) => {
                let mut letters = text.chars();
                let (first, rest) = (letters.next()?, letters.next());
                rest.is_none().then_some(first)
            }
            None => self.code.has("delimiter_of").then_some(plain),
        }
    }

    fn quote(&self, reader: &Reader<'a>) -> Option<char> {
        if reader.keyword("quoting").is_some_and(|quoting| self.code.text(quoting).ends_with("QUOTE_NONE")) {
            return None;
        }
        match reader.keyword("quotechar").and_then(|quote| self.code.constant_text(quote)) {
            Some(quote) => quote.chars().next(),
            None => Some('"'),
        }
    }

    /// The record that the code takes for the header.
    fn declared_row(&self, reader: &Reader<'a>, records: &[delimited::Record]) -> Option<usize> {
        let mut above = reader.input.as_ref()?.lines_above()?;
        if reader.form == Form::Frame {
            if let Some(skipped) = reader.keyword("skiprows") {
                above += usize::try_from(self.code.constant_int(skipped)?).ok()?;
            }
            let first = records.iter().position(|record| record.line >= above && !record.cells.is_empty())?;
            return match reader.keyword("header") {
                Some(header) => Some(first + usize::try_from(self.code.constant_int(header)?).ok()?),
                None => Some(first),
            };
        }
        let first = records.iter().position(|record| record.line >= above)?;
        Some(first + self.rows_skipped(reader)?)
    }

    /// Whether the code takes the first row for names: it reads by name, or passes over the row.
    fn skips_header(&self, reader: &Reader<'a>) -> bool {
        if matches!(reader.form, Form::Dict | Form::Frame | Form::Excel) {
            let unnamed = reader.keyword("header").is_some_and(|header| header.is_none_literal_expr());
            return !unnamed && reader.keyword("fieldnames").is_none();
        }
        let above =
            reader.call.and_then(|call| argument(call, "min_row", 0)).and_then(int_of).is_some_and(|row| row > 1);
        above || self.rows_taken(reader).is_some_and(|taken| taken > 0)
    }

    /// Rows that the code takes off before the one with the names: `next(rows)` twice, or `rows[2:]`.
    pub fn rows_skipped(&self, reader: &Reader<'a>) -> Option<usize> {
        self.rows_taken(reader).map(|taken| taken.saturating_sub(1))
    }

    /// Rows that the code takes off before those with values.
    fn rows_taken(&self, reader: &Reader<'a>) -> Option<usize> {
        if matches!(reader.form, Form::Dict | Form::Frame | Form::Excel) {
            return Some(0);
        }
        let at = self.readers.iter().position(|other| std::ptr::eq(other.whole, reader.whole))?;
        let (mut taken, mut sliced) = (0_usize, 0_usize);
        for (_, expr) in self.code.tree.exprs() {
            match expr {
                sanare_source::ast::Expr::Call(call) if called(call).0 == "next" && called(call).1.is_none() => {
                    let rows = call.arguments.find_positional(0).map(|rows| self.code.origin(&self.readers, rows));
                    taken += usize::from(rows == Some(What::Rows(at)));
                }
                sanare_source::ast::Expr::Subscript(subscript)
                    if self.code.origin(&self.readers, &subscript.value) == What::Rows(at) =>
                {
                    let lower =
                        subscript.slice.as_slice_expr().and_then(|slice| slice.lower.as_deref()).and_then(int_of);
                    sliced = sliced.max(lower.and_then(|lower| usize::try_from(lower).ok()).unwrap_or_default());
                }
                _ => {}
            }
        }
        Some(taken.max(sliced))
    }

    fn declared_sheet(&self, reader: &Reader<'a>) -> Option<String> {
        let sheet = reader.sheet?;
        if reader.form == Form::Excel {
            return self.code.constant_text(sheet).map(str::to_owned);
        }
        match sheet {
            sanare_source::ast::Expr::Subscript(subscript) => {
                self.code.constant_text(&subscript.slice).map(str::to_owned)
            }
            sanare_source::ast::Expr::Call(call) => {
                call.arguments.args.iter().rev().find_map(|name| self.code.constant_text(name)).map(str::to_owned)
            }
            _ => None,
        }
    }

    fn first_sheet_row(&self, reader: &Reader<'a>) -> Option<usize> {
        if reader.form == Form::Excel {
            let skipped = reader.keyword("skiprows").map_or(Some(0), |rows| self.code.constant_int(rows))?;
            let header = reader.keyword("header").map_or(Some(0), |row| self.code.constant_int(row))?;
            return usize::try_from(skipped + header).ok();
        }
        match reader.call.and_then(|call| argument(call, "min_row", 0)) {
            // The row above the first one that is read holds the names.
            Some(row) => usize::try_from(int_of(row)? - 2).ok().or(Some(0)),
            None => self.rows_skipped(reader),
        }
    }
}

/// So many rows that the cells stay within the bound.
fn rows_within(head: &[Vec<String>]) -> usize {
    let width = head.iter().map(Vec::len).max().unwrap_or(1).max(1);
    ROWS.min((CELLS / width).max(wanted::ROWS_LOOKED_AT))
}

/// A cell of a workbook as a name would be read.
pub fn cell_text(cell: &Value) -> String {
    match cell {
        Value::Text(text) => text.clone(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        _ => String::new(),
    }
}

/// The text of a `KeyError`: what was not there.
fn looked_up_in_vain(problem: &Problem) -> Option<&str> {
    let failure = &problem.failure;
    let is_lookup = failure.class == "KeyError" || failure.bases.iter().any(|base| base == "KeyError");
    failure.args.first().filter(|_| is_lookup).and_then(Value::as_text)
}

/// Every remembered table, newest first.
pub fn remembered_tables(problem: &Problem) -> impl Iterator<Item = &TableShape> {
    problem.remembered.iter().flat_map(|call| call.arguments.iter()).filter_map(|(_, shape)| match shape {
        Shape::Table(table) => Some(table),
        _ => None,
    })
}

/// The newest remembered table of an argument.
pub fn remembered_for<'a>(problem: &'a Problem, name: &str) -> Option<&'a TableShape> {
    problem.remembered.iter().flat_map(|call| call.arguments.iter()).find_map(|(argument, shape)| match shape {
        Shape::Table(table) if argument == name => Some(table),
        _ => None,
    })
}
