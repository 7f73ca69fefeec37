//! One bounded request: nothing is followed, nothing is kept open, and it is known whether anything was sent.

use std::time::{Duration, Instant};

use sanare_core::port::CallFault;

use super::endpoint::Endpoint;
use crate::model::connect::open_direct;
use crate::model::http::{Limits, Request, send};
use crate::model::key_of;
use crate::model::stream::Bounds;

/// A request to a configured address.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub method: &'a str,
    pub endpoint: &'a Endpoint,
    /// Headers of this one request.
    pub headers: &'a [(String, String)],
    pub body: Option<&'a [u8]>,
    pub timeout: Duration,
    /// Bytes of an answer that are taken.
    pub most: usize,
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Reply {
    /// Surely nothing was sent.
    NotSent(CallFault),
    /// It was sent, or a part of it, and no answer can be read.
    Lost(CallFault),
    /// An answer.
    Answer(Answer),
}

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    /// Whether the body is there as a whole.
    pub whole: bool,
    pub age: Option<u64>,
    /// Where it says that something is.
    pub location: Option<String>,
}

impl Call<'_> {
    /// Sends it once.
    pub fn send(&self) -> Reply {
        let bounds = Bounds { end: Instant::now() + self.timeout, silence: self.timeout };
        let mut headers = self.endpoint.headers.clone();
        headers.extend_from_slice(self.headers);
        for secret in &self.endpoint.secrets {
            match key_of(&secret.place) {
                Ok(Some(key)) => headers.push((secret.header.clone(), format!("{}{key}", secret.before))),
                Ok(None) => {}
                Err(fault) => return Reply::NotSent(fault),
            }
        }
        headers.push(("connection".to_owned(), "close".to_owned()));
        let Endpoint { base, ca_file, allow_insecure, .. } = self.endpoint;
        let mut stream = match open_direct(base, ca_file, *allow_insecure, bounds) {
            Ok(stream) => stream,
            Err(fault) => return Reply::NotSent(fault),
        };
        let authority = base.authority();
        let request = Request {
            method: self.method,
            authority: &authority,
            path: &self.endpoint.path,
            headers: &headers,
            body: self.body,
        };
        match send(&mut stream, request, Limits::Cut(self.most)) {
            Ok(answered) => Reply::Answer(Answer {
                status: answered.incoming.status,
                body: answered.incoming.body,
                whole: answered.whole,
                age: answered.age,
                location: answered.location,
            }),
            Err(failed) => Reply::Lost(failed.fault),
        }
    }
}

/// Whether a connection to an address can be made now; nothing is sent on it.
pub(super) fn reachable(endpoint: &Endpoint, timeout: Duration) -> Result<(), CallFault> {
    let bounds = Bounds { end: Instant::now() + timeout, silence: timeout };
    open_direct(&endpoint.base, &endpoint.ca_file, endpoint.allow_insecure, bounds).map(drop)
}
