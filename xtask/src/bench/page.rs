//! The page of figures: the machine, the versions, the commands, the spread.

use std::fmt::Write as _;

use super::Figure;
use crate::python::Venv;
use crate::shell;
use crate::workshop::Workshop;

/// The figures as a Markdown table.
pub(super) fn table(figures: &[Figure]) -> String {
    let mut text = String::from(
        "| what | bar | sanare | quartiles | healing-agent 0.5.0 | quartiles |\n|---|--:|--:|--:|--:|--:|\n",
    );
    for figure in figures {
        let bar = figure.bar.map_or_else(|| "–".to_owned(), |bar| format!("{bar} {}", figure.unit));
        let mut row =
            format!("| {} | {bar} | {} | {} ", figure.what, shown(figure.ours[0], figure.unit), spread(figure.ours));
        match figure.peer {
            Some(peer) => {
                let _ = write!(row, "| {} | {} |", shown(peer[0], figure.unit), spread(peer));
            }
            None => row.push_str("| – | – |"),
        }
        let _ = writeln!(text, "{row}");
    }
    text
}

/// The whole page.
pub(super) fn page(workshop: &Workshop, venv: &Venv, peer: &str, figures: &[Figure]) -> anyhow::Result<String> {
    let python =
        shell::output(venv.python(&workshop.root).args(["-c", "import platform; print(platform.python_version())"]))?;
    let sanare = shell::output(venv.python(&workshop.root).args(["-c", "import sanare; print(sanare.__version__)"]))?;
    let rustc = shell::answer(shell::command("rustc", &workshop.root).arg("--version")).unwrap_or_default();
    Ok(format!(
        "# Benchmarks

Written by `cargo xtask bench`; run it to get the figures of your own machine. It fails when a figure is past its bar
times 1.5 (the allowance for a shared machine).

- Machine: {machine}
- Load while measuring: {load} (one, five, fifteen minutes)
- CPython {python}, sanare {sanare} (wheel, profile `ci`), {rustc}
- Peer: {peer} from the package index, in a venv of its own, measured in the same run

{table}
Medians with lower and upper quartile. What each script does stands at its head: `benches/import_cost.py` (40 fresh
processes of each, taking turns), `benches/call_cost.py` (101 rounds of 50,000 calls, decorated and undecorated taking
turns, processor time), `benches/heal_time.py` (31 programs, the first one is the cold figure), `benches/model_request.py`,
`benches/evidence_time.py`, `benches/rest_time.py`, `benches/observe_cost.py`, `benches/ticker.py`,
`benches/redact_speed.py` (processor time),
`benches/look_alikes.py` (each item is a field that is gone or renamed; whoever gives a wrong value for it is counted). The
rows of services are examples of their crates: `detect_speed`, `observation_speed`, `decision_speed`.

The heal of the two is not the same work. Sanare finds the repair itself, proves it in a sandboxed copy of the process and
on synthetic old input, writes its record, the file and the running function. The peer asks a model twice; here that is a
server on the loopback interface which answers at once with a right repair, so the model's own seconds are left out, and it
proves nothing but that no exception is raised.
",
        machine = machine(),
        load = std::fs::read_to_string("/proc/loadavg").ok().and_then(|text| text.rsplitn(3, ' ').last().map(str::to_owned)).unwrap_or_default(),
        python = python.trim(),
        sanare = sanare.trim(),
        table = table(figures),
    ))
}

fn shown(number: f64, unit: &str) -> String {
    format!("{number:.1} {unit}")
}

fn spread(three: [f64; 3]) -> String {
    if three[1] == three[2] { "–".to_owned() } else { format!("{:.1} … {:.1}", three[1], three[2]) }
}

/// Processor, cores, memory, kernel: what a reader needs to compare, and no name of the machine.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let after = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key)).and_then(|line| line.split_once(':'));
        line.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let kilobytes: u64 = after(&read("/proc/meminfo"), "MemTotal").trim_end_matches(" kB").parse().unwrap_or(0);
    let kernel = read("/proc/sys/kernel/osrelease");
    let (cpu, system) = (after(&read("/proc/cpuinfo"), "model name"), std::env::consts::OS);
    format!("{cpu}, {cores} cores, {} GiB, {system} {}", kilobytes / (1024 * 1024), kernel.trim())
}

#[cfg(test)]
mod tests {
    use super::{Figure, table};

    #[test]
    fn a_row_has_bar_figure_and_spread() {
        let figure = Figure { what: "x".to_owned(), unit: "ms", bar: Some(5.0), ours: [1.25, 1.0, 2.0], peer: None };
        assert_eq!(table(&[figure]).lines().last(), Some("| x | 5 ms | 1.2 ms | 1.0 … 2.0 | – | – |"));
    }
}
