//! Children that try to do harm, and ones that do their work.

use std::ffi::CStr;
use std::path::Path;
use std::time::{Duration, Instant};

use sanare_effects::sandbox::{CannotPrepare, Part, ShutIn, available, available_without};
use sanare_effects::trial::{Hooks, Limits, PrivateFolder, Trial, TrialEnd, fork_trial, start};

use crate::folder::{Folder, skip};

pub fn limits() -> Limits {
    Limits { deadline: Duration::from_secs(3), idle: Duration::from_secs(1), ..Limits::default() }
}

pub fn run_in(folder: &PrivateFolder, read: &[&Path], work: impl FnOnce() -> Vec<u8>) -> Trial {
    let mut allowance = ShutIn::new(folder.path().to_owned());
    allowance.read.extend(read.iter().map(|path| path.to_path_buf()));
    fork_trial(&allowance.prepare().unwrap(), &limits(), &Hooks::default(), work).unwrap()
}

pub fn run(work: impl FnOnce() -> Vec<u8>) -> Trial {
    run_in(&PrivateFolder::create().unwrap(), &[], work)
}

/// True where trials can run at all.
pub fn isolated() -> bool {
    let missing = available().missing;
    if !missing.is_empty() {
        skip(&format!("no isolation here: {missing:?}"));
    }
    missing.is_empty()
}

/// The child's verdict on one attempt must be this; so must what the parent was told.
pub fn check(attempt: impl FnOnce() -> i64, expected: &str, denied: &[&str]) {
    if !isolated() {
        return;
    }
    let trial = run(|| {
        let answer = attempt();
        let text = if answer >= 0 { "done".to_owned() } else { errno() };
        text.into_bytes()
    });
    let text = match &trial.end {
        TrialEnd::Reported(text) => String::from_utf8(text.clone()).unwrap(),
        other => format!("{other:?}"),
    };
    assert_eq!((text.as_str(), trial.denied.as_slice()), (expected, denied));
    assert!(trial.took < limits().deadline);
}

pub fn errno() -> String {
    match std::io::Error::last_os_error().raw_os_error().unwrap_or_default() {
        libc::EPERM => "EPERM".into(),
        libc::EACCES => "EACCES".into(),
        libc::ENOSYS => "ENOSYS".into(),
        libc::EBADF => "EBADF".into(),
        libc::ENOMEM => "ENOMEM".into(),
        libc::EFBIG => "EFBIG".into(),
        libc::EXDEV => "EXDEV".into(),
        other => format!("error {other}"),
    }
}

/// A bare system call with up to four arguments.
#[expect(unsafe_code, reason = "the point is to try what is refused")]
pub fn call(number: libc::c_long, arguments: [usize; 4]) -> i64 {
    let [a, b, c, d] = arguments;
    // SAFETY: pointers among the arguments come from C strings that outlive the call; wrong ones give an error.
    unsafe { libc::syscall(number, a, b, c, d) }
}

pub fn open(path: &CStr, flags: i32) -> i64 {
    call(libc::SYS_openat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags as usize, 0o600])
}

pub fn leave(code: i32) -> ! {
    call(libc::SYS_exit_group, [code as usize, 0, 0, 0]);
    unreachable!()
}

#[test]
fn work_comes_back() {
    if !isolated() {
        return;
    }
    let text = "arguments in memory".to_owned();
    let trial = run(|| text.clone().into_bytes());
    assert_eq!(trial.end, TrialEnd::Reported(text.into_bytes()));
    assert!(trial.denied.is_empty() && trial.weaker.is_empty() && !trial.memory_refused);
    let long = vec![7; 3 << 20];
    assert_eq!(run(|| long.clone()).end, TrialEnd::Reported(long));
    assert_eq!(run(|| vec![0; 17 << 20]).end, TrialEnd::ReportLimit);
    assert_eq!(run(Vec::new).end, TrialEnd::Reported(Vec::new()));
}

#[test]
fn threads_and_waking_pairs_work() {
    if !isolated() {
        return;
    }
    let trial = run(|| {
        let sum: u64 = (0..4).map(|n| std::thread::spawn(move || n)).map(|thread| thread.join().unwrap()).sum();
        let pair = std::os::unix::net::UnixStream::pair().is_ok();
        format!("{sum} {pair}").into_bytes()
    });
    assert_eq!(trial.end, TrialEnd::Reported(b"6 true".to_vec()));
    assert!(trial.denied.is_empty(), "{:?}", trial.denied);
}

#[test]
fn named_files_may_be_read_and_the_folder_written() {
    if !isolated() {
        return;
    }
    let (outside, inside) = (Folder::new("named"), PrivateFolder::create().unwrap());
    let tree = outside.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    let (one, two) = (outside.file("tree/a.csv", b"a"), outside.file("b.csv", b"b"));
    let (closed, out) = (outside.file("c.csv", b"c"), inside.path().join("out"));
    let link = inside.path().join("link");
    let trial = run_in(&inside, &[&tree, &two, &outside.path().join("missing")], || {
        let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_else(|fault| fault.kind().to_string());
        let written = std::fs::write(&out, "ok").and_then(|()| std::fs::rename(&out, out.with_extension("2"))).is_ok();
        let _ = std::os::unix::fs::symlink(&closed, &link);
        let null = std::fs::write("/dev/null", "x").is_ok();
        let hard = std::fs::hard_link(&one, out.with_extension("3")).is_ok();
        let texts = [read(&one), read(&two), read(&closed), read(&link), read(&out.with_extension("2"))];
        format!("{} {written} {null} {hard}", texts.join(", ")).into_bytes()
    });
    let expected = "a, b, permission denied, permission denied, ok true true false";
    assert_eq!(trial.end, TrialEnd::Reported(expected.into()));
    let path = inside.path().to_owned();
    drop(inside);
    assert!(!path.exists());
}

#[test]
fn the_home_folder_is_taken_apart() {
    if !isolated() {
        return;
    }
    let home = Folder::new("home");
    for folder in [".ssh", "work"] {
        std::fs::create_dir(home.path().join(folder)).unwrap();
    }
    let (key, code) = (home.file(".ssh/id", b"key"), home.file("work/m.py", b"code"));
    // The home folder is read from the environment when the fences are made, so this runs in a process of its own.
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "trial::in_home", "--nocapture"])
        .env("HOME", home.path())
        .env("EFFECTS_HOME", format!("{}\n{}", key.display(), code.display()))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("<permission denied, code>"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn in_home() {
    let Ok(paths) = std::env::var("EFFECTS_HOME") else { return };
    let (key, code) = paths.split_once('\n').unwrap();
    let home = std::env::home_dir().unwrap();
    let trial = run_in(&PrivateFolder::create().unwrap(), &[&home, home.parent().unwrap()], || {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_else(|fault| fault.kind().to_string());
        format!("<{}, {}>", read(key), read(code)).into_bytes()
    });
    let TrialEnd::Reported(text) = trial.end else { panic!("{:?}", trial.end) };
    std::io::Write::write_all(&mut std::io::stdout(), &text).unwrap();
}

#[test]
fn descriptors_of_the_parent() {
    if !isolated() {
        return;
    }
    use std::os::fd::AsRawFd as _;
    let folder = Folder::new("descriptors");
    let path = folder.file("log", b"old");
    let file = std::fs::File::options().append(true).open(&path).unwrap();
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let (file_number, socket_number) = (file.as_raw_fd() as usize, ours.as_raw_fd() as usize);
    for number in [file_number, socket_number] {
        check(move || call(libc::SYS_write, [number, c"child".as_ptr() as usize, 5, 0]), "EBADF", &[]);
        check(move || call(libc::SYS_read, [number, 0, 0, 0]), "EBADF", &[]);
        check(move || call(libc::SYS_ftruncate, [number, 0, 0, 0]), "EBADF", &[]);
    }
    // What the child opens never gets a number that the parent's objects know.
    let trial = run(|| {
        let opened = open(c"/dev/null", libc::O_RDONLY);
        format!("{}", opened != file_number as i64 && opened != socket_number as i64).into_bytes()
    });
    assert_eq!(trial.end, TrialEnd::Reported(b"true".to_vec()));
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    theirs.set_nonblocking(true).unwrap();
    assert!(std::io::Read::read(&mut &theirs, &mut [0; 8]).is_err(), "the child wrote to a socket of the parent");
}

/// What several processes share is read, never written: the parent's locks stay as they are.
#[test]
#[expect(unsafe_code, reason = "the standard library shares no memory between processes")]
fn shared_memory() {
    if !isolated() {
        return;
    }
    // SAFETY: a fresh mapping of a page, used as one number, never unmapped.
    let shared = unsafe {
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        let page = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        &*page.cast::<std::sync::atomic::AtomicU32>()
    };
    let order = std::sync::atomic::Ordering::SeqCst;
    shared.store(7, order);
    assert_eq!(run(|| shared.load(order).to_string().into_bytes()).end, TrialEnd::Reported(b"7".to_vec()));
    let trial = run(|| {
        shared.store(8, order);
        Vec::new()
    });
    assert_eq!(trial.end, TrialEnd::Crashed { signal: libc::SIGSEGV });
    shared.fetch_add(1, order);
    assert_eq!(shared.load(order), 8);
}

/// How the trial must end, within the deadline.
fn check_end(work: impl FnOnce() -> Vec<u8>, expected: TrialEnd) {
    if !isolated() {
        return;
    }
    let began = Instant::now();
    let trial = run(work);
    assert_eq!(trial.end, expected);
    assert!(began.elapsed() < limits().deadline + Duration::from_millis(500));
}

#[test]
fn ends() {
    check_end(
        || loop {
            std::hint::black_box(0);
        },
        TrialEnd::TimedOut,
    );
    check_end(
        || loop {
            std::thread::sleep(Duration::from_secs(9));
        },
        TrialEnd::Idle,
    );
    check_end(|| leave(0), TrialEnd::ExitedEarly { code: Some(0) });
    check_end(|| leave(3), TrialEnd::ExitedEarly { code: Some(3) });
    check_end(|| std::process::exit(4), TrialEnd::ExitedEarly { code: Some(4) });
    check_end(|| std::process::abort(), TrialEnd::Crashed { signal: libc::SIGABRT });
    check_end(|| panic!("the work panics"), TrialEnd::ExitedEarly { code: Some(101) });
    check_end(
        || {
            call(libc::SYS_kill, [std::process::id() as usize, libc::SIGKILL as usize, 0, 0]);
            Vec::new()
        },
        TrialEnd::Crashed { signal: libc::SIGKILL },
    );
    check_end(
        || {
            call(libc::SYS_kill, [std::process::id() as usize, libc::SIGSTOP as usize, 0, 0]);
            Vec::new()
        },
        TrialEnd::Idle,
    );
}

#[test]
fn ten_gigabytes() {
    if !isolated() {
        return;
    }
    let trial = run(|| {
        let mut bytes: Vec<u8> = Vec::new();
        bytes.try_reserve_exact(10 << 30).map_or(b"refused".to_vec(), |()| b"given".to_vec())
    });
    assert_eq!((trial.end, trial.memory_refused), (TrialEnd::Reported(b"refused".to_vec()), true));
    check_end(|| vec![1; 10 << 30], TrialEnd::MemoryLimit);
    // Piece by piece: the kernel refuses the piece that goes over.
    let trial = run(|| {
        let mut pieces: Vec<Vec<u8>> = Vec::new();
        loop {
            let mut piece = Vec::new();
            if piece.try_reserve_exact(16 << 20).is_err() {
                let count = pieces.len();
                drop(pieces);
                return format!("{}", (20..=40).contains(&count)).into_bytes();
            }
            piece.resize(4096, 1);
            pieces.push(piece);
        }
    });
    assert_eq!(trial.end, TrialEnd::Reported(b"true".to_vec()));
}

#[test]
fn output_and_files() {
    // 300 MB to standard output go nowhere.
    check(
        || {
            let megabyte = vec![b'x'; 1 << 20];
            (0..300).map(|_| call(libc::SYS_write, [1, megabyte.as_ptr() as usize, megabyte.len(), 0])).min().unwrap()
        },
        "done",
        &[],
    );
    if !isolated() {
        return;
    }
    let folder = PrivateFolder::create().unwrap();
    let path = folder.path().join("large");
    let trial = run_in(&folder, &[], || {
        let written = std::fs::write(&path, vec![0; 17 << 20]);
        written.map_or_else(|fault| format!("{:?}", fault.raw_os_error()), |()| "written".into()).into_bytes()
    });
    assert_eq!(trial.end, TrialEnd::Reported(format!("Some({})", libc::EFBIG).into_bytes()));
    folder.empty().unwrap();
    let trial = run_in(&folder, &[], || {
        for count in 0.. {
            let _ = std::fs::write(path.with_extension(count.to_string()), vec![0; 8 << 20]);
            std::thread::sleep(Duration::from_millis(1));
        }
        Vec::new()
    });
    assert_eq!(trial.end, TrialEnd::FolderLimit);
}

#[test]
fn a_forged_report_is_none() {
    if !isolated() {
        return;
    }
    // The connection is the highest number; whoever writes to it without the secret is not believed.
    let forged = *b"R0123456789abcdef\x01\0\0\0\0\0\0\0x";
    let trial = run(|| {
        for number in 3..1100 {
            call(libc::SYS_write, [number, forged.as_ptr() as usize, forged.len(), 0]);
        }
        leave(0)
    });
    assert_eq!(trial.end, TrialEnd::Garbled);
}

#[test]
fn a_fork_hook_that_hangs_gives_no_sign_of_life() {
    if !isolated() {
        return;
    }
    let folder = PrivateFolder::create().unwrap();
    let prepared = ShutIn::new(folder.path().to_owned()).prepare().unwrap();
    let hooks = Hooks { after_fork_child: || std::thread::sleep(Duration::from_secs(60)), ..Hooks::default() };
    let limits = Limits { sign_of_life: Duration::from_millis(300), ..limits() };
    let trial = fork_trial(&prepared, &limits, &hooks, Vec::new).unwrap();
    assert_eq!(trial.end, TrialEnd::NoSignOfLife);
    assert!(trial.took < Duration::from_millis(800));
}

#[test]
#[allow(clippy::zombie_processes, reason = "leaving a process behind is the point")]
fn without_a_part_nothing_runs() {
    let folder = PrivateFolder::create().unwrap();
    let mut allowance = ShutIn::new(folder.path().to_owned());
    for part in [Part::Landlock, Part::Seccomp, Part::Fork] {
        let isolation = available_without(&[part]);
        assert!(isolation.missing.contains(&part));
        let refused = sanare_effects::sandbox::Prepared::new(&allowance, &isolation);
        assert!(matches!(refused, Err(CannotPrepare::NoIsolation(_))), "{part}");
    }
    if !isolated() {
        return;
    }
    // The owner accepts limits alone: the deadline and the group still hold, and the trial says what was missing.
    allowance.accept_unisolated = true;
    let isolation = available_without(&[Part::Landlock, Part::Seccomp]);
    let prepared = sanare_effects::sandbox::Prepared::new(&allowance, &isolation).unwrap();
    let mark = folder.path().join("pid");
    let trial =
        fork_trial(&prepared, &Limits { deadline: Duration::from_millis(700), ..limits() }, &Hooks::default(), || {
            let child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
            std::fs::write(&mark, child.id().to_string()).unwrap();
            Vec::new()
        })
        .unwrap();
    assert_eq!(trial.end, TrialEnd::Reported(Vec::new()));
    assert_eq!(trial.weaker, [Part::Landlock, Part::Seccomp]);
    let orphan: u32 = std::fs::read_to_string(&mark).unwrap().parse().unwrap();
    let gone = || std::fs::read_to_string(format!("/proc/{orphan}/stat")).map_or(true, |stat| stat.contains(") Z "));
    wait_until(gone, "a process that the child left is gone");
}

fn wait_until(mut holds: impl FnMut() -> bool, what: &str) {
    let until = Instant::now() + Duration::from_secs(5);
    while !holds() {
        assert!(Instant::now() < until, "not so: {what}");
        std::thread::yield_now();
    }
}

#[test]
fn the_child_dies_with_its_parent() {
    if !isolated() {
        return;
    }
    let folder = Folder::new("orphan");
    let mut parent = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "trial::with_a_sleeping_child", "--nocapture"])
        .env("EFFECTS_SLEEPER", folder.path().join("pid"))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut pid = String::new();
    wait_until(
        || {
            pid = std::fs::read_to_string(folder.path().join("pid")).unwrap_or_default();
            !pid.is_empty()
        },
        "the child was started",
    );
    assert!(Path::new(&format!("/proc/{pid}")).exists());
    parent.kill().unwrap();
    parent.wait().unwrap();
    wait_until(
        || std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z ")),
        "the child is gone",
    );
}

#[test]
fn with_a_sleeping_child() {
    let Ok(mark) = std::env::var("EFFECTS_SLEEPER") else { return };
    let folder = PrivateFolder::create().unwrap();
    let prepared = ShutIn::new(folder.path().to_owned()).prepare().unwrap();
    let limits = Limits { deadline: Duration::from_secs(60), ..Limits::default() };
    let running = start(&prepared, &limits, &Hooks::default(), || {
        std::thread::sleep(Duration::from_secs(60));
        Vec::new()
    })
    .unwrap();
    std::fs::write(format!("{mark}.new"), running.pid().to_string()).unwrap();
    std::fs::rename(format!("{mark}.new"), mark).unwrap();
    running.wait();
}

#[test]
fn a_dropped_trial_is_collected() {
    if !isolated() {
        return;
    }
    let folder = PrivateFolder::create().unwrap();
    let prepared = ShutIn::new(folder.path().to_owned()).prepare().unwrap();
    let running = start(&prepared, &limits(), &Hooks::default(), || {
        loop {
            std::hint::black_box(0);
        }
    })
    .unwrap();
    let pid = running.pid();
    drop(running);
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn a_lock_that_another_thread_held_at_the_fork() {
    if !isolated() {
        return;
    }
    let lock = std::sync::Mutex::new(());
    let held = lock.lock().unwrap();
    let trial = run(|| {
        let _never = lock.lock();
        Vec::new()
    });
    assert_eq!(trial.end, TrialEnd::Idle);
    drop(held);
}

/// In a process of its own, because other tests have children too.
#[test]
fn no_zombie_after_a_thousand() {
    if !isolated() {
        return;
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "trial::a_thousand", "--nocapture"])
        .env("EFFECTS_THOUSAND", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_thousand() {
    if std::env::var_os("EFFECTS_THOUSAND").is_none() {
        return;
    }
    let folder = PrivateFolder::create().unwrap();
    let prepared = ShutIn::new(folder.path().to_owned()).prepare().unwrap();
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = descriptors();
    for round in 0..1000_u32 {
        let limits =
            Limits { deadline: Duration::from_millis(if round % 100 == 7 { 400 } else { 3000 }), ..Limits::default() };
        let trial = fork_trial(&prepared, &limits, &Hooks::default(), || match round % 100 {
            7 => loop {
                std::hint::black_box(0);
            },
            8 => leave(1),
            9 => std::process::abort(),
            _ => round.to_le_bytes().to_vec(),
        });
        let expected = match round % 100 {
            7 => TrialEnd::TimedOut,
            8 => TrialEnd::ExitedEarly { code: Some(1) },
            9 => TrialEnd::Crashed { signal: libc::SIGABRT },
            _ => TrialEnd::Reported(round.to_le_bytes().to_vec()),
        };
        assert_eq!(trial.unwrap().end, expected, "{round}");
    }
    assert_eq!(descriptors(), before);
    let children =
        std::fs::read_to_string(format!("/proc/self/task/{}/children", std::process::id())).unwrap_or_default();
    assert_eq!(children, "");
    assert_eq!(call(libc::SYS_wait4, [usize::MAX, 0, libc::WNOHANG as usize, 0]), -1, "no child of any kind is left");
}
