//! Values that were found once, wherever else they stand.

use super::place::Finding;
use super::rule::border;

/// A value as it stands in an address.
fn percent(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() * 2);
    for &byte in value {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(byte);
        } else {
            out.extend(format!("%{byte:02X}").bytes());
        }
    }
    out
}

/// Values that were found by a name or shape, wherever else they stand.
pub(super) fn repeats<'r>(text: &[u8], found: &mut Vec<Finding<'r>>) {
    let mut values: Vec<(&[u8], &'r str)> = Vec::new();
    for finding in found.iter().filter(|finding| finding.repeats) {
        let value = &text[finding.start..finding.end.min(text.len())];
        if value.len() >= 8
            && value.len() <= 4096
            && values.len() < 512
            && !values.iter().any(|(known, _)| *known == value)
        {
            values.push((value, finding.rule));
        }
    }
    if values.is_empty() {
        return;
    }
    let encoded: Vec<(Vec<u8>, &'r str)> = values
        .iter()
        .filter(|(value, _)| value.iter().any(|c| !c.is_ascii_alphanumeric()))
        .map(|(value, rule)| (percent(value), *rule))
        .collect();
    values.extend(encoded.iter().map(|(value, rule)| (value.as_slice(), *rule)));
    let Ok(search) = aho_corasick::AhoCorasick::new(values.iter().map(|(value, _)| *value)) else { return };
    let more: Vec<Finding<'r>> = search
        .find_iter(text)
        .filter(|hit| border(text, hit.start()) || hit.len() >= 12)
        .map(|hit| Finding {
            start: hit.start(),
            end: hit.end(),
            rule: values[hit.pattern().as_usize()].1,
            shaped: false,
            repeats: false,
        })
        .collect();
    found.extend(more);
}
