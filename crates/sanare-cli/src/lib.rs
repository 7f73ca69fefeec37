//! The `sanare` command: arguments in, text and exit codes out.
//!
//! What does not live here: any decision. Data goes to standard output, the rest to standard error. Exit codes: 0 done,
//! 1 negative answer, 2 usage or settings, 3 not allowed, 4 not found, 5 store, 6 refused by policy.

mod command;
mod output;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::output::{Exit, Printed};

/// Heals running Python programs and model services, and shows what it did.
#[derive(Debug, Parser)]
#[command(
    name = "sanare",
    version,
    about = "Heals running Python programs and model services: finds the cause, proves the smallest repair, writes all of it down",
    after_help = "Start with `sanare demo`. After a failure: `sanare incidents`, then `sanare show ID`."
)]
struct Arguments {
    /// Print JSON instead of text.
    #[arg(long, global = true)]
    json: bool,
    /// The project's folder; its store is `.sanare/store.db` there.
    #[arg(long, global = true, value_name = "FOLDER")]
    project: Option<PathBuf>,
    /// The configuration of services; else `SANARE_CONFIG`, `sanare.toml` in the project, the user's own.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Heal three small jobs in a temporary folder, offline, and show each step.
    Demo(command::demo::Arguments),
    /// List incidents, newest first.
    #[command(alias = "list")]
    Incidents(command::incidents::Arguments),
    /// Show one incident: evidence, refusal report, attempts, gates, diff.
    Show(command::show::Arguments),
    /// Explain a failing case folder or an incident: needed fields, candidates, evidence for and against, what decided.
    Explain(command::explain::Arguments),
    /// Print the patch of an incident.
    Diff(command::diff::Arguments),
    /// Apply what an incident proposes, exactly as it was shown.
    Approve(command::answer::Arguments),
    /// Close what an incident proposes; nothing is changed.
    Deny(command::answer::Arguments),
    /// Take an applied repair back.
    Revert(command::revert::Arguments),
    /// Decide the recorded steps of an incident again, changing nothing.
    Replay(command::replay::Arguments),
    /// Look at what policy decides, and why.
    #[command(subcommand)]
    Policy(command::policy::Command),
    /// Let a failure that rests be worked on at its next occurrence.
    Retry(command::retry::Arguments),
    /// Look after the ledger: check it, print its head, export it.
    #[command(subcommand)]
    Ledger(command::ledger::Command),
    /// Look at the settings.
    #[command(subcommand)]
    Config(command::config::Command),
    /// Look after the store: bring it to the present format, copy it.
    #[command(subcommand)]
    Store(command::store::Command),
    /// Say what works on this machine and what is missing.
    Doctor(command::doctor::Arguments),
    /// Forget what was remembered of good calls: of one function, or of all.
    Forget(command::forget::Arguments),
    /// Translate the settings and decorators of healing-agent, without running anything.
    Migrate(command::migrate::Arguments),
    /// Redact text: standard input to standard output.
    Redact(command::redact::Arguments),
    /// Judge a new version of one function without running it.
    Vet(command::vet::Arguments),
    /// Heal a loader in a case folder: `loader.py`, `old.*`, `new.*`, `task.toml`.
    HealCase(command::heal_case::Arguments),
    /// Put cases to every configured proposer, through the same gates, and count what came of them.
    Bench(command::bench::Arguments),
    /// Write a configuration for a service to begin with.
    Init(command::init::Arguments),
    /// Check the configuration of services, and tell what will never be done by itself.
    Check(command::check::Arguments),
    /// List services, and how they are.
    Services,
    /// Play a fault on the configuration: what would be opened, proposed and decided; nothing is touched.
    Simulate(command::simulate::Arguments),
    /// Watch and heal the configured services until this is ended.
    RunServices(command::run_services::Arguments),
    /// Look at one incident of a service, say that you saw it, hold it, begin anew, close it, take its act back.
    #[command(subcommand)]
    Incident(command::incident::Command),
    /// Look at what detection finds.
    #[command(subcommand)]
    Detect(command::detect::Command),
    /// Silence incidents: they are recorded, nothing is begun and nobody is told.
    #[command(subcommand)]
    Silence(command::silence::Command),
    /// Look after storms, when too many services are ill at once.
    #[command(subcommand)]
    Storm(command::silence::Storm),
    /// Propose an action for an incident of a service.
    Propose(command::propose::Arguments),
    /// Print what is kept of services, one line of JSON each: readings, incidents, receipts and more.
    Export(command::export::Arguments),
    /// Report a reading of a service.
    Observe(command::observe::Arguments),
    /// Figures of what was detected, decided, done and healed in services.
    Report(command::report::Arguments),
    /// Look after targets.
    #[command(subcommand)]
    Target(command::target::Command),
    /// Look after models.
    #[command(subcommand)]
    Model(command::model::Command),
    /// Stop all acting in this project at once, or on one service.
    Stop(command::stop::Arguments),
    /// Allow acting again.
    Start(command::stop::Arguments),
}

/// Runs the command line; the first argument is the program's name. `python` is the interpreter that hosts the wheel, if
/// one does. Returns the exit code.
pub fn run(arguments: Vec<OsString>, python: Option<PathBuf>) -> i32 {
    let parsed = match Arguments::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            // clap's own printing: help and version to standard output, errors to standard error.
            let _ = error.print();
            return error.exit_code();
        }
    };
    let context = command::Context { json: parsed.json, project: parsed.project, config: parsed.config, python };
    let done = match parsed.command {
        Command::Demo(arguments) => command::demo::run(&context, &arguments),
        Command::Incidents(arguments) => command::incidents::run(&context, &arguments),
        Command::Show(arguments) => command::show::run(&context, &arguments),
        Command::Explain(arguments) => command::explain::run(&context, &arguments),
        Command::Diff(arguments) => command::diff::run(&context, &arguments),
        Command::Approve(arguments) => command::answer::give(&context, &arguments, true),
        Command::Deny(arguments) => command::answer::give(&context, &arguments, false),
        Command::Replay(arguments) => command::replay::run(&context, &arguments),
        Command::Policy(command) => command::policy::run(&context, &command),
        Command::Revert(arguments) => command::revert::run(&context, &arguments),
        Command::Retry(arguments) => command::retry::run(&context, &arguments),
        Command::Ledger(command) => command::ledger::run(&context, &command),
        Command::Config(command) => command::config::run(&context, &command),
        Command::Store(command) => command::store::run(&context, &command),
        Command::Observe(arguments) => command::observe::run(&context, &arguments),
        Command::Report(arguments) => command::report::run(&context, &arguments),
        Command::Doctor(arguments) => command::doctor::run(&context, &arguments),
        Command::Forget(arguments) => command::forget::run(&context, &arguments),
        Command::Migrate(arguments) => command::migrate::run(&context, &arguments),
        Command::Redact(arguments) => command::redact::run(&arguments),
        Command::Vet(arguments) => command::vet::run(&context, &arguments),
        Command::HealCase(arguments) => command::heal_case::run(&context, &arguments),
        Command::Bench(arguments) => command::bench::run(&context, &arguments),
        Command::Stop(arguments) => command::stop::set(&context, &arguments),
        Command::Start(arguments) => command::stop::lift(&context, &arguments),
        Command::Init(arguments) => command::init::run(&context, &arguments),
        Command::Check(arguments) => command::check::run(&context, &arguments),
        Command::Services => command::services::run(&context),
        Command::Simulate(arguments) => command::simulate::run(&context, &arguments),
        Command::RunServices(arguments) => command::run_services::run(&context, &arguments),
        Command::Incident(command) => command::incident::run(&context, &command),
        Command::Detect(command) => command::detect::run(&context, &command),
        Command::Silence(command) => command::silence::run(&context, &command),
        Command::Storm(command) => command::silence::storm(&context, &command),
        Command::Export(arguments) => command::export::run(&context, &arguments),
        Command::Propose(arguments) => command::propose::run(&context, &arguments),
        Command::Target(command) => command::target::run(&context, &command),
        Command::Model(command) => command::model::run(&context, &command),
    };
    finish(done)
}

fn finish(done: Result<Printed, Exit>) -> i32 {
    match done {
        Ok(printed) => output::print(&printed),
        Err(exit) => output::complain(&exit),
    }
}
