//! How a job is named and followed: by an address, by a program, and among the runs of a workflow.

use std::io::Write as _;
use std::sync::{Arc, Mutex};

use sanare_core::service::declaration::{Undo, Written};
use sanare_core::service::job::{Following, JobState};
use sanare_core::service::port::Adapter;
use sanare_core::service::receipt::{Receipt, WorldState};
use sanare_core::service::target::Identity;
use sanare_core::service::word::Effect;
use sanare_core::service::{Action, Text, Version};
use serde_json::json;

use super::{Cancel, Job, Way};
use crate::service::command;
use crate::service::http::{Http, Settings};
use crate::service::twin::{Say, Twin, declared, intent, nobody, ok, receipt, undo_of};
use crate::trial::PrivateFolder;

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|word| (*word).to_owned()).collect()
}

fn job(way: Way) -> Job {
    let following = Following { every: 30_000_000, within: 86_400_000_000 };
    Job { way, following, done: words(&["succeeded"]), failed: words(&["failed", "rejected: worse"]), cancel: None }
}

fn asked(twin: &Twin, reference: Option<&str>) -> Job {
    job(Way::Asked {
        reference: reference.map(str::to_owned),
        endpoint: twin.at("/runs/"),
        after: "/status?full=1".to_owned(),
        pointer: "/status".to_owned(),
        candidate: Some("/model/version".to_owned()),
    })
}

fn retraining() -> Receipt {
    receipt(Action::RequestRetraining, Identity::default(), Identity::default())
}

fn http(settings: Settings) -> Http {
    Http::new(settings, declared(Action::RequestRetraining, Written::default()), None).expect("an adapter")
}

/// What an act gives back, of a target that answers so.
fn begun(say: Say, reference: Option<&str>) -> (Effect, Option<String>) {
    let twin = Twin::new(move |_| say.clone());
    let adapter = http(Settings { job: Some(asked(&twin, reference)), ..Settings::post(twin.at("/train")) });
    let acted = adapter.act(&intent(&retraining()));
    assert_eq!(twin.seen().len(), 1);
    (acted.effect, acted.reference.map(|name| name.to_string()))
}

#[test]
fn an_answer_names_the_job_or_nobody_knows() {
    let named = |name: &str| (Effect::Done, Some(name.to_owned()));
    assert_eq!(begun(Say::Status(202, r#"{"run": {"id": "run-17"}}"#.to_owned()), Some("/run/id")), named("run-17"));
    assert_eq!(begun(ok(r#"{"run": {"id": 17}}"#), Some("/run/id")), named("17"));
    let location = "location: https://ci.internal/api/runs/a1b2/?x=1";
    assert_eq!(begun(Say::With(201, location, String::new()), None), named("a1b2"));
    for unnamed in ["{}", "", "<html>", r#"{"run": {"id": null}}"#, r#"{"run": {"id": ["a"]}}"#] {
        assert_eq!(begun(ok(unnamed), Some("/run/id")), (Effect::Unknown, None), "{unnamed}");
    }
    // What stands in an address is a name and no path of somebody else's.
    for odd in ["../../admin", "a b", "a/b", "-rf", "", "..", "a\\nb", "é"] {
        let body = format!(r#"{{"run": {{"id": "{odd}"}}}}"#);
        assert_eq!(begun(ok(&body), Some("/run/id")), (Effect::Unknown, None), "{odd}");
    }
    assert_eq!(begun(ok(""), None), (Effect::Unknown, None), "no location");
    assert_eq!(begun(Say::Status(409, String::new()), Some("/run/id")).0, Effect::Refused);
    assert_eq!(begun(Say::Reset, Some("/run/id")).0, Effect::Unknown);
}

#[test]
fn a_job_is_asked_for_by_its_name() {
    let said = |say: Say| {
        let twin = Twin::new(move |_| say.clone());
        let adapter = http(Settings { job: Some(asked(&twin, Some("/id"))), ..Settings::post(twin.at("/train")) });
        assert_eq!(adapter.follows().map(|following| following.within), Some(86_400_000_000));
        let state = adapter.job(&retraining(), Some("run-17"));
        assert_eq!((twin.seen()[0].path.as_str(), twin.writes()), ("/runs/run-17/status?full=1", 0));
        state
    };
    assert_eq!(said(ok(r#"{"status": "queued"}"#)), JobState::Running);
    let version = Version::parse("43").ok();
    assert_eq!(said(ok(r#"{"status": "succeeded", "model": {"version": 43}}"#)), JobState::Done { candidate: version });
    assert_eq!(said(ok(r#"{"status": "succeeded"}"#)), JobState::Done { candidate: None });
    assert!(
        matches!(said(ok(r#"{"status": "rejected: worse"}"#)), JobState::Failed(word) if word.as_str() == "rejected: worse")
    );
    assert_eq!(said(Say::Status(404, String::new())), JobState::Missing);
    for odd in [Say::Status(500, String::new()), Say::Reset, ok("<html>"), Say::With(302, "location: /", String::new())]
    {
        assert!(matches!(said(odd.clone()), JobState::CannotTell(_)), "{odd:?}");
    }
    let gone = Twin::new(|_| ok("{}"));
    let adapter = http(Settings { job: Some(asked(&gone, Some("/id"))), ..Settings::post(nobody()) });
    assert!(
        matches!(adapter.job(&retraining(), None), JobState::CannotTell(_)),
        "nobody asks for a job without a name"
    );
    assert!(matches!(adapter.job(&retraining(), Some("../x")), JobState::CannotTell(_)));
    assert_eq!(gone.seen().len(), 0);
}

/// A workflow in GitHub's form: a dispatch names no run, so it is found by the receipt in its name.
#[test]
fn a_dispatched_run_is_found_by_its_receipt() {
    let runs: Arc<Mutex<Vec<serde_json::Value>>> = Arc::default();
    let listed = Arc::clone(&runs);
    let twin = Twin::new(move |seen| match seen.method.as_str() {
        "POST" => Say::Status(204, String::new()),
        _ => ok(&json!({ "total_count": 1, "workflow_runs": *listed.lock().expect("a lock") }).to_string()),
    });
    let path = "/repos/ml/fraud/actions/workflows/train.yml";
    let body = json!({ "ref": "main", "inputs": { "data": "fresh", "sanare": "{receipt}" } }).to_string();
    let settings = Settings {
        body: Some(body),
        job: Some(job(Way::Listed(twin.at(&format!("{path}/runs?event=workflow_dispatch"))))),
        ..Settings::post(twin.at(&format!("{path}/dispatches")))
    };
    let (adapter, receipt) = (http(settings), retraining());
    let state = || adapter.job(&receipt, None);
    let acted = adapter.act(&intent(&receipt));
    assert_eq!((acted.effect, acted.reference), (Effect::Done, None));
    let sent = &twin.seen()[0];
    assert_eq!(sent.path, format!("{path}/dispatches"));
    assert!(sent.body.contains(receipt.id.as_str()) && sent.body.contains("fresh"), "{}", sent.body);
    assert_eq!(state(), JobState::Missing, "accepted, and nothing runs");
    assert_eq!(adapter.state(&receipt), WorldState::CannotTell);
    let run = |title: &str, status: &str, conclusion: Option<&str>| json!({ "id": 1, "name": "train", "display_title": title, "status": status, "conclusion": conclusion });
    let own = format!("train for {}", receipt.id);
    let set = |all: Vec<serde_json::Value>| *runs.lock().expect("a lock") = all;
    set(vec![run("train for rct_other", "completed", Some("failure"))]);
    assert_eq!(state(), JobState::Missing, "somebody else's");
    set(vec![run(&own, "queued", None), run("another", "completed", Some("success"))]);
    assert_eq!((state(), adapter.state(&receipt)), (JobState::Running, WorldState::After));
    set(vec![run(&own, "completed", Some("success"))]);
    assert_eq!(state(), JobState::Done { candidate: None });
    for conclusion in ["failure", "cancelled", "timed_out", "startup_failure"] {
        set(vec![run(&own, "completed", Some(conclusion))]);
        assert!(matches!(state(), JobState::Failed(word) if word.as_str() == conclusion), "{conclusion}");
    }
    set(vec![run(&own, "in_progress", None), run(&own, "completed", Some("success"))]);
    assert_eq!(state(), JobState::Many(2), "two runs for one dispatch");
    assert_eq!(twin.writes(), 1, "whatever is asked, it is dispatched once");
}

fn cancellable(settings: Settings) -> Http {
    let written = Written { reversible: Some(true), undo: Some(Undo::CancelJob), ..Written::default() };
    Http::new(settings, declared(Action::RequestRetraining, written), None).expect("an adapter")
}

/// The receipt of cancelling a job, by its name or by the receipt that a run shows.
fn cancelling(job: Option<&str>) -> Receipt {
    Receipt { reference: job.map(Text::of), ..undo_of(&retraining()) }
}

#[test]
fn a_job_is_cancelled_where_its_owner_says_how() {
    let cancelled = |say: Say, named: Option<&str>| {
        let twin = Twin::new(move |_| say.clone());
        let cancel =
            Cancel::Request { method: "DELETE".to_owned(), endpoint: twin.at("/runs/"), after: "/now".to_owned() };
        let job = Some(Job { cancel: Some(cancel), ..asked(&twin, Some("/id")) });
        let adapter = cancellable(Settings { job, ..Settings::post(twin.at("/train")) });
        let effect = adapter.act(&intent(&cancelling(named))).effect;
        let seen: Vec<String> = twin.seen().iter().map(|one| format!("{} {}", one.method, one.path)).collect();
        (effect, seen.join(", "))
    };
    let sent = |effect: Effect| (effect, "DELETE /runs/run-17/now".to_owned());
    assert_eq!(cancelled(Say::Status(202, String::new()), Some("run-17")), sent(Effect::Done));
    assert_eq!(cancelled(Say::Status(409, String::new()), Some("run-17")), sent(Effect::Refused), "it has ended");
    assert_eq!(cancelled(Say::Status(404, String::new()), Some("run-17")), sent(Effect::Refused));
    assert_eq!(cancelled(Say::Status(500, String::new()), Some("run-17")), sent(Effect::Unknown));
    assert_eq!(cancelled(Say::Reset, Some("run-17")), sent(Effect::Unknown));
    for nameless in [None, Some("../train"), Some("")] {
        assert_eq!(cancelled(ok(""), nameless), (Effect::NotStarted, String::new()), "{nameless:?}");
    }
    // What is declared and not said, or said and not declared, is no adapter.
    let twin = Twin::new(|_| ok(""));
    let written = Written { reversible: Some(true), undo: Some(Undo::CancelJob), ..Written::default() };
    let settings = Settings { job: Some(asked(&twin, Some("/id"))), ..Settings::post(twin.at("/train")) };
    assert!(Http::new(settings, declared(Action::RequestRetraining, written), None).is_err());
}

/// The run of a workflow has no name for us: it is found by the receipt, and only where there is one.
#[test]
fn a_run_is_cancelled_by_the_receipt_that_it_shows() {
    let cancelled = |runs: serde_json::Value| {
        let twin = Twin::new(move |seen| match seen.method.as_str() {
            "POST" => Say::Status(202, String::new()),
            _ => ok(&json!({ "workflow_runs": runs }).to_string()),
        });
        let endpoint = twin.at("/repos/ml/fraud/actions/runs/");
        let cancel = Cancel::Request { method: "POST".to_owned(), endpoint, after: "/cancel".to_owned() };
        let job = Some(Job { cancel: Some(cancel), ..job(Way::Listed(twin.at("/runs"))) });
        let adapter = cancellable(Settings { job, ..Settings::post(twin.at("/dispatches")) });
        let effect = adapter.act(&intent(&cancelling(Some(retraining().id.as_str())))).effect;
        let posts: Vec<String> =
            twin.seen().into_iter().filter(|one| one.method == "POST").map(|one| one.path).collect();
        (effect, posts.join(", "))
    };
    let own = |id: u64| json!({ "id": id, "display_title": format!("train for {}", retraining().id) });
    let other = json!({ "id": 9, "display_title": "train for rct_other" });
    let sent = "/repos/ml/fraud/actions/runs/77/cancel".to_owned();
    assert_eq!(cancelled(json!([other, own(77)])), (Effect::Done, sent));
    for none in [json!([other]), json!([own(77), own(78)]), json!([]), json!("x")] {
        assert_eq!(cancelled(none.clone()), (Effect::NotStarted, String::new()), "{none}");
    }
}

#[test]
fn a_program_cancels_its_job() {
    let cancelled = |script: &str| {
        let argv = words(&["/bin/sh", "-c", script, "{job}"]);
        let way = Way::Told(words(&["/bin/true", "{job}"]));
        let settings = command::Settings {
            argv: words(&["/bin/true"]),
            job: Some(Job { cancel: Some(Cancel::Program(argv)), ..job(way) }),
            ..command::Settings::default()
        };
        let written = Written { reversible: Some(true), undo: Some(Undo::CancelJob), ..Written::default() };
        let adapter = command::Command::new(settings, declared(Action::RequestRetraining, written), None);
        let acted = adapter.expect("an adapter").act(&intent(&cancelling(Some("job-9"))));
        (acted.effect, acted.output.to_string())
    };
    assert_eq!(cancelled("echo \"ends $0\""), (Effect::Done, "ends job-9".to_owned()));
    assert_eq!(cancelled("exit 1").0, Effect::Unknown);
}

#[test]
fn a_program_names_and_tells_of_its_job() {
    let folder = PrivateFolder::create().expect("a folder");
    let state = folder.path().join("state");
    let set = |text: &str| {
        std::fs::File::create(&state).and_then(|mut file| file.write_all(text.as_bytes())).expect("a file")
    };
    let shell = |script: String| words(&["/bin/sh", "-c", &script]);
    let begun = |script: &str| {
        let tells = words(&["/bin/sh", "-c", &format!("test \"$0\" = job-9 && cat {}", state.display()), "{job}"]);
        let settings = command::Settings {
            argv: shell(script.to_owned()),
            job: Some(job(Way::Told(tells))),
            ..command::Settings::default()
        };
        command::Command::new(settings, declared(Action::RequestRetraining, Written::default()), None)
            .expect("an adapter")
    };
    let act = |script: &str| {
        let acted = begun(script).act(&intent(&retraining()));
        (acted.effect, acted.reference.map(|name| name.to_string()))
    };
    assert_eq!(act("echo job-9; echo queued"), (Effect::Done, Some("job-9".to_owned())));
    assert_eq!(act("true"), (Effect::Unknown, None), "accepted, and nobody can say what");
    assert_eq!(act("echo ../x"), (Effect::Unknown, None));
    assert_eq!(act("exit 75").0, Effect::NotStarted);
    let adapter = begun("echo job-9");
    let asked = |job: &str| adapter.job(&retraining(), Some(job));
    set("queued\n");
    assert_eq!(asked("job-9"), JobState::Running);
    set("succeeded\n43\n");
    assert_eq!(asked("job-9"), JobState::Done { candidate: Version::parse("43").ok() });
    set("failed\n");
    assert!(matches!(asked("job-9"), JobState::Failed(_)));
    assert!(matches!(asked("job-8"), JobState::CannotTell(_)), "the program does not know it");
}
