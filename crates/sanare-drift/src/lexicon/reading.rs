//! Reading a canonical name into what it means.

use super::{COMPOUNDING, EntryId, Kind, Lexicon, Role, Sense};
use crate::names::{Canonical, is_unspaced, join_word};
use crate::values::units;

/// What a name means, as far as the lexicon knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meaning {
    /// The ways to read it; more than one where a term is marked. Empty when no term was known.
    pub readings: Vec<Reading>,
    /// Words that no entry explains, in order.
    pub leftovers: Vec<String>,
    /// Units: those in brackets, then those that are words, in order.
    pub units: Vec<String>,
}

/// One way to read a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Concepts, in order.
    pub concepts: Vec<EntryId>,
    /// Qualifiers, in order.
    pub qualifiers: Vec<EntryId>,
    /// Words that say only that this was recorded.
    pub contexts: Vec<EntryId>,
    /// Everything above in the order of the name.
    pub sequence: Vec<EntryId>,
    /// Whether it is turned round (V2).
    pub negated: bool,
    /// Whether it is said to be a truth value (`is_…`).
    pub flag: bool,
    /// Languages in which it can be read so.
    pub languages: u32,
    /// Whether a term in it means something else as well.
    pub marked: bool,
    /// Whether a term in it comes from the owner.
    pub owner: bool,
}

/// A name gives at most so many readings; with more it is taken for unknown.
const MOST_READINGS: usize = 8;

/// Words between two known words that carry no meaning there (`fecha de pedido`).
const LINKS: &[&str] = &[
    "de", "du", "des", "d", "del", "della", "dello", "dei", "delle", "degli", "di", "do", "da", "dos", "das", "der",
    "dem", "den", "van", "von", "vom", "het", "el", "la", "le", "les", "los", "las", "lo", "il", "l", "al", "az", "a",
    "s", "for", "av", "och", "の", "的",
];

enum Piece<'a> {
    Known(Vec<&'a [Sense]>),
    Unit(&'static str),
    Unknown(&'a str),
}

impl Lexicon {
    /// What a name means.
    pub fn meaning(&self, name: &Canonical) -> Meaning {
        let pieces = self.pieces(name);
        let mut meaning = Meaning { units: name.units.clone(), readings: vec![Reading::new()], ..Meaning::default() };
        let mut known = false;
        let between = |at: usize| {
            matches!(pieces.get(at.wrapping_sub(1)), Some(Piece::Known(_)))
                && matches!(pieces.get(at + 1), Some(Piece::Known(_)))
        };
        for (at, piece) in pieces.iter().enumerate() {
            match piece {
                Piece::Known(list) => {
                    known = true;
                    for senses in list {
                        meaning.readings = self.extend(&meaning.readings, senses);
                    }
                }
                Piece::Unit(unit) if meaning.units.iter().any(|other| other == unit) => {}
                Piece::Unit(unit) => meaning.units.push((*unit).to_owned()),
                Piece::Unknown(word) if LINKS.contains(word) && between(at) => {}
                Piece::Unknown(word) => meaning.leftovers.push((*word).to_owned()),
            }
        }
        if !known || meaning.readings.len() > MOST_READINGS {
            meaning.readings.clear();
        }
        self.prefer_one_language(&mut meaning.readings);
        if let [only] = meaning.readings.as_mut_slice()
            && pieces.len() > 1
        {
            // What a term with one meaning leaves open alone, the rest of the name settles.
            only.marked = false;
        }
        meaning
    }

    /// What a reading says, by its main word.
    pub fn role(&self, reading: &Reading) -> Option<Role> {
        if reading.flag {
            return Some(Role::Flag);
        }
        let heads = || reading.concepts.iter().filter(|id| self.entry(**id).head);
        let main = heads().next_back().or_else(|| reading.concepts.last());
        match main {
            Some(main) => self.entry(*main).role,
            None => reading.qualifiers.iter().rev().find_map(|id| self.entry(*id).role),
        }
    }

    /// Entries of a reading as people read them: `order date + first`.
    pub fn describe(&self, reading: &Reading) -> String {
        let words: Vec<&str> = reading.sequence.iter().map(|id| self.entry(*id).id.as_str()).collect();
        words.join(" ")
    }

    fn pieces<'a>(&'a self, name: &'a Canonical) -> Vec<Piece<'a>> {
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < name.tokens.len() {
            if let Some((senses, length)) = self.longest_term(name, at) {
                pieces.push(Piece::Known(vec![senses]));
                at += length;
                continue;
            }
            let token = name.tokens[at].as_str();
            pieces.push(if let Some(unit) = units::word(token).filter(|_| at > 0) {
                Piece::Unit(unit)
            } else if let Some(parts) = self.take_apart(name, at) {
                Piece::Known(parts)
            } else {
                Piece::Unknown(token)
            });
            at += 1;
        }
        pieces
    }

    fn longest_term<'a>(&'a self, name: &Canonical, at: usize) -> Option<(&'a [Sense], usize)> {
        let most = self.longest.min(name.tokens.len() - at);
        let words = &name.tokens[at..at + most];
        let spellings = &name.spellings[at..at + most];
        let plain = self.longest_key(words.iter().map(String::as_str));
        if spellings.iter().all(Vec::is_empty) {
            return plain;
        }
        let wide = words.iter().zip(spellings).map(|(word, others)| others.first().unwrap_or(word).as_str());
        match (plain, self.longest_key(wide)) {
            (Some(plain), Some(wide)) if wide.1 > plain.1 => Some(wide),
            (None, wide) => wide,
            (plain, _) => plain,
        }
    }

    /// The longest term that begins a list of words, and how many words it has.
    fn longest_key<'a, 'w>(&'a self, words: impl Iterator<Item = &'w str>) -> Option<(&'a [Sense], usize)> {
        let mut key = String::with_capacity(48);
        let mut ends = [0_usize; 16];
        let mut count = 0;
        for word in words.take(ends.len()) {
            join_word(&mut key, word);
            ends[count] = key.len();
            count += 1;
        }
        ends[..count].iter().enumerate().rev().find_map(|(at, end)| {
            let senses = self.senses(&key[..*end]);
            (!senses.is_empty()).then_some((senses, at + 1))
        })
    }

    /// Takes a word apart that is several known words written together (`rechnungsbetrag`, `注文番号`).
    fn take_apart<'a>(&'a self, name: &Canonical, at: usize) -> Option<Vec<&'a [Sense]>> {
        let token = name.tokens[at].as_str();
        if token.starts_with(is_unspaced) {
            return self.segment(token);
        }
        let spellings = std::iter::once(token).chain(name.spellings[at].iter().map(String::as_str));
        let mut found: Option<Vec<&'a [Sense]>> = None;
        for spelling in spellings {
            for cut in 4..spelling.len().saturating_sub(3) {
                if !spelling.is_char_boundary(cut) {
                    continue;
                }
                let (left, right) = spelling.split_at(cut);
                let right = self.senses(right);
                if !compounds(right) {
                    continue;
                }
                let left = [
                    left.strip_suffix('s'),
                    left.strip_suffix('n'),
                    left.strip_suffix("en"),
                    left.strip_suffix("es"),
                    Some(left),
                ]
                .into_iter()
                .flatten()
                .filter(|left| left.len() >= 4)
                .map(|left| self.senses(left))
                .find(|left| compounds(left) && left[0].languages & right[0].languages & COMPOUNDING != 0);
                let Some(left) = left else { continue };
                if found.as_ref().is_some_and(|other| *other != [left, right]) {
                    return None;
                }
                found = Some(vec![left, right]);
            }
        }
        found
    }

    /// Cuts text without spaces into known terms, longest first; every character must be explained.
    fn segment<'a>(&'a self, token: &str) -> Option<Vec<&'a [Sense]>> {
        let mut parts = Vec::new();
        let mut rest = token;
        while !rest.is_empty() {
            if !parts.is_empty()
                && let Some(after) = rest.strip_prefix(['の', '的'])
            {
                rest = after;
                continue;
            }
            let ends: Vec<usize> = rest.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
            let (senses, end) = ends.iter().rev().find_map(|end| {
                let senses = self.senses(&rest[..*end]);
                (!senses.is_empty()).then_some((senses, *end))
            })?;
            parts.push(senses);
            rest = &rest[end..];
        }
        (!parts.is_empty()).then_some(parts)
    }

    fn extend(&self, readings: &[Reading], senses: &[Sense]) -> Vec<Reading> {
        let mut longer = Vec::new();
        for reading in readings {
            for sense in senses {
                let mut reading = reading.clone();
                reading.languages &= sense.languages;
                reading.marked |= sense.marked;
                reading.owner |= sense.owner;
                for part in &self.entry(sense.entry).parts {
                    match self.entry(*part).kind {
                        Kind::Concept => reading.concepts.push(*part),
                        Kind::Qualifier => reading.qualifiers.push(*part),
                        Kind::Context => reading.contexts.push(*part),
                        Kind::Negation => {
                            reading.negated = !reading.negated;
                            continue;
                        }
                        Kind::Marker => {
                            reading.flag = true;
                            continue;
                        }
                    }
                    reading.sequence.push(*part);
                }
                longer.push(reading);
            }
            if longer.len() > MOST_READINGS {
                break;
            }
        }
        longer
    }

    /// Where the name's own words settle a marked one: readings that no single language allows are dropped if others
    /// are left.
    fn prefer_one_language(&self, readings: &mut Vec<Reading>) {
        if readings.len() > 1 && readings.iter().any(|reading| reading.languages != 0) {
            readings.retain(|reading| reading.languages != 0);
        }
    }
}

/// Whether a term may be part of a compound: one meaning, in a language that joins words.
fn compounds(senses: &[Sense]) -> bool {
    matches!(senses, [one] if one.languages & COMPOUNDING != 0 && !one.marked)
}

impl Reading {
    fn new() -> Self {
        Self { languages: super::ANY_LANGUAGE, ..Self::default() }
    }
}
