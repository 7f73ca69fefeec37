//! The loop of service healing: scenarios with scripted ports, and properties over random scripts and crashes.

mod agents;
mod approvals;
mod broken;
mod checks;
mod crash;
mod each_step;
mod handover;
mod hooked;
mod injection;
mod invariants;
mod jobs;
mod limits;
mod modes;
mod properties;
mod stop;
mod theatre;
mod together;
mod transcript;
mod words;

use std::path::{Path, PathBuf};

use sanare_store::{Memory, Sqlite};

use theatre::{Script, play};

/// Scenarios of the loop, and those that users of other healers have reported (S154, S155).
const FOLDERS: [&str; 2] = ["service", "field"];

fn scripts() -> Vec<(PathBuf, String, Script)> {
    let folder = |name: &&str| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
    let found = FOLDERS.iter().flat_map(|name| std::fs::read_dir(folder(name)).unwrap());
    let mut paths: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        // What detection tells, or does not, is played by the whole healer.
        if !text.contains("```toml\n") && text.contains("```profiles\n") {
            return None;
        }
        let script = toml::from_str(super::block(&text, "toml")).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        Some((path, text, script))
    };
    paths.into_iter().filter_map(read).collect()
}

/// The same transcripts on disk, after which the file is opened again and still verifies.
#[test]
fn every_service_scenario_is_the_same_on_disk() {
    std::panic::set_hook(Box::new(|_| {}));
    for (path, text, script) in scripts() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("store.db");
        let got = play(&script, Box::new(Sqlite::open(&place).unwrap()));
        assert_eq!(got, super::block(&text, "text").trim(), "{}", path.display());
        use sanare_core::service::ServiceStore as _;
        let again = Sqlite::open_existing(&place).unwrap().unwrap();
        assert!(again.verify_chain().unwrap().is_ok(), "{}", path.display());
    }
}

#[test]
fn every_service_scenario_gives_its_transcript() {
    let mut wrong = Vec::new();
    let scripts = scripts();
    for (path, text, script) in &scripts {
        let expected = super::block(text, "text").trim().to_owned();
        let got = play(script, Box::new(Memory::new()));
        if got != expected {
            if std::env::var_os("SANARE_UPDATE").is_some() {
                std::fs::write(path, text.replace(super::block(text, "text"), &format!("{got}\n"))).unwrap();
            }
            wrong.push(format!("{}:\nexpected\n{expected}\n\ngot\n{got}\n", path.display()));
        }
    }
    let field = |name: &str| scripts.iter().filter(|(path, ..)| path.to_string_lossy().contains(name)).count();
    assert!(scripts.len() >= 75, "only {} scenarios", scripts.len());
    assert_eq!((field("field/acting-"), field("field/waiting-")), (8, 14));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
