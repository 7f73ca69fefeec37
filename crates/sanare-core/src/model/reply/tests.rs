//! Replies as they come: fixtures, the corpus of hostile ones, and arbitrary bytes.

use super::{Code, read};

fn handles() -> Vec<String> {
    (1..=9).map(|number| format!("e{number}")).collect()
}

fn verdict(reply: &[u8]) -> String {
    read(reply, &handles()).map_or_else(|invalid| invalid.code.word().to_owned(), |_| "ok".to_owned())
}

fn rows(text: &str) -> Vec<(String, String, String)> {
    text.lines()
        .map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let times = row["repeat"].as_u64().unwrap_or(1) as usize;
            let text = |key: &str| row[key].as_str().unwrap().to_owned();
            (text("id"), text("reply").repeat(times), text("expect"))
        })
        .collect()
}

#[test]
fn every_fixture_gets_its_verdict() {
    let rows = rows(include_str!("../../../tests/model/replies.jsonl"));
    assert!(rows.len() >= 60, "{}", rows.len());
    let wrong: Vec<String> = rows
        .iter()
        .filter(|(_, reply, expect)| verdict(reply.as_bytes()) != *expect)
        .map(|(id, reply, expect)| format!("{id}: {} instead of {expect}", verdict(reply.as_bytes())))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Codes of a diagnosis have their own table beside its checks.
    let diagnosis = [Code::Diagnosis, Code::Action, Code::NotOffered, Code::Tried, Code::Closing, Code::WithoutCause];
    for code in Code::ALL.iter().filter(|code| !diagnosis.contains(code)) {
        let seen = rows.iter().any(|(_, _, expect)| expect == code.word());
        assert!(seen || *code == Code::CutOff, "no fixture for {}", code.word());
    }
}

#[test]
fn texts_are_cleaned_and_capped() {
    let reply = |confidence: f64, cited: &str, cause: &str| {
        format!(
            r#"{{"summary":"a\u200bb password=hunter2secret99 {}","confidence":{confidence},"probable_cause":{cause},
            "evidence_used":[{cited}],"candidate":null}}"#,
            "x".repeat(400)
        )
    };
    let parsed = |text: String| read(text.as_bytes(), &handles()).unwrap();
    let full = parsed(reply(1.0, r#""e1""#, r#""c""#));
    assert_eq!((full.confidence, full.reported_confidence), (0.9, 1.0));
    assert_eq!(parsed(reply(0.8, "", r#""c""#)).confidence, 0.2);
    assert_eq!(parsed(reply(0.8, r#""e1""#, "null")).confidence, 0.2);
    assert!(full.summary.starts_with("ab ") && full.summary.chars().count() <= 300, "{}", full.summary);
    assert!(!full.summary.contains("hunter2secret99"), "{}", full.summary);
}

/// What is far too large is refused by its length alone, before anything is read; within it depth and numbers are bounded.
#[test]
fn what_is_large_or_no_text_of_json_gets_its_code() {
    let good = rows(include_str!("../../../tests/model/replies.jsonl"))[0].1.clone();
    assert_eq!(verdict(good.as_bytes()), "ok");
    let with = |confidence: &str| format!("{{\"summary\":\"s\",\"confidence\":{confidence},\"candidate\":null}}");
    let brackets = |count: usize| "[".repeat(count).into_bytes();
    let nested = |count: usize| format!("{{\"x\":{}", "{\"a\":[".repeat(count)).into_bytes();
    let mut padded = good.clone();
    padded.push_str(&" ".repeat(super::LIMIT - good.len()));
    let mut one_more = padded.clone();
    one_more.push(' ');
    let surrogate = with("0.5").replace("\"s\"", "\"a\\ud800b\"");
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("a million brackets", brackets(1_000_000), "too_long"),
        ("60,000 brackets", brackets(60_000), "not_one_object"),
        ("8,000 levels", nested(8_000), "too_deep"),
        ("a number of 100,000 digits", with(&"9".repeat(100_000)).into_bytes(), "too_long"),
        ("a number of 60,000 digits", with(&"9".repeat(60_000)).into_bytes(), "long_number"),
        ("a number of 65 characters", with(&format!("0.{}", "1".repeat(63))).into_bytes(), "long_number"),
        ("a number of 64 characters", with(&format!("0.{}", "1".repeat(62))).into_bytes(), "ok"),
        ("a lone surrogate", surrogate.into_bytes(), "not_json"),
        ("a surrogate's bytes", [b"{\"summary\":\"", [0xed, 0xa0, 0x80].as_slice(), b"\"}"].concat(), "not_json"),
        ("NaN", with("NaN").into_bytes(), "not_json"),
        ("Infinity", with("-Infinity").into_bytes(), "not_json"),
        ("beyond all numbers", with("1e999").into_bytes(), "not_json"),
        ("64 KiB", padded.into_bytes(), "ok"),
        ("64 KiB and a byte", one_more.into_bytes(), "too_long"),
        ("100 MB", vec![b' '; 100_000_000], "too_long"),
        ("zero bytes", vec![0; 1_000], "not_one_object"),
    ];
    for (what, reply, expect) in cases {
        assert_eq!(verdict(&reply), expect, "{what}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the corpus lies beside the repository")]
fn hostile_replies_of_the_corpus_are_rejected() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/security/injection/hostile_replies.jsonl");
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("SKIPPED: no ../shared/security/injection here");
        return;
    };
    for (id, reply, expect) in rows(&text) {
        let found = verdict(reply.as_bytes());
        assert!(found != "ok", "{id} ({expect})");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    #[test]
    fn arbitrary_bytes_are_a_reply_or_the_one_rejection(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..4096)) {
        let _ = read(&bytes, &handles());
    }

    #[test]
    fn text_of_json_letters_too(text in "[\\{\\}\\[\\]\":,a-e0-9\\\\ `\n]{0,400}") {
        let _ = read(text.as_bytes(), &handles());
    }

    #[test]
    fn a_good_reply_with_one_byte_changed(at in 0usize..400, byte in proptest::num::u8::ANY) {
        let fixture = rows(include_str!("../../../tests/model/replies.jsonl"));
        let mut reply = fixture[0].1.clone().into_bytes();
        let place = at % reply.len();
        reply[place] = byte;
        let _ = read(&reply, &handles());
    }
}
