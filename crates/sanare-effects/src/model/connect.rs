//! From a provider's settings to an open connection, and the one that is kept for the next exchange.

use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sanare_core::model::setup::{Base, Setup};
use sanare_core::port::CallFault;

use super::stream::{Bounds, Stream, Timed};
use super::{http, lookup, proxy, tls};

/// Longest time to a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// How long an unused connection is kept.
const KEEP: Duration = Duration::from_secs(60);

struct Kept {
    process: u32,
    key: String,
    at: Instant,
    stream: Stream,
}

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

fn key(setup: &Setup) -> String {
    format!("{} {} {} {} {}", setup.base.tls, setup.base.authority(), setup.proxy, setup.ca_file, setup.allow_insecure)
}

/// The kept connection, if it is for this provider and still good.
pub fn kept(setup: &Setup, bounds: Bounds) -> Option<Stream> {
    let mut slot = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found = slot.take()?;
    // A parent's connection is its own on both sides of a fork.
    if found.process != std::process::id() {
        std::mem::forget(found.stream);
        return None;
    }
    if found.key != key(setup) || found.at.elapsed() > KEEP || found.stream.is_stale() {
        return None;
    }
    found.stream.set(bounds);
    Some(found.stream)
}

/// Keeps a connection for the next exchange.
pub fn keep(setup: &Setup, stream: Stream) {
    let kept = Kept { process: std::process::id(), key: key(setup), at: Instant::now(), stream };
    *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
}

/// A new connection.
pub fn open(setup: &Setup, bounds: Bounds) -> Result<Stream, CallFault> {
    let through = proxy::proxy_for(setup, |name| std::env::var(name).ok())?;
    let socket = match &through {
        None => socket_to(&setup.base, setup.allow_insecure, bounds)?,
        // The proxy looks the provider up. It may stand anywhere: the owner named it.
        Some(proxy) => socket_to(proxy, true, bounds)?,
    };
    let mut timed = Timed::new(socket, bounds);
    if through.is_some() {
        http::tunnel(&mut timed, &authority_with_port(&setup.base))?;
    }
    encrypted(&setup.base, &setup.ca_file, timed)
}

/// A new connection without a proxy.
pub fn open_direct(base: &Base, ca_file: &str, allow_insecure: bool, bounds: Bounds) -> Result<Stream, CallFault> {
    encrypted(base, ca_file, Timed::new(socket_to(base, allow_insecure, bounds)?, bounds))
}

fn socket_to(base: &Base, allow_insecure: bool, bounds: Bounds) -> Result<TcpStream, CallFault> {
    let connecting = Bounds { end: bounds.end.min(Instant::now() + CONNECT), silence: CONNECT };
    let socket = connect(&lookup::addresses(base, allow_insecure, connecting)?, connecting)?;
    // Small requests, one at a time: nothing is gained by waiting for more to send.
    let _ = socket.set_nodelay(true);
    Ok(socket)
}

fn encrypted(base: &Base, ca_file: &str, timed: Timed) -> Result<Stream, CallFault> {
    match base.tls {
        true => tls::encrypt(&base.host, ca_file, timed),
        false => Ok(Stream::Plain(timed)),
    }
}

fn authority_with_port(base: &Base) -> String {
    let authority = base.authority();
    match base.port {
        443 | 80 => format!("{authority}:{}", base.port),
        _ => authority,
    }
}

fn connect(addresses: &[SocketAddr], bounds: Bounds) -> Result<TcpStream, CallFault> {
    let mut fault = CallFault::Connect;
    for address in addresses {
        let Ok(left) = bounds.left() else { return Err(CallFault::Timeout) };
        match TcpStream::connect_timeout(address, left) {
            Ok(socket) => return Ok(socket),
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => fault = CallFault::Timeout,
            Err(_) => fault = CallFault::Connect,
        }
    }
    Err(fault)
}
