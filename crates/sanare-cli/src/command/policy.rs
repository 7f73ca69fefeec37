//! `sanare policy explain ID` and `sanare policy test FILE`.

use std::path::PathBuf;

use sanare::core::policy::{Policy, Verdict};
use sanare::operations::policy::{self, Explain, Explained, Tested};

use crate::command::{Context, pretty, shown};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Decide on an incident's last candidate again, now, and show every rule.
    Explain {
        /// The incident's id, or at least six characters of its beginning.
        id: String,
    },
    /// Run a file of cases, or the past, under a policy; exit 1 on a difference.
    Test(Test),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Test {
    /// Cases: `[[case]]` with what is given and the expected `verdict` and `rules`.
    #[arg(required_unless_present = "history")]
    cases: Option<PathBuf>,
    /// Another policy file than the project's.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Decide on what was decided in this time again, such as 30d.
    #[arg(long, value_name = "TIME", conflicts_with = "cases")]
    history: Option<String>,
}

pub(crate) fn run(context: &Context, command: &Command) -> Result<Printed, Exit> {
    match command {
        Command::Explain { id } => explain(context, id),
        Command::Test(arguments) => test(context, arguments),
    }
}

fn explain(context: &Context, id: &str) -> Result<Printed, Exit> {
    let (store, root) = (context.store()?, context.project_root()?);
    let explained = policy::explain(store.as_ref(), &root, id).map_err(exit)?;
    Ok(Printed::text(if context.json { pretty(&explained) } else { text(&explained) }))
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Permit => "permit",
        Verdict::Ask => "ask",
        Verdict::Refuse => "refuse",
    }
}

fn text(explained: &Explained) -> String {
    let mut lines = vec![format!("verdict: {}", word(explained.verdict))];
    for line in &explained.rules {
        lines.push(match line.verdict {
            Some(verdict) => format!("  {:<8} {}: {}", word(verdict), line.rule, line.because),
            None => format!("  {:<8} {}", "-", line.rule),
        });
    }
    if !explained.to_permit.is_empty() {
        lines.push("to be permitted:".to_owned());
        lines.extend(explained.to_permit.iter().map(|line| format!("  {line}")));
    }
    lines.join("\n")
}

fn test(context: &Context, arguments: &Test) -> Result<Printed, Exit> {
    let policy = match &arguments.policy {
        Some(path) => sanare::wire::policy::read(path),
        None => policy::current(&context.project_root()?).map_err(exit)?,
    };
    if let Some(why) = policy.trouble() {
        return Err(Exit::usage(format!("the policy file cannot be used: {why}")));
    }
    let tested = tested(context, arguments, &policy)?;
    let code = i32::from(!tested.differences.is_empty());
    let mut lines = tested.differences.clone();
    lines.push(format!("{} cases, {} differences", tested.cases, tested.differences.len()));
    Ok(Printed::with_code(if context.json { pretty(&tested) } else { lines.join("\n") }, code))
}

fn tested(context: &Context, arguments: &Test, policy: &Policy) -> Result<Tested, Exit> {
    if let Some(history) = &arguments.history {
        let span = sanare::core::policy::file::milliseconds(history)
            .ok_or_else(|| Exit::usage(format!("`{history}` is no time")).hint("write such as 30d or 12h"))?;
        let store = context.store()?;
        let since = sanare::core::port::Clock::now(&sanare::wire::clock::SystemClock::new()).saturating_sub(span);
        return policy::history(store.as_ref(), policy, since).map_err(exit);
    }
    let path = arguments.cases.clone().unwrap_or_default();
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Exit::usage(format!("`{}` cannot be read: {error}", path.display())))?;
    policy::test(policy, &text).map_err(|error| match error {
        Explain::Cases(what) => Exit::usage(format!("{}: {what}", path.display())),
        other => exit(other),
    })
}

pub(crate) fn exit(error: Explain) -> Exit {
    match error {
        Explain::Show(error) => shown(error, "sanare incident show"),
        Explain::Store(_) => Exit::store(error),
        Explain::NothingDecided(_) => Exit::negative(error).hint("`sanare show` says why nothing was proposed"),
        Explain::Settings(_) | Explain::Cases(_) => Exit::usage(error),
    }
}
