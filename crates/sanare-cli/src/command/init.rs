//! `sanare init`: a configuration to begin with, and its policy. What is there is never written over.

use std::io::Write as _;
use std::path::Path;

use sanare::core::service::Application;

use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The service's name.
    #[arg(default_value = "my-service")]
    service: String,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let service = Application::parse(arguments.service.as_str()).map_err(Exit::usage)?;
    let root = context.project_root()?;
    let person = sanare::wire::person::current().name;
    let configuration = CONFIGURATION.replace("NAME", service.as_str());
    let policy = POLICY.replace("PERSON", &person);
    for (name, text) in [("sanare.toml", configuration), ("policy.toml", policy)] {
        write_new(&root.join(name), &text)?;
    }
    let written = [root.join("sanare.toml"), root.join("policy.toml")];
    if context.json {
        return Ok(Printed::text(pretty(&serde_json::json!({ "written": written }))));
    }
    let lines = [
        format!("written: {}", written[0].display()),
        format!("written: {}", written[1].display()),
        "next: sanare check".to_owned(),
    ];
    Ok(Printed::text(lines.join("\n")))
}

fn write_new(path: &Path, text: &str) -> Result<(), Exit> {
    let made = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
    let written = made.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Exit::negative(format!("`{}` is there already; nothing is written over", path.display()))
        }
        _ => Exit::usage(format!("`{}` cannot be written: {error}", path.display())),
    })
}

const CONFIGURATION: &str = r#"[policy]
file = "policy.toml"

[service.NAME]
instances = 1

# `@service.serving` reports this number every second.
[[service.NAME.rule]]
id = "errors"
signal = "serving_error_share"
kind = "error_rate_high"
above = 0.05
for = "30s"

# What may be done is lent by the program (`service.capability`), or named here:
# [service.NAME.target.application]
# restart_component = { adapter = "command", argv = ["/usr/bin/systemctl", "restart", "NAME.service"] }
"#;

const POLICY: &str = r#"version = 1
mode = "ask"            # observe | dry_run | ask | auto
approvals = { approvers = ["PERSON"] }
"#;
