//! `cargo xtask without`: takes one mechanism out at a time and looks whether the tests that are named for it notice.
//!
//! Mutation by hand: `xtask/mechanisms/*.toml` holds what a requirement rests on, as a piece of source and what stands
//! there without it. It is long, so that `test` does not run it; `tidy` checks that each piece is still there.

pub mod table;
mod tree;

use std::process::Command;

use anyhow::bail;

use crate::python;
use crate::workshop::Workshop;

use table::{Mechanism, Suite};
use tree::Tree;

/// What came of one mechanism.
enum Found {
    /// The tests failed without it, as they should.
    Noticed,
    /// They passed without it: nothing shows it.
    Unnoticed,
    /// Nothing can be said: it does not build without it, or the tests did not run at all.
    Undecided(String),
}

/// Tries all mechanisms, or those of the named requirements (`S62`) or files (`loop`).
pub fn run(workshop: &Workshop, names: &[String]) -> anyhow::Result<bool> {
    let all = table::read(&workshop.root)?;
    let wanted = |mechanism: &&Mechanism| names.is_empty() || names.iter().any(|name| mechanism.is_called(name));
    let chosen: Vec<&Mechanism> = all.iter().filter(wanted).collect();
    if chosen.is_empty() {
        bail!(
            "no mechanism is called {}\nhint: names are requirements (S62) or files of xtask/mechanisms",
            names.join(", ")
        );
    }
    let tree = Tree::of(workshop)?;
    let mut lines = Vec::new();
    let mut good = true;
    for mechanism in chosen {
        let found = try_one(workshop, &tree, mechanism)?;
        let word = match &found {
            Found::Noticed => "noticed".to_owned(),
            Found::Unnoticed => "NOT NOTICED".to_owned(),
            Found::Undecided(why) => format!("UNDECIDED ({why})"),
        };
        good &= matches!(found, Found::Noticed);
        let line = format!("{}: {}: {word}", mechanism.spec.join(" "), mechanism.says);
        println!("{line}");
        lines.push((matches!(found, Found::Noticed), line));
    }
    let noticed = lines.iter().filter(|(noticed, _)| *noticed).count();
    println!("without: {noticed} of {} noticed", lines.len());
    for (_, line) in lines.iter().filter(|(noticed, _)| !noticed) {
        println!("  {line}");
    }
    Ok(good)
}

fn try_one(workshop: &Workshop, tree: &Tree, mechanism: &Mechanism) -> anyhow::Result<Found> {
    let _taken_out = tree.without(mechanism)?;
    match mechanism.suite()? {
        Suite::Cargo(words) => {
            let mut build = vec!["test", "-q", "--locked", "--no-run"];
            // What stands behind `--` is for the tests themselves.
            build.extend(words.iter().take_while(|word| **word != "--"));
            if !succeeds(&mut tree.cargo(&build))? {
                return Ok(Found::Undecided("it does not build".to_owned()));
            }
            let mut tests = vec!["test", "--locked"];
            tests.extend(words.iter());
            let output = tree.cargo(&tests).output()?;
            let text = String::from_utf8_lossy(&output.stdout);
            let some = text.lines().any(|line| line.starts_with("running ") && line != "running 0 tests");
            Ok(match (output.status.success(), some) {
                (_, false) => Found::Undecided("no test ran".to_owned()),
                (true, true) => Found::Unnoticed,
                (false, true) => Found::Noticed,
            })
        }
        Suite::Pytest(words) => {
            let venv = python::main_venv(workshop)?;
            let extension = ["rustc", "-q", "--locked", "-p", "sanare-py", "--features", "pyo3/extension-module"];
            let kind = ["--lib", "--crate-type", "cdylib"];
            if !succeeds(&mut tree.cargo(&[extension.as_slice(), kind.as_slice()].concat()))? {
                return Ok(Found::Undecided("it does not build".to_owned()));
            }
            tree.place_extension()?;
            let mut command = venv.command("pytest", tree.root());
            command.args(["-q", "-x", "-p", "no:cacheprovider"]).args(words);
            command.env("PYTHONPATH", tree.root().join("python")).env("PYTHONDONTWRITEBYTECODE", "1");
            // 1 is a failed test; 5 that none was chosen; others that pytest itself could not run.
            Ok(match command.output()?.status.code() {
                Some(0) => Found::Unnoticed,
                Some(1) => Found::Noticed,
                code => Found::Undecided(format!("no test ran, pytest said {code:?}")),
            })
        }
    }
}

fn succeeds(command: &mut Command) -> anyhow::Result<bool> {
    Ok(command.status()?.success())
}
