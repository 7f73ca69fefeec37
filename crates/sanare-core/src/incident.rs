//! One failure on its way through the steps: what it is about and under which rules it runs.

use serde::{Deserialize, Serialize};

use crate::hash::Digest;
use crate::id::Id;

/// What may be done with a failure (C9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Policy decides between acting, asking and refusing.
    #[default]
    Auto,
    /// Everything up to the gates, then wait for a person.
    Ask,
    /// Everything up to the gates, then close with what would have been done.
    DryRun,
    /// Classify, capture, record; propose nothing.
    Observe,
    /// Nothing.
    Off,
}

/// When the owner's call may run a second time (C111).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rerun {
    /// Only when it is provably safe.
    #[default]
    Safe,
    /// The owner says that running twice is harmless.
    Always,
    /// Not at all.
    Never,
}

/// Where a repair is put.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Write {
    /// The source file and the running function.
    #[default]
    File,
    /// The running function alone.
    Memory,
}

/// Who makes proposals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposerName {
    /// The offline drift engine.
    Drift,
    /// A language model.
    Model,
}

/// The rules of one incident, fixed when it opens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// See [`Mode`].
    pub mode: Mode,
    /// See [`Rerun`].
    pub rerun: Rerun,
    /// See [`Write`].
    pub write: Write,
    /// How many candidates may be tried.
    pub attempts: u32,
    /// Milliseconds from the raise to the end.
    pub deadline_ms: u64,
    /// Tiers that may be applied without a person.
    pub automatic_tiers: Vec<String>,
    /// Whether a trial without isolation counts.
    pub accept_unisolated: bool,
    /// Whether a model's repair may be applied although nothing but the symptom confirms it.
    #[serde(default)]
    pub unverified: bool,
    /// Whether such a repair is refused, without asking a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unverified_refused: bool,
    /// Milliseconds for which a question to a person stands.
    #[serde(default = "week")]
    pub approval_expires_ms: u64,
}

fn week() -> u64 {
    168 * 60 * 60 * 1_000
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            mode: Mode::Auto,
            rerun: Rerun::Safe,
            write: Write::File,
            attempts: 3,
            deadline_ms: 120_000,
            automatic_tiers: vec!["A".to_owned(), "B".to_owned()],
            accept_unisolated: false,
            unverified: false,
            unverified_refused: false,
            approval_expires_ms: week(),
        }
    }
}

/// What an incident is about. Plain facts, fixed when it opens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    /// Its id.
    pub id: Id,
    /// Equal failures share it (C120).
    pub fingerprint: Digest,
    /// The project's name.
    pub project: String,
    /// The target's file, relative to the project.
    pub path: String,
    /// The target's qualified name.
    pub function: String,
    /// Line of the failing statement in the target's file, from 1; 0 if unknown.
    pub line: usize,
    /// Dotted class of the exception.
    pub error: String,
    /// Hash of the code that failed, as the host gives it; empty when it is not known. In records it has a name under
    /// which no secret is looked for.
    #[serde(default, rename = "function_hash")]
    pub code: String,
    /// The process that runs it, by a mark that no other process ever has.
    pub process: String,
    /// When it was opened, in milliseconds since 1970.
    pub opened_at: u64,
    /// Its rules.
    pub rules: Rules,
}

/// The parts of a failure that make two failures the same one (C120).
#[derive(Clone, Debug, Default)]
pub struct FingerprintParts<'a> {
    /// Project name.
    pub project: &'a str,
    /// File relative to the project, with `/`.
    pub path: &'a str,
    /// Qualified name.
    pub function: &'a str,
    /// Dotted exception class.
    pub class: &'a str,
    /// Dotted class of the innermost cause; empty without one.
    pub cause: &'a str,
    /// The failing statement, white space folded.
    pub statement: &'a str,
    /// The message after redaction.
    pub message: &'a str,
}

/// SHA-256 over the length-prefixed parts, the message generalised (C120).
pub fn fingerprint(parts: &FingerprintParts<'_>) -> Digest {
    let statement = parts.statement.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = generalise(parts.message);
    Digest::of_parts(&[
        b"sanare-c1",
        parts.project.as_bytes(),
        parts.path.as_bytes(),
        parts.function.as_bytes(),
        parts.class.as_bytes(),
        parts.cause.as_bytes(),
        statement.as_bytes(),
        message.as_bytes(),
    ])
}

/// Replaces what changes from one failure of a kind to the next: numbers outside quotes, hex words of 8 or more digits,
/// absolute paths. Quoted names stay. Cut at 500 characters.
fn generalise(message: &str) -> String {
    let mut out = String::new();
    let mut quote: Option<char> = None;
    let mut word = String::new();
    for symbol in message.chars().chain(std::iter::once('\n')) {
        let in_word = symbol.is_alphanumeric() || (quote.is_none() && matches!(symbol, '-' | '.' | '/' | ':' | '_'));
        if quote.is_none() && in_word {
            word.push(symbol);
            continue;
        }
        if !word.is_empty() {
            out.push_str(&general_word(&word));
            word.clear();
        }
        match quote {
            Some(open) if symbol == open => quote = None,
            None if symbol == '\'' || symbol == '"' => quote = Some(symbol),
            _ => {}
        }
        out.push(symbol);
    }
    out.trim_end().chars().take(500).collect()
}

fn general_word(word: &str) -> String {
    let bare: String = word.chars().filter(|c| *c != '-').collect();
    let hex =
        bare.len() >= 8 && bare.chars().all(|c| c.is_ascii_hexdigit()) && bare.chars().any(|c| c.is_ascii_digit());
    if hex {
        return "<id>".to_owned();
    }
    if word.starts_with('/') && word.len() > 1 {
        return "<path>".to_owned();
    }
    let mut out = String::new();
    let mut in_number = false;
    for symbol in word.chars() {
        if symbol.is_ascii_digit() {
            if !in_number {
                out.push('#');
            }
            in_number = true;
        } else {
            in_number = false;
            out.push(symbol);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{FingerprintParts, fingerprint};

    fn of(message: &str) -> String {
        fingerprint(&FingerprintParts { class: "KeyError", message, ..FingerprintParts::default() }).to_string()
    }

    #[test]
    fn row_numbers_do_not_matter_and_quoted_names_do() {
        assert_eq!(of("row 5 is bad"), of("row 812 is bad"));
        assert_eq!(of("no /tmp/a1/x.csv"), of("no /var/b/y.csv"));
        assert_eq!(of("job 0f8fad5b-d9cb-469f-a165-70867728950e"), of("job 7c9e6679-7425-40de-944b-e07fc1f90ae7"));
        assert_ne!(of("'amount'"), of("'osszeg'"));
        assert_ne!(of("'q1'"), of("'q2'"));
    }
}
