//! The filter of system calls, as a program for the kernel.
//!
//! A list of what is refused, because candidates may use any library; numbers that this file does not know yet are
//! answered "no such call". Two manners of refusal: what a program does on purpose is told to the watching parent, what
//! libraries try on their own is refused quietly. Own code and not a crate's, because one program needs several errors,
//! the tell-the-parent answer, a range of unknown numbers, and the process's own number, known only after the fork.

mod table;

use libc::sock_filter;

use table::{COMMANDS, Call, EMPTYING, GROUPS, OWN_GROUPS, SOCKETS};

/// Calls that are treated alike.
struct Group {
    calls: &'static [Call],
    unless: Unless,
    refusal: Refusal,
}

/// What happens to a refused call.
#[derive(Clone, Copy)]
enum Refusal {
    /// `EPERM` (memory: `ENOMEM`), and the parent is told.
    Told,
    /// This error, and nobody is told.
    Quiet(i32),
}

/// When a call is let through after all.
enum Unless {
    Never,
    /// An argument under a mask is one of these.
    Is {
        argument: u32,
        mask: u32,
        one_of: &'static [u32],
    },
    /// An argument under a mask is none of these.
    IsNot {
        argument: u32,
        mask: u32,
        one_of: &'static [u32],
    },
    /// An argument is the number of the process itself.
    IsSelf {
        argument: u32,
    },
    /// A pointer is null.
    IsNull {
        argument: u32,
    },
    /// A length is at most the memory limit.
    WithinMemory {
        argument: u32,
    },
}

/// A filter that only lacks the number of the process that it is for.
#[derive(Clone)]
pub(super) struct Filter {
    program: Vec<sock_filter>,
}

/// Room for a copy on the stack of the forked process; ours has some five hundred instructions.
pub(super) const LONGEST: usize = 1024;

/// True where the filter knows the machine's numbers.
pub(super) const KNOWN_MACHINE: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(not(target_arch = "x86_64"))]
const ARCHITECTURE: u32 = 0xC000_00B7;

/// The last call that this file was written for (Linux 6.15).
const LAST_KNOWN: u32 = 467;
/// Numbers of a second, older set of calls on x86-64.
const OTHER_SET: u32 = 0x4000_0000;

const AT_NUMBER: u32 = 0;
const AT_ARCHITECTURE: u32 = 4;
const AT_ARGUMENTS: u32 = 16;

/// Stands in the program where the number of the process belongs.
const OWN_PID: u32 = 0xFFFF_0F0D;

impl Filter {
    /// Writes the program. `told`: refusals go to a listener instead of being answered by the kernel.
    pub(super) fn new(memory: u64, landlock_abi: u32, told: bool) -> Self {
        let emptying = if landlock_abi < 3 { EMPTYING } else { &[] };
        Self::written(GROUPS.iter().chain(OWN_GROUPS).chain(emptying), memory, told)
    }

    /// The program for an owner's command, which starts programs of its own; refusals are answered by the kernel.
    pub(super) fn for_commands(landlock_abi: u32, network: bool) -> Self {
        let emptying = if landlock_abi < 3 { EMPTYING } else { &[] };
        let sockets = if network { &[] } else { SOCKETS };
        Self::written(COMMANDS.iter().chain(sockets).chain(emptying), u64::MAX, false)
    }

    fn written<'a>(groups: impl Iterator<Item = &'a Group>, memory: u64, told: bool) -> Self {
        let mut blocks: Vec<(u32, Writer)> = Vec::new();
        for group in groups {
            for (_, number) in group.calls {
                blocks.push((u32::try_from(*number).unwrap_or_default(), Writer::block(group, memory, told)));
            }
        }
        blocks.sort_by_key(|(number, _)| *number);
        let mut writer = Writer::default();
        writer.head();
        writer.search(&blocks);
        Self { program: writer.program }
    }

    /// The program for this process, written into the given room; the answer is its length.
    pub(super) fn for_process(&self, pid: u32, room: &mut [sock_filter; LONGEST]) -> usize {
        for (to, from) in room.iter_mut().zip(&self.program) {
            *to = *from;
            if to.k == OWN_PID {
                to.k = pid;
            }
        }
        self.program.len().min(LONGEST)
    }
}

/// The name of a call and the error with which it is refused; made by the parent for what it is told.
pub(super) fn refused(number: i32) -> (&'static str, i32) {
    let mut known = GROUPS
        .iter()
        .chain(OWN_GROUPS)
        .chain(EMPTYING)
        .flat_map(|group| group.calls.iter().map(move |call| (call, group)));
    match known.find(|((_, known), _)| *known == i64::from(number)) {
        Some(((name, _), group)) => {
            let memory = matches!(group.unless, Unless::WithinMemory { .. });
            (name.trim_start_matches("SYS_"), if memory { libc::ENOMEM } else { libc::EPERM })
        }
        None => ("unknown", libc::EPERM),
    }
}

/// True for the calls by which memory is asked for.
pub(super) fn asks_for_memory(name: &str) -> bool {
    matches!(name, "mmap" | "mremap")
}

#[derive(Default)]
struct Writer {
    program: Vec<sock_filter>,
}

/// How far a jump goes when the comparison holds, and when it does not.
type Jump = (u8, u8);

impl Writer {
    fn head(&mut self) {
        self.load(AT_ARCHITECTURE);
        self.jump(libc::BPF_JEQ, ARCHITECTURE, (1, 0));
        self.answer(libc::SECCOMP_RET_KILL_PROCESS);
        self.load(AT_NUMBER);
        self.jump(libc::BPF_JGE, OTHER_SET, (0, 1));
        self.answer(error(libc::EPERM));
        self.jump(libc::BPF_JGT, LAST_KNOWN, (0, 1));
        self.answer(error(libc::ENOSYS));
    }

    /// Finds the block of a number by halves: the kernel walks the program once for every call there is when it takes
    /// the filter, and that is most of the time it takes.
    fn search(&mut self, blocks: &[(u32, Writer)]) {
        const FEW: usize = 3;
        let (left, right) = blocks.split_at(blocks.len() / 2);
        match right {
            [(middle, _), ..] if blocks.len() > FEW => {
                self.jump(libc::BPF_JGE, *middle, (0, 1));
                let far = self.program.len();
                self.put(libc::BPF_JMP | libc::BPF_JA, 0, (0, 0));
                self.search(left);
                let distance = self.program.len() - far - 1;
                if let Some(jump) = self.program.get_mut(far) {
                    jump.k = u32::try_from(distance).unwrap_or_default();
                }
                self.search(right);
            }
            _ => {
                for (number, block) in blocks {
                    self.jump(libc::BPF_JEQ, *number, (0, u8::try_from(block.program.len()).unwrap_or_default()));
                    self.program.extend_from_slice(&block.program);
                }
                self.answer(libc::SECCOMP_RET_ALLOW);
            }
        }
    }

    /// What follows once the number is a call's; it always ends in an answer.
    fn block(group: &Group, memory: u64, told: bool) -> Self {
        let mut writer = Self::default();
        let refuse = refusal(group, told);
        let (allow, at) = (libc::SECCOMP_RET_ALLOW, |argument: u32| AT_ARGUMENTS + 8 * argument);
        match group.unless {
            Unless::Never => writer.answer(refuse),
            Unless::Is { argument, mask, one_of } => writer.compare(at(argument), mask, one_of, allow, refuse),
            Unless::IsNot { argument, mask, one_of } => writer.compare(at(argument), mask, one_of, refuse, allow),
            Unless::IsSelf { argument } => writer.compare(at(argument), u32::MAX, &[OWN_PID], allow, refuse),
            Unless::IsNull { argument } => {
                writer.load(at(argument));
                writer.jump(libc::BPF_JEQ, 0, (0, 2));
                writer.load(at(argument) + 4);
                writer.jump(libc::BPF_JEQ, 0, (1, 0));
                writer.answer(refuse);
                writer.answer(allow);
            }
            Unless::WithinMemory { argument } => {
                let (high, low) = ((memory >> 32) as u32, memory as u32);
                writer.load(at(argument) + 4);
                writer.jump(libc::BPF_JGT, high, (3, 0));
                writer.jump(libc::BPF_JEQ, high, (0, 3));
                writer.load(at(argument));
                writer.jump(libc::BPF_JGT, low, (0, 1));
                writer.answer(refuse);
                writer.answer(allow);
            }
        }
        writer
    }

    fn compare(&mut self, offset: u32, mask: u32, values: &[u32], equal: u32, other: u32) {
        self.load(offset);
        if mask != u32::MAX {
            self.put(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, mask, (0, 0));
        }
        for value in values {
            self.jump(libc::BPF_JEQ, *value, (0, 1));
            self.answer(equal);
        }
        self.answer(other);
    }

    fn load(&mut self, offset: u32) {
        self.put(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, (0, 0));
    }

    fn jump(&mut self, comparison: u32, value: u32, jump: Jump) {
        self.put(libc::BPF_JMP | comparison | libc::BPF_K, value, jump);
    }

    fn answer(&mut self, value: u32) {
        self.put(libc::BPF_RET | libc::BPF_K, value, (0, 0));
    }

    fn put(&mut self, code: u32, k: u32, (jt, jf): Jump) {
        self.program.push(sock_filter { code: code as u16, jt, jf, k });
    }
}

fn refusal(group: &Group, told: bool) -> u32 {
    match group.refusal {
        Refusal::Quiet(code) => error(code),
        Refusal::Told if told => libc::SECCOMP_RET_USER_NOTIF,
        Refusal::Told if matches!(group.unless, Unless::WithinMemory { .. }) => error(libc::ENOMEM),
        Refusal::Told => error(libc::EPERM),
    }
}

fn error(code: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | (code as u32 & libc::SECCOMP_RET_DATA)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

    use super::{ARCHITECTURE, AT_ARCHITECTURE, Filter, LONGEST};
    use libc::{c_long, sock_filter};

    /// Runs the program as the kernel does.
    fn run(program: &[sock_filter], number: u32, arguments: [u64; 6]) -> u32 {
        let mut data = vec![number, ARCHITECTURE, 0, 0];
        data.extend(arguments.iter().flat_map(|value| [*value as u32, (*value >> 32) as u32]));
        let (mut at, mut accumulator) = (0, 0_u32);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            at += 1;
            let compare = |holds: bool| usize::from(if holds { jt } else { jf });
            match u32::from(code) {
                0x20 => accumulator = data[k as usize / 4],
                0x54 => accumulator &= k,
                0x15 => at += compare(accumulator == k),
                0x25 => at += compare(accumulator > k),
                0x35 => at += compare(accumulator >= k),
                0x06 => return k,
                0x05 => at += k as usize,
                other => panic!("{other:#x}"),
            }
        }
    }

    fn answer(number: c_long, arguments: [u64; 6]) -> String {
        let filter = Filter::new(512 << 20, 7, true);
        let mut room = [sock_filter { code: 0, jt: 0, jf: 0, k: 0 }; LONGEST];
        let length = filter.for_process(77, &mut room);
        assert!(length < LONGEST, "{length}");
        match run(&room[..length], u32::try_from(number).unwrap(), arguments) {
            0x7FFF_0000 => "allow".into(),
            0x7FC0_0000 => "told".into(),
            0x8000_0000 => "kill".into(),
            other => format!("error {}", other & 0xFFFF),
        }
    }

    fn check(number: c_long, arguments: &[u64], expected: &str) {
        let mut all = [0; 6];
        all[..arguments.len()].copy_from_slice(arguments);
        assert_eq!(answer(number, all), expected, "{number} {arguments:?}");
    }

    #[test]
    fn calls_and_their_answers() {
        check(libc::SYS_read, &[0, 0, 1], "allow");
        check(libc::SYS_socket, &[1, 1], "told");
        check(libc::SYS_socketpair, &[1, 1 | 0o2_000_000], "allow");
        check(libc::SYS_socketpair, &[1, 2], "told");
        check(libc::SYS_execve, &[], "told");
        check(libc::SYS_clone, &[0x3D_0F00], "allow");
        check(libc::SYS_clone, &[17], "told");
        check(libc::SYS_clone3, &[], "error 38");
        check(libc::SYS_kill, &[77, 9], "allow");
        check(libc::SYS_kill, &[78, 9], "told");
        check(libc::SYS_kill, &[0, 9], "told");
        check(libc::SYS_kill, &[u64::MAX, 9], "told");
        check(libc::SYS_tgkill, &[77, 80, 6], "allow");
        check(libc::SYS_fcntl, &[3, 1], "allow");
        check(libc::SYS_fcntl, &[3, 8, 1], "error 1");
        check(libc::SYS_ioctl, &[3, 0x5401], "allow");
        check(libc::SYS_ioctl, &[3, 0x5412], "error 25");
        check(libc::SYS_ioctl, &[3, 0x4008_6602], "error 25");
        check(libc::SYS_mmap, &[0, 512 << 20], "allow");
        check(libc::SYS_mmap, &[0, (512 << 20) + 1], "told");
        check(libc::SYS_mmap, &[0, 10 << 30], "told");
        check(libc::SYS_prlimit64, &[0, 7, 0], "allow");
        check(libc::SYS_prlimit64, &[0, 7, 1 << 40], "error 1");
        check(libc::SYS_prlimit64, &[0, 7, 1], "error 1");
        check(libc::SYS_prctl, &[15], "allow");
        check(libc::SYS_prctl, &[4, 1], "error 1");
        check(libc::SYS_fchmod, &[], "told");
        check(libc::SYS_truncate, &[], "allow");
        check(libc::SYS_io_uring_setup, &[], "error 38");
        check(468, &[], "error 38");
        check(0x4000_0029, &[], "error 1");
    }

    /// Every number up to the last known one: refused exactly if the table names it.
    #[test]
    fn every_number() {
        use super::{GROUPS, OWN_GROUPS, Unless};
        let named: Vec<(c_long, bool)> = GROUPS
            .iter()
            .chain(OWN_GROUPS)
            .flat_map(|group| group.calls.iter().map(|(_, number)| (*number, matches!(group.unless, Unless::Never))))
            .collect();
        for number in 0..=467 {
            match named.iter().find(|(known, _)| *known == number) {
                Some((_, true)) => assert_ne!(answer(number, [0; 6]), "allow", "{number}"),
                Some((_, false)) => {}
                None => assert_eq!(answer(number, [0; 6]), "allow", "{number}"),
            }
        }
        let mut numbers: Vec<c_long> = named.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), named.len(), "a call stands twice in the table");
    }

    #[test]
    fn another_machines_numbers_kill() {
        let filter = Filter::new(1 << 20, 7, true);
        let first = filter.program.first().unwrap();
        assert_eq!((first.code, first.k), (0x20, AT_ARCHITECTURE));
        let second = filter.program.get(1).unwrap();
        assert_eq!((second.k, second.jt, second.jf), (ARCHITECTURE, 1, 0));
    }

    #[test]
    fn old_kernels_do_not_empty_files() {
        let filter = Filter::new(1 << 20, 1, false);
        let open = |flags: i32| run(&filter.program, libc::SYS_openat as u32, [0, 0, flags as u64, 0, 0, 0]);
        assert_eq!(open(libc::O_TRUNC), 0x0005_0001);
        assert_eq!(open(libc::O_TRUNC | libc::O_WRONLY), 0x7FFF_0000);
        assert_eq!(open(0), 0x7FFF_0000);
    }
}
