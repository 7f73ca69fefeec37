//! Programs under a bound.

use std::path::Path;
use std::time::{Duration, Instant};

use sanare_effects::task::{CannotStart, Done, Task, TaskEnd, run};

use crate::folder::Folder;

fn task(folder: &Path, program: &str, arguments: &[&str]) -> Task {
    Task {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        folder: folder.to_owned(),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        input: Vec::new(),
        deadline: Duration::from_secs(5),
        output: 4096,
    }
}

/// Runs a line of shell and shows how it ended and what it printed.
fn check(line: &str, input: &[u8], expected: &str) {
    let folder = Folder::new("task");
    let Done { end, output, errors, .. } =
        run(&Task { input: input.to_vec(), ..task(folder.path(), "sh", &["-c", line]) }).unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    assert_eq!(format!("{end:?} {}{}", text(output), text(errors)).trim(), expected, "{line}");
}

#[test]
fn ends_and_output() {
    check("echo out; echo err >&2", b"", "Exited(0) out\nerr");
    check("exit 3", b"", "Exited(3)");
    check("kill -9 $$", b"", "Killed(9)");
    check("cat", b"given", "Exited(0) given");
    check("exit 0", &vec![b'x'; 1 << 20], "Exited(0)");
    check("cat | wc -c", &vec![b'x'; 1 << 20], "Exited(0) 1048576");
    check("env | grep -v PWD | grep -v SHLVL | grep -v _=", b"", "Exited(0) PATH=/usr/bin:/bin");
}

#[test]
fn the_last_bytes_are_kept() {
    let folder = Folder::new("tail");
    let done = run(&task(folder.path(), "sh", &["-c", "yes | head -c 300000000; echo; echo end"])).unwrap();
    assert_eq!((done.end, done.output.len()), (TaskEnd::Exited(0), 4096));
    assert!(done.output.ends_with(b"\nend\n"));
}

#[test]
fn what_cannot_start_is_no_verdict() {
    let folder = Folder::new("start");
    let file = folder.file("script", b"#!/bin/sh\n");
    let start = |program: &str, at: &Path| run(&task(at, program, &[])).unwrap_err();
    assert!(matches!(start("no-such-tool", folder.path()), CannotStart::Missing(_)));
    assert!(matches!(start("true", &folder.path().join("none")), CannotStart::Missing(_)));
    assert!(matches!(start(file.to_str().unwrap(), folder.path()), CannotStart::NotPermitted(_)));
}

#[test]
fn the_whole_group_ends() {
    let folder = Folder::new("group");
    let gone = |name: &str| {
        let pid = std::fs::read_to_string(folder.path().join(name)).unwrap();
        let until = Instant::now() + Duration::from_secs(5);
        let stat = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        while stat().is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(Instant::now() < until, "{name} lives on");
            std::thread::yield_now();
        }
    };
    let late = Task {
        deadline: Duration::from_millis(300),
        ..task(folder.path(), "sh", &["-c", "sleep 60 & echo $! > late; wait"])
    };
    let began = Instant::now();
    assert_eq!(run(&late).unwrap().end, TaskEnd::TimedOut);
    assert!(began.elapsed() < Duration::from_secs(3));
    gone("late");
    // A child that outlives a normal end holds the pipes open and is not waited for.
    let began = Instant::now();
    assert_eq!(run(&task(folder.path(), "sh", &["-c", "sleep 60 & echo $! > early"])).unwrap().end, TaskEnd::Exited(0));
    assert!(began.elapsed() < Duration::from_secs(3));
    gone("early");
}
