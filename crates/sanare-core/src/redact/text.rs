//! Text: found, replaced, and read again until nothing more is found.

use super::place::{Finding, MARK, merge, placeholder, replace};
use super::scan::Scanner;
use std::ops::Range;

/// Redacted text, or nothing if there is nothing to redact in it. What was found is added to `secrets`.
pub(super) fn text_of(scanner: Scanner<'_>, text: &str, secrets: &mut Vec<(String, String)>) -> Option<String> {
    let first = scanner.find(text);
    if first.is_empty() {
        return None;
    }
    let first = merge(text, first);
    remember(text, &first, secrets);
    let mut current = replace(text, &first);
    // Placeholders change what stands beside what: until nothing more is found, those places are read again.
    for _ in 0..6 {
        let findings = again(scanner, &current);
        if findings.is_empty() {
            return (current != text).then_some(current);
        }
        remember(&current, &findings, secrets);
        current = replace(&current, &findings);
    }
    // It does not come to rest: nothing of it is believed.
    Some(placeholder("unreadable"))
}

/// What is still to be found: in a short text anywhere, in a long one round its placeholders.
fn again<'r>(scanner: Scanner<'r>, text: &str) -> Vec<Finding<'r>> {
    const LONG: usize = 8 * 1024;
    if text.len() <= LONG {
        return merge(text, scanner.find(text));
    }
    let mut findings = Vec::new();
    for region in around(text.as_bytes()) {
        let Some(part) = text.get(region.clone()) else { continue };
        findings.extend(scanner.find(part).into_iter().map(|finding| Finding {
            start: finding.start + region.start,
            end: finding.end + region.start,
            ..finding
        }));
    }
    merge(text, findings)
}

/// Whole lines round the placeholders of a text.
fn around(text: &[u8]) -> Vec<Range<usize>> {
    const NEAR: usize = 256;
    let mut regions: Vec<Range<usize>> = Vec::new();
    for at in memchr::memmem::find_iter(text, MARK) {
        let start = memchr::memrchr(b'\n', &text[..at.saturating_sub(NEAR)]).map_or(0, |n| n + 1);
        let from = (at + NEAR).min(text.len());
        let end = memchr::memchr(b'\n', &text[from..]).map_or(text.len(), |n| from + n + 1);
        match regions.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ => regions.push(start..end),
        }
    }
    regions
}

pub(super) fn remember(text: &str, findings: &[Finding<'_>], secrets: &mut Vec<(String, String)>) {
    for finding in findings.iter().filter(|finding| finding.repeats) {
        if let Some(value) = text.get(finding.start..finding.end)
            && (8..=4096).contains(&value.len())
            && secrets.len() < 1024
        {
            secrets.push((value.to_owned(), finding.rule.to_owned()));
        }
    }
}
