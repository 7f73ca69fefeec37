//! The real way to a provider: a connection, a program, or a cassette in place of both.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sanare_core::model::setup::{Provider, Setup, Tape};
use sanare_core::model::wire::Outgoing;
use sanare_core::port::{CallFault, Incoming, ModelPort};

use super::http::{self, Answered, Failed};
use super::stream::{Bounds, Stream};
use super::{cassette, connect, key};

/// Before the one retry, where the server names no time.
const PAUSE: Duration = Duration::from_millis(500);

/// How often whoever waits is asked whether it still does.
const LOOK: Duration = Duration::from_millis(50);

/// The real port.
#[derive(Debug, Default)]
pub struct RealModel;

/// The real port, boxed.
pub fn real() -> Box<dyn ModelPort> {
    Box::new(RealModel)
}

impl ModelPort for RealModel {
    fn exchange(
        &mut self,
        setup: &Setup,
        outgoing: &Outgoing,
        millis: u64,
        gone: &mut dyn FnMut() -> bool,
    ) -> Result<Incoming, CallFault> {
        match &setup.cassette {
            Some((Tape::Replay, path)) => return cassette::play(path, setup, outgoing),
            Some((Tape::Record, path)) => {
                let incoming = while_wanted(setup, outgoing, millis, gone)?;
                cassette::record(path, setup, outgoing, &incoming)?;
                return Ok(incoming);
            }
            None => {}
        }
        while_wanted(setup, outgoing, millis, gone)
    }
}

/// Asks in a thread of its own: whoever waits here can be called away, and the system's waits cannot. A thread that nobody
/// waits for any more ends by itself, within its bounds.
fn while_wanted(
    setup: &Setup,
    outgoing: &Outgoing,
    millis: u64,
    gone: &mut dyn FnMut() -> bool,
) -> Result<Incoming, CallFault> {
    let (sender, receiver) = channel();
    let given_up = Arc::new(AtomicBool::new(false));
    let (setup, outgoing, told) = (setup.clone(), outgoing.clone(), Arc::clone(&given_up));
    let asking = std::thread::Builder::new().name("sanare-model".to_owned()).spawn(move || {
        // Nobody may be listening any more.
        let _ = sender.send(ask(&setup, &outgoing, millis, &told));
    });
    asking.map_err(|_| CallFault::Connect)?;
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(answered) => return answered,
            Err(RecvTimeoutError::Disconnected) => return Err(CallFault::Broken),
            Err(RecvTimeoutError::Timeout) if gone() => {
                given_up.store(true, Ordering::Relaxed);
                return Err(CallFault::GivenUp);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn ask(setup: &Setup, outgoing: &Outgoing, millis: u64, given_up: &AtomicBool) -> Result<Incoming, CallFault> {
    let key = key::key_of(&setup.key)?;
    let bounds = Bounds {
        end: Instant::now() + Duration::from_millis(millis),
        silence: Duration::from_millis(setup.timeout_ms),
    };
    if setup.provider == Provider::Command {
        return command(setup, outgoing, millis, given_up);
    }
    let mut headers = outgoing.headers.clone();
    if let Some(key) = key {
        let (name, before) = outgoing.key_header;
        headers.push((name.to_owned(), format!("{before}{key}")));
    }
    if setup.provider == Provider::OpenAi
        && let Some(organization) = std::env::var(&setup.organization_env).ok().filter(|text| is_header(text))
    {
        headers.push(("openai-organization".to_owned(), organization));
    }
    let body = outgoing.body.as_ref().to_string().into_bytes();
    let first = once(setup, &outgoing.path, &headers, &body, bounds);
    let Some(wait) = worth_a_retry(&first, bounds, setup.longest_wait_ms) else {
        return first.map(|answered| answered.incoming);
    };
    std::thread::sleep(wait);
    if given_up.load(Ordering::Relaxed) {
        return Err(CallFault::GivenUp);
    }
    once(setup, &outgoing.path, &headers, &body, bounds).map(|answered| answered.incoming)
}

fn is_header(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// How long to wait before the one retry: after a connection that failed, 429 and 5xx, if there is time for it.
fn worth_a_retry(first: &Result<Answered, CallFault>, bounds: Bounds, most: u64) -> Option<Duration> {
    let wait = match first {
        Err(CallFault::Connect | CallFault::Broken) => PAUSE + jitter(),
        Ok(answered) if answered.incoming.status == 429 || (500..600).contains(&answered.incoming.status) => {
            answered.retry_after.map_or_else(|| PAUSE + jitter(), Duration::from_secs)
        }
        _ => return None,
    };
    if wait > Duration::from_millis(most) {
        return None;
    }
    let left = bounds.left().ok()?;
    // What is left after the wait must be worth a request.
    (left > wait + PAUSE).then_some(wait)
}

/// Up to a quarter of a second, so that many processes do not come back at once.
fn jitter() -> Duration {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    Duration::from_millis(u64::from(nanos.wrapping_mul(2_654_435_761) % 250))
}

fn once(
    setup: &Setup,
    path: &str,
    headers: &[(String, String)],
    body: &[u8],
    bounds: Bounds,
) -> Result<Answered, CallFault> {
    if let Some(stream) = connect::kept(setup, bounds) {
        match send(setup, stream, path, headers, body) {
            // It was closed just now. The request was not answered, so it is sent again on a new one.
            Err(Failed { fault: CallFault::Broken, begun: false }) => {}
            other => return other.map_err(|failed| failed.fault),
        }
    }
    let stream = connect::open(setup, bounds)?;
    send(setup, stream, path, headers, body).map_err(|failed| failed.fault)
}

fn send(
    setup: &Setup,
    mut stream: Stream,
    path: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> Result<Answered, Failed> {
    let answered = http::exchange(&mut stream, &setup.base.authority(), path, headers, body)?;
    if answered.reusable {
        connect::keep(setup, stream);
    }
    Ok(answered)
}

#[cfg(test)]
mod tests;

#[cfg(unix)]
fn command(setup: &Setup, outgoing: &Outgoing, millis: u64, given_up: &AtomicBool) -> Result<Incoming, CallFault> {
    super::command::ask(setup, outgoing, millis, &mut || given_up.load(Ordering::Relaxed))
}

#[cfg(not(unix))]
fn command(_: &Setup, _: &Outgoing, _: u64, _: &AtomicBool) -> Result<Incoming, CallFault> {
    Err(CallFault::CannotStart("not on this system yet".to_owned()))
}
