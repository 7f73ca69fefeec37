//! Looking a name up, bounded in time. Addresses that no model is served from are refused after it (C77, S74).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::sync::mpsc::channel;

use sanare_core::model::setup::{Base, is_forbidden};
use sanare_core::port::CallFault;

use super::stream::Bounds;

/// Addresses of a host that may be connected to. Plain http goes to this machine only, whatever a name says.
pub fn addresses(base: &Base, allow_insecure: bool, bounds: Bounds) -> Result<Vec<SocketAddr>, CallFault> {
    let found = look_up(&base.host, base.port, bounds)?;
    let allowed = found
        .into_iter()
        .filter(|address| !is_forbidden(address.ip()) && (base.tls || allow_insecure || address.ip().is_loopback()));
    let allowed: Vec<SocketAddr> = allowed.take(8).collect();
    if allowed.is_empty() { Err(CallFault::Address) } else { Ok(allowed) }
}

fn look_up(host: &str, port: u16, bounds: Bounds) -> Result<Vec<SocketAddr>, CallFault> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    if host.eq_ignore_ascii_case("localhost") {
        let both = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        return Ok(both.map(|address| SocketAddr::new(address, port)).to_vec());
    }
    // The system's look-up cannot be bounded; a thread that nobody waits for any more ends by itself.
    let (sender, receiver) = channel();
    let host = host.to_owned();
    let spawned = std::thread::Builder::new().name("sanare-lookup".to_owned()).spawn(move || {
        let found = (host.as_str(), port).to_socket_addrs().map(|list| list.collect::<Vec<_>>());
        // Nobody may be listening any more.
        let _ = sender.send(found.unwrap_or_default());
    });
    let left = bounds.left().map_err(|_| CallFault::Timeout)?.min(bounds.silence);
    match spawned.is_ok().then(|| receiver.recv_timeout(left)) {
        Some(Ok(found)) if !found.is_empty() => Ok(found),
        Some(Err(_)) => Err(CallFault::Timeout),
        _ => Err(CallFault::Lookup),
    }
}
