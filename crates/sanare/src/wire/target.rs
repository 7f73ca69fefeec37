//! The target's file: bytes through the hands, text through the parser.

use std::path::{Path, PathBuf};

use sanare_core::gate::{Check, Gate, GateReport};
use sanare_core::hash::Digest;
use sanare_core::port::target::Placed;
use sanare_core::port::{Target, TargetFault};
use sanare_core::proposal::{Candidate, Rejection};
use sanare_core::receipt::Receipt;
use sanare_effects::apply::{ApplyError, write_atomically};
use sanare_effects::source_file::SourceFile;
use sanare_source::{VetContext, vet};

/// A source file with one function that may change.
#[derive(Debug)]
pub struct SourceTarget {
    path: PathBuf,
    shown_path: String,
    path_text: String,
    file: SourceFile,
    function: String,
    first_line: usize,
    stop: PathBuf,
    context: VetContext,
    unsupported: Option<String>,
    in_memory: bool,
}

/// What a [`SourceTarget`] is made from.
#[derive(Debug)]
pub struct TargetSettings<'a> {
    /// The file.
    pub path: &'a Path,
    /// The same, relative to the project, for people.
    pub shown_path: &'a str,
    /// Qualified name of the function.
    pub function: &'a str,
    /// First line of its `def` or decorator.
    pub first_line: usize,
    /// The file whose presence stops all acting.
    pub stop: PathBuf,
    /// What the static gates need to know.
    pub context: VetContext,
    /// Set when the file may not be changed at all (C101): why.
    pub unsupported: Option<String>,
}

impl SourceTarget {
    /// Reads the file.
    ///
    /// # Errors
    /// The reason in words.
    pub fn read(settings: TargetSettings<'_>) -> Result<Self, String> {
        let file = SourceFile::read(settings.path).map_err(|error| error.to_string())?;
        Ok(Self::of(settings, file, false))
    }

    /// A source that is no file: what it is repaired to stays in the running program.
    ///
    /// # Errors
    /// The reason in words.
    pub fn in_memory(settings: TargetSettings<'_>, text: &str) -> Result<Self, String> {
        let file = SourceFile::from_bytes(settings.path.to_owned(), text.as_bytes().to_vec())
            .map_err(|error| error.to_string())?;
        Ok(Self::of(settings, file, true))
    }

    fn of(settings: TargetSettings<'_>, file: SourceFile, in_memory: bool) -> Self {
        Self {
            path: settings.path.to_owned(),
            shown_path: settings.shown_path.to_owned(),
            path_text: settings.path.display().to_string(),
            file,
            function: settings.function.to_owned(),
            first_line: settings.first_line,
            stop: settings.stop,
            context: settings.context,
            unsupported: settings.unsupported,
            in_memory,
        }
    }

    fn spliced(&self, candidate: &Candidate) -> Result<Placed, Check> {
        let module = self.file.text_lf();
        let spliced = sanare_source::splice(module, &self.function, self.first_line, &candidate.function)
            .map_err(|error| Check::failed(Gate::Fence, "one_function", error.to_string()))?;
        let bytes = self
            .file
            .replace(spliced.body_start, spliced.body_end, &spliced.new_body)
            .map_err(|error| Check::failed(Gate::Syntax, "encodes", error.to_string()))?;
        Ok(self.placed(spliced.text, &bytes))
    }

    /// The smallest span of bytes that tells the two files apart.
    fn placed(&self, module: String, bytes: &[u8]) -> Placed {
        let old = self.file.bytes();
        let head = old.iter().zip(bytes).take_while(|(a, b)| a == b).count();
        let tail_limit = old.len().min(bytes.len()) - head;
        let tail = old.iter().rev().zip(bytes.iter().rev()).take(tail_limit).take_while(|(a, b)| a == b).count();
        // As the bytes are, line ends and all, so that `git apply` takes it; in another encoding for people alone.
        let diff = match (std::str::from_utf8(old), std::str::from_utf8(bytes)) {
            (Ok(old), Ok(new)) => unified(old, new, &self.shown_path),
            _ => unified(self.file.text_lf(), &module, &self.shown_path),
        };
        Placed {
            module,
            before: Digest::of(old),
            after: Digest::of(bytes),
            start: head,
            original: old.get(head..old.len() - tail).unwrap_or_default().to_vec(),
            replacement: bytes.get(head..bytes.len() - tail).unwrap_or_default().to_vec(),
            diff,
        }
    }
}

/// A unified diff with three lines of context and `a/`, `b/` paths.
pub fn unified(old: &str, new: &str, path: &str) -> String {
    let diff = similar::TextDiff::from_lines(old, new);
    diff.unified_diff().context_radius(3).header(&format!("a/{path}"), &format!("b/{path}")).to_string()
}

impl Target for SourceTarget {
    fn path(&self) -> &str {
        &self.path_text
    }

    fn module(&self) -> &str {
        self.file.text_lf()
    }

    fn vet(&self, candidate: &Candidate, rejected: &[Rejection]) -> GateReport {
        let mut context = self.context.clone();
        // What a look refused is looked at again: a header, a comment or a log line may be all that was wrong with it.
        let ran = rejected.iter().filter(|rejection| was_run(&rejection.check));
        context.rejected_before = ran.map(|rejection| rejection.function.clone()).collect();
        context.expected_names.clone_from(&candidate.expected_names);
        vet(self.file.text_lf(), &self.function, &candidate.function, &context)
    }

    fn place(&self, candidate: &Candidate) -> Result<Placed, Check> {
        self.spliced(candidate)
    }

    fn unwritable(&self) -> Option<String> {
        if self.in_memory {
            return Some("the source is not in a file".to_owned());
        }
        let refused = self.unsupported.clone();
        refused.or_else(|| sanare_effects::apply::writable(&self.path).err().map(|error| error.to_string()))
    }

    fn digest_now(&self) -> Option<Digest> {
        match self.in_memory {
            true => Some(Digest::of(self.file.bytes())),
            false => std::fs::read(&self.path).ok().map(|bytes| Digest::of(&bytes)),
        }
    }

    fn write(&self, receipt: &Receipt) -> Result<(), TargetFault> {
        if self.in_memory {
            return Err(TargetFault::NotWritable("the source is not in a file".to_owned()));
        }
        write(&self.path, receipt)
    }

    fn restore(&self, receipt: &Receipt) -> Result<(), TargetFault> {
        restore(&self.path, receipt)
    }

    fn stopped(&self) -> bool {
        self.stop.exists()
    }
}

/// Whether a candidate was judged by what it did: the same again would do the same.
fn was_run(check: &str) -> bool {
    !["syntax/", "fence/", "overfit/", "safety/"].iter().any(|gate| check.starts_with(gate))
}

/// Writes a receipt's change into a file that is as it was before.
///
/// # Errors
/// [`TargetFault`]; the file is then whole, old or new.
pub fn write(path: &Path, receipt: &Receipt) -> Result<(), TargetFault> {
    let bytes = std::fs::read(path).map_err(|error| TargetFault::Other(error.to_string()))?;
    if Digest::of(&bytes) != receipt.before {
        return Err(TargetFault::Changed);
    }
    let changed =
        exchange(&bytes, receipt.start, &receipt.original, &receipt.replacement).ok_or(TargetFault::Changed)?;
    if Digest::of(&changed) != receipt.after {
        return Err(TargetFault::Changed);
    }
    act(path, &receipt.before, &changed)
}

/// Takes a receipt's own span back; what else changed in the file since then stays (C107).
///
/// # Errors
/// [`TargetFault::Changed`] when the span is not as the repair left it.
pub fn restore(path: &Path, receipt: &Receipt) -> Result<(), TargetFault> {
    let bytes = std::fs::read(path).map_err(|error| TargetFault::Other(error.to_string()))?;
    let start = if Digest::of(&bytes) == receipt.after { Some(receipt.start) } else { only_place(&bytes, receipt) };
    let changed = start
        .and_then(|start| exchange(&bytes, start, &receipt.replacement, &receipt.original))
        .ok_or(TargetFault::Changed)?;
    act(path, &Digest::of(&bytes), &changed)
}

fn act(path: &Path, before: &Digest, bytes: &[u8]) -> Result<(), TargetFault> {
    match write_atomically(path, before, bytes) {
        // Not yet durable: the new text is in place, and the receipt tells the next start what a power cut made of it.
        Ok(_) | Err(ApplyError::NotDurable(_)) => Ok(()),
        Err(ApplyError::Changed { .. } | ApplyError::Overwritten { .. }) => Err(TargetFault::Changed),
        Err(ApplyError::DiskFull(_)) => Err(TargetFault::DiskFull),
        Err(error @ ApplyError::NotWritable(_)) => Err(TargetFault::NotWritable(error.to_string())),
        Err(other) => Err(TargetFault::Other(other.to_string())),
    }
}

/// Bytes with one span exchanged; `None` where it does not stand there.
pub(crate) fn exchange(bytes: &[u8], start: usize, old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    let end = start.checked_add(old.len())?;
    if bytes.get(start..end)? != old {
        return None;
    }
    let mut out = Vec::with_capacity(bytes.len() - old.len() + new.len());
    out.extend_from_slice(bytes.get(..start)?);
    out.extend_from_slice(new);
    out.extend_from_slice(bytes.get(end..)?);
    Some(out)
}

/// The one place where the repair's span stands now, long enough to be told apart.
fn only_place(bytes: &[u8], receipt: &Receipt) -> Option<usize> {
    let wanted = receipt.replacement.as_slice();
    if wanted.len() < 16 {
        return None;
    }
    let mut places = bytes.windows(wanted.len()).enumerate().filter(|(_, window)| *window == wanted).map(|(at, _)| at);
    match (places.next(), places.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{exchange, unified};

    #[test]
    fn a_span_is_exchanged_only_where_it_stands() {
        assert_eq!(exchange(b"abcdef", 2, b"cd", b"XYZ").as_deref(), Some(b"abXYZef".as_slice()));
        assert_eq!(exchange(b"abcdef", 1, b"cd", b"X"), None);
    }

    #[test]
    fn a_diff_names_both_sides() {
        let text = unified("a\nb\n", "a\nc\n", "job.py");
        assert!(text.starts_with("--- a/job.py\n+++ b/job.py\n"), "{text}");
    }
}
