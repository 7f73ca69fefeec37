//! Tasks of the house: `test`, `demo`, `bench`, `tidy`. What decides lives in the files named after the tasks.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a task talks to whoever runs it")]

mod bench;
mod check;
mod corpora;
mod demo;
mod parts;
mod prometheus;
mod python;
mod shell;
mod tidy;
mod without;
mod workshop;

use std::process::ExitCode;

use crate::workshop::Workshop;

const USAGE: &str = "usage: cargo xtask TASK

tasks:
  test [--keep-going] [PART…]   everything, or only the named parts; ends with a count of the parts
  demo [ARGUMENT…]              builds the wheel into a venv and runs `sanare demo`
  bench [NAME…]                 the benches; without names also rewrites docs/benchmarks.md
  tidy                          the rules of the house
  without [NAME…]               takes mechanisms out, one at a time, and looks whether their tests notice (hours)
  wheel                         builds the wheel, installs it into the venv, prints where it is
  parts                         the names of the parts of `test`";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> anyhow::Result<bool> {
    let workshop = Workshop::find()?;
    let Some((task, rest)) = arguments.split_first() else {
        eprintln!("{USAGE}");
        return Ok(false);
    };
    match task.as_str() {
        "test" => check::run(&workshop, rest),
        "demo" => demo::run(&workshop, rest),
        "bench" => bench::run(&workshop, rest),
        "tidy" => tidy::run(&workshop),
        "without" => without::run(&workshop, rest),
        "wheel" => python::wheel(&workshop).map(|venv| println!("{}", venv.folder().display())).map(|()| true),
        "parts" => {
            println!("{}", check::names().join("\n"));
            Ok(true)
        }
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            Ok(true)
        }
        other => anyhow::bail!("no task `{other}`\n\n{USAGE}"),
    }
}
