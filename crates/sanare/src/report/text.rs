//! The report for people: what failed, what was tried, why not, what to do now. The diff comes last.

use serde_json::Value as Json;

use super::{Report, text, texts};

/// Columns before a value.
const NAME: usize = 10;

impl Report {
    /// The report as readable text.
    pub fn to_text(&self) -> String {
        let mut page = Page::default();
        page.lines.push(format!("{}  {}", self.id, self.headline()));
        page.add("failed", &format!("{} in {}:{}", self.function, self.path, self.line));
        page.add("error", &self.error);
        page.add("class", &self.classification);
        page.add("when", &times(self));
        page.add("because", &self.summary);
        self.tried(&mut page);
        for line in refusal_lines(&self.refusals) {
            page.add("refusal", &line);
        }
        self.asked(&mut page);
        page.add("re-run", &self.rerun);
        for (number, line) in self.next.iter().enumerate() {
            page.add(if number == 0 { "now" } else { "" }, line);
        }
        if !self.diff.is_empty() {
            page.lines.push(String::new());
            page.lines.push(self.diff.clone());
        }
        page.lines.join("\n")
    }

    fn tried(&self, page: &mut Page) {
        let sure = self.confidence.map(|confidence| format!(", confidence {confidence}")).unwrap_or_default();
        let unverified = if self.unverified { ", unverified" } else { "" };
        let who = format!("{} {}", self.proposer, self.tier);
        if !self.proposer.is_empty() {
            page.add("proposer", &format!("{}{sure}{unverified}", who.trim()));
        }
        for change in &self.changes {
            page.add("change", change);
        }
        for line in &self.evidence {
            page.add("evidence", line);
        }
        for attempt in self.attempts.iter().filter(|attempt| !attempt.rejected_because.is_empty()) {
            page.add("rejected", &format!("attempt {}: {}", attempt.number, attempt.rejected_because));
        }
        for line in gate_lines(&self.gates) {
            page.add("gate", &line);
        }
    }

    fn asked(&self, page: &mut Page) {
        let approval = &self.approval;
        if let Some(name) = approval["name"].as_str() {
            let why = text(&approval["why"]);
            let why = if why.is_empty() { String::new() } else { format!(": {why}") };
            let word = if approval["state"] == "denied" { "denied" } else { "approved" };
            page.add(word, &format!("by {name}{why}"));
        }
        if let (Some(until), "waiting") = (approval["expires_at"].as_u64(), self.status.as_str()) {
            page.add("until", &utc(until));
        }
    }
}

#[derive(Default)]
struct Page {
    lines: Vec<String>,
}

impl Page {
    /// A line; what has more than one goes on below itself. Empty values are left out.
    fn add(&mut self, name: &str, value: &str) {
        for (number, line) in value.trim_end().lines().enumerate() {
            let name = if number == 0 { name } else { "" };
            self.lines.push(format!("  {name:<NAME$} {line}").trim_end().to_owned());
        }
    }
}

/// One line a gate: passed ones with the count of their checks, others check by check.
fn gate_lines(gates: &Json) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut passed: Vec<(String, usize)> = Vec::new();
    let mut reasons: Vec<String> = Vec::new();
    for gate in gates.as_array().into_iter().flatten() {
        let (name, answer, reason) = (text(&gate["gate"]), text(&gate["answer"]), text(&gate["reason"]));
        if answer == "passed" {
            match passed.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += 1,
                None => passed.push((name.clone(), 1)),
            }
            if !reason.is_empty() {
                reasons.push(format!("{name} {}: {reason}", text(&gate["name"])));
            }
            continue;
        }
        let why = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
        lines.push(format!("{name} {}: {answer}{why}", text(&gate["name"])));
    }
    if !passed.is_empty() {
        let all: Vec<String> = passed.iter().map(|(name, count)| format!("{name} {count}")).collect();
        lines.insert(0, format!("passed checks: {}", all.join(", ")));
    }
    lines.extend(reasons);
    lines
}

fn times(report: &Report) -> String {
    let often = if report.occurrences > 1 { format!(", seen {} times", report.occurrences) } else { String::new() };
    match report.created_at {
        0 => String::new(),
        at => format!("{}{often}", utc(at)),
    }
}

/// Milliseconds since 1970 as date and time, UTC.
pub fn utc(at: u64) -> String {
    let (days, second) = (at / 86_400_000, at / 1_000 % 86_400);
    // Days from 1 March of the year 0, in eras of 400 years.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, more) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + more;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC", second / 3_600, second / 60 % 60, second % 60)
}

/// The refusal report as lines for people.
pub fn refusal_lines(refusals: &Json) -> Vec<String> {
    let mut lines = Vec::new();
    for declined in refusals.as_array().into_iter().flatten() {
        lines.push(format!("{}: {}", text(&declined["reason"]), text(&declined["summary"])));
        let report = &declined["report"];
        for field in report["fields"].as_array().into_iter().flatten() {
            lines.push(format!("  {}: {}", text(&field["expected"]), text(&field["unmet"])));
            for candidate in field["candidates"].as_array().into_iter().flatten() {
                let evidence = texts(&candidate["evidence"]).join(", ");
                let vetoes = texts(&candidate["vetoes"]).join(", ");
                let against = if vetoes.is_empty() { String::new() } else { format!("; against: {vetoes}") };
                let with = if evidence.is_empty() { "nothing".to_owned() } else { evidence };
                lines.push(format!("    {}: for: {with}{against}", text(&candidate["seen"])));
            }
        }
        let hint = text(&report["hint"]);
        if !hint.is_empty() {
            lines.push(format!("  hint: {hint}"));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn moments_are_readable() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(1_709_164_799_000), "2024-02-28 23:59:59 UTC");
        assert_eq!(utc(1_709_164_800_000), "2024-02-29 00:00:00 UTC");
        assert_eq!(utc(1_735_689_600_000), "2025-01-01 00:00:00 UTC");
    }
}
