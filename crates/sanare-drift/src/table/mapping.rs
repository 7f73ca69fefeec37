//! Which expected column is which seen column of a table, and which are missing.

use super::{Tables, View};
use crate::code::table_reads::Key;
use crate::lockfile::Entry;
use crate::matching::{Expected, MatchContext, Seen, match_fields};
use crate::problem::{Frame, Mapping, Problem, Refusal};
use crate::profile::Profile;
use crate::shape::TableShape;
use sanare_core::outcome::Reason;
use sanare_core::value::Value;

impl<'a> Tables<'a> {
    /// Names that the code needs and that the header does not have, aliases of earlier layers counted in.
    pub fn missing(&self, problem: &Problem, at: usize, view: &View) -> Vec<String> {
        let mut missing = Vec::new();
        for name in self.needed(at, view.remembered) {
            let alias =
                self.reads.aliases.iter().any(|(expected, seen)| *expected == name && view.place(seen).is_some());
            if view.place(&name).is_none() && !alias && !in_locals(&problem.failure.frames, &name) {
                missing.push(name);
            }
        }
        missing
    }

    /// Names that the code needs: those it reads, by name, without asking; those it asks for count if remembered.
    pub fn needed(&self, at: usize, table: Option<&TableShape>) -> Vec<String> {
        let remembered = |name: &str| table.is_some_and(|table| table.columns.iter().any(|(column, _)| column == name));
        let mut needed: Vec<String> = Vec::new();
        for name in self.reads.names(at) {
            if !self.reads.is_optional(at, name) || remembered(name) {
                needed.push(name.to_owned());
            }
        }
        needed
    }

    /// The expected fields of a table: those remembered in their order, then what else the code reads.
    pub fn expected(&self, at: usize, table: Option<&TableShape>) -> Vec<Expected> {
        let needed = self.needed(at, table);
        let mut expected: Vec<Expected> = Vec::new();
        for (position, (column, profile)) in table.iter().flat_map(|table| table.columns.iter()).enumerate() {
            // What an earlier layer takes for a name is that name's column, not another one.
            let has = |name: &String| table.is_some_and(|table| table.columns.iter().any(|(other, _)| other == name));
            let known_as = self.reads.aliases.iter().find(|(known, seen)| seen == column && !has(known));
            let name = known_as.map_or(column, |(known, _)| known);
            if known_as.is_some() && expected.iter().any(|field| field.name == *name) {
                continue;
            }
            expected.push(Expected {
                name: name.clone(),
                needed: needed.contains(name) || self.reads_place(at, position),
                profile: Some(profile.clone()),
                position: Some(position),
                implied_type: self.implied(at, &Key::Name(name.clone())),
            });
        }
        for name in needed {
            if !expected.iter().any(|field| field.name == name) {
                let implied_type = self.implied(at, &Key::Name(name.clone()));
                expected.push(Expected { name, needed: true, implied_type, ..Expected::default() });
            }
        }
        expected
    }

    fn reads_place(&self, at: usize, place: usize) -> bool {
        let place = i64::try_from(place).unwrap_or(i64::MAX);
        self.reads.of(at, &Key::At(place)).next().is_some()
    }

    /// The type that the code's conversions imply for a column.
    pub fn implied(&self, at: usize, key: &Key) -> Option<crate::matching::ImpliedType> {
        self.reads.of(at, key).flat_map(|read| self.code.uses(read)).find_map(|one| one.implied())
    }

    /// The fields that the data has.
    pub fn seen(view: &View) -> Vec<Seen> {
        let named = view.header.iter().enumerate().filter(|(_, name)| !name.trim().is_empty());
        named
            .map(|(position, name)| Seen { name: name.clone(), profile: profile_of(view, position), position })
            .collect()
    }

    /// Maps every missing field.
    ///
    /// # Errors
    /// A refusal with the reasoning.
    pub fn map(&self, at: usize, view: &View) -> Result<Vec<Mapping>, Refusal> {
        let expected = self.expected(at, view.remembered);
        let seen = Self::seen(view);
        let needed: Vec<&Expected> = expected.iter().filter(|field| field.needed).collect();
        for field in &needed {
            if view.header.iter().filter(|name| **name == field.name).count() > 1 {
                return Err(refusal(Reason::Ambiguous, format!("the header names `{}` more than once", field.name)));
            }
        }
        let count = if view.remembered.is_some() { expected.len() } else { needed.len() };
        let closed_record = count == view.header.len();
        let accepted = accepted(&self.accepted, &seen, &needed)?;
        let context = MatchContext {
            lexicon: self.words.lexicon(),
            contract_aliases: self.words.aliases(),
            lockfile: &accepted,
            closed_record,
        };
        let mappings = match_fields(&expected, &seen, &context)?;
        for mapping in &mappings {
            if view.header.iter().filter(|name| **name == mapping.seen).count() > 1 {
                return Err(refusal(Reason::Ambiguous, format!("the header names `{}` more than once", mapping.seen)));
            }
        }
        Ok(mappings.into_iter().filter(|mapping| mapping.expected != mapping.seen).collect())
    }
}

/// The lockfile's mappings of missing fields to columns that are there (I2).
///
/// # Errors
/// A refusal when the values are no longer what the mapping was accepted on.
fn accepted(entries: &[Entry], seen: &[Seen], needed: &[&Expected]) -> Result<Vec<Mapping>, Refusal> {
    let mut mappings = Vec::new();
    for entry in entries {
        let there = |name: &str| seen.iter().any(|field| field.name == name);
        let Some(field) = seen.iter().find(|field| field.name == entry.seen) else { continue };
        if there(&entry.expected) || !needed.iter().any(|field| field.name == entry.expected) {
            continue;
        }
        match entry.mapping(&field.profile) {
            Ok(mapping) => mappings.push(mapping),
            Err(why) => return Err(refusal(Reason::ScaleOrUnit, why)),
        }
    }
    Ok(mappings)
}

/// The profile of a column.
pub fn profile_of(view: &View, place: usize) -> Profile {
    let all_text = view.column(place).all(|cell| cell.as_text().is_some());
    if all_text { Profile::of_texts(view.texts(place)) } else { Profile::of_values(view.column(place)) }
}

/// A refusal without candidates.
pub fn refusal(reason: Reason, summary: String) -> Refusal {
    Refusal { reason, summary, fields: Vec::new(), hint: String::new() }
}

/// Whether a mapping in a frame at the failure has this key: then the code made it, by changing names itself.
fn in_locals(frames: &[Frame], name: &str) -> bool {
    frames.iter().flat_map(|frame| frame.locals.iter()).any(|(local, value)| {
        (local.starts_with("row") || local.starts_with("rec") || local == "r")
            && matches!(value, Value::Map(entries) if entries.iter().any(|(key, _)| key == name))
    })
}
