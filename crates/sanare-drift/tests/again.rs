//! Drift after drift: the helper of the first repair gets one more name; what it cannot tell apart is refused.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use sanare_core::value::Value;
use sanare_drift::engine::next_layer;
use sanare_drift::problem::{Answer, Argument, Failure, FileView, Frame, Problem};
use sanare_drift::shape::shape_of_call;

const DICT: &str = "import csv\n\n\ndef load(path):\n    with open(path) as file:\n        return [float(row[\"amount\"]) for row in csv.DictReader(file)]\n";
const LOOP: &str = "import csv\n\n\ndef load(path):\n    with open(path) as file:\n        return [row[name] for row in csv.DictReader(file) for name in (\"amount\",)]\n";
const ROWS: &str = "import csv\n\n\ndef load(path):\n    with open(path) as file:\n        rows = csv.reader(file)\n        at = next(rows).index(\"amount\")\n        return [float(row[at]) for row in rows]\n";
const FRAME: &str =
    "import pandas as pd\n\n\ndef load(path):\n    frame = pd.read_csv(path)\n    return frame[\"amount\"].sum()\n";
const JSON: &str = "import json\n\n\ndef load(path):\n    with open(path) as file:\n        return [row[\"amount\"] for row in json.load(file)]\n";

fn argument(text: &str) -> Vec<Argument> {
    let name = if text.starts_with('[') { "data.json" } else { "data.csv" };
    let file = FileView { bytes: text.as_bytes().to_vec(), complete: true, name: name.into() };
    vec![Argument { name: "path".into(), value: Value::Text(name.into()), file: Some(file) }]
}

fn table(name: &str) -> String {
    format!("customer,{name}\nAlfa,1200.5\nBeta,800.25\nGamma,310.75\n")
}

fn records(name: &str) -> String {
    format!("[{{\"customer\": \"Alfa\", \"{name}\": 1200.5}}, {{\"customer\": \"Beta\", \"{name}\": 800.25}}]")
}

/// A lookup that failed: in the helper's own `raise`, if there is such a helper and that is what raises.
fn problem(source: &str, first: &str, now: &str, by_repair: bool) -> Problem {
    let line = |part: &str| source.lines().position(|line| line.contains(part)).map_or(0, |at| at + 1);
    let mut frames = vec![Frame { function: "load".into(), line: line("return ["), ..Frame::default() }];
    let mut args = vec![Value::Text("amount".into())];
    if by_repair {
        let locals = vec![("name".to_owned(), Value::Text("amount".into()))];
        let function = "load.<locals>.field".to_owned();
        frames.push(Frame { function, line: line("raise KeyError"), locals, ..Frame::default() });
        args = vec![Value::Text("neither".into())];
    }
    Problem {
        source: source.into(),
        function: "load".into(),
        failure: Failure {
            class: "KeyError".into(),
            args,
            frames,
            deliberate: by_repair,
            by_repair,
            ..Failure::default()
        },
        arguments: argument(now),
        remembered: vec![shape_of_call(source, "load", &argument(first), None)],
        ..Problem::default()
    }
}

fn layer(problem: &Problem) -> String {
    match next_layer(problem) {
        Answer::Layer(layer) => layer.source,
        Answer::Refused(refusal) => panic!("{}: {}\n{}", refusal.reason.code(), refusal.summary, problem.source),
    }
}

fn refused(problem: &Problem) -> String {
    match next_layer(problem) {
        Answer::Layer(layer) => panic!("{}\n{}", layer.kind, layer.source),
        Answer::Refused(refusal) => refusal.reason.code().to_owned(),
    }
}

/// Three names one after the other, each remembered when the next comes.
fn three(source: &str, written: fn(&str) -> String, raises: bool) -> String {
    let once = layer(&problem(source, &written("amount"), &written("osszeg"), false));
    layer(&problem(&once, &written("osszeg"), &written("betrag"), raises))
}

#[test]
fn a_read_gets_one_more_alias() {
    for out in [three(DICT, table, true), three(JSON, records, true)] {
        assert_eq!(out.matches("    def ").count(), 1, "{out}");
        assert!(out.contains("field(row, \"amount\", \"osszeg\", \"betrag\")"), "{out}");
        assert!(out.contains("# amount was renamed to osszeg, then to betrag; the old name is tried first"), "{out}");
    }
    let third = layer(&problem(&three(DICT, table, true), &table("betrag"), &table("montant"), true));
    assert!(
        third.contains("\"osszeg\", \"betrag\", \"montant\")") && third.matches("def field").count() == 1,
        "{third}"
    );
}

#[test]
fn a_helper_for_the_whole_header_knows_one_more_name() {
    for (source, form) in [(LOOP, "(reader)"), (ROWS, "(rows)"), (FRAME, "(frame)")] {
        let out = three(source, table, false);
        assert_eq!(out.matches("def with_known_names").count(), 1, "{form}\n{out}");
        assert!(out.contains("known = {\"osszeg\": \"amount\", \"betrag\": \"amount\"}"), "{form}\n{out}");
        assert!(out.contains("meant.count(old) == 1"), "two known names at once must not both be taken\n{out}");
        let both = "customer,osszeg,betrag\nAlfa,1.5,2.5\nBeta,3.5,4.5\n";
        refused(&problem(&out, &table("betrag"), both, false));
    }
}

#[test]
fn a_raise_that_is_not_the_repairs_stays_deliberate() {
    let once = layer(&problem(DICT, &table("amount"), &table("osszeg"), false));
    let mut owners = problem(&once, &table("osszeg"), &table("betrag"), true);
    owners.failure.by_repair = false;
    assert_eq!(refused(&owners), "deliberate");
}

#[test]
fn no_layer_goes_around_what_a_helper_checks() {
    let once = layer(&problem(DICT, &table("amount"), &table("osszeg"), false));
    let mut checks = problem(&once, &table("osszeg"), &table("betrag"), true);
    checks.failure.class = "ValueError".into();
    assert_eq!(refused(&checks), "no_proposer");
}

#[test]
fn a_helper_that_was_edited_is_left_alone() {
    let once = layer(&problem(DICT, &table("amount"), &table("osszeg"), false));
    let edited = once.replace("return row[key]", "return row[key].strip()");
    assert_ne!(edited, once);
    refused(&problem(&edited, &table("osszeg"), &table("betrag"), true));
    let once = layer(&problem(LOOP, &table("amount"), &table("osszeg"), false));
    let edited = once.replace("not in there", "in there");
    assert_ne!(edited, once);
    refused(&problem(&edited, &table("osszeg"), &table("betrag"), false));
}
