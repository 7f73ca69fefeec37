//! The table of C26 on exceptions of many libraries, and the cases that need more than the exception.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use sanare_core::classify::{Class, classify, classify_call};
use sanare_core::evidence::{Argument, Evidence, Failure, FileView, Frame};
use sanare_core::outcome::Reason;
use sanare_core::value::Value;

/// Reads `class < bases | what else | message`.
fn failure(class: &str, more: &str, message: &str) -> Failure {
    let (class, bases) = class.split_once('<').unwrap_or((class, ""));
    let mut failure = Failure {
        class: class.trim().to_owned(),
        bases: bases.split(',').map(str::trim).filter(|base| !base.is_empty()).map(str::to_owned).collect(),
        message: message.to_owned(),
        ..Failure::default()
    };
    failure.bases.extend(["Exception".to_owned(), "BaseException".to_owned()]);
    match more.trim().split_once('=') {
        None if more.trim() == "raised" => failure.deliberate = true,
        None => assert_eq!(more.trim(), ""),
        Some(("errno", number)) => failure.errno = Some(number.parse().unwrap()),
        Some(("status", number)) => failure.http_status = Some(number.parse().unwrap()),
        Some(("statement", text)) => {
            failure.frames.push(Frame { statement: text.to_owned(), ..Frame::default() });
        }
        Some((other, _)) => panic!("{other}"),
    }
    failure
}

#[test]
fn the_table() {
    let mut wrong = Vec::new();
    let mut lines = 0;
    for line in include_str!("table.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let parts: Vec<&str> = line.splitn(4, '|').collect();
        let [expected, class, more, message] = parts.as_slice() else { panic!("{line}") };
        let found = classify(&failure(class, more, message.trim()));
        lines += 1;
        if found.class.word() != expected.trim() {
            wrong.push(format!("{line}\n    found {} by {}", found.class.word(), found.rule));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(lines >= 120, "{lines}");
}

#[test]
fn every_class_has_its_answer() {
    let found = classify(&failure("OSError", "errno=28", ""));
    assert_eq!((found.reason, found.detail.as_str()), (Some(Reason::DiskFull), "the disk or the quota is full"));
    assert_eq!(classify(&failure("KeyError", "", "'a'")).reason, None);
}

/// C27: a deliberate error is looked at again when its owner named it, or when it was raised from drift.
#[test]
fn deliberate_errors_are_respected_with_two_exceptions() {
    let mut raised = failure("myapp.BadRow < ValueError", "raised", "row 3");
    assert_eq!(classify(&raised).class, Class::Deliberate);
    let evidence = Evidence { failure: raised.clone(), ..Evidence::default() };
    assert_eq!(classify_call(&evidence, true).class, Class::Drift);
    assert_eq!(classify_call(&evidence, false).class, Class::Deliberate);

    raised.cause = Some(Box::new(failure("KeyError < LookupError", "", "'amount'")));
    assert_eq!(classify(&raised).class, Class::Deliberate, "only beside it, not from it");
    raised.explicit_cause = true;
    assert_eq!(classify(&raised).class, Class::Drift);
    raised.cause = Some(Box::new(failure("ZeroDivisionError", "", "division by zero")));
    assert_eq!(classify(&raised).class, Class::Deliberate, "raised from a bug");
}

/// `urllib` says what went wrong only in the exception that its own stands around.
#[test]
fn an_address_that_could_not_be_reached_is_told_by_the_cause() {
    let mut around = failure("urllib.error.URLError < OSError", "", "<ConnectionRefusedError>");
    assert_eq!(classify(&around).class, Class::Bug, "nothing is known of it");
    for (class, more) in [
        ("ConnectionRefusedError < ConnectionError, OSError", "errno=111"),
        ("socket.gaierror < OSError", "errno=-3"),
        ("OSError", "errno=101"),
        ("TimeoutError < OSError", ""),
        ("ssl.SSLCertVerificationError < ssl.SSLError, OSError", ""),
    ] {
        around.cause = Some(Box::new(failure(class, more, "")));
        assert_eq!(classify(&around).class, Class::Transient, "{class}");
    }
    // A `file:` address whose file is not there is no passing failure.
    around.cause = Some(Box::new(failure("FileNotFoundError < OSError", "errno=2", "")));
    assert_ne!(classify(&around).class, Class::Transient);
}

/// What a repair's own helper raises is no purpose of the owner's.
#[test]
fn the_raise_of_a_repair_is_classified_as_if_nobody_had_raised_it() {
    let mut raised = failure("KeyError < LookupError", "raised", "neither");
    assert_eq!(classify(&raised).class, Class::Deliberate);
    raised.by_repair = true;
    assert_eq!(classify(&raised).class, Class::Drift);
}

#[test]
fn a_request_of_the_program_is_never_deliberate() {
    assert_eq!(classify(&failure("sanare.HealRequested", "raised", "wrong total")).class, Class::Bug);
}

fn call(error: &str, arguments: Vec<Argument>, source: &str) -> (Class, String) {
    let failure = failure(error, "", "'amount'");
    let found =
        classify_call(&Evidence { failure, arguments, source: source.to_owned(), ..Evidence::default() }, false);
    (found.class, found.rule)
}

fn file(bytes: &[u8]) -> Vec<Argument> {
    let file = FileView { bytes: bytes.to_vec(), complete: true, name: "in.csv".to_owned() };
    vec![Argument { name: "path".to_owned(), value: Value::Text("in.csv".to_owned()), file: Some(file) }]
}

/// What arrived is looked at before the code is: nothing below "not the data" in the table is blamed for it.
#[test]
fn what_is_no_data_is_not_drift() {
    let page = b"<!DOCTYPE html><html><body>Maintenance</body></html>";
    assert_eq!(call("KeyError", file(page), "import csv"), (Class::NotData, "web-page".to_owned()));
    assert_eq!(call("KeyError", file(b""), "import csv"), (Class::NotData, "nothing-in-it".to_owned()));
    assert_eq!(call("ZeroDivisionError", file(b"\n"), ""), (Class::NotData, "nothing-in-it".to_owned()));
    assert_eq!(call("KeyError", file(page), "from bs4 import BeautifulSoup").0, Class::Drift);
    assert_eq!(call("ConnectionError", file(b""), "").0, Class::Transient, "the table's order holds");
    assert_eq!(call("KeyError", file(b"date,amount\n1,2\n"), "").0, Class::Drift);
}
