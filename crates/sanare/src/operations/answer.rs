//! A person's answer to a waiting incident: `approve` and `deny` (C97, C98).

use std::path::Path;

use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::policy::Policy;
use sanare_core::port::store::Rest;
use sanare_core::port::{Clock, Store, StoreFault};
use sanare_core::receipt::Receipt;
use sanare_effects::process::ProcessMark;
use sanare_effects::regular_file;
use sanare_engine::answer::{Answer, Answered, Desk, NotTaken, answer as take};
use sanare_engine::recorded::Recorded;

use crate::operations::show::{self, Show};
use crate::report::Report;
use crate::wire::clock::SystemClock;
use crate::wire::person::{self, Person};
use crate::wire::{home, lockfile, policy, settings, target};

/// Why an answer came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// No such incident.
    #[error(transparent)]
    Show(#[from] Show),
    /// The settings are broken, so that nobody knows what they forbid.
    #[error("the settings are broken: {0}")]
    Settings(String),
    /// It was not taken.
    #[error(transparent)]
    NotTaken(#[from] NotTaken),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// What came of an answer.
#[derive(Clone, Debug)]
pub struct Taken {
    /// In a word.
    pub answered: Answered,
    /// How the incident stands.
    pub report: Report,
}

/// Approves what an incident proposes: the file is written as it was shown, or not at all.
///
/// # Errors
/// [`NoAnswer`].
pub fn approve(store: &dyn Store, project_root: &Path, given: &str, why: &str) -> Result<Taken, NoAnswer> {
    answer(store, project_root, given, true, why)
}

/// Closes what an incident proposes.
///
/// # Errors
/// [`NoAnswer`].
pub fn deny(store: &dyn Store, project_root: &Path, given: &str, why: &str) -> Result<Taken, NoAnswer> {
    answer(store, project_root, given, false, why)
}

fn answer(store: &dyn Store, project_root: &Path, given: &str, approve: bool, why: &str) -> Result<Taken, NoAnswer> {
    let id = show::find(store, given)?;
    let clock = SystemClock::new();
    let policy = match settings::settings(project_root, &[]) {
        Ok(settings) => policy::policy(project_root, &settings, clock.now()),
        Err(troubles) if approve => {
            let words: Vec<String> = troubles.iter().map(ToString::to_string).collect();
            return Err(NoAnswer::Settings(words.join("; ")));
        }
        Err(_) => Policy::none(),
    };
    let Person { name, groups } = person::current();
    let recorded = Recorded::read(&store.records(&id)?);
    let (shown, lines) = recorded.map(|recorded| (recorded.incident.path, recorded.lock)).unwrap_or_default();
    let write = |receipt: &Receipt| {
        let path = Path::new(&receipt.path);
        target::write(path, receipt)?;
        let function = format!("{shown}:{}", receipt.function);
        lockfile::add_accepted(project_root, &function, &lines, &receipt.incident.to_string(), &name)
            .or_else(|fault| target::restore(path, receipt).and(Err(fault)))
    };
    let desk = Desk {
        store,
        clock: &clock,
        policy: &policy,
        stopped: home::stop_path(project_root).exists(),
        process: ProcessMark::current().to_string(),
        digest_of: &|path| regular_file::read(Path::new(path)).ok().map(|bytes| Digest::of(&bytes)),
        write: &write,
    };
    let answered = take(&desk, &id, &Answer { approve, name: name.clone(), groups, why: why.to_owned() })?;
    let report = report(store, &id)?;
    if answered == Answered::Applied {
        // Whoever failed and rests may take the repair at once.
        store.set_rest(&report.fingerprint, &Rest::default())?;
    }
    Ok(Taken { answered, report })
}

fn report(store: &dyn Store, id: &Id) -> Result<Report, StoreFault> {
    Report::of(store, id)
}
