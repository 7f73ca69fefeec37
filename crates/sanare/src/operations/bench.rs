//! Cases put to one proposer after the other, and what came of each (C80): the settings that a case is healed under, and the
//! sums. The cases themselves run in processes of their own.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::Value as Json;

use crate::report::Report;

/// What came of one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Came {
    /// A repair was accepted.
    Healed,
    /// A repair was accepted, and a value of it is wrong.
    Wrong,
    /// Nothing was accepted.
    Refused,
    /// The case could not be run.
    Failed,
}

/// One case under one proposer.
#[derive(Clone, Debug, Serialize)]
pub struct Played {
    /// The case's folder.
    pub case: String,
    /// Who proposed.
    pub proposer: String,
    /// What came of it.
    pub came: Came,
    /// Whether the case says what is right, and the repair was compared with it; absent where nothing was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared: Option<bool>,
    /// Why, in one line.
    pub why: String,
    /// The gate and check that rejected each candidate.
    pub rejected: Vec<String>,
    /// Calls, tokens and money, as recorded.
    pub usage: Used,
    /// Milliseconds, the starting of the process included.
    pub millis: u64,
}

/// What a model cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Used {
    /// Calls.
    pub calls: u64,
    /// Tokens in and out.
    pub tokens: u64,
    /// Money in millionths; absent where no price is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub money: Option<u64>,
}

impl Played {
    /// Takes what the case's own record says.
    pub fn take(&mut self, report: &Report) {
        let reasons = report.attempts.iter().map(|one| one.rejected_because.as_str()).filter(|why| !why.is_empty());
        self.rejected = reasons.map(|why| why.split(':').next().unwrap_or(why).to_owned()).collect();
        let number = |key: &str| report.usage.get(key).and_then(Json::as_u64);
        self.usage = Used {
            calls: number("calls").unwrap_or(0),
            tokens: number("tokens_in").unwrap_or(0) + number("tokens_out").unwrap_or(0),
            money: number("money"),
        };
        if self.why.is_empty() {
            self.why = format!("{}: {}", report.reason, report.summary);
        }
    }
}

/// Sums of a proposer.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Line {
    /// Who proposed.
    pub proposer: String,
    /// Cases.
    pub cases: usize,
    /// Accepted, and not known as wrong.
    pub healed: usize,
    /// Accepted, and wrong.
    pub wrong: usize,
    /// Accepted ones that no case says the right answer of.
    pub not_compared: usize,
    /// Not accepted.
    pub refused: usize,
    /// Not run.
    pub failed: usize,
    /// Candidates that a gate's check rejected.
    pub rejected: BTreeMap<String, usize>,
    /// What the models cost.
    pub usage: Used,
    /// Milliseconds of all cases together.
    pub millis: u64,
}

/// The sums of each proposer, in the order in which they were played.
pub fn summed(all: &[Played]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for one in all {
        let place = lines.iter().position(|line| line.proposer == one.proposer).unwrap_or_else(|| {
            lines.push(Line { proposer: one.proposer.clone(), ..Line::default() });
            lines.len() - 1
        });
        let Some(line) = lines.get_mut(place) else { continue };
        line.cases += 1;
        match one.came {
            Came::Healed => line.healed += 1,
            Came::Wrong => line.wrong += 1,
            Came::Refused => line.refused += 1,
            Came::Failed => line.failed += 1,
        }
        line.not_compared += usize::from(one.compared == Some(false));
        for why in &one.rejected {
            *line.rejected.entry(why.clone()).or_default() += 1;
        }
        line.usage.calls += one.usage.calls;
        line.usage.tokens += one.usage.tokens;
        line.usage.money = match (line.usage.money, one.usage.money) {
            (None, other) | (other, None) => other,
            (Some(sum), Some(more)) => Some(sum + more),
        };
        line.millis += one.millis;
    }
    lines
}

/// Keys of the model whose values are paths of the project.
const PATHS: [&str; 3] = ["cassette", "api_key_file", "ca_file"];
/// What belongs to the project and not to a case: its way of asking, its own checks, its proposers.
const LEFT_OUT: [&str; 3] = ["mode", "verify", "proposers"];

/// The settings of a project as a file for a case: what its owner wrote of healing and of the model, and one proposer.
///
/// # Errors
/// What is wrong with the text.
pub fn settings_for(text: &str, in_pyproject: bool, root: &Path, proposer: &str) -> Result<String, String> {
    let mut whole: toml::Table = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    if in_pyproject {
        let own = whole.get_mut("tool").and_then(|tool| tool.get_mut("sanare")).and_then(toml::Value::as_table_mut);
        whole = own.map(std::mem::take).unwrap_or_default();
    }
    whole.retain(|key, _| matches!(key, "heal" | "model" | "evidence"));
    if let Some(model) = whole.get_mut("model").and_then(toml::Value::as_table_mut) {
        for key in PATHS {
            let named = model.get(key).and_then(toml::Value::as_str).filter(|text| !text.is_empty());
            if let Some(path) = named.map(|named| root.join(named).display().to_string()) {
                model.insert(key.to_owned(), path.into());
            }
        }
    }
    let heal = whole.entry("heal").or_insert_with(|| toml::Value::Table(toml::Table::new()));
    let heal = heal.as_table_mut().ok_or("`heal` is no table")?;
    heal.retain(|key, _| !LEFT_OUT.contains(&key));
    heal.insert("proposers".to_owned(), toml::Value::Array(vec![proposer.into()]));
    toml::to_string(&whole).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Came, Played, Used, settings_for, summed};

    #[test]
    fn a_case_is_healed_under_what_its_owner_wrote_of_healing() {
        let text = "policy.file = \"policy.toml\"\n[heal]\nmode = \"ask\"\nverify = [[\"pytest\"]]\nproposers = [\"drift\", \"model\"]\n\
                    deadline = \"20s\"\n[model]\nprovider = \"ollama\"\ncassette = \"tape.jsonl\"\n[service.fraud]\ninstances = 1\n";
        let got = settings_for(text, false, Path::new("/srv"), "model").unwrap();
        let expected = "[heal]\ndeadline = \"20s\"\nproposers = [\"model\"]\n\n[model]\ncassette = \"/srv/tape.jsonl\"\nprovider = \"ollama\"\n";
        let sorted = |text: &str| toml::from_str::<toml::Table>(text).unwrap();
        assert_eq!(sorted(&got), sorted(expected));
        let of_project = "[tool.sanare.heal]\nattempts = 2\n[project]\nname = \"x\"\n";
        let got = settings_for(of_project, true, Path::new("/srv"), "drift").unwrap();
        assert_eq!(sorted(&got), sorted("[heal]\nattempts = 2\nproposers = [\"drift\"]\n"));
        assert!(settings_for("heal = 1", false, Path::new("/srv"), "drift").is_err());
        assert!(settings_for("[heal", false, Path::new("/srv"), "drift").is_err());
    }

    #[test]
    fn sums_of_each_proposer() {
        let one = |proposer: &str, came, money, rejected: &[&str]| Played {
            case: "a".to_owned(),
            proposer: proposer.to_owned(),
            came,
            compared: (came == Came::Healed).then_some(false),
            why: String::new(),
            rejected: rejected.iter().map(|why| (*why).to_owned()).collect(),
            usage: Used { calls: 1, tokens: 10, money },
            millis: 5,
        };
        let lines = summed(&[
            one("drift", Came::Refused, None, &[]),
            one("model", Came::Healed, Some(3), &["safety/network"]),
            one("model", Came::Wrong, None, &["safety/network", "trial/run"]),
            one("model", Came::Failed, Some(4), &[]),
        ]);
        let told: Vec<String> = lines
            .iter()
            .map(|line| {
                format!(
                    "{} {} {}/{}/{}/{} {} {:?} {:?} {} {}",
                    line.proposer,
                    line.cases,
                    line.healed,
                    line.wrong,
                    line.refused,
                    line.failed,
                    line.not_compared,
                    line.rejected,
                    line.usage.money,
                    line.usage.tokens,
                    line.millis
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                "drift 1 0/0/1/0 0 {} None 10 5",
                "model 3 1/1/0/1 1 {\"safety/network\": 2, \"trial/run\": 1} Some(7) 30 15",
            ]
        );
    }
}
