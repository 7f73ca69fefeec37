//! How the numbers of a column are written, decided by elimination over all its values.

use serde::{Deserialize, Serialize};

use crate::values::units;

/// Everything that reading the numbers of a column needs to know.
///
/// A value is read so: outer blanks off; parentheses off and a minus noted; prefix and suffix off, blanks again;
/// grouping characters and blanks between digits removed; the decimal character replaced by a point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Grammar {
    /// The decimal character; `None` when no value has decimals.
    pub decimal: Option<char>,
    /// Characters that group digits and are to be removed (`,`, `.`, space, `'`, no-break spaces).
    pub grouping: Vec<char>,
    /// Texts in front of the number that are to be removed, such as `€` or `EUR`; blanks after them too.
    pub prefixes: Vec<String>,
    /// Texts after the number that are to be removed, such as `%` or `kg`; blanks before them too.
    pub suffixes: Vec<String>,
    /// How negative numbers are marked.
    pub negative: Negative,
    /// Minus characters other than `-` that occur in front, to be replaced by it.
    pub minus: Vec<char>,
    /// Unit ids that the values themselves show (`eur`, `percent`).
    pub units: Vec<String>,
    /// Whether no value has decimals.
    pub integer_only: bool,
    /// Whether two readings fitted and the remembered grammar chose; another column of the same file may say otherwise.
    pub by_memory: bool,
}

/// How negative numbers are marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Negative {
    /// With a minus in front, as Python reads it.
    #[default]
    Leading,
    /// With a minus behind.
    Trailing,
    /// In parentheses.
    Parentheses,
}

/// Why the grammar is not decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// There is no value to judge by.
    NoValues,
    /// These values are no numbers in any grammar (positions in the list; the first ones where it is most of them).
    NotNumbers(Vec<usize>),
    /// Two readings fit every value, such as `1.234`: one sentence that says so.
    TwoReadings(String),
    /// No single grammar fits all values.
    Mixed(String),
    /// More than one currency or unit in one column, or some values without: the unit ids.
    MixedUnits(Vec<String>),
    /// Leading zeros: text that identifies something.
    LeadingZeros,
}

impl Grammar {
    /// Whether Python's `float` reads every value as it is.
    pub fn is_plain(&self) -> bool {
        self.decimal.is_none_or(|decimal| decimal == '.')
            && self.grouping.is_empty()
            && self.prefixes.is_empty()
            && self.suffixes.is_empty()
            && self.minus.is_empty()
            && self.negative == Negative::Leading
    }

    /// The value as Python's `Decimal` reads it (`-1234.56`), or nothing if it is not of this grammar.
    pub fn normalize(&self, text: &str) -> Option<String> {
        let written = Written::of(text)?;
        let style_fits = !written.negative || written.style == self.negative || written.style == Negative::Leading;
        if !style_fits
            || written.prefix.is_some() == self.prefixes.is_empty()
            || written.suffix.is_some() == self.suffixes.is_empty()
        {
            return None;
        }
        if let Some(exponent) = written.exponent {
            return Some(signed(written.negative, exponent));
        }
        let reading = Reading {
            decimal: self.decimal.unwrap_or(if self.grouping.contains(&'.') { ',' } else { '.' }),
            grouping: self.grouping.clone(),
        };
        reading.read(written.core).map(|text| signed(written.negative, &text))
    }
}

/// After so many values that are no numbers, most of a column, the rest is not looked at.
const LEAST_STRANGERS: usize = 50;

/// Decides the grammar of a column. Empty values and null words are to be left out by the caller.
///
/// # Errors
/// When no single reading survives.
pub fn decide(values: &[&str], remembered: Option<&Grammar>) -> Result<Grammar, Undecided> {
    if values.is_empty() {
        return Err(Undecided::NoValues);
    }
    let mut column = Column::default();
    let mut strangers = Vec::new();
    for (at, value) in values.iter().enumerate() {
        match Written::of(value) {
            Some(written) => column.add(&written),
            None => strangers.push(at),
        }
        if strangers.len() > LEAST_STRANGERS && strangers.len() * 2 > values.len() {
            break;
        }
    }
    if !strangers.is_empty() {
        return Err(Undecided::NotNumbers(strangers));
    }
    column.decide(remembered)
}

/// One way to read the separators.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reading {
    decimal: char,
    grouping: Vec<char>,
}

const BLANKS: &[char] = &[' ', '\u{a0}', '\u{202f}', '\u{2009}', '\u{2007}'];
const APOSTROPHES: &[char] = &['\'', '\u{2019}'];

impl Reading {
    fn all() -> Vec<Self> {
        let mut readings = Vec::new();
        for (decimal, other) in [('.', ','), (',', '.')] {
            for grouping in [&[other][..], BLANKS, APOSTROPHES, &['_']] {
                readings.push(Self { decimal, grouping: grouping.to_vec() });
            }
        }
        readings
    }

    /// Digits with a point, or nothing.
    fn read(&self, core: &str) -> Option<String> {
        if core.bytes().all(|b| b.is_ascii_digit()) {
            return Some(core.to_owned());
        }
        let mut halves = core.split(self.decimal);
        let whole = halves.next()?;
        let fraction = halves.next();
        if halves.next().is_some()
            || fraction.is_some_and(|digits| digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()))
        {
            return None;
        }
        let mut text = self.whole(whole)?;
        if let Some(digits) = fraction {
            if text.is_empty() {
                text.push('0');
            }
            text.push('.');
            text.push_str(digits);
        }
        (!text.is_empty()).then_some(text)
    }

    fn whole(&self, whole: &str) -> Option<String> {
        let groups: Vec<&str> = whole.split(|c| self.grouping.contains(&c)).collect();
        if groups.iter().any(|group| !group.bytes().all(|b| b.is_ascii_digit())) {
            return None;
        }
        if groups.len() == 1 {
            return Some(whole.to_owned());
        }
        let (first, last, middle) = (groups[0], groups[groups.len() - 1], &groups[1..groups.len() - 1]);
        let by_thousands = (1..=3).contains(&first.len()) && middle.iter().all(|group| group.len() == 3);
        let by_lakhs = (1..=2).contains(&first.len())
            && !middle.is_empty()
            && middle.iter().all(|group| group.len() == 2)
            && self.grouping.contains(&',');
        // One kind of group separator in one number: `1 234'567` is not a number.
        let mut separators = whole.chars().filter(|c| self.grouping.contains(c));
        let one = separators.next()?;
        let alike = separators.all(|c| c == one);
        (last.len() == 3 && (by_thousands || by_lakhs) && alike && !first.starts_with('0')).then(|| groups.concat())
    }
}

/// A value taken apart: sign, affixes, digits with separators.
struct Written<'a> {
    negative: bool,
    style: Negative,
    minus: Option<char>,
    prefix: Option<(&'a str, &'static str)>,
    suffix: Option<(&'a str, &'static str)>,
    core: &'a str,
    exponent: Option<&'a str>,
}

fn is_minus(c: char) -> bool {
    matches!(c, '-' | '\u{2212}' | '\u{2013}')
}

impl<'a> Written<'a> {
    fn of(value: &'a str) -> Option<Self> {
        let mut text = value.trim();
        let (mut negative, mut style, mut minus) = (false, Negative::Leading, None);
        if let Some(inside) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            (negative, style) = (true, Negative::Parentheses);
            text = inside.trim();
        }
        if let Some(body) = scientific(text) {
            let minus_ahead = text.starts_with('-');
            return (!negative || !minus_ahead).then_some(Self {
                negative: negative || minus_ahead,
                style,
                minus: None,
                prefix: None,
                suffix: None,
                core: "",
                exponent: Some(body),
            });
        }
        let first = text.find(|c: char| c.is_ascii_digit())?;
        let last = text.rfind(|c: char| c.is_ascii_digit())?;
        let start = match text[..first].chars().next_back() {
            Some(c @ ('.' | ',')) if !text[..first - c.len_utf8()].ends_with(|c: char| c.is_alphabetic()) => {
                first - c.len_utf8()
            }
            _ => first,
        };
        let (mut before, core, mut after) = (text[..start].trim(), &text[start..=last], text[last + 1..].trim());
        if let Some(sign) = before.chars().next().filter(|c| is_minus(*c) || *c == '+') {
            before = before[sign.len_utf8()..].trim();
            (negative, minus) = Self::minus(negative, sign)?;
        } else if let Some(sign) = before.chars().next_back().filter(|c| is_minus(*c) || *c == '+') {
            before = before[..before.len() - sign.len_utf8()].trim();
            (negative, minus) = Self::minus(negative, sign)?;
        }
        if let Some(sign) = after.chars().next_back().filter(|c| is_minus(*c)) {
            if negative {
                return None;
            }
            after = after[..after.len() - sign.len_utf8()].trim();
            (negative, style) = (true, Negative::Trailing);
            minus = (sign != '-').then_some(sign);
        }
        let prefix = if before.is_empty() { None } else { Some((before, affix(before, true)?)) };
        let suffix = if after.is_empty() { None } else { Some((after, affix(after, false)?)) };
        let digits_only = |c: char| {
            c.is_ascii_digit() || matches!(c, '.' | ',' | '_') || BLANKS.contains(&c) || APOSTROPHES.contains(&c)
        };
        core.chars().all(digits_only).then_some(Self { negative, style, minus, prefix, suffix, core, exponent: None })
    }

    fn minus(negative: bool, sign: char) -> Option<(bool, Option<char>)> {
        if sign == '+' {
            return (!negative).then_some((false, None));
        }
        (!negative).then_some((true, (sign != '-').then_some(sign)))
    }
}

fn affix(text: &str, before: bool) -> Option<&'static str> {
    let mut chars = text.chars();
    if let (Some(c), None) = (chars.next(), chars.next())
        && let Some(unit) = units::sign(c)
    {
        return Some(unit);
    }
    let currency = units::currency(text.trim_end_matches('.'));
    // A scale word such as `Mio.` or `k` changes the number: it is no affix.
    let unit = || units::word(text).filter(|id| !matches!(*id, "thousand" | "million" | "billion"));
    if before { currency } else { currency.or_else(unit) }
}

/// The digits of a number with an exponent, as Python reads it, without its sign.
fn scientific(text: &str) -> Option<&str> {
    let body = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = body.split_once(['e', 'E'])?;
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    (!exponent.is_empty()
        && exponent.len() <= 3
        && digits(exponent)
        && !whole.is_empty()
        && digits(whole)
        && digits(fraction))
    .then_some(body)
}

fn signed(negative: bool, digits: &str) -> String {
    if negative { format!("-{digits}") } else { digits.to_owned() }
}

/// What a column's values leave possible.
#[derive(Default)]
struct Column<'a> {
    count: usize,
    with_separators: Vec<&'a str>,
    prefixes: Vec<String>,
    suffixes: Vec<String>,
    units: Vec<&'static str>,
    without_prefix: bool,
    without_suffix: bool,
    minus: Vec<char>,
    styles: Vec<Negative>,
    exponents: bool,
    leading_zeros: bool,
}

impl<'a> Column<'a> {
    fn add(&mut self, written: &Written<'a>) {
        self.count += 1;
        let mut note = |affix: Option<(&str, &'static str)>, list: &mut Vec<String>, without: &mut bool| match affix {
            Some((text, unit)) => {
                push_new(list, text.to_owned());
                push_new(&mut self.units, unit);
            }
            None => *without = true,
        };
        note(written.prefix, &mut self.prefixes, &mut self.without_prefix);
        note(written.suffix, &mut self.suffixes, &mut self.without_suffix);
        if written.negative {
            push_new(&mut self.styles, written.style);
        }
        if let Some(minus) = written.minus {
            push_new(&mut self.minus, minus);
        }
        if written.exponent.is_some() {
            self.exponents = true;
        } else if !written.core.bytes().all(|b| b.is_ascii_digit()) {
            self.with_separators.push(written.core);
        } else if written.core.len() > 1 && written.core.starts_with('0') {
            self.leading_zeros = true;
        }
    }

    fn decide(self, remembered: Option<&Grammar>) -> Result<Grammar, Undecided> {
        if self.leading_zeros {
            return Err(Undecided::LeadingZeros);
        }
        if self.units.len() > 1 {
            return Err(Undecided::MixedUnits(self.units.iter().map(|unit| (*unit).to_owned()).collect()));
        }
        if (!self.prefixes.is_empty() && self.without_prefix) || (!self.suffixes.is_empty() && self.without_suffix) {
            return Err(Undecided::MixedUnits(
                self.units.iter().map(|unit| (*unit).to_owned()).chain([String::new()]).collect(),
            ));
        }
        let negative = match self.styles.as_slice() {
            [] | [Negative::Leading] => Negative::Leading,
            [one] => *one,
            _ => return Err(Undecided::Mixed("negative numbers are marked in two ways".to_owned())),
        };
        let (reading, by_memory) = self.reading(remembered)?;
        let used = |c: &char| self.with_separators.iter().any(|core| core.contains(*c));
        let grouping: Vec<char> = reading.grouping.iter().copied().filter(used).collect();
        let decimal = Some(reading.decimal).filter(used).or(self.exponents.then_some('.'));
        Ok(Grammar {
            integer_only: decimal.is_none(),
            decimal,
            grouping,
            prefixes: self.prefixes,
            suffixes: self.suffixes,
            negative,
            minus: self.minus,
            units: self.units.iter().map(|unit| (*unit).to_owned()).collect(),
            by_memory,
        })
    }

    /// The reading that fits every value; readings that give the same numbers are one.
    fn reading(&self, remembered: Option<&Grammar>) -> Result<(Reading, bool), Undecided> {
        let mut survivors: Vec<Reading> = Reading::all();
        survivors.retain(|reading| {
            (!self.exponents || reading.decimal == '.')
                && self.with_separators.iter().all(|core| reading.read(core).is_some())
        });
        let Some(first) = survivors.first().cloned() else {
            return Err(Undecided::Mixed("no one way of writing decimals and thousands fits all values".to_owned()));
        };
        let differs = |one: &Reading, other: &Reading| {
            self.with_separators.iter().find(|core| one.read(core) != other.read(core)).copied()
        };
        let Some((second, core)) =
            survivors.iter().find_map(|reading| differs(&first, reading).map(|core| (reading.clone(), core)))
        else {
            return Ok((first, false));
        };
        let uses = |reading: &Reading, c: &char| core.contains(*c) && *c != reading.decimal;
        let remembers = |reading: &Reading| {
            remembered.is_some_and(|grammar| {
                if core.contains(reading.decimal) {
                    grammar.decimal == Some(reading.decimal)
                } else {
                    reading.grouping.iter().any(|c| uses(reading, c) && grammar.grouping.contains(c))
                }
            })
        };
        match (remembers(&first), remembers(&second)) {
            (true, false) => Ok((first, true)),
            (false, true) => Ok((second, true)),
            _ => Err(Undecided::TwoReadings(format!(
                "`{core}` is {} or {}, and no other value says which",
                first.read(core).unwrap_or_default(),
                second.read(core).unwrap_or_default()
            ))),
        }
    }
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

#[cfg(test)]
mod tests {
    use super::{Grammar, Undecided, decide};

    fn check(values: &[&str], expected: &str) {
        let found = match decide(values, None) {
            Ok(grammar) => values
                .iter()
                .map(|value| grammar.normalize(value).unwrap_or_else(|| "?".to_owned()))
                .collect::<Vec<_>>()
                .join(" "),
            Err(Undecided::NoValues) => "no values".to_owned(),
            Err(Undecided::NotNumbers(at)) => format!("not numbers {at:?}"),
            Err(Undecided::TwoReadings(_)) => "two readings".to_owned(),
            Err(Undecided::Mixed(_)) => "mixed".to_owned(),
            Err(Undecided::MixedUnits(_)) => "mixed units".to_owned(),
            Err(Undecided::LeadingZeros) => "leading zeros".to_owned(),
        };
        assert_eq!(found, expected, "{values:?}");
    }

    #[test]
    fn columns_are_read_by_elimination() {
        check(&["1 200,50", "799,50"], "1200.50 799.50");
        check(&["1\u{a0}200,50", "3\u{202f}000"], "1200.50 3000");
        check(&["165,65", "12.500,00", "7.300"], "165.65 12500.00 7300");
        check(&["1,234.5", "7"], "1234.5 7");
        check(&["1.5", "2"], "1.5 2");
        check(&["1'200.50", "3"], "1200.50 3");
        check(&["12,34,567.00", "5"], "1234567.00 5");
        check(&["12,34,567", "1,00,000"], "1234567 100000");
        check(&["1.234.567", "1.234"], "1234567 1234");
        check(&["0.125", "1.234"], "0.125 1.234");
        check(&["1234.567"], "1234.567");
        check(&["€1,200.00", "-€830.00"], "1200.00 -830.00");
        check(&["1.250,00 €", "-21,80 €"], "1250.00 -21.80");
        check(&["EUR 5", "EUR 7.5"], "5 7.5");
        check(&["12.69%", " 7.90%"], "12.69 7.90");
        check(&["12 kg", "7 kg"], "12 7");
        check(&["(1,234.50)", "12.00"], "-1234.50 12.00");
        check(&["12,50-", "1.000,00"], "-12.50 1000.00");
        check(&["\u{2212}5", "3"], "-5 3");
        check(&["1.5e-3", "2"], "1.5e-3 2");
        check(&[".5", "-.25"], "0.5 -0.25");
        check(&["-5", "+3"], "-5 3");
    }

    #[test]
    fn what_is_not_decided_says_so() {
        check(&[], "no values");
        check(&["1.234"], "two readings");
        check(&["1.234", "5.678"], "two readings");
        check(&["1,234", "12"], "two readings");
        check(&["1,5", "1.25"], "mixed");
        check(&["1.250,00", "1,250.00"], "mixed");
        check(&["€5", "$6"], "mixed units");
        check(&["€5", "6"], "mixed units");
        check(&["5%", "6"], "mixed units");
        check(&["007", "012"], "leading zeros");
        check(&["12", "abc"], "not numbers [1]");
        check(&["1.2k"], "not numbers [0]");
        check(&["33.55,11"], "mixed");
        check(&["1 2345"], "mixed");
        check(&["2024-01-05"], "not numbers [0]");
        check(&["10:30"], "not numbers [0]");
        check(&["(-5)"], "not numbers [0]");
        check(&["3.0 b"], "not numbers [0]");
    }

    #[test]
    fn memory_settles_a_tie_and_is_named() {
        let comma = Grammar { decimal: Some(','), ..Grammar::default() };
        let grammar = decide(&["1,234"], Some(&comma)).unwrap_or_default();
        assert!(grammar.by_memory);
        assert_eq!(grammar.normalize("1,234").as_deref(), Some("1.234"));
        assert!(decide(&["1.234"], Some(&comma)).is_err());
    }
}
