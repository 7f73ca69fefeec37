//! Personal data: addresses, numbers of phones, cards, accounts and people, with their check digits where they have any.

mod address;
mod number;

pub(super) use address::email;
use address::{ipv4, ipv6};
use number::{card, giro, iban, phone, ssn};

use super::rule::border;

/// Something personal: where, and the id of its rule.
pub(super) type Hit = (usize, usize, &'static str);

/// Words that say what a number is. Only behind one of them a number is read as its kind.
pub(super) const LABELS: &[&str] = &[
    "taj",
    "adó",
    "ado",
    "tax",
    "steuer",
    "idnr",
    "tin",
    "pesel",
    "szem",
    "codice",
    "bsn",
    "personnummer",
    "cpr",
    "nhs",
    "insee",
    "nir",
    "rodné",
    "passport",
    "útlev",
    "reisepass",
    "national",
    "ssn",
    "social",
    "aadhaar",
    "sin",
    "driv",
    "phone",
    "telefon",
    "tel",
    "mobil",
    "fax",
    "msisdn",
    "handy",
    "hívó",
    "whatsapp",
    "sms",
    "cvv",
    "cvc",
    "csc",
    "birth",
    "dob",
    "szül",
    "szul",
    "geb",
    "born",
    "narozen",
    "urodzenia",
    "naissance",
    "nacimiento",
    "nascita",
];

/// Whether a key may say what number its value is.
pub(super) fn may_label(key: &str) -> bool {
    let key = key.to_lowercase();
    LABELS.iter().any(|word| key.contains(word))
}

/// Everything personal in a text but e-mail addresses. `labels` are the places where words of [`LABELS`] end.
pub(super) fn find(text: &[u8], labels: &[usize]) -> Vec<Hit> {
    let mut hits = Vec::new();
    let mut at = 0;
    let mut label = 0;
    while let Some(digit) = next_digit(text, at) {
        let (start, end, mixed) = word(text, digit, at);
        if mixed || text.get(end) == Some(&b':') {
            // A word of letters and digits: an account number, or an address of hexadecimal groups.
            let hit = iban(text, start).or_else(|| ipv6(text, start, end));
            at = hit.map_or(end, |hit| hit.1.max(end));
            hits.extend(hit);
            if mixed || hit.is_some() {
                continue;
            }
        }
        while labels.get(label).is_some_and(|end| *end + 60 < start) {
            label += 1;
        }
        let labelled = labels.get(label).is_some_and(|end| *end <= start);
        if !labelled && ordinary(text, start, end) {
            at = end;
            continue;
        }
        let run = run(text, start);
        at = run.max(end);
        number(text, start, run, labelled, &mut hits);
    }
    hits
}

/// A count or a date: most numbers are.
fn ordinary(text: &[u8], start: usize, end: usize) -> bool {
    let next = text.get(end).copied().unwrap_or(b' ');
    let digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    match next {
        b'.' | b'/' | b'(' | b')' => false,
        b' ' => end - start < 9 && !digit(end + 1) && text.get(end + 1) != Some(&b'('),
        b'-' => {
            end - start == 4 && digit(end + 1) && digit(end + 2) && text.get(end + 3) == Some(&b'-') && !digit(end + 6)
        }
        _ => end - start < 9,
    }
}

/// The word round a digit, not looking back beyond `floor`, and whether it has letters.
fn word(text: &[u8], digit: usize, floor: usize) -> (usize, usize, bool) {
    let mut start = digit;
    while start > floor && text[start - 1].is_ascii_alphanumeric() {
        start -= 1;
    }
    let mut end = digit;
    let mut mixed = start < digit || start == floor && floor > 0 && text[floor - 1].is_ascii_alphanumeric();
    while end < text.len() && text[end].is_ascii_alphanumeric() {
        mixed |= text[end].is_ascii_alphabetic();
        end += 1;
    }
    (start, end, mixed)
}

fn next_digit(text: &[u8], mut at: usize) -> Option<usize> {
    // Eight bytes at a time: a byte is a digit if its high half is 3 and its low half is below 10.
    const HIGH: u64 = 0x8080_8080_8080_8080;
    while let Some(eight) = text.get(at..at + 8) {
        let word = u64::from_le_bytes(eight.try_into().ok()?);
        let turned = word ^ 0x3030_3030_3030_3030;
        // Bytes above 9 carry into their high bit, and bytes that have it already are none either.
        let others = (((turned & !HIGH) + 0x7676_7676_7676_7676) | turned) & HIGH;
        if others != HIGH {
            return Some(at + ((!others & HIGH).trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    text.get(at..)?.iter().position(u8::is_ascii_digit).map(|n| at + n)
}

/// The end of digits and the signs that people group them with.
fn run(text: &[u8], start: usize) -> usize {
    let mut at = start;
    let mut last = start;
    let limit = text.len().min(start + 64);
    while at < limit {
        let c = text[at];
        if c.is_ascii_digit() {
            at += 1;
            last = at;
        } else if matches!(c, b' ' | b'-' | b'/' | b'.' | b'(' | b')') && at - last < 2 {
            at += 1;
        } else {
            break;
        }
    }
    if at == limit && last == limit {
        return start
            + text[start..]
                .iter()
                .take_while(|c| c.is_ascii_digit() || matches!(c, b' ' | b'-' | b'/' | b'.'))
                .count();
    }
    last
}

fn number(text: &[u8], start: usize, end: usize, labelled: bool, hits: &mut Vec<Hit>) {
    if end - start > 64 {
        return;
    }
    if !border(text, start) || start > 0 && matches!(text[start - 1], b'_' | b'$') {
        // `a1`, `x_12`: part of a name.
        return;
    }
    let mut room = [0u8; 64];
    let mut count = 0;
    for digit in text[start..end].iter().filter(|c| c.is_ascii_digit()) {
        room[count] = *digit;
        count += 1;
    }
    let digits = &room[..count];
    if text[start..text.len().min(start + 4)].contains(&b'.')
        && let Some(hit) = ipv4(text, start)
    {
        hits.push(hit);
        return;
    }
    if digits.len() < 3 {
        return;
    }
    if labelled
        && digits.len() >= 3
        && let Some(hit) = by_label(text, start, end, digits, &label(text, start))
    {
        hits.push(hit);
        return;
    }
    if digits.len() < 9 {
        return;
    }
    if digits.len() >= 14
        && let Some(hit) = card(text, start, end)
    {
        hits.push(hit);
        return;
    }
    if let Some(hit) = phone(text, start, end, digits) {
        hits.push(hit);
        return;
    }
    if let Some(hit) = ssn(text, start, end) {
        hits.push(hit);
    } else if let Some(hit) = giro(text, start, end, digits) {
        hits.push(hit);
    }
}

/// The words before a number on its line, in lower case.
fn label(text: &[u8], start: usize) -> String {
    let least = start.saturating_sub(48);
    let from = text[least..start]
        .iter()
        .rposition(|c| matches!(c, b'\n' | b',' | b';' | b'{' | b'(' | b'&'))
        .map_or(least, |n| least + n + 1);
    String::from_utf8_lossy(&text[from..start]).to_lowercase()
}

fn has(label: &str, words: &[&str]) -> bool {
    words.iter().any(|word| {
        label.match_indices(word).any(|(at, _)| {
            let before = label[..at].chars().next_back();
            before.is_none_or(|c| !c.is_alphabetic())
        })
    })
}

/// Numbers that a word before them tells.
fn by_label(text: &[u8], start: usize, end: usize, digits: &[u8], label: &str) -> Option<Hit> {
    let n = digits.len();
    let hit = |rule| Some((start, end, rule));
    if n == 9 && has(label, &["taj"]) {
        return hit("national-id");
    }
    if n == 10 && has(label, &["adóazonosító", "adoazonosito", "adószám", "adoszam", "tax id", "tax_id"])
        || n == 11 && has(label, &["steuer", "idnr", "tin", "pesel", "személyi", "szemelyi", "codice", "bsn"])
    {
        return hit("national-id");
    }
    if (8..=15).contains(&n)
        && has(
            label,
            &[
                "personnummer",
                "cpr",
                "nhs",
                "insee",
                "nir",
                "bsn",
                "rodné",
                "passport",
                "útlevél",
                "reisepass",
                "személyi ig",
                "national id",
                "national_id",
                "ssn",
                "social security",
                "aadhaar",
                "sin",
                "driving licence",
                "driver's license",
            ],
        )
    {
        return hit("national-id");
    }
    if (7..=15).contains(&n)
        && has(
            label,
            &[
                "phone", "telefon", "tel:", "tel.", "tel ", "tel\"", "mobil", "mobile", "fax", "msisdn", "handy",
                "hívó", "whatsapp", "sms",
            ],
        )
        && !text[start..end].contains(&b'.')
    {
        return hit("phone");
    }
    if (3..=4).contains(&n) && end - start == n && has(label, &["cvv", "cvc", "csc"]) {
        return hit("card-code");
    }
    if n == 8
        && has(
            label,
            &[
                "birth",
                "dob",
                "szület",
                "szulet",
                "geburt",
                "geboren",
                "born",
                "narozen",
                "urodzenia",
                "naissance",
                "nacimiento",
                "nascita",
            ],
        )
        && date(text, start, end)
    {
        return hit("birth-date");
    }
    None
}

fn date(text: &[u8], start: usize, end: usize) -> bool {
    let parts = text[start..end].split(|c| !c.is_ascii_digit()).filter(|part| !part.is_empty()).count();
    parts == 3
}
