//! Configured checks that change nothing: a program, a GET, a question to Prometheus, a probe, a look at a registry (S76).

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sanare_core::service::port::{Diagnostic, Found, Probe};
use sanare_core::service::text::Output;
use sanare_core::service::word::Health;

use super::client::{Call, Reply};
use super::endpoint::Endpoint;
use super::mlflow::registry::{Alias, Model, Registry, State, VersionState};
use super::prometheus::{Pull, Sample};
use crate::task::{Task, TaskEnd, run};

/// Bytes of an answer or of a program's output that are looked at.
const OUTPUT: usize = 64 * 1024;
/// Series of an answer that become readings.
const SERIES: usize = 50;

/// A check.
pub struct Check {
    name: String,
    way: Way,
}

/// What a check does.
pub enum Way {
    /// Runs a program that its owner calls read-only; it sees no variable of ours.
    Command {
        /// An absolute program and its arguments.
        argv: Vec<String>,
        /// Where it runs.
        folder: PathBuf,
        /// When it is given up.
        timeout: Duration,
    },
    /// Asks an address.
    Get {
        /// Which.
        endpoint: Endpoint,
        /// When it is given up.
        timeout: Duration,
    },
    /// Asks Prometheus.
    PromQl(Box<Pull>),
    /// Asks a configured probe.
    Probe(Arc<dyn Probe>),
    /// Reads where an alias is.
    Registry(Box<Registry>, Model),
}

impl Check {
    /// A check of this name.
    pub fn new(name: impl Into<String>, way: Way) -> Self {
        Self { name: name.into(), way }
    }
}

impl Diagnostic for Check {
    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self) -> Found {
        match &self.way {
            Way::Command { argv, folder, timeout } => command(argv, folder.clone(), *timeout),
            Way::Get { endpoint, timeout } => get(endpoint, *timeout),
            Way::PromQl(pull) => match pull.look() {
                Ok(samples) => numbers(&samples),
                Err(fault) => told(false, &fault.to_string()),
            },
            Way::Probe(probe) => {
                let answered = probe.ask();
                let detail = answered.detail.map(|detail| format!(": {detail}")).unwrap_or_default();
                let said = format!("{} after {} ms{detail}", answered.health, answered.millis);
                // That it fails is what was to be known; only where the asking failed nothing is.
                told(answered.health != Health::Unknown, &said)
            }
            Way::Registry(registry, model) => match registry.state(model) {
                Ok(state) => told(true, &shown(model, &state)),
                Err(fault) => told(false, &fault.to_string()),
            },
        }
    }
}

/// Output as it is kept, and the number that it is, if it is nothing but one.
fn told(succeeded: bool, said: &str) -> Found {
    let number = said.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    Found { succeeded, number, series: Vec::new(), output: Output::of(said) }
}

/// The one number of a query, or each of several with its labels. Of very many nobody could say which are meant.
fn numbers(samples: &[Sample]) -> Found {
    match samples {
        [] => told(false, "the query gave no series"),
        [sample] => told(true, &sample.value.to_string()),
        many if many.len() > SERIES => told(
            false,
            &format!(
                "the query gave {} series and at most {SERIES} are read: narrow it, as by topk(10, …)",
                many.len()
            ),
        ),
        several => {
            let said = several.iter().fold(String::new(), |mut said, sample| {
                let labels: Vec<String> =
                    sample.labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
                let _ = writeln!(said, "{{{}}} {}", labels.join(","), sample.value);
                said
            });
            let finite = several.iter().filter(|sample| sample.value.is_finite());
            let series = finite.map(|sample| (sample.labels.clone(), sample.value)).collect();
            Found { succeeded: true, number: None, series, output: Output::of(&said) }
        }
    }
}

fn command(argv: &[String], folder: PathBuf, timeout: Duration) -> Found {
    let task = Task {
        program: OsString::from(argv.first().cloned().unwrap_or_default()),
        arguments: argv.iter().skip(1).map(OsString::from).collect(),
        folder,
        environment: Vec::new(),
        input: Vec::new(),
        deadline: timeout,
        output: OUTPUT,
    };
    match run(&task) {
        Ok(done) => {
            let said = [done.output, done.errors].concat();
            told(done.end == TaskEnd::Exited(0), &String::from_utf8_lossy(&said))
        }
        Err(fault) => told(false, &fault.to_string()),
    }
}

fn get(endpoint: &Endpoint, timeout: Duration) -> Found {
    let call = Call { method: "GET", endpoint, headers: &[], body: None, timeout, most: OUTPUT };
    match call.send() {
        Reply::NotSent(fault) | Reply::Lost(fault) => told(false, &fault.to_string()),
        Reply::Answer(answer) => {
            let said = String::from_utf8_lossy(&answer.body);
            match answer.status {
                200..=299 => told(true, &said),
                status => told(false, &format!("status {status}: {said}")),
            }
        }
    }
}

fn shown(model: &Model, state: &State) -> String {
    match (&state.alias, &state.version) {
        (Alias::Absent, _) => format!("alias {} of {} is not there", model.alias(), model.name()),
        (Alias::At(version), Some(VersionState::Known(known))) => {
            format!("alias {} of {} is at version {version}, which is {}", model.alias(), model.name(), known.status)
        }
        (Alias::At(version), _) => {
            format!("alias {} of {} is at version {version}, which is not there", model.alias(), model.name())
        }
    }
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Check").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
