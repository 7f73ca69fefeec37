//! A list of named parts, run in order, each timed, with a table and one line of counts at the end.

use std::time::{Duration, Instant};

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
    for part in parts {
        eprintln!("\n== {} ==", part.name);
        let line = run_one(workshop, part);
        let failed = line.word == "FAILED";
        if failed {
            eprintln!("xtask: part `{}` failed: {}", part.name, line.text);
        }
        lines.push(line);
        if failed && !keep_going {
            break;
        }
    }
    report(&lines, parts.len(), begin.elapsed());
    lines.iter().all(|line| line.word != "FAILED")
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
