//! A trial in a fresh interpreter that shuts itself in (C89): started here, heard here.

#[cfg(unix)]
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
#[cfg(unix)]
use pyo3::types::PyBytes;
use pyo3::types::PyTuple;
use sanare::core::port::RanState;
use sanare::effects::sandbox::{Prepared, ShutIn, available, usual_reads};

use crate::fork::{Allowance, Child};

/// The signal of a process that used up its processor time, on every Unix that has it.
#[cfg(unix)]
const SIGXCPU: i32 = 24;
/// The longest answer, and what may stand before it.
#[cfg(unix)]
const OUTPUT: usize = 17 << 20;

/// Runs what `sanare._fresh.request` made.
#[cfg(unix)]
pub fn run(py: Python<'_>, request: &Bound<'_, PyTuple>, allowance: Allowance) -> Child {
    use sanare::effects::task::{Task, run_while_wanted};
    use sanare::effects::trial::PrivateFolder;

    type Request<'py> = (OsString, PathBuf, Vec<(OsString, OsString)>, Bound<'py, PyBytes>);
    let cannot = |why: String| Child::Ended(RanState::CannotRun, why);
    let Ok((program, folder, environment, content)) = request.extract::<Request<'_>>() else {
        return cannot("a fresh process could not be told what to do".to_owned());
    };
    let private = match PrivateFolder::create() {
        Ok(private) => private,
        Err(error) => return cannot(format!("no private folder: {error}")),
    };
    let time = allowance.time_left();
    if time.is_zero() {
        return Child::Ended(RanState::TimedOut, "the deadline passed".to_owned());
    }
    let secret = format!("{:x}{:x}", chance(), chance());
    let mut input = format!(
        "{secret}\t{}\t{}\t{}\t{}\n",
        private.path().display(),
        time.as_millis(),
        allowance.memory,
        u8::from(allowance.accept_unisolated)
    )
    .into_bytes();
    input.extend_from_slice(content.as_bytes());
    let arguments = ["-m", "sanare._fresh"].map(OsString::from).to_vec();
    let task = Task { program, arguments, folder, environment, input, deadline: time, output: OUTPUT };
    let mut stopped = None;
    let done = {
        let stopped = &mut stopped;
        py.detach(move || {
            run_while_wanted(&task, None, &mut || {
                *stopped = Python::attach(|py| py.check_signals().err());
                stopped.is_some()
            })
        })
    };
    match (stopped, done) {
        (Some(error), _) => Child::Interrupted(error),
        (None, Err(why)) => cannot(why.to_string()),
        (None, Ok(done)) => heard(&done, &secret),
    }
}

/// Here no fresh interpreter is shut in.
#[cfg(not(unix))]
pub fn run(_: Python<'_>, _: &Bound<'_, PyTuple>, _: Allowance) -> Child {
    Child::Ended(RanState::NoIsolation, "no isolation: this platform has none".to_owned())
}

#[cfg(unix)]
fn heard(done: &sanare::effects::task::Done, secret: &str) -> Child {
    use sanare::effects::task::TaskEnd;

    if let Some((kind, data)) = frame(&done.output, secret) {
        let words = || String::from_utf8_lossy(data).into_owned();
        return match kind {
            "report" => Child::Sent(data.to_vec(), Vec::new()),
            "isolation" => Child::Ended(RanState::NoIsolation, format!("no isolation: {}", words())),
            _ => Child::Ended(RanState::CannotRun, words()),
        };
    }
    let (state, words) = match done.end {
        TaskEnd::TimedOut => (RanState::TimedOut, format!("no end within {:.1} s", done.took.as_secs_f64())),
        TaskEnd::Killed(SIGXCPU) => (RanState::TimedOut, "it used up its time".to_owned()),
        TaskEnd::Killed(signal) => (RanState::Crashed, format!("ended by signal {signal}")),
        TaskEnd::Exited(code) => (RanState::Exited, format!("it ended the process, code {code}")),
        TaskEnd::Unknown => (RanState::Exited, "it ended the process".to_owned()),
    };
    Child::Ended(state, words)
}

/// The one whole frame with this number at the end of an output.
#[cfg(unix)]
fn frame<'a>(output: &'a [u8], secret: &str) -> Option<(&'a str, &'a [u8])> {
    let mark = format!("\nsanare {secret} ");
    let at = output.windows(mark.len()).position(|part| part == mark.as_bytes())?;
    let rest = output.get(at + mark.len()..)?;
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let (kind, length) = std::str::from_utf8(rest.get(..end)?).ok()?.split_once(' ')?;
    let data = rest.get(end + 1..)?;
    (length.parse() == Ok(data.len())).then_some((kind, data))
}

#[cfg(unix)]
fn chance() -> u128 {
    use sanare::core::port::Clock as _;
    sanare::wire::clock::SystemClock::new().chance()
}

/// In the fresh process: shuts it in for good. The answer says which part is missing.
#[pyfunction]
pub fn shut_in(
    readable: Vec<PathBuf>,
    folder: PathBuf,
    milliseconds: u64,
    memory: u64,
    accept_unisolated: bool,
) -> Option<String> {
    let mut fences = ShutIn::new(folder);
    fences.read = usual_reads();
    fences.read.extend(readable);
    fences.cpu = Duration::from_millis(milliseconds);
    fences.memory = memory;
    fences.accept_unisolated = accept_unisolated;
    match Prepared::new(&fences, &available()) {
        Err(why) => Some(why.to_string()),
        Ok(prepared) => prepared.enter_here().err().map(|part| part.name().to_owned()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::frame;

    #[test]
    fn only_a_whole_frame_at_the_end_with_the_number_is_one() {
        assert_eq!(frame(b"noise\nsanare ab report 3\nxyz", "ab"), Some(("report", b"xyz".as_slice())));
        for output in ["\nsanare ac report 3\nxyz", "\nsanare ab report 3\nxy", "\nsanare ab report 3\nxyzz", ""] {
            assert_eq!(frame(output.as_bytes(), "ab"), None);
        }
    }
}
