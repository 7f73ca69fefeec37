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
    let (mut to_report, mut trial_cpu, mut bare_cpu) = (Vec::new(), 0.0, 0.0);
    for _ in 0..200 {
        let (began, used) = (Instant::now(), cpu());
        bare_fork();
        bare.push(began.elapsed());
        bare_cpu += (cpu() - used) / 200.0;
        let (began, used) = (Instant::now(), cpu());
        to_report.push(small()?);
        trials.push(began.elapsed());
        trial_cpu += (cpu() - used) / 200.0;
    }
    writeln!(out, "processor time of both processes: trial {trial_cpu:.2} ms, bare fork and exit {bare_cpu:.2} ms")?;
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

/// Processor time of this process and its collected children, in milliseconds.
#[expect(unsafe_code, reason = "getrusage has no safe counterpart in the standard library")]
fn cpu() -> f64 {
    let mut sum = 0.0;
    for who in [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN] {
        // SAFETY: all-zero bytes are a valid usage, and the call writes a whole one.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &raw mut usage);
            usage
        };
        for time in [usage.ru_utime, usage.ru_stime] {
            sum += time.tv_sec as f64 * 1000.0 + time.tv_usec as f64 / 1000.0;
        }
    }
    sum
}
