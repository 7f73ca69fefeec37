//! Python values to core's values: bounded, and without running any code of the owner's (C33 to C36).
//!
//! Built-in containers are read through their C structures; of anything else only the type's name and, where asked for,
//! the raw instance dictionary. Tables and arrays of known libraries are recognised without importing the library.

mod library;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple, PyType,
};
use sanare::core::value::Value;
use sanare::core::value::json::shortened;

/// How much of a value is read at most.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Values in all.
    pub nodes: usize,
    /// Bytes of text and binary data in all.
    pub bytes: usize,
    /// Characters of one text, bytes of one binary value; what is longer keeps its head and says its length. 0: a value
    /// is whole or not there.
    pub head: usize,
    /// Columns of a table.
    pub columns: usize,
    /// Items of one container.
    pub items: usize,
    /// Nesting.
    pub depth: usize,
    /// Rows of a table.
    pub rows: usize,
    /// Wall-clock time.
    pub time: Duration,
    /// Whether instances of other classes show their attributes.
    pub objects: bool,
}

impl Limits {
    /// For what is recorded of a failure.
    pub const EVIDENCE: Limits = Limits {
        nodes: 10_000,
        bytes: 256 * 1024,
        head: 8 * 1024,
        columns: 200,
        items: 64,
        depth: 8,
        rows: 3,
        time: Duration::from_millis(5),
        objects: true,
    };
    /// For the local variables of one frame, which the repair engine may look at.
    pub const LOCALS: Limits = Limits {
        nodes: 20_000,
        bytes: 1024 * 1024,
        head: 0,
        columns: 2_000,
        items: 2_000,
        depth: 16,
        rows: 200,
        time: Duration::from_millis(20),
        objects: true,
    };
    /// For the arguments of a call that may be repaired: the whole batch, as far as the repair engine takes it (C52).
    pub const DATA: Limits = Limits {
        nodes: 2_000_000,
        bytes: 64 * 1024 * 1024,
        head: 0,
        columns: 2_000,
        items: 200_000,
        depth: 64,
        rows: 200_000,
        time: Duration::from_millis(1_000),
        objects: false,
    };
    /// For the look at a good call (C48).
    pub const LOOK: Limits = Limits {
        nodes: 4_000,
        bytes: 256 * 1024,
        head: 0,
        columns: 2_000,
        items: 500,
        depth: 16,
        rows: 50,
        time: Duration::from_millis(2),
        objects: false,
    };
}

/// Nodes that may be spent on containers that were read before.
const REPEATED: usize = 10_000;

/// A conversion in progress: what is left of the budgets, and which containers were met.
#[derive(Debug)]
pub struct Reader {
    limits: Limits,
    nodes: usize,
    bytes: usize,
    repeated: usize,
    end: Instant,
    late: bool,
    open: Vec<usize>,
    seen: HashMap<usize, ()>,
    inside_repeated: usize,
}

impl Reader {
    /// A reader with full budgets, which all values that it reads share.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            nodes: 0,
            bytes: 0,
            repeated: 0,
            end: Instant::now() + limits.time,
            late: false,
            open: Vec::new(),
            seen: HashMap::new(),
            inside_repeated: 0,
        }
    }

    /// Reads one of several values that are still to come: none of them may use up what the others need.
    pub fn read_share(&mut self, value: &Bound<'_, PyAny>, left: usize) -> Value {
        let (limits, end) = (self.limits, self.end);
        let part = |spent: usize, limit: usize| spent + limit.saturating_sub(spent).div_ceil(left.max(1));
        self.limits.nodes = part(self.nodes, limits.nodes);
        self.limits.bytes = part(self.bytes, limits.bytes);
        let now = Instant::now();
        self.end = now + end.saturating_duration_since(now) / u32::try_from(left.max(1)).unwrap_or(u32::MAX);
        let read = self.read(value);
        (self.limits, self.end) = (limits, end);
        self.late = Instant::now() > end;
        read
    }

    /// Reads one value.
    pub fn read(&mut self, value: &Bound<'_, PyAny>) -> Value {
        if !self.spend() {
            return Value::Cut(length(value).unwrap_or(1));
        }
        if value.is_none() {
            return Value::Null;
        }
        if let Ok(flag) = value.cast_exact::<PyBool>() {
            return Value::Bool(flag.is_true());
        }
        if let Ok(text) = value.cast::<PyString>() {
            return self.text(text);
        }
        if value.is_instance_of::<PyInt>() {
            return integer(value);
        }
        if let Ok(float) = value.cast::<PyFloat>() {
            return Value::Float(float.value());
        }
        if let Ok(bytes) = value.cast::<PyBytes>() {
            return self.binary(bytes.as_bytes());
        }
        if let Ok(bytes) = value.cast_exact::<PyByteArray>() {
            // Only as much of it as is shown is copied out; the owner may change it at any moment.
            return self.bytearray(bytes);
        }
        self.container(value)
    }

    /// Takes one node from the budgets; false when one of them is used up.
    fn spend(&mut self) -> bool {
        if self.inside_repeated > 0 {
            self.repeated += 1;
        }
        self.nodes += 1;
        if self.nodes.is_multiple_of(128) && Instant::now() > self.end {
            self.late = true;
        }
        !self.late && self.nodes <= self.limits.nodes
    }

    fn text(&mut self, text: &Bound<'_, PyString>) -> Value {
        // The characters are counted first: a long text is not even encoded.
        let length = text_length(text);
        let left = self.limits.bytes.saturating_sub(self.bytes);
        if self.limits.head > 0 && length > self.limits.head.min(left) {
            let Some(head) = head_of(text, self.limits.head.min(left)) else { return Value::Cut(length) };
            self.bytes += head.len();
            return Value::Text(shortened(&head, length));
        }
        if length > left {
            return Value::Cut(length);
        }
        let text = text_of(text);
        self.bytes += text.len();
        Value::Text(text)
    }

    fn bytearray(&mut self, bytes: &Bound<'_, PyByteArray>) -> Value {
        let left = self.limits.bytes.saturating_sub(self.bytes);
        if self.limits.head == 0 && bytes.len() > left {
            return Value::Cut(bytes.len());
        }
        if self.limits.head == 0 || bytes.len() <= self.limits.head.min(left) {
            return self.binary(&bytes.to_vec());
        }
        let head = pyo3::types::PySlice::new(bytes.py(), 0, 1_024, 1);
        let head = bytes.get_item(head).ok().and_then(|head| head.cast_into_exact::<PyByteArray>().ok());
        let head = head.map(|head| head.to_vec()).unwrap_or_default();
        self.bytes += head.len();
        Value::Opaque(format!("{} bytes: {}…", bytes.len(), String::from_utf8_lossy(&head)))
    }

    fn binary(&mut self, bytes: &[u8]) -> Value {
        let left = self.limits.bytes.saturating_sub(self.bytes);
        if self.limits.head > 0 && bytes.len() > self.limits.head.min(left) {
            // A picture of it: the record shows it like bytes that were read whole.
            let head = bytes.get(..1_024.min(left)).unwrap_or_default();
            self.bytes += head.len();
            return Value::Opaque(format!("{} bytes: {}…", bytes.len(), String::from_utf8_lossy(head)));
        }
        if bytes.len() > left {
            return Value::Cut(bytes.len());
        }
        self.bytes += bytes.len();
        Value::Bytes(bytes.to_vec())
    }

    fn container(&mut self, value: &Bound<'_, PyAny>) -> Value {
        let address = value.as_ptr() as usize;
        if self.open.contains(&address) {
            return Value::Opaque("<same as above>".to_owned());
        }
        let again = self.seen.insert(address, ()).is_some();
        if again && self.repeated > REPEATED {
            return Value::Opaque("<same as before>".to_owned());
        }
        if self.open.len() >= self.limits.depth {
            return Value::Cut(length(value).unwrap_or(1));
        }
        self.open.push(address);
        self.inside_repeated += usize::from(again);
        let read = self.inside(value);
        self.inside_repeated -= usize::from(again);
        self.open.pop();
        read
    }

    fn inside(&mut self, value: &Bound<'_, PyAny>) -> Value {
        if let Ok(dict) = value.cast::<PyDict>() {
            return self.mapping(dict);
        }
        if let Ok(list) = value.cast::<PyList>() {
            return self.sequence(list.len(), |place| list.get_item(place).ok());
        }
        if let Ok(tuple) = value.cast::<PyTuple>() {
            if let Some(names) = field_names(value, tuple.len()) {
                let items = names.into_iter().zip(tuple.iter()).map(|(name, item)| (name, self.read(&item)));
                return Value::Map(items.collect());
            }
            return self.sequence(tuple.len(), |place| tuple.get_item(place).ok());
        }
        if let Ok(set) = value.cast_exact::<PySet>() {
            return self.unordered(set.iter(), set.len());
        }
        if let Ok(set) = value.cast_exact::<PyFrozenSet>() {
            return self.unordered(set.iter(), set.len());
        }
        self.other(value)
    }

    fn sequence<'py>(&mut self, length: usize, item: impl Fn(usize) -> Option<Bound<'py, PyAny>>) -> Value {
        let mut items = Vec::with_capacity(length.min(self.limits.items).min(1_024));
        for place in 0..length {
            let next = if place < self.limits.items && !self.spent() { item(place) } else { None };
            let Some(next) = next else {
                items.push(Value::Cut(length));
                break;
            };
            items.push(self.read(&next));
        }
        Value::List(items)
    }

    fn unordered<'py>(&mut self, set: impl Iterator<Item = Bound<'py, PyAny>>, length: usize) -> Value {
        let mut items: Vec<Value> = Vec::new();
        for item in set.take(self.limits.items) {
            if self.spent() {
                break;
            }
            items.push(self.read(&item));
        }
        items.sort_by_cached_key(|item| format!("{item:?}"));
        if items.len() < length {
            items.push(Value::Cut(length));
        }
        Value::List(items)
    }

    fn mapping(&mut self, dict: &Bound<'_, PyDict>) -> Value {
        let mut entries = Vec::with_capacity(dict.len().min(self.limits.items));
        for (place, (key, item)) in dict.iter().enumerate() {
            if place >= self.limits.items || self.spent() {
                entries.push(("...".to_owned(), Value::Cut(dict.len())));
                break;
            }
            let key = self.key(&key);
            entries.push((key, self.read(&item)));
        }
        Value::Map(entries)
    }

    /// A key as text: text as it is, other plain values as their literal.
    fn key(&mut self, key: &Bound<'_, PyAny>) -> String {
        match self.read(key) {
            Value::Text(text) => text,
            other => literal(&other),
        }
    }

    fn spent(&self) -> bool {
        self.late || self.nodes >= self.limits.nodes
    }

    fn other(&mut self, value: &Bound<'_, PyAny>) -> Value {
        let kind = value.get_type();
        let name = type_name(&kind);
        if library::is_of_library(&kind, &name)
            && let Some(read) = self.library(value, &name)
        {
            return read;
        }
        if !self.limits.objects {
            return Value::Opaque(name);
        }
        match instance_dict(value) {
            Some(attributes) if !attributes.is_empty() => {
                let mut entries = vec![("__class__".to_owned(), Value::Opaque(name))];
                if let Value::Map(read) = self.mapping(&attributes) {
                    entries.extend(read);
                }
                Value::Map(entries)
            }
            _ => Value::Opaque(name),
        }
    }
}

/// A plain value as its Python literal, for keys that are not text.
pub fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Text(text) => format!("{text:?}"),
        Value::List(items) => {
            let comma = if items.len() == 1 { "," } else { "" };
            format!("({}{comma})", items.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        Value::Bytes(bytes) => format!("b\"{}\"", bytes.escape_ascii()),
        other => format!("<{}>", other.type_name()),
    }
}

fn integer(value: &Bound<'_, PyAny>) -> Value {
    // Of an integer's subclass the C digits are read too; nothing of the class is asked.
    if value.is_exact_instance_of::<PyInt>() || value.is_instance_of::<PyInt>() {
        let mut overflow = 0;
        // SAFETY: the object is an instance of `int` and stays alive for the call; with an overflow nothing is raised.
        #[expect(unsafe_code, reason = "reads the digits of an int subclass without asking its class")]
        let number = unsafe { pyo3::ffi::PyLong_AsLongLongAndOverflow(value.as_ptr(), &raw mut overflow) };
        if overflow == 0 {
            return Value::Int(number);
        }
    }
    Value::Opaque(type_name(&value.get_type()))
}

/// Dotted name of a type, built-in ones without their module; read through `type` itself, whatever its metaclass is.
pub fn type_name(kind: &Bound<'_, PyType>) -> String {
    let read = |name: &str| -> Option<String> {
        let kinds = kind.py().get_type::<PyType>();
        let text = kinds.call_method1("__getattribute__", (kind, name)).ok()?.cast_into_exact::<PyString>().ok()?;
        Some(text_of(&text))
    };
    let qualname = read("__qualname__").unwrap_or_else(|| "object".to_owned());
    match read("__module__") {
        Some(module) if module != "builtins" => format!("{module}.{qualname}"),
        _ => qualname,
    }
}

/// Number of characters of a text, of a subclass too.
fn text_length(text: &Bound<'_, PyString>) -> usize {
    // SAFETY: the object is an instance of `str` and stays alive for the call.
    #[expect(unsafe_code, reason = "`len` would ask the class of a str subclass")]
    let length = unsafe { pyo3::ffi::PyUnicode_GetLength(text.as_ptr()) };
    usize::try_from(length).unwrap_or(usize::MAX)
}

/// A text as Rust has it, lone surrogates replaced. The owner's object does not keep the encoded copy.
pub fn text_of(text: &Bound<'_, PyString>) -> String {
    // SAFETY: the object is an instance of `str`; the call gives a new reference or null with an error set.
    #[expect(unsafe_code, reason = "the safe way leaves an encoded copy inside the owner's object")]
    let encoded = unsafe { Bound::from_owned_ptr_or_err(text.py(), pyo3::ffi::PyUnicode_AsUTF8String(text.as_ptr())) };
    match encoded.ok().and_then(|bytes| bytes.cast_into_exact::<PyBytes>().ok()) {
        Some(bytes) => String::from_utf8_lossy(bytes.as_bytes()).into_owned(),
        None => text.to_string_lossy().into_owned(),
    }
}

/// The first characters of a text, without touching the rest of it.
fn head_of(text: &Bound<'_, PyString>, characters: usize) -> Option<String> {
    let end = isize::try_from(characters).ok()?;
    // SAFETY: the object is an instance of `str`; the call gives a new reference or null with an error set.
    #[expect(unsafe_code, reason = "a slice would ask the class of a str subclass")]
    let head =
        unsafe { Bound::from_owned_ptr_or_err(text.py(), pyo3::ffi::PyUnicode_Substring(text.as_ptr(), 0, end)) };
    head.ok()?.cast_into::<PyString>().ok().map(|head| text_of(&head))
}

/// The raw instance dictionary, as `object` itself gives it.
fn instance_dict<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyDict>> {
    let object = value.py().get_type::<PyAny>();
    object.call_method1("__getattribute__", (value, "__dict__")).ok()?.cast_into_exact::<PyDict>().ok()
}

/// Field names of a named tuple, if the class says them as plain text.
fn field_names(value: &Bound<'_, PyAny>, length: usize) -> Option<Vec<String>> {
    if value.is_exact_instance_of::<PyTuple>() {
        return None;
    }
    let kind = value.get_type();
    let kinds = value.py().get_type::<PyType>();
    let fields = kinds.call_method1("__getattribute__", (kind, "_fields")).ok()?.cast_into_exact::<PyTuple>().ok()?;
    if fields.len() != length {
        return None;
    }
    fields.iter().map(|field| field.cast_exact::<PyString>().ok().map(text_of)).collect()
}

/// Length of a built-in container or text, without asking anything else.
fn length(value: &Bound<'_, PyAny>) -> Option<usize> {
    if let Ok(dict) = value.cast::<PyDict>() {
        Some(dict.len())
    } else if let Ok(list) = value.cast::<PyList>() {
        Some(list.len())
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        Some(tuple.len())
    } else if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
        value
            .cast::<PyString>()
            .map(text_length)
            .or_else(|_| value.cast::<PyBytes>().map(|bytes| bytes.as_bytes().len()))
            .ok()
    } else {
        None
    }
}
