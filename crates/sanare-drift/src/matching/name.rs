//! A name with what it means, prepared for being compared with many others.

use crate::lexicon::{EntryId, Kind as Word, Lexicon, Meaning, Reading, Role};
use crate::names::{self, Canonical};

/// A name with what it means.
pub(super) struct Name<'a> {
    pub text: &'a str,
    pub canonical: Canonical,
    /// Readings that say nothing about a field are left out.
    pub meaning: Meaning,
    /// Spellings of the whole name.
    keys: Vec<String>,
    /// Its words, sorted.
    words: Vec<String>,
    /// What each reading says, in an order of its own.
    signatures: Vec<Signature>,
}

/// What a reading says, whatever the order of its words.
#[derive(Debug, PartialEq, Eq)]
struct Signature {
    negated: bool,
    flag: bool,
    concepts: Vec<EntryId>,
    qualifiers: Vec<EntryId>,
    contexts: Vec<EntryId>,
}

impl<'a> Name<'a> {
    pub fn of(text: &'a str, lexicon: &Lexicon) -> Self {
        let canonical = names::canonical(text);
        let mut meaning = lexicon.meaning(&canonical);
        let mut signatures = Vec::new();
        meaning.readings.retain(|reading| match Signature::of(reading, lexicon) {
            Some(signature) => {
                signatures.push(signature);
                true
            }
            None => false,
        });
        let mut words = canonical.tokens.clone();
        words.sort_unstable();
        Self { text, keys: canonical.keys(), words, signatures, canonical, meaning }
    }

    /// What it says, if all readings say the same.
    pub fn role(&self, lexicon: &Lexicon) -> Option<Role> {
        let mut roles = self.meaning.readings.iter().map(|reading| lexicon.role(reading));
        let first = roles.next()??;
        (self.meaning.leftovers.is_empty() && roles.all(|role| role == Some(first))).then_some(first)
    }

    /// The path in front of the last part of a dotted name.
    pub fn parent(&self) -> Option<&str> {
        self.text.rsplit_once('.').map(|(parent, _)| parent)
    }

    /// Whether the words are equal under one way of writing accents; units alone are equal only to the same units.
    pub fn has_words_of(&self, other: &Self) -> bool {
        match (self.words.is_empty(), other.words.is_empty()) {
            (false, false) => self.keys.iter().any(|key| other.keys.contains(key)),
            (true, true) => !self.canonical.units.is_empty() && self.canonical.units == other.canonical.units,
            _ => false,
        }
    }

    /// Readings of both that say the same.
    pub fn agreeing<'b>(
        &'b self,
        other: &'b Self,
        lexicon: &'b Lexicon,
    ) -> impl Iterator<Item = (usize, usize)> + use<'a, 'b> {
        let pairs = (0..self.signatures.len()).flat_map(|one| (0..other.signatures.len()).map(move |two| (one, two)));
        pairs.filter(move |(one, two)| {
            self.signatures[*one] == other.signatures[*two]
                && order_agrees(&self.meaning.readings[*one], &other.meaning.readings[*two], lexicon)
        })
    }

    /// Whether the name is the other by its words or its meaning, units included.
    pub fn could_be(&self, other: &Self, lexicon: &Lexicon) -> bool {
        (self.has_words_of(other) && self.canonical.units == other.canonical.units)
            || (self.meaning.leftovers == other.meaning.leftovers
                && self.meaning.units == other.meaning.units
                && self.agreeing(other, lexicon).next().is_some())
    }

    /// Whether the two have the same words in another order (I5). Only general words and qualifiers may move.
    pub fn is_reordered(&self, other: &Self, lexicon: &Lexicon) -> bool {
        let (before, now) = (&self.canonical, &other.canonical);
        if before.tokens.len() < 2
            || self.words != other.words
            || before.tokens == now.tokens
            || before.units != now.units
        {
            return false;
        }
        fn part(tokens: &[String], takes: impl Fn(&str) -> bool) -> Vec<&str> {
            tokens.iter().map(String::as_str).filter(|token| takes(token)).collect()
        }
        let fixed = |tokens| part(tokens, |token| !moves(token, lexicon));
        let heads = |tokens| part(tokens, |token| is_head(token, lexicon));
        let senses = before.tokens.iter().flat_map(|token| lexicon.senses(token));
        let entries: Vec<EntryId> = senses.map(|sense| sense.entry).collect();
        let relates = entries.iter().any(|id| lexicon.entry(*id).relation);
        let qualifiers: Vec<EntryId> =
            entries.into_iter().filter(|id| lexicon.entry(*id).kind == Word::Qualifier).collect();
        let (fixed_before, heads_before) = (fixed(&before.tokens), heads(&before.tokens));
        let attaches = !qualifiers.is_empty() && (heads_before.len() > 1 || fixed_before.len() > 1);
        (before.tokens.len() == 2 || !relates)
            && !attaches
            && !exclude_one_another(&qualifiers, lexicon)
            && fixed_before == fixed(&now.tokens)
            && heads_before == heads(&now.tokens)
    }
}

impl Signature {
    fn of(reading: &Reading, lexicon: &Lexicon) -> Option<Self> {
        let says_something =
            !reading.concepts.is_empty() || reading.qualifiers.iter().any(|id| lexicon.entry(*id).role.is_some());
        says_something.then(|| Self {
            negated: reading.negated,
            flag: reading.flag || lexicon.role(reading) == Some(Role::Flag),
            concepts: sorted(&reading.concepts),
            qualifiers: sorted(&reading.qualifiers),
            contexts: sorted(&reading.contexts),
        })
    }
}

/// General words may stand before or after; the others keep their order among themselves, and so do the general ones.
/// Where a qualifier could belong to one concept or another, or excludes another, the order must be the same.
fn order_agrees(one: &Reading, other: &Reading, lexicon: &Lexicon) -> bool {
    if one.sequence == other.sequence {
        return true;
    }
    let split = |reading: &Reading, head: bool| -> Vec<EntryId> {
        reading.concepts.iter().copied().filter(|id| lexicon.entry(*id).head == head).collect()
    };
    let fixed = |reading: &Reading| -> Vec<EntryId> {
        reading.sequence.iter().copied().filter(|id| !lexicon.entry(*id).head).collect()
    };
    let relates = one.sequence.len() > 2 && one.sequence.iter().any(|id| lexicon.entry(*id).relation);
    let (heads, others) = (split(one, true), split(one, false));
    let attaches = !one.qualifiers.is_empty() && (heads.len() > 1 || others.len() > 1);
    !relates
        && !exclude_one_another(&one.qualifiers, lexicon)
        && heads == split(other, true)
        && others == split(other, false)
        && (!attaches || (heads.len() < 2 && fixed(one) == fixed(other)))
}

/// Whether two of the qualifiers exclude one another.
fn exclude_one_another(list: &[EntryId], lexicon: &Lexicon) -> bool {
    list.iter().enumerate().any(|(at, left)| list[at + 1..].iter().any(|right| lexicon.are_opposite(*left, *right)))
}

/// Whether a word may stand anywhere in a name: a general word or a qualifier, in every sense it has.
fn moves(token: &str, lexicon: &Lexicon) -> bool {
    let senses = lexicon.senses(token);
    let movable = |entry: &crate::lexicon::Entry| entry.head || entry.kind == Word::Qualifier;
    !senses.is_empty() && senses.iter().all(|sense| movable(lexicon.entry(sense.entry)))
}

fn is_head(token: &str, lexicon: &Lexicon) -> bool {
    lexicon.senses(token).iter().any(|sense| lexicon.entry(sense.entry).head)
}

fn sorted(list: &[EntryId]) -> Vec<EntryId> {
    let mut list = list.to_vec();
    list.sort_unstable();
    list
}
