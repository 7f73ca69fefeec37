//! `sanare config show|hash`: every key with its value and where it came from, and the hashes that are in every decision;
//! exit 2 when something is wrong.

use sanare::core::settings::{KEYS, Origin};
use serde_json::json;

use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Print the effective settings and where each came from.
    Show,
    /// Print the hash of the configuration of services and of the policy, as approvals are bound to them.
    Hash,
}

pub(crate) fn run(context: &Context, command: &Command) -> Result<Printed, Exit> {
    match command {
        Command::Show => show(context),
        Command::Hash => hash(context),
    }
}

fn hash(context: &Context) -> Result<Printed, Exit> {
    let setup = context.setup()?;
    let now = sanare::core::port::Clock::now(&sanare::wire::clock::SystemClock::new());
    let policy = setup.policy(now);
    let (file, named) = (setup.file.display().to_string(), setup.settings.text("policy.file"));
    if context.json {
        let value = json!({ "configuration": setup.configuration.hash(), "file": file, "policy": policy.digest(),
            "policy_file": Some(named).filter(|named| !named.is_empty()), "policy_trouble": policy.trouble() });
        return Ok(Printed::text(pretty(&value)));
    }
    let policy_file = if named.is_empty() { "no policy file" } else { named };
    let trouble = policy.trouble().map(|why| format!(" (cannot be used: {why})")).unwrap_or_default();
    let lines =
        [format!("{}  {file}", setup.configuration.hash()), format!("{}  {policy_file}{trouble}", policy.digest())];
    Ok(Printed::text(lines.join("\n")))
}

fn show(context: &Context) -> Result<Printed, Exit> {
    let root = context.project_root()?;
    let settings = sanare::wire::settings::settings(&root, &[]).map_err(|troubles| {
        Exit::usage(troubles.iter().map(ToString::to_string).collect::<Vec<_>>().join("\nerror: "))
    })?;
    if context.json {
        return Ok(Printed::text(pretty(&settings)));
    }
    let lines: Vec<String> = KEYS
        .iter()
        .filter_map(|key| settings.rows().find(|(path, _, _)| *path == key.path))
        .map(|(path, value, origin)| format!("{path:<45} {:<24} {}", value.to_string(), whence(origin)))
        .collect();
    Ok(Printed::text(lines.join("\n")))
}

fn whence(origin: &Origin) -> String {
    match origin {
        Origin::Decorator => "decorator".to_owned(),
        Origin::Variable { name } => name.clone(),
        Origin::File { path, line } => format!("{path}:{line}"),
        Origin::Default => "default".to_owned(),
    }
}
