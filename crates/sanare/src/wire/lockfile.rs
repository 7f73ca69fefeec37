//! The project's `sanare.lock`: read before a function is repaired, written together with the repair, taken back with it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sanare_core::hash::Digest;
use sanare_core::port::TargetFault;
use sanare_drift::lockfile::{Entry, Lockfile, NAME};
use sanare_effects::apply::{ApplyError, can_be_kept, write_atomically};

/// A file larger than this is not read.
const MOST_BYTES: u64 = 4 * 1_024 * 1_024;

/// How often the file is read again when others write it meanwhile.
const TRIES: u64 = 100;

/// The lockfile of one function's project.
#[derive(Debug)]
pub struct LockBook {
    path: PathBuf,
    function: String,
    /// What a candidate's text would add, by that text.
    offered: Mutex<Vec<(String, Vec<Entry>)>>,
    /// What the candidate in place adds.
    chosen: Mutex<Vec<Entry>>,
}

impl LockBook {
    /// The book of a project for one function; `shown_path` is the function's file relative to the project.
    pub fn of(project_root: &Path, shown_path: &str, function: &str) -> Self {
        Self {
            path: project_root.join(NAME),
            function: format!("{shown_path}:{function}"),
            offered: Mutex::default(),
            chosen: Mutex::default(),
        }
    }

    /// The entries that hold for the function.
    ///
    /// # Errors
    /// Why the file is not used, in words.
    pub fn accepted(&self) -> Result<Vec<Entry>, String> {
        Ok(read(&self.path)?.0.of(&self.function))
    }

    /// Keeps what a candidate adds until it is known whether it is written.
    pub fn offer(&self, candidate: &str, mut entries: Vec<Entry>) {
        for entry in &mut entries {
            entry.function.clone_from(&self.function);
        }
        let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        offered.retain(|(text, _)| text != candidate);
        offered.push((candidate.to_owned(), entries));
    }

    /// The candidate of this text is the one in place.
    pub fn choose(&self, candidate: &str) {
        let offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        let found = offered.iter().find(|(text, _)| text == candidate).map(|(_, entries)| entries.clone());
        *self.chosen.lock().unwrap_or_else(PoisonError::into_inner) = found.unwrap_or_default();
    }

    /// Writes what the candidate in place adds. A file that cannot be read is left as it is.
    ///
    /// # Errors
    /// [`TargetFault`]; the file is then as it was.
    pub fn add(&self, incident: &str) -> Result<(), TargetFault> {
        let mut entries = self.chosen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if entries.is_empty() || !can_be_kept(&self.path) {
            return Ok(());
        }
        for entry in &mut entries {
            incident.clone_into(&mut entry.incident);
            "policy".clone_into(&mut entry.accepted);
        }
        change(&self.path, |lockfile| {
            lockfile.add(&entries);
            true
        })
    }
}

/// Writes the lines of a repair that a person accepted, as the ledger has them.
///
/// # Errors
/// [`TargetFault`]; the file is then as it was.
pub fn add_accepted(
    project_root: &Path,
    function: &str,
    lines: &[serde_json::Value],
    incident: &str,
    who: &str,
) -> Result<(), TargetFault> {
    let path = project_root.join(NAME);
    let read_line = |line: &serde_json::Value| serde_json::from_value::<Entry>(line.clone()).ok();
    let mut entries: Vec<Entry> = lines.iter().filter_map(read_line).collect();
    // A name that the ledger holds without its secret is no name of the data.
    entries.retain(|entry| !entry.expected.contains("<redacted") && !entry.seen.contains("<redacted"));
    if entries.is_empty() || !can_be_kept(&path) {
        return Ok(());
    }
    for entry in &mut entries {
        function.clone_into(&mut entry.function);
        incident.clone_into(&mut entry.incident);
        who.clone_into(&mut entry.accepted);
    }
    change(&path, |lockfile| {
        lockfile.add(&entries);
        true
    })
}

/// Takes an incident's lines out of the lockfile that its source file belongs to: the nearest one above it.
///
/// # Errors
/// [`TargetFault`]; the file is then as it was.
pub fn take_back(source: &Path, incident: &str) -> Result<(), TargetFault> {
    let Some(path) = source.ancestors().skip(1).map(|folder| folder.join(NAME)).find(|path| path.is_file()) else {
        return Ok(());
    };
    change(&path, |lockfile| lockfile.remove(incident))
}

/// Reads the file, changes it and writes it, if `edit` says that there is something to write. Heals of other functions
/// write their lines here too: whoever finds that the file has changed meanwhile reads it again. A file that cannot be read
/// is left as it is.
fn change(path: &Path, edit: impl Fn(&mut Lockfile) -> bool) -> Result<(), TargetFault> {
    for pause in 0..TRIES {
        let Ok((mut lockfile, before)) = read(path) else { return Ok(()) };
        if !edit(&mut lockfile) || write(path, before, &lockfile)? {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(pause.min(20)));
    }
    Err(TargetFault::Other(format!("{NAME}: others write it all the time")))
}

/// The file's entries and the hash of its bytes; no file is an empty one.
fn read(path: &Path) -> Result<(Lockfile, Option<Digest>), String> {
    let found = match std::fs::metadata(path) {
        Err(_) => return Ok((Lockfile::default(), None)),
        Ok(found) => found,
    };
    if !found.is_file() || found.len() > MOST_BYTES {
        return Err(format!("{NAME} is no plain file, or too large"));
    }
    let bytes = sanare_effects::regular_file::read(path).map_err(|error| format!("{NAME}: {error}"))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| format!("{NAME} is not UTF-8"))?;
    let lockfile = Lockfile::read(text).map_err(|malformed| malformed.to_string())?;
    Ok((lockfile, Some(Digest::of(&bytes))))
}

/// Whether it is written; else somebody else has changed it meanwhile.
fn write(path: &Path, before: Option<Digest>, lockfile: &Lockfile) -> Result<bool, TargetFault> {
    let before = match before {
        Some(before) => before,
        None => match std::fs::OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(_) => Digest::of(b""),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(TargetFault::Other(format!("{NAME}: {error}"))),
        },
    };
    match write_atomically(path, &before, lockfile.write().as_bytes()) {
        Ok(_) | Err(ApplyError::NotDurable(_)) => Ok(true),
        Err(ApplyError::Changed { .. } | ApplyError::Overwritten { .. }) => Ok(false),
        Err(ApplyError::DiskFull(_)) => Err(TargetFault::DiskFull),
        Err(error) => Err(TargetFault::Other(format!("{NAME}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use sanare_core::proposal::Tier;
    use sanare_drift::lockfile::{Entry, NAME};

    use super::{LockBook, take_back};

    fn entry() -> Entry {
        Entry {
            function: String::new(),
            layer: "header_renamed".into(),
            expected: "amount".into(),
            seen: "Betrag".into(),
            tier: Tier::B,
            evidence: vec!["I4".into()],
            profile: String::new(),
            incident: String::new(),
            accepted: String::new(),
        }
    }

    #[test]
    fn lines_come_with_a_repair_and_go_with_it() -> Result<(), Box<dyn std::error::Error>> {
        let project = tempfile::tempdir()?;
        let book = LockBook::of(project.path(), "jobs/daily.py", "load");
        book.offer("def load(): ...", vec![entry()]);
        book.choose("def load(): pass");
        book.add("inc_0")?;
        assert!(!project.path().join(NAME).exists(), "another candidate adds nothing");
        book.choose("def load(): ...");
        book.add("inc_1")?;
        let accepted = book.accepted()?;
        assert_eq!(accepted.len(), 1);
        assert_eq!((accepted[0].function.as_str(), accepted[0].incident.as_str()), ("jobs/daily.py:load", "inc_1"));
        assert_eq!(LockBook::of(project.path(), "jobs/daily.py", "other").accepted()?, []);
        std::fs::create_dir(project.path().join("jobs"))?;
        let source = project.path().join("jobs/daily.py");
        take_back(&source, "inc_2")?;
        assert_eq!(book.accepted()?.len(), 1);
        take_back(&source, "inc_1")?;
        assert_eq!(book.accepted()?, []);
        Ok(())
    }

    #[test]
    fn heals_of_many_functions_at_once_keep_each_other_s_lines() {
        let project = tempfile::tempdir().unwrap();
        std::fs::create_dir(project.path().join("jobs")).unwrap();
        let source = project.path().join("jobs/daily.py");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (root, source) = (project.path(), &source);
                scope.spawn(move || {
                    let book = LockBook::of(root, "jobs/daily.py", &format!("load_{number}"));
                    book.offer("def load(): ...", vec![entry()]);
                    book.choose("def load(): ...");
                    for round in 0..6 {
                        let incident = format!("inc_{number}_{round}");
                        book.add(&incident).unwrap();
                        if round < 5 {
                            take_back(source, &incident).unwrap();
                        }
                    }
                });
            }
        });
        for number in 0..8 {
            let accepted = LockBook::of(project.path(), "jobs/daily.py", &format!("load_{number}")).accepted().unwrap();
            let incidents: Vec<&str> = accepted.iter().map(|entry| entry.incident.as_str()).collect();
            assert_eq!(incidents, [format!("inc_{number}_5")]);
        }
    }

    #[test]
    fn a_malformed_file_is_refused_and_left_alone() -> Result<(), Box<dyn std::error::Error>> {
        let project = tempfile::tempdir()?;
        let path = project.path().join(NAME);
        std::fs::write(&path, "version = 1\nmapping = [ what\n")?;
        let book = LockBook::of(project.path(), "job.py", "load");
        assert!(book.accepted().is_err_and(|why| why.contains("sanare.lock, line 2")));
        book.offer("text", vec![entry()]);
        book.choose("text");
        book.add("inc_1")?;
        take_back(&project.path().join("job.py"), "inc_1")?;
        assert_eq!(std::fs::read_to_string(&path)?, "version = 1\nmapping = [ what\n");
        Ok(())
    }
}
