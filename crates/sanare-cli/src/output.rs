//! Printing: data to standard output, the rest to standard error; a closed pipe is no error.

use std::io::Write as _;

/// What a command prints, and its exit code.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    pub(crate) text: String,
    pub(crate) code: i32,
}

impl Printed {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), code: 0 }
    }

    pub(crate) fn with_code(text: impl Into<String>, code: i32) -> Self {
        Self { text: text.into(), code }
    }
}

/// Why a command ends without its result.
#[derive(Debug)]
pub(crate) struct Exit {
    pub(crate) code: i32,
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl Exit {
    pub(crate) fn usage(message: impl std::fmt::Display) -> Self {
        Self { code: 2, message: message.to_string(), hint: String::new() }
    }

    pub(crate) fn not_found(message: impl std::fmt::Display) -> Self {
        Self { code: 4, message: message.to_string(), hint: "`sanare incidents` lists what there is".to_owned() }
    }

    /// A service that is not configured.
    pub(crate) fn no_service(message: impl std::fmt::Display) -> Self {
        Self::not_found(message).hint("`sanare services` lists what there is")
    }

    pub(crate) fn store(message: impl std::fmt::Display) -> Self {
        Self { code: 5, message: message.to_string(), hint: "`sanare doctor` says what works here".to_owned() }
    }

    pub(crate) fn negative(message: impl std::fmt::Display) -> Self {
        Self { code: 1, message: message.to_string(), hint: String::new() }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

pub(crate) fn print(printed: &Printed) -> i32 {
    let mut out = std::io::stdout().lock();
    let newline = if printed.text.is_empty() || printed.text.ends_with('\n') { "" } else { "\n" };
    match write!(out, "{}{newline}", printed.text).and_then(|()| out.flush()) {
        // A reader that went away (`| head`) has what it wanted.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            complain(&Exit::store(format!("the output cannot be written: {error}")))
        }
        _ => printed.code,
    }
}

pub(crate) fn complain(exit: &Exit) -> i32 {
    let mut err = std::io::stderr().lock();
    let _ = writeln!(err, "error: {}", exit.message);
    if !exit.hint.is_empty() {
        let _ = writeln!(err, "hint: {}", exit.hint);
    }
    exit.code
}
