//! Looking a name up, bounded in time. Addresses that no model is served from are refused after it (C77, S74).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::sync::mpsc::channel;

use sanare_core::model::setup::{Base, is_forbidden};
use sanare_core::port::CallFault;

use super::stream::Bounds;

/// Addresses of a host that may be connected to. The name is looked up once: whoever connects goes to one of these, whatever
/// the name says a moment later.
pub fn addresses(base: &Base, allow_insecure: bool, bounds: Bounds) -> Result<Vec<SocketAddr>, CallFault> {
    allowed(base, allow_insecure, look_up(&base.host, base.port, bounds)?)
}

/// Those of what was found that may be connected to. Plain http goes to this machine only, whatever a name says.
fn allowed(base: &Base, allow_insecure: bool, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, CallFault> {
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use sanare_core::model::setup::base;

    use super::{Bounds, addresses, allowed};

    /// What a name that is looked up as these leads to, in the order in which it is tried.
    fn check(url: &str, allow_insecure: bool, found: &[&str]) -> String {
        let base = base(url, allow_insecure).expect("an address");
        let found = found.iter().map(|ip| std::net::SocketAddr::new(ip.parse().expect("an ip"), base.port)).collect();
        match allowed(&base, allow_insecure, found) {
            Ok(good) => good.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            Err(fault) => fault.word().to_owned(),
        }
    }

    #[test]
    fn a_name_leads_to_no_address_that_is_forbidden() {
        let secure = "https://models.internal";
        assert_eq!(check(secure, false, &["10.1.2.3", "2606:4700::1"]), "10.1.2.3:443 [2606:4700::1]:443");
        for metadata in
            ["169.254.169.254", "fe80::1", "fd00:ec2::254", "::ffff:169.254.169.254", "0.0.0.0", "224.0.0.1"]
        {
            for insecure in [false, true] {
                assert_eq!(check(secure, insecure, &[metadata]), "address", "{metadata}");
            }
            // One that names both is connected to where it may be, and nowhere else.
            assert_eq!(check(secure, false, &[metadata, "10.1.2.3"]), "10.1.2.3:443", "{metadata}");
        }
        // Plain http to this machine by its name, and not to what somebody makes the name say.
        assert_eq!(check("http://localhost:8080", false, &["127.0.0.1", "::1"]), "127.0.0.1:8080 [::1]:8080");
        assert_eq!(check("http://localhost:8080", false, &["10.1.2.3"]), "address");
        assert_eq!(check("http://models.internal", true, &["10.1.2.3"]), "10.1.2.3:80");
        assert_eq!(check("http://models.internal", true, &["169.254.169.254"]), "address");
        assert_eq!(check(secure, false, &[]), "address");
    }

    #[test]
    fn an_address_in_place_of_a_name_is_judged_alike() {
        let bounds = Bounds { end: Instant::now() + Duration::from_secs(5), silence: Duration::from_secs(5) };
        let found = |url: &str| {
            addresses(&base(url, true).expect("an address"), true, bounds).map_or_else(
                |fault| fault.word().to_owned(),
                |all| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            )
        };
        assert_eq!(found("http://169.254.169.254/latest"), "address");
        assert_eq!(found("https://[fe80::1]"), "address");
        assert_eq!(found("http://[::1]:9"), "[::1]:9");
        assert_eq!(found("http://127.0.0.1:9"), "127.0.0.1:9");
    }
}
