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
    let small = || {
        fork_trial(&prepared, &Limits::default(), &Hooks::default(), || vec![resident.len() as u8])
            .map(|trial| trial.took)
    };
    let (mut trials, mut bare) = (Vec::new(), Vec::new());
    let mut to_report = Vec::new();
    for _ in 0..200 {
        let began = Instant::now();
        bare_fork();
        bare.push(began.elapsed());
        let began = Instant::now();
        to_report.push(small()?);
        trials.push(began.elapsed());
    }
    for (what, mut times) in [("trial", trials), ("trial up to its report", to_report), ("bare fork and exit", bare)] {
        times.sort();
        let at = |share: f64| milliseconds(times[(times.len() as f64 * share) as usize]);
        writeln!(out, "{what}: least {:.2} ms, p50 {:.2} ms, p95 {:.2} ms", at(0.0), at(0.5), at(0.95))?;
    }
    writeln!(out, "the same reading all of it once: {:.2} ms", milliseconds(run()?))?;
    Ok(())
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// What the kernel alone takes to copy this process and to clear the copy away.
#[expect(unsafe_code, reason = "fork has no safe counterpart in the standard library")]
fn bare_fork() {
    // SAFETY: the child leaves at once.
    unsafe {
        let pid = libc::fork();
        if pid == 0 {
            libc::_exit(0);
        }
        libc::waitpid(pid, std::ptr::null_mut(), 0);
    }
}
