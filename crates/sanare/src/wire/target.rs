//! The target's file: bytes through the hands, text through the parser.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sanare_core::gate::{Check, Gate, GateReport};
use sanare_core::hash::Digest;
use sanare_core::port::target::Placed;
use sanare_core::port::{Target, TargetFault};
use sanare_core::proposal::{Candidate, Rejection};
use sanare_core::receipt::Receipt;
use sanare_effects::apply::{ApplyError, write_atomically};
use sanare_effects::regular_file;
use sanare_effects::source_file::SourceFile;
use sanare_source::parse::Source;
use sanare_source::size::Ranged as _;
use sanare_source::{SeenLiteral, VetContext, vet};

use super::lockfile::LockBook;

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
    lock: Option<Arc<LockBook>>,
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
            lock: None,
        }
    }

    /// What a repair adds to the project's lockfile goes and comes with it.
    #[must_use]
    pub fn with_lock(self, lock: Arc<LockBook>) -> Self {
        Self { lock: Some(lock), ..self }
    }

    fn spliced(&self, candidate: &Candidate) -> Result<Placed, Check> {
        let module = self.file.text_lf();
        let spliced = sanare_source::splice(module, &self.function, self.first_line, &candidate.function)
            .map_err(|error| Check::failed(Gate::Fence, "one_function", error.to_string()))?;
        let bytes = self
            .file
            .replace(spliced.body_start, spliced.body_end, &spliced.new_body)
            .map_err(|error| Check::failed(Gate::Syntax, "encodes", error.to_string()))?;
        let body = (self.file.byte_of(spliced.body_start), self.file.byte_of(spliced.body_end));
        let parsed = Source::parse(&spliced.text).ok();
        let text = parsed.as_ref().and_then(|source| {
            let found = source.function_at(&self.function, self.first_line)?;
            Some(source.slice(found).to_owned())
        });
        let Some(text) = text else {
            return Err(Check::failed(Gate::Fence, "one_function", "the function is not found in the new file"));
        };
        Ok(self.placed(spliced.text, text, &bytes, body))
    }

    /// The texts of the functions of this name in the file as it was read.
    pub fn function_texts(&self) -> Vec<String> {
        function_texts(self.file.text_lf(), &self.function)
    }

    /// The function's body before and after: a span that is found again when the rest of the file changes. Where its
    /// bytes cannot be told, the smallest span that tells the two files apart.
    fn placed(&self, module: String, text: String, bytes: &[u8], body: (Option<usize>, Option<usize>)) -> Placed {
        let old = self.file.bytes();
        let ends = match body {
            (Some(start), Some(end)) => Some((start, old.len().saturating_sub(end))),
            _ => None,
        };
        let outside_is_kept = |(head, tail): &(usize, usize)| {
            head + tail <= old.len().min(bytes.len())
                && old.get(..*head) == bytes.get(..*head)
                && old.get(old.len() - tail..) == bytes.get(bytes.len() - tail..)
        };
        let (head, tail) = ends.filter(outside_is_kept).unwrap_or_else(|| common_ends(old, bytes));
        // As the bytes are, line ends and all, so that `git apply` takes it; in another encoding for people alone.
        let diff = match (std::str::from_utf8(old), std::str::from_utf8(bytes)) {
            (Ok(old), Ok(new)) => unified(old, new, &self.shown_path),
            _ => unified(self.file.text_lf(), &module, &self.shown_path),
        };
        Placed {
            module,
            text,
            before: Digest::of(old),
            after: Digest::of(bytes),
            start: head,
            original: old.get(head..old.len() - tail).unwrap_or_default().to_vec(),
            replacement: bytes.get(head..bytes.len() - tail).unwrap_or_default().to_vec(),
            diff,
        }
    }
}

/// How many bytes are equal at the beginning and, behind that, at the end.
fn common_ends(old: &[u8], new: &[u8]) -> (usize, usize) {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let limit = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(limit).take_while(|(a, b)| a == b).count();
    (head, tail)
}

/// The texts of the functions with this qualified name in a module.
pub fn function_texts(module: &str, function: &str) -> Vec<String> {
    let Ok(source) = Source::parse(module) else { return Vec::new() };
    source.functions(function).into_iter().map(|found| source.slice(found).to_owned()).collect()
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
        // So may layout be all that an owner's command complained of: there the same text is known again, not the same tree.
        let ran = rejected.iter().filter(|rejection| {
            was_run(&rejection.check)
                && (!rejection.check.starts_with("verify/") || rejection.function == candidate.function)
        });
        context.rejected_before = ran.map(|rejection| rejection.function.clone()).collect();
        context.expected_names.clone_from(&candidate.expected_names);
        let seen = |text: &String| SeenLiteral { text: text.clone(), structural: false };
        context.seen_literals = candidate.seen.iter().map(seen).collect();
        vet(self.file.text_lf(), &self.function, &candidate.function, &context)
    }

    fn place(&self, candidate: &Candidate) -> Result<Placed, Check> {
        if let Some(lock) = &self.lock {
            lock.choose(&candidate.function);
        }
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
            false => regular_file::read(&self.path).ok().map(|bytes| Digest::of(&bytes)),
        }
    }

    fn write(&self, receipt: &Receipt) -> Result<(), TargetFault> {
        if self.in_memory {
            return Err(TargetFault::NotWritable("the source is not in a file".to_owned()));
        }
        write(&self.path, receipt)?;
        let Some(lock) = &self.lock else { return Ok(()) };
        // Both or neither: without its lines the repair does not stay.
        lock.add(&receipt.incident.to_string()).or_else(|fault| restore(&self.path, receipt).and(Err(fault)))
    }

    fn restore(&self, receipt: &Receipt) -> Result<(), TargetFault> {
        restore(&self.path, receipt)?;
        super::lockfile::take_back(&self.path, &receipt.incident.to_string())
    }

    fn moved_on(&mut self) -> bool {
        let Ok(now) = SourceFile::read(&self.path) else { return false };
        if self.in_memory || now.bytes() == self.file.bytes() {
            return false;
        }
        let [old] = self.function_texts().try_into().unwrap_or_default();
        let Ok(source) = Source::parse(now.text_lf()) else { return false };
        let line = match source.functions(&self.function).as_slice() {
            [only] if source.slice(*only) == old => source.line(only.range().start().to_usize()),
            _ => return false,
        };
        self.first_line = line;
        self.file = now;
        true
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
    let bytes = regular_file::read(path).map_err(|error| TargetFault::Other(error.to_string()))?;
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

/// How often a file that changes under the hand is read again.
const RESTORES: u32 = 20;

/// Takes a receipt's own span back; what else changed in the file since then stays (C107).
///
/// # Errors
/// [`TargetFault::Changed`] when the span is not as the repair left it.
pub fn restore(path: &Path, receipt: &Receipt) -> Result<(), TargetFault> {
    let mut tries = RESTORES;
    loop {
        let bytes = regular_file::read(path).map_err(|error| TargetFault::Other(error.to_string()))?;
        let changed = taken_back(path, &bytes, receipt).ok_or(TargetFault::Changed)?;
        tries -= 1;
        match act(path, &Digest::of(&bytes), &changed) {
            // Another part of the file was written between the look and the act: the span is looked for again.
            Err(TargetFault::Changed) if tries > 0 => {}
            done => return done,
        }
    }
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

/// The file without the repair: the span where it was put, else its one place in the file, else its one place in the
/// function, else what the repair changed of it, if that stands in one place and is long enough to be told apart.
fn taken_back(path: &Path, bytes: &[u8], receipt: &Receipt) -> Option<Vec<u8>> {
    let Receipt { original, replacement, .. } = receipt;
    if Digest::of(bytes) == receipt.after {
        return exchange(bytes, receipt.start, replacement, original);
    }
    if let Some(start) = place_of(bytes, receipt, path) {
        return exchange(bytes, start, replacement, original);
    }
    let (head, tail) = common_ends(original, replacement);
    let old = original.get(head..original.len() - tail)?;
    let new = replacement.get(head..replacement.len() - tail)?;
    exchange(bytes, only_place(bytes, new)?, new, old)
}

/// Where the whole span of a repair stands in a file that changed since.
fn place_of(bytes: &[u8], receipt: &Receipt, path: &Path) -> Option<usize> {
    if let Some(only) = only_place(bytes, &receipt.replacement) {
        return Some(only);
    }
    // An equal body may stand in another function as well.
    let file = SourceFile::from_bytes(path.to_path_buf(), bytes.to_vec()).ok()?;
    let source = Source::parse(file.text_lf()).ok()?;
    let functions = source.functions(&receipt.function);
    let [only] = functions.as_slice() else { return None };
    let start = file.byte_of(only.range().start().to_usize())?;
    let end = file.byte_of(only.range().end().to_usize())?;
    only_place(bytes.get(start..end)?, &receipt.replacement).map(|at| start + at)
}

/// The one place of these bytes, if they are enough to be told apart.
fn only_place(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    if wanted.len() < 16 {
        return None;
    }
    let mut places = bytes.windows(wanted.len()).enumerate().filter(|(_, window)| *window == wanted).map(|(at, _)| at);
    match (places.next(), places.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

/// The module's text as it would be without a repair that stands in the file.
pub fn without_repair(path: &Path, receipt: &Receipt) -> Option<String> {
    let bytes = taken_back(path, &regular_file::read(path).ok()?, receipt)?;
    SourceFile::from_bytes(path.to_path_buf(), bytes).ok().map(|file| file.text_lf().to_owned())
}

/// First and last line, from 1, of what a repair changed in the file as it is now.
pub fn changed_lines(path: &Path, receipt: &Receipt) -> Option<(usize, usize)> {
    let bytes = regular_file::read(path).ok()?;
    let at_its_place = Digest::of(&bytes) == receipt.after;
    let start = if at_its_place { receipt.start } else { place_of(&bytes, receipt, path)? };
    let (head, tail) = common_ends(&receipt.original, &receipt.replacement);
    let line = |end: usize| bytes.get(..end).map(|part| part.iter().filter(|byte| **byte == b'\n').count() + 1);
    Some((line(start + head)?, line((start + receipt.replacement.len()).saturating_sub(tail))?))
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
