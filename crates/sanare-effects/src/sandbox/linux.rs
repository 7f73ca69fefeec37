//! The fences as they are made by the parent and entered by the child.

use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};

use libc::sock_filter;

use super::filter::{self, Filter, LONGEST};
use super::limits::{self, Limits};
use super::{CannotPrepare, Isolation, Part, ShutIn, landlock, paths};

/// Fences that were made once and can be entered by any number of forked processes.
pub struct Prepared {
    fence: Option<OwnedFd>,
    /// From its seventh version on Landlock writes refusals to the system's log unless told not to.
    quietly: u32,
    /// With a listener, and without where the kernel has none to give.
    filters: Option<[Filter; 2]>,
    limits: Limits,
    /// Parts that are missing and were accepted so.
    weaker: Vec<Part>,
    pub(crate) allowance: ShutIn,
}

/// What entering gave.
pub(crate) struct Entered {
    /// The descriptor on which refusals are told, or -1.
    pub(crate) listener: RawFd,
}

impl Prepared {
    /// Makes the fences for this allowance from what the kernel gives.
    pub fn new(allowance: &ShutIn, isolation: &Isolation) -> Result<Self, CannotPrepare> {
        let filters = |abi| [true, false].map(|told| Filter::new(allowance.memory, abi, told));
        Self::made(allowance, isolation, false, false, filters)
    }

    /// Makes the fences for an owner's command: it may run programs, and read and write as allowed; without `network` it
    /// has no sockets.
    pub fn for_commands(allowance: &ShutIn, isolation: &Isolation, network: bool) -> Result<Self, CannotPrepare> {
        let filters = |abi| {
            let filter = Filter::for_commands(abi, network);
            [filter.clone(), filter]
        };
        Self::made(allowance, isolation, true, network, filters)
    }

    fn made(
        allowance: &ShutIn,
        isolation: &Isolation,
        commands: bool,
        network: bool,
        filters: impl Fn(u32) -> [Filter; 2],
    ) -> Result<Self, CannotPrepare> {
        if !allowance.accept_unisolated
            && let Some(part) = isolation.missing.first()
        {
            return Err(CannotPrepare::NoIsolation(*part));
        }
        if isolation.missing.contains(&Part::Fork) {
            return Err(CannotPrepare::NoIsolation(Part::Fork));
        }
        let write = allowance.write.canonicalize().map_err(|_| CannotPrepare::NoFolder(allowance.write.clone()))?;
        let home = std::env::home_dir();
        let fence = if isolation.landlock_abi > 0 {
            let read = paths::readable(&allowance.read, home.as_deref());
            let made = landlock::fence(isolation.landlock_abi, &read, &write, commands, network);
            made.map_err(|fault| CannotPrepare::Rules(fault.to_string()))?
        } else {
            None
        };
        let filters = isolation.seccomp.then(|| filters(isolation.landlock_abi));
        Ok(Self {
            fence,
            quietly: u32::from(isolation.landlock_abi >= 7),
            filters,
            limits: Limits { cpu: allowance.cpu, memory: allowance.memory, file_size: allowance.file_size },
            weaker: isolation.missing.clone(),
            allowance: ShutIn { write, ..allowance.clone() },
        })
    }

    /// Parts that are missing and were accepted so; every report names them.
    pub fn weaker(&self) -> &[Part] {
        &self.weaker
    }

    /// Shuts this very process in, for good: for a fresh interpreter that was started for one trial.
    /// It must have one thread, and refusals are not told to anybody.
    pub fn enter_here(&self) -> Result<(), Part> {
        let highest = std::fs::read_dir("/proc/self/fd")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
            .max();
        self.enter(limits::address_space(), highest.unwrap_or(2), self.fence_descriptor(), false).map(|_| ())
    }

    /// Shuts a process in that is about to become another program. Bare system calls only.
    pub(crate) fn enter_before_program(&self) -> bool {
        const DESCRIPTORS: i32 = 768;
        self.enter(0, DESCRIPTORS, self.fence_descriptor(), false).is_ok()
    }

    /// The descriptor that the child must keep until it is shut in, or -1.
    pub(crate) fn fence_descriptor(&self) -> RawFd {
        self.fence.as_ref().map_or(-1, |fence| fence.as_raw_fd())
    }

    /// Shuts the calling process in. Allocates nothing: between fork and work other threads' locks are held for ever.
    #[expect(unsafe_code, reason = "these system calls have no safe counterpart in the standard library")]
    pub(crate) fn enter(
        &self,
        address_space: u64,
        highest_descriptor: i32,
        fence: RawFd,
        told: bool,
    ) -> Result<Entered, Part> {
        // SAFETY: these options take numbers only.
        let closed = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
        };
        if !closed || !limits::set(&self.limits, address_space, highest_descriptor) {
            return Err(Part::Limits);
        }
        // SAFETY: the call takes numbers only.
        if fence >= 0 && unsafe { libc::syscall(libc::SYS_landlock_restrict_self, fence, self.quietly) } != 0 {
            return Err(Part::Landlock);
        }
        let Some([with_listener, without]) = &self.filters else { return Ok(Entered { listener: -1 }) };
        if told {
            let listener = install(with_listener, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
            if listener >= 0 {
                return Ok(Entered { listener });
            }
        }
        if install(without, 0) == 0 { Ok(Entered { listener: -1 }) } else { Err(Part::Seccomp) }
    }
}

/// Gives a filter to the kernel; the answer is the listener or 0, and negative when it was not taken.
#[expect(unsafe_code, reason = "seccomp has no safe counterpart in the standard library")]
fn install(filter: &Filter, flags: libc::c_ulong) -> i32 {
    let mut room = [sock_filter { code: 0, jt: 0, jf: 0, k: 0 }; LONGEST];
    let length = filter.for_process(std::process::id(), &mut room);
    let program = libc::sock_fprog { len: u16::try_from(length).unwrap_or_default(), filter: room.as_mut_ptr() };
    for flags in [flags | libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW, flags] {
        // SAFETY: the program points to `length` instructions that live until the call returns.
        let answer =
            unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
        if answer >= 0 {
            return i32::try_from(answer).unwrap_or(-1);
        }
    }
    -1
}

/// True when this kernel filters system calls.
#[expect(unsafe_code, reason = "seccomp has no safe counterpart in the standard library")]
pub(super) fn can_filter() -> bool {
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the call reads one number at the given address.
    unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action) == 0 }
}

/// Answers one refused call on a listener; the name of the call, or nothing when its process is gone.
#[expect(unsafe_code, reason = "ioctl has no safe counterpart in the standard library")]
pub(crate) fn answer_refused(listener: RawFd) -> Option<(&'static str, bool)> {
    // SAFETY: all-zero bytes are a valid notification, and the kernel wants them so.
    let mut asked: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the request writes one whole notification.
    if unsafe { libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut asked) } != 0 {
        return None;
    }
    let (name, error) = filter::refused(asked.data.nr);
    let mut answer = libc::seccomp_notif_resp { id: asked.id, val: 0, error: -error, flags: 0 };
    // SAFETY: the request reads one whole answer. A process that is gone needs none.
    unsafe { libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) };
    Some((name, filter::asks_for_memory(name)))
}

/// The address space of this process, for [`Prepared::enter`] after a fork.
pub(crate) fn address_space() -> u64 {
    limits::address_space()
}
