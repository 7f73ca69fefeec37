//! One apply with a receipt: `apply FILE`, `recover FILE`, `check FILE`. For programs that cut it short at every step.
//! `KILL_AT=Swapped` (any name of a step) makes it kill itself there.

#![cfg(unix)]

#[path = "../tests/effects/once.rs"]
mod once;

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match once::run(&arguments, std::env::var("KILL_AT").ok().as_deref()) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(why) => {
            let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{why}\n").as_bytes());
            std::process::ExitCode::FAILURE
        }
    }
}
