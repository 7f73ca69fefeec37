//! Requests: what is in them, what fits, what cannot get out of them.

use serde_json::{Value as Json, json};

use super::{Amounts, Attempt, Material, Request, Task, compose, marks};
use crate::evidence::{Argument, Evidence, Failure, FileView, Frame};
use crate::model::prompt::{Prompt, Purpose};
use crate::outcome::Reason;
use crate::proposal::Declined;
use crate::value::Value;

const NONCE: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
const SOURCE: &str = "def total(path):\n    return sum(int(row[\"amount\"]) for row in rows(path))\n";

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn evidence() -> Evidence {
    let frame = Frame {
        function: "total".into(),
        file: "job.py".into(),
        line: 2,
        statement: "return sum(int(row[\"amount\"]) for row in rows(path))".into(),
        locals: vec![("row".into(), Value::Map(vec![("Betrag".into(), text("12")), ("Kunde".into(), text("Alfa"))]))],
    };
    Evidence {
        failure: Failure {
            class: "KeyError".into(),
            message: "'amount'".into(),
            frames: vec![frame],
            ..Failure::default()
        },
        arguments: vec![Argument {
            name: "path".into(),
            value: text("export.csv"),
            file: Some(FileView {
                bytes: b"Kunde;Betrag\nAlfa;12\n".to_vec(),
                complete: true,
                name: "export.csv".into(),
            }),
        }],
        python: (3, 12),
        ..Evidence::default()
    }
}

fn material<'a>(evidence: &'a Evidence, source: &'a str, declined: &'a [Declined]) -> Material<'a> {
    Material {
        task: Task {
            function: "total".into(),
            kind: "function".into(),
            signature: "def total(path):".into(),
            file: "job.py".into(),
        },
        about: "",
        evidence,
        source,
        called: vec![],
        imports: vec!["import csv".into()],
        class_header: String::new(),
        expected: json!({ "columns": ["customer", "amount"] }),
        seen: json!({ "columns": ["Kunde", "Betrag"] }),
        declined,
        versions: &[],
        attempts: vec![],
        amounts: Amounts::default(),
    }
}

fn ask(material: &Material<'_>, size: usize) -> Result<Request, super::TooLarge> {
    compose(material, &Prompt::newest(Purpose::RepairFunction), NONCE, "", size)
}

fn block(request: &Request) -> Json {
    let (opening, closing) = marks(NONCE);
    assert_eq!(request.user.matches(&opening).count(), 1);
    assert_eq!(request.user.matches(&closing).count(), 1);
    let inner = request.user.split_once(&opening).unwrap().1.split_once(&closing).unwrap().0;
    serde_json::from_str(inner.trim()).unwrap()
}

#[test]
fn sections_stand_in_order_and_every_local_is_there() {
    let evidence = evidence();
    let declined = [Declined {
        reason: Reason::NoIdentity,
        summary: "nothing says that Betrag is amount".into(),
        report: json!({ "fields": [{ "expected": "amount", "candidates": [] }] }),
    }];
    let mut material = material(&evidence, SOURCE, &declined);
    material.attempts = vec![Attempt {
        number: 1,
        diff: "-a\n+b\n".into(),
        check: "replay/twin".into(),
        reason: "on input of the old shape it raises".into(),
    }];
    let request = ask(&material, 32 * 1024).unwrap();
    let block = block(&request);
    let names: Vec<&str> = request.handles.iter().map(|handle| block[handle]["part"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "task",
            "error",
            "statement",
            "traceback",
            "source",
            "imports_and_names",
            "shape_before",
            "shape_now",
            "offline_engine",
            "arguments",
            "locals",
            "earlier_attempts"
        ]
    );
    let of = |name: &str| {
        let at = names.iter().position(|found| *found == name).unwrap();
        block[&request.handles[at]]["data"].clone()
    };
    assert_eq!(of("locals"), json!({ "total": { "row": { "Betrag": "12", "Kunde": "Alfa" } } }));
    assert_eq!(of("arguments")["path"]["file"]["start"], "Kunde;Betrag\nAlfa;12\n");
    assert_eq!(of("source"), SOURCE);
    assert_eq!(of("earlier_attempts")[0]["rejected_by"], "replay/twin");
    assert!(request.system.contains(NONCE));
    assert!(block["not_supplied"].as_array().unwrap().contains(&json!("environment")), "{block}");
}

#[test]
fn a_typical_request_is_small() {
    let evidence = evidence();
    let line = "    total = total + int(row[\"amount\"]) * 2\n";
    let tokens = |lines: usize| {
        let source = format!("def total(path):\n{}", line.repeat(lines));
        let request = ask(&material(&evidence, &source, &[]), 32 * 1024).unwrap();
        (request.system.len() + request.user.len()).div_ceil(4)
    };
    assert!(tokens(20) <= 2_000, "{}", tokens(20));
    assert!(tokens(60) <= 2_500, "{}", tokens(60));
}

#[test]
fn one_budget_holds_over_everything() {
    let mut evidence = evidence();
    evidence.failure.message = "x".repeat(1_000_000);
    evidence.failure.frames[0].locals =
        (0..50).map(|number| (format!("local_{number}"), text(&"y".repeat(5_000)))).collect();
    let request = ask(&material(&evidence, SOURCE, &[]), 8 * 1024).unwrap();
    assert!(request.system.len() + request.user.len() <= 8 * 1024);
    let said = block(&request)["not_supplied"].to_string();
    assert!(said.contains("locals: "), "{said}");
    let whole = ask(&material(&evidence, SOURCE, &[]), 64 * 1024).unwrap();
    let shown = block(&whole);
    let locals = whole.handles.iter().find(|handle| shown[handle.as_str()]["part"] == "locals").unwrap();
    assert_eq!(shown[locals]["data"]["total"].as_object().unwrap().len(), 50);
    assert_eq!(shown["e2"]["data"]["message_characters"], 1_000_000);
}

#[test]
fn a_function_that_does_not_fit_is_not_sent() {
    let evidence = evidence();
    let source = format!("def total(path):\n{}", "    x = path + path + path\n".repeat(3_000));
    let refused = ask(&material(&evidence, &source, &[]), 32 * 1024).unwrap_err();
    assert!(refused.bytes > refused.allowed, "{refused}");
}

#[test]
fn amounts_of_nothing_leave_the_section_out() {
    let evidence = evidence();
    let mut material = material(&evidence, SOURCE, &[]);
    material.amounts = Amounts { arguments: 0, locals: 0, environment: 0, logs: 0 };
    let request = ask(&material, 32 * 1024).unwrap();
    assert!(!request.user.contains("\"part\":\"arguments\""), "{}", request.user);
    assert!(!request.user.contains("\"part\":\"locals\""), "{}", request.user);
}

#[test]
fn logs_and_environment_obey_their_amounts() {
    let mut evidence = evidence();
    evidence.logs = (0..60).map(|number| format!("line {number}")).collect();
    evidence.environment = vec![("APP_ENV".into(), "production".into())];
    evidence.globals = vec![("LIMIT".into(), Value::Int(5))];
    let mut material = material(&evidence, SOURCE, &[]);
    let sent = ask(&material, 32 * 1024).unwrap().user;
    assert!(sent.contains("line 10\"") && !sent.contains("line 9\"") && sent.contains("\"LIMIT\":5"), "{sent}");
    assert!(!sent.contains("APP_ENV"), "{sent}");
    material.amounts = Amounts { environment: 5, logs: 0, ..Amounts::default() };
    let sent = ask(&material, 32 * 1024).unwrap().user;
    assert!(!sent.contains("line 59") && sent.contains("\"APP_ENV\":\"produ (10"), "{sent}");
}

#[test]
fn secrets_stay_here() {
    let mut evidence = evidence();
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    evidence.failure.message = format!("bad row, token {token}");
    evidence.failure.frames[0].locals.push(("password".into(), text("Kq7-horse-staple")));
    for cut in 980..1_010 {
        evidence.arguments[0].value = text(&format!("{} {token}", "z".repeat(cut)));
        let request = ask(&material(&evidence, SOURCE, &[]), 32 * 1024).unwrap();
        for part in [&token[..], "Kq7-horse-staple", &token[..12]] {
            assert!(!request.user.contains(part), "{cut}: {part}");
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the corpus lies beside the repository")]
fn strings_of_the_corpus_stay_inside() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/security/injection/strings.jsonl");
    let Ok(corpus) = std::fs::read_to_string(path) else {
        eprintln!("SKIPPED: no ../shared/security/injection here");
        return;
    };
    for line in corpus.lines() {
        // Rust has no lone surrogates; pairs are fine.
        let Ok(row) = serde_json::from_str::<Json>(line) else { continue };
        let planted = row["text"].as_str().unwrap().to_owned();
        let mut evidence = evidence();
        evidence.failure.message.clone_from(&planted);
        evidence.arguments[0].value = text(&planted);
        evidence.failure.frames[0].locals = vec![(planted.clone(), text(&planted))];
        let source = format!("{SOURCE}    # {planted}\n");
        let request = ask(&material(&evidence, &source, &[]), 32 * 1024).unwrap();
        let block = block(&request);
        assert!(block.is_object(), "{}", row["id"]);
        assert!(!request.user.chars().any(|c| c != '\n' && super::super::escape::is_hidden(c)), "{}", row["id"]);
        for token in ["<|", "[INST]", "[/INST]", "<<SYS>>", "<start_of_turn>"] {
            assert!(!request.user.contains(token), "{}: {token}", row["id"]);
        }
        let head: String = planted.trim().chars().take(40).collect();
        assert!(head.chars().count() < 8 || !request.system.contains(&head), "{}", row["id"]);
    }
}
