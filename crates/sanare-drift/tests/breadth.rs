//! Small loaders of many styles, each kind of drift: healed or refused as the case says, and never wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::disallowed_methods, clippy::print_stderr, reason = "tests read their cases")]

mod harness;

use std::path::{Path, PathBuf};
use std::process::Command;

use harness::Case;

/// Writes the cases of `tests/breadth/*.txt` into folders. `FILE=name` takes one file, `ONLY=name` one case.
fn unpacked(out: &Path) -> Vec<PathBuf> {
    let texts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/breadth");
    let mut command = Command::new(harness::python());
    command.arg(texts.join("unpack.py")).arg(out);
    if let Some(file) = std::env::var_os("FILE") {
        command.arg(texts.join(file).with_extension("txt"));
    }
    let done = command.output().expect("python runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut folders: Vec<PathBuf> = std::fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    if let Some(only) = std::env::var_os("ONLY") {
        folders.retain(|folder| folder.file_name() == Some(&only));
    }
    folders
}

#[test]
fn many_styles_are_healed_or_refused_as_they_should_be() {
    if !harness::has_libraries() {
        return;
    }
    let out = tempfile::tempdir().unwrap();
    let (mut bad, mut healed, mut to_heal) = (Vec::new(), 0, 0);
    let folders = unpacked(out.path());
    for folder in &folders {
        let settings: toml::Table =
            toml::from_str(&std::fs::read_to_string(folder.join("case.toml")).unwrap()).unwrap();
        let setting = |name: &str| settings[name].as_str().unwrap_or_default();
        let verdict = Case::open(folder).verdict(folder);
        let name = setting("id");
        let (must_refuse, may_refuse) = (setting("expected") == "refused", setting("offline_solvable") == "maybe");
        to_heal += usize::from(!must_refuse && !may_refuse);
        healed += usize::from(!must_refuse && !may_refuse && verdict == "healed");
        let good = match (verdict.split([' ', ':']).next().unwrap_or_default(), must_refuse) {
            ("healed", false) => true,
            ("refused", false) => may_refuse,
            ("refused", true) => true,
            _ => false,
        };
        eprintln!("{} {}/{name}: {verdict}", if good { "  " } else { "! " }, setting("kind"));
        if !good {
            bad.push(format!("{name}: {verdict}"));
        }
    }
    eprintln!("{healed} of {to_heal} healed, {} cases", folders.len());
    assert!(bad.is_empty(), "{bad:#?}");
}
