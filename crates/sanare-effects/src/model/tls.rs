//! Encryption: the roots that browsers believe, and those of the owner's own file.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use sanare_core::port::CallFault;

use super::stream::{Stream, Timed};

/// The last configuration and the file that it was made with: roots are read once a process.
static LAST: Mutex<Option<(String, Arc<ClientConfig>)>> = Mutex::new(None);

/// Encrypts a connection to this host. The handshake runs under the socket's bounds, with the first write.
pub fn encrypt(host: &str, ca_file: &str, socket: Timed) -> Result<Stream, CallFault> {
    let name = ServerName::try_from(host.to_owned()).map_err(|_| CallFault::Tls("not a host name".to_owned()))?;
    let connection =
        ClientConnection::new(config(ca_file)?, name).map_err(|error| CallFault::Tls(error.to_string()))?;
    Ok(Stream::Tls(Box::new(rustls::StreamOwned::new(connection, socket))))
}

fn config(ca_file: &str) -> Result<Arc<ClientConfig>, CallFault> {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, config)) = last.as_ref().filter(|(file, _)| file == ca_file) {
        return Ok(Arc::clone(config));
    }
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if !ca_file.is_empty() {
        let unreadable = || CallFault::Tls(format!("`{ca_file}` holds no certificate that can be read"));
        let certificates = CertificateDer::pem_file_iter(ca_file).map_err(|_| unreadable())?;
        let mut added = 0;
        for certificate in certificates {
            roots.add(certificate.map_err(|_| unreadable())?).map_err(|_| unreadable())?;
            added += 1;
        }
        if added == 0 {
            return Err(unreadable());
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| CallFault::Tls(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let config = Arc::new(config);
    *last = Some((ca_file.to_owned(), Arc::clone(&config)));
    Ok(config)
}
