//! The number columns of a table: how their cells are written and whether the code reads them right.

use std::collections::BTreeMap;

use super::{Tables, View};
use sanare_source::ast::Expr;

use crate::code::table_reader::Form;
use crate::code::table_reads::{Key, Read, Via};
use crate::code::table_uses::{Becomes, Op, Use};
use crate::number::{self, Grammar, Undecided};
use crate::profile::{Kind, Profile};
use crate::values;

/// A column that the code makes numbers of.
#[derive(Clone, Debug)]
pub struct NumberColumn<'a> {
    /// How the code addresses it.
    pub key: Key,
    /// Names that it may have in the rows: expected, then aliases.
    pub names: Vec<String>,
    /// Its place in the new data.
    pub place: usize,
    /// The conversions.
    pub uses: Vec<Use<'a>>,
    /// How its cells are written.
    pub grammar: Result<Grammar, Undecided>,
    /// Whether the code reads every cell that is there as the number that it is.
    pub read_right: bool,
    /// Whether the code goes on when one of them cannot be read.
    pub set_aside: bool,
}

impl<'a> Tables<'a> {
    /// Expected names and what they are called in this header, as far as that can be told.
    pub fn called_now(&self, at: usize, view: &View) -> BTreeMap<String, String> {
        let mut now = BTreeMap::new();
        for (expected, seen) in &self.reads.aliases {
            if view.place(expected).is_none() && view.place(seen).is_some() {
                now.insert(expected.clone(), seen.clone());
            }
        }
        if let Ok(mappings) = self.map(at, view) {
            for mapping in mappings {
                now.entry(mapping.expected).or_insert(mapping.seen);
            }
        }
        now
    }

    /// The place of a column in the new data, and its names.
    pub fn place_of(&self, key: &Key, view: &View, now: &BTreeMap<String, String>) -> Option<(usize, Vec<String>)> {
        match key {
            Key::Name(name) => {
                let mut names = vec![name.clone()];
                let place = view.place(name).or_else(|| {
                    let seen = now.get(name)?;
                    names.push(seen.clone());
                    view.place(seen)
                })?;
                Some((place, names))
            }
            Key::At(place) => {
                let width = view.remembered.map_or(view.header.len(), |table| table.columns.len());
                let place =
                    usize::try_from(if *place < 0 { i64::try_from(width).ok()? + place } else { *place }).ok()?;
                if self.code.has("in_known_order") {
                    let name = &view.remembered?.columns.get(place)?.0;
                    let place = view.place(name).or_else(|| now.get(name).and_then(|seen| view.place(seen)))?;
                    return Some((place, Vec::new()));
                }
                (place < view.header.len()).then_some((place, Vec::new()))
            }
        }
    }

    /// Every column that the code makes numbers of, in order of the text.
    pub fn number_columns(&self, at: usize, view: &View) -> Vec<NumberColumn<'a>> {
        let now = self.called_now(at, view);
        let mut columns: Vec<NumberColumn<'a>> = Vec::new();
        for read in self.reads.all.iter().filter(|read| read.reader == at && !matches!(read.via, Via::Index)) {
            let mut uses: Vec<Use<'a>> = self.code.uses(read).into_iter().filter(Use::is_number).collect();
            if uses.is_empty() {
                uses.extend(self.by_memory(at, view, read));
            }
            self.as_the_reader_does(at, &mut uses);
            if uses.is_empty() {
                continue;
            }
            if let Some(known) = columns.iter_mut().find(|column| column.key == read.key) {
                known.uses.extend(uses);
                continue;
            }
            let Some((place, names)) = self.place_of(&read.key, view, &now) else { continue };
            let set_aside = uses.iter().all(|one| one.set_aside);
            columns.push(NumberColumn {
                key: read.key.clone(),
                names,
                place,
                uses,
                grammar: Err(Undecided::NoValues),
                read_right: true,
                set_aside,
            });
        }
        let framed = self.readers.get(at).is_some_and(|reader| reader.form.is_frame());
        for column in &mut columns {
            column.set_aside &= !framed;
            column.judge(view);
        }
        adopt_from_neighbours(&mut columns, view);
        columns
    }
}

impl<'a> Tables<'a> {
    /// A data frame's column that was numbers before is numbers to the code, whatever the code does with it.
    fn by_memory(&self, at: usize, view: &View, read: &Read<'a>) -> Option<Use<'a>> {
        let reader = self.readers.get(at).filter(|reader| reader.form == Form::Frame)?;
        let Key::Name(name) = &read.key else { return None };
        let old = view.remembered?.columns.iter().find(|(column, _)| column == name).map(|(_, profile)| profile)?;
        let typed = reader.keyword("dtype").is_some_and(|types| match self.code.resolve(types) {
            Expr::Dict(dict) => dict.iter_keys().flatten().filter_map(crate::code::text_of).any(|key| key == name),
            _ => true,
        });
        let numbers = old.kind() == Kind::Number && !typed && !self.made.contains(name);
        numbers.then(|| Use {
            ops: Vec::new(),
            becomes: Becomes::Number,
            call: None,
            from: read.expr,
            set_aside: false,
            outside: false,
        })
    }

    /// `read_csv(..., decimal=",", thousands=".")` reads cells as if the code replaced them.
    fn as_the_reader_does(&self, at: usize, uses: &mut [Use<'a>]) {
        let Some(reader) = self.readers.get(at).filter(|reader| reader.form == Form::Frame) else { return };
        let given = |name: &str| reader.keyword(name).and_then(|value| self.code.constant_text(value));
        for one in uses {
            if let Some(decimal) = given("decimal").filter(|decimal| *decimal != ".") {
                one.ops.insert(0, Op::Replace(decimal, "."));
            }
            if let Some(thousands) = given("thousands") {
                one.ops.insert(0, Op::Replace(thousands, ""));
            }
        }
    }
}

impl NumberColumn<'_> {
    fn judge(&mut self, view: &View) {
        let cells = cells(view, self.place);
        let remembered = self
            .remembered(view)
            .and_then(|profile| profile.number.as_ref())
            .and_then(|number| number.grammar.as_ref());
        self.grammar = number::decide(&cells, remembered);
        if let (Err(Undecided::NotNumbers(strangers)), true) = (&self.grammar, self.set_aside) {
            let kept: Vec<&str> =
                cells.iter().enumerate().filter(|(at, _)| !strangers.contains(at)).map(|(_, cell)| *cell).collect();
            if kept.len() * 2 >= cells.len() {
                self.grammar = number::decide(&kept, remembered);
            }
        }
        if matches!(self.grammar, Err(Undecided::TwoReadings(_)))
            && let Some(grammar) = self.as_whole_numbers(view, &cells)
        {
            self.grammar = Ok(grammar);
        }
        self.compare(&cells);
    }

    /// `1,234` where the code makes whole numbers of whole numbers of that size: the separator can only group digits.
    fn as_whole_numbers(&self, view: &View, cells: &[&str]) -> Option<Grammar> {
        let old = self.remembered(view)?;
        let whole = old.number.as_ref().is_some_and(|number| number.integer_only);
        if !whole || !self.uses.iter().all(|one| one.becomes == Becomes::Int) {
            return None;
        }
        let mut fitting = [('.', ','), (',', '.')].into_iter().filter_map(|(decimal, group)| {
            let hint = Grammar { decimal: Some(decimal), grouping: vec![group], ..Grammar::default() };
            let grammar = number::decide(cells, Some(&hint)).ok()?;
            let plain: Option<Vec<String>> = cells.iter().map(|cell| grammar.normalize(cell)).collect();
            let plain = plain.filter(|plain| plain.iter().all(|text| !text.contains('.')))?;
            let now = Profile::of_texts(plain.iter().map(String::as_str));
            same_size(old, &now).then_some(grammar)
        });
        fitting.next().filter(|_| fitting.next().is_none())
    }

    /// Whether the code reads each cell as the grammar does.
    fn compare(&mut self, cells: &[&str]) {
        self.read_right = match &self.grammar {
            Ok(grammar) => cells.iter().all(|cell| {
                let meant = grammar.normalize(cell).and_then(|text| text.parse::<f64>().ok());
                self.uses.iter().all(|one| match (reads(cell, one), meant) {
                    (Reading::Number(read), Some(meant)) => close(read, meant),
                    (Reading::Fails, Some(_)) => false,
                    (Reading::Unknown, _) | (_, None) => true,
                })
            }),
            Err(_) => cells.iter().all(|cell| self.uses.iter().all(|one| reads(cell, one) != Reading::Fails)),
        };
    }

    /// The profile remembered for this column.
    pub fn remembered<'v>(&self, view: &'v View) -> Option<&'v Profile> {
        let columns = &view.remembered?.columns;
        match &self.key {
            Key::Name(name) => columns.iter().find(|(column, _)| column == name).map(|(_, profile)| profile),
            Key::At(place) => columns.get(usize::try_from(*place).ok()?).map(|(_, profile)| profile),
        }
    }
}

/// Cells with a value, null words left out.
pub fn cells<'v>(view: &'v View, place: usize) -> Vec<&'v str> {
    view.texts(place).filter(|cell| !cell.trim().is_empty() && !values::is_null_word(cell)).collect()
}

/// A column that reads two ways takes the way of the columns beside it, if they agree.
fn adopt_from_neighbours(columns: &mut [NumberColumn], view: &View) {
    let decided: Vec<(char, Vec<char>)> = columns
        .iter()
        .filter_map(|column| column.grammar.as_ref().ok())
        .filter(|grammar| !grammar.by_memory && (grammar.decimal.is_some() || !grammar.grouping.is_empty()))
        .map(|grammar| {
            let decimal = grammar.decimal.unwrap_or(if grammar.grouping.contains(&',') { '.' } else { ',' });
            (decimal, grammar.grouping.clone())
        })
        .collect();
    let Some((decimal, _)) = decided.first() else { return };
    if decided.iter().any(|(other, _)| other != decimal) {
        return;
    }
    let decimal = *decimal;
    for column in columns.iter_mut() {
        let doubtful = match &column.grammar {
            Err(Undecided::TwoReadings(_)) => true,
            Ok(grammar) => grammar.by_memory,
            _ => false,
        };
        if doubtful {
            let hint = Grammar {
                decimal: Some(decimal),
                grouping: vec![if decimal == ',' { '.' } else { ',' }],
                ..Grammar::default()
            };
            let cells = cells(view, column.place);
            column.grammar = number::decide(&cells, Some(&hint));
            column.compare(&cells);
        }
    }
}

/// What the code makes of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// This number.
    Number(f64),
    /// An error.
    Fails,
    /// That cannot be told from the text.
    Unknown,
}

/// Follows a cell through the code's own text methods to its conversion.
pub fn reads(cell: &str, one: &Use) -> Reading {
    let mut text = cell.to_owned();
    for op in &one.ops {
        match op {
            Op::Strip => text = text.trim().to_owned(),
            Op::Replace(old, new) => text = text.replace(old, new),
            Op::Or | Op::Function(_) => {}
            Op::Slice | Op::Joined | Op::Method(_) => return Reading::Unknown,
        }
    }
    let plain = text.trim().replace('_', "");
    let number = match one.becomes {
        Becomes::Int
            if plain
                .bytes()
                .enumerate()
                .all(|(at, byte)| byte.is_ascii_digit() || (at == 0 && matches!(byte, b'-' | b'+'))) =>
        {
            plain.trim_start_matches('+').parse::<f64>().ok()
        }
        Becomes::Int => None,
        _ => plain.parse::<f64>().ok(),
    };
    number.map_or(Reading::Fails, Reading::Number)
}

/// Whether sizes overlap and their middle is the same or one power of ten away.
fn same_size(old: &Profile, new: &Profile) -> bool {
    let powers = |profile: &Profile| profile.number.as_ref().and_then(|number| number.powers);
    powers(old).zip(powers(new)).is_some_and(|((old_low, old_middle, old_high), (low, middle, high))| {
        high >= old_low && low <= old_high && (i16::from(middle) - i16::from(old_middle)).abs() <= 1
    })
}

fn close(left: f64, right: f64) -> bool {
    left == right || (left - right).abs() <= 1e-12 * left.abs().max(right.abs())
}

/// Whether sizes moved so far that unit or scale must have changed (V6): no power of ten in common and the middle one
/// moved by two or more.
pub fn scale_changed(old: &Profile, new: &Profile) -> bool {
    let powers = |profile: &Profile| profile.number.as_ref().and_then(|number| number.powers);
    match (powers(old), powers(new)) {
        (Some((old_low, old_middle, old_high)), Some((low, middle, high))) => {
            (high < old_low || low > old_high) && (i16::from(middle) - i16::from(old_middle)).abs() >= 2
        }
        _ => false,
    }
}
