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

/// Reads a description made by `sanare._frames.describe`. What is missing or of another type stays empty.
pub fn failure(described: &Bound<'_, PyDict>, frames: Option<&Bound<'_, PyAny>>, origin: Origin) -> Failure {
    let mut args = Reader::new(Limits::EVIDENCE);
    let cause = dict(described, "cause").map(|inner| Box::new(failure(&inner, None, origin)));
    Failure {
        class: text(described, "class"),
        bases: get(described, "bases").map(|bases| items(&bases).iter().map(plain_text).collect()).unwrap_or_default(),
        message: text(described, "message"),
        args: get(described, "args")
            .map(|list| items(&list).iter().map(|item| value(&mut args, item, origin)).collect())
            .unwrap_or_default(),
        errno: integer(described, "errno"),
        http_status: integer(described, "status"),
        cause,
        explicit_cause: flag(described, "explicit"),
        frames: frames
            .map(|list| items(list).iter().filter_map(|item| frame(item, origin)).collect())
            .unwrap_or_default(),
        deliberate: flag(described, "deliberate"),
    }
}

fn frame(item: &Bound<'_, PyAny>, origin: Origin) -> Option<Frame> {
    let described = item.cast::<PyDict>().ok()?;
    let mut reader = Reader::new(Limits::LOCALS);
    let locals = dict(described, "locals")
        .map(|locals| {
            locals.iter().map(|(name, item)| (plain_text(&name), value(&mut reader, &item, origin))).collect()
        })
        .unwrap_or_default();
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
