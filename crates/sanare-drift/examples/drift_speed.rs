//! How fast the engine alone is: a mapping of 50 columns decided, the layer for it found and written, and the shape of a
//! table of 100 MB. Prints JSON: median and quartiles of each, in milliseconds.
#![allow(clippy::disallowed_methods, reason = "a measurement looks at the clock and reads the file that it is given")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{self, Read as _, Write as _};
use std::time::Instant;

use sanare_core::evidence::{Argument, Failure, FileView, Frame};
use sanare_core::value::Value;
use sanare_drift::engine::next_layer;
use sanare_drift::lexicon::Lexicon;
use sanare_drift::matching::{Expected, MatchContext, Seen, match_fields};
use sanare_drift::problem::{Answer, Problem};
use sanare_drift::profile::Profile;
use sanare_drift::shape::{Shape, shape_of_call};

/// Columns of the table, and how many of them the code reads.
const COLUMNS: usize = 50;
const READ: usize = 20;
/// What is read of a file that is looked at (C48).
const LOOK: u64 = 64 * 1024;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let rounds = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(5);
    let mut numbers: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    let large = arguments.next();
    // The lexicon is read once a process.
    black_box(mapping());
    for _ in 0..rounds {
        numbers.entry("mapping_ms").or_default().push(mapping());
        numbers.entry("layer_ms").or_default().push(layer());
        if let Some(path) = &large {
            numbers.entry("shape_ms").or_default().push(shape(path)?);
        }
    }
    let found: BTreeMap<_, _> = numbers.into_iter().map(|(name, list)| (name, quartiles(list))).collect();
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(&found).map_err(io::Error::other)?)
}

/// Old and new names: written in another style, the first in another language.
fn names() -> Vec<(String, String)> {
    let translated = [("amount", "Betrag"), ("customer", "Kunde"), ("price", "Preis"), ("quantity", "Menge")];
    let parts = ["billing", "delivery", "created", "updated", "first", "last", "gross", "net", "planned", "actual"];
    let things = ["street", "city", "weight", "height", "owner"];
    let other = parts.iter().flat_map(|part| things.iter().map(move |thing| (part, thing)));
    let upper =
        |text: &str| text.chars().take(1).flat_map(char::to_uppercase).chain(text.chars().skip(1)).collect::<String>();
    let other = other.map(|(part, thing)| (format!("{part}_{thing}"), format!("{part}{}", upper(thing))));
    let first = translated.map(|(old, new)| (old.to_owned(), new.to_owned()));
    first.into_iter().chain(other).take(COLUMNS).collect()
}

fn mapping() -> f64 {
    let names = names();
    let profile =
        |at: usize| Profile::of_texts([format!("{}", 100 + at), format!("{}", 900 - at)].iter().map(String::as_str));
    let expected: Vec<Expected> = names
        .iter()
        .enumerate()
        .map(|(at, (old, _))| Expected {
            name: old.clone(),
            needed: at < READ,
            profile: Some(profile(at)),
            position: Some(at),
            implied_type: None,
        })
        .collect();
    let seen: Vec<Seen> = names
        .iter()
        .enumerate()
        .map(|(at, (_, new))| Seen { name: new.clone(), profile: profile(at), position: at })
        .collect();
    let context =
        MatchContext { lexicon: Lexicon::standard(), contract_aliases: &[], lockfile: &[], closed_record: false };
    let begun = Instant::now();
    let found = black_box(match_fields(&expected, &seen, &context));
    let millis = begun.elapsed().as_secs_f64() * 1e3;
    assert!(found.as_ref().is_ok_and(|mappings| mappings.len() == READ), "every read column is mapped: {found:?}");
    millis
}

fn layer() -> f64 {
    let names = names();
    let reads: String = names.iter().take(READ).map(|(old, _)| format!("int(row[\"{old}\"]) + ")).collect();
    let source = format!(
        "import csv\nimport io\n\n\ndef load(text):\n    rows = csv.DictReader(io.StringIO(text))\n    return [{reads}0 for row in rows]\n"
    );
    let table = |new: bool| {
        let header: Vec<&str> =
            names.iter().map(|(old, newer)| if new { newer.as_str() } else { old.as_str() }).collect();
        let rows =
            (0..20).map(|row| (0..COLUMNS).map(|at| (row * 7 + at * 3 + 1).to_string()).collect::<Vec<_>>().join(","));
        format!("{}\n{}\n", header.join(","), rows.collect::<Vec<_>>().join("\n"))
    };
    let argument = |new: bool| Argument { name: "text".to_owned(), value: Value::Text(table(new)), file: None };
    let frame = Frame {
        function: "load".to_owned(),
        file: "job.py".to_owned(),
        line: 7,
        statement: "return [".to_owned(),
        locals: Vec::new(),
    };
    let problem = Problem {
        first_line: 5,
        failure: Failure {
            class: "KeyError".to_owned(),
            message: "'amount'".to_owned(),
            args: vec![Value::Text("amount".to_owned())],
            frames: vec![frame],
            ..Failure::default()
        },
        remembered: vec![shape_of_call(&source, "load", &[argument(false)], None)],
        source,
        function: "load".to_owned(),
        arguments: vec![argument(true)],
        ..Problem::default()
    };
    let begun = Instant::now();
    let answer = black_box(next_layer(&problem));
    let millis = begun.elapsed().as_secs_f64() * 1e3;
    assert!(matches!(answer, Answer::Layer(_)), "the names are mapped: {answer:?}");
    millis
}

/// A look at a file that a function was called with: opened, read as deep as a look goes, and its shape found.
fn shape(path: &str) -> io::Result<f64> {
    const SOURCE: &str = "import csv\n\n\ndef load(path):\n    with open(path) as file:\n        return sum(int(row[\"amount\"]) for row in csv.DictReader(file))\n";
    let begun = Instant::now();
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(LOOK).read_to_end(&mut bytes)?;
    let file = FileView { bytes, complete: false, name: "large.csv".to_owned() };
    let argument = Argument { name: "path".to_owned(), value: Value::Text(path.to_owned()), file: Some(file) };
    let found = black_box(shape_of_call(SOURCE, "load", &[argument], None));
    let millis = begun.elapsed().as_secs_f64() * 1e3;
    let columns =
        found.arguments.iter().any(|(_, shape)| matches!(shape, Shape::Table(table) if !table.columns.is_empty()));
    assert!(columns, "a table with columns");
    Ok(millis)
}

fn quartiles(mut numbers: Vec<f64>) -> [f64; 3] {
    numbers.sort_by(f64::total_cmp);
    let at = |part: usize| numbers.get((numbers.len() - 1) * part / 4).copied().unwrap_or_default();
    [at(2), at(1), at(3)]
}
