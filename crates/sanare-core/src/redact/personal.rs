//! Personal data: addresses, numbers of phones, cards, accounts and people, with their check digits where they have any.

use super::rule::border;

/// Something personal: where, and the id of its rule.
pub(super) type Hit = (usize, usize, &'static str);

/// The e-mail address round the `@` at `at`.
pub(super) fn email(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let local = text[..at]
        .iter()
        .rev()
        .take(65)
        .take_while(|c| {
            c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b'%' | b'+' | b'-' | b'\'') || **c >= 0x80
        })
        .count();
    let mut start = at - local;
    while start < at && matches!(text[start], b'.' | b'\'' | b'-' | b'%' | b'+') {
        start += 1;
    }
    if start == at || local > 64 {
        return None;
    }
    let domain = text[at + 1..]
        .iter()
        .take(254)
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-') || **c >= 0x80)
        .count();
    let mut end = at + 1 + domain;
    while end > at + 1 && matches!(text[end - 1], b'.' | b'-') {
        end -= 1;
    }
    let host = &text[at + 1..end];
    let dot = memchr::memrchr(b'.', host)?;
    let top = &host[dot + 1..];
    let good = dot > 0 && top.len() >= 2 && top.iter().all(u8::is_ascii_alphabetic);
    // `git@host:path` and `//user@host` are places of programs.
    let service = text.get(end) == Some(&b':')
        && text.get(end + 1).is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, b'/' | b'~'))
        || text.get(end) == Some(&b'/');
    let address = text[..start].ends_with(b"://")
        || start > 0
            && matches!(text[start - 1], b':' | b'/')
            && text[start.saturating_sub(60)..start].windows(2).any(|two| two == b"//" || two == b"\\/");
    (good && !service && !address && host[0] != b'.').then_some((start, end))
}

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

/// Whether the digits of a card pass their check.
fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(i, c)| {
            let d = u32::from(c - b'0');
            if i % 2 == 0 {
                d
            } else if d > 4 {
                d * 2 - 9
            } else {
                d * 2
            }
        })
        .sum();
    sum.is_multiple_of(10)
}

fn card(text: &[u8], start: usize, end: usize) -> Option<Hit> {
    let span = &text[start..end];
    if span.contains(&b'.')
        || span.contains(&b'/')
        || span.contains(&b'(')
        || start > 0 && matches!(text[start - 1], b'.' | b'-' | b'+')
    {
        return None;
    }
    if text.get(end) == Some(&b'.') && text.get(end + 1).is_some_and(u8::is_ascii_digit)
        || text.get(end).is_some_and(u8::is_ascii_alphabetic)
    {
        return None;
    }
    // Digits of one number only: groups of a card are of four to six.
    let groups: Vec<&[u8]> = span.split(|c| !c.is_ascii_digit()).collect();
    let mut taken = 0;
    let mut offset = start;
    let mut digits = Vec::new();
    for group in &groups {
        if group.is_empty() || groups.len() > 1 && !(3..=7).contains(&group.len()) && group.len() < 13 {
            break;
        }
        digits.extend_from_slice(group);
        taken += 1;
        let stop = offset + group.len();
        offset = stop + 1;
        if fits_brand(&digits) && luhn(&digits) && (taken == 1 || groups[0].len() >= 4) {
            return Some((start, stop, "card"));
        }
    }
    None
}

fn fits_brand(digits: &[u8]) -> bool {
    let n = digits.len();
    let lead = |count: usize| digits.iter().take(count).fold(0u32, |sum, c| sum * 10 + u32::from(c - b'0'));
    match n {
        13 => false,
        14 => matches!(lead(2), 36 | 38 | 39) || (300..=305).contains(&lead(3)),
        15 => matches!(lead(2), 34 | 37),
        16 => {
            digits[0] == b'4'
                || (51..=55).contains(&lead(2))
                || (2221..=2720).contains(&lead(4))
                || matches!(lead(2), 60 | 62 | 64 | 65 | 67 | 35 | 50 | 56 | 57 | 58)
        }
        17..=19 => matches!(lead(2), 62 | 60 | 50 | 67 | 63) || n == 19 && digits[0] == b'4',
        _ => false,
    }
}

fn phone(text: &[u8], start: usize, end: usize, digits: &[u8]) -> Option<Hit> {
    let span = &text[start..end];
    let n = digits.len();
    if text.get(end).is_some_and(|c| c.is_ascii_alphabetic() || *c == b':')
        || span.contains(&b'.') && span.iter().filter(|c| **c == b'.').count() > 3
    {
        return None;
    }
    let before = start.checked_sub(1).map(|i| text[i]);
    if before == Some(b'+')
        && (9..=15).contains(&n)
        && digits[0] != b'0'
        && start.checked_sub(2).is_none_or(|i| !text[i].is_ascii_alphanumeric() && text[i] != b')')
    {
        let whole = span.iter().all(u8::is_ascii_digit);
        return (whole && n >= 10
            || span.contains(&b' ')
            || span.contains(&b'-')
            || span.contains(&b'/')
            || span.contains(&b'('))
        .then_some((start - 1, end, "phone"));
    }
    if !(n == 10 || span.starts_with(b"0")) {
        return None;
    }
    let (lengths, count) = group_lengths(span)?;
    // `(415) 555-0123`, `415-555-0123`
    let american = lengths[..count] == [3, 3, 4] && digits[0] >= b'2' && digits[3] >= b'2';
    if american && (before == Some(b'(') || span.contains(&b'-')) && !span.contains(&b'/') {
        let from = if before == Some(b'(') { start - 1 } else { start };
        return Some((from, end, "phone"));
    }
    // `06-20/123-4567`, `06 30 123 4567`
    if span.starts_with(b"06") && (10..=11).contains(&n) && before != Some(b'.') && !span.starts_with(b"06.") {
        let grouped = lengths[0] == 2 && count >= 3;
        let whole = count == 1 && matches!(&span[2..4], b"20" | b"30" | b"31" | b"50" | b"70");
        return (grouped || whole).then_some((start, end, "phone"));
    }
    // `0036 30 …`
    let abroad = span.starts_with(b"00") && (11..=15).contains(&n) && digits[2] != b'0';
    (abroad && count > 1 && lengths[0] >= 4).then_some((start, end, "phone"))
}

/// The lengths of groups of digits, if they are few.
fn group_lengths(span: &[u8]) -> Option<([usize; 8], usize)> {
    let mut lengths = [0; 8];
    let mut count = 0;
    for group in span.split(|c| !c.is_ascii_digit()).filter(|group| !group.is_empty()) {
        *lengths.get_mut(count)? = group.len();
        count += 1;
    }
    Some((lengths, count))
}

fn ssn(text: &[u8], start: usize, end: usize) -> Option<Hit> {
    let span = &text[start..end];
    let shape = span.len() == 11
        && span[3] == b'-'
        && span[6] == b'-'
        && span.iter().enumerate().all(|(i, c)| i == 3 || i == 6 || c.is_ascii_digit());
    if !shape
        || start > 0 && text[start - 1] == b'-'
        || text.get(end).is_some_and(|c| c.is_ascii_alphanumeric() || *c == b'-')
    {
        return None;
    }
    let area = &span[..3];
    (area != b"000" && area != b"666" && area[0] != b'9' && &span[4..6] != b"00" && &span[7..] != b"0000").then_some((
        start,
        end,
        "national-id",
    ))
}

/// Hungarian account numbers: two or three groups of eight digits with their checks.
fn giro(text: &[u8], start: usize, end: usize, digits: &[u8]) -> Option<Hit> {
    if !matches!(digits.len(), 16 | 24) {
        return None;
    }
    let groups: Vec<&[u8]> = text[start..end].split(|c| matches!(c, b'-' | b' ')).collect();
    let shape = groups.len() >= 2 && groups.iter().all(|group| group.len() == 8);
    let check = |digits: &[u8]| {
        digits.iter().enumerate().map(|(i, c)| u32::from(c - b'0') * [9, 7, 3, 1][i % 4]).sum::<u32>() % 10 == 0
    };
    (shape && matches!(digits.len(), 16 | 24) && check(&digits[..8]) && check(&digits[8..]))
        .then_some((start, end, "account"))
}

/// The lengths of account numbers by country.
const IBAN_LENGTHS: &[(&str, usize)] = &[
    ("AD", 24),
    ("AE", 23),
    ("AL", 28),
    ("AT", 20),
    ("AZ", 28),
    ("BA", 20),
    ("BE", 16),
    ("BG", 22),
    ("BH", 22),
    ("BR", 29),
    ("BY", 28),
    ("CH", 21),
    ("CR", 22),
    ("CY", 28),
    ("CZ", 24),
    ("DE", 22),
    ("DK", 18),
    ("DO", 28),
    ("EE", 20),
    ("EG", 29),
    ("ES", 24),
    ("FI", 18),
    ("FO", 18),
    ("FR", 27),
    ("GB", 22),
    ("GE", 22),
    ("GI", 23),
    ("GL", 18),
    ("GR", 27),
    ("GT", 28),
    ("HR", 21),
    ("HU", 28),
    ("IE", 22),
    ("IL", 23),
    ("IQ", 23),
    ("IS", 26),
    ("IT", 27),
    ("JO", 30),
    ("KW", 30),
    ("KZ", 20),
    ("LB", 28),
    ("LI", 21),
    ("LT", 20),
    ("LU", 20),
    ("LV", 21),
    ("LY", 25),
    ("MC", 27),
    ("MD", 24),
    ("ME", 22),
    ("MK", 19),
    ("MR", 27),
    ("MT", 31),
    ("MU", 30),
    ("NL", 18),
    ("NO", 15),
    ("PK", 24),
    ("PL", 28),
    ("PS", 29),
    ("PT", 25),
    ("QA", 29),
    ("RO", 24),
    ("RS", 22),
    ("SA", 24),
    ("SE", 24),
    ("SI", 19),
    ("SK", 24),
    ("SM", 27),
    ("TN", 24),
    ("TR", 26),
    ("UA", 29),
    ("VG", 24),
    ("XK", 20),
];

fn iban(text: &[u8], start: usize) -> Option<Hit> {
    let head = text.get(start..start + 4)?;
    let shape = head[0].is_ascii_alphabetic() && head[1].is_ascii_alphabetic() && head[2].is_ascii_digit();
    if !shape || !head[3].is_ascii_digit() {
        return None;
    }
    let country = [text[start].to_ascii_uppercase(), text[start + 1].to_ascii_uppercase()];
    let length = IBAN_LENGTHS.iter().find(|(code, _)| code.as_bytes() == country).map(|(_, length)| *length);
    length?;
    let mut letters = Vec::with_capacity(34);
    let mut at = start;
    let mut best = None;
    while at < text.len() && letters.len() < 34 {
        let c = text[at];
        if c.is_ascii_alphanumeric() {
            letters.push(c.to_ascii_uppercase());
            at += 1;
            let ends = text.get(at).is_none_or(|c| !c.is_ascii_alphanumeric());
            if ends && Some(letters.len()) == length && mod97(&letters) == 1 {
                best = Some(at);
            }
        } else if matches!(c, b' ' | b'-')
            && letters.len() % 4 == 0
            && text.get(at + 1).is_some_and(u8::is_ascii_alphanumeric)
        {
            at += 1;
        } else {
            break;
        }
    }
    best.map(|end| (start, end, "iban"))
}

fn mod97(letters: &[u8]) -> u32 {
    letters[4..].iter().chain(&letters[..4]).fold(0, |rest, c| {
        if c.is_ascii_digit() {
            (rest * 10 + u32::from(c - b'0')) % 97
        } else {
            (rest * 100 + u32::from(c - b'A') + 10) % 97
        }
    })
}

fn ipv4(text: &[u8], start: usize) -> Option<Hit> {
    let mut parts = [0u32; 4];
    let mut at = start;
    for (index, part) in parts.iter_mut().enumerate() {
        let count = text[at..].iter().take(4).take_while(|c| c.is_ascii_digit()).count();
        if count == 0 || count > 3 || count > 1 && text[at] == b'0' {
            return None;
        }
        *part = text[at..at + count].iter().fold(0, |sum, c| sum * 10 + u32::from(c - b'0'));
        at += count;
        if index < 3 {
            if text.get(at) != Some(&b'.') {
                return None;
            }
            at += 1;
        }
    }
    if parts.iter().any(|part| *part > 255)
        || start > 0 && matches!(text[start - 1], b'.' | b'-' | b'v' | b'=') && text[start - 1] != b'='
        || text.get(at).is_some_and(|c| c.is_ascii_alphanumeric() || *c == b'-')
        || text.get(at) == Some(&b'.') && text.get(at + 1).is_some_and(u8::is_ascii_digit)
    {
        return None;
    }
    let private = matches!(
        parts,
        [0 | 10 | 127 | 255, ..]
            | [172, 16..=31, ..]
            | [192, 168, ..]
            | [169, 254, ..]
            | [100, 64..=127, ..]
            | [192, 0, 2, _]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
    ) || parts[0] >= 224;
    let label = label(text, start);
    let version = has(
        &label,
        &[
            "version",
            "driver",
            "schema",
            "release",
            "requires",
            "python",
            "build",
            "pandas",
            "numpy",
            "openssl",
            "upgrade",
            "firmware",
            "sdk",
            "client version",
            "ver",
            "oid",
            "section",
            "chapter",
        ],
    );
    let small = parts.iter().all(|part| *part < 40);
    (!private && !version && !(small && !has(&label, &["ip", "addr", "client", "peer", "host", "remote", "from"])))
        .then_some((start, at, "ip-address"))
}

/// The address whose first group is the word at `start..end`.
fn ipv6(text: &[u8], start: usize, end: usize) -> Option<Hit> {
    if end - start > 4 || text.get(end) != Some(&b':') || start > 0 && matches!(text[start - 1], b':' | b'.') {
        return None;
    }
    let hex = |c: &u8| c.is_ascii_hexdigit() || *c == b':';
    let end = start + text[start..].iter().take(45).take_while(|c| hex(c)).count();
    let span = &text[start..end];
    let colons = span.iter().filter(|c| **c == b':').count();
    if colons < 3 || text.get(end).is_some_and(|c| c.is_ascii_alphanumeric()) {
        return None;
    }
    let text = std::str::from_utf8(span).ok()?.trim_end_matches(|c| c == ':' && !span.ends_with(b"::"));
    let address: std::net::Ipv6Addr = text.parse().ok()?;
    let first = address.segments()[0];
    let public = (0x2000..0x4000).contains(&first) && !(first == 0x2001 && address.segments()[1] == 0xdb8);
    public.then_some((start, start + text.len(), "ip-address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks() {
        assert!(luhn(b"4539578763621486"));
        assert!(!luhn(b"4539578763621487"));
        assert_eq!(mod97(b"GB82WEST12345698765432"), 1);
        assert_eq!(iban(b"to GB82 WEST 1234 5698 7654 32 now", 3), Some((3, 30, "iban")));
    }
}
