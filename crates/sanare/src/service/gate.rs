//! The gate before every act: a lock beside the store, between who sets the stop switch and who is about to act, in
//! whatever process. Who acts reads the switch under it; who stops takes it once, and knows then that everybody who comes
//! later sees the switch (S97).

use std::fs::{File, TryLockError};
use std::io::{Error, ErrorKind, Result};
use std::time::{Duration, Instant};

use super::setup::Setup;

/// How long a stop waits for whoever is reading the switch at this moment; longer than that no worker goes on (S106).
pub(super) const WITHIN: Duration = Duration::from_secs(2);

/// Reads the switch.
pub(super) fn read<T>(setup: &Setup, look: impl FnOnce() -> T) -> Result<T> {
    let file = open(setup)?;
    wait(|| file.try_lock_shared())?;
    let seen = look();
    // A process that was forked meanwhile has the file too: it is given back by name and not by closing.
    file.unlock()?;
    Ok(seen)
}

/// Waits until nobody is left who may have read the switch before it was set.
pub(super) fn pass(setup: &Setup) -> Result<()> {
    let file = open(setup)?;
    wait(|| file.try_lock())?;
    file.unlock()
}

/// The lock's own file, which is never removed.
pub(super) fn open(setup: &Setup) -> Result<File> {
    let path = setup.store().with_file_name("stop.lock");
    let open = || File::options().read(true).write(true).create(true).truncate(false).open(&path);
    match open() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            open()
        }
        other => other,
    }
}

fn wait(take: impl Fn() -> std::result::Result<(), TryLockError>) -> Result<()> {
    let end = Instant::now() + WITHIN;
    loop {
        match take() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) if error.kind() != ErrorKind::Interrupted => return Err(error),
            Err(_) if Instant::now() >= end => {
                return Err(Error::new(ErrorKind::TimedOut, "a worker stands still right before an act"));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}
