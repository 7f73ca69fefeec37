//! Findings: where a secret stands in a text and by which rule; their union, and the text with placeholders.

/// How every placeholder begins.
pub(super) const MARK: &[u8] = b"<redacted:";

/// A part of a text that must go, by the id of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Finding<'r> {
    /// First byte.
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
    /// The id of the rule.
    pub rule: &'r str,
    /// Found by its own shape, which says more than a name does.
    pub shaped: bool,
    /// Worth looking for elsewhere in the same text or data.
    pub repeats: bool,
}

/// The end of the placeholder that begins at `at`, if one does.
pub(super) fn placeholder_end(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?.strip_prefix(MARK)?;
    let length = rest.iter().take(64).position(|c| !(c.is_ascii_lowercase() || c.is_ascii_digit() || *c == b'-'))?;
    (length > 0 && rest[length] == b'>').then_some(at + MARK.len() + length + 1)
}

/// The placeholder of a rule.
pub(super) fn placeholder(rule: &str) -> String {
    format!("<redacted:{rule}>")
}

/// Findings in order and without overlap. Of those that overlap, the shaped one names the whole, then the longest.
pub(super) fn merge<'r>(text: &str, mut findings: Vec<Finding<'r>>) -> Vec<Finding<'r>> {
    for finding in &mut findings {
        finding.end = finding.end.min(text.len());
        while !text.is_char_boundary(finding.start) {
            finding.start -= 1;
        }
        while !text.is_char_boundary(finding.end) {
            finding.end += 1;
        }
    }
    findings.retain(|finding| finding.start < finding.end);
    findings.sort_by_key(|finding| (finding.start, finding.end));
    let mut merged: Vec<Finding<'r>> = Vec::with_capacity(findings.len());
    for finding in findings {
        match merged.last_mut() {
            Some(last) if finding.start < last.end => {
                let better = (finding.shaped, finding.end - finding.start) > (last.shaped, last.end - last.start);
                if better {
                    last.rule = finding.rule;
                }
                last.shaped |= finding.shaped;
                last.repeats |= finding.repeats;
                last.end = last.end.max(finding.end);
            }
            _ => merged.push(finding),
        }
    }
    merged
}

/// The text with a placeholder at each finding; the findings are in order and without overlap.
pub(super) fn replace(text: &str, findings: &[Finding<'_>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for finding in findings {
        out.push_str(text.get(done..finding.start).unwrap_or_default());
        out.push_str(&placeholder(finding.rule));
        done = finding.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

/// Where a text may be cut at the latest: not within a placeholder.
pub(super) fn cut_before(text: &[u8], at: usize) -> usize {
    let least = at.saturating_sub(80);
    match memchr::memrchr(b'<', &text[least..at]) {
        Some(found) if placeholder_end(text, least + found).is_some_and(|end| end > at) => least + found,
        _ => at,
    }
}
