//! The static gates on a candidate, without running anything.

use sanare_core::gate::{Answer, GateReport};
use sanare_source::parse::Source;
use sanare_source::{VetContext, vet_all};
use serde_json::{Value as Json, json};

/// Why a candidate could not be vetted.
#[derive(Debug, thiserror::Error)]
pub enum Vet {
    /// The file with the candidate is not Python.
    #[error("the new file: {0}")]
    New(#[from] sanare_source::parse::Broken),
    /// The function is not in it.
    #[error("no function `{0}` in the new file")]
    Missing(String),
}

/// Every check of gates 1 to 4 on a candidate's text.
pub fn vet(old_module: &str, function: &str, candidate: &str) -> GateReport {
    vet_all(old_module, function, candidate, &VetContext::default())
}

/// The same for a whole new file: its function is the candidate.
///
/// # Errors
/// [`Vet`].
pub fn vet_files(old_module: &str, new_module: &str, function: &str) -> Result<GateReport, Vet> {
    let source = Source::parse(new_module)?;
    let found = source.functions(function);
    let [first, ..] = found.as_slice() else { return Err(Vet::Missing(function.to_owned())) };
    Ok(vet(old_module, function, source.slice(*first)))
}

/// Answers one line `{"id", "source", "target", "code"}` with `{"id", "findings"}`.
///
/// # Errors
/// What is wrong with the line, in words.
pub fn line(line: &str) -> Result<String, String> {
    let item: Json = serde_json::from_str(line).map_err(|error| format!("not a JSON line: {error}"))?;
    let field = |name: &str| item[name].as_str().ok_or_else(|| format!("`{name}` is missing"));
    let report = vet(field("source")?, field("target")?, field("code")?);
    Ok(json!({ "id": item["id"], "findings": findings(&report) }).to_string())
}

/// The failed checks, one line each.
pub fn findings(report: &GateReport) -> Vec<String> {
    let failed = report.checks.iter().filter(|check| check.answer == Answer::Failed);
    failed.map(|check| format!("{}: {}", check.name, check.reason)).collect()
}
