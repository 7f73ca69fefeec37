//! The parent's side: fork, watch, judge how it ended, collect.

use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::time::{Duration, Instant};

use super::child::{self, Birth};
use super::folder::size_of;
use super::wire::{self, Ear, Heard, SECRET};
use super::{CannotFork, Hooks, Limits, Trial, TrialEnd};
use crate::process::offspring::{Offspring, State};
use crate::sandbox::{Part, Prepared, ShutIn, address_space, answer_refused};

/// How often a quiet child's folder is measured.
const LOOK: Duration = Duration::from_millis(50);
/// How long a child that hung up may take to die.
const GRACE: Duration = Duration::from_secs(2);
/// How many names of refused calls are kept.
const MOST_DENIED: usize = 64;

/// A child at work. Dropping it ends it.
pub struct Running {
    child: Offspring,
    socket: OwnedFd,
    listener: Option<OwnedFd>,
    ear: Ear,
    began: Instant,
    limits: Limits,
    allowance: ShutIn,
    alive: bool,
    /// How much processor time it had used when it last used some, and when that was.
    busy: (Duration, Instant),
    denied: Vec<&'static str>,
    memory_refused: bool,
    weaker: Vec<Part>,
}

/// Forks. The thread that calls this must live until the trial is over: the child dies with it. `work` runs in the child, shut in, with everything it holds; here it is dropped.
#[expect(unsafe_code, reason = "fork has no safe counterpart in the standard library")]
pub fn start(
    prepared: &Prepared,
    limits: &Limits,
    hooks: &Hooks,
    work: impl FnOnce() -> Vec<u8>,
) -> Result<Running, CannotFork> {
    let (ours, theirs) = connection()?;
    let secret = secret()?;
    // SAFETY: takes nothing and cannot fail.
    let parent = unsafe { libc::getpid() };
    let birth = Birth { prepared, socket: theirs.as_raw_fd(), parent, address_space: address_space(), secret };
    let began = Instant::now();
    (hooks.before_fork)();
    // SAFETY: the child runs `child::live`, which up to the work makes bare system calls only, and never returns.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        child::live(&birth, hooks, work);
    }
    let fault = std::io::Error::last_os_error();
    (hooks.after_fork_parent)();
    if pid < 0 {
        return Err(CannotFork::Io { doing: "fork", source: fault });
    }
    // The child does the same; whoever comes first makes sure that the group is there before it is needed.
    // SAFETY: takes numbers only.
    unsafe { libc::setpgid(pid, pid) };
    Ok(Running {
        child: Offspring::new(pid),
        socket: ours,
        listener: None,
        ear: Ear::new(secret, limits.report),
        began,
        limits: *limits,
        allowance: prepared.allowance.clone(),
        alive: false,
        busy: (Duration::ZERO, began),
        denied: Vec::new(),
        memory_refused: false,
        weaker: prepared.weaker().to_vec(),
    })
}

impl Running {
    /// The child's process number.
    pub fn pid(&self) -> u32 {
        self.child.pid().unsigned_abs()
    }

    /// Waits for the end.
    pub fn wait(self) -> Trial {
        self.wait_unless(|| false)
    }

    /// Waits for the end; after a signal arrived here, `stop` is asked whether to give up.
    pub fn wait_unless(mut self, mut stop: impl FnMut() -> bool) -> Trial {
        let end = loop {
            if let Some(end) = self.turn(&mut stop) {
                break end;
            }
        };
        let took = self.began.elapsed();
        let (end, cpu) = self.finish(end);
        Trial {
            end,
            denied: self.denied,
            memory_refused: self.memory_refused,
            took,
            cpu,
            weaker: self.weaker,
            _remains: Some(self.child),
        }
    }

    /// One wait for something to happen; an end, if it has come. `None` inside means: it hung up, see how it died.
    fn turn(&mut self, stop: &mut dyn FnMut() -> bool) -> Option<Option<TrialEnd>> {
        let now = self.began.elapsed();
        if now >= self.limits.deadline {
            return Some(Some(if self.alive { TrialEnd::TimedOut } else { TrialEnd::NoSignOfLife }));
        }
        if !self.alive && now >= self.limits.sign_of_life {
            return Some(Some(TrialEnd::NoSignOfLife));
        }
        let bound = if self.alive { self.limits.deadline } else { self.limits.deadline.min(self.limits.sign_of_life) };
        match poll(
            [self.socket.as_raw_fd(), self.listener.as_ref().map_or(-1, |listener| listener.as_raw_fd())],
            (bound - now).min(LOOK),
        ) {
            Err(fault) if fault.kind() == std::io::ErrorKind::Interrupted => {
                stop().then_some(Some(TrialEnd::Interrupted))
            }
            Err(_) => Some(Some(TrialEnd::Garbled)),
            Ok([false, false]) => self.look(),
            // What was sent before a refused call must be heard before it, and may have arrived since the poll.
            Ok([_, refused]) => self.listen().or_else(|| {
                if refused {
                    self.answer();
                }
                None
            }),
        }
    }

    /// Nothing was said for a while: is it still at work, and within its folder?
    fn look(&mut self) -> Option<Option<TrialEnd>> {
        /// Less than this is the kernel's own rounding.
        const SOME: Duration = Duration::from_micros(200);
        let cpu = self.child.cpu();
        if cpu > self.busy.0 + SOME {
            self.busy = (cpu, Instant::now());
        }
        if self.alive && self.busy.1.elapsed() >= self.limits.idle {
            return Some(Some(TrialEnd::Idle));
        }
        let most = self.allowance.folder_size;
        (size_of(&self.allowance.write, most) > most).then_some(Some(TrialEnd::FolderLimit))
    }

    /// Answers a refused call and notes it.
    fn answer(&mut self) {
        let Some(listener) = &self.listener else { return };
        match answer_refused(listener.as_raw_fd()) {
            Some((_, true)) => self.memory_refused = true,
            Some((name, false)) if self.denied.len() < MOST_DENIED && !self.denied.contains(&name) => {
                self.denied.push(name)
            }
            // Known already, or whoever asked is gone.
            Some(_) | None => {}
        }
    }

    fn listen(&mut self) -> Option<Option<TrialEnd>> {
        let mut buffer = [0; 64 * 1024];
        let count = match wire::receive(self.socket.as_raw_fd(), &mut buffer) {
            Ok((count, descriptor)) => {
                if !self.alive {
                    self.listener = descriptor.or(self.listener.take());
                }
                count
            }
            Err(fault) if matches!(fault.kind(), std::io::ErrorKind::Interrupted | std::io::ErrorKind::WouldBlock) => {
                return None;
            }
            Err(_) => 0,
        };
        if count == 0 {
            return Some(None);
        }
        self.ear.hear(buffer.get(..count).unwrap_or_default());
        loop {
            match self.ear.next() {
                Heard::NotShutIn(part) => return Some(Some(TrialEnd::NoIsolation(part))),
                Heard::ShutIn => {}
                // What the host's own fork hooks were refused says nothing about the work.
                Heard::Alive if !self.alive => {
                    self.alive = true;
                    self.denied.clear();
                    self.memory_refused = false;
                }
                Heard::Alive => {}
                Heard::Report(report) => return Some(Some(TrialEnd::Reported(report))),
                Heard::Incomplete => return None,
                Heard::TooLong => return Some(Some(TrialEnd::ReportLimit)),
                Heard::Garbled => return Some(Some(TrialEnd::Garbled)),
            }
        }
    }

    /// Ends whatever is left and completes the verdict with the way it died.
    fn finish(&mut self, end: Option<TrialEnd>) -> (TrialEnd, Duration) {
        self.listener = None;
        if let Some(TrialEnd::Reported(_)) = end {
            // The kernel takes as long to clear a large copy away as to make it: whoever drops the trial waits for that.
            self.child.end();
            return (end.unwrap_or(TrialEnd::Garbled), self.child.cpu());
        }
        if end.is_none() {
            self.wait_for_death();
        }
        let died_by_itself = end.is_none() && self.child.state() != State::Alive;
        let death = self.child.collect();
        let end = match (end, death.status) {
            (Some(end), _) => end,
            (None, _) if !died_by_itself => TrialEnd::Garbled,
            (None, None) => TrialEnd::ExitedEarly { code: None },
            (None, Some(status)) => self.way_of_death(status, death.cpu),
        };
        (end, death.cpu)
    }

    fn way_of_death(&self, status: i32, cpu: Duration) -> TrialEnd {
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            return match signal {
                libc::SIGXCPU => TrialEnd::TimedOut,
                libc::SIGKILL if cpu >= self.allowance.cpu => TrialEnd::TimedOut,
                _ if self.memory_refused => TrialEnd::MemoryLimit,
                _ => TrialEnd::Crashed { signal },
            };
        }
        if self.memory_refused {
            TrialEnd::MemoryLimit
        } else {
            TrialEnd::ExitedEarly { code: Some(libc::WEXITSTATUS(status)) }
        }
    }

    /// It hung up, which is what a process does that ends.
    fn wait_for_death(&self) {
        let until = Instant::now() + GRACE;
        while self.child.state() == State::Alive && Instant::now() < until {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

#[expect(unsafe_code, reason = "socketpair has no safe counterpart in the standard library that closes on exec")]
fn connection() -> Result<(OwnedFd, OwnedFd), CannotFork> {
    let mut pair = [-1; 2];
    // SAFETY: the call writes two numbers, which are then owned here alone.
    unsafe {
        if libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0, pair.as_mut_ptr()) != 0 {
            return Err(CannotFork::Io { doing: "make a connection", source: std::io::Error::last_os_error() });
        }
        let [ours, theirs] = pair;
        Ok((OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)))
    }
}

/// A number that a report must repeat, so that bytes written by other hands are not taken for one.
#[expect(unsafe_code, reason = "random bytes have no counterpart in the standard library")]
fn secret() -> Result<[u8; SECRET], CannotFork> {
    let mut secret = [0; SECRET];
    // SAFETY: the buffer is as long as the call is told.
    let count = unsafe { libc::getrandom(secret.as_mut_ptr().cast(), SECRET, 0) };
    if usize::try_from(count) == Ok(SECRET) {
        return Ok(secret);
    }
    Err(CannotFork::Io { doing: "get random bytes", source: std::io::Error::last_os_error() })
}

/// Waits until one of two descriptors has something to say. The second one's end is none of it.
#[expect(unsafe_code, reason = "poll has no safe counterpart in the standard library")]
fn poll(descriptors: [i32; 2], bound: Duration) -> std::io::Result<[bool; 2]> {
    let mut asked = descriptors.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // Rounded up, or the last millisecond would be spent turning.
    let milliseconds = i32::try_from(bound.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
    // SAFETY: the array has two entries and lives until the call returns.
    if unsafe { libc::poll(asked.as_mut_ptr(), 2, milliseconds) } < 0 {
        return Err(std::io::Error::last_os_error());
    }
    let [first, second] = asked.map(|one| one.revents);
    Ok([first != 0, second & libc::POLLIN != 0])
}
