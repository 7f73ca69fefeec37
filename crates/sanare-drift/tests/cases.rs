//! The drift corpus, the engine alone: right on old, new and held-out input, or refused. Slow: runs with `SANARE_SLOW=1`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::disallowed_methods, reason = "tests read the corpus")]

mod harness;

use std::path::{Path, PathBuf};

use harness::Case;

/// The corpus: `SANARE_CASES`, else `../shared/cases` next to the project.
fn corpus() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases");
    let folder = std::env::var_os("SANARE_CASES").map_or(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

#[test]
fn the_corpus_is_healed_or_refused_and_never_wrong() {
    if std::env::var_os("SANARE_SLOW").is_none() {
        eprintln!("skipped: slow, set SANARE_SLOW=1");
        return;
    }
    let Some(corpus) = corpus() else {
        eprintln!("skipped: no corpus beside the project");
        return;
    };
    let mut folders: Vec<PathBuf> = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| path.join("case.toml").is_file());
    folders.sort();
    let (mut bad, mut yes, mut yes_healed) = (Vec::new(), 0, 0);
    for folder in folders {
        let settings: toml::Table =
            toml::from_str(&std::fs::read_to_string(folder.join("case.toml")).unwrap()).unwrap();
        let setting = |name: &str| settings[name].as_str().unwrap_or_default().to_owned();
        let verdict = Case::open(&folder).verdict(&folder);
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        eprintln!("{name}: {verdict}");
        if setting("expected") == "healed" && setting("offline_solvable") == "yes" {
            yes += 1;
            yes_healed += usize::from(verdict == "healed");
        }
        let refused_well = setting("expected") == "refused" && !verdict.starts_with("refused");
        if verdict.starts_with("WRONG") || refused_well {
            bad.push(format!("{name}: {verdict}"));
        }
    }
    eprintln!("{yes_healed} of {yes} that rules alone can solve");
    assert!(bad.is_empty(), "{bad:#?}");
    assert!(yes_healed * 10 >= yes * 9, "{yes_healed} of {yes}");
}
