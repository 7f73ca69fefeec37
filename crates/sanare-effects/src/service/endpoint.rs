//! A configured address with its headers, checked when it is loaded (S74, S79).

use sanare_core::model::setup::{Base, KeyPlace, base};
use sanare_core::service::Invalid;

/// A header's value that is read when it is sent, and stands nowhere else.
#[derive(Clone, Debug, PartialEq)]
pub struct Secret {
    /// The header's name.
    pub header: String,
    /// What stands before the secret, such as `Bearer `.
    pub before: String,
    /// Where it is read.
    pub place: KeyPlace,
}

/// A configured address.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    pub(super) base: Base,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) secrets: Vec<Secret>,
    pub(super) allow_insecure: bool,
    pub(super) ca_file: String,
}

/// Headers that are ours to set.
const OURS: [&str; 8] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "user-agent",
    "accept",
    "idempotency-key",
    "if-match",
];

impl Endpoint {
    /// Checks an address: https, or http to this machine, or to another if `allow_insecure` says so. It may have a query.
    ///
    /// # Errors
    /// [`Invalid`] for what cannot be read or is not allowed. The text is not repeated: it may hold a password.
    pub fn new(url: &str, allow_insecure: bool) -> Result<Self, Invalid> {
        let wrong = |why: String| Invalid::new("url", why);
        let (address, query) = url.split_once('?').map_or((url, None), |(address, query)| (address, Some(query)));
        let base = base(address, true).map_err(wrong)?;
        if !base.tls && !base.is_loopback_name() && !allow_insecure {
            return Err(wrong("goes over http to this machine only, unless `allow_insecure = true`".to_owned()));
        }
        if query.is_some_and(|query| !query.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')) {
            return Err(wrong("has a query with a character that has to be percent-encoded".to_owned()));
        }
        // The path as it was written: a last slash may matter to the one who answers.
        let after_scheme = address.split_once("://").map_or("", |(_, rest)| rest);
        let written = after_scheme.find('/').and_then(|at| after_scheme.get(at..)).unwrap_or("/");
        if !written.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong("has a path with a character that has to be percent-encoded".to_owned()));
        }
        let path = query.map_or_else(|| written.to_owned(), |query| format!("{written}?{query}"));
        Ok(Self { base, path, headers: Vec::new(), secrets: Vec::new(), allow_insecure, ca_file: String::new() })
    }

    /// With a header.
    ///
    /// # Errors
    /// [`Invalid`] for a name or value that is no header, or one that is ours to set.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, Invalid> {
        check_name(name)?;
        if !value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Err(Invalid::new("headers", format!("`{name}` has a character that no header has")));
        }
        self.headers.push((name.to_ascii_lowercase(), value.to_owned()));
        Ok(self)
    }

    /// With a secret.
    ///
    /// # Errors
    /// As [`Endpoint::header`].
    pub fn secret(mut self, secret: Secret) -> Result<Self, Invalid> {
        check_name(&secret.header)?;
        self.secrets.push(Secret { header: secret.header.to_ascii_lowercase(), ..secret });
        Ok(self)
    }

    /// With a file of more certificates to believe.
    #[must_use]
    pub fn ca_file(mut self, path: &str) -> Self {
        path.clone_into(&mut self.ca_file);
        self
    }

    /// Another path below the same host, with the same headers. `path` begins with a slash.
    pub(super) fn at(&self, path: String) -> Self {
        Self { path: format!("{}{path}", self.base.path), ..self.clone() }
    }

    /// Host and port, as a part of a target's key.
    pub fn authority(&self) -> String {
        self.base.authority()
    }
}

fn check_name(name: &str) -> Result<(), Invalid> {
    let fits =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if !fits {
        return Err(Invalid::quoting("headers", name, "a header's name is letters, digits, `-` and `_`"));
    }
    if OURS.contains(&name.to_ascii_lowercase().as_str()) {
        return Err(Invalid::quoting("headers", name, "this one is ours to set"));
    }
    Ok(())
}

/// Percent-encodes a part of a query or path: all but letters, digits and `-._~` (RFC 3986, 2.3).
pub(super) fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, percent};

    #[test]
    fn addresses_are_checked_when_they_are_loaded() {
        let check = |url: &str| Endpoint::new(url, false).map(|it| format!("{} {}", it.authority(), it.path)).ok();
        assert_eq!(check("https://ml.internal/reload/").as_deref(), Some("ml.internal /reload/"));
        assert_eq!(check("http://127.0.0.1:8000").as_deref(), Some("127.0.0.1:8000 /"));
        assert_eq!(check("https://ml.internal/x?full=1").as_deref(), Some("ml.internal /x?full=1"));
        for bad in [
            "http://ml.internal/reload",
            "https://user:pass@ml.internal/",
            "file:///etc/passwd",
            "ml.internal",
            "https://ml.internal/a b",
            "https://ml.internal/x?a b",
            "https://ml.internal/x\r\nhost: other",
            "https://ml.internal/#x",
        ] {
            assert_eq!(check(bad), None, "{bad}");
        }
        assert!(Endpoint::new("http://ml.internal/reload", true).is_ok());
    }

    #[test]
    fn headers_cannot_end_their_line_or_be_ours() {
        let endpoint = || Endpoint::new("https://ml.internal/", false).expect("an address");
        assert!(endpoint().header("x-team", "ml ops").is_ok());
        for (name, value) in [("x-a", "b\r\nx-c: d"), ("x a", "b"), ("", "b"), ("Host", "b"), ("If-Match", "b")] {
            assert!(endpoint().header(name, value).is_err(), "{name}");
        }
    }

    #[test]
    fn queries_are_encoded() {
        assert_eq!(percent("rate(x{a=\"b\"}[5m]) > 1 é"), "rate%28x%7Ba%3D%22b%22%7D%5B5m%5D%29%20%3E%201%20%C3%A9");
    }
}
