//! From bytes to text: strict, never a page that takes anything.

use std::collections::BTreeSet;

use encoding_rs::Encoding;

/// An encoding by Python's name and how to decode it.
struct Page {
    python: &'static str,
    label: &'static str,
}

/// Code pages in the order in which equals are preferred. `latin-1` is not among them: it takes anything.
const PAGES: &[Page] = &[
    Page { python: "cp1252", label: "windows-1252" },
    Page { python: "cp1250", label: "windows-1250" },
    Page { python: "iso8859-2", label: "iso-8859-2" },
    Page { python: "cp1254", label: "windows-1254" },
    Page { python: "cp1257", label: "windows-1257" },
    Page { python: "cp1251", label: "windows-1251" },
    Page { python: "koi8-r", label: "koi8-r" },
    Page { python: "cp1253", label: "windows-1253" },
    Page { python: "iso8859-15", label: "iso-8859-15" },
    Page { python: "mac-roman", label: "macintosh" },
    Page { python: "cp932", label: "shift_jis" },
    Page { python: "gbk", label: "gbk" },
    Page { python: "big5", label: "big5" },
    Page { python: "cp949", label: "euc-kr" },
];

/// What the bytes turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// As the code says.
    AsDeclared,
    /// UTF-8 behind a byte order mark.
    Bom,
    /// Another encoding, by Python's name.
    Other(&'static str),
    /// More than one could be meant, or none.
    Undecided(Vec<&'static str>),
}

/// Python's name in one spelling: `UTF8` and `utf_8` are `utf-8`.
pub fn python_name(name: &str) -> String {
    let plain: String = name.to_lowercase().chars().filter(|letter| letter.is_alphanumeric()).collect();
    match plain.as_str() {
        "utf8" | "u8" => "utf-8".into(),
        "utf8sig" => "utf-8-sig".into(),
        "latin1" | "iso88591" | "l1" | "latin" => "latin-1".into(),
        "cp1252" | "windows1252" => "cp1252".into(),
        "cp1250" | "windows1250" => "cp1250".into(),
        "iso88592" | "latin2" => "iso8859-2".into(),
        "iso885915" | "latin9" => "iso8859-15".into(),
        "utf16" | "utf16le" | "utf16be" => "utf-16".into(),
        "ascii" | "usascii" => "ascii".into(),
        _ => name.to_lowercase().replace('_', "-"),
    }
}

/// Strict decoding with Python's meaning of the name; nothing if a byte does not fit.
pub fn decode(bytes: &[u8], python: &str) -> Option<String> {
    match python_name(python).as_str() {
        "utf-8" => std::str::from_utf8(bytes).ok().map(str::to_owned),
        "utf-8-sig" => {
            std::str::from_utf8(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)).ok().map(str::to_owned)
        }
        "ascii" => bytes.is_ascii().then(|| bytes.iter().map(|byte| char::from(*byte)).collect()),
        "latin-1" => Some(bytes.iter().map(|byte| char::from(*byte)).collect()),
        "utf-16" => {
            let (encoding, _) = Encoding::for_bom(bytes)?;
            (encoding != encoding_rs::UTF_8).then_some(())?;
            let (text, broken) = encoding.decode_with_bom_removal(bytes);
            (!broken).then(|| text.into_owned())
        }
        name => {
            let label = PAGES.iter().find(|page| page.python == name).map_or(name, |page| page.label);
            let encoding = Encoding::for_label(label.as_bytes())?;
            encoding.decode_without_bom_handling_and_without_replacement(bytes).map(std::borrow::Cow::into_owned)
        }
    }
}

/// Encodes text with Python's meaning of the name; letters that do not fit become question marks.
pub fn encode(text: &str, python: &str) -> Vec<u8> {
    match python_name(python).as_str() {
        "latin-1" => text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap_or(b'?')).collect(),
        "utf-16" => {
            let units = std::iter::once(0xfeff).chain(text.encode_utf16());
            units.flat_map(u16::to_le_bytes).collect()
        }
        name if name.starts_with("utf") || name.is_empty() => text.as_bytes().to_vec(),
        name => {
            let label = PAGES.iter().find(|page| page.python == name).map_or(name, |page| page.label);
            Encoding::for_label(label.as_bytes())
                .map_or_else(|| text.as_bytes().to_vec(), |page| page.encode(text).0.into_owned())
        }
    }
}

/// Decides what the bytes are. `hints` are texts that belong to the data: expected names, remembered letters.
pub fn decide(bytes: &[u8], declared: &str, hints: &str) -> (Found, String) {
    let declared = python_name(declared);
    if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf")
        && let Ok(text) = std::str::from_utf8(rest)
    {
        let found = if declared == "utf-8-sig" { Found::AsDeclared } else { Found::Bom };
        return (found, text.to_owned());
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        if let Some(text) = decode(bytes, "utf-16") {
            return (if declared == "utf-16" { Found::AsDeclared } else { Found::Other("utf-16") }, text);
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let unicode = bytes.is_ascii() || declared.starts_with("utf-8");
        return (if unicode { Found::AsDeclared } else { Found::Other("utf-8") }, text.to_owned());
    }
    if !declared.starts_with("utf") && declared != "ascii" {
        if let Some(text) = decode(bytes, &declared).filter(|text| !has_controls(text)) {
            return (Found::AsDeclared, text);
        }
    }
    by_page(bytes, hints)
}

fn by_page(bytes: &[u8], hints: &str) -> (Found, String) {
    let mut fitting: Vec<(&'static str, String)> = Vec::new();
    for page in PAGES {
        if let Some(text) = decode(bytes, page.python)
            && !has_controls(&text)
            && reads_well(&text)
        {
            fitting.push((page.python, text));
        }
    }
    let wanted: BTreeSet<char> = hints.chars().filter(|letter| !letter.is_ascii()).collect();
    let able: Vec<_> =
        fitting.iter().filter(|(python, _)| wanted.iter().all(|letter| can_write(python, *letter))).cloned().collect();
    if !able.is_empty() {
        fitting = able;
    }
    let shared = |text: &str| text.chars().filter(|letter| wanted.contains(letter)).collect::<BTreeSet<_>>().len();
    let best = fitting.iter().map(|(_, text)| shared(text)).max().unwrap_or_default();
    fitting.retain(|(_, text)| shared(text) == best);
    let names = fitting.iter().map(|(python, _)| *python).collect();
    match fitting.first() {
        Some((python, text)) if fitting.iter().all(|(_, other)| other == text) => (Found::Other(python), text.clone()),
        Some((_, text)) => (Found::Undecided(names), text.clone()),
        None => (Found::Undecided(Vec::new()), String::from_utf8_lossy(bytes).into_owned()),
    }
}

fn can_write(python: &str, letter: char) -> bool {
    let label = PAGES.iter().find(|page| page.python == python).map_or(python, |page| page.label);
    let Some(encoding) = Encoding::for_label(label.as_bytes()) else { return false };
    let text = letter.to_string();
    !encoding.encode(&text).2
}

fn has_controls(text: &str) -> bool {
    text.chars().any(|letter| letter.is_control() && !matches!(letter, '\t' | '\n' | '\r'))
}

/// Whether the letters beyond ASCII stand where a writer would put them: one script a word, one language's alphabet,
/// no capital in the middle of small letters, no sign inside a word.
fn reads_well(text: &str) -> bool {
    let mut letters = BTreeSet::new();
    for word in text.split(|letter: char| letter.is_ascii() && !letter.is_ascii_alphabetic()) {
        if word.is_ascii() {
            continue;
        }
        let signs: Vec<char> = word.chars().collect();
        for (at, letter) in signs.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| signs.get(at)).copied();
            let after = signs.get(at + 1).copied();
            let inside = before.is_some_and(char::is_alphabetic) && after.is_some_and(char::is_alphabetic);
            if letter.is_ascii() {
                continue;
            }
            if letter.is_alphabetic() {
                letters.insert(*letter);
                let next_small = after.is_some_and(char::is_lowercase) && before.is_some_and(char::is_lowercase);
                let last_small = after.is_none() && before.is_some_and(char::is_lowercase);
                if letter.is_uppercase() && (next_small || last_small) {
                    return false;
                }
            } else if inside && !matches!(letter, '’' | '‘' | '´' | '–' | '—' | '·') {
                return false;
            } else if !may_stand_alone(*letter) {
                return false;
            }
        }
        let latin = word.chars().any(is_latin);
        let other = word.chars().any(|letter| letter.is_alphabetic() && !is_latin(letter));
        if latin && other {
            return false;
        }
    }
    let latin: BTreeSet<char> = letters.iter().copied().filter(|letter| is_latin(*letter)).collect();
    let foreign = letters.len() > latin.len();
    let ascii_words = text.chars().any(|letter| letter.is_ascii_alphabetic());
    if foreign && !latin.is_empty() && ascii_words {
        return false;
    }
    latin.is_empty()
        || ALPHABETS.iter().any(|alphabet| {
            latin
                .iter()
                .all(|letter| alphabet.contains(letter.to_lowercase().next().unwrap_or(*letter)) || *letter == 'ß')
        })
}

/// Signs that stand in ordinary data.
fn may_stand_alone(letter: char) -> bool {
    matches!(
        letter,
        '–' | '—'
            | '‘'
            | '’'
            | '“'
            | '”'
            | '„'
            | '‚'
            | '«'
            | '»'
            | '‹'
            | '›'
            | '€'
            | '£'
            | '¥'
            | '°'
            | '§'
            | '…'
            | '•'
            | '·'
            | '™'
            | '®'
            | '©'
            | '²'
            | '³'
            | '½'
            | '¼'
            | '¾'
            | 'µ'
            | '×'
            | '±'
            | '¿'
            | '¡'
            | 'º'
            | 'ª'
            | '№'
            | '\u{a0}'
            | '´'
            | '¢'
            | '‰'
            | '¶'
    ) || letter as u32 >= 0x2e80
}

fn is_latin(letter: char) -> bool {
    letter.is_ascii_alphabetic() || matches!(letter as u32, 0xc0..=0x24f | 0x1e00..=0x1eff)
}

/// Letters beyond ASCII of the languages whose data comes in one-byte pages, small ones.
const ALPHABETS: &[&str] = &[
    "äöüßéèàáóê",
    "àâæçéèêëîïôœùûüÿñ",
    "áéíóúüñçàèïòº",
    "ãáàâçéêíóôõúü",
    "àèéìíîòóùú",
    "äåöéüáàèøæ",
    "æøåéèêóòâôäöü",
    "ëéèïöüáóíäàêç",
    "áðéíóúýþæö",
    "ąćęłńóśźż",
    "áčďéěíňóřšťúůýž",
    "áäčďéíĺľňóôŕšťúýž",
    "áéíóöőúüű",
    "ăâîșțşţ",
    "čćđšž",
    "çğıöşüâîû",
    "āčēģīķļņšūžąęėįųõäöü",
];

#[cfg(test)]
mod tests {
    use super::{Found, decide};

    fn check(bytes: &[u8], declared: &str, hints: &str, expected: Found) {
        assert_eq!(decide(bytes, declared, hints).0, expected, "{:?}", String::from_utf8_lossy(bytes));
    }

    #[test]
    fn bytes_settle_the_page_or_nothing_does() {
        check(b"name\nCaf\xe9 \x96 North\n", "utf-8", "", Found::Other("cp1252"));
        check(b"name\nPe\xf1a \xfcber\n", "utf-8", "ñ", Found::Other("cp1252"));
        check("név\nŐrs\n".as_bytes(), "cp1250", "", Found::Other("utf-8"));
        check(b"nev\n\xd5rs \xfbr\n", "utf-8", "ő", Found::Other("cp1250"));
        check(b"\xef\xbb\xbfname\n", "utf-8", "", Found::Bom);
        check(b"plain\n", "latin-1", "", Found::AsDeclared);
        assert!(matches!(decide(b"Pe\xf1a\n", "utf-8", "").0, Found::Undecided(_)));
        assert!(matches!(decide(b"a\x81\x8d\x9d\xff\xfe\x00\x01\n", "utf-8", "").0, Found::Undecided(_)));
    }
}
