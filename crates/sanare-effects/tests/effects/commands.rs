//! An owner's command behind its fences, and the copy of the work tree that it runs in.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sanare_effects::sandbox::{Prepared, ShutIn, available, usual_reads};
use sanare_effects::task::{CannotStart, Task, TaskEnd, run_shut_in};
use sanare_effects::work_tree::{CannotCopy, WorkCopy};

use crate::folder::{Folder, skip};

fn fences(write: &Path, network: bool) -> Option<Arc<Prepared>> {
    let isolation = available();
    if !isolation.missing.is_empty() {
        skip(&format!("no isolation here: {:?}", isolation.missing));
        return None;
    }
    let mut allowance = ShutIn::new(write.to_owned());
    allowance.read = usual_reads();
    allowance.read.extend(["/usr", "/bin", "/etc", "/proc"].map(PathBuf::from));
    allowance.memory = u64::MAX;
    Some(Arc::new(Prepared::for_commands(&allowance, &isolation, network).unwrap()))
}

fn shell(folder: &Path, line: &str) -> Task {
    Task {
        program: "sh".into(),
        arguments: vec!["-c".into(), line.into()],
        folder: folder.to_owned(),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        input: Vec::new(),
        deadline: Duration::from_secs(10),
        output: 4096,
    }
}

/// Runs a line of shell shut in; its end and what it printed.
fn check(line: &str, expected: &str) {
    let (inside, outside) = (Folder::new("inside"), Folder::new("outside"));
    outside.file("secret", b"secret");
    let Some(fences) = fences(inside.path(), false) else { return };
    let line = line.replace("OUTSIDE", outside.path().to_str().unwrap());
    let done = run_shut_in(&shell(inside.path(), &line), Some(&fences)).unwrap();
    let output = String::from_utf8(done.output).unwrap();
    assert_eq!(format!("{:?} {}", done.end, output.trim()), expected, "{line}: {:?}", String::from_utf8(done.errors));
    assert_eq!(outside.names(), ["secret"], "{line}");
}

#[test]
fn programs_run_and_write_only_inside() {
    check("echo one > file; ls; cat file", "Exited(0) file\none");
    check("(echo child) | cat", "Exited(0) child");
    check("cat OUTSIDE/secret 2>/dev/null || echo no", "Exited(0) no");
    check("echo x > OUTSIDE/new 2>/dev/null || echo no", "Exited(0) no");
    check("rm -f OUTSIDE/secret 2>/dev/null || echo no", "Exited(0) no");
    check("printf '#!/bin/sh\\necho own\\n' > own; chmod +x own; ./own", "Exited(0) own");
    check("cat /proc/1/environ > /dev/null 2>&1 || echo no", "Exited(0) no");
}

/// No group of one's own: whatever a command starts ends with it.
#[test]
fn nothing_outlives_the_group() {
    let inside = Folder::new("setsid");
    let Some(fences) = fences(inside.path(), false) else { return };
    let line = "setsid sleep 60 2>/dev/null & echo $! > pid; wait; echo refused";
    let done = run_shut_in(&shell(inside.path(), line), Some(&fences)).unwrap();
    assert_eq!(String::from_utf8(done.output).unwrap().trim(), "refused");
}

#[test]
fn sockets_only_with_network() {
    let line = "python3 -c 'import socket; socket.socket()' 2>/dev/null && echo yes || echo no";
    for (network, expected) in [(false, "no"), (true, "yes")] {
        let inside = Folder::new("sockets");
        let Some(fences) = fences(inside.path(), network) else { return };
        let done =
            run_shut_in(&shell(inside.path(), &format!("test -x /usr/bin/python3 || exit 7; {line}")), Some(&fences));
        let done = done.unwrap();
        if done.end == TaskEnd::Exited(7) {
            skip("no /usr/bin/python3 here");
            return;
        }
        assert_eq!(String::from_utf8(done.output).unwrap().trim(), expected);
    }
}

#[test]
fn a_program_that_may_not_be_read_cannot_start() {
    let (inside, outside) = (Folder::new("start"), Folder::new("tool"));
    let Some(fences) = fences(inside.path(), false) else { return };
    let tool = outside.file("tool", b"#!/bin/sh\necho ran\n");
    std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let task = Task { program: tool.into(), arguments: Vec::new(), ..shell(inside.path(), "") };
    assert!(matches!(run_shut_in(&task, Some(&fences)), Err(CannotStart::NotPermitted(_))));
}

#[test]
fn what_tools_leave_behind_is_not_copied() {
    let tree = Folder::new("tree");
    for folder in ["src/inner", "node_modules/x", "__pycache__", "env"] {
        std::fs::create_dir_all(tree.path().join(folder)).unwrap();
    }
    tree.file("src/inner/a.py", b"a");
    tree.file("node_modules/x/b.js", b"b");
    tree.file("env/pyvenv.cfg", b"");
    tree.file("env/c.py", b"c");
    std::os::unix::fs::symlink("src/inner/a.py", tree.path().join("link")).unwrap();
    let copy = WorkCopy::make(tree.path(), &[], 1 << 20).unwrap();
    let root = copy.folder().to_owned();
    assert!(copy.tree().join("src/inner/a.py").is_file() && copy.home().is_dir() && copy.temporary().is_dir());
    assert!(copy.tree().join("link").symlink_metadata().unwrap().is_symlink());
    for left in ["node_modules", "__pycache__", "env"] {
        assert!(!copy.tree().join(left).exists(), "{left}");
    }
    drop(copy);
    assert!(!root.exists());
}

#[test]
fn a_copy_is_bounded() {
    let tree = Folder::new("large");
    tree.file("a", &vec![b'x'; 4096]);
    assert!(matches!(WorkCopy::make(tree.path(), &[], 4096), Err(CannotCopy::TooLarge(4096))));
    assert!(WorkCopy::make(tree.path(), &[], 8192).is_ok());
}
