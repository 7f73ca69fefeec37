//! What a shut-in process may use: time, memory, files. Bare system calls only, for use between fork and work.

use std::time::Duration;

/// The limits of one process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) cpu: Duration,
    /// Above what the process has when it is shut in.
    pub(super) memory: u64,
    pub(super) file_size: u64,
}

/// How many files may be opened beside those that are open.
const MORE_FILES: u64 = 256;

/// Sets the limits; false when one could not be set.
#[expect(unsafe_code, reason = "limits have no safe counterpart in the standard library")]
pub(super) fn set(limits: &Limits, address_space: u64, highest_descriptor: i32) -> bool {
    // The soft limit sends a signal that ends the process; the hard one, a second later, cannot be caught.
    let seconds = limits.cpu.as_secs() + u64::from(limits.cpu.subsec_nanos() > 0);
    let files = u64::try_from(highest_descriptor).unwrap_or_default() + 1 + MORE_FILES;
    let wanted = [
        (libc::RLIMIT_CPU, seconds.max(1), seconds.max(1) + 1),
        (libc::RLIMIT_AS, address_space.saturating_add(limits.memory), address_space.saturating_add(limits.memory)),
        (libc::RLIMIT_FSIZE, limits.file_size, limits.file_size),
        (libc::RLIMIT_NOFILE, files, files),
        (libc::RLIMIT_CORE, 0, 0),
    ];
    for (what, soft, hard) in wanted {
        let mut present = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: both calls get the address of a whole rlimit that lives until they return.
        unsafe {
            if libc::getrlimit(what, &raw mut present) != 0 {
                return false;
            }
            // A limit that is stricter already stays.
            let limit = libc::rlimit { rlim_cur: soft.min(present.rlim_cur), rlim_max: hard.min(present.rlim_max) };
            if libc::setrlimit(what, &raw const limit) != 0 {
                return false;
            }
        }
    }
    true
}

/// The address space of this process in bytes: the first number of statm, in pages.
pub(super) fn address_space() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text.split(' ').next().and_then(|pages| pages.parse().ok()).unwrap_or_default();
    pages * page_size()
}

#[expect(unsafe_code, reason = "sysconf has no safe counterpart in the standard library")]
fn page_size() -> u64 {
    // SAFETY: the call takes no pointers.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}
