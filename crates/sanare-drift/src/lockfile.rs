//! `sanare.lock` (C69): mappings that were accepted, kept with the project and meant to be committed.
//!
//! The text is TOML with one entry a line, sorted, so that two branches merge line by line. What does not live here:
//! reading and writing the file.

use sanare_core::proposal::Tier;
use serde::{Deserialize, Serialize};

use crate::matching;
use crate::problem::Mapping;
use crate::profile::Profile;

/// The file's name.
pub const NAME: &str = "sanare.lock";

/// The function of an entry that holds for all of them.
pub const ANY: &str = "*";

const HEAD: &str =
    "# Accepted mappings, one a line. Made by Sanare; commit it. A line without `incident` is yours.\nversion = 1\n";

/// One accepted mapping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The function, as `path/of/file.py:name`, or [`ANY`].
    pub function: String,
    /// The layer (kind of drift) that it came with.
    #[serde(default)]
    pub layer: String,
    /// The name that the code reads.
    pub expected: String,
    /// What it is called in the data.
    pub seen: String,
    /// The tier under which it was accepted; an entry written by hand is of the first.
    #[serde(default = "by_hand")]
    pub tier: Tier,
    /// Rule ids of the evidence.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// What the values looked like, as JSON; empty where that is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub profile: String,
    /// The incident; empty for an entry written by hand.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub incident: String,
    /// Who accepted it: `policy`, or a person's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub accepted: String,
}

fn by_hand() -> Tier {
    Tier::A
}

/// The entries of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lockfile {
    entries: Vec<Entry>,
}

/// Why a file is not read: its line and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{NAME}, line {line}: {what}")]
pub struct Malformed {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    #[serde(default)]
    mapping: Vec<Entry>,
}

impl Lockfile {
    /// Reads a file's text. One malformed line refuses the file.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn read(text: &str) -> Result<Self, Malformed> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let written: Written = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = text.get(..at).map_or(0, |before| before.matches('\n').count()) + 1;
            Malformed { line, what: error.message().lines().next().unwrap_or_default().to_owned() }
        })?;
        let malformed = |line: usize, what: &str| Malformed { line, what: what.to_owned() };
        if written.version != 1 {
            return Err(malformed(1, &format!("version {} is not known", written.version)));
        }
        for entry in &written.mapping {
            let line = text.lines().position(|line| line.contains(&quoted(&entry.seen))).map_or(1, |at| at + 1);
            if entry.function.is_empty() || entry.expected.is_empty() || entry.seen.is_empty() {
                return Err(malformed(line, "function, expected and seen may not be empty"));
            }
            if !entry.profile.is_empty() && serde_json::from_str::<Profile>(&entry.profile).is_err() {
                return Err(malformed(line, "the profile cannot be read"));
            }
        }
        let mut lockfile = Self { entries: written.mapping };
        lockfile.settle();
        Ok(lockfile)
    }

    /// The file's text; the same entries give the same bytes.
    pub fn write(&self) -> String {
        let mut text = String::from(HEAD);
        if self.entries.is_empty() {
            return text;
        }
        text.push_str("mapping = [\n");
        for entry in &self.entries {
            text.push_str(&line(entry));
        }
        text.push_str("]\n");
        text
    }

    /// The entries in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// With these entries; one of the same function, expected and seen name takes the place of the old one, unless that
    /// was written by hand.
    pub fn add(&mut self, entries: &[Entry]) {
        for entry in entries {
            let same = |old: &Entry| {
                (&old.function, &old.expected, &old.seen) == (&entry.function, &entry.expected, &entry.seen)
            };
            match self.entries.iter_mut().find(|old| same(old)) {
                Some(old) if old.incident.is_empty() => {}
                Some(old) => *old = entry.clone(),
                None => self.entries.push(entry.clone()),
            }
        }
        self.settle();
    }

    /// Without the lines of an incident; whether there were any.
    pub fn remove(&mut self, incident: &str) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| incident.is_empty() || entry.incident != incident);
        self.entries.len() < before
    }

    /// The entries of both sides. Two that give one expected name two seen names are both kept: the data, or a person,
    /// has to settle which.
    pub fn merge(mut self, other: &Self) -> Self {
        self.add(&other.entries);
        self
    }

    /// The entries that hold for a function.
    pub fn of(&self, function: &str) -> Vec<Entry> {
        self.entries.iter().filter(|entry| entry.function == function || entry.function == ANY).cloned().collect()
    }

    fn settle(&mut self) {
        self.entries.sort_by(|one, other| key(one).cmp(&key(other)));
        self.entries.dedup();
    }
}

impl Entry {
    /// The mapping as evidence (I2), if the values still look as they did.
    ///
    /// # Errors
    /// What changed: the question is open again.
    pub fn mapping(&self, now: &Profile) -> Result<Mapping, String> {
        if let Ok(then) = serde_json::from_str::<Profile>(&self.profile)
            && let Some(why) = matching::no_longer_fits(&then, now)
        {
            return Err(format!("`{}` was accepted as `{}` for other values: {why}", self.seen, self.expected));
        }
        Ok(Mapping {
            expected: self.expected.clone(),
            seen: self.seen.clone(),
            evidence: vec![format!("I2 accepted before{}", self.origin())],
            tier: Tier::A,
        })
    }

    fn origin(&self) -> String {
        match self.incident.as_str() {
            "" => " by hand".to_owned(),
            incident => format!(" in {incident}"),
        }
    }
}

fn key(entry: &Entry) -> (&str, &str, &str, &str) {
    (&entry.function, &entry.expected, &entry.seen, &entry.incident)
}

fn line(entry: &Entry) -> String {
    let evidence: Vec<String> = entry.evidence.iter().map(|id| quoted(id)).collect();
    let mut fields = vec![
        format!("function = {}", quoted(&entry.function)),
        format!("expected = {}", quoted(&entry.expected)),
        format!("seen = {}", quoted(&entry.seen)),
        format!("layer = {}", quoted(&entry.layer)),
        format!("tier = {}", quoted(&format!("{:?}", entry.tier))),
        format!("evidence = [{}]", evidence.join(", ")),
    ];
    for (name, value) in [("profile", &entry.profile), ("incident", &entry.incident), ("accepted", &entry.accepted)] {
        if !value.is_empty() {
            fields.push(format!("{name} = {}", quoted(value)));
        }
    }
    format!("    {{ {} }},\n", fields.join(", "))
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string().replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::{ANY, Entry, Lockfile};
    use crate::profile::Profile;
    use sanare_core::proposal::Tier;

    fn entry(expected: &str, seen: &str, incident: &str, values: &[&str]) -> Entry {
        let profile = if values.is_empty() {
            String::new()
        } else {
            serde_json::to_string(&Profile::of_texts(values.iter().copied())).unwrap_or_default()
        };
        Entry {
            function: "jobs/daily.py:load".into(),
            layer: "header_renamed".into(),
            expected: expected.into(),
            seen: seen.into(),
            tier: Tier::B,
            evidence: vec!["I4".into()],
            profile,
            incident: incident.into(),
            accepted: "policy".into(),
        }
    }

    fn file(entries: &[Entry]) -> Lockfile {
        let mut lockfile = Lockfile::default();
        lockfile.add(entries);
        lockfile
    }

    #[test]
    fn what_is_written_reads_back_one_entry_a_line() {
        let hard = entry("a\"b\\c", "Bet\u{e4}g\u{feff} '€'", "inc_2", &["1.5", "20"]);
        let lockfile = file(&[hard, entry("amount", "Betrag", "inc_1", &["10", "250"])]);
        let text = lockfile.write();
        assert_eq!(Lockfile::read(&text).as_ref(), Ok(&lockfile), "{text}");
        assert_eq!(text.lines().filter(|line| line.contains("expected")).count(), 2, "{text}");
        assert_eq!(Lockfile::read(&text).map(|again| again.write()).as_ref(), Ok(&text));
        assert_eq!(Lockfile::read(""), Ok(Lockfile::default()));
        assert_eq!(Lockfile::read(&Lockfile::default().write()), Ok(Lockfile::default()));
    }

    #[test]
    fn branches_merge_in_either_order() {
        let common = entry("date", "Datum", "inc_1", &[]);
        let ours = file(&[common.clone(), entry("amount", "Betrag", "inc_2", &[])]);
        let theirs = file(&[entry("amount", "Summe", "inc_3", &[]), common]);
        let merged = ours.clone().merge(&theirs);
        assert_eq!(merged.entries().len(), 3);
        assert_eq!(merged.write(), theirs.merge(&ours).write());
    }

    #[test]
    fn an_incident_takes_its_lines_back() {
        let mut lockfile = file(&[entry("amount", "Betrag", "inc_2", &[]), entry("date", "Datum", "inc_1", &[])]);
        assert!(lockfile.remove("inc_2"));
        assert!(!lockfile.remove("inc_2") && !lockfile.remove(""));
        assert_eq!(lockfile.entries().len(), 1);
    }

    #[test]
    fn lines_written_by_hand_are_of_the_first_tier_and_stay() {
        let text = "version = 1\nmapping = [\n    { function = \"*\", expected = \"amount\", seen = \"wert\" },\n]\n";
        let mut lockfile = Lockfile::read(text).unwrap_or_default();
        let by_hand = lockfile.of("any.py:f");
        assert_eq!(by_hand.iter().map(|one| (one.function.as_str(), one.tier)).collect::<Vec<_>>(), [(ANY, Tier::A)]);
        lockfile.add(&[Entry { function: ANY.into(), ..entry("amount", "wert", "inc_9", &[]) }]);
        assert_eq!(lockfile.entries(), by_hand);
    }

    #[test]
    fn other_values_open_the_question_again() {
        let accepted = entry("amount", "betrag", "inc_1", &["10.5", "250.0", "12"]);
        let fits = |values: &[&str]| accepted.mapping(&Profile::of_texts(values.iter().copied()));
        assert!(fits(&["11", "99.5", "120"]).is_ok());
        assert!(fits(&["11000", "99500", "120000"]).is_err());
        assert!(fits(&["-11", "99.5"]).is_err());
    }

    #[test]
    fn a_malformed_line_refuses_the_file_and_is_named() {
        let good = file(&[entry("amount", "Betrag", "inc_1", &[])]).write();
        for (bad, line) in [
            (good.replace("function = ", "funktion = "), 4),
            (good.replace("version = 1", "version = 2"), 1),
            (format!("<<<<<<< ours\n{good}"), 1),
            (good.replace("seen = \"Betrag\"", "seen = \"\""), 4),
            (good.replace("tier = \"B\"", "tier = \"Z\""), 4),
        ] {
            let malformed = Lockfile::read(&bad);
            assert!(malformed.is_err(), "{bad}");
            if bad != good {
                assert!(malformed.is_err_and(|found| found.line >= 1 && found.line <= line), "{bad}");
            }
        }
    }
}
