//! Dates are written another way. The old format reads what it always read; a text that has the new form is read by
//! the new format. Day first or month first is never guessed.

use sanare_core::outcome::Reason;

use crate::code::table_reads::Key;
use crate::code::table_uses::{Becomes, Use};
use crate::code::write::Writer;
use crate::code::{called, dotted};
use crate::date::{self, Undecided};
use crate::engine::refused;
use crate::kind::{Layers, Subject};
use crate::problem::Answer;
use crate::table::numbers::cells;
use crate::table::{Tables, View};

/// A column of dates that the code cannot read.
struct DateColumn<'a> {
    shown: String,
    uses: Vec<Use<'a>>,
    old: String,
    new: Vec<String>,
    stripped: bool,
}

/// Answers when dates are not of the format that the code reads.
pub fn answer(subject: &Subject) -> Option<Answer> {
    let tables = subject.tables();
    let (at, reader, view) = tables.first()?;
    if ["read_date", "read_dates", "read_iso_date"].iter().any(|helper| tables.code.has(helper)) {
        return None;
    }
    let _ = reader;
    let mut columns = Vec::new();
    match date_columns(tables, at, view, &mut columns) {
        Ok(()) if columns.is_empty() => return None,
        Ok(()) => {}
        Err(answer) => return Some(answer),
    }
    let source = edit(tables, &columns);
    let names: Vec<&str> = columns.iter().map(|column| column.shown.as_str()).collect();
    let formats: Vec<String> = columns.iter().flat_map(|column| column.new.iter().cloned()).collect();
    let summary =
        format!("the dates of {} are now written {}, not {}", names.join(", "), formats.first()?, columns.first()?.old);
    Some(Layers::structural("date_format", source, summary, vec![format!("{} read every value", formats.join(", "))]))
}

fn date_columns<'a>(
    tables: &Tables<'a>,
    at: usize,
    view: &View,
    columns: &mut Vec<DateColumn<'a>>,
) -> Result<(), Answer> {
    let now = tables.called_now(at, view);
    let mut done: Vec<Key> = Vec::new();
    for read in tables.reads.all.iter().filter(|read| read.reader == at) {
        if done.contains(&read.key) {
            continue;
        }
        done.push(read.key.clone());
        let uses: Vec<Use> = tables
            .reads
            .of(at, &read.key)
            .flat_map(|read| tables.code.uses(read))
            .filter(|one| {
                matches!(one.becomes, Becomes::Date(Some(_)) | Becomes::IsoDate)
                    && one.ops.is_empty()
                    && one.call.is_some()
            })
            .collect();
        let Some(first) = uses.first() else { continue };
        let Some((place, _)) = tables.place_of(&read.key, view, &now) else { continue };
        let old = match first.becomes {
            Becomes::Date(Some(format)) => format.to_owned(),
            _ if called_on(first) == "datetime" => "%Y-%m-%dT%H:%M:%S".to_owned(),
            _ => "%Y-%m-%d".to_owned(),
        };
        let cells = cells(view, place);
        let foreign: Vec<&str> = cells.iter().copied().filter(|cell| !reads_old(cell, &old, first)).collect();
        if foreign.is_empty() {
            continue;
        }
        let shown = match &read.key {
            Key::Name(name) => format!("`{name}`"),
            Key::At(place) => format!("column {}", place + 1),
        };
        let remembered = match &read.key {
            Key::Name(name) => view
                .remembered
                .and_then(|table| table.columns.iter().find(|(column, _)| column == name))
                .map(|(_, profile)| profile),
            Key::At(_) => None,
        };
        let decided = match date::decide(&foreign, Some(&old), remembered) {
            Ok(decided) => decided,
            Err(Undecided::NotDates(strangers)) if first.set_aside && strangers.len() * 2 <= cells.len() => {
                let kept: Vec<&str> = foreign
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| !strangers.contains(at))
                    .map(|(_, cell)| *cell)
                    .collect();
                match date::decide(&kept, Some(&old), remembered) {
                    Ok(decided) => decided,
                    Err(_) => continue,
                }
            }
            Err(Undecided::NotDates(_) | Undecided::NoValues) => continue,
            Err(undecided) => {
                return Err(refused(Reason::Ambiguous, &format!("the dates of {shown}: {}", said(&undecided))));
            }
        };
        if decided.formats.iter().any(|format| overlap(format, &old)) {
            return Err(refused(
                Reason::Ambiguous,
                &format!("the dates of {shown} could be {} or {old}", decided.formats.join(", ")),
            ));
        }
        columns.push(DateColumn { shown, uses, old, new: decided.formats, stripped: decided.stripped });
    }
    Ok(())
}

fn said(undecided: &Undecided) -> String {
    match undecided {
        Undecided::DayOrMonth(one, other) => format!("{one} and {other} both read every value"),
        Undecided::Century => "years have two digits, and nothing says which century".into(),
        Undecided::Epoch(unit) => format!("they are counts of {unit} since 1970"),
        Undecided::ExcelSerial => "they are days as a spreadsheet counts them".into(),
        Undecided::Zone(said) | Undecided::Mixed(said) => said.clone(),
        Undecided::NotDates(_) | Undecided::NoValues => "they are no dates".into(),
    }
}

/// The class on which `fromisoformat` is called.
fn called_on(one: &Use) -> String {
    let receiver = one.call.and_then(|call| called(call).1).and_then(dotted).unwrap_or_default();
    receiver.rsplit('.').next().unwrap_or_default().to_owned()
}

/// Whether the code reads a cell as it stands.
fn reads_old(cell: &str, old: &str, one: &Use) -> bool {
    if matches!(one.becomes, Becomes::IsoDate) && called_on(one) == "datetime" {
        return form::fits(cell, "%Y-%m-%dT%H:%M:%S")
            || form::fits(cell, "%Y-%m-%d %H:%M:%S")
            || form::fits(cell, "%Y-%m-%d")
            || form::fits(cell, "%Y-%m-%dT%H:%M:%S.%f");
    }
    form::fits(cell, old)
}

/// Whether a text could be of both forms.
fn overlap(new: &str, old: &str) -> bool {
    form::shape(new) == form::shape(old)
}

fn edit(tables: &Tables, columns: &[DateColumn]) -> Option<String> {
    let mut writer = Writer::new(&tables.code);
    let mut new: Vec<String> = Vec::new();
    let stripped = columns.iter().any(|column| column.stripped);
    for column in columns {
        for format in &column.new {
            if !new.contains(format) {
                new.push(format.clone());
            }
        }
    }
    if columns.iter().any(|column| new.iter().any(|format| overlap(format, &column.old))) {
        return None;
    }
    if stripped {
        return None;
    }
    let mut strptime: Option<String> = None;
    let mut iso: Option<(String, String)> = None;
    let mut frame: Option<String> = None;
    for one in columns.iter().flat_map(|column| column.uses.iter()) {
        if one.outside {
            return None;
        }
        let call = one.call?;
        let function = tables.code.text(&*call.func);
        if matches!(one.becomes, Becomes::IsoDate) {
            let class = called_on(one);
            if iso.as_ref().is_some_and(|(known, _)| *known != function) {
                return None;
            }
            iso = Some((function.to_owned(), class));
            writer.replace(&*call.func, "read_iso_date");
        } else if called(call).0 == "to_datetime" {
            let [column] = &*call.arguments.args else { return None };
            let format = crate::code::keyword(call, "format")?;
            if call.arguments.keywords.len() != 1 || frame.as_ref().is_some_and(|known| known != function) {
                return None;
            }
            frame = Some(function.to_owned());
            writer.replace(call, format!("read_dates({}, {})", tables.code.text(column), tables.code.text(format)));
        } else {
            if called(call).0 != "strptime" || strptime.as_ref().is_some_and(|known| known != function) {
                return None;
            }
            strptime = Some(function.to_owned());
            writer.replace(&*call.func, "read_date");
        }
    }
    if let Some(function) = strptime {
        let mut lines = String::new();
        for format in &new {
            lines.push_str(&format!(
                "    if re.fullmatch(r\"{}\", text):\n        return {function}(text, {})\n",
                form::pattern(format),
                writer.quote(format)
            ));
        }
        writer.helper(&format!(
            "def read_date(text, old_format):\n    # dates come as {} as well; any other text is read by the old format\n    import re\n\n\
             {lines}    return {function}(text, old_format)",
            new.join(" and ")
        ));
    }
    if let Some(function) = frame {
        let [format] = new.as_slice() else { return None };
        writer.helper(&format!(
            "def read_dates(texts, old_format):\n    # dates come as {format} as well, the same way throughout a file\n    \
             new = texts.dropna().astype(str).str.fullmatch(r\"{}\")\n    \
             return {function}(texts, format={} if len(new) and new.all() else old_format)",
            form::pattern(format),
            writer.quote(format)
        ));
    }
    if let Some((function, class)) = iso {
        let parser = iso_parser(&function, &class);
        let [format] = new.as_slice() else { return None };
        let test = format!("re.fullmatch(r\"{}\", text)", form::pattern(format));
        let (setup, parsed) = parser?;
        let import = if setup.is_empty() { "    import re\n\n" } else { "    import re\n" };
        let quoted = writer.quote(format);
        let parsed = parsed.replace("FORMAT", &quoted);
        writer.helper(&format!(
            "def read_iso_date(text):\n    # dates come as {format} as well; any other text is read as before\n{import}{setup}    if {test}:\n        return {parsed}\n    return {function}(text)"
        ));
    }
    writer.finish()
}

fn iso_parser(function: &str, class: &str) -> Option<(String, String)> {
    let module = function.rsplit_once('.')?.0;
    match class {
        "datetime" => Some((String::new(), format!("{module}.strptime(text, FORMAT)"))),
        "date" => {
            Some(("    from datetime import datetime\n\n".into(), "datetime.strptime(text, FORMAT).date()".into()))
        }
        _ => None,
    }
}

/// Forms of dates as patterns: what a format's texts look like.
pub mod form {
    /// The look of a format's texts: digits by number, letters, the literal rest.
    pub fn shape(format: &str) -> String {
        pieces(format).into_iter().map(|piece| piece.0).collect()
    }

    /// A regular expression for the texts of a format, as Python writes it.
    pub fn pattern(format: &str) -> String {
        shape(format)
    }

    /// Whether a text has the form of a format.
    pub fn fits(text: &str, format: &str) -> bool {
        let mut rest = text;
        for (_, piece) in pieces(format) {
            let Some(after) = piece.take(rest) else { return false };
            rest = after;
        }
        rest.is_empty()
    }

    /// One piece of a form.
    pub enum Piece {
        /// Between so many digits and so many.
        Digits(usize, usize),
        /// Letters of a name.
        Letters,
        /// A zone or offset.
        Zone,
        /// This text.
        Literal(char),
    }

    impl Piece {
        fn take<'t>(&self, text: &'t str) -> Option<&'t str> {
            match self {
                Self::Digits(least, most) => {
                    let count = text.bytes().take(*most).take_while(u8::is_ascii_digit).count();
                    (count >= *least).then(|| &text[count..])
                }
                Self::Letters => {
                    let end = text.find(|letter: char| !letter.is_alphabetic() && letter != '.').unwrap_or(text.len());
                    (end > 0).then(|| &text[end..])
                }
                Self::Zone => {
                    if let Some(rest) = text.strip_prefix('Z') {
                        return Some(rest);
                    }
                    let end = text
                        .find(|letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '+' | '-' | ':'))
                        .unwrap_or(text.len());
                    (end > 0).then(|| &text[end..])
                }
                Self::Literal(letter) => text.strip_prefix(*letter),
            }
        }
    }

    fn pieces(format: &str) -> Vec<(String, Piece)> {
        let mut pieces = Vec::new();
        let mut letters = format.chars();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                let literal = if letter.is_ascii_alphanumeric()
                    || letter == ' '
                    || letter == ':'
                    || letter == '/'
                    || letter == '-'
                    || letter == ','
                {
                    letter.to_string()
                } else {
                    format!("\\{letter}")
                };
                pieces.push((literal, Piece::Literal(letter)));
                continue;
            }
            let piece = match letters.next() {
                Some('Y') => ("\\d{4}", Piece::Digits(4, 4)),
                Some('y') => ("\\d{2}", Piece::Digits(2, 2)),
                Some('m' | 'd' | 'H' | 'I' | 'M' | 'S') => ("\\d{1,2}", Piece::Digits(1, 2)),
                Some('j') => ("\\d{1,3}", Piece::Digits(1, 3)),
                Some('f') => ("\\d{1,6}", Piece::Digits(1, 6)),
                Some('z' | 'Z') => ("(?:Z|[-+]\\d{2}:?\\d{2}|[A-Z]{3,4})", Piece::Zone),
                Some('%') => ("%", Piece::Literal('%')),
                _ => ("[^\\W\\d]+\\.?", Piece::Letters),
            };
            pieces.push((piece.0.to_owned(), piece.1));
        }
        pieces
    }
}
