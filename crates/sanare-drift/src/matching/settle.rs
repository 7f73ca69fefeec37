//! Which meaning of a marked term counts: the other headers of its side must settle language and role (C67).

use super::name::Name;
use crate::lexicon::{ANY_LANGUAGE, LANGUAGES, Lexicon, Role};
use crate::profile::{Kind, Profile};

/// The languages of a side of names.
pub(super) struct Languages<'a> {
    names: Vec<(&'a str, u32)>,
}

impl<'a> Languages<'a> {
    /// Counts only names with one reading and a language of its own.
    pub fn of(names: &'a [Name<'a>]) -> Self {
        let list = names.iter().filter_map(|name| match name.meaning.readings.as_slice() {
            [one] if !one.marked && one.languages != 0 && one.languages != ANY_LANGUAGE => {
                Some((name.text, one.languages))
            }
            _ => None,
        });
        Self { names: list.collect() }
    }

    /// The languages that most of the other names are in; nothing if too few say so.
    ///
    /// One name is enough if it is mapped, else two are needed.
    pub fn settled(&self, except: &str, mapped: &[&str]) -> u32 {
        let others = self.names.iter().filter(|(name, _)| *name != except);
        let mut counts = [0_usize; LANGUAGES.len()];
        let mut with_mapped = 0_u32;
        for (name, languages) in others {
            for (bit, count) in counts.iter_mut().enumerate() {
                *count += usize::from(languages & 1 << bit != 0);
            }
            if mapped.contains(name) {
                with_mapped |= languages;
            }
        }
        let most = counts.iter().copied().max().unwrap_or(0);
        let mut settled = 0;
        for (bit, count) in counts.iter().enumerate() {
            if *count == most && most > 0 && (most > 1 || with_mapped & 1 << bit != 0) {
                settled |= 1 << bit;
            }
        }
        settled
    }
}

/// Whether the reading at `at` is the one that counts for the name, in these languages and for these values.
pub(super) fn counts(name: &Name, at: usize, languages: u32, values: Option<&Profile>, lexicon: &Lexicon) -> bool {
    let fits = |reading| match (lexicon.role(reading), values.map(Profile::kind)) {
        (Some(Role::Date), Some(kind)) => {
            matches!(kind, Kind::Date | Kind::Empty) || values.is_some_and(Profile::may_be_date)
        }
        (Some(Role::Money | Role::Quantity | Role::Rate), Some(kind)) => matches!(kind, Kind::Number | Kind::Empty),
        (Some(Role::Name | Role::Text), Some(kind)) => matches!(kind, Kind::Text | Kind::Empty),
        _ => true,
    };
    name.meaning.readings.iter().enumerate().all(|(other, reading)| {
        let possible = reading.languages & languages != 0;
        if other == at { possible && fits(reading) } else { !possible }
    })
}
