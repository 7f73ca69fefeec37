//! How long a forked trial takes in a process of 100 MiB: `cargo run --release --example trial_times`.

#![cfg(target_os = "linux")]

use std::io::Write as _;
use std::time::{Duration, Instant};

use sanare_effects::sandbox::ShutIn;
use sanare_effects::trial::{CannotFork, Hooks, Limits, PrivateFolder, TrialEnd, fork_trial};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout();
    let resident = vec![1_u8; 100 << 20];
    let folder = PrivateFolder::create()?;
    let began = Instant::now();
    let prepared = ShutIn::new(folder.path().to_owned()).prepare()?;
    writeln!(out, "fences prepared in {:.2} ms", milliseconds(began.elapsed()))?;
    let run = || -> Result<Duration, CannotFork> {
        let trial = fork_trial(&prepared, &Limits::default(), &Hooks::default(), || {
            vec![resident.iter().fold(0, |sum, byte| sum ^ byte)]
        })?;
        assert!(matches!(trial.end, TrialEnd::Reported(_)), "{:?}", trial.end);
        Ok(trial.took)
    };
    let small = || fork_trial(&prepared, &Limits::default(), &Hooks::default(), || vec![resident.len() as u8]);
    let mut whole: Vec<Duration> = Vec::new();
    for _ in 0..300 {
        let began = Instant::now();
        small()?;
        whole.push(began.elapsed());
    }
    whole.sort();
    let at = |share: f64| milliseconds(whole[(whole.len() as f64 * share) as usize]);
    writeln!(
        out,
        "trial of a 100 MiB process, 300 runs: p50 {:.2} ms, p95 {:.2} ms, p99 {:.2} ms",
        at(0.5),
        at(0.95),
        at(0.99)
    )?;
    writeln!(out, "the same reading all of it once: {:.2} ms", milliseconds(run()?))?;
    Ok(())
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
