//! An exception as Python described it, as the engine takes it.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use sanare::core::evidence::{Failure, Frame};
use sanare::core::value::Value;

use crate::back::{items, unmark};
use crate::convert::{Limits, Reader, text_of};

/// Whether values in the description are the owner's raw objects, or plain data that a child sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Raw objects of the failing process.
    Live,
    /// Plain data with marks.
    Child,
}

/// Reads a description made by `sanare._frames.describe`, without its frames. What is missing or of another type stays
/// empty.
pub fn failure(described: &Bound<'_, PyDict>, reader: &mut Reader, origin: Origin) -> Failure {
    let args = get(described, "args").map(|list| items(&list)).unwrap_or_default();
    Failure {
        class: text(described, "class"),
        bases: get(described, "bases").map(|bases| items(&bases).iter().map(plain_text).collect()).unwrap_or_default(),
        message: text(described, "message"),
        args: args.iter().map(|item| value(reader, item, origin)).collect(),
        errno: integer(described, "errno"),
        http_status: integer(described, "status"),
        cause: dict(described, "cause").map(|inner| Box::new(failure(&inner, reader, origin))),
        explicit_cause: flag(described, "explicit"),
        frames: Vec::new(),
        deliberate: flag(described, "deliberate"),
        by_repair: false,
    }
}

/// The same with its frames, each read within budgets of its own.
pub fn whole_failure(described: &Bound<'_, PyDict>, origin: Origin) -> Failure {
    let mut failure = failure(described, &mut Reader::new(Limits::EVIDENCE), origin);
    if let Some(list) = get(described, "frames") {
        failure.frames = frames(&list, None, origin);
    }
    failure
}

/// Frames, outermost first as they came. With a shared reader the innermost is read first, so that it is cut last;
/// without one each has budgets of its own.
pub fn frames(list: &Bound<'_, PyAny>, mut shared: Option<&mut Reader>, origin: Origin) -> Vec<Frame> {
    let mut frames: Vec<Frame> = items(list)
        .iter()
        .rev()
        .filter_map(|item| match &mut shared {
            Some(reader) => frame(item, reader, origin),
            None => frame(item, &mut Reader::new(Limits::LOCALS), origin),
        })
        .collect();
    frames.reverse();
    frames
}

fn frame(item: &Bound<'_, PyAny>, reader: &mut Reader, origin: Origin) -> Option<Frame> {
    let described = item.cast::<PyDict>().ok()?;
    let mut locals = Vec::new();
    if let Some(given) = dict(described, "locals") {
        for (place, (name, item)) in given.iter().enumerate() {
            let read = reader.read_share(&item, given.len() - place);
            locals.push((plain_text(&name), if origin == Origin::Child { unmark(read) } else { read }));
        }
    }
    Some(Frame {
        function: text(described, "function"),
        file: text(described, "file"),
        line: integer(described, "line").and_then(|line| usize::try_from(line).ok()).unwrap_or(0),
        statement: text(described, "statement"),
        locals,
    })
}

fn value(reader: &mut Reader, item: &Bound<'_, PyAny>, origin: Origin) -> Value {
    let read = reader.read(item);
    if origin == Origin::Child { unmark(read) } else { read }
}

/// An entry of a dictionary with text keys; `None` where it is missing or `None`.
pub fn get<'py>(dict: &Bound<'py, PyDict>, name: &str) -> Option<Bound<'py, PyAny>> {
    dict.get_item(name).ok().flatten().filter(|found| !found.is_none())
}

/// A dictionary inside a dictionary.
pub fn dict<'py>(outer: &Bound<'py, PyDict>, name: &str) -> Option<Bound<'py, PyDict>> {
    get(outer, name)?.cast_into::<PyDict>().ok()
}

/// A text entry; empty where it is missing.
pub fn text(dict: &Bound<'_, PyDict>, name: &str) -> String {
    get(dict, name).as_ref().map(plain_text).unwrap_or_default()
}

/// A whole number.
pub fn integer(dict: &Bound<'_, PyDict>, name: &str) -> Option<i64> {
    get(dict, name)?.extract().ok()
}

/// A flag; false where it is missing.
pub fn flag(dict: &Bound<'_, PyDict>, name: &str) -> bool {
    get(dict, name).and_then(|found| found.extract().ok()).unwrap_or(false)
}

/// A text object as text; anything else is empty.
pub fn plain_text(value: &Bound<'_, PyAny>) -> String {
    value.cast::<PyString>().map(text_of).unwrap_or_default()
}
