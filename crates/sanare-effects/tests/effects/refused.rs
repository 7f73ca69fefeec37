//! What a shut-in child is refused, one attempt a child.

use std::ffi::CString;

use crate::folder::Folder;
use crate::trial::{call, check, isolated, open};

#[test]
fn sockets() {
    for domain in [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX, libc::AF_NETLINK, libc::AF_PACKET] {
        for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_RAW] {
            check(move || call(libc::SYS_socket, [domain as usize, kind as usize, 0, 0]), "EPERM", &["socket"]);
        }
    }
    let mut pair = [0_i32; 2];
    let at = pair.as_mut_ptr() as usize;
    check(
        move || call(libc::SYS_socketpair, [libc::AF_UNIX as usize, libc::SOCK_DGRAM as usize, 0, at]),
        "EPERM",
        &["socketpair"],
    );
}

#[test]
fn programs_and_processes() {
    let program = CString::new("/bin/true").unwrap();
    let at = program.as_ptr() as usize;
    check(move || call(libc::SYS_execve, [at, 0, 0, 0]), "EPERM", &["execve"]);
    check(move || call(libc::SYS_execveat, [libc::AT_FDCWD as usize, at, 0, 0]), "EPERM", &["execveat"]);
    check(|| call(libc::SYS_clone, [libc::SIGCHLD as usize, 0, 0, 0]), "EPERM", &["clone"]);
    check(|| call(libc::SYS_clone3, [0, 0, 0, 0]), "ENOSYS", &[]);
    #[cfg(target_arch = "x86_64")]
    check(|| call(libc::SYS_fork, [0; 4]), "EPERM", &["fork"]);
    #[cfg(target_arch = "x86_64")]
    check(|| call(libc::SYS_vfork, [0; 4]), "EPERM", &["vfork"]);
    check(|| call(libc::SYS_setsid, [0; 4]), "EPERM", &["setsid"]);
    check(|| call(libc::SYS_setpgid, [0, 0, 0, 0]), "EPERM", &["setpgid"]);
    // Through the library, with the ways round that it knows.
    check(|| std::process::Command::new("/bin/true").status().map_or(-1, |_| 0), "EPERM", DENIED_BY_SPAWN);
}

/// What a library tries when it starts a program is its own business; the first refusal is clone's or fork's.
const DENIED_BY_SPAWN: &[&str] = if cfg!(target_env = "gnu") { &["clone"] } else { &["fork"] };

#[test]
fn signals_to_others() {
    let parent = std::process::id() as usize;
    for target in [parent, 0, usize::MAX, 1] {
        check(move || call(libc::SYS_kill, [target, 0, 0, 0]), "EPERM", &["kill"]);
    }
    check(move || call(libc::SYS_tgkill, [parent, parent, 0, 0]), "EPERM", &["tgkill"]);
    check(move || call(libc::SYS_tkill, [parent, 0, 0, 0]), "EPERM", &["tkill"]);
    check(|| call(libc::SYS_kill, [std::process::id() as usize, 0, 0, 0]), "done", &[]);
    check(move || call(libc::SYS_pidfd_open, [parent, 0, 0, 0]), "EPERM", &["pidfd_open"]);
    check(move || call(libc::SYS_process_vm_readv, [parent, 0, 0, 0]), "EPERM", &["process_vm_readv"]);
    check(move || call(libc::SYS_ptrace, [libc::PTRACE_ATTACH as usize, parent, 0, 0]), "EPERM", &["ptrace"]);
    check(move || call(libc::SYS_setpriority, [0, parent, 19, 0]), "EPERM", &[]);
    let limit = [0_u64; 2];
    let at = limit.as_ptr() as usize;
    check(move || call(libc::SYS_prlimit64, [parent, libc::RLIMIT_NOFILE as usize, at, 0]), "EPERM", &[]);
    check(move || call(libc::SYS_prlimit64, [0, libc::RLIMIT_CPU as usize, at, 0]), "EPERM", &[]);
}

#[test]
fn the_machine() {
    check(|| call(libc::SYS_mount, [0; 4]), "EPERM", &["mount"]);
    check(|| call(libc::SYS_unshare, [libc::CLONE_NEWUSER as usize, 0, 0, 0]), "EPERM", &["unshare"]);
    check(|| call(libc::SYS_keyctl, [0; 4]), "EPERM", &["keyctl"]);
    check(|| call(libc::SYS_bpf, [0; 4]), "EPERM", &["bpf"]);
    check(|| call(libc::SYS_perf_event_open, [0; 4]), "EPERM", &["perf_event_open"]);
    check(|| call(libc::SYS_init_module, [0; 4]), "EPERM", &["init_module"]);
    check(|| call(libc::SYS_io_uring_setup, [1, 0, 0, 0]), "ENOSYS", &[]);
    check(|| call(libc::SYS_prctl, [libc::PR_SET_PDEATHSIG as usize, 0, 0, 0]), "EPERM", &[]);
    check(|| call(libc::SYS_shmget, [0, 4096, 0o1600, 0]), "EPERM", &["shmget"]);
    check(|| call(libc::SYS_setuid, [65534, 0, 0, 0]), "EPERM", &["setuid"]);
    check(|| call(468, [0; 4]), "ENOSYS", &[]);
}

#[test]
fn files_outside() {
    if !isolated() {
        return;
    }
    let folder = Folder::new("outside");
    let file = CString::new(folder.file("m.py", b"x = 1\n").to_str().unwrap()).unwrap();
    let new = CString::new(folder.path().join("new").to_str().unwrap()).unwrap();
    let (at, new_at) = (file.as_ptr() as usize, new.as_ptr() as usize);
    let cwd = libc::AT_FDCWD as usize;
    for path in [c"/etc/shadow", c"/etc/passwd", c"/proc/1/environ", c"/proc/self/mem", &file] {
        check(|| open(path, libc::O_RDONLY), "EACCES", &[]);
    }
    check(|| open(&file, libc::O_WRONLY | libc::O_TRUNC), "EACCES", &[]);
    check(|| open(&file, libc::O_RDONLY | libc::O_TRUNC), "EACCES", &[]);
    check(|| open(&new, libc::O_WRONLY | libc::O_CREAT), "EACCES", &[]);
    check(move || call(libc::SYS_truncate, [at, 0, 0, 0]), "EACCES", &[]);
    check(move || call(libc::SYS_unlinkat, [cwd, at, 0, 0]), "EACCES", &[]);
    check(move || call(libc::SYS_mkdirat, [cwd, new_at, 0o700, 0]), "EACCES", &[]);
    check(move || call(libc::SYS_symlinkat, [at, cwd, new_at, 0]), "EACCES", &[]);
    check(move || call(libc::SYS_fchmodat, [cwd, at, 0o777, 0]), "EPERM", &["fchmodat"]);
    check(move || call(libc::SYS_fchownat, [cwd, at, 0, 0]), "EPERM", &["fchownat"]);
    check(move || call(libc::SYS_utimensat, [cwd, at, 0, 0]), "EPERM", &["utimensat"]);
    check(move || call(libc::SYS_setxattr, [at, at, at, 1]), "EPERM", &["setxattr"]);
    assert_eq!(std::fs::read(folder.path().join("m.py")).unwrap(), b"x = 1\n");
    assert_eq!(folder.names(), ["m.py"]);
}
