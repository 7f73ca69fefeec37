//! The form of a lexicon file, and reading it.
//!
//! ```toml
//! [concept.booking_date]
//! role = "date"                    # identifier name code quantity money rate date flag place measure text
//! parts = ["booking", "date"]      # what it is made of, in English order; left out for a plain concept
//! head = true                      # a general word that may stand before or after what it tells of
//! relation = true                  # relates what stands before to what stands after (`per`, `to`)
//! near = ["posting_date"]          # may stand for one another in a closed record (I8)
//! opposites = ["value_date"]
//! yes = ["Buchungstag"]            # names that mean exactly this
//! no = ["Value Date"]              # names that look like it and do not
//! abbr = "bookdt"                  # in any language
//! en = "booking date, ~posting"    # terms; `~` marks one that means something else as well
//! de = "buchungstag"
//! ```
//!
//! Beside `concept` there are `qualifier`, `negation`, `context` and `marker`. Terms are in lower case; spellings
//! without accents follow by themselves.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{ANY_LANGUAGE, Entry, EntryId, Kind, LANGUAGES, Lexicon, Role, Sense, Unreadable};
use crate::names;

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct File {
    concept: BTreeMap<String, Record>,
    qualifier: BTreeMap<String, Record>,
    negation: BTreeMap<String, Record>,
    context: BTreeMap<String, Record>,
    marker: BTreeMap<String, Record>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Record {
    role: Option<Role>,
    head: bool,
    relation: bool,
    parts: Vec<String>,
    near: Vec<String>,
    opposites: Vec<String>,
    yes: Vec<String>,
    no: Vec<String>,
    abbr: String,
    en: String,
    de: String,
    fr: String,
    es: String,
    it: String,
    pt: String,
    nl: String,
    pl: String,
    cs: String,
    hu: String,
    ro: String,
    sv: String,
    tr: String,
    ja: String,
    zh: String,
}

impl Record {
    /// The lists of terms, in the order of [`LANGUAGES`].
    fn terms(&self) -> [&str; LANGUAGES.len()] {
        [
            &self.en, &self.de, &self.fr, &self.es, &self.it, &self.pt, &self.nl, &self.pl, &self.cs, &self.hu,
            &self.ro, &self.sv, &self.tr, &self.ja, &self.zh,
        ]
    }
}

pub(super) fn read(texts: &[(&str, &str, bool)]) -> Result<Lexicon, Unreadable> {
    let mut files = Vec::new();
    for (name, text, owner) in texts {
        let file: File = toml::from_str(text)
            .map_err(|error| Unreadable { message: format!("lexicon file {name}: {}", error.message()) })?;
        files.push((*name, file, *owner));
    }
    let mut lexicon = Lexicon::default();
    let mut records: Vec<(EntryId, &Record, bool)> = Vec::new();
    for (name, file, owner) in &files {
        let groups = [
            (Kind::Concept, &file.concept),
            (Kind::Qualifier, &file.qualifier),
            (Kind::Negation, &file.negation),
            (Kind::Context, &file.context),
            (Kind::Marker, &file.marker),
        ];
        for (kind, group) in groups {
            for (id, record) in group {
                let number = lexicon
                    .declare(id, kind, record, *owner)
                    .map_err(|message| Unreadable { message: format!("lexicon file {name}: {message}") })?;
                records.push((number, record, *owner));
            }
        }
    }
    lexicon.link(&records)?;
    for (number, record, owner) in &records {
        lexicon.add_terms(*number, record, *owner);
    }
    Ok(lexicon)
}

impl Lexicon {
    fn declare(&mut self, id: &str, kind: Kind, record: &Record, owner: bool) -> Result<EntryId, String> {
        if let Some(number) = self.find(id) {
            // The owner may add terms to an entry that is there.
            return if owner { Ok(number) } else { Err(format!("`{id}` is declared twice")) };
        }
        let number = EntryId::try_from(self.entries.len()).map_err(|_| "too many entries".to_owned())?;
        self.entries.push(Entry {
            id: id.to_owned(),
            kind,
            role: record.role,
            head: record.head,
            relation: record.relation,
            parts: Vec::new(),
            near: Vec::new(),
            opposites: Vec::new(),
            examples: record.yes.clone(),
            counterexamples: record.no.clone(),
        });
        self.ids.insert(id.to_owned(), number);
        Ok(number)
    }

    fn link(&mut self, records: &[(EntryId, &Record, bool)]) -> Result<(), Unreadable> {
        for (number, record, _) in records {
            let resolve = |lexicon: &Self, list: &[String]| -> Result<Vec<EntryId>, Unreadable> {
                list.iter()
                    .map(|id| {
                        lexicon.find(id).ok_or_else(|| Unreadable {
                            message: format!(
                                "lexicon entry `{}` names `{id}`, which is no entry",
                                lexicon.entry(*number).id
                            ),
                        })
                    })
                    .collect()
            };
            let (parts, near, opposites) =
                (resolve(self, &record.parts)?, resolve(self, &record.near)?, resolve(self, &record.opposites)?);
            let entry = &mut self.entries[usize::from(*number)];
            entry.near.extend(near);
            entry.opposites.extend(opposites);
            if entry.parts.is_empty() {
                entry.parts = parts;
            }
        }
        // Parts of parts, so that a reading holds plain entries only.
        for number in 0..self.entries.len() {
            let plain = self.plain_parts(number as EntryId, 0)?;
            self.entries[number].parts = plain;
        }
        Ok(())
    }

    fn plain_parts(&self, number: EntryId, depth: usize) -> Result<Vec<EntryId>, Unreadable> {
        let entry = self.entry(number);
        if entry.parts.is_empty() || entry.parts == [number] {
            return Ok(vec![number]);
        }
        if depth > 4 {
            return Err(Unreadable { message: format!("lexicon entry `{}` is part of itself", entry.id) });
        }
        let mut plain = Vec::new();
        for part in &entry.parts {
            plain.extend(self.plain_parts(*part, depth + 1)?);
        }
        Ok(plain)
    }

    fn add_terms(&mut self, number: EntryId, record: &Record, owner: bool) {
        for (bit, list) in record.terms().into_iter().enumerate() {
            self.add_list(number, list, 1 << bit, owner);
        }
        self.add_list(number, &record.abbr, ANY_LANGUAGE, owner);
    }

    fn add_list(&mut self, number: EntryId, list: &str, languages: u32, owner: bool) {
        for term in list.split(',') {
            let term = term.trim();
            let (marked, term) = term.strip_prefix('~').map_or((false, term), |term| (true, term));
            if term.is_empty() {
                continue;
            }
            let sense = Sense { entry: number, languages, marked, owner };
            if term.bytes().all(|b| b.is_ascii_lowercase()) {
                self.add_term(term, 1, sense);
                continue;
            }
            let canonical = names::canonical(term);
            for key in canonical.keys() {
                self.add_term(&key, canonical.tokens.len(), sense);
            }
        }
    }

    fn add_term(&mut self, key: &str, words: usize, sense: Sense) {
        self.longest = self.longest.max(words);
        let senses = match self.terms.get_mut(key) {
            Some(senses) => senses,
            None => self.terms.entry(key.into()).or_default(),
        };
        if sense.owner && senses.iter().any(|other| !other.owner) {
            // The owner's word counts more than ours.
            senses.clear();
        }
        match senses.iter_mut().find(|other| other.entry == sense.entry) {
            Some(other) => {
                other.languages |= sense.languages;
                other.marked |= sense.marked;
            }
            None => senses.push(sense),
        }
    }
}
