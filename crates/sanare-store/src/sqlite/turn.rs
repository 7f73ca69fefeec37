//! Waiting for others to be done, as long as they get on.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rusqlite::{Connection, TransactionBehavior};
use sanare_core::port::StoreFault;

use super::fault::fault;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(1);

/// How the files of a store look: every commit changes it.
type Sign = [Option<(u64, SystemTime)>; 2];

/// Whether others get on.
pub(super) struct Progress {
    files: [PathBuf; 2],
    seen: Sign,
    since: Instant,
}

impl Progress {
    pub(super) fn of(path: &Path) -> Self {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let files = [path.to_path_buf(), PathBuf::from(log)];
        Self { seen: sign(&files), files, since: Instant::now() }
    }

    /// Whether nothing has changed for so long.
    pub(super) fn stands_still(&mut self, for_so_long: Duration) -> bool {
        let now = sign(&self.files);
        if now != self.seen {
            self.seen = now;
            self.since = Instant::now();
        }
        self.since.elapsed() >= for_so_long
    }
}

fn sign(files: &[PathBuf; 2]) -> Sign {
    files.each_ref().map(|file| {
        let about = std::fs::metadata(file).ok()?;
        Some((about.len(), about.modified().ok()?))
    })
}

/// Waits until this connection may write. `patience` is its usual bound, and it has that again afterwards.
pub(super) fn wait(
    connection: &mut Connection,
    path: &Path,
    still: Duration,
    patience: Duration,
) -> Result<(), StoreFault> {
    connection.busy_timeout(Duration::ZERO).map_err(fault)?;
    let begin = Instant::now();
    let mut progress = Progress::of(path);
    let waited = loop {
        match connection.transaction_with_behavior(TransactionBehavior::Immediate).map(drop).map_err(fault) {
            Err(StoreFault::Busy) if begin.elapsed() < patience && !progress.stands_still(still) => {
                std::thread::sleep(LOOK);
            }
            other => break other,
        }
    };
    connection.busy_timeout(patience).map_err(fault)?;
    waited
}
