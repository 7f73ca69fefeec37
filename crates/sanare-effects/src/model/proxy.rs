//! An HTTP proxy: the one in the settings, else what the environment says for https, else none.

use sanare_core::model::setup::{Base, Setup, base};
use sanare_core::port::CallFault;

/// The proxy for this provider. This machine itself is never reached through one.
pub fn proxy_for(setup: &Setup, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Base>, CallFault> {
    if setup.base.is_loopback_name() || !setup.base.tls || setup.proxy == "none" {
        return Ok(None);
    }
    let named = |names: [&str; 2]| names.iter().find_map(|name| variable(name)).filter(|text| !text.trim().is_empty());
    let written = match setup.proxy.as_str() {
        "" => match named(["HTTPS_PROXY", "https_proxy"]) {
            Some(proxy) if !is_excepted(&setup.base.host, &named(["NO_PROXY", "no_proxy"]).unwrap_or_default()) => {
                proxy
            }
            _ => return Ok(None),
        },
        own => own.to_owned(),
    };
    let written = if written.contains("://") { written } else { format!("http://{written}") };
    match base(written.trim(), true) {
        Ok(proxy) if !proxy.tls => Ok(Some(proxy)),
        _ => Err(CallFault::Connect),
    }
}

fn is_excepted(host: &str, list: &str) -> bool {
    list.split(',')
        .map(|entry| entry.trim().trim_start_matches('.').to_ascii_lowercase())
        .any(|entry| entry == "*" || (!entry.is_empty() && (host == entry || host.ends_with(&format!(".{entry}")))))
}

#[cfg(test)]
mod tests {
    use super::is_excepted;

    #[test]
    fn exceptions_are_names_and_their_ends() {
        assert!(is_excepted("api.corp.net", "localhost, .corp.net"));
        assert!(is_excepted("corp.net", "corp.net") && is_excepted("x", "*"));
        assert!(!is_excepted("notcorp.net", "corp.net") && !is_excepted("x", ""));
    }
}
