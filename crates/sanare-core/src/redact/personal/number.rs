//! Numbers with a shape or check digits of their own: cards, accounts, phones, national ids.

use super::Hit;

/// Whether the digits of a card pass their check.
pub(super) fn luhn(digits: &[u8]) -> bool {
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

pub(super) fn card(text: &[u8], start: usize, end: usize) -> Option<Hit> {
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

pub(super) fn fits_brand(digits: &[u8]) -> bool {
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

pub(super) fn phone(text: &[u8], start: usize, end: usize, digits: &[u8]) -> Option<Hit> {
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
pub(super) fn group_lengths(span: &[u8]) -> Option<([usize; 8], usize)> {
    let mut lengths = [0; 8];
    let mut count = 0;
    for group in span.split(|c| !c.is_ascii_digit()).filter(|group| !group.is_empty()) {
        *lengths.get_mut(count)? = group.len();
        count += 1;
    }
    Some((lengths, count))
}

pub(super) fn ssn(text: &[u8], start: usize, end: usize) -> Option<Hit> {
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
pub(super) fn giro(text: &[u8], start: usize, end: usize, digits: &[u8]) -> Option<Hit> {
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

pub(super) fn iban(text: &[u8], start: usize) -> Option<Hit> {
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

pub(super) fn mod97(letters: &[u8]) -> u32 {
    letters[4..].iter().chain(&letters[..4]).fold(0, |rest, c| {
        if c.is_ascii_digit() {
            (rest * 10 + u32::from(c - b'0')) % 97
        } else {
            (rest * 100 + u32::from(c - b'A') + 10) % 97
        }
    })
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
