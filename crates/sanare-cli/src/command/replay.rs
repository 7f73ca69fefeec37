//! `sanare replay ID`: exit 0 when everything is decided as it was, 1 when not.

use std::path::PathBuf;

use sanare::core::gate::Answer;
use sanare::core::policy::Verdict;
use sanare::operations::replay::{Replay, replay, with_candidate};
use serde_json::json;

use crate::command::{Context, policy, pretty, shown};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The incident's id, or at least six characters of its beginning.
    id: String,
    /// Puts another candidate, a function or a whole file, through the same gates; nothing is changed.
    #[arg(long, value_name = "FILE")]
    candidate: Option<PathBuf>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    match &arguments.candidate {
        Some(path) => judge(context, &arguments.id, path),
        None => again(context, &arguments.id),
    }
}

fn again(context: &Context, id: &str) -> Result<Printed, Exit> {
    let (store, root) = (context.store()?, context.project_root()?);
    let steps = replay(store.as_ref(), &root, id).map_err(exit)?;
    let same = steps.iter().all(|step| step.was == step.now);
    if context.json {
        let lines: Vec<_> = steps.iter().map(|step| json!({ "was": step.was, "now": step.now })).collect();
        return Ok(Printed::with_code(pretty(&json!({ "same": same, "steps": lines })), i32::from(!same)));
    }
    let or_none = |text: &str| if text.is_empty() { "(no step)".to_owned() } else { text.to_owned() };
    let mut lines: Vec<String> = steps
        .iter()
        .map(|step| match step.was == step.now {
            true => format!("  same       {}", step.was),
            false => format!("  DIFFERENT  {} -> {}", or_none(&step.was), or_none(&step.now)),
        })
        .collect();
    lines.push(match same {
        true => "the recorded steps are decided as they were".to_owned(),
        false => "the recorded steps are not decided as they were".to_owned(),
    });
    Ok(Printed::with_code(lines.join("\n"), i32::from(!same)))
}

fn judge(context: &Context, id: &str, path: &std::path::Path) -> Result<Printed, Exit> {
    let (store, root) = (context.store()?, context.project_root()?);
    let text = std::fs::read_to_string(path)
        .map_err(|error| Exit::usage(format!("`{}` cannot be read: {error}", path.display())))?;
    let judged = with_candidate(store.as_ref(), &root, id, &text).map_err(exit)?;
    let code = if judged.decision.verdict == Verdict::Refuse { 6 } else { 0 };
    if context.json {
        let answer = json!({ "gates": judged.report.checks, "decision": judged.decision });
        return Ok(Printed::with_code(pretty(&answer), code));
    }
    let mut lines: Vec<String> = judged
        .report
        .checks
        .iter()
        .filter(|check| check.answer != Answer::Passed)
        .map(|check| {
            let word = if check.answer == Answer::Failed { "failed" } else { "skipped" };
            format!("  {} {}: {word} ({})", check.gate.word(), check.name, check.reason)
        })
        .collect();
    let verdict = format!("{:?}", judged.decision.verdict).to_lowercase();
    lines.push(format!("policy: {verdict}: {}", judged.decision.because()));
    Ok(Printed::with_code(lines.join("\n"), code))
}

fn exit(error: Replay) -> Exit {
    match error {
        Replay::Show(error) => shown(error, "sanare incident show"),
        Replay::Explain(error) => policy::exit(error),
        Replay::Store(_) => Exit::store(error),
        Replay::NoCandidate(_) => Exit::negative(error).hint("`sanare show` says why nothing was proposed"),
        Replay::Candidate(_) => Exit::usage(error),
    }
}
