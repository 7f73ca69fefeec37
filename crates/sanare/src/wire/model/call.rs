//! One question to the model: leave from the budgets, the exchange, the reading, one repair turn, the record of it all.

use std::cell::RefCell;
use std::sync::Mutex;

use sanare_core::id::Id;
use sanare_core::ledger::Entry;
use sanare_core::model::budget::Cost;
use sanare_core::model::prompt::{Prompt, Purpose};
use sanare_core::model::reply::{Code, Reply, read as read_reply};
use sanare_core::model::request::{Request, connection_test};
use sanare_core::model::setup::{JsonMode, Provider, Setup};
use sanare_core::model::usage::{Usage, estimate_tokens};
use sanare_core::model::wire::{self, Answer, Outgoing, Turn};
use sanare_core::outcome::Reason;
use sanare_core::port::store::{Leave, ModelCall};
use sanare_core::port::{CallFault, Clock, Incoming, ModelPort, Store};
use sanare_core::proposal::Declined;
use sanare_core::redact::Redactor;
use serde_json::json;

use super::declined;

/// The most tokens that are asked for after a reply that was cut off.
const MOST_TOKENS: u64 = 16_384;
/// Time that must be left for a call to be worth it, in milliseconds.
const LEAST: u64 = 50;

/// Endpoints that refused the form of the reply: for the rest of the process it is not asked for there.
static FORMLESS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// What came of asking.
#[derive(Debug)]
pub enum Asked {
    /// A reply of the right form.
    Reply(Box<Reply>),
    /// Neither the reply nor its repair turn could be read.
    Unread(Code),
}

/// Everything that a question needs besides its text.
pub struct Caller<'a> {
    /// The provider.
    pub setup: &'a Setup,
    /// Budgets and record.
    pub store: &'a dyn Store,
    /// Time.
    pub clock: &'a dyn Clock,
    /// The incident.
    pub incident: &'a Id,
    /// When time is over, in the clock's own milliseconds.
    pub end: u64,
    /// Whether nobody waits for the heal any more.
    pub gone: RefCell<&'a mut dyn FnMut() -> bool>,
}

impl Caller<'_> {
    /// Asks, with one repair turn.
    ///
    /// # Errors
    /// [`Declined`] when nothing can be asked or nobody answers.
    pub fn ask(&mut self, port: &mut dyn ModelPort, request: &Request, attempt: u32) -> Result<Asked, Declined> {
        let prompt = Prompt::newest(Purpose::RepairFunction);
        let mut turn = Turn { max_tokens: self.setup.max_tokens, json_mode: form(self.setup), complaint: None };
        let mut last = Code::Empty;
        for repair in [false, true] {
            let answer = self.answer(port, &prompt, request, &mut turn, (attempt, repair))?;
            let code = match (answer.cut_off, read_reply(answer.text.as_bytes(), &request.handles)) {
                (_, Ok(reply)) => return Ok(Asked::Reply(Box::new(reply))),
                (true, Err(_)) => Code::CutOff,
                (false, Err(invalid)) => invalid.code,
            };
            if code == Code::CutOff {
                turn.max_tokens = (turn.max_tokens * 2).min(MOST_TOKENS.max(turn.max_tokens));
            }
            turn.complaint = Some(code.sentence());
            last = code;
        }
        Ok(Asked::Unread(last))
    }

    fn answer(
        &self,
        port: &mut dyn ModelPort,
        prompt: &Prompt,
        request: &Request,
        turn: &mut Turn,
        which: (u32, bool),
    ) -> Result<Answer, Declined> {
        let outgoing = wire::outgoing(self.setup, prompt, request, *turn);
        let (called, usage) = self.call(port, &outgoing, request, turn.max_tokens)?;
        let refused_form = called.as_ref().is_ok_and(|incoming| {
            turn.json_mode != JsonMode::Off && wire::refuses_reply_form(incoming.status, &incoming.body)
        });
        let outcome = outcome(self.setup, called, request);
        self.record(prompt, &outgoing, which, &outcome, &usage, request)?;
        if refused_form {
            forget_form(self.setup);
            turn.json_mode = JsonMode::Off;
            return self.answer(port, prompt, request, turn, which);
        }
        outcome.map_err(|(reason, words)| declined(reason, words))
    }

    /// The exchange, within the budgets: what came back, and what it cost.
    fn call(
        &self,
        port: &mut dyn ModelPort,
        outgoing: &Outgoing,
        request: &Request,
        max_tokens: u64,
    ) -> Result<(Result<Incoming, CallFault>, Usage), Declined> {
        let began = self.clock.elapsed();
        let left = self.end.saturating_sub(began);
        if left < LEAST {
            return Err(declined(Reason::Deadline, "no time is left to ask the model".to_owned()));
        }
        let estimate = estimate_tokens(&request.system) + estimate_tokens(&request.user);
        let prices = self.setup.prices;
        let most = Cost { tokens: estimate + max_tokens, money: prices.money(estimate, max_tokens).unwrap_or(0) };
        let call = ModelCall { incident: self.incident.to_string(), at: self.clock.now(), most };
        let number = match self.store.begin_model_call(&call, &self.setup.limits).map_err(|fault| internal(&fault))? {
            Leave::Granted(number) => number,
            Leave::Spent(key) => return Err(declined(Reason::BudgetSpent, format!("`{key}` is spent"))),
        };
        let called = port.exchange(self.setup, outgoing, left, &mut **self.gone.borrow_mut());
        let tokens = called
            .as_ref()
            .ok()
            .filter(|incoming| incoming.status == 200)
            .and_then(|incoming| wire::read(self.setup.provider, &incoming.body).ok())
            .map(|answer| (answer.tokens, estimate_tokens(&answer.text)));
        let (tokens_in, tokens_out, estimated) = match tokens {
            Some((Some((sent, got)), _)) => (sent, got, false),
            Some((None, got)) => (estimate, got, true),
            // Nobody says what a failed call cost; what was sent may have been counted there.
            None => (estimate, 0, true),
        };
        let money = prices.money(tokens_in, tokens_out);
        let millis = self.clock.elapsed().saturating_sub(began);
        let usage = Usage { calls: 1, millis, tokens_in, tokens_out, estimated, money };
        let cost = Cost { tokens: tokens_in + tokens_out, money: money.unwrap_or(0) };
        self.store.settle_model_call(number, cost).map_err(|fault| internal(&fault))?;
        Ok((called, usage))
    }

    /// The record of a call: the redacted bytes that were sent, what came of them by class, what it cost.
    fn record(
        &self,
        prompt: &Prompt,
        outgoing: &Outgoing,
        (attempt, repair): (u32, bool),
        outcome: &Result<Answer, (Reason, String)>,
        usage: &Usage,
        request: &Request,
    ) -> Result<(), Declined> {
        let came = match outcome {
            Ok(answer) if answer.cut_off => "cut_off".to_owned(),
            Ok(answer) => match read_reply(answer.text.as_bytes(), &request.handles) {
                Ok(reply) if reply.candidate.is_none() => "no_repair".to_owned(),
                Ok(_) => "candidate".to_owned(),
                Err(invalid) => format!("malformed: {}", invalid.code.word()),
            },
            Err((_, words)) => format!("failed: {words}"),
        };
        let payload = Redactor::standard().json_owned(json!({
            "attempt": attempt, "repair_turn": repair, "provider": self.setup.provider.word(), "model": self.setup.model,
            "prompt": { "id": prompt.id, "version": prompt.version, "hash": prompt.hash.as_str() },
            "sent": outgoing.body, "left_out": request.left_out, "came": came, "usage": usage,
        }));
        let entry =
            Entry { incident: self.incident.clone(), step: "model_call".to_owned(), at: self.clock.now(), payload };
        self.store.append(&entry).map(|_| ()).map_err(|fault| internal(&fault))
    }
}

fn internal(fault: &dyn std::fmt::Display) -> Declined {
    declined(Reason::Internal, fault.to_string())
}

/// The answer, or why there is none: by class and status, never with the provider's text.
fn outcome(setup: &Setup, called: Result<Incoming, CallFault>, request: &Request) -> Result<Answer, (Reason, String)> {
    let incoming = called.map_err(|fault| {
        let reason = if matches!(fault, CallFault::NoKey(_)) { Reason::Settings } else { Reason::NoProposer };
        (reason, format!("the model could not be asked: {fault}"))
    })?;
    if incoming.status != 200 {
        let refused = wire::refused_params(setup, incoming.status, &incoming.body);
        let names = refused.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let more = match incoming.status {
            400 | 422 if !names.is_empty() => format!("; it speaks of your parameter {names}"),
            401 | 403 => "; is the key right?".to_owned(),
            404 => "; are `model.model` and `model.base_url` right?".to_owned(),
            300..=399 => "; redirects are not followed".to_owned(),
            _ => String::new(),
        };
        return Err((
            Reason::NoProposer,
            format!("the model's provider answered with status {}{more}", incoming.status),
        ));
    }
    let answer = wire::read(setup.provider, &incoming.body).map_err(|why| (Reason::NoProposer, why.to_string()))?;
    // Ollama cuts a prompt that does not fit, and answers about the rest as if it were whole.
    let least = (request.system.len() + request.user.len()) as u64 / 4 * 7 / 10;
    if setup.provider == Provider::Ollama && answer.tokens.is_some_and(|(sent, _)| sent < least) {
        return Err((
            Reason::NoProposer,
            "the model saw a part of the prompt only; set `model.params.num_ctx`".to_owned(),
        ));
    }
    Ok(answer)
}

fn endpoint(setup: &Setup) -> String {
    format!("{} {} {}", setup.base.authority(), setup.base.path, setup.model)
}

fn form(setup: &Setup) -> JsonMode {
    let known = FORMLESS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if known.contains(&endpoint(setup)) { JsonMode::Off } else { setup.json_mode }
}

fn forget_form(setup: &Setup) {
    FORMLESS.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(endpoint(setup));
}

/// What a test of the connection found.
#[derive(Clone, Debug, PartialEq)]
pub struct Tested {
    /// What it cost.
    pub usage: Usage,
    /// Whether the reply had the right form.
    pub reads: Result<(), String>,
}

/// One real call that asks for nothing but a reply of the right form.
///
/// # Errors
/// Why there was no answer.
pub fn test_connection(
    setup: &Setup,
    store: &dyn Store,
    clock: &dyn Clock,
    port: &mut dyn ModelPort,
) -> Result<Tested, String> {
    let incident = Id::new("tst", clock.now(), clock.chance());
    let mut never = || false;
    let end = clock.elapsed() + 180_000;
    let caller = Caller { setup, store, clock, incident: &incident, end, gone: RefCell::new(&mut never) };
    let prompt = Prompt::newest(Purpose::CheckConnection);
    let request = connection_test(&prompt, &format!("{:032x}", clock.chance()));
    let mut turn = Turn { max_tokens: setup.max_tokens.min(1_024), json_mode: form(setup), complaint: None };
    loop {
        let outgoing = wire::outgoing(setup, &prompt, &request, turn);
        let (called, usage) =
            caller.call(port, &outgoing, &request, turn.max_tokens).map_err(|declined| declined.summary)?;
        if turn.json_mode != JsonMode::Off
            && called.as_ref().is_ok_and(|incoming| wire::refuses_reply_form(incoming.status, &incoming.body))
        {
            forget_form(setup);
            turn.json_mode = JsonMode::Off;
            continue;
        }
        let answer = outcome(setup, called, &request).map_err(|(_, words)| words)?;
        let reads = match answer.cut_off {
            true => Err(Code::CutOff.sentence().to_owned()),
            false => read_reply(answer.text.as_bytes(), &[]).map(|_| ()).map_err(|invalid| invalid.to_string()),
        };
        return Ok(Tested { usage, reads });
    }
}
