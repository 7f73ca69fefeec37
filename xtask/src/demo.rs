//! `cargo xtask demo`: the wheel into a venv, then `sanare demo`.

use std::process::Stdio;

use crate::python;
use crate::shell;
use crate::workshop::Workshop;

/// Builds, installs, runs.
pub fn run(workshop: &Workshop, arguments: &[String]) -> anyhow::Result<bool> {
    let venv = python::wheel(workshop)?;
    let mut demo = venv.command("sanare", &workshop.root);
    demo.arg("demo").args(arguments).stdin(Stdio::inherit());
    shell::run(&mut demo)?;
    Ok(true)
}
