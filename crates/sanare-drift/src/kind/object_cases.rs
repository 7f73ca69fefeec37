//! What the tests of the kinds of nested data share: a function, its data and how it failed, as text.

use sanare_core::value::Value;

use crate::engine::next_layer;
use crate::object_shape;
use crate::problem::{Answer, Argument, Failure, FileView, Frame, Problem, Runtime};
use crate::shape::{CallShape, Shape};

/// One failing call.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    /// The module; the function is `load`, with one parameter.
    pub source: &'a str,
    /// The good data, as JSON; empty when nothing is remembered.
    pub old: &'a str,
    /// The data of the failing call: JSON, or the text of a file.
    pub new: &'a str,
    /// `Class: message`, and for a `KeyError` the key.
    pub error: &'a str,
    /// A part of the line that failed.
    pub at: &'a str,
    /// Whether the argument names a file with that text.
    pub file: bool,
}

/// Heals layer by layer with one error for each; the source at the end, or the refusal's reason and summary.
pub(crate) fn heal(case: &Case, more: &[(&str, &str)]) -> String {
    let mut source = case.source.to_owned();
    for (error, at) in std::iter::once((case.error, case.at)).chain(more.iter().copied()) {
        match next_layer(&problem(case, &source, error, at)) {
            Answer::Layer(layer) => source = layer.source,
            Answer::Refused(refusal) => return format!("{}: {}", refusal.reason.code(), refusal.summary),
        }
    }
    source
}

fn problem(case: &Case, source: &str, error: &str, at: &str) -> Problem {
    let (class, message) = error.split_once(": ").unwrap_or((error, ""));
    let line = source.lines().position(|line| line.contains(at)).map_or(0, |line| line + 1);
    let args = vec![Value::Text(message.trim_matches('\'').to_owned())];
    let argument = if case.file {
        let file = FileView { bytes: case.new.as_bytes().to_vec(), complete: true, name: "data.json".into() };
        Argument { name: "data".into(), value: Value::Text("/tmp/data.json".into()), file: Some(file) }
    } else {
        let value = object_shape::read_json(case.new).unwrap_or(Value::Text(case.new.to_owned()));
        Argument { name: "data".into(), value, file: None }
    };
    let remembered = object_shape::of_text(case.old)
        .map(|shape| CallShape { arguments: vec![("data".into(), Shape::Object(shape))], result: None });
    Problem {
        source: source.to_owned(),
        function: "load".into(),
        failure: Failure {
            class: class.into(),
            message: message.into(),
            args,
            frames: vec![Frame { function: "load".into(), line, ..Frame::default() }],
            ..Failure::default()
        },
        arguments: vec![argument],
        remembered: remembered.into_iter().collect(),
        runtime: Runtime { python: (3, 12), ..Runtime::default() },
        ..Problem::default()
    }
}

/// Asserts that every part stands in what came out.
#[track_caller]
pub(crate) fn check(case: &Case, parts: &[&str]) {
    check_layers(case, &[], parts);
}

/// The same with further errors, one a layer.
#[track_caller]
pub(crate) fn check_layers(case: &Case, more: &[(&str, &str)], parts: &[&str]) {
    let out = heal(case, more);
    for part in parts {
        assert!(out.contains(part), "{part:?} is not in\n{out}");
    }
    if let Err(broken) = sanare_source::parse::Source::parse(&out)
        && out.contains("def load")
    {
        unreachable!("{broken}\n{out}");
    }
}
