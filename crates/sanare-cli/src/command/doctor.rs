//! `sanare doctor`: exit 1 when something needed is missing.

use sanare::operations::doctor::{Finding, doctor};

use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

pub(crate) fn run(context: &Context) -> Result<Printed, Exit> {
    let root = context.project_root()?;
    let findings = doctor(&root, &context.python());
    let code = i32::from(findings.iter().any(|finding| !finding.good));
    if context.json {
        return Ok(Printed::with_code(pretty(&findings), code));
    }
    Ok(Printed::with_code(findings.iter().map(line).collect::<Vec<_>>().join("\n"), code))
}

fn line(finding: &Finding) -> String {
    let mark = if finding.good { "ok     " } else { "missing" };
    let hint = if finding.hint.is_empty() { String::new() } else { format!("\n         hint: {}", finding.hint) };
    format!("{mark}  {}: {}{hint}", finding.what, finding.found)
}
