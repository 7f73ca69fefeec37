//! The names that are looked for, and the row that holds them.

use crate::code::table_reads::{Key, Reads};
use crate::matching::{Expected, MatchContext, Seen, match_fields};
use crate::names::Compared;
use crate::problem::Words;
use crate::profile::Profile;
use crate::shape::TableShape;

/// At most this many rows are searched for the header.
pub const ROWS_LOOKED_AT: usize = 50;

/// Names that a header is known by.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Names that the code reads.
    pub needed: Vec<String>,
    /// All names remembered.
    pub remembered: Vec<String>,
    /// Aliases of earlier layers, for each expected name.
    pub aliases: Vec<(String, String)>,
    /// All expected fields with what is known of them.
    pub expected: Vec<Expected>,
    /// What names mean.
    pub words: Words,
}

/// A row that qualifies as the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its place.
    pub at: usize,
    /// Whether another row has at least half as many of the names.
    pub rivals: bool,
}

impl Wanted {
    /// The names that a reader's rows should have.
    pub fn of(
        reads: &Reads,
        reader: usize,
        remembered: Option<&TableShape>,
        expected: Vec<Expected>,
        words: &Words,
    ) -> Self {
        let remembered: Vec<String> =
            remembered.map(|table| table.columns.iter().map(|(name, _)| name.clone()).collect()).unwrap_or_default();
        let mut needed: Vec<String> = Vec::new();
        for read in reads.all.iter().filter(|read| read.reader == reader) {
            let name = match &read.key {
                Key::Name(name) => Some(name.clone()),
                Key::At(place) => usize::try_from(*place).ok().and_then(|place| remembered.get(place).cloned()),
            };
            needed.extend(name.filter(|name| !needed.contains(name)));
        }
        Self { needed, remembered, aliases: reads.aliases.clone(), expected, words: words.clone() }
    }

    /// Letters beyond ASCII in the names.
    pub fn letters(&self) -> String {
        self.needed.iter().flat_map(|name| name.chars()).filter(|letter| !letter.is_ascii()).collect()
    }

    /// The row that holds the names: at least 60 % of those that the code reads or of those remembered.
    pub fn header(&self, rows: &[Vec<String>]) -> Option<Row> {
        self.by_name(rows).or_else(|| self.by_meaning(rows))
    }

    fn by_name(&self, rows: &[Vec<String>]) -> Option<Row> {
        let needed: Vec<Compared> = self.needed.iter().map(|name| Compared::of(name)).collect();
        let remembered: Vec<Compared> = self.remembered.iter().map(|name| Compared::of(name)).collect();
        let has_letters = |text: &String| text.chars().any(char::is_alphabetic);
        // A cell without letters, as most are, is no name that has some.
        let worded = self.needed.iter().chain(&self.remembered).all(has_letters);
        let score = |row: &Vec<String>| {
            let telling = row.iter().filter(|cell| !worded || has_letters(cell));
            let cells: Vec<Compared> = telling.map(|cell| Compared::of(cell)).collect();
            (self.count(&self.needed, &needed, row, &cells), self.count(&self.remembered, &remembered, row, &cells))
        };
        let scores: Vec<(usize, usize)> = rows.iter().map(score).collect();
        let enough = |hits: usize, of: usize| hits > 0 && hits * 10 >= of * 6;
        let at = (0..rows.len()).max_by_key(|at| {
            (
                scores[*at].0 * 100 / self.needed.len().max(1) + scores[*at].1 * 100 / self.remembered.len().max(1),
                usize::MAX - at,
            )
        })?;
        let (needed, remembered) = scores[at];
        if !enough(needed, self.needed.len()) && !enough(remembered, self.remembered.len()) {
            return None;
        }
        let rivals = scores.iter().enumerate().any(|(other, score)| {
            other != at
                && rows[other] != rows[at]
                && ((needed > 0 && score.0 * 2 >= needed && score.0 > 0 && self.needed.len() > 1)
                    || (score.1 * 2 >= remembered && score.1 > 1))
        });
        Some(Row { at, rivals })
    }

    /// How many of these names stand in a row, as they are or under an alias.
    fn count(&self, names: &[String], compared: &[Compared], row: &[String], cells: &[Compared]) -> usize {
        let there = |(name, compared): &(&String, &Compared)| {
            row.contains(name)
                || cells.iter().any(|cell| compared.is(cell))
                || self.aliases.iter().any(|(expected, seen)| expected == *name && row.contains(seen))
        };
        names.iter().zip(compared).filter(there).count()
    }

    /// The only row for which every name that the code reads can be mapped.
    fn by_meaning(&self, rows: &[Vec<String>]) -> Option<Row> {
        if self.needed.is_empty() {
            return None;
        }
        let widest = rows.iter().map(Vec::len).max().unwrap_or_default();
        let mut fitting = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let filled = row.iter().filter(|cell| !cell.trim().is_empty()).count();
            let values = row.iter().any(|cell| cell.trim().parse::<f64>().is_ok());
            if filled < self.needed.len().max(2) || row.len() * 2 < widest || values {
                continue;
            }
            if self.maps(row, &rows[at + 1..]) {
                fitting.push(at);
            }
        }
        match fitting.as_slice() {
            [at] => Some(Row { at: *at, rivals: false }),
            _ => None,
        }
    }

    fn maps(&self, row: &[String], below: &[Vec<String>]) -> bool {
        let seen: Vec<Seen> = row
            .iter()
            .enumerate()
            .filter(|(_, cell)| !cell.trim().is_empty())
            .map(|(position, cell)| {
                let cells = below.iter().filter_map(|row| row.get(position)).map(String::as_str);
                Seen { name: cell.clone(), profile: Profile::of_texts(cells), position }
            })
            .collect();
        let count = if self.remembered.is_empty() { self.needed.len() } else { self.expected.len() };
        let closed_record = count == row.len();
        let words = &self.words;
        let context =
            MatchContext { lexicon: words.lexicon(), contract_aliases: words.aliases(), lockfile: &[], closed_record };
        match_fields(&self.expected, &seen, &context).is_ok()
    }
}
