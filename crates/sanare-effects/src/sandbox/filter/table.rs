//! Which system calls are refused, and when not.
//!
//! Landlock covers reading and writing by path; here stands what it does not: sockets, programs, processes, signals,
//! modes and owners, the machine itself.

use libc::c_long;

use super::{Group, Refusal, Unless};

/// A call's name in libc and its number.
pub(super) type Call = (&'static str, c_long);

macro_rules! calls {
    ($($name:ident)*) => { &[$((stringify!($name), libc::$name),)*] };
}

/// Calls that libc does not name everywhere yet; such numbers are the same on all machines.
const NEWER: &[Call] = &[("SYS_fchmodat2", 452), ("SYS_setxattrat", 463), ("SYS_removexattrat", 466)];

pub(super) const GROUPS: &[Group] = &[
    // Sockets. A connected pair of one's own stays: event loops wake themselves with it, and it leads nowhere.
    told(calls![SYS_socket SYS_connect SYS_bind SYS_listen SYS_accept SYS_accept4]),
    Group {
        calls: calls![SYS_socketpair],
        unless: Unless::Is { argument: 1, mask: 0xF, one_of: &[libc::SOCK_STREAM as u32] },
        refusal: Refusal::Told,
    },
    // Programs and processes. Threads stay; glibc makes them with the older call when the newer one is missing.
    told(calls![SYS_execve SYS_execveat]),
    Group {
        calls: calls![SYS_clone],
        unless: Unless::Is { argument: 0, mask: libc::CLONE_THREAD as u32, one_of: &[libc::CLONE_THREAD as u32] },
        refusal: Refusal::Told,
    },
    quiet(calls![SYS_clone3 SYS_openat2], libc::ENOSYS),
    told(calls![SYS_setsid SYS_setpgid SYS_unshare SYS_setns SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev]),
    told(calls![SYS_process_madvise SYS_process_mrelease SYS_kcmp SYS_pidfd_open SYS_pidfd_getfd]),
    // Signals: to itself only.
    Group { calls: calls![SYS_kill SYS_tgkill], unless: Unless::IsSelf { argument: 0 }, refusal: Refusal::Told },
    told(calls![SYS_tkill SYS_rt_sigqueueinfo SYS_rt_tgsigqueueinfo SYS_pidfd_send_signal]),
    Group {
        calls: calls![SYS_fcntl],
        unless: Unless::IsNot {
            argument: 1,
            mask: u32::MAX,
            one_of: &[libc::F_SETOWN as u32, F_SETOWN_EX, F_SETSIG, libc::F_SETLEASE as u32, libc::F_NOTIFY as u32],
        },
        refusal: Refusal::Quiet(libc::EPERM),
    },
    // Modes, owners, times and attributes, which Landlock leaves free on every readable path.
    told(calls![SYS_fchmod SYS_fchmodat SYS_fchown SYS_fchownat SYS_utimensat]),
    told(calls![SYS_setxattr SYS_lsetxattr SYS_fsetxattr SYS_removexattr SYS_lremovexattr SYS_fremovexattr]),
    told(NEWER),
    // Requests to devices and file systems: only those that plain programs make.
    Group {
        calls: calls![SYS_ioctl],
        unless: Unless::Is { argument: 1, mask: u32::MAX, one_of: &HARMLESS_REQUESTS },
        refusal: Refusal::Quiet(libc::ENOTTY),
    },
    // The machine.
    told(
        calls![SYS_mount SYS_umount2 SYS_pivot_root SYS_chroot SYS_swapon SYS_swapoff SYS_reboot SYS_acct SYS_quotactl],
    ),
    told(
        calls![SYS_open_tree SYS_move_mount SYS_fsopen SYS_fsconfig SYS_fsmount SYS_fspick SYS_mount_setattr SYS_quotactl_fd],
    ),
    told(calls![SYS_init_module SYS_finit_module SYS_delete_module SYS_kexec_load SYS_bpf SYS_perf_event_open]),
    told(calls![SYS_settimeofday SYS_clock_settime SYS_clock_adjtime SYS_adjtimex SYS_sethostname SYS_setdomainname]),
    told(calls![SYS_syslog SYS_vhangup SYS_fanotify_init SYS_fanotify_mark SYS_open_by_handle_at SYS_userfaultfd]),
    told(calls![SYS_add_key SYS_request_key SYS_keyctl]),
    // Who it is.
    told(
        calls![SYS_setuid SYS_setgid SYS_setreuid SYS_setregid SYS_setresuid SYS_setresgid SYS_setgroups SYS_setfsuid],
    ),
    told(calls![SYS_setfsgid SYS_capset]),
    // Memory and queues that outlive it or that no limit counts.
    told(calls![SYS_shmget SYS_shmat SYS_shmctl SYS_semget SYS_semop SYS_semtimedop SYS_semctl]),
    told(calls![SYS_msgget SYS_msgsnd SYS_msgrcv SYS_msgctl SYS_mq_open SYS_mq_unlink]),
    quiet(calls![SYS_memfd_create SYS_memfd_secret], libc::ENOSYS),
    Group { calls: calls![SYS_mmap], unless: Unless::WithinMemory { argument: 1 }, refusal: Refusal::Told },
    Group { calls: calls![SYS_mremap], unless: Unless::WithinMemory { argument: 2 }, refusal: Refusal::Told },
    // Limits, order of running, and the filter itself.
    Group {
        calls: calls![SYS_prlimit64],
        unless: Unless::IsNull { argument: 2 },
        refusal: Refusal::Quiet(libc::EPERM),
    },
    quiet(
        calls![SYS_setrlimit SYS_seccomp SYS_setpriority SYS_ioprio_set SYS_sched_setparam SYS_sched_setscheduler],
        libc::EPERM,
    ),
    quiet(calls![SYS_sched_setattr SYS_migrate_pages SYS_move_pages SYS_sync SYS_syncfs], libc::EPERM),
    Group {
        calls: calls![SYS_sched_setaffinity],
        unless: Unless::Is { argument: 0, mask: u32::MAX, one_of: &[0] },
        refusal: Refusal::Quiet(libc::EPERM),
    },
    Group {
        calls: calls![SYS_personality],
        unless: Unless::Is { argument: 0, mask: u32::MAX, one_of: &[u32::MAX] },
        refusal: Refusal::Quiet(libc::EPERM),
    },
    Group {
        calls: calls![SYS_prctl],
        unless: Unless::Is { argument: 0, mask: u32::MAX, one_of: &HARMLESS_OPTIONS },
        refusal: Refusal::Quiet(libc::EPERM),
    },
    quiet(calls![SYS_io_uring_setup SYS_io_uring_enter SYS_io_uring_register], libc::ENOSYS),
];

/// Calls that only this machine has.
#[cfg(target_arch = "x86_64")]
pub(super) const OWN_GROUPS: &[Group] = &[
    told(calls![SYS_fork SYS_vfork SYS_chmod SYS_chown SYS_lchown SYS_utime SYS_utimes SYS_futimesat]),
    told(calls![SYS_kexec_file_load SYS_iopl SYS_ioperm]),
    quiet(calls![SYS_modify_ldt], libc::EPERM),
];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const OWN_GROUPS: &[Group] = &[];

/// For an owner's command: it starts programs and sends signals to its own, and stays in its group so that it can be
/// ended with all its children.
pub(super) const COMMANDS: &[Group] = &[
    quiet(calls![SYS_setsid SYS_setpgid SYS_unshare SYS_setns SYS_ptrace], libc::EPERM),
    quiet(calls![SYS_process_vm_readv SYS_process_vm_writev SYS_process_madvise SYS_kcmp SYS_pidfd_getfd], libc::EPERM),
    Group {
        calls: calls![SYS_clone],
        unless: Unless::Is { argument: 0, mask: NEW_NAMESPACES, one_of: &[0] },
        refusal: Refusal::Quiet(libc::EPERM),
    },
    // Its flags are behind a pointer, which a filter does not follow; the older call is used instead.
    quiet(calls![SYS_clone3], libc::ENOSYS),
    quiet(
        calls![SYS_mount SYS_umount2 SYS_pivot_root SYS_chroot SYS_swapon SYS_swapoff SYS_reboot SYS_acct SYS_quotactl],
        libc::EPERM,
    ),
    quiet(
        calls![SYS_open_tree SYS_move_mount SYS_fsopen SYS_fsconfig SYS_fsmount SYS_fspick SYS_mount_setattr],
        libc::EPERM,
    ),
    quiet(
        calls![SYS_init_module SYS_finit_module SYS_delete_module SYS_kexec_load SYS_bpf SYS_perf_event_open],
        libc::EPERM,
    ),
    quiet(calls![SYS_settimeofday SYS_clock_settime SYS_clock_adjtime SYS_adjtimex SYS_sethostname], libc::EPERM),
    quiet(calls![SYS_syslog SYS_vhangup SYS_open_by_handle_at SYS_userfaultfd], libc::EPERM),
    quiet(calls![SYS_add_key SYS_request_key SYS_keyctl], libc::EPERM),
    quiet(calls![SYS_io_uring_setup SYS_io_uring_enter SYS_io_uring_register], libc::ENOSYS),
];

/// No network: not even the sockets of this machine, behind which agents and daemons listen. Connected pairs stay.
pub(super) const SOCKETS: &[Group] = &[quiet(calls![SYS_socket SYS_connect SYS_bind SYS_listen], libc::EACCES)];

const NEW_NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;

/// Below Landlock's third version a file that may be read may also be emptied.
pub(super) const EMPTYING: &[Group] = &[
    quiet(calls![SYS_truncate], libc::EPERM),
    Group {
        calls: calls![SYS_openat],
        unless: Unless::IsNot { argument: 2, mask: EMPTIES, one_of: &[libc::O_TRUNC as u32] },
        refusal: Refusal::Told,
    },
    #[cfg(target_arch = "x86_64")]
    Group {
        calls: calls![SYS_open],
        unless: Unless::IsNot { argument: 1, mask: EMPTIES, one_of: &[libc::O_TRUNC as u32] },
        refusal: Refusal::Told,
    },
];

const EMPTIES: u32 = (libc::O_TRUNC | libc::O_ACCMODE) as u32;
const F_SETOWN_EX: u32 = 15;
const F_SETSIG: u32 = 10;

/// Is it a terminal, how wide, what may be read, do not block, close on exec, which flags has the file.
const HARMLESS_REQUESTS: [u32; 8] = [0x5401, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x8008_6601];

/// Names of threads and memory, timer slack, large pages, and questions.
const HARMLESS_OPTIONS: [u32; 12] = [2, 3, 15, 16, 21, 23, 29, 30, 39, 41, 42, 0x5356_4D41];

const fn told(calls: &'static [Call]) -> Group {
    Group { calls, unless: Unless::Never, refusal: Refusal::Told }
}

const fn quiet(calls: &'static [Call], error: i32) -> Group {
    Group { calls, unless: Unless::Never, refusal: Refusal::Quiet(error) }
}
