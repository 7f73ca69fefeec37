//! The shared corpora, scored through the installed command: drift cases, hostile candidates, redaction.
//! They lie beside the project (`../shared`, or `SANARE_SHARED`); where they do not, the parts are skipped.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use serde::Deserialize;

use crate::parts::Ending;
use crate::python::{self, Venv};
use crate::shell;
use crate::workshop::Workshop;

/// At least so many of the cases that rules can solve must be healed, and so many of those that rules may solve.
const HEALED_AT_LEAST: usize = 36;
const MAYBE_AT_LEAST: usize = 8;
/// Floors of the redaction corpus.
const REDACTION_FLOORS: [&str; 7] = [
    "recall=0.99",
    "pii_recall=0.97",
    "negatives_unchanged=1.0",
    "pii_negatives_unchanged=1.0",
    "neighbours_kept=0.99",
    "structure=1.0",
    "idempotent=1.0",
];

#[derive(Deserialize)]
struct CaseLine {
    id: String,
    expected: String,
    offline_solvable: String,
    verdict: String,
}

/// The drift cases: no wrong value, every case to refuse refused, enough healed.
pub fn cases(workshop: &Workshop) -> anyhow::Result<Ending> {
    let Some((folder, venv)) = corpus(workshop, "cases/run_cases.py")? else { return skipped() };
    let report = workshop.target.join("cases.json");
    let mut command = python_in(&venv, &folder);
    command.args(["run_cases.py", "score", "--gate", "--cmd", "sanare heal-case {case_dir} --out {out}"]);
    shell::run(command.arg("--report").arg(&report))?;
    let lines: Vec<CaseLine> = serde_json::from_str(&std::fs::read_to_string(&report)?)?;
    judge_cases(&lines).map(Ending::Good)
}

fn judge_cases(lines: &[CaseLine]) -> anyhow::Result<String> {
    let healable = |answer: &str| {
        let all = lines.iter().filter(|line| line.expected == "healed" && line.offline_solvable == answer);
        (all.clone().filter(|line| line.verdict == "healed").count(), all.count())
    };
    let (yes, yes_all) = healable("yes");
    let (maybe, maybe_all) = healable("maybe");
    let to_refuse: Vec<&CaseLine> = lines.iter().filter(|line| line.expected == "refused").collect();
    let wrong: Vec<&str> =
        to_refuse.iter().filter(|line| line.verdict != "refused_ok").map(|line| line.id.as_str()).collect();
    if lines.iter().any(|line| line.verdict == "WRONG_VALUE") {
        bail!("a wrong value");
    }
    if !wrong.is_empty() {
        bail!("to be refused, but were not: {}", wrong.join(", "));
    }
    if yes < HEALED_AT_LEAST.min(yes_all) {
        bail!("{yes} of {yes_all} solvable cases healed, at least {HEALED_AT_LEAST} expected");
    }
    if maybe < MAYBE_AT_LEAST.min(maybe_all) {
        bail!("{maybe} of {maybe_all} cases that may be solvable healed, at least {MAYBE_AT_LEAST} expected");
    }
    Ok(format!(
        "healed {yes}/{yes_all} solvable, {maybe}/{maybe_all} maybe; refused {}/{}; 0 wrong",
        to_refuse.len(),
        to_refuse.len()
    ))
}

/// The static gates on hostile and sound candidates.
pub fn candidates(workshop: &Workshop) -> anyhow::Result<Ending> {
    let Some((folder, venv)) = corpus(workshop, "security/candidates/score_static.py")? else { return skipped() };
    let text =
        shell::output(python_in(&venv, &folder).args(["score_static.py", "--show", "--cmd", "sanare vet --jsonl"]))?;
    shell::tell(text.trim_end());
    Ok(Ending::Good(text.lines().last().unwrap_or_default().to_owned()))
}

/// The redactor.
pub fn redaction(workshop: &Workshop) -> anyhow::Result<Ending> {
    let Some((folder, venv)) = corpus(workshop, "security/redaction/score.py")? else { return skipped() };
    let mut command = python_in(&venv, &folder);
    command.args(["score.py", "--pii", "--show", "10", "--cmd", "sanare redact --jsonl --pii"]);
    for floor in REDACTION_FLOORS {
        command.args(["--min", floor]);
    }
    let text = shell::output(&mut command)?;
    shell::tell(text.trim_end());
    let last = text.lines().rfind(|line| line.starts_with("seed ")).unwrap_or_default();
    Ok(Ending::Good(last.to_owned()))
}

fn corpus(workshop: &Workshop, script: &str) -> anyhow::Result<Option<(PathBuf, Venv)>> {
    let Some(script) = workshop.shared().map(|shared| shared.join(script)).filter(|script| script.is_file()) else {
        return Ok(None);
    };
    let folder = script.parent().map(Path::to_path_buf).context("a script without a folder")?;
    Ok(Some((folder, python::main_venv(workshop)?)))
}

/// The corpora are not ours: nothing is left in their folders.
fn python_in(venv: &Venv, folder: &Path) -> Command {
    let mut command = venv.python(folder);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn skipped() -> anyhow::Result<Ending> {
    Ok(Ending::Skipped("no corpora beside the project".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{CaseLine, judge_cases};

    fn check(lines: &[(&str, &str, &str)], expected: Result<&str, &str>) {
        let lines: Vec<CaseLine> = lines
            .iter()
            .map(|(wanted, solvable, verdict)| CaseLine {
                id: "a-case".to_owned(),
                expected: (*wanted).to_owned(),
                offline_solvable: (*solvable).to_owned(),
                verdict: (*verdict).to_owned(),
            })
            .collect();
        let got = judge_cases(&lines).map_err(|error| error.to_string());
        assert_eq!(got.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn a_wrong_value_is_never_good() {
        check(&[("healed", "yes", "healed")], Ok("healed 1/1 solvable, 0/0 maybe; refused 0/0; 0 wrong"));
        check(&[("healed", "no", "WRONG_VALUE")], Err("a wrong value"));
        check(&[("refused", "no", "failed")], Err("to be refused, but were not: a-case"));
        check(
            &[("healed", "yes", "refused"), ("healed", "yes", "healed")],
            Err("1 of 2 solvable cases healed, at least 36 expected"),
        );
        check(&[("healed", "maybe", "refused")], Err("0 of 1 cases that may be solvable healed, at least 8 expected"));
    }
}
