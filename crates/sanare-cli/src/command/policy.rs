//! `sanare policy explain ID` and `sanare policy test FILE`, for code and services.

use std::path::{Path, PathBuf};

use sanare::core::policy::{Policy, Verdict};
use sanare::core::service::Moment;
use sanare::operations::policy::{self, Explain, Explained, Tested};
use sanare::operations::show::Show;
use sanare::service::Healer;

use crate::command::incident::by_person;
use crate::command::{Context, pretty, shown};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Decide on what an incident proposed last, now, or on a case of a service that you make up, and show every rule.
    Explain(ExplainOf),
    /// Run a file of cases, or the past, under a policy; exit 1 on a difference.
    Test(Test),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainOf {
    /// The incident's id, of code or of a service, or at least six characters of its beginning.
    #[arg(required_unless_present = "case")]
    id: Option<String>,
    /// A case of a service: a TOML file whose keys replace those of a sound case, such as `action = "rollback_model"`.
    #[arg(long, value_name = "FILE", conflicts_with = "id")]
    case: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Test {
    /// Cases: `[[case]]` with what is given and the expected `verdict` and `rules`; for services what is given stands in a
    /// table `given`.
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
        Command::Explain(ExplainOf { case: Some(path), .. }) => explain_case(context, path),
        Command::Explain(ExplainOf { id, .. }) => explain(context, id.as_deref().unwrap_or_default()),
        Command::Test(arguments) => test(context, arguments),
    }
}

fn explain(context: &Context, id: &str) -> Result<Printed, Exit> {
    let known = context.store().and_then(|store| {
        let root = context.project_root()?;
        Ok(policy::explain(store.as_ref(), &root, id))
    });
    let explained = match known {
        Ok(Ok(explained)) => explained,
        Ok(Err(Explain::Show(Show::OfService { id, .. }))) => of_service(&context.healer()?, &id)?,
        // Services may have a store of their own.
        Ok(Err(Explain::Show(error @ Show::Unknown(_)))) => match context.healer_if_any()? {
            Some(healer) => of_service(&healer, id)?,
            None => return Err(shown(error, "sanare incident show")),
        },
        Err(exit) if exit.code == 4 => match context.healer_if_any()? {
            Some(healer) => of_service(&healer, id)?,
            None => return Err(exit),
        },
        Ok(Err(error)) => return Err(exit(error)),
        Err(exit) => return Err(exit),
    };
    Ok(Printed::text(if context.json { pretty(&explained) } else { text(&explained) }))
}

fn of_service(healer: &Healer, id: &str) -> Result<Explained, Exit> {
    let (decision, rules) = healer.explain_incident(id).map_err(by_person)?;
    Ok(policy::of_service(&decision, &rules))
}

/// A case that somebody makes up, by the configuration and the policy as they are.
fn explain_case(context: &Context, path: &Path) -> Result<Printed, Exit> {
    let file = read(path)?;
    let case = policy::service_case(&file).map_err(|what| Exit::usage(format!("{}: {what}", path.display())))?;
    let (decision, rules) = context.healer()?.explain(&case);
    let explained = policy::of_service(&decision, &rules);
    Ok(Printed::text(if context.json { pretty(&explained) } else { text(&explained) }))
}

fn read(path: &Path) -> Result<String, Exit> {
    std::fs::read_to_string(path).map_err(|error| Exit::usage(format!("`{}` cannot be read: {error}", path.display())))
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
        // Both halves read one file; the configuration of services may be named elsewhere.
        None if context.config.is_some() => {
            context.setup()?.policy(sanare::core::port::Clock::now(&sanare::wire::clock::SystemClock::new()))
        }
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
        let since = sanare::core::port::Clock::now(&sanare::wire::clock::SystemClock::new()).saturating_sub(span);
        return past(context, policy, since);
    }
    let path = arguments.cases.clone().unwrap_or_default();
    let text = read(&path)?;
    let test = if policy::are_of_services(&text) { policy::test_services } else { policy::test };
    test(policy, &text).map_err(|error| match error {
        Explain::Cases(what) => Exit::usage(format!("{}: {what}", path.display())),
        other => exit(other),
    })
}

/// Past decisions of both halves.
fn past(context: &Context, policy: &Policy, since: u64) -> Result<Tested, Exit> {
    let healer = context.healer_if_any()?;
    let of_code = match context.store() {
        Ok(store) => policy::history(store.as_ref(), policy, since),
        // Services may have a store of their own.
        Err(exit) if healer.is_none() || exit.code != 4 => return Err(exit),
        Err(_) => Ok(Tested { cases: 0, differences: Vec::new() }),
    };
    let (count, differences) = match &healer {
        Some(healer) => healer.judged_again(policy, Moment::from_millis(since)).map_err(Exit::store)?,
        None => (0, Vec::new()),
    };
    let mut tested = match of_code {
        Err(Explain::Cases(_)) if count > 0 => Tested { cases: 0, differences: Vec::new() },
        other => other.map_err(exit)?,
    };
    tested.cases += count;
    tested.differences.extend(differences);
    Ok(tested)
}

pub(crate) fn exit(error: Explain) -> Exit {
    match error {
        Explain::Show(error) => shown(error, "sanare incident show"),
        Explain::Store(_) => Exit::store(error),
        Explain::NothingDecided(_) => Exit::negative(error).hint("`sanare show` says why nothing was proposed"),
        Explain::Settings(_) | Explain::Cases(_) => Exit::usage(error),
    }
}
