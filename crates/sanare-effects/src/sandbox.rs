//! Shutting a process in: what it may read, write and use, prepared beforehand and entered by bare system calls.
//!
//! Three fences, each for what the others leave open. Landlock: files by path. A filter of system calls: sockets,
//! programs, processes, signals, modes. Limits: time, memory, size of files. Linux only; elsewhere nothing is available
//! and [`available`] says so. What stays visible inside: that a path exists, its size and times.

#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod linux;
mod paths;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::Prepared;
#[cfg(target_os = "linux")]
pub use linux::Prepared;
#[cfg(target_os = "linux")]
pub(crate) use linux::{address_space, answer_refused};
pub use paths::usual_reads;

use std::path::PathBuf;
use std::time::Duration;

/// What a process is allowed once it is shut in.
#[derive(Clone, Debug)]
pub struct ShutIn {
    /// Folders and files that may be read, links followed now; missing ones are left out.
    pub read: Vec<PathBuf>,
    /// The one folder that may be written.
    pub write: PathBuf,
    /// Time on processors.
    pub cpu: Duration,
    /// Bytes of address space above what the process has when it is shut in.
    pub memory: u64,
    /// The largest file it may write.
    pub file_size: u64,
    /// How much the written folder may hold in all.
    pub folder_size: u64,
    /// Go on with what there is when a part is missing. Who sets this says so in every report.
    pub accept_unisolated: bool,
}

impl ShutIn {
    /// The usual allowance: 512 MiB, 5 s, files up to 16 MiB, the usual paths to read.
    pub fn new(write: PathBuf) -> Self {
        Self {
            read: usual_reads(),
            write,
            cpu: Duration::from_secs(5),
            memory: 512 << 20,
            file_size: 16 << 20,
            folder_size: 64 << 20,
            accept_unisolated: false,
        }
    }

    /// Makes the fences from what this kernel gives.
    pub fn prepare(&self) -> Result<Prepared, CannotPrepare> {
        Prepared::new(self, &available())
    }
}

/// A part that isolation is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The fence round files.
    Landlock,
    /// The filter of system calls.
    Seccomp,
    /// Limits on time, memory and files.
    Limits,
    /// A copy of the running process.
    Fork,
}

impl Part {
    /// Every part.
    pub const ALL: [Self; 4] = [Self::Landlock, Self::Seccomp, Self::Limits, Self::Fork];

    /// The word that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Limits => "limits",
            Self::Fork => "fork",
        }
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// What this kernel gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Isolation {
    /// Landlock's version; 0 without.
    pub landlock_abi: u32,
    /// True when system calls can be filtered.
    pub seccomp: bool,
    /// What lacks for a trial that counts.
    pub missing: Vec<Part>,
}

/// Names of parts, separated by commas, that are taken for missing: a trial is then skipped, never run with less.
pub const WITHOUT_VARIABLE: &str = "SANARE_TEST_WITHOUT";

/// Looks what this kernel gives. The test hook [`WITHOUT_VARIABLE`] takes parts away.
pub fn available() -> Isolation {
    let without = std::env::var(WITHOUT_VARIABLE).unwrap_or_default();
    let without: Vec<Part> =
        Part::ALL.into_iter().filter(|part| without.split(',').any(|word| word.trim() == part.name())).collect();
    available_without(&without)
}

/// The same with these parts taken for missing.
pub fn available_without(without: &[Part]) -> Isolation {
    let (landlock_abi, seccomp) = found();
    let landlock_abi = if without.contains(&Part::Landlock) { 0 } else { landlock_abi };
    let seccomp = seccomp && !without.contains(&Part::Seccomp);
    let missing = Part::ALL.into_iter().filter(|part| {
        let there = match part {
            Part::Landlock => landlock_abi > 0,
            Part::Seccomp => seccomp,
            Part::Limits | Part::Fork => cfg!(target_os = "linux"),
        };
        !there || without.contains(part)
    });
    Isolation { landlock_abi, seccomp, missing: missing.collect() }
}

#[cfg(target_os = "linux")]
fn found() -> (u32, bool) {
    (landlock::abi(), filter::KNOWN_MACHINE && linux::can_filter())
}

#[cfg(not(target_os = "linux"))]
fn found() -> (u32, bool) {
    (0, false)
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use super::{CannotPrepare, Isolation, Part, ShutIn};

    /// Fences, of which this system has none.
    pub struct Prepared(std::convert::Infallible);

    impl Prepared {
        /// Always refused.
        pub fn new(_: &ShutIn, _: &Isolation) -> Result<Self, CannotPrepare> {
            Err(CannotPrepare::NoIsolation(Part::Fork))
        }

        /// Always refused.
        pub fn for_commands(_: &ShutIn, _: &Isolation, _: bool) -> Result<Self, CannotPrepare> {
            Err(CannotPrepare::NoIsolation(Part::Fork))
        }

        #[cfg(unix)]
        pub(crate) fn enter_before_program(&self) -> bool {
            match self.0 {}
        }

        /// Parts that are missing and were accepted so.
        pub fn weaker(&self) -> &[Part] {
            match self.0 {}
        }

        /// Shuts this very process in.
        pub fn enter_here(&self) -> Result<(), Part> {
            match self.0 {}
        }
    }
}

/// Why the fences could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CannotPrepare {
    /// A part is missing.
    #[error("no isolation: {0}")]
    NoIsolation(Part),
    /// The folder to write is not there.
    #[error("the private folder is missing: `{0}`")]
    NoFolder(PathBuf),
    /// The kernel did not accept the fence round files.
    #[error("the kernel did not accept the rules for files: {0}")]
    Rules(String),
}

#[cfg(test)]
mod tests {
    use super::{Part, available_without};

    #[test]
    fn a_part_taken_away_is_named() {
        let names =
            |without: &[Part]| available_without(without).missing.iter().map(|part| part.name()).collect::<Vec<_>>();
        assert!(names(&[Part::Landlock]).contains(&"landlock"));
        assert!(names(&[Part::Fork]).contains(&"fork"));
        assert_eq!(available_without(&[Part::Landlock]).landlock_abi, 0);
    }
}
