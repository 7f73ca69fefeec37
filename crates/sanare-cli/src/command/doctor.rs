//! `sanare doctor`: exit 1 when something needed is missing.

use sanare::operations::doctor::{Finding, ask_model, doctor};

use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Make one real call to the configured model, and say what works.
    #[arg(long)]
    model: bool,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let root = context.project_root()?;
    let mut findings = doctor(&root, &context.python());
    if arguments.model {
        findings.push(ask_model(&root));
    }
    let code = i32::from(findings.iter().any(|finding| !finding.good));
    if context.json {
        return Ok(Printed::with_code(pretty(&findings), code));
    }
    Ok(Printed::with_code(findings.iter().map(line).collect::<Vec<_>>().join("\n"), code))
}

pub(crate) fn line(finding: &Finding) -> String {
    let mark = if finding.good { "ok     " } else { "missing" };
    let hint = if finding.hint.is_empty() { String::new() } else { format!("\n         hint: {}", finding.hint) };
    format!("{mark}  {}: {}{hint}", finding.what, finding.found)
}
