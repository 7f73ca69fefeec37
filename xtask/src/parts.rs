//! A list of named parts, run in order, each timed, with a table and one line of counts at the end. Neighbours that may
//! run beside each other do so, as many as there are cores; each prints when it has ended, so that no two mix.

use std::fs::File;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::shell;
use crate::workshop::Workshop;

/// How a part ended when nothing was wrong with it.
pub enum Ending {
    /// It ran and is good; the text, if any, goes into the table.
    Good(String),
    /// It did not run, and why.
    Skipped(String),
}

/// One part: its name, what it is for, and what it does.
pub struct Part {
    /// The name on the command line and in the table.
    pub name: &'static str,
    /// What it does.
    pub work: fn(&Workshop) -> anyhow::Result<Ending>,
    /// Whether it may run beside its neighbours: it compiles nothing and writes nothing that they read.
    pub beside: bool,
}

struct Line {
    name: &'static str,
    word: &'static str,
    time: Duration,
    text: String,
}

/// Runs the parts; stops at the first failure unless `keep_going`. True if none failed.
pub fn run(workshop: &Workshop, parts: &[&Part], keep_going: bool) -> bool {
    let begin = Instant::now();
    let mut lines = Vec::new();
    for group in parts.chunk_by(|first, second| first.beside && second.beside) {
        let ended = match group {
            [part] => vec![shown(workshop, part)],
            several => together(workshop, several),
        };
        let failed = ended.iter().any(|line| line.word == "FAILED");
        lines.extend(ended);
        if failed && !keep_going {
            break;
        }
    }
    report(&lines, parts.len(), begin.elapsed());
    lines.iter().all(|line| line.word != "FAILED")
}

/// Runs one whose output is shown as it comes.
fn shown(workshop: &Workshop, part: &Part) -> Line {
    eprintln!("\n== {} ==", part.name);
    let line = run_one(workshop, part);
    tell_failure(&line);
    line
}

/// Runs several at once. What each prints is kept in a file and shown when it has ended.
fn together(workshop: &Workshop, parts: &[&Part]) -> Vec<Line> {
    let next = Mutex::new(parts.iter());
    let ended: Mutex<Vec<Line>> = Mutex::default();
    let lanes = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(parts.len());
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                loop {
                    let Some(part) = next.lock().ok().and_then(|mut parts| parts.next()) else { return };
                    let path = workshop.target.join("parts").join(format!("{}.log", part.name));
                    let line = match kept(&path) {
                        Ok(log) => shell::kept_in(log, || run_one(workshop, part)),
                        Err(error) => {
                            Line { name: part.name, word: "FAILED", time: Duration::ZERO, text: format!("{error:#}") }
                        }
                    };
                    // Held while it prints, so that two that end at once do not mix.
                    let Ok(mut ended) = ended.lock() else { return };
                    eprintln!("\n== {} ==", part.name);
                    eprint!("{}", String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()));
                    tell_failure(&line);
                    ended.push(line);
                }
            });
        }
    });
    let mut lines = ended.into_inner().unwrap_or_default();
    lines.sort_by_key(|line| parts.iter().position(|part| part.name == line.name));
    lines
}

fn kept(path: &std::path::Path) -> anyhow::Result<File> {
    std::fs::create_dir_all(path.parent().context("a folder for the output of parts")?)?;
    File::create(path).with_context(|| path.display().to_string())
}

fn tell_failure(line: &Line) {
    if line.word == "FAILED" {
        eprintln!("xtask: part `{}` failed: {}", line.name, line.text);
    }
}

fn run_one(workshop: &Workshop, part: &Part) -> Line {
    let begin = Instant::now();
    let (word, text) = match (part.work)(workshop) {
        Ok(Ending::Good(text)) => ("ok", text),
        Ok(Ending::Skipped(why)) => ("skipped", why),
        Err(error) => ("FAILED", format!("{error:#}")),
    };
    Line { name: part.name, word, time: begin.elapsed(), text }
}

fn report(lines: &[Line], wanted: usize, time: Duration) {
    println!();
    for line in lines {
        let first = line.text.lines().next().unwrap_or_default();
        println!("{:<8} {:<16} {:>7.1} s  {first}", line.word, line.name, line.time.as_secs_f64());
    }
    let count = |word: &str| lines.iter().filter(|line| line.word == word).count();
    let left = wanted - lines.len();
    println!(
        "\n{} passed, {} failed, {} skipped, {left} not run, in {:.0} s",
        count("ok"),
        count("FAILED"),
        count("skipped"),
        time.as_secs_f64()
    );
}

#[cfg(test)]
mod tests {
    use super::{Ending, Part, run};
    use crate::shell;
    use crate::workshop::Workshop;

    fn folder(name: &str) -> Workshop {
        let target = std::env::temp_dir().join(format!("xtask-parts-{name}-{}", std::process::id()));
        Workshop { root: std::env::temp_dir(), target }
    }

    fn says(workshop: &Workshop) -> anyhow::Result<Ending> {
        shell::run(shell::command("git", &workshop.root).arg("--version"))?;
        Ok(Ending::Good(String::new()))
    }

    fn fails(_: &Workshop) -> anyhow::Result<Ending> {
        anyhow::bail!("as it should")
    }

    #[test]
    fn parts_beside_each_other_keep_what_they_print_and_one_failure_fails_all() {
        let workshop = folder("beside");
        let good = |name| Part { name, work: says, beside: true };
        let (first, second) = (good("first"), good("second"));
        assert!(run(&workshop, &[&first, &second], false));
        for name in ["first", "second"] {
            let text = std::fs::read_to_string(workshop.target.join(format!("parts/{name}.log"))).expect("its output");
            assert!(text.contains("$ git --version\n") && text.contains("git version"), "{text}");
        }
        let bad = Part { name: "bad", work: fails, beside: true };
        assert!(!run(&workshop, &[&first, &bad, &second], false));
        std::fs::remove_dir_all(&workshop.target).expect("removed");
    }

    #[test]
    fn after_a_failure_the_next_group_is_not_run() {
        let workshop = folder("group");
        let bad = Part { name: "bad", work: fails, beside: false };
        let never = Part { name: "never", work: |_| panic!("run after a failure"), beside: false };
        assert!(!run(&workshop, &[&bad, &never], false));
    }
}
