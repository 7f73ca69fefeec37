//! A program in a group of its own, with pipes that never block whoever waits for it.

use std::io::{ErrorKind, Read, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{CannotStart, Done, Task, TaskEnd};
use crate::process::offspring::{Offspring, State};
use crate::sandbox::Prepared;
use crate::service::begin::begin;

/// How often a program that says nothing is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// How often whoever waits is asked whether it still does.
const ASK: Duration = Duration::from_millis(50);

/// Runs it until it ends, its time is over or nobody waits for it any more.
pub(super) fn run_while_wanted(
    task: &Task,
    fences: Option<&Arc<Prepared>>,
    gone: &mut dyn FnMut() -> bool,
) -> Result<Done, CannotStart> {
    let began = Instant::now();
    let mut command = Command::new(&task.program);
    command
        .args(&task.arguments)
        .current_dir(&task.folder)
        .env_clear()
        .envs(task.environment.iter().cloned())
        .process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    die_with_parent(&mut command);
    if let Some(fences) = fences {
        shut_in(&mut command, Arc::clone(fences));
    }
    let started = begin(|| command.spawn()).ok_or(CannotStart::Stopped)?;
    let mut child = started.map_err(|source| cannot_start(task, source))?;
    let mut offspring = Offspring::new(libc::pid_t::try_from(child.id()).unwrap_or_default());
    let mut input = Input { pipe: child.stdin.take(), rest: &task.input };
    let mut output = Tail::new(child.stdout.take(), task.output);
    let mut errors = Tail::new(child.stderr.take(), task.output);
    for number in [input.number(), output.number(), errors.number()] {
        do_not_block(number);
    }
    let mut asked = began;
    let timed_out = loop {
        if offspring.state() != State::Alive {
            break false;
        }
        if began.elapsed() >= task.deadline {
            break true;
        }
        if asked.elapsed() >= ASK {
            asked = Instant::now();
            if gone() {
                break true;
            }
        }
        wait_for([(input.number(), libc::POLLOUT), (output.number(), libc::POLLIN), (errors.number(), libc::POLLIN)]);
        input.write();
        output.read();
        errors.read();
    };
    let death = offspring.collect();
    // What was printed before the end is still in the pipes; what a child outside the group prints later is not waited for.
    output.read();
    errors.read();
    let end = match death.status {
        _ if timed_out => TaskEnd::TimedOut,
        None => TaskEnd::Unknown,
        Some(status) if libc::WIFSIGNALED(status) => TaskEnd::Killed(libc::WTERMSIG(status)),
        Some(status) => TaskEnd::Exited(libc::WEXITSTATUS(status)),
    };
    Ok(Done { end, output: output.kept, errors: errors.kept, took: began.elapsed(), cpu: death.cpu })
}

fn cannot_start(task: &Task, source: std::io::Error) -> CannotStart {
    let program = task.program.to_string_lossy().into_owned();
    match source.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => CannotStart::Missing(program),
        _ if source.raw_os_error() == Some(NOT_SHUT_IN) => CannotStart::NotShutIn(program),
        ErrorKind::PermissionDenied => CannotStart::NotPermitted(program),
        _ => CannotStart::Io { program, source },
    }
}

/// What a child answers that could not be shut in; no program's own start gives this error.
const NOT_SHUT_IN: i32 = libc::ENOTRECOVERABLE;

#[expect(unsafe_code, reason = "what a child does before it becomes the program is not checked by the compiler")]
fn shut_in(command: &mut Command, fences: Arc<Prepared>) {
    // SAFETY: the fences were made before; entering them is bare system calls that allocate nothing.
    unsafe {
        command.pre_exec(move || match fences.enter_before_program() {
            true => Ok(()),
            false => Err(std::io::Error::from_raw_os_error(NOT_SHUT_IN)),
        });
    }
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "what a child does before it becomes the program is not checked by the compiler")]
fn die_with_parent(command: &mut Command) {
    // SAFETY: one bare system call, which takes numbers only.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent(_: &mut Command) {}

/// Bytes on their way into a program; the pipe is closed when all are in, or when it does not want them.
struct Input<'a> {
    pipe: Option<std::process::ChildStdin>,
    rest: &'a [u8],
}

impl Input<'_> {
    fn number(&self) -> i32 {
        self.pipe.as_ref().map_or(-1, |pipe| pipe.as_raw_fd())
    }

    fn write(&mut self) {
        while let Some(pipe) = &mut self.pipe {
            if self.rest.is_empty() {
                self.pipe = None;
                return;
            }
            match pipe.write(self.rest) {
                Ok(count) => self.rest = self.rest.get(count..).unwrap_or_default(),
                Err(fault) if fault.kind() == ErrorKind::Interrupted => {}
                Err(fault) if fault.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.pipe = None,
            }
        }
    }
}

/// The last bytes of a stream.
struct Tail<R> {
    pipe: Option<R>,
    kept: Vec<u8>,
    most: usize,
}

impl<R: Read + std::os::fd::AsRawFd> Tail<R> {
    fn new(pipe: Option<R>, most: usize) -> Self {
        Self { pipe, kept: Vec::new(), most }
    }

    fn number(&self) -> i32 {
        self.pipe.as_ref().map_or(-1, |pipe| pipe.as_raw_fd())
    }

    /// Reads what is there, at most a good portion, so that an endless stream does not hide the deadline.
    fn read(&mut self) {
        let mut buffer = [0; 16 * 1024];
        for _ in 0..64 {
            let Some(pipe) = &mut self.pipe else { return };
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => self.keep(buffer.get(..count).unwrap_or_default()),
                Err(fault) if fault.kind() == ErrorKind::Interrupted => {}
                Err(fault) if fault.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.pipe = None,
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        let surplus = self.kept.len().saturating_sub(self.most);
        self.kept.drain(..surplus);
    }
}

#[expect(unsafe_code, reason = "pipes that do not block have no safe counterpart in the standard library")]
fn do_not_block(number: i32) {
    // SAFETY: takes numbers only; the pipe is ours.
    unsafe {
        let flags = libc::fcntl(number, libc::F_GETFL);
        libc::fcntl(number, libc::F_SETFL, flags | libc::O_NONBLOCK);
    }
}

#[expect(unsafe_code, reason = "poll has no safe counterpart in the standard library")]
fn wait_for(pipes: [(i32, libc::c_short); 3]) {
    let mut asked = pipes.map(|(fd, events)| libc::pollfd { fd, events, revents: 0 });
    // SAFETY: the array has three entries and lives until the call returns. An error is as good as a timeout.
    unsafe { libc::poll(asked.as_mut_ptr(), 3, i32::try_from(LOOK.as_millis()).unwrap_or(5)) };
}
