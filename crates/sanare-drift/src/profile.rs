//! What the values of one column or leaf look like, without any value.

use std::collections::HashSet;

use sanare_core::value::Value;
use serde::{Deserialize, Serialize};

use crate::number::{self, Grammar};
use crate::{date, values};

/// Statistics of form over the values seen. Nothing in it lets a value be read back: counts are rounded to powers of
/// two, shares and lengths to classes, sizes to powers of ten, and spellings are those of the lexicon.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// Python type of the values: `str`, `int`, `float`, `bool`, `None`, `list`, `dict`; `mixed` when they differ.
    pub type_name: String,
    /// How many values there were, as a power of two: 0 for none, 1 for one, 2 for two or three, 3 for four to seven.
    pub count: u8,
    /// The share of values that say "no value", in hundredths; 1 for anything above none up to one hundredth.
    pub nulls: u8,
    /// How many different values there were.
    pub distinct: Distinct,
    /// If all values are numbers: how they are written and how large they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<Numbers>,
    /// If all values are dates: every `strptime` format that reads them; two where day or month may come first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dates: Vec<String>,
    /// Whether the values count time since an epoch or days as a spreadsheet does: `s`, `ms`, `us`, `ns`, `days`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted_time: Option<String>,
    /// Whether all years lie where Python puts years of two digits (1969 to 2068).
    pub years_in_window: bool,
    /// If the values are one pair of truth words: true and false as written, in lower case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<(String, String)>,
    /// Whether the values identify: all different, one width, letters and digits or leading zeros.
    pub id_like: bool,
    /// Whether numbers are written with leading zeros.
    pub leading_zeros: bool,
    /// Whether at least half of the values are numbers of one grammar and the others are not.
    pub mostly_numbers: bool,
    /// The one length of all texts, if they share one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u16>,
    /// Units and currencies that the values themselves show (`eur`, `percent`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<String>,
    /// Middle length of texts, as a power of two.
    pub length: u8,
    /// What every value is by its look: `email`, `iban`, `uuid`, `url`, `currency`, `country`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validator: Option<String>,
}

/// How many different values there were, for the number of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distinct {
    /// No value at all.
    #[default]
    None,
    /// One, again and again.
    One,
    /// Up to a tenth of them.
    Few,
    /// More.
    Some,
    /// All of them.
    All,
}

/// How the numbers of a column are written and how large they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Numbers {
    /// How they are written; nothing for numbers in memory or where two readings fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grammar: Option<Grammar>,
    /// Whether two readings fit every value (`1.234`).
    pub undecided: bool,
    /// The greatest number of decimal digits.
    pub decimals: u8,
    /// Whether no value has decimals.
    pub integer_only: bool,
    /// Whether some are negative.
    pub negative: bool,
    /// Whether some are positive.
    pub positive: bool,
    /// Power of ten of the least, the middle and the greatest size; nothing when all are zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub powers: Option<(i8, i8, i8)>,
}

/// What a profile says the values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No value to judge by.
    Empty,
    /// Numbers, in text or not.
    Number,
    /// Dates and times.
    Date,
    /// Truth values.
    Flag,
    /// Any other text.
    Text,
    /// A list.
    List,
    /// A mapping.
    Map,
    /// Values of several types.
    Mixed,
}

impl Profile {
    /// The profile of texts, such as the cells of a CSV column.
    pub fn of_texts<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut total = 0_usize;
        let held: Vec<&str> = texts.inspect(|_| total += 1).filter(|text| !values::is_null_word(text)).collect();
        let type_name = if held.is_empty() && total > 0 { "None" } else { "str" };
        let mut profile = Self::counted(total, total - held.len(), type_name);
        profile.add_texts(&held);
        profile
    }

    /// The profile of values, such as the leaves of a JSON reply.
    pub fn of_values<'a>(values: impl Iterator<Item = &'a Value>) -> Self {
        let (mut total, mut nulls) = (0_usize, 0_usize);
        let mut types: Vec<&str> = Vec::new();
        let mut texts: Vec<&str> = Vec::new();
        let mut numbers: Vec<f64> = Vec::new();
        for value in values {
            total += 1;
            match value {
                Value::Null => {
                    nulls += 1;
                    continue;
                }
                Value::Text(text) if values::is_null_word(text) => {
                    nulls += 1;
                    continue;
                }
                Value::Float(number) if number.is_nan() => {
                    nulls += 1;
                    continue;
                }
                Value::Text(text) => texts.push(text),
                Value::Int(number) => numbers.push(*number as f64),
                Value::Float(number) => numbers.push(*number),
                _ => {}
            }
            let name = value.type_name();
            if !types.contains(&name) {
                types.push(name);
            }
        }
        types.sort_unstable();
        let type_name = match types[..] {
            [] if total > 0 => "None",
            [] => "",
            [one] => one,
            ["float", "int"] => "float",
            _ => "mixed",
        };
        let mut profile = Self::counted(total, nulls, type_name);
        match type_name {
            "str" => profile.add_texts(&texts),
            "int" | "float" => profile.add_numbers(&numbers),
            _ => {}
        }
        profile
    }

    /// What the values are.
    pub fn kind(&self) -> Kind {
        match self.type_name.as_str() {
            "" | "None" => Kind::Empty,
            "bool" => Kind::Flag,
            "int" | "float" => Kind::Number,
            "list" => Kind::List,
            "dict" => Kind::Map,
            "mixed" => Kind::Mixed,
            _ if !self.dates.is_empty() => Kind::Date,
            _ if self.number.is_some() => Kind::Number,
            _ if self.flag.is_some() => Kind::Flag,
            _ => Kind::Text,
        }
    }

    /// Whether the values could be read as dates: written ones, or counts of time.
    pub fn may_be_date(&self) -> bool {
        !self.dates.is_empty() || self.counted_time.is_some()
    }

    /// The one date format that reads every value, if there is one and no more.
    pub fn only_date_format(&self) -> Option<&str> {
        match self.dates.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    fn counted(total: usize, nulls: usize, type_name: &str) -> Self {
        let share = if nulls == 0 { 0 } else { (nulls * 100 / total).clamp(1, 100) };
        Self {
            type_name: type_name.to_owned(),
            count: power_of_two(total),
            nulls: u8::try_from(share).unwrap_or(100),
            ..Self::default()
        }
    }

    fn add_texts(&mut self, held: &[&str]) {
        if held.is_empty() {
            return;
        }
        let trimmed: Vec<&str> = held.iter().map(|text| text.trim()).collect();
        self.distinct = distinct(trimmed.iter().copied(), trimmed.len());
        let mut lengths: Vec<usize> = trimmed.iter().map(|text| text.chars().count()).collect();
        lengths.sort_unstable();
        self.length = power_of_two(lengths[lengths.len() / 2]);
        let one_width = lengths.first() == lengths.last();
        self.width = one_width.then(|| u16::try_from(lengths[0]).unwrap_or(u16::MAX));
        if let Some(pair) = values::boolean_pair(held) {
            let lower = |list: &[String]| list.first().map(|text| text.to_lowercase()).unwrap_or_default();
            self.flag = Some((lower(&pair.truthy), lower(&pair.falsy)));
        }
        if let Some((mut formats, in_window)) = date::fitting(held) {
            formats.truncate(6);
            self.dates = formats;
            self.years_in_window = in_window;
            return;
        }
        match number::decide(held, None) {
            Ok(grammar) => {
                let plain: Vec<String> = held.iter().filter_map(|text| grammar.normalize(text)).collect();
                let sizes: Vec<f64> = plain.iter().filter_map(|text| text.parse().ok()).collect();
                self.units.clone_from(&grammar.units);
                self.add_numbers(&sizes);
                let decimals = plain
                    .iter()
                    .filter_map(|text| text.split_once('.').map(|(_, digits)| digits.len()))
                    .max()
                    .unwrap_or(0);
                if let Some(number) = &mut self.number {
                    number.decimals = u8::try_from(decimals).unwrap_or(u8::MAX);
                    number.integer_only = grammar.integer_only;
                    number.grammar = Some(grammar);
                }
                self.counted_time = date::counted_unit(held);
            }
            Err(number::Undecided::TwoReadings(_)) => {
                self.number = Some(Numbers { undecided: true, ..Numbers::default() });
            }
            Err(number::Undecided::LeadingZeros) => {
                self.leading_zeros = true;
                self.id_like = one_width;
            }
            Err(reason) => {
                if let number::Undecided::NotNumbers(strangers) = &reason
                    && strangers.len() * 2 <= held.len()
                {
                    let mut strangers = strangers.iter().peekable();
                    let rest: Vec<&str> = held
                        .iter()
                        .enumerate()
                        .filter(|(at, _)| strangers.next_if(|stranger| *stranger == at).is_none())
                        .map(|(_, text)| *text)
                        .collect();
                    self.mostly_numbers = number::decide(&rest, None).is_ok();
                }
                self.validator = values::validator(held).map(str::to_owned);
                let digits = trimmed.iter().all(|text| text.bytes().any(|b| b.is_ascii_digit()) && !text.contains(' '));
                let different = self.distinct == Distinct::All && trimmed.len() > 1;
                self.id_like =
                    (different && one_width && digits && lengths[0] >= 4) || self.validator.as_deref() == Some("uuid");
            }
        }
        // Truth written as 1 and 0 is numbers as well; which of the two is for the code to say.
    }

    fn add_numbers(&mut self, sizes: &[f64]) {
        let mut powers: Vec<i8> = sizes
            .iter()
            .filter(|size| **size != 0.0 && size.is_finite())
            .map(|size| size.abs().log10().floor().clamp(-99.0, 99.0) as i8)
            .collect();
        powers.sort_unstable();
        let powers = match powers[..] {
            [] => None,
            [low, ..] => Some((low, powers[powers.len() / 2], powers[powers.len() - 1])),
        };
        if self.distinct == Distinct::None {
            self.distinct = distinct(sizes.iter().map(|size| size.to_bits()), sizes.len());
        }
        self.number = Some(Numbers {
            grammar: None,
            undecided: false,
            decimals: 0,
            integer_only: sizes.iter().all(|size| size.fract() == 0.0),
            negative: sizes.iter().any(|size| *size < 0.0),
            positive: sizes.iter().any(|size| *size > 0.0),
            powers,
        });
    }
}

/// 0 for none, else one more than the power of two at or below the number.
fn power_of_two(number: usize) -> u8 {
    u8::try_from(usize::BITS - number.leading_zeros()).unwrap_or(u8::MAX)
}

/// Beyond so many values, difference is judged on the first of them.
const LOOKED_AT: usize = 10_000;

fn distinct<T: std::hash::Hash + Eq>(items: impl Iterator<Item = T>, total: usize) -> Distinct {
    let looked_at = total.min(LOOKED_AT);
    let different = items.take(LOOKED_AT).collect::<HashSet<T>>().len();
    match different {
        0 => Distinct::None,
        all if all == looked_at => Distinct::All,
        1 => Distinct::One,
        few if few * 10 <= looked_at => Distinct::Few,
        _ => Distinct::Some,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests may stop")]

    use super::{Kind, Profile};
    use sanare_core::value::Value;

    fn check(texts: &[&str], kind: Kind, expected: &str) {
        let profile = Profile::of_texts(texts.iter().copied());
        let number = profile.number.as_ref();
        let found = format!(
            "n{} nulls{} {:?} powers{:?} {} {} {:?} {:?}",
            profile.count,
            profile.nulls,
            profile.distinct,
            number.and_then(|number| number.powers),
            profile.dates.join("|"),
            profile.units.join("|"),
            profile.validator.as_deref().unwrap_or(""),
            if profile.leading_zeros {
                "zeros"
            } else if profile.id_like {
                "id"
            } else {
                ""
            },
        );
        assert_eq!((profile.kind(), found.as_str()), (kind, expected), "{texts:?}");
    }

    #[test]
    fn columns_of_text() {
        check(&["12.69%", "7.90%", ""], Kind::Number, r#"n2 nulls33 All powersSome((0, 1, 1))  percent "" """#);
        check(&["2024-01-05", "2024-01-06"], Kind::Date, r#"n2 nulls0 All powersNone %Y-%m-%d  "" """#);
        check(&["01/02/2024"], Kind::Date, r#"n1 nulls0 All powersNone %d/%m/%Y|%m/%d/%Y  "" """#);
        check(&["007", "012"], Kind::Text, r#"n2 nulls0 All powersNone   "" "zeros""#);
        check(&["Y", "N", "Y"], Kind::Flag, r#"n2 nulls0 Some powersNone   "" """#);
        check(&["a@b.hu"], Kind::Text, r#"n1 nulls0 All powersNone   "email" """#);
        check(&["EACB19130B0C", "8FED874C809D"], Kind::Text, r#"n2 nulls0 All powersNone   "" "id""#);
        check(&["", "N/A"], Kind::Empty, r#"n2 nulls100 None powersNone   "" """#);
    }

    #[test]
    fn leaves_of_json() {
        let kind = |values: &[Value]| Profile::of_values(values.iter()).kind();
        assert_eq!(kind(&[Value::Int(3), Value::Float(2.5), Value::Null]), Kind::Number);
        assert_eq!(kind(&[Value::Int(3), Value::Text("x".to_owned())]), Kind::Mixed);
        assert_eq!(kind(&[Value::List(vec![])]), Kind::List);
        assert_eq!(kind(&[Value::Bool(true)]), Kind::Flag);
        assert_eq!(kind(&[]), Kind::Empty);
    }

    #[test]
    fn no_value_is_in_it() {
        let texts = ["Kovács Anna 4711", "Szabó Béla 4712", "EUR 12345.67", "2024-03-17"];
        for text in texts {
            let profile = Profile::of_texts([text, text].into_iter());
            let stored = serde_json::to_string(&profile).unwrap();
            for part in text.split(' ').filter(|part| *part != "EUR") {
                assert!(!stored.contains(part), "{part} in {stored}");
            }
            let back: Profile = serde_json::from_str(&stored).unwrap();
            assert_eq!(back, profile);
        }
    }
}
