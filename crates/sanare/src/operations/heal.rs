//! Healing one failing call.

use std::path::PathBuf;

use sanare_core::classify::{Class, Classified};
use sanare_core::evidence::{Evidence, Failure};
use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::incident::{FingerprintParts, Incident, Mode, Rules, Write, fingerprint};
use sanare_core::outcome::Reason;
use sanare_core::policy::{Policy, stricter};
use sanare_core::port::store::Rest;
use sanare_core::port::{Clock, Proposer, Store, Subject, Target, Verifier};
use sanare_core::redact::{Redacted, Redactor};
use sanare_core::settings::Settings;
use sanare_core::step::Step;
use sanare_core::value;
use sanare_drift::shape::CallShape;
use sanare_engine::{Case, World, run};
use sanare_source::VetContext;
use serde_json::{Value as Json, json};

use crate::operations::confirm;
use crate::operations::evidence::{Amounts, recorded};
use crate::report::Report;
use crate::wire::clock::SystemClock;
use crate::wire::drift::DriftProposer;
use crate::wire::home::stop_path;
use crate::wire::model::ModelProposer;
use crate::wire::policy;
use crate::wire::settings;
use crate::wire::target::{SourceTarget, TargetSettings};
use crate::wire::verify::{Commands, NoCommands};

/// First rest after a failure that was not healed; doubles up to a day (C118).
const COOLDOWN_MS: u64 = 10 * 60 * 1_000;
/// Characters of an error's message that the evidence file of a verify command has.
const MESSAGE: usize = 16 << 20;
const COOLDOWN_MAX_MS: u64 = 24 * 60 * 60 * 1_000;

/// A failing call, as the host hands it over.
#[derive(Debug)]
pub struct HealRequest {
    /// The project's folder.
    pub project_root: PathBuf,
    /// The project's name.
    pub project: String,
    /// The target's file.
    pub path: PathBuf,
    /// The target's qualified name.
    pub function: String,
    /// First line of its `def` or decorator in the file.
    pub first_line: usize,
    /// Why the file's function is not the running one (changed, missing), if it is not.
    pub source_trouble: Option<(Reason, String)>,
    /// Why the file may not be changed (C101), if it may not.
    pub unsupported: Option<String>,
    /// Whether the evidence's source is no file: an interactive shell's, a notebook's (C103).
    pub in_memory: bool,
    /// Whether the owner named this very class in `heal_on` (C27).
    pub named: bool,
    /// Options given to the decorator, by name.
    pub options: Vec<(String, Json)>,
    /// Folders of the running interpreter, which the owner's verify commands may read.
    pub readable: Vec<PathBuf>,
    /// How the call failed and with what, as far as a record needs it.
    pub evidence: Evidence,
    /// Reads the rest, for a call that may be repaired: whole arguments, more of the local variables (C52).
    pub more: Option<More>,
}

/// What completes the evidence once it is known to be needed: a failure that rests, or that no code repairs, costs a
/// look and no reading of the whole batch.
pub struct More(pub Box<dyn FnOnce(&mut Evidence) + Send>);

impl std::fmt::Debug for More {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("More")
    }
}

/// Runs the whole loop and says how it ended.
pub fn heal(store: &dyn Store, mut request: HealRequest, subject: &mut dyn Subject) -> Report {
    let clock = SystemClock::new();
    let shown_path = shown_path(&request);
    let (settings, broken) = match settings::settings(&request.project_root, &request.options) {
        Ok(settings) => (Some(settings), None),
        Err(troubles) => (None, Some(troubles.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))),
    };
    // Broken settings refuse: what stands in them might have forbidden what the defaults allow (C17).
    if let Some(broken) = broken {
        request.source_trouble = Some((Reason::Settings, broken));
    }
    let mut rules = settings.as_ref().map(settings::rules).unwrap_or_default();
    let policy = match &settings {
        Some(settings) => policy::policy(&request.project_root, settings, clock.now()),
        None => Policy::none(),
    };
    if let Some(mode) = policy.mode_for(&request.project) {
        rules.mode = stricter(rules.mode, mode);
    }
    let incident = incident(&request, rules, &shown_path, &clock);
    // Before anything is healed anew: a repair that was just approved may be what fails. A store that cannot say is told
    // of again below.
    let _ = confirm::failed(store, &request.path, &request.function, incident.line);
    if let Some(report) = resting(store, &incident, &clock) {
        return report;
    }
    let only_looked_at = matches!(incident.rules.mode, Mode::Observe | Mode::Off);
    if let Some(More(complete)) = request.more.take().filter(|_| !only_looked_at) {
        complete(&mut request.evidence);
    }
    if request.in_memory && incident.rules.write == Write::File && request.source_trouble.is_none() {
        let why = "the source is not in a file; `write=\"memory\"` repairs the running function alone";
        request.source_trouble = Some((Reason::NoSource, why.to_owned()));
    }
    let target_settings = TargetSettings {
        path: &request.path,
        shown_path: &shown_path,
        function: &request.function,
        first_line: request.first_line,
        stop: stop_path(&request.project_root),
        context: vet_context(settings.as_ref(), request.evidence.python),
        unsupported: request.unsupported.clone(),
    };
    let target = match request.in_memory {
        true => SourceTarget::in_memory(target_settings, &request.evidence.source),
        false => SourceTarget::read(target_settings),
    };
    let parses = |target: &SourceTarget| sanare_source::parse::Source::parse(target.module()).is_ok();
    if target.as_ref().is_ok_and(|target| !parses(target)) && request.source_trouble.is_none() {
        let why = "the source of today does not parse, so that it is not the code that runs";
        request.source_trouble = Some((Reason::SourceChanged, why.to_owned()));
    }
    let (class, not_ours) = classify(&request, target.as_ref().err());
    let amounts = settings.as_ref().map_or(Amounts::LEAST, Amounts::on_disk);
    let Ok(target) = target else {
        let recorded = recorded(&request.evidence, amounts);
        let policy = &policy;
        let case = Case { incident: &incident, evidence: &request.evidence, class, not_ours, recorded, policy };
        return without_target(store, &case, subject, &clock);
    };
    request.evidence.source = target.module().to_owned();
    let remembered = remembered(store, &request);
    let mut drift = DriftProposer { remembered: remembered.clone() };
    let mut model = settings.as_ref().and_then(|settings| {
        ModelProposer::configured(settings, &request.project_root, store, &clock, &incident, remembered)
    });
    let order = settings.as_ref().map(|settings| settings.list("heal.proposers")).unwrap_or_default();
    let recorded = recorded(&request.evidence, amounts);
    let mut verifier = commands(settings.as_ref(), &request, &incident, &recorded);
    let case = Case { incident: &incident, evidence: &request.evidence, class, not_ours, recorded, policy: &policy };
    let mut world =
        World { store, subject, target: &target, proposers: Vec::new(), verifier: verifier.as_mut(), clock: &clock };
    let (mut drift, mut model) =
        (Some(&mut drift as &mut dyn Proposer), model.as_mut().map(|model| model as &mut dyn Proposer));
    world.proposers.extend(order.iter().filter_map(|name| if name == "model" { model.take() } else { drift.take() }));
    let ended = run(&case, &mut world);
    if matches!(ended.last, Step::Waiting(_)) {
        let evidence = &request.evidence;
        let shape = confirm::shape_digest(&evidence.source, &request.function, &evidence.arguments);
        // Without it a later call confirms nothing, and the repair stays unconfirmed.
        let _ = confirm::note(store, &incident.id, &shape);
    }
    finish(store, &incident, &clock)
}

fn without_target(store: &dyn Store, case: &Case<'_>, subject: &mut dyn Subject, clock: &SystemClock) -> Report {
    let target = sanare_core::port::scripted::ScriptedTarget::new("");
    let verifier = &mut NoCommands;
    run(case, &mut World { store, subject, target: &target, proposers: Vec::new(), verifier, clock });
    finish(store, case.incident, clock)
}

/// The report from the ledger, and the rest that an incident without healing earns.
fn finish(store: &dyn Store, incident: &Incident, clock: &SystemClock) -> Report {
    let report = match store.records(&incident.id) {
        Ok(records) => Report::from_records(&incident.id, &records),
        Err(fault) => Report {
            id: incident.id.to_string(),
            status: "closed".to_owned(),
            outcome: "escalated".to_owned(),
            reason: Reason::Internal.code().to_owned(),
            summary: fault.to_string(),
            ..Report::default()
        },
    };
    let fingerprint = incident.fingerprint.as_str();
    let healed = report.outcome == "healed" || report.status == "applied";
    let rest = match (healed, store.rest(fingerprint)) {
        (true, _) | (false, Err(_)) => Rest::default(),
        (false, Ok(rest)) => {
            let pause = (COOLDOWN_MS << rest.times.min(16)).min(COOLDOWN_MAX_MS);
            Rest { until: clock.now() + pause, times: rest.times + 1, occurrences: rest.occurrences + 1 }
        }
    };
    // A store that fails here has failed above as well, and the report says so.
    let _ = store.set_rest(fingerprint, &rest);
    report
}

fn resting(store: &dyn Store, incident: &Incident, clock: &SystemClock) -> Option<Report> {
    let fingerprint = incident.fingerprint.as_str();
    let rest = store.rest(fingerprint).ok()?;
    let now = clock.now();
    // A clock that was set back must not make a rest last for ever.
    if rest.until <= now || rest.until > now + COOLDOWN_MAX_MS {
        return None;
    }
    let counted = Rest { occurrences: rest.occurrences + 1, ..rest };
    let _ = store.set_rest(fingerprint, &counted);
    Some(Report {
        fingerprint: fingerprint.to_owned(),
        status: "closed".to_owned(),
        outcome: "refused".to_owned(),
        reason: Reason::Cooldown.code().to_owned(),
        summary: Reason::Cooldown.sentence().to_owned(),
        function: incident.function.clone(),
        path: incident.path.clone(),
        error: incident.error.clone(),
        ..Report::default()
    })
}

/// The owner's verify commands with what they are told; none without settings.
fn commands(
    settings: Option<&Settings>,
    request: &HealRequest,
    incident: &Incident,
    recorded: &Redacted<Json>,
) -> Box<dyn Verifier> {
    let configured = |settings: &&Settings| settings.get("heal.verify").as_array().is_some_and(|all| !all.is_empty());
    let Some(settings) = settings.filter(configured) else { return Box::new(NoCommands) };
    let mut told = json!({
        "format": 1,
        "incident": incident.id,
        "fingerprint": incident.fingerprint,
        "path": incident.path,
        "function": incident.function,
        "line": incident.line,
        "evidence": recorded.as_ref(),
    });
    // The record is cut; the file for the owner's own command has the whole message.
    told["evidence"]["error"]["message"] = json!(
        Redactor::standard().text(value::json::cut(&request.evidence.failure.message, MESSAGE).as_ref()).as_ref()
    );
    let told = Redactor::standard().json(&told);
    let mut commands = Commands::of(settings, &request.project_root, &request.path, told);
    commands.readable.clone_from(&request.readable);
    Box::new(commands)
}

fn vet_context(settings: Option<&Settings>, python: (u8, u8)) -> VetContext {
    let mut context = VetContext { python, ..VetContext::default() };
    if let Some(settings) = settings {
        context.allow_imports = settings.list("heal.gates.allow_imports");
        context.allow_abilities = settings.list("heal.gates.allow_abilities");
        context.max_changed_lines = usize::try_from(settings.number("heal.gates.max_changed_lines")).unwrap_or(120);
    }
    context
}

fn incident(request: &HealRequest, rules: Rules, shown_path: &str, clock: &SystemClock) -> Incident {
    let failure = &request.evidence.failure;
    let frame = failure.frames.iter().rev().find(|frame| !frame.statement.is_empty());
    let line = failure.frames.iter().find(|frame| frame.function == request.function).map_or(0, |frame| frame.line);
    let message = Redactor::standard().text(&failure.message).into_inner();
    let parts = FingerprintParts {
        project: &request.project,
        path: shown_path,
        function: &request.function,
        class: &failure.class,
        cause: innermost(failure).map_or("", |cause| cause.class.as_str()),
        statement: frame.map_or("", |frame| frame.statement.as_str()),
        message: &message,
    };
    let now = clock.now();
    Incident {
        id: Id::new("inc", now, clock.chance()),
        fingerprint: fingerprint(&parts),
        project: request.project.clone(),
        path: shown_path.to_owned(),
        function: request.function.clone(),
        line,
        error: failure.class.clone(),
        process: sanare_effects::process::ProcessMark::current().to_string(),
        opened_at: now,
        rules,
    }
}

fn innermost(failure: &Failure) -> Option<&Failure> {
    let mut cause = failure.cause.as_deref()?;
    for _ in 0..5 {
        match cause.cause.as_deref() {
            Some(deeper) => cause = deeper,
            None => break,
        }
    }
    Some(cause)
}

fn classify(request: &HealRequest, unreadable: Option<&String>) -> (String, Option<(Reason, String)>) {
    let Classified { class, reason, detail, .. } =
        sanare_core::classify::classify_call(&request.evidence, request.named);
    let word = class.word().to_owned();
    if !matches!(class, Class::Drift | Class::Library | Class::Bug)
        && let Some(reason) = reason
    {
        return (word, Some((reason, detail)));
    }
    if let Some(trouble) = &request.source_trouble {
        return (word, Some(trouble.clone()));
    }
    if let Some(why) = unreadable {
        return (word, Some((Reason::NoSource, why.clone())));
    }
    (word, None)
}

fn remembered(store: &dyn Store, request: &HealRequest) -> Vec<CallShape> {
    let key = function_key(&request.path.display().to_string(), &request.function);
    let texts = store.shapes(&key).unwrap_or_default();
    texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect()
}

/// The key under which shapes of a function are kept.
pub fn function_key(path: &str, function: &str) -> String {
    format!("{}:{function}", Digest::of(path.as_bytes()).short())
}

fn shown_path(request: &HealRequest) -> String {
    let inside = request.path.strip_prefix(&request.project_root).unwrap_or(&request.path);
    inside.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}
