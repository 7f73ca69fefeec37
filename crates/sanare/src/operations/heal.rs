//! Healing one failing call.

mod adopt;
mod again;
mod breaker;
mod flight;
pub(crate) mod outward;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use sanare_core::classify::{Class, Classified};
use sanare_core::evidence::{Evidence, Failure};
use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::incident::{FingerprintParts, Incident, Mode, Rules, Write, fingerprint};
use sanare_core::outcome::Reason;
use sanare_core::policy::{Policy, stricter};
use sanare_core::port::store::Lease;
use sanare_core::port::{Clock, Proposer, Store, StoreFault, Subject, Target, Verifier};
use sanare_core::receipt::ReceiptState;
use sanare_core::redact::{Redacted, Redactor};
use sanare_core::settings::Settings;
use sanare_core::step::Step;
use sanare_core::value;
use sanare_drift::shape::CallShape;
use sanare_engine::{Case, Ended, World, run};
use sanare_source::VetContext;
use sanare_source::parse::Source;
use sanare_source::size::Ranged as _;
use serde_json::{Value as Json, json};

pub(crate) use self::adopt::rest_key as adoption_rest;

use self::adopt::adopt;
use self::breaker::Breaker;
use self::flight::Flight;
use self::outward::Begun;
pub use self::outward::Continues;
use crate::operations::confirm;
use crate::operations::evidence::{Amounts, recorded};
use crate::operations::save_patch;
use crate::report::Report;
use crate::wire::clock::SystemClock;
use crate::wire::drift::{DriftProposer, lexicon};
use crate::wire::home::stop_path;
use crate::wire::lockfile::LockBook;
use crate::wire::model::ModelProposer;
use crate::wire::policy;
use crate::wire::settings;
use crate::wire::target::{SourceTarget, TargetSettings};
use crate::wire::verify::{Commands, NoCommands};

/// How long a store may be locked without a sign of work in it before a failure is left alone.
const STILL_MS: u64 = 80;
/// Characters of an error's message that the evidence file of a verify command has.
const MESSAGE: usize = 16 << 20;

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
    /// The incident that an inner function ended, if this function goes on with it (C119).
    pub continues: Option<Continues>,
    /// Hash of the code that failed; equal in every process that runs it. Empty: not known, and nothing is adopted.
    pub code: String,
    /// How long a lease lasts without being renewed (C116).
    pub lease_ms: u64,
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

/// What does not change while one failure is worked on.
#[derive(Clone, Copy)]
struct Ground<'a> {
    store: &'a dyn Store,
    incident: &'a Incident,
    shown_path: &'a str,
    settings: Option<&'a Settings>,
    /// Broken settings refuse: what stands in them might have forbidden what the defaults allow (C17).
    refused_by_settings: bool,
    policy: &'a Policy,
    breaker: Breaker,
    clock: &'a SystemClock,
    /// What an inner function's incident had used up when this one went on with it.
    begun: Option<&'a Begun>,
}

/// A failure being worked on, whichever way it takes.
struct Desk<'a> {
    on: Ground<'a>,
    request: &'a HealRequest,
}

impl<'a> Ground<'a> {
    fn desk(self, request: &'a HealRequest) -> Desk<'a> {
        Desk { on: self, request }
    }
}

impl Desk<'_> {
    fn target_settings(&self) -> TargetSettings<'_> {
        TargetSettings {
            path: &self.request.path,
            shown_path: self.on.shown_path,
            function: &self.request.function,
            first_line: self.request.first_line,
            stop: stop_path(&self.request.project_root),
            context: vet_context(self.on.settings, self.request.evidence.python),
            unsupported: self.request.unsupported.clone(),
        }
    }

    fn read_target(&self) -> Result<SourceTarget, String> {
        match self.request.in_memory {
            true => SourceTarget::in_memory(self.target_settings(), &self.request.evidence.source),
            false => SourceTarget::read(self.target_settings()),
        }
    }

    /// Whether these texts of the function are the running code's, as far as the host could tell.
    fn holds_running_code(&self, texts: &[String]) -> bool {
        if self.request.source_trouble.is_some() {
            return false;
        }
        let evidence = &self.request.evidence;
        let source = Source::parse(&evidence.source).ok();
        let running = source.as_ref().and_then(|source| {
            let found = source.function_at(&self.request.function, evidence.first_line)?;
            Some(source.slice(found).to_owned())
        });
        running.is_some_and(|running| texts.contains(&running))
    }

    /// What may answer this failure at once: an accepted repair of its code, or its rest.
    fn known(&self, subject: &mut dyn Subject) -> Option<Report> {
        adopt(self, subject).or_else(|| self.on.breaker.resting(self.on.store, self.on.incident, self.on.clock.now()))
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
    let refused_by_settings = broken.is_some();
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
    let mut incident = incident(&request, rules, &shown_path, &clock);
    let begun = match outward::take_over(store, request.continues.as_ref(), &mut incident) {
        Ok(begun) => begun,
        Err(report) => return *report,
    };
    let breaker = Breaker::of(settings.as_ref());
    let wait = settings.as_ref().map_or(0, |settings| settings.number("heal.wait"));
    let flight = Flight { incident: &incident, clock: &clock, millis: request.lease_ms, end: clock.elapsed() + wait };
    let more = request.more.take();
    let (shown_path, settings) = (shown_path.as_str(), settings.as_ref());
    let ground = Ground {
        store,
        incident: &incident,
        shown_path,
        settings,
        refused_by_settings,
        policy: &policy,
        breaker,
        clock: &clock,
        begun: begun.as_ref(),
    };
    // The caller of the program is not made to wait for a store that another holds locked.
    if let Err(fault) = store.turn(STILL_MS) {
        return broken_store(&incident, &fault);
    }
    // Before anything is healed anew: a repair that was just approved may be what fails here, if this process runs it. A
    // store that cannot say is told of again below.
    if request.source_trouble.is_none() {
        let _ = confirm::failed(store, &request.path, &request.function, incident.line);
    }
    if let Some(report) = ground.desk(&request).known(subject) {
        return report;
    }
    if let Some(report) = wait_for_settlement(&flight, &ground.desk(&request), subject) {
        return report;
    }
    // What is recorded was read within the budgets of evidence; a repair may look at more.
    let recorded = recorded(&request.evidence, settings.map_or(Amounts::LEAST, Amounts::on_disk));
    let only_looked_at = matches!(incident.rules.mode, Mode::Observe | Mode::Off);
    request.evidence.failure.by_repair = again::raised_by_repair(store, &request);
    let on_purpose = sanare_core::classify::classify(&request.evidence.failure).class == Class::Deliberate;
    if let Some(More(complete)) = more.filter(|_| !only_looked_at && !on_purpose) {
        complete(&mut request.evidence);
    }
    if request.in_memory && incident.rules.write == Write::File && request.source_trouble.is_none() {
        let why = "the source is not in a file; `write=\"memory\"` repairs the running function alone";
        request.source_trouble = Some((Reason::NoSource, why.to_owned()));
    }
    let (class, not_ours) = classify(&request);
    if not_ours.is_some() {
        return ground.desk(&request).run(class, not_ours, recorded, subject, None).report;
    }
    let lease = match wait_for_lease(&flight, &ground.desk(&request), subject) {
        Ok(Turn::Lead(lease)) => lease,
        Ok(Turn::Known(report)) => return *report,
        Err(fault) => return broken_store(&incident, &fault),
    };
    let desk = ground.desk(&request);
    let work = || {
        // The one before may have ended between the look and the taking.
        match desk.known(subject) {
            Some(report) => Ran { report, overtaken: false, reran: true },
            None => desk.run(class, None, recorded, subject, Some(&lease)),
        }
    };
    let ran = if only_looked_at { flight.look(store, &lease, work) } else { flight.keep(store, &lease, work) };
    // Who took over may have a repair; the call has run again at most once all the same.
    let adopted = if ran.overtaken && !ran.reran { adopt(&desk, subject) } else { None };
    adopted.unwrap_or(ran.report)
}

/// What came of the engine's loop.
struct Ran {
    report: Report,
    overtaken: bool,
    reran: bool,
}

/// Where the file is not what this process runs since a repair of the running code is being put in force, or was when
/// its process died, the end of that is waited for.
fn wait_for_settlement(flight: &Flight<'_>, desk: &Desk<'_>, subject: &mut dyn Subject) -> Option<Report> {
    let changed = desk.request.source_trouble.as_ref().is_some_and(|(reason, _)| *reason == Reason::SourceChanged);
    if !changed || desk.on.incident.code.is_empty() {
        return None;
    }
    let is_open = || {
        let receipts = desk.on.store.receipts_of_code(&desk.on.incident.code).unwrap_or_default();
        receipts.iter().any(|receipt| receipt.state == ReceiptState::Open)
    };
    while is_open() {
        match flight.take(desk.on.store) {
            // Taking it settles what its holder left behind.
            Ok(Some(lease)) => return flight.keep(desk.on.store, &lease, || desk.known(subject)),
            Ok(None) if flight.pause() && !subject.abandoned() => {}
            _ => return None,
        }
    }
    desk.known(subject)
}

enum Turn {
    Lead(Lease),
    Known(Box<Report>),
}

/// Takes the lease, or waits until the holder's repair can be adopted, the failure rests, or the time is over.
fn wait_for_lease(flight: &Flight<'_>, desk: &Desk<'_>, subject: &mut dyn Subject) -> Result<Turn, StoreFault> {
    loop {
        if let Some(lease) = flight.take(desk.on.store)? {
            return Ok(Turn::Lead(lease));
        }
        let waits = flight.pause() && !subject.abandoned();
        if let Some(report) = desk.known(subject) {
            return Ok(Turn::Known(Box::new(report)));
        }
        if !waits {
            let summary = "another process is healing this failure".to_owned();
            let report = Report { status: "open".to_owned(), summary, ..about(desk.on.incident) };
            return Ok(Turn::Known(Box::new(report)));
        }
    }
}

impl Desk<'_> {
    /// The loop of the engine, under a lease where something may come of it.
    fn run(
        &self,
        class: String,
        not_ours: Option<(Reason, String)>,
        recorded: Redacted<Json>,
        subject: &mut dyn Subject,
        lease: Option<&Lease>,
    ) -> Ran {
        let read = self.read_target();
        let not_ours = not_ours.or_else(|| self.source_trouble(read.as_ref()));
        let evidence = match &read {
            Ok(target) if not_ours.is_none() => self.evidence_of_today(target.module()),
            _ => Cow::Borrowed(&self.request.evidence),
        };
        let mut scripted = sanare_core::port::scripted::ScriptedTarget::new("");
        let lock = LockBook::of(&self.request.project_root, self.on.shown_path, &self.request.function);
        let lock = Arc::new(lock);
        let mut read = read.ok().map(|target| target.with_lock(Arc::clone(&lock)));
        let shapes = remembered(self.on.store, self.request);
        let files = self.on.settings.map(|settings| settings.list("heal.drift.lexicon")).unwrap_or_default();
        let layers = self.on.settings.map_or(0, |settings| settings.number("heal.drift.layers"));
        let mut drift = DriftProposer {
            remembered: shapes.clone(),
            lock,
            words: lexicon(&self.request.project_root, &files),
            layers: usize::try_from(layers).unwrap_or_default(),
        };
        let mut model = self.on.settings.and_then(|settings| {
            let (root, on) = (&self.request.project_root, self.on);
            ModelProposer::configured(settings, root, on.store, on.clock, on.incident, shapes)
        });
        let order = self.on.settings.map(|settings| settings.list("heal.proposers")).unwrap_or_default();
        let mut drift = Some(&mut drift as &mut dyn Proposer);
        let mut model = model.as_mut().map(|model| model as &mut dyn Proposer);
        let (target, proposers): (&mut dyn Target, Vec<&mut dyn Proposer>) = match &mut read {
            Some(target) => {
                let next = |name: &String| if name == "model" { model.take() } else { drift.take() };
                (target, order.iter().filter_map(next).collect())
            }
            None => (&mut scripted, Vec::new()),
        };
        let buckets = self.on.breaker.buckets(self.on.incident);
        let spent = match not_ours {
            None => self.on.store.spent(&buckets, self.on.clock.now()).ok().flatten(),
            Some(_) => None,
        };
        let not_ours =
            not_ours.or_else(|| spent.map(|name| (Reason::BudgetSpent, format!("the budget `{name}` is spent"))));
        let incident = self.on.incident;
        let mut verifier = match target.module().is_empty() {
            true => Box::new(NoCommands),
            false => commands(self.on.settings, self.request, incident, &recorded),
        };
        let policy = self.on.policy;
        let continued = self.on.begun.map(|begun| begun.attempts);
        let budgets = buckets.as_slice();
        let case = Case { incident, evidence: &evidence, class, not_ours, recorded, policy, lease, budgets, continued };
        let (store, clock, verifier) = (self.on.store, self.on.clock, verifier.as_mut());
        let ended = run(&case, &mut World { store, subject, target, proposers, verifier, clock });
        if matches!(ended.last, Step::Waiting(_)) {
            let shape = confirm::shape_digest(&evidence.source, &self.request.function, &evidence.arguments);
            // Without it a later call confirms nothing, and the repair stays unconfirmed.
            let _ = confirm::note(store, &incident.id, &shape);
        }
        let report = self.finish(&ended, subject.abandoned());
        self.keep_patch(&report);
        Ran { report, overtaken: ended.overtaken, reran: ended.reran }
    }

    /// The proposal as a file of its own, where the owner wants that.
    fn keep_patch(&self, report: &Report) {
        let wanted = |settings: &&Settings| settings.flag("git.patches") && !report.diff.is_empty();
        if let Some(settings) = self.on.settings.filter(wanted) {
            let root = &self.request.project_root;
            let folder = root.join(settings.text("git.patch_folder"));
            // The proposal is in the store; a folder that cannot be written costs the copy alone.
            let _ = save_patch::of_incident(self.on.store, root, &folder, self.on.incident.id.as_str());
        }
    }

    /// The evidence with the file's text as it is now: another part of it may have been rewritten since the host looked.
    fn evidence_of_today(&self, module: &str) -> Cow<'_, Evidence> {
        let evidence = &self.request.evidence;
        if evidence.source == module {
            return Cow::Borrowed(evidence);
        }
        let line = |text: &str| {
            let source = Source::parse(text).ok()?;
            let found = source.function_at(&self.request.function, evidence.first_line)?;
            Some(source.line(found.range().start().to_usize()))
        };
        let mut evidence = evidence.clone();
        if let (Some(then), Some(now)) = (line(&evidence.source), line(module)) {
            evidence.first_line = (evidence.first_line + now).saturating_sub(then);
            for frame in evidence.failure.frames.iter_mut().filter(|frame| frame.line >= then) {
                frame.line = frame.line + now - then;
            }
        }
        module.clone_into(&mut evidence.source);
        Cow::Owned(evidence)
    }

    /// Why the file does not hold the running code, if it does not.
    fn source_trouble(&self, read: Result<&SourceTarget, &String>) -> Option<(Reason, String)> {
        match read {
            Err(why) => Some((Reason::NoSource, why.clone())),
            Ok(target) if Source::parse(target.module()).is_err() => {
                let why = "the source of today does not parse, so that it is not the code that runs";
                Some((Reason::SourceChanged, why.to_owned()))
            }
            // Rewritten since the host has looked.
            Ok(target) if target.module() != self.request.evidence.source => {
                let changed = !self.holds_running_code(&target.function_texts());
                changed.then(|| (Reason::SourceChanged, Reason::SourceChanged.sentence().to_owned()))
            }
            Ok(_) => None,
        }
    }

    /// The report from the ledger, and the rest that an incident without healing earns.
    fn finish(&self, ended: &Ended, abandoned: bool) -> Report {
        let incident = self.on.incident;
        if ended.overtaken {
            // What stands in the ledger by now is the other's: it says nothing of this call.
            return broken_store(incident, &StoreFault::LeaseLost);
        }
        let mut report = match self.on.store.records(&incident.id) {
            Ok(records) => {
                let report = Report::from_records(&incident.id, &records);
                Report { goes_outward: outward::goes_on(&records), ..report }
            }
            Err(fault) => broken_store(incident, &fault),
        };
        report = report.with_end(&ended.last, self.on.clock.now());
        let key = incident.fingerprint.as_str();
        if report.outcome == "healed" || report.status == "applied" {
            self.on.breaker.end_rest(self.on.store, key);
            if let Some(begun) = self.on.begun {
                begun.end_rests(self.on.store);
            }
        } else if !abandoned {
            self.on.breaker.begin_rest(self.on.store, key, self.on.clock.now());
        }
        report
    }
}

fn broken_store(incident: &Incident, fault: &StoreFault) -> Report {
    Report {
        id: incident.id.to_string(),
        status: "closed".to_owned(),
        outcome: "escalated".to_owned(),
        reason: Reason::Internal.code().to_owned(),
        summary: fault.to_string(),
        ..about(incident)
    }
}

/// A report that has no record: what it is about.
fn about(incident: &Incident) -> Report {
    Report {
        fingerprint: incident.fingerprint.as_str().to_owned(),
        function: incident.function.clone(),
        path: incident.path.clone(),
        error: incident.error.clone(),
        ..Report::default()
    }
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
        code: request.code.clone(),
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

fn classify(request: &HealRequest) -> (String, Option<(Reason, String)>) {
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
