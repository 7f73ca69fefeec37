//! A forked child by its number: how it is, ending it, collecting it.

use std::time::Duration;

/// A child that is still to be collected. Dropping it ends and collects it with everything in its group.
#[derive(Debug)]
pub(crate) struct Offspring {
    pid: libc::pid_t,
    collected: bool,
}

/// How a child is, without collecting it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Alive,
    Dead,
    /// Somebody else collected it.
    Gone,
}

/// What is known of a collected child.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Death {
    /// None when somebody else collected it.
    pub(crate) status: Option<i32>,
    pub(crate) cpu: Duration,
}

impl Offspring {
    pub(crate) fn new(pid: libc::pid_t) -> Self {
        Self { pid, collected: false }
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn pid(&self) -> libc::pid_t {
        self.pid
    }

    #[expect(unsafe_code, reason = "children by number have no safe counterpart in the standard library")]
    pub(crate) fn state(&self) -> State {
        // SAFETY: all-zero bytes are a valid answer, and the call writes one whole answer.
        unsafe {
            let mut found: libc::siginfo_t = std::mem::zeroed();
            let flags = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
            match libc::waitid(libc::P_PID, self.pid.unsigned_abs(), &raw mut found, flags) {
                0 if found.si_pid() == self.pid => State::Dead,
                0 => State::Alive,
                _ => State::Gone,
            }
        }
    }

    /// Ends it and its group, while it still holds its number: once it is collected, that may be another process's.
    #[expect(unsafe_code, reason = "signals by number have no safe counterpart in the standard library")]
    pub(crate) fn end(&self) {
        if self.state() == State::Gone {
            return;
        }
        // SAFETY: takes numbers only.
        unsafe {
            libc::kill(-self.pid, libc::SIGKILL);
            libc::kill(self.pid, libc::SIGKILL);
        }
    }

    /// Its time on processors so far.
    #[cfg(target_os = "linux")]
    #[expect(unsafe_code, reason = "another process's clock has no counterpart in the standard library")]
    pub(crate) fn cpu(&self) -> Duration {
        // SAFETY: both calls write one whole value at the given address.
        unsafe {
            let (mut clock, mut time) = (0, std::mem::zeroed::<libc::timespec>());
            if libc::clock_getcpuclockid(self.pid, &raw mut clock) != 0
                || libc::clock_gettime(clock, &raw mut time) != 0
            {
                return Duration::ZERO;
            }
            Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
        }
    }

    /// Ends it, waits until the kernel has cleared it away, and takes its status.
    #[expect(unsafe_code, reason = "children by number have no safe counterpart in the standard library")]
    pub(crate) fn collect(&mut self) -> Death {
        self.end();
        self.collected = true;
        // SAFETY: the calls write a whole status and a whole usage, which all-zero bytes are.
        unsafe {
            let mut status = 0;
            let mut usage: libc::rusage = std::mem::zeroed();
            loop {
                if libc::wait4(self.pid, &raw mut status, 0, &raw mut usage) == self.pid {
                    return Death { status: Some(status), cpu: duration(usage.ru_utime) + duration(usage.ru_stime) };
                }
                if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
                    return Death { status: None, cpu: Duration::ZERO };
                }
            }
        }
    }
}

impl Drop for Offspring {
    fn drop(&mut self) {
        if !self.collected {
            self.collect();
        }
    }
}

fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec.unsigned_abs())
        + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or_default())
}
