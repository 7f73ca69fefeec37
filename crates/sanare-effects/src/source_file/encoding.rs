//! Which encoding a Python source file has (PEP 263), and the exact two-way table of each one that we write.
//!
//! UTF-8 and single-byte code pages only: there a character's bytes do not depend on its neighbours, so that replacing a
//! range cannot change what stands around it. Everything else is refused by name.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The mark that some editors put before UTF-8.
pub(super) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// An encoding that can be read and written back byte for byte.
#[derive(Clone, Debug)]
pub struct Encoding {
    name: &'static str,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    Utf8 { bom: bool },
    SingleByte(&'static Table),
}

/// One code page in both directions.
#[derive(Debug)]
struct Table {
    forth: [Option<char>; 256],
    back: HashMap<char, u8>,
}

/// The tables of [`PAGES`], in their order, made on first need.
static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| PAGES.iter().map(|(_, _, page)| Table::of(page)).collect());

/// Why the encoding of a file could not be settled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownEncoding {
    /// The file declares an encoding that is not written here.
    #[error("the file declares an encoding that cannot be written back safely: `{0}`")]
    Unsupported(String),
    /// A UTF-8 mark and another encoding in the coding line.
    #[error("the file starts with a UTF-8 mark and declares another encoding: `{0}`")]
    MarkAndCookie(String),
}

impl Encoding {
    /// Reads mark and coding line, as Python does.
    pub fn detect(bytes: &[u8]) -> Result<Self, UnknownEncoding> {
        let (bom, rest) = bytes.strip_prefix(BOM).map_or((false, bytes), |rest| (true, rest));
        let Some(cookie) = cookie(rest) else { return Ok(Self::utf8(bom)) };
        match Self::by_name(&cookie) {
            Some(Self { form: Form::Utf8 { .. }, .. }) => Ok(Self::utf8(bom)),
            Some(_) | None if bom => Err(UnknownEncoding::MarkAndCookie(cookie)),
            Some(encoding) => Ok(encoding),
            None => Err(UnknownEncoding::Unsupported(cookie)),
        }
    }

    /// Finds an encoding under any of the names that Python gives it.
    pub fn by_name(name: &str) -> Option<Self> {
        let plain: String = name.chars().map(|c| if c == '_' { '-' } else { c.to_ascii_lowercase() }).collect();
        if matches!(
            plain.as_str(),
            "u8" | "utf" | "utf8" | "utf-8" | "utf-8-sig" | "utf8-ucs2" | "utf8-ucs4" | "cp65001"
        ) || plain.starts_with("utf-8-")
        {
            return Some(Self::utf8(false));
        }
        let latin_1 = ["latin-1", "iso-8859-1", "iso-latin-1"];
        let plain = match latin_1.iter().find(|known| plain.starts_with(&format!("{known}-"))) {
            Some(known) => *known,
            None => plain.as_str(),
        };
        let at = PAGES.iter().position(|(name, aliases, _)| *name == plain || aliases.contains(&plain))?;
        Some(Self { name: PAGES.get(at)?.0, form: Form::SingleByte(TABLES.get(at)?) })
    }

    /// The plain name, for people and records.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// True when the character can be written in this encoding.
    pub fn has(&self, character: char) -> bool {
        match self.form {
            Form::Utf8 { .. } => true,
            Form::SingleByte(table) => table.back.contains_key(&character),
        }
    }

    /// How many bytes of mark stand before the text.
    pub(super) fn mark_len(&self) -> usize {
        if matches!(self.form, Form::Utf8 { bom: true }) { BOM.len() } else { 0 }
    }

    /// True when a character has as many bytes in the file as in a Rust string.
    pub(super) fn is_utf8(&self) -> bool {
        matches!(self.form, Form::Utf8 { .. })
    }

    /// Decodes bytes without mark; the error is the offset of the first byte that is not in the encoding.
    pub(super) fn decode(&self, bytes: &[u8]) -> Result<String, usize> {
        match &self.form {
            Form::Utf8 { .. } => std::str::from_utf8(bytes).map(str::to_owned).map_err(|fault| fault.valid_up_to()),
            Form::SingleByte(table) => {
                let mut text = String::with_capacity(bytes.len());
                for (at, byte) in bytes.iter().enumerate() {
                    text.push(table.forth.get(usize::from(*byte)).copied().flatten().ok_or(at)?);
                }
                Ok(text)
            }
        }
    }

    /// Encodes text; the error is the offset in the text and the character that the encoding lacks.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u8>, (usize, char)> {
        let Form::SingleByte(table) = &self.form else { return Ok(text.as_bytes().to_vec()) };
        text.char_indices().map(|(at, c)| table.back.get(&c).copied().ok_or((at, c))).collect()
    }

    fn utf8(bom: bool) -> Self {
        Self { name: if bom { "utf-8-sig" } else { "utf-8" }, form: Form::Utf8 { bom } }
    }
}

enum Page {
    Ascii,
    Latin1,
    /// Latin-1 with six Turkish letters: the standard's table, which browsers read as windows-1254.
    Latin5,
    Iso(&'static encoding_rs::Encoding),
    /// Browsers map the holes of these pages to control characters; Python refuses them, and so do we.
    Windows(&'static encoding_rs::Encoding),
}

/// Name, other names that Python knows, page. Each page was compared byte by byte with Python's codec of that name.
/// Missing on purpose: koi8-u, which browsers and Python read differently.
const PAGES: &[(&str, &[&str], Page)] = &[
    (
        "ascii",
        &["us-ascii", "646", "ansi-x3.4-1968", "ansi-x3.4-1986", "ansi-x3-4-1968", "cp367", "ibm367", "us"],
        Page::Ascii,
    ),
    (
        "latin-1",
        &["latin1", "l1", "latin", "8859", "iso8859", "iso8859-1", "iso-8859-1", "iso-latin-1", "cp819", "ibm819"],
        Page::Latin1,
    ),
    ("iso8859-2", &["iso-8859-2", "latin2", "l2"], Page::Iso(encoding_rs::ISO_8859_2)),
    ("iso8859-3", &["iso-8859-3", "latin3", "l3"], Page::Iso(encoding_rs::ISO_8859_3)),
    ("iso8859-4", &["iso-8859-4", "latin4", "l4"], Page::Iso(encoding_rs::ISO_8859_4)),
    ("iso8859-5", &["iso-8859-5", "cyrillic"], Page::Iso(encoding_rs::ISO_8859_5)),
    ("iso8859-6", &["iso-8859-6", "arabic"], Page::Iso(encoding_rs::ISO_8859_6)),
    ("iso8859-7", &["iso-8859-7", "greek", "greek8"], Page::Iso(encoding_rs::ISO_8859_7)),
    ("iso8859-8", &["iso-8859-8", "hebrew"], Page::Iso(encoding_rs::ISO_8859_8)),
    ("iso8859-9", &["iso-8859-9", "latin5", "l5"], Page::Latin5),
    ("iso8859-10", &["iso-8859-10", "latin6", "l6"], Page::Iso(encoding_rs::ISO_8859_10)),
    ("iso8859-13", &["iso-8859-13", "latin7", "l7"], Page::Iso(encoding_rs::ISO_8859_13)),
    ("iso8859-14", &["iso-8859-14", "latin8", "l8"], Page::Iso(encoding_rs::ISO_8859_14)),
    ("iso8859-15", &["iso-8859-15", "latin9", "l9"], Page::Iso(encoding_rs::ISO_8859_15)),
    ("iso8859-16", &["iso-8859-16", "latin10", "l10"], Page::Iso(encoding_rs::ISO_8859_16)),
    ("koi8-r", &[], Page::Iso(encoding_rs::KOI8_R)),
    ("mac-roman", &["macroman", "macintosh"], Page::Iso(encoding_rs::MACINTOSH)),
    ("mac-cyrillic", &["maccyrillic"], Page::Iso(encoding_rs::X_MAC_CYRILLIC)),
    ("cp866", &["866", "ibm866"], Page::Iso(encoding_rs::IBM866)),
    ("cp874", &[], Page::Windows(encoding_rs::WINDOWS_874)),
    ("cp1250", &["1250", "windows-1250"], Page::Windows(encoding_rs::WINDOWS_1250)),
    ("cp1251", &["1251", "windows-1251"], Page::Windows(encoding_rs::WINDOWS_1251)),
    ("cp1252", &["1252", "windows-1252"], Page::Windows(encoding_rs::WINDOWS_1252)),
    ("cp1253", &["1253", "windows-1253"], Page::Windows(encoding_rs::WINDOWS_1253)),
    ("cp1254", &["1254", "windows-1254"], Page::Windows(encoding_rs::WINDOWS_1254)),
    ("cp1255", &["1255", "windows-1255"], Page::Windows(encoding_rs::WINDOWS_1255)),
    ("cp1256", &["1256", "windows-1256"], Page::Windows(encoding_rs::WINDOWS_1256)),
    ("cp1257", &["1257", "windows-1257"], Page::Windows(encoding_rs::WINDOWS_1257)),
    ("cp1258", &["1258", "windows-1258"], Page::Windows(encoding_rs::WINDOWS_1258)),
];

impl Table {
    fn of(page: &Page) -> Self {
        let mut forth = [None; 256];
        let mut back = HashMap::new();
        for (byte, slot) in (0..=u8::MAX).zip(forth.iter_mut()) {
            *slot = decode_byte(page, byte);
            back.extend(slot.map(|c| (c, byte)));
        }
        Self { forth, back }
    }
}

fn decode_byte(page: &Page, byte: u8) -> Option<char> {
    match page {
        Page::Ascii => byte.is_ascii().then(|| char::from(byte)),
        Page::Latin1 => Some(char::from(byte)),
        Page::Latin5 => Some(match byte {
            0xD0 => 'Ğ',
            0xDD => 'İ',
            0xDE => 'Ş',
            0xF0 => 'ğ',
            0xFD => 'ı',
            0xFE => 'ş',
            other => char::from(other),
        }),
        Page::Iso(encoding) => one(encoding, byte),
        Page::Windows(encoding) => {
            one(encoding, byte).filter(|c| byte.is_ascii() || !('\u{80}'..='\u{9F}').contains(c))
        }
    }
}

fn one(encoding: &'static encoding_rs::Encoding, byte: u8) -> Option<char> {
    let text = encoding.decode_without_bom_handling_and_without_replacement(std::slice::from_ref(&byte))?.into_owned();
    text.chars().next()
}

/// The name in a coding line: in a comment on line 1, or on line 2 when line 1 is blank or a comment.
fn cookie(bytes: &[u8]) -> Option<String> {
    let (first, rest) = split_line(bytes);
    if let Some(name) = cookie_in_line(first) {
        return Some(name);
    }
    let blank_or_comment =
        matches!(first.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\x0c')), None | Some(b'#'));
    if blank_or_comment { cookie_in_line(split_line(rest).0) } else { None }
}

/// The first line without its end, and what follows it.
fn split_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else { return (bytes, &[]) };
    let (line, rest) = bytes.split_at(end);
    let rest = rest.strip_prefix(b"\r\n").or_else(|| rest.get(1..)).unwrap_or_default();
    (line, rest)
}

fn cookie_in_line(line: &[u8]) -> Option<String> {
    let start = line.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\x0c'))?;
    let comment = line.get(start..)?.strip_prefix(b"#")?;
    let word = b"coding";
    for at in 0..comment.len().saturating_sub(word.len()) {
        let Some(rest) = comment.get(at..).and_then(|rest| rest.strip_prefix(word)) else { continue };
        let Some(rest) = rest.strip_prefix(b":").or_else(|| rest.strip_prefix(b"=")) else { continue };
        let skip = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let name: String = rest
            .iter()
            .skip(skip)
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
            .map(|byte| char::from(*byte))
            .collect();
        if !name.is_empty() {
            return Some(name);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::Encoding;

    fn check(source: &[u8], expected: &str) {
        let found = match Encoding::detect(source) {
            Ok(encoding) => encoding.name().to_owned(),
            Err(fault) => fault.to_string(),
        };
        assert_eq!(found, expected, "{}", source.escape_ascii());
    }

    #[test]
    fn mark_and_coding_line() {
        check(b"x = 1\n", "utf-8");
        check(b"", "utf-8");
        check(b"\xEF\xBB\xBFx = 1\n", "utf-8-sig");
        check(b"\xEF\xBB\xBF# coding: utf8\n", "utf-8-sig");
        check(b"# -*- coding: latin-1 -*-\n", "latin-1");
        check(b"#!/usr/bin/python\n# vim: set fileencoding=ISO_8859-1 :\n", "latin-1");
        check(b"#!/usr/bin/python\r\n# coding=cp1252\r\n", "cp1252");
        check(b"#!/usr/bin/python\r# coding=cp1252\rx = 1\r", "cp1252");
        check(b"\r\n# coding=cp1250\r\n", "cp1250");
        check(b"\n\n# coding: latin-1\n", "utf-8");
        check(b"\r\n\r\n# coding: latin-1\n", "utf-8");
        check(b"x = 1\n# coding: latin-1\n", "utf-8");
        check(b"x = 1 # coding: latin-1\n", "utf-8");
        check(b"# encoding: iso-8859-9\n", "iso8859-9");
        check(b"\x0c# coding: windows-1252\n", "cp1252");
        check(b"# coding : latin-1\n", "utf-8");
        check(b"# coding coding: ascii\n", "ascii");
        check(b"# coding: latin-1-unix\n", "latin-1");
    }

    #[test]
    fn the_rest_is_refused_by_name() {
        check(b"# coding: gbk\n", "the file declares an encoding that cannot be written back safely: `gbk`");
        check(b"# coding: utf-16\n", "the file declares an encoding that cannot be written back safely: `utf-16`");
        check(
            b"\xEF\xBB\xBF# coding: latin-1\n",
            "the file starts with a UTF-8 mark and declares another encoding: `latin-1`",
        );
    }

    #[test]
    fn every_page_is_its_own_inverse() {
        for (name, aliases, _) in super::PAGES {
            for name in std::iter::once(name).chain(*aliases) {
                let encoding = Encoding::by_name(name).unwrap();
                for byte in 0..=u8::MAX {
                    if let Ok(text) = encoding.decode(&[byte]) {
                        assert_eq!(encoding.encode(&text), Ok(vec![byte]), "{name} {byte:#x}");
                    }
                }
            }
        }
    }

    #[test]
    fn holes_are_refused_as_python_refuses_them() {
        let by_name = |name| Encoding::by_name(name).map(|encoding| encoding.decode(b"a\x81"));
        assert_eq!(by_name("cp1252"), Some(Err(1)));
        assert_eq!(by_name("latin-1"), Some(Ok("a\u{81}".into())));
        assert_eq!(by_name("ascii"), Some(Err(1)));
    }
}
