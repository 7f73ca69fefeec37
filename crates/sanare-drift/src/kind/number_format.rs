//! Numbers are written another way: decimal comma, groups of thousands, a sign of currency or percent. One file is
//! written one way; the old way comes first.

use sanare_core::outcome::Reason;

use crate::code::keyword;
use crate::code::table_reader::Form;
use crate::code::table_reads::Key;
use crate::code::table_uses::Op;
use crate::code::write::Writer;
use crate::engine::refused;
use crate::kind::header_row::put;
use crate::kind::rows::wrap_rows;
use crate::kind::{Layers, Subject, units};
use crate::number::{Grammar, Negative, Undecided};
use crate::problem::Answer;
use crate::profile::Profile;
use crate::table::numbers::{NumberColumn, Reading, cells, reads, scale_changed};
use crate::table::{Tables, View};

/// Answers when the code cannot read, or would misread, cells that are numbers.
pub fn answer(subject: &Subject) -> Option<Answer> {
    let tables = subject.tables();
    let (at, reader, view) = tables.first()?;
    if tables.code.has("plain_numbers") {
        return None;
    }
    // Columns that happen to be read right in this file are decided with the others: the next file may differ.
    let all: Vec<NumberColumn> = tables.number_columns(at, view);
    let (columns, quiet): (Vec<NumberColumn>, Vec<NumberColumn>) =
        all.into_iter().partition(|column| !column.read_right);
    if columns.is_empty() {
        return None;
    }
    let mut grammars: Vec<&Grammar> = Vec::new();
    for column in &columns {
        let shown = shown(column);
        match &column.grammar {
            Ok(grammar) => grammars.push(grammar),
            Err(Undecided::NotNumbers(_) | Undecided::NoValues) => return None,
            Err(Undecided::MixedUnits(units)) => {
                return Some(refused(
                    Reason::ScaleOrUnit,
                    &format!("{shown} holds more than one unit: {}", units.join(", ")),
                ));
            }
            Err(Undecided::LeadingZeros) => {
                return Some(refused(Reason::Vetoed, &format!("{shown} has leading zeros, which a number would lose")));
            }
            Err(Undecided::TwoReadings(said) | Undecided::Mixed(said)) => {
                return Some(refused(Reason::Ambiguous, &format!("{shown}: {said}")));
            }
        }
        if let Some(refusal) = units::unfounded(subject, view, column) {
            return Some(refusal);
        }
        let plain = plain(column, view);
        let now = Profile::of_texts(plain.iter().map(String::as_str));
        if column.remembered(view).is_some_and(|old| scale_changed(old, &now)) {
            return Some(refused(
                Reason::ScaleOrUnit,
                &format!("the numbers of {shown} are of another size than before"),
            ));
        }
    }
    let names: Vec<String> = columns.iter().map(shown).collect();
    let mut wrapped = columns.clone();
    let separated = grammars.iter().any(|grammar| grammar.decimal == Some(',') || !grammar.grouping.is_empty());
    for column in quiet.iter().filter(|_| separated) {
        match &column.grammar {
            Ok(grammar) => grammars.push(grammar),
            Err(Undecided::NoValues | Undecided::TwoReadings(_)) => {}
            Err(_) => continue,
        }
        wrapped.push(column.clone());
    }
    let Some(style) = Style::of(&grammars, &wrapped, view) else {
        return Some(refused(Reason::Ambiguous, "the numbers are not all written the same way"));
    };
    let source = if reader.form.is_frame() {
        in_frame(tables, at, &wrapped, &style)
    } else {
        in_rows(tables, at, &wrapped, &style)
    };
    let summary = format!("the numbers of {} are now written {}", names.join(", "), style.described());
    let evidence = vec![format!("one grammar reads every value of {}", names.join(", "))];
    Some(Layers::structural("number_format", source, summary, evidence))
}

fn shown(column: &NumberColumn) -> String {
    match &column.key {
        Key::Name(name) => format!("`{name}`"),
        Key::At(place) => format!("column {}", place + 1),
    }
}

fn plain(column: &NumberColumn, view: &View) -> Vec<String> {
    let Ok(grammar) = &column.grammar else { return Vec::new() };
    cells(view, column.place).iter().filter_map(|cell| grammar.normalize(cell)).collect()
}

/// How all the columns are written, and into what the code can read it is turned.
struct Style {
    decimal: Option<char>,
    grouping: Vec<char>,
    prefixes: Vec<String>,
    suffixes: Vec<String>,
    bare: bool,
    parentheses: bool,
    minus: Vec<char>,
    target: char,
    sign: Vec<String>,
    /// Without a sign that only the new way has: the pattern of the way that the code reads.
    old: Option<String>,
}

impl Style {
    fn of(grammars: &[&Grammar], columns: &[NumberColumn], view: &View) -> Option<Self> {
        let mut style = Self {
            decimal: None,
            grouping: Vec::new(),
            prefixes: Vec::new(),
            suffixes: Vec::new(),
            bare: false,
            parentheses: false,
            minus: Vec::new(),
            target: '.',
            sign: Vec::new(),
            old: None,
        };
        for grammar in grammars {
            if grammar.negative == Negative::Trailing
                || (style.decimal.is_some() && grammar.decimal.is_some() && style.decimal != grammar.decimal)
            {
                return None;
            }
            style.decimal = style.decimal.or(grammar.decimal);
            add(&mut style.grouping, &grammar.grouping);
            add(&mut style.prefixes, &grammar.prefixes);
            add(&mut style.suffixes, &grammar.suffixes);
            add(&mut style.minus, &grammar.minus);
            style.parentheses |= grammar.negative == Negative::Parentheses;
            style.bare |= grammar.prefixes.is_empty() && grammar.suffixes.is_empty();
        }
        if style.decimal.is_some_and(|decimal| style.grouping.contains(&decimal)) {
            return None;
        }
        let all: Vec<&str> = columns.iter().flat_map(|column| cells(view, column.place)).collect();
        style.grouping.retain(|letter| all.iter().any(|cell| cell.contains(*letter)));
        style.target =
            ['.', ','].into_iter().find(|target| columns.iter().all(|column| style.suits(column, view, *target)))?;
        style.sign = style.signs(columns);
        if style.sign.is_empty() {
            style.old = Some(read_by_code(columns)?.to_owned());
        }
        Some(style)
    }

    /// Whether the code reads the rewritten cells right.
    fn suits(&self, column: &NumberColumn, view: &View, target: char) -> bool {
        plain(column, view).iter().all(|plain| {
            let Ok(meant) = plain.parse::<f64>() else { return false };
            let written = plain.replace('.', &target.to_string());
            column.uses.iter().all(|one| match reads(&written, one) {
                Reading::Number(read) => (read - meant).abs() <= 1e-12 * meant.abs(),
                Reading::Unknown => target == '.',
                Reading::Fails => false,
            })
        })
    }

    /// Signs that only the new way has: by one of them the whole file is known.
    fn signs(&self, columns: &[NumberColumn]) -> Vec<String> {
        let accepted: String = columns
            .iter()
            .flat_map(|column| column.uses.iter())
            .flat_map(|one| one.ops.iter())
            .filter_map(|op| match op {
                Op::Replace(old, _) => Some(*old),
                _ => None,
            })
            .collect();
        let mut signs: Vec<String> = Vec::new();
        signs.extend(self.decimal.filter(|letter| *letter != '.').map(String::from));
        signs.extend(self.grouping.iter().filter(|letter| **letter != '.').map(|letter| letter.to_string()));
        signs.extend(self.prefixes.iter().cloned());
        signs.extend(self.suffixes.iter().cloned());
        signs.extend(self.minus.iter().map(|letter| letter.to_string()));
        signs.extend(self.parentheses.then(|| "(".to_owned()));
        signs.retain(|sign| !accepted.contains(sign.as_str()));
        signs
    }

    fn pattern(&self) -> String {
        let either = |texts: &[String]| texts.iter().map(|text| escaped(text)).collect::<Vec<_>>().join("|");
        let minus: String = self.minus.iter().map(|letter| escaped(&letter.to_string())).collect();
        let sign = if self.parentheses { format!("[-+({minus}]?") } else { format!("[-+{minus}]?") };
        let optional = if self.bare { "?" } else { "" };
        let mut pattern = String::from("\\s*");
        pattern.push_str(&sign);
        if !self.prefixes.is_empty() {
            pattern.push_str(&format!("\\s*(?:{})\\s*{sign}", either(&self.prefixes)));
            if self.bare {
                pattern = format!("\\s*{sign}(?:\\s*(?:{}))?\\s*{sign}", either(&self.prefixes));
            }
        }
        let groups: String = self.grouping.iter().map(|letter| escaped(&letter.to_string())).collect();
        let whole =
            if groups.is_empty() { "\\d*".to_owned() } else { format!("(?:\\d{{1,3}}(?:[{groups}]\\d{{3}})+|\\d*)") };
        pattern.push_str(&whole);
        if let Some(decimal) = self.decimal {
            pattern.push_str(&format!("(?:{}\\d+)?", escaped(&decimal.to_string())));
        }
        if !self.suffixes.is_empty() {
            pattern.push_str(&format!("(?:\\s*(?:{})){optional}", either(&self.suffixes)));
        }
        pattern.push_str(if self.parentheses { "\\)?\\s*" } else { "\\s*" });
        pattern
    }

    /// The chain of replacements that turns a cell into what the code reads.
    fn chain(&self, writer: &Writer) -> String {
        let mut chain = String::new();
        let mut replace =
            |old: &str, new: &str| chain.push_str(&format!(".replace({}, {})", writer.quote(old), writer.quote(new)));
        for affix in self.prefixes.iter().chain(&self.suffixes) {
            replace(affix, "");
        }
        for letter in &self.grouping {
            replace(&letter.to_string(), "");
        }
        if self.parentheses {
            replace("(", "-");
            replace(")", "");
        }
        for letter in &self.minus {
            replace(&letter.to_string(), "-");
        }
        if let Some(decimal) = self.decimal.filter(|decimal| *decimal != self.target) {
            replace(&decimal.to_string(), &self.target.to_string());
        }
        chain
    }

    fn described(&self) -> String {
        let mut parts = Vec::new();
        if self.decimal == Some(',') {
            parts.push("with a decimal comma".to_owned());
        }
        if !self.grouping.is_empty() {
            parts.push("in groups of thousands".to_owned());
        }
        for affix in self.prefixes.iter().chain(&self.suffixes) {
            parts.push(format!("with {affix}"));
        }
        if self.parentheses {
            parts.push("with parentheses for a minus".to_owned());
        }
        if !self.minus.is_empty() {
            parts.push("with another minus sign".to_owned());
        }
        parts.join(", ")
    }

    /// The condition that a file is written the new way.
    fn condition(&self, writer: &Writer, text: &str) -> String {
        if self.old.is_some() {
            return format!("written.fullmatch({text}) and not known.fullmatch({text})");
        }
        let tests: Vec<String> = self.sign.iter().map(|sign| format!("{} in {text}", writer.quote(sign))).collect();
        tests.join(" or ")
    }
}

/// The pattern of the numbers that the code's own replacements are made for.
fn read_by_code(columns: &[NumberColumn]) -> Option<&'static str> {
    let mut patterns: Vec<&str> = Vec::new();
    for one in columns.iter().flat_map(|column| column.uses.iter()) {
        let replaced: Vec<(&str, &str)> = one
            .ops
            .iter()
            .filter_map(|op| match op {
                Op::Replace(old, new) => Some((*old, *new)),
                _ => None,
            })
            .collect();
        patterns.push(match replaced.as_slice() {
            [(".", ""), (",", ".")] => r"\s*[-+]?(?:\d{1,3}(?:\.\d{3})+|\d*)(?:,\d+)?\s*",
            [(",", ".")] => r"\s*[-+]?\d*(?:[.,]\d+)?\s*",
            [(",", "")] => r"\s*[-+]?(?:\d{1,3}(?:,\d{3})+|\d*)(?:\.\d+)?\s*",
            _ => return None,
        });
    }
    patterns.dedup();
    match patterns.as_slice() {
        [one] => Some(one),
        _ => None,
    }
}

fn add<T: Clone + PartialEq>(list: &mut Vec<T>, more: &[T]) {
    for item in more {
        if !list.contains(item) {
            list.push(item.clone());
        }
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '.' | '$' | '(' | ')' | '[' | ']' | '*' | '+' | '?' | '|' | '^' | '\\' | '{' | '}' | '-' => {
                out.push('\\');
                out.push(letter);
            }
            letter if !letter.is_ascii() && (letter.is_whitespace() || letter.is_control()) => {
                out.push_str(&format!("\\u{:04x}", letter as u32))
            }
            letter => out.push(letter),
        }
    }
    out
}

fn in_rows(tables: &Tables, at: usize, columns: &[NumberColumn], style: &Style) -> Option<String> {
    let reader = tables.readers.get(at)?;
    let mut writer = Writer::new(&tables.code);
    let named: Vec<String> =
        columns.iter().flat_map(|column| column.names.iter().map(|name| writer.quote(name))).collect();
    let places: Vec<String> = columns
        .iter()
        .filter_map(|column| match column.key {
            Key::At(place) => Some(place.to_string()),
            Key::Name(_) => None,
        })
        .collect();
    if !named.is_empty() && !places.is_empty() {
        return None;
    }
    let (cells, parameters, given, prepared, result) = match (reader.form, places.is_empty()) {
        (Form::Dict, _) => (
            "(row, name) for row in rows for name in names if name in row and row[name]",
            "names",
            named,
            "rows = list(rows)",
            "rows",
        ),
        (_, true) => (
            "(row, rows[0].index(name)) for row in rows[1:] for name in names if name in rows[0] and row",
            "names",
            named,
            "rows = [list(row) for row in rows]",
            "iter(rows)",
        ),
        (_, false) => (
            "(row, place) for row in rows[1:] for place in places if place < len(row) and row[place]",
            "places",
            places,
            "rows = [list(row) for row in rows]",
            "iter(rows)",
        ),
    };
    let text = if reader.form == Form::Sheet { "str(row[name])" } else { "row[name]" };
    let condition = style.condition(&writer, text);
    let pattern = style.pattern();
    let chain = style.chain(&writer);
    wrap_rows(tables, at, &mut writer, "plain_numbers", &given)?;
    writer.helper(&format!(
        "def plain_numbers(rows, *{parameters}):\n    # numbers may be written {described}; one file is written one way throughout\n    import re\n\n    \
         {prepared}\n    written = re.compile(r\"{pattern}\")\n{known}    cells = [{cells}]\n    \
         if any({condition} for row, name in cells):\n        for row, name in cells:\n            if written.fullmatch({text}):\n                \
         row[name] = {text}{chain}\n            elif re.search(r\"\\d\", {text}):\n                \
         raise ValueError(f\"{{row[name]!r}} is not written like the other numbers\")\n    return {result}",
        described = style.described(),
        known = style.old.as_ref().map_or(String::new(), |old| format!("    known = re.compile(r\"{old}\")\n")),
    ));
    writer.finish()
}

fn in_frame(tables: &Tables, at: usize, columns: &[NumberColumn], style: &Style) -> Option<String> {
    let reader = tables.readers.get(at)?;
    let mut writer = Writer::new(&tables.code);
    let named: Vec<String> =
        columns.iter().flat_map(|column| column.names.iter().take(1).map(|name| writer.quote(name))).collect();
    if named.len() != columns.len() || tables.code.has("column_names") || style.old.is_some() {
        return None;
    }
    let call = reader.call?;
    if ["decimal", "thousands", "converters"].iter().any(|word| keyword(call, word).is_some()) {
        return None;
    }
    let module = crate::code::dotted(&call.func)?;
    let module = module.rsplit_once('.')?.0.to_owned();
    let pattern = style.pattern();
    let condition = style.condition(&writer, "text");
    let mut chain = style.chain(&writer);
    chain =
        chain.replace(".replace(", ".str.replace(").replace("\")", "\", regex=False)").replace("')", "', regex=False)");
    // The reader must not read the cells as numbers before it is known how they are written.
    let texts: Vec<String> = columns
        .iter()
        .flat_map(|column| column.names.iter())
        .map(|name| format!("{}: str", writer.quote(name)))
        .collect();
    let texts = texts.join(", ");
    if reader.form == Form::Frame {
        match keyword(call, "dtype") {
            None => put(&mut writer, call, "dtype", &format!("{{{texts}}}"))?,
            Some(sanare_source::ast::Expr::Dict(given)) if !given.items.is_empty() => {
                writer.after(&given.items.last()?.value, format!(", {texts}"));
            }
            Some(_) => return None,
        }
    }
    let cells = if reader.form == Form::Frame { "frame[name]" } else { "frame[name].dropna().astype(str)" };
    wrap_rows(tables, at, &mut writer, "plain_numbers", &named)?;
    writer.helper(&format!(
        "def plain_numbers(frame, *names):\n    # numbers may be written {described}; one file is written one way throughout\n    \
         new = any({condition} for name in names for text in frame[name].dropna().astype(str))\n    for name in names:\n        \
         texts = {cells}\n        if new:\n            if not texts.dropna().str.fullmatch(r\"{pattern}\").all():\n                \
         raise ValueError(f\"the numbers of {{name!r}} are not all written the same way\")\n            \
         texts = texts{chain}\n        frame[name] = {module}.to_numeric(texts) if len(texts) else texts.astype(object)\n    return frame",
        described = style.described(),
    ));
    writer.finish()
}
