//! Canonical names: what is left of a header or key when case, spacing, accents and punctuation are taken away (C58).

use unicode_normalization::UnicodeNormalization;

use crate::values::units;

/// A name in canonical form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Canonical {
    /// Its words in order, folded, noise words dropped.
    pub tokens: Vec<String>,
    /// Units and currencies, in brackets or as a sign, by their id (`eur`, `percent`, `kg`), sorted.
    pub units: Vec<String>,
    /// For each word, its other spellings without accents (`groesse` beside `grosse`).
    pub spellings: Vec<Vec<String>>,
    /// Whether a noise word was dropped.
    pub noise: bool,
}

impl Canonical {
    /// The words as one text, the way names are compared: separators do not count, but two numbers stay two numbers.
    pub fn key(&self) -> String {
        join(self.tokens.iter().map(String::as_str))
    }

    /// Every spelling of [`Self::key`]: umlauts written with one letter and with two.
    pub fn keys(&self) -> Vec<String> {
        let mut keys = vec![self.key()];
        if self.spellings.iter().any(|others| !others.is_empty()) {
            let words = self.tokens.iter().zip(&self.spellings);
            keys.push(join(words.map(|(word, others)| others.first().unwrap_or(word).as_str())));
        }
        keys
    }
}

/// The canonical form of a name.
pub fn canonical(name: &str) -> Canonical {
    if name.len() > LONGEST {
        return Canonical::default();
    }
    let text: String =
        if name.is_ascii() { name.to_owned() } else { name.nfkc().filter(|c| !is_invisible(*c)).collect() };
    let mut units = Vec::new();
    let text = take_bracketed_units(&text, &mut units);
    let mut words = Words::default();
    words.split(&text, &mut units);
    let mut canonical = Canonical::default();
    let raw = words.list;
    for (at, word) in raw.iter().enumerate() {
        if raw.len() > 1 && is_noise(&raw, at) {
            canonical.noise = true;
            continue;
        }
        let (plain, wide) = fold(word);
        canonical.spellings.push(if wide == plain { Vec::new() } else { vec![wide] });
        canonical.tokens.push(plain);
    }
    if canonical.tokens.is_empty() {
        // A name of noise words alone, such as `field`, is a name all the same.
        for word in &raw {
            let (plain, wide) = fold(word);
            canonical.spellings.push(if wide == plain { Vec::new() } else { vec![wide] });
            canonical.tokens.push(plain);
        }
        canonical.noise = false;
    }
    units.sort();
    units.dedup();
    canonical.units = units;
    canonical
}

/// A name that is compared with many others: what [`same`] asks of it, worked out once.
#[derive(Clone, Debug)]
pub struct Compared<'a> {
    text: &'a str,
    units: Vec<String>,
    keys: Vec<String>,
}

impl<'a> Compared<'a> {
    /// Takes a name.
    pub fn of(text: &'a str) -> Self {
        let canonical = canonical(text);
        // Without words there is nothing to compare but units, as `equal_words` has it.
        let keys = if canonical.tokens.is_empty() { Vec::new() } else { canonical.keys() };
        Self { text, units: canonical.units, keys }
    }

    /// Whether two names are the same in canonical form.
    pub fn is(&self, other: &Self) -> bool {
        if self.text == other.text {
            return true;
        }
        if self.units != other.units {
            return false;
        }
        match (self.keys.is_empty(), other.keys.is_empty()) {
            (false, false) => self.keys.iter().any(|key| other.keys.contains(key)),
            (true, true) => !self.units.is_empty(),
            _ => false,
        }
    }
}

/// Whether two names are the same in canonical form (I3).
pub fn same(left: &str, right: &str) -> bool {
    left == right || equal(&canonical(left), &canonical(right))
}

/// A text longer than this names nothing: it has no words.
const LONGEST: usize = 1_000;

/// Whether two canonical names are equal: the same words under one way of writing accents, and the same units.
pub fn equal(left: &Canonical, right: &Canonical) -> bool {
    left.units == right.units && equal_words(left, right)
}

/// Whether the words are equal, whatever the units.
pub fn equal_words(left: &Canonical, right: &Canonical) -> bool {
    if left.tokens.is_empty() || right.tokens.is_empty() {
        return left.tokens.is_empty() && right.tokens.is_empty() && !left.units.is_empty();
    }
    let keys = right.keys();
    left.keys().iter().any(|key| keys.contains(key))
}

/// Lower case without accents, in two spellings: `ä` as `a`, and `ä` as `ae`. Both are equal for most words.
pub fn fold(word: &str) -> (String, String) {
    if word.is_ascii() {
        let plain = word.to_ascii_lowercase();
        return (plain.clone(), plain);
    }
    let (mut plain, mut wide) = (String::with_capacity(word.len()), String::with_capacity(word.len() + 2));
    for c in word.chars().flat_map(char::to_lowercase) {
        match fold_lower(c) {
            Some(Folded::One(letter)) => {
                plain.push(letter);
                wide.push(letter);
            }
            Some(Folded::Two(short, long)) => {
                plain.push_str(short);
                wide.push_str(long);
            }
            None if is_latin(c) => {
                for part in c.nfd().filter(|part| !is_mark(*part)) {
                    plain.push(part);
                    wide.push(part);
                }
            }
            None if is_mark(c) => {}
            None => {
                plain.push(c);
                wide.push(c);
            }
        }
    }
    (plain, wide)
}

/// Whether the character belongs to a script written without spaces between words.
pub fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '々' | '〆')
}

/// Joins words; a space is kept only where two numbers would run into one another.
pub fn join<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut key = String::new();
    for word in words {
        join_word(&mut key, word);
    }
    key
}

/// Adds a word to joined ones.
pub(crate) fn join_word(key: &mut String, word: &str) {
    if key.ends_with(|c: char| c.is_ascii_digit()) && word.starts_with(|c: char| c.is_ascii_digit()) {
        key.push(' ');
    }
    key.push_str(word);
}

/// A letter without its accent.
pub(crate) enum Folded {
    /// One letter.
    One(char),
    /// Written short and long (`ä` as `a` and `ae`).
    Two(&'static str, &'static str),
}

/// A lower-case letter without its accent; nothing for what is no such letter.
pub(crate) fn fold_lower(c: char) -> Option<Folded> {
    if c.is_ascii_lowercase() || is_unspaced(c) {
        return Some(Folded::One(c));
    }
    Some(match c {
        'ß' => Folded::Two("ss", "ss"),
        'ä' => Folded::Two("a", "ae"),
        'ö' => Folded::Two("o", "oe"),
        'ü' => Folded::Two("u", "ue"),
        'ø' => Folded::Two("o", "oe"),
        'å' => Folded::Two("a", "aa"),
        'æ' => Folded::Two("ae", "ae"),
        'œ' => Folded::Two("oe", "oe"),
        'þ' => Folded::Two("th", "th"),
        'á' | 'à' | 'â' | 'ã' | 'ā' | 'ă' | 'ą' => Folded::One('a'),
        'ç' | 'ć' | 'č' | 'ĉ' => Folded::One('c'),
        'đ' | 'ð' | 'ď' => Folded::One('d'),
        'é' | 'è' | 'ê' | 'ë' | 'ē' | 'ė' | 'ę' | 'ě' => Folded::One('e'),
        'ğ' | 'ĝ' => Folded::One('g'),
        'ħ' => Folded::One('h'),
        'ı' | 'í' | 'ì' | 'î' | 'ï' | 'ī' | 'į' => Folded::One('i'),
        'ł' | 'ľ' | 'ĺ' => Folded::One('l'),
        'ñ' | 'ń' | 'ň' => Folded::One('n'),
        'ó' | 'ò' | 'ô' | 'õ' | 'ō' | 'ő' => Folded::One('o'),
        'ř' | 'ŕ' => Folded::One('r'),
        'ś' | 'š' | 'ş' | 'ș' => Folded::One('s'),
        'ť' | 'ţ' | 'ț' => Folded::One('t'),
        'ú' | 'ù' | 'û' | 'ū' | 'ů' | 'ű' | 'ų' => Folded::One('u'),
        'ý' | 'ÿ' => Folded::One('y'),
        'ź' | 'ž' | 'ż' => Folded::One('z'),
        _ => return None,
    })
}

fn is_latin(c: char) -> bool {
    matches!(c, '\u{00c0}'..='\u{024f}' | '\u{1e00}'..='\u{1eff}')
}

fn is_mark(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036f}')
}

/// Byte order marks, zero-width characters, soft hyphens, direction marks.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}' | '\u{00ad}' | '\u{fe0f}')
}

/// Takes out brackets that hold nothing but units.
fn take_bracketed_units(text: &str, units: &mut Vec<String>) -> String {
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    while let Some(open) = rest.find(['(', '[', '{', '<']) {
        let closing = match rest.as_bytes()[open] {
            b'(' => ')',
            b'[' => ']',
            b'{' => '}',
            _ => '>',
        };
        let Some(length) = rest[open + 1..].find(closing) else { break };
        let inside = &rest[open + 1..open + 1 + length];
        kept.push_str(&rest[..open]);
        match units::in_brackets(inside) {
            Some(found) => {
                units.extend(found);
                kept.push(' ');
            }
            None => kept.push_str(&rest[open..open + length + 2]),
        }
        rest = &rest[open + length + 2..];
    }
    kept.push_str(rest);
    kept
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Unspaced,
    Other,
}

/// Splits at case, digits, acronyms and punctuation.
#[derive(Default)]
struct Words {
    list: Vec<String>,
    word: String,
}

impl Words {
    fn split(&mut self, text: &str, units: &mut Vec<String>) {
        let chars: Vec<char> = text.chars().collect();
        let mut before = Class::Other;
        for (at, &c) in chars.iter().enumerate() {
            let class = class_of(c);
            let next = chars.get(at + 1).map_or(Class::Other, |c| class_of(*c));
            if class == Class::Other {
                self.close();
                self.sign(c, &chars, at, units);
            } else if is_mark(c) {
                self.word.push(c);
                continue;
            } else {
                // `PULocation` is `PU`, `Location`; but the plural of an acronym, `IDs`, is one word.
                let plural = next == Class::Lower
                    && chars.get(at + 1) == Some(&'s')
                    && !matches!(chars.get(at + 2).map(|c| class_of(*c)), Some(Class::Lower));
                let new_word = match (before, class) {
                    (Class::Other, _) => false,
                    (Class::Lower, Class::Upper) => true,
                    (Class::Upper, Class::Upper) => next == Class::Lower && !plural,
                    (Class::Upper, Class::Lower) => false,
                    (one, other) => one != other,
                };
                if new_word {
                    self.close();
                }
                self.word.push(c);
            }
            before = class;
        }
        self.close();
    }

    /// Punctuation that says something.
    fn sign(&mut self, c: char, chars: &[char], at: usize, units: &mut Vec<String>) {
        let after_letter_or_digit = at > 0 && chars[at - 1].is_alphanumeric();
        match c {
            '#' => self.list.push("nr".to_owned()),
            '<' => self.list.push("lt".to_owned()),
            '>' => self.list.push("gt".to_owned()),
            '\u{2264}' => self.list.push("le".to_owned()),
            '\u{2265}' => self.list.push("ge".to_owned()),
            '&' if at > 0 && at + 1 < chars.len() => self.list.push("and".to_owned()),
            '+' if after_letter_or_digit && chars[at - 1].is_ascii_digit() => self.list.push("plus".to_owned()),
            _ => {
                if let Some(unit) = units::sign(c) {
                    units.push(unit.to_owned());
                }
            }
        }
    }

    fn close(&mut self) {
        if self.word.is_empty() {
            return;
        }
        self.list.push(std::mem::take(&mut self.word));
    }
}

fn class_of(c: char) -> Class {
    if c.is_ascii_digit() || c.is_numeric() {
        Class::Digit
    } else if is_unspaced(c) {
        Class::Unspaced
    } else if c.is_uppercase() {
        Class::Upper
    } else if c.is_alphabetic() || is_mark(c) {
        Class::Lower
    } else {
        Class::Other
    }
}

fn is_noise(words: &[String], at: usize) -> bool {
    let is = |position: usize, list: &[&str]| {
        words.get(position).is_some_and(|word| list.iter().any(|other| word.eq_ignore_ascii_case(other)))
    };
    let beside = |list: &[&str]| (at > 0 && is(at - 1, list)) || is(at + 1, list);
    let last = at + 1 == words.len();
    is(at, &["the", "of"])
        || ((at == 0 || last) && is(at, &["field", "column"]))
        || (is(at, &["nr", "no", "num", "number"]) && beside(&["id", "identifier", "uuid", "guid"]))
}

#[cfg(test)]
mod tests {
    use super::{Compared, same};

    #[test]
    fn a_compared_name_is_what_same_says() {
        let names = [
            "",
            " ",
            "amount",
            "Amount",
            "AMOUNT ",
            "amount (EUR)",
            "amount EUR",
            "net_amount",
            "netAmount",
            "Net Amount",
            "Größe",
            "grosse",
            "groesse",
            "€",
            "EUR",
            "%",
            "the field",
            "field",
            "nr",
            "2019",
            "2019-01",
            "20 19",
            "\u{feff}amount",
            "weight kg",
            "weight [kg]",
            "weight",
            "x1",
            "x 1",
            "12",
            "1 2",
            "ő",
            "o",
        ];
        for left in names {
            for right in names {
                assert_eq!(Compared::of(left).is(&Compared::of(right)), same(left, right), "{left:?} {right:?}");
            }
        }
    }
}
