//! An apply that is cut short: the file is the old or the new text to the byte, and recovery leaves nothing behind.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use sanare_effects::apply::Step;

use crate::folder::{Folder, skip};
use crate::once;

/// Runs as a process of its own, see [`child`].
#[test]
fn in_child() {
    let Ok(arguments) = std::env::var("EFFECTS_ONCE") else { return };
    let arguments: Vec<&str> = arguments.split('\n').collect();
    once::run(&arguments, std::env::var("EFFECTS_KILL_AT").ok().as_deref()).unwrap();
}

fn child(verb: &str, file: &Path, kill_at: Option<Step>) -> std::process::ExitStatus {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "crash::in_child", "--nocapture"])
        .env("EFFECTS_ONCE", format!("{verb}\n{}", file.display()));
    if let Some(step) = kill_at {
        command.env("EFFECTS_KILL_AT", format!("{step:?}"));
    }
    command.output().unwrap().status
}

#[test]
fn killed_at_every_step() {
    let mut killed = 0;
    for round in 0..20 {
        for step in Step::ALL {
            let folder = Folder::new("kill");
            let old = format!("def f{round}():\r\n\treturn {}\r\n", "x".repeat(round * 1000));
            let file = folder.file("m.py", old.as_bytes());
            folder.file("m.old", old.as_bytes());
            let status = child("apply", &file, Some(step));
            assert_eq!(status.signal(), Some(libc::SIGKILL), "{step:?}");
            killed += 1;
            let found = std::fs::read(&file).unwrap();
            let swapped =
                Step::ALL.iter().position(|s| *s == step) >= Step::ALL.iter().position(|s| *s == Step::Swapped);
            assert_eq!(found, if swapped { once::repaired(old.as_bytes()) } else { old.into_bytes() }, "{step:?}");
            once::run(&["recover", file.to_str().unwrap()], None).unwrap();
            once::run(&["check", file.to_str().unwrap()], None).unwrap();
            once::run(&["recover", file.to_str().unwrap()], None).unwrap();
            once::run(&["check", file.to_str().unwrap()], None).unwrap();
        }
    }
    assert_eq!(killed, 220);
}

/// The house's own script: kills before each system call, lets each fail, builds the states of a power cut.
#[test]
fn each_system_call() {
    let Some(script) = shared("security/faults/crash_steps.py") else { return skip("no ../shared/security/faults") };
    if Command::new("strace").arg("-V").output().is_err() || Command::new("python3").arg("-V").output().is_err() {
        return skip("strace or python3 is not installed");
    }
    let Some(program) = example("apply_once") else { return skip("the example apply_once is not built") };
    let seed = Folder::new("seed");
    let old = b"def f():\r\n\treturn '\xE9'\r\n";
    seed.file("m.py", old);
    seed.file("m.old", old);
    let program = program.display();
    let (recover, check) = (format!("{program} recover {{dir}}/m.py"), format!("{program} check {{dir}}/m.py"));
    let run = |mode: &[&str], seed: &Folder, verb: &str| {
        let output = Command::new("python3")
            .arg(&script)
            .args(mode)
            .args(["--seed", seed.path().to_str().unwrap(), "--recover", &recover, "--check", &check, "--"])
            .args([&program.to_string(), verb, "{dir}/m.py"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains(" 0 bad states"), "{mode:?}: {text}");
        eprintln!("{verb} {mode:?}: {}", text.trim());
        text.split(|c: char| !c.is_ascii_digit()).find_map(|word| word.parse::<usize>().ok()).unwrap_or_default()
    };
    for mode in [
        &["kill"][..],
        &["error", "--errno", "ENOSPC"],
        &["error", "--errno", "EIO"],
        &["error", "--errno", "EROFS"],
        &["power"],
    ] {
        assert!(run(mode, &seed, "apply") >= 12, "{mode:?}");
    }
    // Recovery is cut short as well, from a folder that holds an unfinished apply.
    for step in [Step::Written, Step::Ready, Step::Swapped] {
        let seed = Folder::new("seed");
        seed.file("m.old", old);
        child("apply", &seed.file("m.py", old), Some(step));
        assert!(run(&["kill"], &seed, "recover") >= 2, "{step:?}");
    }
}

fn shared(below: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
    let path = std::env::var_os("SANARE_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from).join(below);
    path.canonicalize().ok()
}

pub fn example(name: &str) -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.parent()?.parent()?.join("examples").join(name);
    path.exists().then_some(path)
}
