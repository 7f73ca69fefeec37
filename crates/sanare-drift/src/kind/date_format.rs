//! Dates are written another way. The old format reads what it always read; a text that has the new form is read by
//! the new format. Day first or month first is never guessed.

use sanare_core::outcome::Reason;
use sanare_source::ast::{Expr, Stmt};

use crate::code::table_reads::Key;
use crate::code::table_uses::{Becomes, Op, Use};
use crate::code::tree::Node;
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
    if ["read_date", "read_dates", "read_iso_date", "date_as_before"].iter().any(|helper| tables.code.has(helper)) {
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
                    && (one.ops.is_empty() || one.outside && matches!(one.ops.as_slice(), [Op::Function(_)]))
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
        for format in &decided.formats {
            if let Some(said) = other_grain(tables, format, &old, &uses) {
                return Err(refused(Reason::ScaleOrUnit, &format!("the dates of {shown} {said}")));
            }
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

/// Why the new format says more or less than the old one, if the code could tell the difference.
fn other_grain(tables: &Tables, new: &str, old: &str, uses: &[Use]) -> Option<String> {
    let says = |format: &str, directives: &[&str]| directives.iter().any(|directive| format.contains(directive));
    let (day, hour) = (&["%d", "%j", "%a", "%A"], &["%H", "%I"]);
    let month = &["%m", "%b", "%B", "%j"];
    for (lost, parts) in [("day", &day[..]), ("time of day", &hour[..]), ("month", &month[..])] {
        if says(old, parts) && !says(new, parts) {
            return Some(format!("do not say the {lost} any more"));
        }
    }
    if says(new, day) && !says(old, day) {
        return Some("now say the day".into());
    }
    if says(new, hour)
        && !says(old, hour)
        && !uses.iter().all(|one| one.call.is_some_and(|call| only_day_matters(tables, call)))
    {
        return Some("now say the time of day, which the code could keep".into());
    }
    None
}

/// Whether the code takes only day, month or year from what the call gives.
fn only_day_matters(tables: &Tables, call: &sanare_source::ast::ExprCall) -> bool {
    let tree = &tables.code.tree;
    let Some((id, _)) =
        tree.exprs().find(|(_, expr)| expr.as_call_expr().is_some_and(|other| std::ptr::eq(other, call)))
    else {
        return false;
    };
    let class = called(call).1.and_then(dotted).unwrap_or_default();
    if called(call).0 == "fromisoformat" && class.rsplit('.').next() == Some("date") {
        return true;
    }
    day_taken(tables, id)
}

fn day_taken(tables: &Tables, id: usize) -> bool {
    let tree = &tables.code.tree;
    match tree.above(id).next() {
        Some((above, Node::Expr(Expr::Attribute(attribute)))) => match attribute.attr.as_str() {
            "date" | "year" | "month" | "day" | "weekday" | "isoweekday" | "isocalendar" | "toordinal" => true,
            "strftime" => tree.parent_expr(above).and_then(|(_, call)| call.as_call_expr()).is_some_and(|call| {
                let format = call.arguments.find_positional(0).and_then(|format| tables.code.constant_text(format));
                format.is_some_and(|format| {
                    !["%H", "%I", "%M", "%S", "%f", "%c", "%X"].iter().any(|part| format.contains(part))
                })
            }),
            _ => false,
        },
        Some((_, Node::Stmt(Stmt::Assign(assign)))) => {
            let Some(name) = assign.targets.first().and_then(Expr::as_name_expr) else { return false };
            let loads = tree.exprs().filter(|(_, expr)| {
                expr.as_name_expr().is_some_and(|other| other.id == name.id && other.ctx.is_load())
            });
            let mut any = false;
            let all = loads.map(|(at, _)| day_taken(tables, at)).fold(true, |all, one| {
                any = true;
                all && one
            });
            any && all
        }
        _ => false,
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
    if columns.iter().any(|column| column.uses.iter().any(|one| one.outside)) {
        return before_the_call(tables, columns, writer);
    }
    for one in columns.iter().flat_map(|column| column.uses.iter()) {
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
             new = texts[texts.notna()].astype(str).str.fullmatch(r\"{}\")\n    \
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

/// Another function reads the dates: what it is given is written as before.
fn before_the_call(tables: &Tables, columns: &[DateColumn], mut writer: Writer) -> Option<String> {
    let [column] = columns else { return None };
    let [new] = column.new.as_slice() else { return None };
    if !column.uses.iter().all(|one| one.outside) || parts(new) != parts(&column.old) {
        return None;
    }
    let mut wrapped: Vec<&Expr> = Vec::new();
    for one in &column.uses {
        tables.code.tree.id(one.from)?;
        if !wrapped.iter().any(|from| std::ptr::eq(*from, one.from)) {
            wrapped.push(one.from);
        }
    }
    let function = match column.uses.first()?.ops.first()? {
        Op::Function(name) => *name,
        _ => return None,
    };
    for from in wrapped {
        writer.wrap(from, "date_as_before", &[]);
    }
    let (quoted_new, quoted_old) = (writer.quote(new), writer.quote(&column.old));
    writer.helper(&format!(
        "def date_as_before(text):\n    # dates come as {new} as well; {function} gets them as {}\n    import re\n    \
         from datetime import datetime\n\n    if re.fullmatch(r\"{}\", text):\n        \
         return datetime.strptime(text, {quoted_new}).strftime({quoted_old})\n    return text",
        column.old,
        form::pattern(new),
    ));
    writer.finish()
}

/// What a format says, each part once: a date written over must not lose or gain any.
fn parts(format: &str) -> std::collections::BTreeSet<char> {
    let mut parts = std::collections::BTreeSet::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter == '%' {
            parts.extend(letters.next().map(|directive| match directive {
                'y' | 'Y' => 'y',
                'b' | 'B' | 'm' => 'm',
                'H' | 'I' => 'H',
                'p' => 'H',
                other => other,
            }));
        }
    }
    parts
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
