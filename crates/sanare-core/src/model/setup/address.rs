//! Addresses that a request may go to, as far as their text says it (C77, S74).

use std::net::IpAddr;

/// The beginning of an address: scheme, host, port, path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// Whether the connection is encrypted.
    pub tls: bool,
    /// Host name or address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path without a last slash.
    pub path: String,
}

impl Base {
    /// What the `Host` header says.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.tls, self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }

    /// The path of a request below this base. A version that stands in both is kept once: owners write the base with
    /// and without it.
    pub fn join(&self, path: &str) -> String {
        let rest = match self.path.rsplit_once('/') {
            Some((_, last)) if path.starts_with(&format!("/{last}/")) => path.get(last.len() + 1..).unwrap_or(path),
            _ => path,
        };
        format!("{}{rest}", self.path)
    }

    /// Whether the host is this machine by its name.
    pub fn is_loopback_name(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost")
            || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

/// Reads an address. The text of a wrong one is not repeated: it may hold a password.
///
/// # Errors
/// What is wrong with it.
pub fn base(url: &str, allow_insecure: bool) -> Result<Base, String> {
    let (scheme, rest) = url.split_once("://").ok_or("an address begins with https://")?;
    let tls = match scheme.to_ascii_lowercase().as_str() {
        "https" => true,
        "http" => false,
        _ => return Err("only https, or http to this machine".to_owned()),
    };
    if rest.contains(['?', '#', '\\']) || rest.chars().any(|symbol| symbol.is_whitespace() || symbol.is_control()) {
        return Err("an address has host, port and path, and no query".to_owned());
    }
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    if authority.contains('@') {
        return Err("no user and no password stand in an address".to_owned());
    }
    let (host, port) = host_and_port(authority).ok_or("host or port cannot be read")?;
    let port = port.unwrap_or(if tls { 443 } else { 80 });
    if is_placeholder(&host) {
        return Err("this is a placeholder, not a host".to_owned());
    }
    let base = Base { tls, host, port, path: path.trim_end_matches('/').to_owned() };
    if !tls && !base.is_loopback_name() && !allow_insecure {
        return Err("http goes to this machine only; set `model.allow_insecure` if you must".to_owned());
    }
    Ok(base)
}

fn host_and_port(authority: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, if after.is_empty() { None } else { Some(after.strip_prefix(':')?) })
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let named = host.chars().all(|symbol| symbol.is_ascii_alphanumeric() || "-._:<>{}".contains(symbol));
    if host.is_empty() || !named {
        return None;
    }
    let port = match port {
        Some(text) => Some(text.parse::<u16>().ok().filter(|port| *port > 0)?),
        None => None,
    };
    Some((host.to_ascii_lowercase(), port))
}

/// Hosts that stand in examples and templates.
fn is_placeholder(host: &str) -> bool {
    let parts: Vec<&str> = host.split('.').collect();
    host.contains(['<', '>', '{', '}'])
        || parts.iter().any(|part| matches!(*part, "example" | "placeholder" | "xxx" | "yyy"))
        || parts
            .iter()
            .any(|part| part.starts_with("your-") || part.starts_with("your_") || part.starts_with("my-resource"))
        || parts.iter().any(|part| matches!(*part, "yourresource" | "your" | "changeme"))
}

/// Whether an address, once looked up, is one that no model is served from: link-local, metadata services, none at all.
pub fn is_forbidden(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            v4.is_link_local()
                || v4.is_unspecified()
                || v4.is_multicast()
                || v4.is_broadcast()
                || v4.octets() == [100, 100, 100, 200]
                || v4.octets() == [192, 0, 0, 192]
        }
        IpAddr::V6(v6) => {
            let segments = v6.segments();
            v6.to_ipv4_mapped().is_some_and(|v4| is_forbidden(IpAddr::V4(v4)))
                || v6.is_unspecified()
                || v6.is_multicast()
                || segments[0] & 0xffc0 == 0xfe80
                || (segments[0] == 0xfd00 && segments[1] == 0x0ec2)
                || (segments[0] == 0x0064 && segments[1] == 0xff9b)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{base, is_forbidden};

    fn say(url: &str) -> String {
        match base(url, false) {
            Ok(base) => {
                format!("{} {} {}", if base.tls { "tls" } else { "plain" }, base.authority(), base.join("/v1/x"))
            }
            Err(why) => why,
        }
    }

    #[test]
    fn addresses_are_read_and_judged() {
        assert_eq!(say("https://api.openai.com"), "tls api.openai.com /v1/x");
        assert_eq!(say("https://openrouter.ai/api/v1/"), "tls openrouter.ai /api/v1/x");
        assert_eq!(say("http://127.0.0.1:11434"), "plain 127.0.0.1:11434 /v1/x");
        assert_eq!(say("http://[::1]:8080/p"), "plain [::1]:8080 /p/v1/x");
        for bad in [
            "http://10.0.0.5:8000",
            "ftp://x",
            "https://user:pw@host",
            "https://",
            "https://host:0",
            "https://h?x=1",
            "https://your-resource.openai.azure.com",
            "https://<name>.openai.azure.com",
            "https://api.example.com",
            "file:///etc/passwd",
            "localhost:1234",
            "https://ho st",
        ] {
            assert!(base(bad, false).is_err(), "{bad}: {}", say(bad));
        }
        assert!(!say("https://user:hunter2@host").contains("hunter2"));
        assert!(base("http://10.0.0.5:8000", true).is_ok());
    }

    #[test]
    fn link_local_and_metadata_addresses_are_forbidden() {
        for bad in [
            "169.254.169.254",
            "169.254.0.1",
            "0.0.0.0",
            "::",
            "fe80::1",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
            "100.100.100.200",
            "224.0.0.1",
        ] {
            assert!(is_forbidden(bad.parse().unwrap()), "{bad}");
        }
        for good in ["127.0.0.1", "::1", "10.1.2.3", "192.168.1.4", "8.8.8.8", "2606:4700::1"] {
            assert!(!is_forbidden(good.parse().unwrap()), "{good}");
        }
    }
}
