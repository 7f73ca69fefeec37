//! Small real programs, and what is believed of them.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sanare_core::id::Id;
use sanare_core::service::Action;
use sanare_core::service::declaration::{Undo, Written};
use sanare_core::service::port::{Acted, Adapter as _, Availability, Intent};
use sanare_core::service::target::{Identity, Mark};
use sanare_core::service::word::Effect;

use super::{Command, Settings};
use crate::service::twin::{ProbeTwin, declared, intent, receipt};
use crate::trial::PrivateFolder;

fn shell(script: &str) -> Settings {
    let argv = ["/bin/sh", "-c", script, "sh", "{application}", "{component}", "{receipt}"];
    Settings { argv: argv.iter().map(|word| (*word).to_owned()).collect(), ..Settings::default() }
}

fn started() -> Intent {
    intent(&receipt(Action::RestartComponent, Identity::default(), Identity::default()))
}

fn run(settings: Settings) -> Acted {
    let declaration = declared(Action::RestartComponent, Written::default());
    Command::new(settings, declaration, None).expect("a command").act(&started())
}

#[test]
fn exit_codes_are_what_is_believed() {
    for (script, effect) in [
        ("exit 0", Effect::Done),
        ("exit 75", Effect::NotStarted),
        ("exit 1", Effect::Unknown),
        ("exit 76", Effect::Unknown),
        ("kill -9 $$", Effect::Unknown),
        ("exec 1>&- 2>&-; exit 0", Effect::Done),
    ] {
        assert_eq!(run(shell(script)).effect, effect, "{script}");
    }
    assert_eq!(run(Settings { clean_failures: true, ..shell("exit 1") }).effect, Effect::Refused);
    assert_eq!(run(Settings { clean_failures: true, ..shell("kill -9 $$") }).effect, Effect::Unknown);
    let gone = Settings { argv: vec!["/no/such/program".to_owned()], ..Settings::default() };
    assert_eq!(run(gone).effect, Effect::NotStarted);
}

#[test]
fn it_is_told_its_intent_and_no_more_of_our_environment() {
    let folder = PrivateFolder::create().expect("a folder");
    let file = folder.path().join("told");
    let line = r#"echo "$1|$2|$3|$SANARE_KEY|$SANARE_FENCE|$SANARE_PURPOSE|$HOME|$CARGO_MANIFEST_DIR""#;
    let script = format!("cat > '{}'; {line}", file.display());
    let line = run(shell(&script)).output.to_string();
    let told: Intent = serde_json::from_slice(&fs::read(&file).expect("a file")).expect("an intent");
    assert_eq!(told, started());
    let id = started().receipt_id;
    assert_eq!(line.trim(), format!("fraud|application|{id}|{}|7|act||", started().key));
    let allowed = Settings { environment: vec!["CARGO_MANIFEST_DIR".to_owned()], ..shell(&script) };
    assert!(run(allowed).output.as_str().contains("sanare-effects"));
}

#[test]
fn no_value_is_read_by_a_shell_or_as_an_option() {
    let folder = PrivateFolder::create().expect("a folder");
    let program: PathBuf = folder.path().join("print");
    let mut file = fs::File::create(&program).expect("a file");
    file.write_all(b"#!/bin/sh\nfor one in \"$@\"; do printf '[%s]' \"$one\"; done\n").expect("written");
    drop(file);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).expect("a mode");
    let program = program.to_string_lossy().into_owned();
    let argv = |words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned());
        Settings { argv: [program.clone()].into_iter().chain(words).collect(), ..Settings::default() }
    };
    let said = run(argv(&["a b", "; rm -rf x", "$HOME", "line\nbreak", "-x", "{nothing}", "{application}"]));
    assert_eq!(said.output.as_str(), "[a b][; rm -rf x][$HOME][line\nbreak][-x][{nothing}][fraud]");
    // Names and ids that could be read otherwise cannot be made; an id that was not made by us is refused.
    let declaration = declared(Action::RestartComponent, Written::default());
    let command = Command::new(argv(&["{receipt}"]), declaration, None).expect("a command");
    for bad in ["-rf", "; rm", "rct_\nx", "", "rct 1"] {
        let intent = Intent { receipt_id: Id::from_text(bad), ..started() };
        assert_eq!(command.act(&intent).effect, Effect::NotStarted, "{bad:?}");
    }
}

#[test]
fn what_does_not_end_is_ended_with_all_its_children() {
    let folder = PrivateFolder::create().expect("a folder");
    let mark = folder.path().join("alive");
    for script in
        ["trap '' TERM INT; while :; do sleep 0.05; done", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done"]
    {
        let begun = Instant::now();
        assert_eq!(run(shell(script)).effect, Effect::Unknown, "{script}");
        assert!(begun.elapsed() < Duration::from_secs(6), "{script}");
    }
    let stays = format!("(sleep 1; : > '{}') & exit 0", mark.display());
    assert_eq!(run(shell(&stays)).effect, Effect::Done);
    std::thread::sleep(Duration::from_millis(1_500));
    assert!(!mark.exists(), "what it left behind was ended with it");
}

#[test]
fn much_output_is_cut_and_secrets_are_taken_out() {
    // Written in two halves, so that no scanner takes this file for one that holds a secret.
    let script = "printf 'AKIA'; printf 'Q3EGRIPWD7LJ4ZTC '; head -c 2000000 /dev/zero | tr '\\0' x";
    let acted = run(shell(script));
    assert_eq!(acted.effect, Effect::Done);
    assert!(acted.output.as_str().chars().count() <= 2_048);
    let acted = run(shell("printf 'key AKIA'; echo Q3EGRIPWD7LJ4ZTC"));
    assert!(!acted.output.as_str().contains("Q3EGRIPWD7LJ4ZTC"), "{}", acted.output);
}

#[test]
fn what_makes_no_sense_is_refused_at_load() {
    let field = |argv: &[&str], written: Written| {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        let declaration = declared(Action::RestartComponent, written);
        let made = Command::new(Settings { argv, ..Settings::default() }, declaration, None);
        made.err().map(|invalid| invalid.field).unwrap_or_default()
    };
    assert_eq!(field(&["/bin/true"], Written::default()), "");
    assert_eq!(field(&[], Written::default()), "argv");
    assert_eq!(field(&["true"], Written::default()), "argv");
    assert_eq!(field(&["./true"], Written::default()), "argv");
    assert_eq!(field(&["/bin/true", "--version={version}"], Written::default()), "argv");
    assert_eq!(field(&["/bin/{component}"], Written::default()), "argv");
    assert_eq!(field(&["/bin/true", "a\0b"], Written::default()), "argv");
    let reversible = Written { reversible: Some(true), undo: Some(Undo::PreviousRevision), ..Written::default() };
    assert_eq!(field(&["/bin/true"], reversible), "undo");
    let fenced =
        Written { fence: Some(vec![Mark::Instance]), identity_probe: Some("score".to_owned()), ..Written::default() };
    assert_eq!(field(&["/bin/true"], fenced), "fence");
}

#[test]
fn a_fence_stops_what_is_about_another_target() {
    let written =
        Written { fence: Some(vec![Mark::Instance]), identity_probe: Some("score".to_owned()), ..Written::default() };
    let act = |now: &'static str, before: &str| {
        let probe = Arc::new(ProbeTwin(move || Identity::default().with(Mark::Instance, now)));
        let declaration = declared(Action::RestartComponent, written.clone());
        let command = Command::new(shell("exit 0"), declaration, Some(probe)).expect("a command");
        let before = Identity::default().with(Mark::Instance, before);
        command.act(&intent(&receipt(Action::RestartComponent, before, Identity::default()))).effect
    };
    assert_eq!(act("a", "a"), Effect::Done);
    assert_eq!(act("b", "a"), Effect::Refused);
    assert_eq!(act("", "a"), Effect::NotStarted, "who is there cannot be read");
}

#[test]
fn it_is_available_while_its_program_can_be_run() {
    let available = |program: &str| {
        let settings = Settings { argv: vec![program.to_owned()], ..Settings::default() };
        let declaration = declared(Action::RestartComponent, Written::default());
        Command::new(settings, declaration, None).expect("a command").available()
    };
    assert_eq!(available("/bin/sh"), Availability::Available);
    assert!(matches!(available("/no/such/program"), Availability::Unavailable(_)));
    assert!(matches!(available("/etc"), Availability::Unavailable(_)));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 100, failure_persistence: None, ..Default::default() })]

    /// Whatever a version, a component or an application is called: each is the one whole argument that its placeholder is,
    /// and nothing else of the command moves (S79, S81).
    #[test]
    fn no_name_is_more_than_its_argument(version in "[A-Za-z0-9][A-Za-z0-9._:+/@-]{0,40}|\\PC{1,40}", component in "[a-z0-9._-]{1,30}") {
        use sanare_core::service::{Component, Params, Version};
        let from = Version::parse("42").expect("a version");
        let version = Version::parse(version).unwrap_or_else(|_| from.clone());
        let script = "for one in \"$@\"; do printf '[%s]' \"$one\"; done";
        let argv = ["/bin/sh", "-c", script, "sh", "--to", "{version}", "{component}", "last"];
        let settings = Settings { argv: argv.iter().map(|word| (*word).to_owned()).collect(), ..Settings::default() };
        let command = Command::new(settings, declared(Action::RollbackModel, Written::default()), None).expect("a command");
        let mut intent = started();
        intent.params = Params::Rollback { from_version: from, to_version: version.clone() };
        intent.component = Component::parse(component).unwrap_or(intent.component);
        let acted = command.act(&intent);
        let said = acted.output.to_string();
        let wanted = format!("[--to][{version}][{}][last]", intent.component);
        proptest::prop_assert!(acted.effect == Effect::Done && said == wanted, "{}: {}", acted.effect, said);
    }
}
