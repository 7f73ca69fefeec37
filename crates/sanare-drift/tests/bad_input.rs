//! Input that is no data: a refusal with its reason, in bounded time and memory, the same answer every time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;
use sanare_core::value::Value;
use sanare_drift::engine::next_layer;
use sanare_drift::lockfile::Lockfile;
use sanare_drift::problem::{Answer, Argument, Failure, FileView, Frame, Problem};
use sanare_drift::profile::Profile;
use sanare_drift::shape::shape_of_call;
use sanare_drift::table::{book, delimited};
use sanare_source::parse::Source;

const CSV: &str = r#"import csv


def load(path):
    total = 0
    with open(path, newline="", encoding="utf-8") as fh:
        for row in csv.DictReader(fh):
            total += int(row["amount"])
    return total
"#;

const BOOK: &str = r#"from openpyxl import load_workbook


def load(path):
    rows = list(load_workbook(path)["Sales"].iter_rows(values_only=True))
    at = rows[0].index("amount")
    return sum(row[at] for row in rows[1:])
"#;

const JSON: &str = r#"import json


def load(path):
    with open(path, encoding="utf-8") as fh:
        return [row["amount"] for row in json.load(fh)]
"#;

fn problem(source: &str, name: &str, bytes: Vec<u8>, class: &str, message: &str, line: usize) -> Problem {
    let file = FileView { bytes, complete: true, name: name.into() };
    Problem {
        source: source.into(),
        function: "load".into(),
        failure: Failure {
            class: class.into(),
            message: message.into(),
            args: vec![Value::Text(message.trim_matches('\'').into())],
            frames: vec![Frame { function: "load".into(), line, ..Frame::default() }],
            ..Failure::default()
        },
        arguments: vec![Argument {
            name: "path".into(),
            value: Value::Text(format!("/data/{name}")),
            file: Some(file),
        }],
        ..Problem::default()
    }
}

/// The reason code of the refusal.
fn refused(problem: &Problem) -> &'static str {
    match next_layer(problem) {
        Answer::Refused(refusal) => {
            assert!(!refusal.summary.is_empty());
            refusal.reason.code()
        }
        Answer::Layer(layer) => panic!("{}: {}", layer.kind, layer.summary),
    }
}

fn csv(bytes: impl Into<Vec<u8>>) -> Problem {
    problem(CSV, "sales.csv", bytes.into(), "KeyError", "'amount'", 8)
}

#[test]
fn junk_is_refused_with_its_reason() {
    let junk: Vec<u8> = (0..100_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    assert!(!refused(&csv(junk)).is_empty());
    assert_eq!(refused(&csv("")), "not_data");
    assert_eq!(refused(&csv("<!DOCTYPE html>\n<html><body>503</body></html>\n")), "not_data");
    assert_eq!(refused(&csv("betrag,betrag\n1,2\n")), "ambiguous");
}

#[test]
fn a_line_without_end_is_bounded() {
    let long = "x".repeat(4 << 20);
    assert!(!refused(&csv(long)).is_empty());
    let wide = "a,".repeat(1 << 20);
    let rows = delimited::read(&wide, delimited::Dialect::default(), 50);
    assert!(rows.iter().map(|row| row.cells.len()).sum::<usize>() <= 20_001);
    assert!(!refused(&csv(wide)).is_empty());
}

#[test]
fn deep_and_cut_json_is_refused() {
    let deep = "[".repeat(200_000);
    let json = |text: String, class: &str, message: &str| problem(JSON, "a.json", text.into_bytes(), class, message, 6);
    assert!(!refused(&json(deep, "RecursionError", "maximum recursion depth exceeded")).is_empty());
    let cut = "[{\"amount\": 1}, {\"amou".to_owned();
    assert_eq!(refused(&json(cut, "json.decoder.JSONDecodeError", "Unterminated string")), "incomplete_data");
}

/// A zip file with one stored part, which says that it unpacks to this size.
fn zip(says: u32) -> Vec<u8> {
    let name = b"xl/workbook.xml";
    let length = u16::try_from(name.len()).unwrap().to_le_bytes();
    let mut bytes = b"PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0".to_vec();
    bytes.extend([0; 4].iter().chain(&0_u32.to_le_bytes()).chain(&says.to_le_bytes()).chain(&length).chain(&[0, 0]));
    bytes.extend(name);
    let at = u32::try_from(bytes.len()).unwrap();
    bytes.extend(b"PK\x01\x02\x14\0\x14\0\0\0\x08\0\0\0\0\0");
    bytes.extend([0; 4].iter().chain(&0_u32.to_le_bytes()).chain(&says.to_le_bytes()).chain(&length).chain(&[0; 16]));
    bytes.extend(name);
    let size = u32::try_from(bytes.len()).unwrap() - at;
    bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    bytes.extend(size.to_le_bytes().iter().chain(&at.to_le_bytes()).chain(&[0, 0]));
    bytes
}

#[test]
fn a_workbook_that_unpacks_without_end_is_not_unpacked() {
    assert_eq!(book::read(&zip(u32::MAX - 1)), None);
    assert_eq!(book::read(&zip(10)), None, "no workbook either");
    let bomb = problem(BOOK, "a.xlsx", zip(u32::MAX - 1), "KeyError", "'Worksheet Sales does not exist.'", 5);
    assert!(!refused(&bomb).is_empty());
}

#[test]
fn the_same_problem_has_the_same_answer_to_the_byte() {
    let renamed = csv("datum,betrag\n2024-01-05,12\n2024-01-06,30\n");
    let told = |answer: Answer| match answer {
        Answer::Layer(layer) => format!("{layer:?}"),
        Answer::Refused(refusal) => serde_json::to_string(&refusal).unwrap(),
    };
    let first = told(next_layer(&renamed));
    assert!(first.contains("betrag") && first.contains("Layer"), "{first}");
    for _ in 0..50 {
        assert_eq!(told(next_layer(&renamed)), first);
    }
    let refusal = csv("datum,wert,summe_brutto\n2024-01-05,12,13\n");
    let first = told(next_layer(&refusal));
    for _ in 0..50 {
        assert_eq!(told(next_layer(&refusal)), first);
    }
}

/// Text that looks like a table now and then.
fn tables() -> impl Strategy<Value = String> {
    let cell = prop_oneof![
        "[a-z_ ]{0,12}",
        Just("amount".to_owned()),
        Just("betrag".to_owned()),
        "-?[0-9]{1,4}([.,][0-9]{1,3})?",
        "[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{2,4}",
        "\\PC{0,6}",
    ];
    let row = (proptest::collection::vec(cell, 0..6), prop_oneof![Just(","), Just(";"), Just("\t"), Just("|")]);
    proptest::collection::vec(row, 0..8)
        .prop_map(|rows| rows.into_iter().map(|(cells, with)| cells.join(with) + "\n").collect())
}

/// Functions of small parts that read a table or something like it.
fn functions() -> impl Strategy<Value = String> {
    let reader = prop_oneof![
        Just("csv.DictReader(fh)"),
        Just("csv.DictReader(fh, delimiter=';')"),
        Just("list(csv.reader(fh))"),
        Just("json.load(fh)"),
        Just("fh.read().splitlines()[1:]"),
        Just("sorted(csv.DictReader(fh), key=lambda r: r['amount'])"),
    ];
    let statement = prop_oneof![
        Just("total += int(row[\"amount\"])"),
        Just("total += float(row['amount'].replace(',', '.'))"),
        Just("total += int(row[1]) if row else 0"),
        Just("day = datetime.strptime(row['date'], '%Y-%m-%d')"),
        Just("total += {'y': 1, 'n': 0}[row['flag']]"),
        Just("name = row.get('name') or row[\"n\u{e9}v\"]"),
        Just("if not row['end']: last = row"),
    ];
    let newline = prop_oneof![Just("\n"), Just("\r\n")];
    (reader, proptest::collection::vec(statement, 1..4), newline).prop_map(|(reader, statements, newline)| {
        let body: String = statements.iter().map(|line| format!("            {line}\n")).collect();
        let text = format!(
            "import csv, json\nfrom datetime import datetime\n\nBEFORE = 1\n\n\ndef load(path):\n    \"\"\"Total, None if none.\"\"\"\n    total = 0\n    with open(path) as fh:\n        for row in {reader}:\n{body}    return total\n\n\ndef after(x):\n    return x  # stays\n"
        );
        text.replace('\n', newline)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn shape_readers_take_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400), text in tables()) {
        let _ = book::read(&bytes);
        let mut packed = zip(10);
        for (at, byte) in bytes.iter().enumerate() {
            let length = packed.len();
            packed[(at * 7) % length] ^= *byte;
        }
        let _ = book::read(&packed);
        for limit in [1, 50] {
            let rows = delimited::read(&text, delimited::Dialect::default(), limit);
            prop_assert!(rows.len() <= limit);
        }
        let _ = Profile::of_texts(text.lines());
        let _ = Lockfile::read(&text);
        for bytes in [bytes, text.into_bytes()] {
            let file = FileView { bytes, complete: false, name: "a.csv".into() };
            let argument = Argument { name: "path".into(), value: Value::Text("a.csv".into()), file: Some(file) };
            for source in [CSV, BOOK, JSON] {
                let _ = shape_of_call(source, "load", std::slice::from_ref(&argument), None);
            }
        }
    }

    #[test]
    fn the_editor_changes_one_function_and_leaves_python(
        source in functions(),
        old in tables(),
        new in tables(),
        error in 0_usize..5,
        line in 8_usize..14,
    ) {
        let (class, message) = [
            ("KeyError", "'amount'"),
            ("ValueError", "invalid literal for int() with base 10: '1,5'"),
            ("IndexError", "list index out of range"),
            ("UnboundLocalError", "cannot access local variable 'last' where it is not associated with a value"),
            ("UnicodeDecodeError", "'utf-8' codec can't decode byte 0xe9 in position 3: invalid continuation byte"),
        ][error];
        let mut problem = problem(&source, "a.csv", new.into_bytes(), class, message, line);
        let before = Argument {
            file: Some(FileView { bytes: old.into_bytes(), complete: true, name: "a.csv".into() }),
            ..problem.arguments[0].clone()
        };
        problem.remembered = vec![shape_of_call(&source, "load", &[before], None)];
        for _ in 0..3 {
            let Answer::Layer(layer) = next_layer(&problem) else { break };
            let Answer::Layer(again) = next_layer(&problem) else { panic!("another answer") };
            prop_assert_eq!(&layer.source, &again.source);
            prop_assert!(Source::parse(&layer.source).is_ok(), "{}", layer.source);
            let at = source.find("def load").unwrap();
            prop_assert_eq!(layer.source.get(..at), source.get(..at), "what stands before stays");
            let rest = &source[source.find("def after").unwrap()..];
            prop_assert!(layer.source.ends_with(rest), "{}", layer.source);
            prop_assert_eq!(layer.source.contains("\r\n"), source.contains("\r\n"));
            if source.contains("\r\n") {
                prop_assert_eq!(layer.source.matches('\n').count(), layer.source.matches("\r\n").count());
            }
            problem.source = layer.source;
        }
    }
}
