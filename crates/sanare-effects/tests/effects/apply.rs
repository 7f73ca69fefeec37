//! Replacing files: what is kept, what is refused, and who wins.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use sanare_core::hash::Digest;
use sanare_effects::apply::{ApplyError, Step, clean_up, restore, writable, write_atomically, write_watched};
use sanare_effects::source_file::SourceFile;

use crate::folder::{Folder, is_root, skip};

const OLD: &[u8] = b"\xEF\xBB\xBFs = '\xE2\x80\xA8'\r\n\tx = 1\x0c\r\n";
const NEW: &[u8] = b"\xEF\xBB\xBFs = '\xE2\x80\xA8'\r\n\tx = 2\x0c\r\n";

/// Applies and gives what happened as text: `done`, or the refusal with the folder's name left out.
fn outcome(path: &Path, before: &[u8]) -> String {
    match write_atomically(path, &Digest::of(before), NEW) {
        Ok(_) => "done".into(),
        Err(fault) => {
            fault.to_string().split('`').step_by(2).collect::<String>().trim().trim_end_matches(':').to_owned()
        }
    }
}

/// The file must be refused with this text, by `writable` too if so said, and stay as it is.
fn check_refused(folder: &Folder, path: &Path, expected: &str, known_before: bool) {
    let (before, names) = (std::fs::read(path).ok(), folder.names());
    assert_eq!(outcome(path, OLD), expected);
    assert_eq!(std::fs::read(path).ok(), before);
    assert_eq!(folder.names(), names);
    assert_eq!(writable(path).is_err(), known_before, "{expected}");
}

#[test]
fn bytes_mode_and_owner() {
    let folder = Folder::new("plain");
    let file = folder.file("m.py", OLD);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o4751)).unwrap();
    if is_root() {
        std::os::unix::fs::chown(&file, Some(1234), Some(4321)).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o4751)).unwrap();
    }
    let before = file.metadata().unwrap();
    assert_eq!(writable(&file), Ok(()));
    let applied = write_atomically(&file, &Digest::of(OLD), NEW).unwrap();
    assert_eq!((applied.before, applied.after), (Digest::of(OLD), Digest::of(NEW)));
    let after = file.metadata().unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), NEW);
    assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
    assert!(after.mtime() > before.mtime(), "a cache of the old text must not fit");
    assert_eq!(folder.names(), ["m.py"]);

    restore(&file, &Digest::of(NEW), OLD).unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), OLD);
    assert!(file.metadata().unwrap().mtime() > after.mtime());
    assert!(matches!(restore(&file, &Digest::of(NEW), OLD), Err(ApplyError::Changed { .. })));
}

#[test]
fn extended_attributes() {
    let folder = Folder::new("attributes");
    let file = folder.file("m.py", OLD);
    let set = "import os,sys; os.setxattr(sys.argv[1], 'user.origin', b'hand\\0written')";
    let get = "import os,sys; print(os.getxattr(sys.argv[1], 'user.origin'))";
    let python = |code: &str| Command::new("python3").args(["-c", code]).arg(&file).output();
    match python(set) {
        Ok(output) if output.status.success() => {}
        _ => return skip("no python3, or no user attributes on this file system"),
    }
    write_atomically(&file, &Digest::of(OLD), NEW).unwrap();
    assert_eq!(String::from_utf8_lossy(&python(get).unwrap().stdout).trim(), "b'hand\\x00written'");
}

#[test]
fn access_lists() {
    let folder = Folder::new("lists");
    let (plain, listed) = (folder.file("plain.py", OLD), folder.file("listed.py", OLD));
    let set = |arguments: &[&str], path: &Path| {
        Command::new("setfacl").args(arguments).arg(path).output().is_ok_and(|output| output.status.success())
    };
    if !set(&["-m", "u:65534:rw,g:65534:r"], &listed) || !set(&["-d", "-m", "u:1234:rwx"], folder.path()) {
        return skip("setfacl is not installed or not supported here");
    }
    let get = |path: &Path| {
        String::from_utf8(Command::new("getfacl").args(["-p", "-n"]).arg(path).output().unwrap().stdout).unwrap()
    };
    let before = (get(&plain), get(&listed));
    for file in [&plain, &listed] {
        write_atomically(file, &Digest::of(OLD), NEW).unwrap();
    }
    assert_eq!((get(&plain), get(&listed)), before);
}

#[test]
fn names_of_every_kind() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = Folder::new("names");
    let longest = [b"n".repeat(252).as_slice(), b".py"].concat();
    for name in [b"a b\n\xFF`$x'.py".as_slice(), "e\u{301}\u{e9}.py".as_bytes(), longest.as_slice(), b"-rf.py", b".py"]
    {
        let file = folder.path().join(std::ffi::OsStr::from_bytes(name));
        std::fs::write(&file, OLD).unwrap();
        write_atomically(&file, &Digest::of(OLD), NEW).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), NEW);
    }
}

/// Limits of the shell: too few descriptors, too small files. The old text stays, nothing is left.
#[test]
fn limits_of_the_process() {
    let folder = Folder::new("limits");
    let file = folder.file("m.py", OLD);
    let program = std::env::current_exe().unwrap();
    let with = |limits: &str| {
        let output = Command::new("sh")
            .args(["-c", &format!("{limits}; exec \"$0\" --exact apply::large_in_child --nocapture --test-threads=1")])
            .arg(&program)
            .env("EFFECTS_LARGE", &file)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.split(['<', '>']).nth(1).unwrap_or(&text).to_owned()
    };
    assert_eq!(with("trap '' XFSZ; ulimit -f 8"), "DiskFull");
    assert_eq!((std::fs::read(&file).unwrap().as_slice(), folder.names()), (OLD, vec!["m.py".to_owned()]));
    let outcomes: Vec<String> = (4..14)
        .map(|count| {
            std::fs::write(&file, OLD).unwrap();
            let outcome = with(&format!("ulimit -n {count}"));
            assert!(outcome == "done" || std::fs::read(&file).unwrap() == OLD, "{count} descriptors: {outcome}");
            assert_eq!(folder.names(), ["m.py"], "{count} descriptors: {outcome}");
            outcome
        })
        .collect();
    assert_eq!(
        (outcomes.first().unwrap() == "done", outcomes.last().unwrap() == "done"),
        (false, true),
        "{outcomes:?}"
    );
}

#[test]
fn large_in_child() {
    let Ok(file) = std::env::var("EFFECTS_LARGE") else { return };
    let old = std::fs::read(&file).unwrap();
    let outcome = match write_atomically(Path::new(&file), &Digest::of(&old), &b"# x\n".repeat(10_000)) {
        Ok(_) => "done".to_owned(),
        Err(fault) => format!("{fault:?}").split(['(', ' ']).next().unwrap().to_owned(),
    };
    println_raw(&outcome);
}

#[test]
fn one_of_many_wins() {
    let folder = Folder::new("many");
    for round in 0..20 {
        let file = folder.file("m.py", OLD);
        let wins: usize = std::thread::scope(|scope| {
            let all: Vec<_> = (0..16)
                .map(|n| {
                    let file = &file;
                    scope.spawn(move || write_atomically(file, &Digest::of(OLD), format!("x = {n}\n").as_bytes()))
                })
                .collect();
            all.into_iter().map(|one| one.join().unwrap()).filter(Result::is_ok).count()
        });
        assert_eq!(wins, 1, "round {round}");
        assert_eq!(folder.names(), ["m.py"]);
    }
}

#[test]
fn links() {
    let folder = Folder::new("links");
    std::fs::create_dir(folder.path().join("real")).unwrap();
    let real = folder.file("real/m.py", OLD);
    let link = folder.path().join("m.py");
    symlink("real/m.py", &link).unwrap();
    let applied = write_atomically(&link, &Digest::of(OLD), NEW).unwrap();
    assert_eq!(applied.path, real);
    assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("real/m.py"));
    assert_eq!(std::fs::read(&real).unwrap(), NEW);

    let hard = folder.file("hard.py", OLD);
    std::fs::hard_link(&hard, folder.path().join("other.py")).unwrap();
    check_refused(&folder, &hard, "is one of 2 names of the same file", true);
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = Folder::new("special");
    check_refused(&folder, &folder.path().join("none.py"), "there is no file at", true);
    check_refused(&folder, &folder.file("app.zip", b"PK").join("m.py"), "there is no file at", true);
    let sub = folder.path().join("sub.py");
    std::fs::create_dir(&sub).unwrap();
    check_refused(&folder, &sub, "not a regular file", true);
    let pipe = folder.path().join("pipe.py");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(writable(&pipe).is_err());
    assert_eq!(outcome(&pipe, OLD), "not a regular file");
    let _ = symlink("loop.py", folder.path().join("loop.py"));
    assert!(writable(&folder.path().join("loop.py")).is_err());
}

#[test]
fn read_only_file_and_folder() {
    let folder = Folder::new("readonly");
    let file = folder.file("m.py", OLD);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).unwrap();
    check_refused(&folder, &file, "the file is read-only", true);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
    check_refused(&folder, &file, "the folder is read-only", true);
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(outcome(&file, OLD), "done");
}

/// Runs as another user, see below.
#[test]
fn in_child() {
    let Ok(file) = std::env::var("EFFECTS_APPLY") else { return };
    println_raw(&outcome(Path::new(&file), OLD));
}

fn println_raw(text: &str) {
    std::io::Write::write_all(&mut std::io::stdout(), format!("<{text}>\n").as_bytes()).unwrap();
}

#[test]
fn another_users_file() {
    if !is_root() {
        return skip("needs root to become another user");
    }
    let folder = Folder::new("user");
    let file = folder.file("m.py", OLD);
    // The test program itself may lie where the other user cannot go.
    let program = folder.path().join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let as_nobody = || {
        let output = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&program)
            .args(["--exact", "apply::in_child", "--nocapture"])
            .env("EFFECTS_APPLY", &file)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.split(['<', '>']).nth(1).unwrap_or(&text).to_owned()
    };
    assert_eq!(as_nobody(), "the file is read-only");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(as_nobody(), "the folder is read-only");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(as_nobody(), "owner or group of the file cannot be kept");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o1777)).unwrap();
    assert_eq!(as_nobody(), "the folder is read-only", "a sticky folder keeps others from renaming");
    std::os::unix::fs::chown(&file, Some(65534), Some(65534)).unwrap();
    assert_eq!(as_nobody(), "done");
    assert_eq!(std::fs::read(&file).unwrap(), NEW);
}

/// Mounts something on a folder for the length of a test.
struct Mount(std::path::PathBuf);

impl Mount {
    fn new(arguments: &[&str], at: &Path) -> Option<Self> {
        let output = Command::new("mount").args(arguments).arg(at).output().ok()?;
        output.status.success().then(|| Self(at.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[test]
fn full_disk() {
    let folder = Folder::new("full");
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=68k", "tmpfs"], &disk) else {
        return skip("mounting needs root");
    };
    let file = folder.file("disk/m.py", OLD);
    let mut filler = 0;
    while std::fs::write(disk.join(format!("filler{filler}")), [0_u8; 4096]).is_ok() {
        filler += 1;
    }
    let _ = std::fs::remove_file(disk.join(format!("filler{filler}")));
    let large = [NEW, &[b'#'; 9000]].concat();
    for pages in 0..3 {
        let fault = write_atomically(&file, &Digest::of(OLD), &large).unwrap_err();
        assert!(matches!(fault, ApplyError::DiskFull(_)), "{pages} pages free: {fault}");
        assert_eq!(std::fs::read(&file).unwrap(), OLD);
        assert!(
            !std::fs::read_dir(&disk).unwrap().any(|entry| entry
                .unwrap()
                .file_name()
                .to_string_lossy()
                .starts_with(".sanare"))
        );
        std::fs::remove_file(disk.join(format!("filler{pages}"))).unwrap();
    }
    write_atomically(&file, &Digest::of(OLD), &large).unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), large);
}

#[test]
fn read_only_file_system_and_mounted_file() {
    let folder = Folder::new("mounts");
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "tmpfs"], &disk) else { return skip("mounting needs root") };
    let file = folder.file("disk/m.py", OLD);
    let outside = folder.file("outside.py", OLD);
    {
        let _bound = Mount::new(&["--bind", outside.to_str().unwrap()], &file).unwrap();
        assert_eq!(outcome(&file, OLD), "the file is a mount of its own");
    }
    assert_eq!(outcome(&file, OLD), "done");
    restore(&file, &Digest::of(NEW), OLD).unwrap();
    assert!(Command::new("mount").args(["-o", "remount,ro"]).arg(&disk).status().unwrap().success());
    assert_eq!(outcome(&file, OLD), "the file system is read-only");
    assert_eq!(std::fs::read(&file).unwrap(), OLD);
}

#[test]
fn immutable_file() {
    let folder = Folder::new("immutable");
    let file = folder.file("m.py", OLD);
    let mark =
        |sign: &str| Command::new("chattr").arg(sign).arg(&file).output().is_ok_and(|output| output.status.success());
    if !mark("+i") {
        return skip("this user or file system has no immutable files");
    }
    let found = outcome(&file, OLD);
    assert!(mark("-i"));
    assert_eq!(found, "the file is marked immutable");
}

#[test]
fn changed_before_and_while() {
    let folder = Folder::new("changed");
    let edit = b"edited = True\n";
    let file = folder.file("m.py", edit);
    assert_eq!(
        outcome(&file, OLD),
        "changed meanwhile: expected 8d9dc2e1c5cd, found 5bd9dbd3ee64"
            .replace("8d9dc2e1c5cd", Digest::of(OLD).short())
            .replace("5bd9dbd3ee64", Digest::of(edit).short())
    );

    // An editor saves at each step, in place or by renaming: its text must be what stays.
    for by_rename in [false, true] {
        for step in [Step::Checked, Step::Written, Step::Synced, Step::Ready] {
            std::fs::write(&file, OLD).unwrap();
            let fault = write_watched(&file, &Digest::of(OLD), NEW, &mut |now| {
                if now == step {
                    save(&file, edit, by_rename);
                }
            });
            assert!(matches!(fault, Err(ApplyError::Changed { .. })), "{step:?}");
            assert_eq!(std::fs::read(&file).unwrap(), edit, "{step:?}");
            assert_eq!(folder.names(), ["m.py"]);
        }
        std::fs::write(&file, OLD).unwrap();
        let fault = write_watched(&file, &Digest::of(OLD), NEW, &mut |now| {
            if now == Step::Swapped {
                save(&file, edit, by_rename);
            }
        });
        assert!(fault.unwrap_err().left_new());
        assert_eq!(std::fs::read(&file).unwrap(), edit);
        assert_eq!(folder.names(), ["m.py"]);
    }
}

fn save(file: &Path, text: &[u8], by_rename: bool) {
    let name = if by_rename { file.with_extension("editor") } else { file.to_owned() };
    std::fs::write(&name, text).unwrap();
    std::fs::rename(&name, file).unwrap();
}

#[test]
fn only_files_of_dead_writers_are_removed() {
    let folder = Folder::new("leftovers");
    let gone = Command::new("true").spawn().map(|mut child| (child.id(), child.wait())).unwrap().0;
    let here = sanare_effects::process::ProcessMark::current().to_string();
    let parts: Vec<&str> = here.split('-').collect();
    let dead = format!("{}-{}-{gone}-7", parts[0], parts[1]);
    let (before, after) = (Digest::of(OLD), Digest::of(NEW));
    let ready = |count: u32| format!(".sanare-x-{dead}-{count}.{}.{}.tmp", before.short(), after.short());
    folder.file(&format!(".sanare-w-{dead}-0.tmp"), b"half a te");
    folder.file(&ready(1), OLD);
    folder.file(&ready(2), NEW);
    folder.file(&ready(3), b"an edit that a crash caught between two swaps");
    folder.file(".sanare-w-notes.tmp", b"somebody else's");
    folder.file("sanare-w-1.tmp", b"somebody else's");
    let cleaned = clean_up(folder.path()).unwrap();
    assert_eq!((cleaned.removed.len(), cleaned.kept.len()), (3, 1));
    assert_eq!(folder.names().len(), 3, "{:?}", folder.names());
    assert_eq!(clean_up(folder.path()).unwrap().removed.len(), 0);
}

/// Runs as a process of its own: counts up its own line of a shared file.
#[test]
fn count_in_child() {
    let Ok(task) = std::env::var("EFFECTS_COUNT") else { return };
    let (file, name) = task.split_once('\n').unwrap();
    for round in 1..=25 {
        while !bump(Path::new(file), name, round) {}
    }
}

fn bump(file: &Path, name: &str, round: u32) -> bool {
    let source = SourceFile::read(file).unwrap();
    let old = format!("{name} = {}\n", round - 1);
    let start = source.text_lf().find(&old).unwrap();
    let new = source.replace(start, start + old.len(), &format!("{name} = {round}\n")).unwrap();
    match write_atomically(file, source.digest(), &new) {
        Ok(_) => true,
        Err(ApplyError::Changed { .. }) => false,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn writers_of_one_file_lose_nothing() {
    let folder = Folder::new("count");
    let names = ["a", "b", "c", "d"];
    let file = folder.file("m.py", names.map(|name| format!("{name} = 0\r\n")).concat().as_bytes());
    let children = names.map(|name| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "apply::count_in_child", "--nocapture"])
            .env("EFFECTS_COUNT", format!("{}\n{name}", file.display()))
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    });
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let wanted = names.map(|name| format!("{name} = 25\r\n")).concat();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), wanted);
    assert_eq!(folder.names(), ["m.py"]);
}

/// A cache of the old text is not run, even if size and second are equal, in any Python there is.
#[test]
fn compiled_caches() {
    let folder = Folder::new("cache");
    let mut tried = 0;
    for (python, mode) in ["python3", "python3.10", "python3.12", "python3.13"]
        .into_iter()
        .flat_map(|p| [(p, "timestamp"), (p, "unchecked-hash")])
    {
        let name = format!("m{tried}");
        let file = folder.file(&format!("{name}.py"), b"print(111)\n");
        let compile = format!(
            "import py_compile; py_compile.compile('{name}.py', invalidation_mode=py_compile.PycInvalidationMode.{})",
            mode.replace('-', "_").to_uppercase()
        );
        let run = |code: &str| Command::new(python).args(["-B", "-c", code]).current_dir(folder.path()).output();
        if !run(&compile).is_ok_and(|output| output.status.success()) {
            continue;
        }
        let import = format!("import {name}");
        assert_eq!(run(&import).unwrap().stdout, b"111\n");
        for text in ["222", "333", "111"] {
            let old = std::fs::read(&file).unwrap();
            let applied = write_atomically(&file, &Digest::of(&old), format!("print({text})\n").as_bytes()).unwrap();
            assert!(applied.stale_bytecode.is_empty());
            assert_eq!(String::from_utf8(run(&import).unwrap().stdout).unwrap().trim(), text, "{python} {mode}");
        }
        tried += 1;
    }
    if tried == 0 {
        skip("no python3");
    }
}
