//! The child's side, from the fork to its end.
//!
//! Between the fork and the work nothing is allocated and no lock is taken: other threads of the parent may have held
//! them, and nobody is left to give them back.

use std::ffi::CStr;
use std::os::fd::RawFd;

use super::Hooks;
use super::shared_memory;
use super::wire::{SECRET, failure, report_head, send, send_descriptor};
use crate::sandbox::{Part, Prepared};

/// What the child is told before it exists.
pub(super) struct Birth<'a> {
    pub(super) prepared: &'a Prepared,
    pub(super) socket: RawFd,
    pub(super) parent: i32,
    pub(super) address_space: u64,
    pub(super) secret: [u8; SECRET],
}

/// The exit code of work that panicked.
const PANICKED: i32 = 101;

/// Lives the child's life; never comes back into the parent's code.
pub(super) fn live(birth: &Birth<'_>, hooks: &Hooks, work: impl FnOnce() -> Vec<u8>) -> ! {
    let socket = match shut_in(birth) {
        Ok(socket) => socket,
        Err((socket, part)) => {
            send(socket, &failure(part));
            leave(1)
        }
    };
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        (hooks.after_fork_child)();
        send(socket, b"A");
        work()
    }));
    let Ok(report) = done else { leave(PANICKED) };
    let sent = send(socket, &report_head(birth.secret, report.len())) && send(socket, &report);
    leave(i32::from(!sent))
}

/// Leaves without exit handlers, buffers or destructors of the parent.
#[expect(unsafe_code, reason = "leaving at once has no safe counterpart in the standard library")]
fn leave(code: i32) -> ! {
    // SAFETY: takes a number and does not return.
    unsafe { libc::_exit(code) }
}

/// Bare system calls only. The answer is where the connection to the parent is now.
#[expect(unsafe_code, reason = "a process between fork and work has only bare system calls")]
fn shut_in(birth: &Birth<'_>) -> Result<RawFd, (RawFd, Part)> {
    // SAFETY: these calls take numbers only.
    unsafe {
        libc::setpgid(0, 0);
        let bound = libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) == 0;
        // The parent may have died before it was asked for.
        if !bound || libc::getppid() != birth.parent {
            leave(1);
        }
    }
    reset_signals();
    let private = shared_memory::make_read_only();
    let (socket, fence, highest) = keep_only(birth.socket, birth.prepared.fence_descriptor());
    if !private {
        return Err((socket, Part::Fork));
    }
    let entered = birth.prepared.enter(birth.address_space, highest, fence, true).map_err(|part| (socket, part))?;
    close(fence);
    let told = if entered.listener >= 0 { send_descriptor(socket, entered.listener) } else { send(socket, b"l") };
    close(entered.listener);
    if told { Ok(socket) } else { Err((socket, Part::Seccomp)) }
}

/// Every signal as in a new process, except two that Python expects to be ignored.
#[expect(unsafe_code, reason = "signals have no safe counterpart in the standard library")]
fn reset_signals() {
    const LAST: i32 = 64;
    // SAFETY: all-zero bytes are the default action with an empty mask; the pointers live until the calls return.
    unsafe {
        for signal in 1..=LAST {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction =
                if matches!(signal, libc::SIGPIPE | libc::SIGXFSZ) { libc::SIG_IGN } else { libc::SIG_DFL };
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Leaves two descriptors open, standard streams on the null device, and a stopper on every other number that was in
/// use: objects of the parent that still hold such a number get "bad descriptor", never a file that was opened later.
/// The answer is where the two are now, and the highest number in use.
#[expect(unsafe_code, reason = "descriptors by number have no safe counterpart in the standard library")]
fn keep_only(socket: RawFd, fence: RawFd) -> (RawFd, RawFd, RawFd) {
    // The kept ones must not sit on a number that the parent's objects know, and these are numbers that were free.
    let (socket, fence) = (move_up(socket), if fence < 0 { fence } else { move_up(fence) });
    let kept = [socket, fence];
    // SAFETY: names are NUL-terminated; every other argument is a number.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for stream in 0..3 {
            if null < 0 {
                libc::close(stream);
            } else if null != stream {
                libc::dup2(null, stream);
            }
        }
        let stopper = libc::open(c"/dev/null".as_ptr(), libc::O_PATH | libc::O_CLOEXEC);
        let highest = for_each_open(|descriptor| {
            if descriptor < 3 || kept.contains(&descriptor) || descriptor == stopper || descriptor == null {
                return;
            }
            if stopper < 0 || libc::dup3(stopper, descriptor, libc::O_CLOEXEC) < 0 {
                libc::close(descriptor);
            }
        });
        for own in [null, stopper] {
            if own >= 3 {
                libc::close(own);
            }
        }
        if highest.is_none() {
            close_all_but(socket, fence);
        }
        (socket, fence, highest.unwrap_or_default().max(socket).max(fence))
    }
}

/// A copy on a high number that nobody had; the old number is treated like any other.
#[expect(unsafe_code, reason = "descriptors by number have no safe counterpart in the standard library")]
fn move_up(descriptor: RawFd) -> RawFd {
    for least in [700, 200, 60, 20] {
        // SAFETY: takes numbers only.
        let moved = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, least) };
        if moved >= 0 {
            return moved;
        }
    }
    descriptor
}

#[expect(unsafe_code, reason = "descriptors by number have no safe counterpart in the standard library")]
fn close(descriptor: RawFd) {
    if descriptor >= 0 {
        // SAFETY: takes a number; nothing in this process owns it.
        unsafe { libc::close(descriptor) };
    }
}

/// Where open descriptors cannot be listed: closes all numbers from 3 on but two.
#[expect(unsafe_code, reason = "descriptors by number have no safe counterpart in the standard library")]
fn close_all_but(one: RawFd, other: RawFd) {
    let (low, high) = (one.min(other).max(2), one.max(other).max(2));
    for (first, last) in [(3, low - 1), (low + 1, high - 1), (high + 1, RawFd::MAX)] {
        if first > last {
            continue;
        }
        // SAFETY: takes numbers only.
        if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } != 0 {
            (first..=last.min(4096)).for_each(close);
        }
    }
}

/// Calls `each` for every open descriptor; the answer is the highest, or nothing when the list cannot be read.
#[expect(unsafe_code, reason = "reading a folder without allocating has no safe counterpart in the standard library")]
fn for_each_open(mut each: impl FnMut(RawFd)) -> Option<RawFd> {
    const _: () = assert!(size_of::<libc::dirent64>() > 19);
    let mut buffer = [0_u64; 1024];
    let mut highest = 2;
    // SAFETY: the buffer is as long as the call is told; the kernel fills it with whole records, each as long as it says.
    unsafe {
        let list = libc::open(c"/proc/self/fd".as_ptr(), libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC);
        if list < 0 {
            return None;
        }
        loop {
            let length = libc::syscall(libc::SYS_getdents64, list, buffer.as_mut_ptr(), size_of_val(&buffer));
            let Ok(length @ 1..) = usize::try_from(length) else { break };
            let mut at = 0;
            while at < length {
                let record = buffer.as_ptr().cast::<u8>().add(at);
                let size = record.add(16).cast::<u16>().read_unaligned();
                let name = CStr::from_ptr(record.add(19).cast());
                at += usize::from(size);
                let Some(descriptor) = number(name.to_bytes()) else { continue };
                if descriptor != list {
                    highest = highest.max(descriptor);
                    each(descriptor);
                }
            }
        }
        libc::close(list);
    }
    Some(highest)
}

fn number(digits: &[u8]) -> Option<RawFd> {
    let mut value: RawFd = 0;
    for digit in digits {
        let digit = char::from(*digit).to_digit(10)?;
        value = value.checked_mul(10)?.checked_add(RawFd::try_from(digit).ok()?)?;
    }
    (!digits.is_empty()).then_some(value)
}
