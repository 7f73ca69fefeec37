//! The lexicon's own examples, and what no lexicon may do.
#![allow(clippy::unwrap_used, reason = "tests may stop")]

use std::collections::BTreeMap;

use super::{EntryId, Kind, LANGUAGES, Lexicon, Meaning};
use crate::names::canonical;

fn meaning(lexicon: &Lexicon, name: &str) -> Meaning {
    lexicon.meaning(&canonical(name))
}

/// Whether one reading of the name is exactly the entry.
fn means(lexicon: &Lexicon, name: &str, entry: EntryId) -> bool {
    let wanted = &lexicon.entry(entry).parts;
    let meaning = meaning(lexicon, name);
    let negated = wanted.iter().any(|part| lexicon.entry(*part).kind == Kind::Negation);
    let mut plain: Vec<EntryId> = wanted
        .iter()
        .copied()
        .filter(|part| !matches!(lexicon.entry(*part).kind, Kind::Negation | Kind::Marker))
        .collect();
    plain.sort_unstable();
    meaning.leftovers.is_empty()
        && meaning.readings.iter().any(|reading| {
            let mut sequence = reading.sequence.clone();
            sequence.sort_unstable();
            sequence == plain && reading.negated == negated
        })
}

#[test]
fn every_file_is_read() {
    let lexicon = Lexicon::with_owner(&[]).unwrap();
    assert!(lexicon.entries().len() > 300, "{}", lexicon.entries().len());
    assert_eq!(Lexicon::standard().entries().len(), lexicon.entries().len());
}

#[test]
fn examples_and_counterexamples_hold() {
    let lexicon = Lexicon::standard();
    let mut wrong = Vec::new();
    for (number, entry) in lexicon.entries().iter().enumerate() {
        let number = number as EntryId;
        if matches!(entry.kind, Kind::Negation | Kind::Context | Kind::Marker) {
            continue;
        }
        if entry.examples.is_empty() || entry.counterexamples.is_empty() {
            wrong.push(format!("{} lacks an example or a counterexample", entry.id));
        }
        for name in &entry.examples {
            if !means(lexicon, name, number) {
                wrong.push(format!("{name:?} is not {}: {:?}", entry.id, describe(lexicon, name)));
            }
        }
        for name in &entry.counterexamples {
            if means(lexicon, name, number) {
                wrong.push(format!("{name:?} is {}", entry.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_term_has_two_meanings_unmarked() {
    let lexicon = Lexicon::standard();
    let mut wrong = Vec::new();
    for (key, senses) in lexicon.terms() {
        let mut meanings: Vec<&Vec<EntryId>> = senses.iter().map(|sense| &lexicon.entry(sense.entry).parts).collect();
        meanings.sort();
        meanings.dedup();
        if meanings.len() > 1 && senses.iter().any(|sense| !sense.marked) {
            let list: Vec<String> = senses
                .iter()
                .map(|sense| {
                    format!(
                        "{}{}:{}",
                        if sense.marked { "~" } else { "" },
                        lexicon.entry(sense.entry).id,
                        languages(sense.languages)
                    )
                })
                .collect();
            wrong.push(format!("{key}: {}", list.join(" ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn languages(bits: u32) -> String {
    if bits == super::ANY_LANGUAGE {
        return "*".to_owned();
    }
    let list: Vec<&str> =
        LANGUAGES.iter().enumerate().filter(|(bit, _)| bits & 1 << bit != 0).map(|(_, name)| *name).collect();
    list.join(",")
}

fn describe(lexicon: &Lexicon, name: &str) -> String {
    let meaning = meaning(lexicon, name);
    let readings: Vec<String> = meaning.readings.iter().map(|reading| lexicon.describe(reading)).collect();
    format!("{} + {:?} {:?}", readings.join(" | "), meaning.leftovers, meaning.units)
}

#[test]
fn the_short_ways_are_right() {
    for (name, text) in super::STANDARD {
        let mut short = super::lines::read(text).unwrap();
        let file: super::file::File = toml::from_str(text).unwrap();
        let mut long = file.records();
        short.sort_by_key(|(kind, id, _)| (format!("{kind:?}"), *id));
        long.sort_by_key(|(kind, id, _)| (format!("{kind:?}"), *id));
        assert!(short == long, "{name}");
        for term in short.iter().flat_map(|(.., record)| record.terms).flat_map(|list| list.split(", ")) {
            let term = term.trim_start_matches('~');
            let mut keys = (String::new(), String::new());
            if let Some(words) = super::file::simple_keys(term, &mut keys) {
                let canonical = canonical(term);
                let mut long = canonical.keys();
                long.dedup();
                let short = if keys.0 == keys.1 { vec![keys.0] } else { vec![keys.0, keys.1] };
                assert_eq!((long, canonical.tokens.len()), (short, words), "{term}");
            }
        }
    }
}

#[test]
fn entries_that_must_be_there() {
    let lexicon = Lexicon::standard();
    // The qualifiers that the decision rule names.
    for id in [
        "tax",
        "gross",
        "net",
        "refund",
        "discount",
        "fee",
        "tip",
        "shipping",
        "previous",
        "next",
        "first",
        "last",
        "minimum",
        "maximum",
        "average",
        "median",
        "cumulative",
        "daily",
        "weekly",
        "monthly",
        "yearly",
        "estimated",
        "actual",
        "planned",
        "paid",
        "unpaid",
        "billing",
        "delivery",
        "buyer",
        "seller",
        "debit",
        "credit",
        "start",
        "end",
        "created",
        "updated",
        "booking",
        "valuta",
        "born",
        "died",
    ] {
        assert_eq!(lexicon.find(id).map(|id| lexicon.entry(id).kind), Some(Kind::Qualifier), "{id}");
    }
    let mut concepts_by_language: BTreeMap<&str, usize> = BTreeMap::new();
    let mut seen: Vec<(EntryId, u32)> = Vec::new();
    for (_, senses) in lexicon.terms() {
        for sense in senses {
            match seen.iter_mut().find(|(entry, _)| *entry == sense.entry) {
                Some((_, bits)) => *bits |= sense.languages,
                None => seen.push((sense.entry, sense.languages)),
            }
        }
    }
    for (_, bits) in &seen {
        for (bit, language) in LANGUAGES.iter().enumerate() {
            if bits & 1 << bit != 0 {
                *concepts_by_language.entry(language).or_default() += 1;
            }
        }
    }
    eprintln!("{} terms", lexicon.terms().len());
    eprintln!("entries with a term, by language: {concepts_by_language:?}");
    for language in &LANGUAGES[..12] {
        assert!(concepts_by_language[language] >= 200, "{language}: {}", concepts_by_language[language]);
    }
}

#[test]
fn the_owner_adds_and_is_told_what_is_wrong() {
    let lexicon =
        Lexicon::with_owner(&["[concept.amount]\nen = \"blub\"\n[concept.widget]\nrole = \"name\"\nen = \"wodget\""])
            .unwrap();
    assert!(means(&lexicon, "blub", lexicon.find("amount").unwrap()));
    assert!(lexicon.meaning(&canonical("blub")).readings[0].owner);
    assert!(means(&lexicon, "Wodget", lexicon.find("widget").unwrap()));
    let check = |text: &str, expected: &str| {
        let message = Lexicon::with_owner(&[text]).unwrap_err().message;
        assert!(message.contains(expected), "{message}");
    };
    check("[concept.x]\nxx = \"y\"", "unknown field `xx`");
    check("[concept.x]\nparts = [\"nothing\"]", "`nothing`, which is no entry");
    check("[thing.x]", "lexicon file of the owner");
}
