//! `sanare check`: the configuration of services, read whole, and what will never be done by itself.

use sanare::core::policy::Verdict;
use sanare::operations::doctor::ask_model_of_services;
use sanare::service::{Checked, Setup, checked, word};
use serde_json::json;

use crate::command::doctor::line;
use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only tell what is wrong; exit 0 if nothing is.
    #[arg(long)]
    quiet: bool,
    /// Make one real call to the configured model too, and say what works; exit 1 if it does not.
    #[arg(long)]
    ask_model: bool,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let setup = context.setup()?;
    let checked = checked(&setup).map_err(|troubles| wrong(&troubles))?;
    if let Some(exit) = unusable(&setup, &checked) {
        return Err(exit);
    }
    let asked = arguments.ask_model.then(|| ask_model_of_services(&setup));
    let code = i32::from(asked.as_ref().is_some_and(|asked| !asked.good));
    if context.json {
        let mut value = json!({ "file": setup.file, "hash": setup.configuration.hash(), "services":
            setup.configuration.services.keys().collect::<Vec<_>>(), "obstacles": checked.obstacles,
            "warnings": checked.warnings });
        if let (Some(asked), Some(value)) = (&asked, value.as_object_mut()) {
            value.insert("model".to_owned(), json!(asked));
        }
        return Ok(Printed::with_code(pretty(&value), code));
    }
    let mut lines = vec![format!("{}: right ({})", setup.file.display(), setup.configuration.hash().short())];
    if !arguments.quiet {
        lines.extend(text(&setup, &checked.obstacles));
    }
    lines.extend(checked.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines.extend(asked.as_ref().map(line));
    Ok(Printed::with_code(lines.join("\n"), code))
}

/// That the policy file cannot be used, if it cannot.
pub(crate) fn unusable(setup: &Setup, checked: &Checked) -> Option<Exit> {
    let why = checked.policy_trouble.as_ref()?;
    let said = format!("the policy file `{}` cannot be used: {why}", setup.settings.text("policy.file"));
    Some(Exit::usage(said).hint("until it can, nothing is done"))
}

/// Everything that is wrong, one line each.
pub(crate) fn wrong(troubles: &[sanare::core::settings::Trouble]) -> Exit {
    Exit::usage(troubles.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n       "))
}

fn text(setup: &Setup, obstacles: &[sanare::core::service::config::Obstacle]) -> Vec<String> {
    let mut lines = Vec::new();
    for (application, service) in &setup.configuration.services {
        let counts = format!(
            "{} rules, {} probes, {} queries",
            service.rules.len() + service.budgets.len() + service.qualities.len(),
            service.probes.len(),
            service.queries.len()
        );
        lines.push(format!("{application}: {counts}"));
        for target in &service.targets {
            lines.push(format!("  {:<22} {} by {}", target.action.word(), target.key, target.adapter.word()));
        }
        let mine: Vec<_> = obstacles.iter().filter(|one| one.application == *application).collect();
        let never = |verdict: Verdict| mine.iter().filter(move |one| one.verdict == verdict && one.rule != "unmapped");
        for (verdict, says) in [(Verdict::Ask, "always asks"), (Verdict::Refuse, "never happens")] {
            for one in never(verdict) {
                lines.push(format!(
                    "  {:<22} {says}: {} ({} {})",
                    one.action.word(),
                    one.because,
                    word(verdict),
                    one.rule
                ));
            }
        }
        let unmapped: Vec<&str> =
            mine.iter().filter(|one| one.rule == "unmapped").map(|one| one.action.word()).collect();
        if !unmapped.is_empty() {
            lines.push(format!("  no target in the file:  {}", unmapped.join(", ")));
        }
    }
    lines
}
