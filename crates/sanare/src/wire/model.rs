//! A language model as a proposer: asked last, told why each earlier candidate was rejected, trusted with nothing
//! (C70 to C79).

mod call;
mod desk;
mod secrets;
mod seen;

use std::cell::RefCell;
use std::path::Path;

use sanare_core::incident::{Incident, ProposerName};
use sanare_core::model::prompt::{Prompt, Purpose};
use sanare_core::model::reply::Reply;
use sanare_core::model::request::{Amounts, Attempt, Material, Request, Task, compose};
use sanare_core::model::setup::{KeyPlace, Setup};
use sanare_core::outcome::Reason;
use sanare_core::port::{Ask, Clock, ModelPort, Proposer, Store, Subject};
use sanare_core::proposal::{Candidate, Declined, Tier};
use sanare_core::settings::Settings;
use sanare_drift::shape::{CallShape, shape_of_call};
use sanare_drift::twin::twins;
use serde_json::Value as Json;

use self::call::{Asked, Caller};
use self::desk::Desk;
use crate::wire::drift::{problem, versions};
use crate::wire::target::unified;

pub use self::call::{Tested, test_connection};

/// The setting-up of a provider with paths from the project's folder; `None` without a provider.
///
/// # Errors
/// Everything that is wrong with it, in one line.
pub fn setup_in(settings: &Settings, root: &Path) -> Result<Option<Setup>, String> {
    let Some(mut setup) = sanare_core::model::setup::setup(settings).map_err(|wrong| wrong.join("; "))? else {
        return Ok(None);
    };
    let from_root = |path: &str| root.join(path).to_string_lossy().into_owned();
    if let KeyPlace::File(path) = &setup.key {
        let whole = root.join(path);
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        // Whatever lies in the project is shared with it sooner or later (C18).
        if real(&whole).starts_with(real(root)) {
            return Err("`model.api_key_file` lies in the project; keep keys outside of it".to_owned());
        }
        setup.key = KeyPlace::File(from_root(path));
    }
    if !setup.ca_file.is_empty() {
        setup.ca_file = from_root(&setup.ca_file);
    }
    if let Some((_, path)) = &mut setup.cassette {
        *path = from_root(path);
    }
    Ok(Some(setup))
}

/// A model behind the proposer's port.
pub struct ModelProposer<'a> {
    setup: Result<Setup, String>,
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    port: Box<dyn ModelPort>,
    incident: &'a Incident,
    remembered: Vec<CallShape>,
    about: String,
    amounts: Amounts,
    attempts: u32,
    used: u32,
    /// Replies of this incident that could not be read, told to the next attempt.
    unread: Vec<Attempt>,
}

impl std::fmt::Debug for ModelProposer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelProposer").field("setup", &self.setup).finish_non_exhaustive()
    }
}

impl<'a> ModelProposer<'a> {
    /// The proposer that the settings describe; `None` where no provider is configured, and then nothing of this is run.
    pub fn configured(
        settings: &Settings,
        root: &Path,
        store: &'a dyn Store,
        clock: &'a dyn Clock,
        incident: &'a Incident,
        remembered: Vec<CallShape>,
    ) -> Option<Self> {
        let setup = setup_in(settings, root).transpose()?;
        let amount = |key: &str| usize::try_from(settings.number(key)).unwrap_or(usize::MAX);
        Some(Self {
            setup,
            store,
            clock,
            port: sanare_effects::model::real(),
            incident,
            remembered,
            about: settings.text("heal.about").to_owned(),
            amounts: Amounts {
                arguments: amount("evidence.model.arguments"),
                locals: amount("evidence.model.locals"),
                environment: amount("evidence.model.environment"),
                logs: amount("evidence.model.logs"),
            },
            attempts: incident.rules.attempts,
            used: 0,
            unread: Vec::new(),
        })
    }

    fn request(
        &self,
        setup: &Setup,
        ask: &Ask<'_>,
        desk: &Desk,
        versions: &[(String, String)],
    ) -> Result<Request, Declined> {
        let evidence = ask.evidence;
        let seen = shape_of_call(&evidence.source, ask.function, &evidence.arguments, None);
        let json = |shape: &CallShape| serde_json::to_value(shape).unwrap_or(Json::Null);
        let material = Material {
            task: Task {
                function: ask.function.to_owned(),
                kind: desk.kind.to_owned(),
                signature: desk.signature.clone(),
                file: self.incident.path.clone(),
            },
            about: &self.about,
            evidence,
            source: &desk.source,
            called: desk.called.clone(),
            imports: desk.imports.clone(),
            class_header: desk.class_header.clone(),
            expected: self.remembered.first().map(json).unwrap_or(Json::Null),
            seen: json(&seen),
            declined: ask.declined,
            versions,
            attempts: self.earlier(ask, desk),
            amounts: self.amounts,
        };
        let prompt = Prompt::newest(Purpose::RepairFunction);
        let nonce = format!("{:032x}", self.clock.chance());
        compose(&material, &prompt, &nonce, &setup.house_rules, setup.prompt_size)
            .map_err(|too_large| declined(Reason::BudgetSpent, format!("`model.prompt_size`: {too_large}")))
    }

    /// Every candidate that was rejected, with its diff, the check and the reason, and every reply that was none.
    fn earlier(&self, ask: &Ask<'_>, desk: &Desk) -> Vec<Attempt> {
        let rejected = ask.rejections.iter().map(|rejection| Attempt {
            number: 0,
            diff: unified(
                &desk.source,
                &format!("{}\n", desk.secrets.mask(&rejection.function).trim_end()),
                "function",
            ),
            check: rejection.check.clone(),
            reason: rejection.reason.clone(),
        });
        let mut all: Vec<Attempt> = rejected.chain(self.unread.iter().cloned()).collect();
        for (number, attempt) in all.iter_mut().enumerate() {
            attempt.number = number + 1;
        }
        all
    }
}

impl Proposer for ModelProposer<'_> {
    fn name(&self) -> ProposerName {
        ProposerName::Model
    }

    fn propose(&mut self, ask: &Ask<'_>, subject: &mut dyn Subject) -> Result<Box<Candidate>, Declined> {
        let setup = self.setup.clone().map_err(|wrong| declined(Reason::Settings, wrong))?;
        let desk = Desk::of(ask.evidence, ask.function)
            .ok_or_else(|| declined(Reason::NoSource, "the function cannot be shown without its secrets".to_owned()))?;
        let versions = versions(ask, subject);
        let mut gone = || subject.abandoned();
        let mut caller = Caller {
            setup: &setup,
            store: self.store,
            clock: self.clock,
            incident: &self.incident.id,
            end: self.clock.elapsed() + ask.time_left_ms,
            gone: RefCell::new(&mut gone),
        };
        loop {
            if self.used >= self.attempts {
                return Err(declined(Reason::NoProposer, "the model gave no reply that could be read".to_owned()));
            }
            self.used += 1;
            let request = self.request(&setup, ask, &desk, &versions)?;
            match caller.ask(self.port.as_mut(), &request, self.used)? {
                Asked::Reply(reply) => {
                    let made = candidate(&reply, &desk, &request)?;
                    // Thought of only now: nobody has to wait for the question until the answer can be tried.
                    let twins = twins(&problem(ask, &self.remembered, versions, subject));
                    let seen = seen::seen(&ask.evidence.arguments);
                    return Ok(Box::new(Candidate { twins, seen, ..made }));
                }
                Asked::Unread(code) => self.unread.push(Attempt {
                    number: 0,
                    diff: String::new(),
                    check: format!("reply/{}", code.word()),
                    reason: code.sentence().to_owned(),
                }),
            }
        }
    }
}

fn candidate(reply: &Reply, desk: &Desk, request: &Request) -> Result<Candidate, Declined> {
    let Some(function) = &reply.candidate else {
        return Err(declined(Reason::NoProposer, format!("the model has no repair: {}", reply.summary)));
    };
    let mut evidence: Vec<String> = Vec::new();
    if let Some(cause) = &reply.probable_cause {
        evidence.push(format!("cause, says the model: {cause}"));
    }
    let cited: Vec<String> = reply.evidence_used.iter().map(|handle| part_of(request, handle)).collect();
    evidence.push(format!(
        "confidence {:.2}; it cites {}",
        reply.confidence,
        if cited.is_empty() { "nothing".to_owned() } else { cited.join(", ") }
    ));
    Ok(Candidate {
        proposer: ProposerName::Model,
        function: desk.secrets.put_back(&function.replace("\r\n", "\n")),
        // A model's word is never identity: at best a proposal, which an oracle confirms or a person.
        tier: Tier::C,
        summary: vec![reply.summary.clone()],
        evidence,
        mappings: Vec::new(),
        twins: Vec::new(),
        expected_names: Vec::new(),
        lock: Vec::new(),
        seen: Vec::new(),
        confidence: Some(reply.confidence),
    })
}

/// The name of the part behind a handle.
fn part_of(request: &Request, handle: &str) -> String {
    request
        .user
        .split_once(&format!("\"{handle}\":{{\"part\":\""))
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or_else(|| handle.to_owned(), |(name, _)| name.to_owned())
}

fn declined(reason: Reason, summary: String) -> Declined {
    Declined { reason, summary, report: Json::Null }
}
