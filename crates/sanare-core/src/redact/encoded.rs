//! Long runs of base64 and hex: what they decode to is searched, too.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Shortest run that is looked at.
pub(super) const SHORTEST: usize = 24;

const RUN: [bool; 256] = {
    let mut table = [false; 256];
    let mut i = 0;
    while i < 256 {
        let c = i as u8;
        table[i] = c.is_ascii_alphanumeric() || c == b'+' || c == b'/' || c == b'-' || c == b'_';
        i += 1;
    }
    table
};

/// The next run of at least [`SHORTEST`] letters of base64 from `at` on. Most of the text is not looked at.
pub(super) fn next_run(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let mut start = at;
    // INVARIANT: all bytes from `start` to `known` belong to a run.
    let mut known = at;
    while let Some(last) = text.get(start + SHORTEST - 1) {
        let probe = start + SHORTEST - 1;
        if !RUN[usize::from(*last)] {
            start = probe + 1;
            known = start;
            continue;
        }
        let mut first = probe;
        while first > known && RUN[usize::from(text[first - 1])] {
            first -= 1;
        }
        if first > known {
            start = first;
            known = probe + 1;
            continue;
        }
        let rest = text[probe + 1..].iter().position(|c| !RUN[usize::from(*c)]);
        return Some((start, rest.map_or(text.len(), |n| probe + 1 + n)));
    }
    None
}

/// What a run stands for, if it decodes to readable text: base64 (also without its beginning), or hex.
pub(super) fn decode(run: &[u8]) -> Option<Vec<u8>> {
    if run.len().is_multiple_of(2) && run.iter().all(u8::is_ascii_hexdigit) {
        let bytes: Vec<u8> = run.chunks_exact(2).map(|two| digit(two[0]) << 4 | digit(two[1])).collect();
        return readable(&bytes).then_some(bytes);
    }
    // Text in base64 has both cases; paths and names mostly fail within the first bytes.
    let start: [u8; 12] = run.get(..12)?.try_into().ok()?;
    let engine = if run.iter().any(|c| matches!(c, b'-' | b'_')) { &URL_SAFE } else { &STANDARD };
    let mut first = [0u8; 12];
    let length = engine.decode_slice(start, &mut first).ok()?;
    if !readable(&first[..length]) {
        return None;
    }
    let run = &run[..run.len() - usize::from(run.len() % 4 == 1)];
    let bytes = engine.decode(run).ok()?;
    readable(&bytes).then_some(bytes)
}

fn digit(c: u8) -> u8 {
    match c {
        b'0'..=b'9' => c - b'0',
        b'a'..=b'f' => c - b'a' + 10,
        _ => c.wrapping_sub(b'A').wrapping_add(10),
    }
}

/// Text, and not bytes that happen to be letters: no control characters, UTF-8 but for a cut at its end.
fn readable(bytes: &[u8]) -> bool {
    if bytes.is_empty() || bytes.iter().any(|&c| c < 0x20 && !matches!(c, b'\n' | b'\r' | b'\t' | 0) || c == 0x7f) {
        return false;
    }
    match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => error.valid_up_to() + 4 > bytes.len() && error.error_len().is_none(),
    }
}

/// Whether a value is base64 of `user:password`.
pub(super) fn is_basic(value: &[u8]) -> bool {
    let bytes = STANDARD.decode(value).or_else(|_| URL_SAFE.decode(value));
    bytes.is_ok_and(|bytes| readable(&bytes) && bytes.contains(&b':') && bytes.len() >= 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs() {
        let slow = |text: &[u8]| {
            let mut runs = Vec::new();
            let mut at = 0;
            while at < text.len() {
                let end = at + text[at..].iter().take_while(|c| RUN[usize::from(**c)]).count();
                if end - at >= SHORTEST {
                    runs.push((at, end));
                }
                at = end + 1;
            }
            runs
        };
        let fast = |text: &[u8]| {
            let mut runs = Vec::new();
            let mut at = 0;
            while let Some((start, end)) = next_run(text, at) {
                runs.push((start, end));
                at = end;
            }
            runs
        };
        let mut seed = 7u64;
        for _ in 0..2000 {
            let text: Vec<u8> = (0..300)
                .map(|_| {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    if (seed >> 33).is_multiple_of(23) { b' ' } else { b'a' }
                })
                .collect();
            assert_eq!(fast(&text), slow(&text));
        }
    }

    #[test]
    fn decoded() {
        let text = |run: &str| decode(run.as_bytes()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert_eq!(
            text("eyJwYXNzd29yZCI6ICJhbG1hIn0=".trim_end_matches('=')),
            Some("{\"password\": \"alma\"}".to_owned())
        );
        assert_eq!(text("7b2270617373776f7264223a2022616c6d61227d"), Some("{\"password\": \"alma\"}".to_owned()));
        assert_eq!(text("3f786850e387550fdab836ed7e6dc881de23001b"), None);
        assert_eq!(text("var/lib/docker/overlay2/merged"), None);
    }
}
