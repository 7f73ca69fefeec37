//! What is known of a failing call, in memory: raw, bounded, and never written before the redactor has seen it.

use crate::value::Value;

/// The exception and where it passed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failure {
    /// Dotted class, such as `KeyError` or `json.decoder.JSONDecodeError`.
    pub class: String,
    /// Dotted names of its bases, nearest first, itself not included.
    pub bases: Vec<String>,
    /// The message.
    pub message: String,
    /// `args` of the exception, as values.
    pub args: Vec<Value>,
    /// `errno`, where the exception has one.
    pub errno: Option<i64>,
    /// HTTP status, read from `status`, `status_code`, `code` or `response.status_code` where they hold a plain integer.
    pub http_status: Option<i64>,
    /// The innermost cause or context, if there is one.
    pub cause: Option<Box<Failure>>,
    /// Whether that cause was given by `raise … from`.
    pub explicit_cause: bool,
    /// Project frames, outermost first; the target's own frame is the first of its name.
    pub frames: Vec<Frame>,
    /// Whether the failing statement is a `raise` or `assert` in a project frame.
    pub deliberate: bool,
    /// Whether that statement stands in a helper that an accepted repair wrote: no purpose of the owner's.
    pub by_repair: bool,
}

/// One project frame at the moment of the raise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Qualified name of the function (`<lambda>`, `<genexpr>` and the like as Python names them).
    pub function: String,
    /// File, relative to the project, with `/`.
    pub file: String,
    /// Line in the target's file, from 1; 0 when it lies in another file.
    pub line: usize,
    /// The failing statement's text; empty if unknown.
    pub statement: String,
    /// Local variables, bounded.
    pub locals: Vec<(String, Value)>,
}

/// One argument of the failing call.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// Parameter name.
    pub name: String,
    /// What was passed.
    pub value: Value,
    /// If it names a regular file: what is in it.
    pub file: Option<FileView>,
}

/// The bytes of a file that an argument names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileView {
    /// The first bytes, at most 64 MiB.
    pub bytes: Vec<u8>,
    /// Whether that is all of it.
    pub complete: bool,
    /// Name without folders.
    pub name: String,
}

/// An argument made up for a replay: synthetic, of the old shape, holding no real value (C93).
#[derive(Clone, Debug, PartialEq)]
pub enum TwinValue {
    /// A file of this name with these bytes; the call gets its path.
    File {
        /// Name without folders.
        name: String,
        /// Content.
        bytes: Vec<u8>,
    },
    /// A plain value.
    Value(Value),
}

/// One synthetic call.
#[derive(Clone, Debug, PartialEq)]
pub struct TwinCall {
    /// What it stands for, such as `4 rows` or `no rows`.
    pub label: String,
    /// Arguments by parameter name.
    pub arguments: Vec<(String, TwinValue)>,
}

/// Everything a proposer may look at.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// How the call failed.
    pub failure: Failure,
    /// The arguments as bound.
    pub arguments: Vec<Argument>,
    /// The module's text with `\n` line ends; empty when there is no source.
    pub source: String,
    /// First line of the target's `def` or decorator, from 1.
    pub first_line: usize,
    /// Module names that the target's code reads, where they hold plain data.
    pub globals: Vec<(String, Value)>,
    /// The listed environment variables that are set.
    pub environment: Vec<(String, String)>,
    /// What the result has to be, in the owner's words: fields, types, a schema; null without a contract (C51).
    pub contract: Value,
    /// The program's own log lines before the failure, oldest first.
    pub logs: Vec<String>,
    /// Python's major and minor version.
    pub python: (u8, u8),
}
