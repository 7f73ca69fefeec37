//! A Python source file as bytes and as text, and the exact way back from one to the other.

mod encoding;

pub use encoding::{Encoding, UnknownEncoding};

use std::io::Read as _;
use std::path::{Path, PathBuf};

use sanare_core::hash::Digest;

/// Larger files are not source that a person wrote.
const LARGEST: u64 = 16 * 1024 * 1024;

/// A source file as it was read.
#[derive(Clone, Debug)]
pub struct SourceFile {
    path: PathBuf,
    bytes: Vec<u8>,
    digest: Digest,
    encoding: Encoding,
    text: String,
    lines: Vec<Line>,
}

/// One of the three ends of a line. Form feed, vertical tab, U+0085, U+2028 and U+2029 are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// `\n`.
    Lf,
    /// `\r\n`.
    CrLf,
    /// `\r`.
    Cr,
}

/// Why a source file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadSource {
    /// There is no such file, or a part of its path is a file (a zip, say).
    #[error("there is no source file at `{0}`")]
    Missing(PathBuf),
    /// A folder, device, pipe or socket.
    #[error("not a regular file: `{0}`")]
    NotAFile(PathBuf),
    /// Too large for source.
    #[error("larger than {LARGEST} bytes: `{0}`")]
    TooLarge(PathBuf),
    /// The encoding is not one that is written here.
    #[error(transparent)]
    Encoding(#[from] UnknownEncoding),
    /// A byte that the file's encoding does not have.
    #[error("byte {at} is not {encoding}")]
    NotInEncoding {
        /// The declared or implied encoding.
        encoding: &'static str,
        /// Offset in the file.
        at: usize,
    },
    /// Python refuses such a file too.
    #[error("the file holds a NUL character at byte {0}")]
    Nul(usize),
    /// The system said no.
    #[error("cannot read `{path}`")]
    Io {
        /// What was to be read.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
}

/// Why a replacement could not be written in the file's own form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotEncode {
    /// The encoding lacks a character.
    #[error("{encoding} has no character U+{:04X}", *.character as u32)]
    Character {
        /// The file's encoding.
        encoding: &'static str,
        /// The character.
        character: char,
        /// Its offset in the new text.
        at: usize,
    },
    /// The offsets lie outside the text or inside a character.
    #[error("{start}..{end} is not a range of the text")]
    Range {
        /// First offset.
        start: usize,
        /// One past the last.
        end: usize,
    },
    /// The new text brings a carriage return or NUL of its own.
    #[error("the new text holds a carriage return or NUL at {0}")]
    ControlCharacter(usize),
    /// Written so, neighbouring line ends would flow together, or the file would be read in another encoding.
    #[error("the file would not read back as the intended text")]
    ReadsDifferently,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    /// Where the line starts in the text.
    text: usize,
    /// Where it starts in the file.
    byte: usize,
    /// How it ends; the last line may not.
    end: Option<LineEnd>,
}

impl SourceFile {
    /// Reads a file, following links.
    pub fn read(path: &Path) -> Result<Self, ReadSource> {
        let fault = |source: std::io::Error| match source.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => ReadSource::Missing(path.to_owned()),
            _ => ReadSource::Io { path: path.to_owned(), source },
        };
        let real = path.canonicalize().map_err(fault)?;
        if !real.metadata().map_err(fault)?.is_file() {
            return Err(ReadSource::NotAFile(real));
        }
        let mut bytes = Vec::new();
        crate::regular_file::open(&real).map_err(fault)?.take(LARGEST + 1).read_to_end(&mut bytes).map_err(fault)?;
        if bytes.len() as u64 > LARGEST {
            return Err(ReadSource::TooLarge(real));
        }
        Self::from_bytes(real, bytes)
    }

    /// The same from bytes that are already here.
    pub fn from_bytes(path: PathBuf, bytes: Vec<u8>) -> Result<Self, ReadSource> {
        let encoding = Encoding::detect(&bytes)?;
        let mark = encoding.mark_len();
        let raw = encoding
            .decode(bytes.get(mark..).unwrap_or_default())
            .map_err(|at| ReadSource::NotInEncoding { encoding: encoding.name(), at: mark + at })?;
        if raw.contains('\0') {
            return Err(ReadSource::Nul(bytes.iter().position(|byte| *byte == 0).unwrap_or_default()));
        }
        let (text, lines) = unify(&raw, mark, encoding.is_utf8());
        Ok(Self { digest: Digest::of(&bytes), path, bytes, encoding, text, lines })
    }

    /// The path behind all links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes as they were read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The digest of all bytes.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The file's encoding.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// The text without mark, with every line end as `\n`.
    pub fn text_lf(&self) -> &str {
        &self.text
    }

    /// Where an offset of the text lies in the file; `None` inside a character or past the end.
    pub fn byte_of(&self, offset: usize) -> Option<usize> {
        if !self.text.is_char_boundary(offset) {
            return None;
        }
        let line = self.line_of(offset)?;
        let into = self.text.get(line.text..offset)?;
        Some(line.byte + if self.encoding.is_utf8() { into.len() } else { into.chars().count() })
    }

    /// The line end in use between two offsets of the text: the commonest there, else that of the line they stand in,
    /// else that of the lines before.
    pub fn line_end_at(&self, start: usize, end: usize) -> LineEnd {
        let inside = self.lines.iter().filter(|line| line.text > start && line.text < end).filter_map(|line| line.end);
        let here = self.line_of(start).and_then(|line| line.end);
        let mut found: Vec<(LineEnd, usize)> = Vec::new();
        for this in here.into_iter().chain(inside) {
            match found.iter_mut().find(|(known, _)| *known == this) {
                Some((_, count)) => *count += 1,
                None => found.push((this, 1)),
            }
        }
        let most = found.iter().map(|(_, count)| *count).max();
        let commonest = found.iter().find(|(_, count)| Some(*count) == most).map(|(end, _)| *end);
        let before = || self.lines.iter().take_while(|line| line.text <= start).filter_map(|line| line.end).last();
        commonest.or_else(before).unwrap_or(LineEnd::Lf)
    }

    /// The whole new file: old bytes before the range, the new text in the file's encoding and with the line end in use
    /// there, old bytes after it. What is equal at both ends of old and new text keeps its bytes too.
    pub fn replace(&self, start: usize, end: usize, new_text_lf: &str) -> Result<Vec<u8>, CannotEncode> {
        let range = CannotEncode::Range { start, end };
        let old = self.text.get(start..end).ok_or(range.clone())?;
        if let Some(at) = new_text_lf.find(['\r', '\0']) {
            return Err(CannotEncode::ControlCharacter(at));
        }
        let intended = (self.text.get(..start), new_text_lf, self.text.get(end..));
        let used = self.line_end_at(start, end);
        // Where the old file mixes line ends, those at the seams may flow together: then another one will do, or
        // writing the equal lines anew.
        for (head, tail) in [common_lines(old, new_text_lf), (0, 0)] {
            let changed = new_text_lf.get(head..new_text_lf.len() - tail).ok_or(range.clone())?;
            let first = self.byte_of(start + head).ok_or(range.clone())?;
            let last = self.byte_of(end - tail).ok_or(range.clone())?;
            for line_end in [used, LineEnd::CrLf, LineEnd::Lf, LineEnd::Cr] {
                let new = self.splice(first, last, changed, line_end, head)?;
                let read_back = Self::from_bytes(self.path.clone(), new);
                if let Ok(file) = read_back
                    && file.reads_as(intended)
                    && file.encoding.name() == self.encoding.name()
                {
                    return Ok(file.bytes);
                }
            }
        }
        Err(CannotEncode::ReadsDifferently)
    }

    fn splice(
        &self,
        first: usize,
        last: usize,
        text: &str,
        line_end: LineEnd,
        shift: usize,
    ) -> Result<Vec<u8>, CannotEncode> {
        let encoded = self.encoding.encode(text).map_err(|(at, character)| CannotEncode::Character {
            encoding: self.encoding.name(),
            character,
            at: shift + at,
        })?;
        let mut new = self.bytes.get(..first).unwrap_or_default().to_vec();
        for byte in encoded {
            match byte {
                b'\n' => new.extend_from_slice(line_end.bytes()),
                other => new.push(other),
            }
        }
        new.extend_from_slice(self.bytes.get(last..).unwrap_or_default());
        Ok(new)
    }

    fn reads_as(&self, (before, new, after): (Option<&str>, &str, Option<&str>)) -> bool {
        let (Some(before), Some(after)) = (before, after) else { return false };
        let rest = self.text.strip_prefix(before).and_then(|rest| rest.strip_prefix(new));
        rest == Some(after)
    }

    fn line_of(&self, offset: usize) -> Option<Line> {
        let past = self.lines.partition_point(|line| line.text <= offset);
        self.lines.get(past.checked_sub(1)?).copied()
    }
}

impl LineEnd {
    /// The bytes, in every encoding that is written here.
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
            Self::Cr => b"\r",
        }
    }
}

/// Turns every line end into `\n` and notes where each line starts in text and file.
fn unify(raw: &str, mark: usize, utf8: bool) -> (String, Vec<Line>) {
    let mut text = String::with_capacity(raw.len());
    let mut lines = Vec::new();
    let (mut rest, mut byte) = (raw, mark);
    loop {
        let start = text.len();
        let width = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let (line, tail) = rest.split_at(width);
        let end = match tail.as_bytes() {
            [b'\r', b'\n', ..] => Some(LineEnd::CrLf),
            [b'\r', ..] => Some(LineEnd::Cr),
            [b'\n', ..] => Some(LineEnd::Lf),
            _ => None,
        };
        text.push_str(line);
        lines.push(Line { text: start, byte, end });
        let Some(end) = end else { return (text, lines) };
        text.push('\n');
        byte += if utf8 { line.len() } else { line.chars().count() } + end.bytes().len();
        rest = tail.get(end.bytes().len()..).unwrap_or_default();
    }
}

/// How many bytes at the start and at the end of two texts are whole equal lines.
fn common_lines(old: &str, new: &str) -> (usize, usize) {
    let mut head = 0;
    for (a, b) in old.split_inclusive('\n').zip(new.split_inclusive('\n')) {
        if a != b || !a.ends_with('\n') {
            break;
        }
        head += a.len();
    }
    let (old, new) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let mut tail = 0;
    for (a, b) in old.split_inclusive('\n').rev().zip(new.split_inclusive('\n').rev()) {
        if a != b {
            break;
        }
        tail += a.len();
    }
    (head, tail)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::{CannotEncode, LineEnd, SourceFile};
    use proptest::prelude::*;

    fn file(bytes: &[u8]) -> SourceFile {
        SourceFile::from_bytes("m.py".into(), bytes.to_vec()).unwrap()
    }

    /// Replaces the first `old` by `new` and shows the file's bytes.
    fn check(bytes: &[u8], old: &str, new: &str, expected: &[u8]) {
        let source = file(bytes);
        let start = source.text_lf().find(old).unwrap();
        let found = source.replace(start, start + old.len(), new).unwrap();
        assert_eq!(found.escape_ascii().to_string(), expected.escape_ascii().to_string());
    }

    #[test]
    fn the_line_ends_of_the_place() {
        check(b"a\nb\n", "b", "c\nd", b"a\nc\nd\n");
        check(b"a\r\nb\r\n", "b", "c\nd", b"a\r\nc\r\nd\r\n");
        check(b"a\rb\r", "b", "c\nd", b"a\rc\rd\r");
        check(b"a\r\nb", "b", "c\nd", b"a\r\nc\r\nd");
        check(b"a", "a", "c\nd", b"c\nd");
        check(b"a\n\nb\r\nc\r\nd\n", "b\nc\n", "x\ny\nz\n", b"a\n\nx\r\ny\r\nz\r\nd\n");
        check(
            b"# \x0c \x0b\r\nb = 1\x0c\r\n\tc\r\n",
            "b = 1\x0c",
            "b = 2\n\t3",
            b"# \x0c \x0b\r\nb = 2\r\n\t3\r\n\tc\r\n",
        );
    }

    #[test]
    fn equal_lines_of_the_function_keep_their_bytes() {
        check(b"f\r\n a\n b\r\n c\n d\n", "f\n a\n b\n c\n", "f\n a\n B\n c\n", b"f\r\n a\n B\r\n c\n d\n");
    }

    #[test]
    fn marks_cookies_and_separators() {
        check(
            "\u{FEFF}s = '\u{2028}é'\r\nx = 1\r\n".as_bytes(),
            "1",
            "'ű'",
            "\u{FEFF}s = '\u{2028}é'\r\nx = 'ű'\r\n".as_bytes(),
        );
        check(
            b"# coding: latin-1\ns = '\xE9\x85'\nx = 1\n",
            "= 1",
            "= '\u{FC}'",
            b"# coding: latin-1\ns = '\xE9\x85'\nx = '\xFC'\n",
        );
        check(
            b"# coding: cp1250\ns = '\xF5'\nx = 1\n",
            "= 1",
            "= '\u{171}'",
            b"# coding: cp1250\ns = '\xF5'\nx = '\xFB'\n",
        );
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let source = file(b"# coding: latin-1\nx = 1\n");
        let fault = source.replace(22, 23, "'\u{171}'");
        assert_eq!(fault, Err(CannotEncode::Character { encoding: "latin-1", character: '\u{171}', at: 1 }));
        assert_eq!(fault.unwrap_err().to_string(), "latin-1 has no character U+0171");
        assert_eq!(source.replace(22, 23, "a\rb"), Err(CannotEncode::ControlCharacter(1)));
        assert_eq!(source.replace(22, 99, ""), Err(CannotEncode::Range { start: 22, end: 99 }));
        // Without the letters between them CR and LF would become one line end.
        assert_eq!(file(b"a\rb\nc").replace(2, 3, ""), Err(CannotEncode::ReadsDifferently));
        // The replaced text must not change the encoding of the whole file.
        assert_eq!(file(b"# x\nb\n").replace(2, 3, "coding: latin-1"), Err(CannotEncode::ReadsDifferently));
    }

    #[test]
    fn a_neighbouring_line_end_does_not_flow_together() {
        check(b"a\r\r\n\nb", "\n\n", "\n", b"a\r\n\nb");
        check(b"a\rb\nc\n", "b", "\nb", b"a\r\r\nb\nc\n");
    }

    #[test]
    fn unreadable_files_say_where() {
        let fault = |bytes: &[u8]| SourceFile::from_bytes("m.py".into(), bytes.to_vec()).unwrap_err().to_string();
        assert_eq!(fault(b"x = '\xFF'\n"), "byte 5 is not utf-8");
        assert_eq!(fault(b"\xEF\xBB\xBFx = '\xFF'\n"), "byte 8 is not utf-8-sig");
        assert_eq!(fault(b"# coding: ascii\n\xC3"), "byte 16 is not ascii");
        assert_eq!(fault(b"x\0"), "the file holds a NUL character at byte 1");
    }

    fn pieces() -> impl Strategy<Value = Vec<&'static str>> {
        let piece = prop::sample::select(vec![
            "\n", "\r\n", "\r", "\x0c", "\x0b", "\u{85}", "\u{2028}", "\u{2029}", "\t", " ", "x", "=", "'", "é", "ő",
            "漢", "😀", "\\", "#", "def f():", "\u{A0}",
        ]);
        prop::collection::vec(piece, 0..40)
    }

    fn new_text() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec!["\n", "\x0c", "\u{85}", "\u{2028}", "\t", "x", "é", "return 1", "'"]);
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        #[test]
        fn outside_the_range_every_byte_stays(
            pieces in pieces(),
            header in prop::sample::select(vec!["", "\u{FEFF}", "# coding: latin-1\n", "# coding: cp1250\r\n", "#!x\r# coding: cp1252\r"]),
            cut in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
            new in new_text(),
        ) {
            let text = format!("{header}{}", pieces.concat());
            let encoding = super::Encoding::detect(text.as_bytes()).unwrap();
            let wanted: String = text.chars().filter(|c| encoding.is_utf8() || encoding.encode(&c.to_string()).is_ok()).collect();
            let bytes = encoding.encode(&wanted).unwrap();
            let source = file(&bytes);
            let marks: Vec<usize> = (0..=source.text_lf().len()).filter(|at| source.text_lf().is_char_boundary(*at)).collect();
            let (one, two) = (*cut.0.get(&marks), *cut.1.get(&marks));
            let (start, end) = (one.min(two), one.max(two));
            let (first, last) = (source.byte_of(start).unwrap(), source.byte_of(end).unwrap());

            // An equal text changes nothing, and the map is exact at every offset.
            let same = source.text_lf()[start..end].to_owned();
            prop_assert_eq!(source.replace(start, end, &same).unwrap(), bytes.clone());
            let mark = encoding.mark_len();
            let before = super::unify(&encoding.decode(bytes.get(mark..first).unwrap()).unwrap(), mark, true).0;
            prop_assert_eq!(before, &source.text_lf()[..start]);

            match source.replace(start, end, &new) {
                Ok(found) => {
                    prop_assert_eq!(&found[..first], &bytes[..first]);
                    prop_assert!(found.ends_with(&bytes[last..]));
                    let read = file(&found);
                    let intended = format!("{}{new}{}", &source.text_lf()[..start], &source.text_lf()[end..]);
                    prop_assert_eq!(read.text_lf(), intended);
                }
                Err(CannotEncode::Character { character, .. }) => prop_assert!(encoding.encode(&character.to_string()).is_err()),
                Err(CannotEncode::ReadsDifferently) => {
                    let changes_cookie = start < header.len() + 2;
                    let joins = new.is_empty() && bytes[..first].ends_with(b"\r") && bytes[last..].starts_with(b"\n");
                    prop_assert!(changes_cookie || joins);
                }
                Err(other) => prop_assert!(false, "{}", other),
            }
        }
    }

    #[test]
    fn line_end_in_use() {
        let source = file(b"a\r\nb\nc\n\nd");
        let ends: Vec<LineEnd> = [(0, 1), (0, 5), (2, 3), (8, 8)].map(|(a, b)| source.line_end_at(a, b)).to_vec();
        assert_eq!(ends, [LineEnd::CrLf, LineEnd::Lf, LineEnd::Lf, LineEnd::Lf]);
    }
}
