//! One word came to every name, or left every name: `amount` and `date` are now `order_amount` and `order_date`.
//!
//! A single such pair proves nothing. Two or more, with the same word at one side of all of them, do; a word that
//! changes the meaning of a name (a qualifier, a negation, a unit) never does.

use std::collections::BTreeMap;

use super::name::Name;
use crate::lexicon::{Kind, Lexicon};

/// A pair of an expected and a seen name, and the words between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub expected: usize,
    pub seen: usize,
    pub words: String,
    pub added: bool,
}

/// Pairs that differ by one word or run of words, the same for all of them.
pub(super) fn pairs(
    expected: &[Name],
    missing: &[usize],
    seen: &[Name],
    open: &[usize],
    lexicon: &Lexicon,
) -> Vec<Pair> {
    let mut groups: BTreeMap<(String, bool), Vec<Pair>> = BTreeMap::new();
    for &at in missing {
        for &other in open {
            let (before, now) = (&expected[at].canonical, &seen[other].canonical);
            if before.units != now.units {
                continue;
            }
            for (short, long, added) in [(&before.tokens, &now.tokens, true), (&now.tokens, &before.tokens, false)] {
                let Some(run) = surplus(short, long) else { continue };
                if run.iter().any(|word| changes_meaning(word, lexicon)) {
                    continue;
                }
                let words = run.join(" ");
                let pair = Pair { expected: at, seen: other, words: words.clone(), added };
                groups.entry((words, added)).or_default().push(pair);
            }
        }
    }
    groups.retain(|_, pairs| {
        let alone = |side: fn(&Pair) -> usize| {
            pairs.iter().all(|pair| pairs.iter().filter(|other| side(other) == side(pair)).count() == 1)
        };
        pairs.len() >= 2 && alone(|pair| pair.expected) && alone(|pair| pair.seen)
    });
    let all: Vec<Pair> = groups.into_values().flatten().collect();
    // A name that another rule pairs as well is not settled by either.
    let once = |pair: &Pair| {
        all.iter().filter(|other| other.expected == pair.expected || other.seen == pair.seen).count() == 1
    };
    let rivals =
        |pair: &Pair| open.iter().any(|other| *other != pair.seen && holds(&seen[*other], &expected[pair.expected]));
    all.iter().filter(|pair| once(pair) && !rivals(pair)).cloned().collect()
}

/// The run of words that the longer name has in front of, inside or behind the shorter one.
fn surplus<'n>(short: &[String], long: &'n [String]) -> Option<&'n [String]> {
    let more = long.len().checked_sub(short.len()).filter(|more| *more > 0 && !short.is_empty())?;
    let head = short.iter().zip(long).take_while(|(one, other)| one == other).count();
    let rest = long.get(head + more..)?;
    (short.get(head..)? == rest).then(|| long.get(head..head + more))?
}

/// Whether a name has all the words of another, in order.
fn holds(name: &Name, other: &Name) -> bool {
    let mut words = name.canonical.tokens.iter();
    other.canonical.tokens.iter().all(|wanted| words.any(|word| word == wanted))
}

/// Whether a word says which of several such fields is meant, or is not known to be harmless.
fn changes_meaning(word: &str, lexicon: &Lexicon) -> bool {
    let senses = lexicon.senses(word);
    word.len() < 2
        || word.chars().any(|letter| letter.is_ascii_digit())
        || senses.iter().any(|sense| lexicon.entry(sense.entry).kind != Kind::Concept)
        || crate::values::units::word(word).is_some()
        || crate::values::units::currency(word).is_some()
}
