//! `cargo xtask test`: everything that must hold, cheap before dear.

use anyhow::bail;

use crate::corpora;
use crate::parts::{self, Ending, Part};
use crate::prometheus;
use crate::python::{self, Venv};
use crate::shell;
use crate::tidy;
use crate::workshop::Workshop;

/// All parts in running order, the longest of those beside each other first. A new part is one line here.
const PARTS: &[Part] = &[
    Part { name: "format", work: format, beside: false },
    Part { name: "tidy", work: house_rules, beside: false },
    Part { name: "clippy", work: clippy, beside: false },
    Part { name: "rust", work: rust_tests, beside: false },
    Part { name: "wheel", work: wheel, beside: false },
    Part { name: "python-lint", work: python_lint, beside: false },
    Part { name: "python-types", work: python_types, beside: false },
    Part { name: "other-pythons", work: other_pythons, beside: true },
    Part { name: "python", work: python_tests, beside: true },
    Part { name: "services", work: services, beside: true },
    Part { name: "cases", work: corpora::cases, beside: true },
    Part { name: "candidates", work: corpora::candidates, beside: true },
    Part { name: "redaction", work: corpora::redaction, beside: true },
];

/// The names, for the command line.
pub fn names() -> Vec<&'static str> {
    PARTS.iter().map(|part| part.name).collect()
}

/// Runs all parts, or those that are named.
pub fn run(workshop: &Workshop, arguments: &[String]) -> anyhow::Result<bool> {
    let keep_going = arguments.iter().any(|argument| argument == "--keep-going");
    let wanted: Vec<&str> = arguments.iter().map(String::as_str).filter(|name| *name != "--keep-going").collect();
    if let Some(unknown) = wanted.iter().find(|name| !names().contains(name)) {
        bail!("no part `{unknown}`\nhint: parts are {}", names().join(", "));
    }
    let chosen = |part: &&Part| wanted.is_empty() || wanted.contains(&part.name);
    Ok(parts::run(workshop, &PARTS.iter().filter(chosen).collect::<Vec<_>>(), keep_going))
}

fn good(text: impl Into<String>) -> anyhow::Result<Ending> {
    Ok(Ending::Good(text.into()))
}

fn format(workshop: &Workshop) -> anyhow::Result<Ending> {
    shell::run(&mut shell::cargo(&workshop.root, &["fmt", "--all", "--", "--check"]))?;
    good("")
}

fn house_rules(workshop: &Workshop) -> anyhow::Result<Ending> {
    let problems = tidy::problems(&workshop.root)?;
    if !problems.is_empty() {
        bail!("{} problems\n{}", problems.len(), problems.join("\n"));
    }
    good("")
}

fn clippy(workshop: &Workshop) -> anyhow::Result<Ending> {
    let arguments = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    shell::run(&mut shell::cargo(&workshop.root, &arguments))?;
    good("")
}

/// Without `sanare-py`: its extension module has no interpreter to link with here, and is tested through the wheel.
fn rust_tests(workshop: &Workshop) -> anyhow::Result<Ending> {
    let arguments = ["test", "--workspace", "--exclude", "sanare-py", "--locked"];
    // Loaders of the drift engine's tests run under an interpreter that has the libraries they read with.
    let python = python::main_venv(workshop)?.program("python");
    let mut command = shell::cargo(&workshop.root, &arguments);
    command.env("PYTHON", python);
    let told = match prometheus::program(workshop) {
        Ok(program) => {
            command.env(prometheus::VARIABLE, program);
            String::new()
        }
        Err(why) => {
            let told = format!("NOT RUN: tests against a real Prometheus: {why:#}");
            shell::tell(&format!("xtask: {told}"));
            told
        }
    };
    shell::run(&mut command)?;
    good(told)
}

fn wheel(workshop: &Workshop) -> anyhow::Result<Ending> {
    python::wheel(workshop)?;
    let wheel = python::built_wheel(workshop)?;
    let bytes = std::fs::metadata(&wheel)?.len();
    let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if bytes > 12 * 1024 * 1024 {
        bail!("{name} has {bytes} bytes, more than the 12 MiB of C139");
    }
    good(format!("{name}, {:.1} MiB", bytes as f64 / (1024.0 * 1024.0)))
}

fn python_lint(workshop: &Workshop) -> anyhow::Result<Ending> {
    let venv = python::main_venv(workshop)?;
    let folders = existing(workshop, &["python", "tests/python", "tests/services", "benches"]);
    shell::run(venv.command("ruff", &workshop.root).arg("check").args(&folders))?;
    shell::run(venv.command("ruff", &workshop.root).args(["format", "--check"]).args(&folders))?;
    good("")
}

fn python_types(workshop: &Workshop) -> anyhow::Result<Ending> {
    let venv = python::main_venv(workshop)?;
    let cache = workshop.target.join("mypy");
    shell::run(venv.command("mypy", &workshop.root).args(["--strict", "--cache-dir"]).arg(cache).arg("python/sanare"))?;
    good("")
}

fn python_tests(workshop: &Workshop) -> anyhow::Result<Ending> {
    let venv = python::main_venv(workshop)?;
    // 16 turns of the loop, 13 kills each: 208 kills.
    good(pytest(workshop, &venv, Some(("KILL_RUNS", "13")), &[])?)
}

/// What is long and asks the Rust half alone: one interpreter is enough.
const OF_ONE_PYTHON: &[&str] = &[
    "test_kill_matrix.py",
    "test_corpus_candidates.py",
    "test_model_candidates.py",
    "test_model_injection.py",
    "test_model_lab.py",
    "test_model_transport.py",
    "test_every_verb.py",
    "test_ledger_heads.py",
    "test_services_every_kind.py",
    "test_services_invariants.py",
    "test_services_job_kill.py",
    "test_services_kill.py",
    "test_services_month.py",
    "test_services_notify_kill.py",
    "test_services_prompt.py",
    "test_services_registry.py",
    "test_services_reload.py",
    "test_services_secrets.py",
    "test_services_stop.py",
    "test_verbs.py",
];

/// The same wheel under every other interpreter that is found; there without third-party libraries.
fn other_pythons(workshop: &Workshop) -> anyhow::Result<Ending> {
    let main = shell::output(
        python::main_venv(workshop)?
            .python(&workshop.root)
            .args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"]),
    )?;
    let requirements = std::fs::read_to_string(workshop.root.join("xtask/requirements-core.txt"))?;
    let wheel = python::built_wheel(workshop)?;
    let mut lines = Vec::new();
    let mut missing = Vec::new();
    let found = python::interpreters(workshop);
    for version in python::VERSIONS {
        let name = format!("{}.{}", version.0, version.1);
        if name == main.trim() {
            continue;
        }
        let Some(interpreter) = found.iter().find(|python| python.version == version) else {
            missing.push(name);
            continue;
        };
        let venv = Venv::ready(workshop, &format!("venv-{name}"), interpreter, &requirements)?;
        venv.install(workshop, &wheel)?;
        lines.push(format!("{name}: {}", pytest(workshop, &venv, None, OF_ONE_PYTHON)?));
    }
    if !missing.is_empty() {
        lines.push(format!("not on this machine: {}", missing.join(", ")));
    }
    if lines.is_empty() { Ok(Ending::Skipped("no other Python found".to_owned())) } else { good(lines.join("; ")) }
}

/// Service healing against real servers, in a venv that holds them.
fn services(workshop: &Workshop) -> anyhow::Result<Ending> {
    let requirements = std::fs::read_to_string(workshop.root.join("xtask/requirements-services.txt"))?;
    let wheel = python::built_wheel(workshop)?;
    let venv = match Venv::ready(workshop, "venv-services", &python::main_interpreter(workshop)?, &requirements) {
        Ok(venv) => venv,
        Err(why) => {
            return Ok(Ending::Skipped(format!("NOT RUN: the registry's server cannot be installed here: {why:#}")));
        }
    };
    venv.install(workshop, &wheel)?;
    let report = venv.folder().join("pytest.xml");
    let mut command = venv.command("pytest", &workshop.root);
    command.args(["-q", "-p", "no:cacheprovider", "-rfEs", "tests/services"]);
    command.arg(format!("--junit-xml={}", report.display())).env("PYTHONDONTWRITEBYTECODE", "1");
    shell::run(&mut command)?;
    good(counts(&std::fs::read_to_string(&report)?))
}

/// Runs the Python suite against the installed wheel and returns pytest's own last line.
fn pytest(workshop: &Workshop, venv: &Venv, more: Option<(&str, &str)>, left_out: &[&str]) -> anyhow::Result<String> {
    let report = venv.folder().join("pytest.xml");
    let mut command = venv.command("pytest", &workshop.root);
    command.args(["-q", "-p", "no:cacheprovider", "-rfE", "tests/python"]);
    command.arg(format!("--junit-xml={}", report.display())).env("PYTHONDONTWRITEBYTECODE", "1").envs(more);
    command.args(left_out.iter().map(|file| format!("--ignore=tests/python/{file}")));
    shell::run(&mut command)?;
    Ok(counts(&std::fs::read_to_string(&report)?))
}

/// The counts in the first `<testsuite …>` of a JUnit report.
fn counts(report: &str) -> String {
    let count = |name: &str| -> u64 {
        let text = report.split_once(&format!(" {name}=\"")).map_or("", |(_, rest)| rest);
        text.split('"').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
    };
    let (tests, skipped) = (count("tests"), count("skipped"));
    let failed = count("failures") + count("errors");
    format!("{} passed, {failed} failed, {skipped} skipped", tests.saturating_sub(failed + skipped))
}

fn existing(workshop: &Workshop, folders: &[&'static str]) -> Vec<&'static str> {
    folders.iter().copied().filter(|folder| workshop.root.join(folder).is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::counts;

    #[test]
    fn counts_come_from_the_report() {
        let report = r#"<testsuites name="x"><testsuite name="pytest" errors="1" failures="2" skipped="3" tests="10">"#;
        assert_eq!(counts(report), "4 passed, 3 failed, 3 skipped");
    }
}
