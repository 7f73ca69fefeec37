//! Made-up cells that the old code can read.

use crate::code::table_uses::{Becomes, Op, Use};
use crate::number::{Grammar, Negative};
use crate::profile::{Kind, Profile};
use crate::table::numbers::{Reading, reads};

/// A column to be made.
pub struct Column<'a> {
    /// Its name.
    pub name: String,
    /// What the code does with its cells.
    pub uses: Vec<Use<'a>>,
    /// What was remembered of it.
    pub profile: Option<Profile>,
    /// A letter beyond ASCII that occurred in the table.
    pub letter: Option<char>,
    /// By how many rows its numbers are moved, so that two columns differ.
    pub shift: usize,
}

/// Moments for date cells: year, month, day, hour, minute, second.
const MOMENTS: [(u32, u32, u32, u32, u32, u32); 4] =
    [(2021, 3, 4, 5, 6, 7), (2021, 3, 25, 14, 8, 9), (2020, 11, 30, 23, 59, 0), (2021, 4, 2, 0, 30, 45)];
const WHOLE: [&str; 4] = ["12", "7", "25", "3"];
const BROKEN: [&str; 4] = ["12.5", "7.25", "1025.75", "0.5"];
const WORDS: [&str; 4] = ["alpha", "beta", "gamma", "alpha"];

impl Column<'_> {
    /// The text of the cell in a row.
    pub fn cell(&self, row: usize) -> String {
        if row == 2 && self.may_be_empty() {
            return String::new();
        }
        if let Some(format) = self.date_format() {
            return moment(&format, MOMENTS[row % 4]);
        }
        for one in &self.uses {
            match one.becomes {
                Becomes::LookedUp(mapping) => {
                    let keys: Vec<&str> = mapping
                        .as_dict_expr()
                        .into_iter()
                        .flat_map(|dict| dict.iter_keys().flatten())
                        .filter_map(crate::code::text_of)
                        .collect();
                    if let Some(key) = keys.get(row % keys.len().max(1)) {
                        return (*key).to_owned();
                    }
                }
                Becomes::Compared(text) if !text.is_empty() => {
                    return if row.is_multiple_of(2) { text.to_owned() } else { WORDS[row % 4].to_owned() };
                }
                _ => {}
            }
        }
        if let Some(text) = self.number(row) {
            return text;
        }
        let word = WORDS[row % 4];
        match self.letter.filter(|_| row == 1) {
            Some(letter) => format!("{word}{letter}"),
            None => word.to_owned(),
        }
    }

    fn may_be_empty(&self) -> bool {
        let converted = self.uses.iter().any(|one| one.is_number() || one.implied().is_some());
        let ruled = self.uses.iter().any(|one| {
            one.becomes == Becomes::Tested || one.becomes == Becomes::Compared("") || one.ops.contains(&Op::Or)
        });
        match &self.profile {
            Some(profile) => profile.nulls > 0 && (!converted || ruled),
            None => converted && ruled,
        }
    }

    /// The format that the code reads, else the remembered one.
    fn date_format(&self) -> Option<String> {
        let read = self.uses.iter().find_map(|one| match one.becomes {
            Becomes::Date(Some(format)) if one.ops.iter().all(|op| matches!(op, Op::Strip | Op::Function(_))) => {
                Some(format.to_owned())
            }
            Becomes::IsoDate => Some("%Y-%m-%d".to_owned()),
            Becomes::Date(None) => Some("%Y-%m-%d".to_owned()),
            _ => None,
        });
        let remembered = self.profile.as_ref().and_then(|profile| profile.dates.first().cloned());
        let sliced = self.uses.iter().any(|one| one.ops.contains(&Op::Slice)).then(|| "%Y-%m-%d %H:%M:%S".to_owned());
        match (read, remembered) {
            (Some(read), Some(remembered))
                if self.uses.iter().any(|one| matches!(one.becomes, Becomes::IsoDate | Becomes::Date(None))) =>
            {
                Some(if remembered.starts_with("%Y") { remembered } else { read })
            }
            (Some(read), _) => Some(read),
            (None, Some(remembered)) => Some(remembered),
            (None, None) if self.profile.is_none() => sliced,
            (None, None) => None,
        }
    }

    fn number(&self, row: usize) -> Option<String> {
        let uses: Vec<&Use> = self.uses.iter().filter(|one| one.is_number()).collect();
        let remembered =
            self.profile.as_ref().filter(|profile| profile.kind() == Kind::Number || profile.flag.is_some());
        if uses.is_empty() && remembered.is_none() {
            return None;
        }
        let flag = self.profile.as_ref().and_then(|profile| profile.flag.clone());
        if let Some((truth, falsity)) = flag {
            return Some(if row.is_multiple_of(2) { truth } else { falsity });
        }
        let numbers = self.profile.as_ref().and_then(|profile| profile.number.as_ref());
        let grammar = numbers.and_then(|numbers| numbers.grammar.clone()).unwrap_or_default();
        let whole =
            uses.iter().any(|one| one.becomes == Becomes::Int) || numbers.is_some_and(|numbers| numbers.integer_only);
        let plain = if whole { WHOLE[(row + self.shift) % 4] } else { BROKEN[(row + self.shift) % 4] };
        let negative = numbers.is_some_and(|numbers| numbers.negative) && row == 1;
        let mut candidates = vec![written(plain, negative, &grammar)];
        candidates.extend([plain.to_owned(), plain.replace('.', ","), WHOLE[(row + self.shift) % 4].to_owned()]);
        let suits =
            |text: &String| uses.iter().all(|one| matches!(reads(text, one), Reading::Number(_) | Reading::Unknown));
        candidates.iter().find(|text| suits(text)).cloned().or_else(|| candidates.into_iter().next())
    }
}

/// A plain number written in a grammar.
fn written(plain: &str, negative: bool, grammar: &Grammar) -> String {
    let decimal = grammar.decimal.unwrap_or(if grammar.grouping.contains(&'.') { ',' } else { '.' });
    let mut text = plain.replace('.', &decimal.to_string());
    if let (Some(group), Some(rest)) = (grammar.grouping.first(), text.strip_prefix("1025")) {
        text = format!("1{group}025{rest}");
    }
    let prefix = grammar.prefixes.first().map(String::as_str).unwrap_or_default();
    let suffix = grammar.suffixes.first().map(String::as_str).unwrap_or_default();
    let text = format!("{prefix}{text}{suffix}");
    match (negative, grammar.negative) {
        (false, _) => text,
        (true, Negative::Leading) => format!("-{text}"),
        (true, Negative::Trailing) => format!("{text}-"),
        (true, Negative::Parentheses) => format!("({text})"),
    }
}

/// A moment in a `strptime` format, English names.
pub fn moment(format: &str, at: (u32, u32, u32, u32, u32, u32)) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    let (year, month, day, hour, minute, second) = at;
    let month_name = MONTHS.get(month as usize - 1).copied().unwrap_or("May");
    let mut out = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        let piece = match letters.next() {
            Some('Y') => format!("{year}"),
            Some('y') => format!("{:02}", year % 100),
            Some('m') => format!("{month:02}"),
            Some('d') => format!("{day:02}"),
            Some('H') => format!("{hour:02}"),
            Some('I') => format!("{:02}", if hour % 12 == 0 { 12 } else { hour % 12 }),
            Some('p') => {
                if hour < 12 {
                    "AM".into()
                } else {
                    "PM".into()
                }
            }
            Some('M') => format!("{minute:02}"),
            Some('S') => format!("{second:02}"),
            Some('f') => "250000".into(),
            Some('j') => format!("{:03}", (month - 1) * 30 + day),
            Some('b' | 'h') => month_name.get(..3).unwrap_or_default().into(),
            Some('B') => month_name.into(),
            Some('a') => DAYS.get(weekday(year, month, day)).and_then(|name| name.get(..3)).unwrap_or_default().into(),
            Some('A') => DAYS.get(weekday(year, month, day)).copied().unwrap_or_default().into(),
            Some('z') => "+0000".into(),
            Some('Z') => "UTC".into(),
            Some('%') => "%".into(),
            _ => String::new(),
        };
        out.push_str(&piece);
    }
    out
}

/// The day of the week, Monday 0 (Sakamoto's method).
fn weekday(year: u32, month: u32, day: u32) -> usize {
    const SHIFT: [u32; 12] = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4];
    let year = if month < 3 { year - 1 } else { year };
    let shift = SHIFT.get(month as usize - 1).copied().unwrap_or_default();
    ((year + year / 4 - year / 100 + year / 400 + shift + day + 6) % 7) as usize
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn moments_in_formats() {
        let check = |format: &str, expected: &str| assert_eq!(moment(format, (2021, 3, 4, 17, 6, 7)), expected);
        check("%d.%m.%Y %H:%M:%S", "04.03.2021 17:06:07");
        check("%m/%d/%y %I:%M %p", "03/04/21 05:06 PM");
        check("%a, %d %b %Y", "Thu, 04 Mar 2021");
    }
}
