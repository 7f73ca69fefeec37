//! Values that were found once, wherever else they stand.

use super::echo::Echoes;
use super::place::Finding;
use super::quick::Quick;
use super::rule::border;
use std::collections::HashSet;

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
    let mut known: HashSet<&[u8], Quick> = HashSet::default();
    for finding in found.iter().filter(|finding| finding.repeats) {
        let value = &text[finding.start..finding.end.min(text.len())];
        if (8..=4096).contains(&value.len()) && values.len() < 512 && known.insert(value) {
            values.push((value, finding.rule));
        }
    }
    let encoded: Vec<(Vec<u8>, &'r str)> = values
        .iter()
        .filter(|(value, _)| value.iter().any(|c| !c.is_ascii_alphanumeric()))
        .map(|(value, rule)| (percent(value), *rule))
        .collect();
    values.extend(encoded.iter().map(|(value, rule)| (value.as_slice(), *rule)));
    let Some(search) = Echoes::new(values.iter().map(|(value, _)| *value).collect()) else { return };
    found.extend(search.find(text, |start, end| border(text, start) || end - start >= 12).iter().map(|echo| Finding {
        start: echo.start,
        end: echo.end,
        rule: values[echo.value].1,
        shaped: false,
        repeats: false,
    }));
}
