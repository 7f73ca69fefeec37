//! A language model as an agent: one question, one repair turn, within durable limits; trusted with nothing (S58 to S71).

use std::sync::{Mutex, PoisonError};

use sanare_core::model::prompt::{Prompt, Purpose};
use sanare_core::model::reply::Code;
use sanare_core::model::setup::{JsonMode, Setup};
use sanare_core::model::usage::estimate_tokens;
use sanare_core::model::wire::{self, Answer, Turn};
use sanare_core::port::store::Bucket;
use sanare_core::port::{CallFault, Incoming, ModelPort, Store};
use sanare_core::service::confidence::Caps;
use sanare_core::service::port::AgentCall;
use sanare_core::service::prompt::{Question, Telemetry, compose};
use sanare_core::service::reply::{Asked, read};
use sanare_core::service::{Agent, AgentFailure, AgentName, AgentResult, Application, Context};

/// Calls in a sliding hour; 0 is never, `None` has no limit. Kept in the store: a restart refills nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// For one application.
    pub application: Option<u64>,
    /// In all.
    pub all: Option<u64>,
    /// Tokens that they may cost in a day, in plus out, counted in thousands: the most that one can cost is set aside before
    /// it is made, and what the provider says that it used is what stays.
    pub tokens: Option<u64>,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { application: Some(60), all: Some(300), tokens: None }
    }
}

const DAY_MS: u64 = 24 * HOUR_MS;
/// Tokens are counted by this many.
const THOUSAND: u64 = 1_000;
/// Thousands that one call is believed to have used at most.
const BELIEVED: u64 = 10_000;
const HOUR_MS: u64 = 60 * 60 * 1_000;
/// Tokens that are asked for at most after a reply that was cut off.
const MOST_TOKENS: u64 = 16_384;
/// Milliseconds that must be left for a call to be worth it.
const LEAST_MS: u64 = 50;

/// A model.
pub struct ModelAgent<'a> {
    /// Provider, model, limits of a reply.
    pub setup: Setup,
    /// The way to it.
    pub port: Mutex<Box<dyn ModelPort + Send + 'a>>,
    /// Where calls are counted.
    pub budgets: &'a dyn Store,
    /// How many there may be.
    pub limits: CallLimits,
    /// Milliseconds on a clock that never goes back.
    pub elapsed: &'a (dyn Fn() -> u64 + Send + Sync),
    /// The most that it is believed.
    pub caps: Caps,
    /// How text from outside is shown to it.
    pub telemetry: Telemetry,
}

impl Agent for ModelAgent<'_> {
    fn diagnose(&self, context: &Context, call: &AgentCall) -> Result<AgentResult, AgentFailure> {
        let prompt = Prompt::newest(Purpose::DiagnoseIncident);
        let nonce = format!("{:032x}", call.chance);
        let question = compose(context, &prompt, &nonce, &self.telemetry, &self.setup.house_rules);
        let end = (self.elapsed)() + call.millis;
        let mut turn = Turn { max_tokens: self.setup.max_tokens, json_mode: self.setup.json_mode, complaint: None };
        for _ in 0..2 {
            let answer = self.answer(&prompt, &question, &mut turn, context, call, end)?;
            let asked = Asked {
                context,
                readings: &question.readings,
                agent: self.name(&prompt),
                caps: self.caps,
                id: call.diagnosis_id.clone(),
                now: call.now,
            };
            let code = match read(answer.text.as_bytes(), &asked) {
                Ok(result) => return Ok(result),
                Err(_) if answer.cut_off => Code::CutOff,
                Err(invalid) => invalid.code,
            };
            if code == Code::CutOff {
                turn.max_tokens = (turn.max_tokens * 2).min(MOST_TOKENS.max(turn.max_tokens));
            }
            // The code's fixed sentence, and nothing of the reply.
            turn.complaint = Some(code.sentence());
        }
        Err(AgentFailure::InvalidReply)
    }
}

impl ModelAgent<'_> {
    fn name(&self, prompt: &Prompt) -> AgentName {
        AgentName::Model {
            provider: self.setup.provider.word().to_owned(),
            model: self.setup.model.clone(),
            prompt: prompt.id.clone(),
            version: prompt.version,
            hash: prompt.hash.clone(),
        }
    }

    /// One answer; where the endpoint refuses the form that was asked for, it is asked once more without.
    fn answer(
        &self,
        prompt: &Prompt,
        question: &Question,
        turn: &mut Turn,
        context: &Context,
        call: &AgentCall,
        end: u64,
    ) -> Result<Answer, AgentFailure> {
        let incoming = self.exchange(prompt, question, *turn, context, call, end)?;
        let form_refused = wire::refuses_reply_form(incoming.status, &incoming.body);
        if incoming.status == 200 || turn.json_mode == JsonMode::Off || !form_refused {
            return self.taken(&incoming);
        }
        turn.json_mode = JsonMode::Off;
        let incoming = self.exchange(prompt, question, *turn, context, call, end)?;
        self.taken(&incoming)
    }

    fn taken(&self, incoming: &Incoming) -> Result<Answer, AgentFailure> {
        match incoming.status {
            200 => wire::read(self.setup.provider, &incoming.body).map_err(|_| AgentFailure::Provider),
            401 | 403 => Err(AgentFailure::NotAuthorised),
            429 => Err(AgentFailure::RateLimited),
            _ => Err(AgentFailure::Provider),
        }
    }

    /// One call, counted before it is made.
    fn exchange(
        &self,
        prompt: &Prompt,
        question: &Question,
        turn: Turn,
        context: &Context,
        call: &AgentCall,
        end: u64,
    ) -> Result<Incoming, AgentFailure> {
        let left = end.saturating_sub((self.elapsed)());
        if left < LEAST_MS {
            return Err(AgentFailure::Timeout);
        }
        let asked = estimate_tokens(&question.request.system) + estimate_tokens(&question.request.user);
        let calls = self.calls(&context.incident.application);
        let tokens = self.tokens(asked + turn.max_tokens);
        let now = call.now.millis();
        // What cannot be counted is not done.
        match self.budgets.spend(&calls.into_iter().chain(tokens.clone()).collect::<Vec<_>>(), now) {
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => return Err(AgentFailure::LimitReached),
        }
        let outgoing = wire::outgoing(&self.setup, prompt, &question.request, turn);
        let mut port = self.port.lock().unwrap_or_else(PoisonError::into_inner);
        let called = port.exchange(&self.setup, &outgoing, left, &mut || false).map_err(|fault| failure(&fault))?;
        if let Some((tokens, used)) = tokens.zip(self.used(&called)) {
            // Where that cannot be written all that was set aside stays counted.
            let _ = self.budgets.settle_units(&tokens, now, used);
        }
        Ok(called)
    }

    /// A unit of each limit on calls.
    fn calls(&self, application: &Application) -> Vec<Bucket> {
        let own = self.limits.application.map(|limit| (format!("model_calls:{application}"), limit));
        let all = self.limits.all.map(|limit| ("model_calls".to_owned(), limit));
        let bucket = |(name, limit)| Bucket { name, window: HOUR_MS, limit, units: 1 };
        own.into_iter().chain(all).map(bucket).collect()
    }

    /// As many thousands of tokens as a call may cost at most.
    fn tokens(&self, most: u64) -> Option<Bucket> {
        let limit = self.limits.tokens? / THOUSAND;
        Some(Bucket { name: "model_tokens".to_owned(), window: DAY_MS, limit, units: most.div_ceil(THOUSAND) })
    }

    /// Thousands of tokens that the provider says a call has used. Without its word nobody knows.
    fn used(&self, called: &Incoming) -> Option<u64> {
        let answer = (called.status == 200).then(|| wire::read(self.setup.provider, &called.body).ok())??;
        let (sent, got) = answer.tokens?;
        Some(sent.saturating_add(got).div_ceil(THOUSAND).min(BELIEVED))
    }
}

/// The type of a failure: a provider's words end here.
fn failure(fault: &CallFault) -> AgentFailure {
    match fault {
        CallFault::NoKey(_) => AgentFailure::NotAuthorised,
        CallFault::Timeout => AgentFailure::Timeout,
        CallFault::Lookup | CallFault::Address | CallFault::Connect | CallFault::Tls(_) | CallFault::Broken => {
            AgentFailure::Connection
        }
        CallFault::NotHttp
        | CallFault::Encoded
        | CallFault::TooLong
        | CallFault::CannotStart(_)
        | CallFault::Left(_)
        | CallFault::Cassette(_)
        | CallFault::GivenUp => AgentFailure::Provider,
    }
}

impl std::fmt::Debug for ModelAgent<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelAgent").field("setup", &self.setup).field("limits", &self.limits).finish_non_exhaustive()
    }
}
