//! The form of a lexicon file, and making a lexicon of such files.
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

use super::index::Index;
use super::{ANY_LANGUAGE, Entry, EntryId, Kind, LANGUAGES, Lexicon, Role, Sense, Unreadable, lines};
use crate::names;

/// The tables of a file.
pub(super) const GROUPS: [(&str, Kind); 5] = [
    ("concept", Kind::Concept),
    ("qualifier", Kind::Qualifier),
    ("negation", Kind::Negation),
    ("context", Kind::Context),
    ("marker", Kind::Marker),
];

/// The keys of term lists: languages, in the order of their bits.
pub(super) const KEYS: [&str; LANGUAGES.len()] = LANGUAGES;

/// An entry as written.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Record<'a> {
    pub role: Option<Role>,
    pub head: bool,
    pub relation: bool,
    pub parts: Vec<&'a str>,
    pub near: Vec<&'a str>,
    pub opposites: Vec<&'a str>,
    pub yes: Vec<&'a str>,
    pub no: Vec<&'a str>,
    /// Lists of terms by language, abbreviations last.
    pub terms: [&'a str; LANGUAGES.len() + 1],
}

/// An owner's file.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    concept: BTreeMap<String, Written>,
    qualifier: BTreeMap<String, Written>,
    negation: BTreeMap<String, Written>,
    context: BTreeMap<String, Written>,
    marker: BTreeMap<String, Written>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Written {
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

impl File {
    /// Its records in the order of [`GROUPS`].
    pub fn records(&self) -> Vec<(Kind, &str, Record<'_>)> {
        let groups = [&self.concept, &self.qualifier, &self.negation, &self.context, &self.marker];
        let mut records = Vec::new();
        for ((_, kind), group) in GROUPS.iter().zip(groups) {
            records.extend(group.iter().map(|(id, written)| (*kind, id.as_str(), written.record())));
        }
        records
    }
}

impl Written {
    fn record(&self) -> Record<'_> {
        fn texts(list: &[String]) -> Vec<&str> {
            list.iter().map(String::as_str).collect()
        }
        Record {
            role: self.role,
            head: self.head,
            relation: self.relation,
            parts: texts(&self.parts),
            near: texts(&self.near),
            opposites: texts(&self.opposites),
            yes: texts(&self.yes),
            no: texts(&self.no),
            terms: [
                &self.en, &self.de, &self.fr, &self.es, &self.it, &self.pt, &self.nl, &self.pl, &self.cs, &self.hu,
                &self.ro, &self.sv, &self.tr, &self.ja, &self.zh, &self.abbr,
            ],
        }
    }
}

/// Makes a lexicon of the standard files and the owner's.
pub(super) fn read(standard: &[(&str, &str)], owner: &[&str]) -> Result<Lexicon, Unreadable> {
    let unreadable = |name: &str, message: &str| Unreadable { message: format!("lexicon file {name}: {message}") };
    let mut files: Vec<File> = Vec::new();
    for text in owner {
        files.push(toml::from_str(text).map_err(|error| unreadable("of the owner", error.message()))?);
    }
    let mut lists = Vec::new();
    for (name, text) in standard {
        lists.push((*name, lines::read(text).map_err(|message| unreadable(name, &message))?, false));
    }
    lists.extend(files.iter().map(|file| ("of the owner", file.records(), true)));
    let mut lexicon = Lexicon::default();
    let mut numbered: Vec<(EntryId, &Record, bool)> = Vec::new();
    for (name, records, owner) in &lists {
        for (kind, id, record) in records {
            let number = lexicon.declare(id, *kind, record, *owner).map_err(|message| unreadable(name, &message))?;
            numbered.push((number, record, *owner));
        }
    }
    lexicon.link(&numbered)?;
    lexicon.terms = Index::with_room(if standard.is_empty() { 64 } else { 16_384 });
    let mut scratch = (String::new(), String::new());
    for (number, record, owner) in &numbered {
        for (bit, list) in record.terms.iter().enumerate() {
            let languages = if bit == LANGUAGES.len() { ANY_LANGUAGE } else { 1 << bit };
            lexicon.add_list(*number, list, languages, *owner, &mut scratch);
        }
    }
    lexicon.terms.close();
    Ok(lexicon)
}

impl Lexicon {
    fn declare(&mut self, id: &str, kind: Kind, record: &Record, owner: bool) -> Result<EntryId, String> {
        if let Some(number) = self.find(id) {
            // The owner may add terms to an entry that is there.
            return if owner { Ok(number) } else { Err(format!("`{id}` is declared twice")) };
        }
        let number = EntryId::try_from(self.entries.len()).map_err(|_| "too many entries".to_owned())?;
        let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        self.entries.push(Entry {
            id: id.to_owned(),
            kind,
            role: record.role,
            head: record.head,
            relation: record.relation,
            parts: Vec::new(),
            near: Vec::new(),
            opposites: Vec::new(),
            examples: owned(&record.yes),
            counterexamples: owned(&record.no),
        });
        self.ids.insert(id.to_owned(), number);
        Ok(number)
    }

    fn link(&mut self, records: &[(EntryId, &Record, bool)]) -> Result<(), Unreadable> {
        for (number, record, _) in records {
            let resolve = |lexicon: &Self, list: &[&str]| -> Result<Vec<EntryId>, Unreadable> {
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

    fn add_list(&mut self, number: EntryId, list: &str, languages: u32, owner: bool, scratch: &mut (String, String)) {
        if list.is_empty() {
            return;
        }
        for term in list.split(',') {
            let term = term.trim_ascii();
            let (marked, term) = term.strip_prefix('~').map_or((false, term), |term| (true, term));
            if term.is_empty() {
                continue;
            }
            let sense = Sense { entry: number, languages, marked, owner };
            if let Some(words) = simple_keys(term, scratch) {
                self.add_term(&scratch.0, words, sense);
                if scratch.1 != scratch.0 {
                    self.add_term(&scratch.1, words, sense);
                }
            } else {
                let canonical = names::canonical(term);
                for key in canonical.keys() {
                    self.add_term(&key, canonical.tokens.len(), sense);
                }
            }
        }
    }

    fn add_term(&mut self, key: &str, words: usize, sense: Sense) {
        self.longest = self.longest.max(words);
        self.terms.add(key, sense);
    }
}

/// The two keys of a term of plain lower-case words, by a short way, and how many words it has; nothing if it needs
/// the long way.
pub(super) fn simple_keys(term: &str, (plain, wide): &mut (String, String)) -> Option<usize> {
    let mut words = 0;
    plain.clear();
    wide.clear();
    for word in term.split(' ') {
        if word.bytes().all(|b| b.is_ascii_lowercase()) && !word.is_empty() {
            if matches!(word, "the" | "of" | "field" | "column" | "id" | "identifier" | "uuid" | "guid") && word != term
            {
                return None;
            }
            plain.push_str(word);
            wide.push_str(word);
            words += 1;
            continue;
        }
        let unspaced = word.starts_with(names::is_unspaced);
        if word.is_empty() || word.chars().any(|c| names::is_unspaced(c) != unspaced) {
            return None;
        }
        for c in word.chars() {
            match names::fold_lower(c)? {
                names::Folded::One(letter) => {
                    plain.push(letter);
                    wide.push(letter);
                }
                names::Folded::Two(short, long) => {
                    plain.push_str(short);
                    wide.push_str(long);
                }
            }
        }
        words += 1;
    }
    Some(words)
}
