//! A scripted server on loopback, and intents and receipts for it.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::service::declaration::{Declaration, Undo, Written};
use sanare_core::service::port::{Answered, Intent, Probe};
use sanare_core::service::proposal::Params;
use sanare_core::service::receipt::{ActKey, Purpose, Receipt};
use sanare_core::service::target::{Identity, TargetKey};
use sanare_core::service::word::{Health, ReceiptState};
use sanare_core::service::{Action, Application, Component, Moment, Version};

use super::Endpoint;

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// What is answered.
#[derive(Clone, Debug)]
pub(crate) enum Say {
    /// A status and a body.
    Status(u16, String),
    /// The same with a header.
    With(u16, &'static str, String),
    /// Nothing: the connection ends.
    Reset,
    /// A head, and then nothing for ten seconds.
    Hang,
    /// These bytes, and the end.
    Raw(Vec<u8>),
    /// A success whose body has no end.
    Endless,
}

/// Nine parts of a script are this.
pub(crate) fn ok(body: &str) -> Say {
    Say::Status(200, body.to_owned())
}

/// The server.
pub(crate) struct Twin {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

type Script = dyn Fn(&Seen) -> Say + Send + Sync;

impl Twin {
    pub fn new(script: impl Fn(&Seen) -> Say + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (script, kept): (Arc<Script>, _) = (Arc::new(script), Arc::clone(&seen));
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (script, kept) = (Arc::clone(&script), Arc::clone(&kept));
                std::thread::spawn(move || serve(socket, &*script, &kept));
            }
        });
        Self { address, seen }
    }

    /// An address of it.
    pub fn at(&self, path: &str) -> Endpoint {
        Endpoint::new(&format!("http://{}{path}", self.address), false).expect("an address")
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("a lock").clone()
    }

    /// Requests that changed something.
    pub fn writes(&self) -> usize {
        self.seen().iter().filter(|seen| seen.method != "GET").count()
    }
}

/// An address on which nobody listens.
pub(crate) fn nobody() -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    Endpoint::new(&format!("http://{address}/"), false).expect("an address")
}

fn serve(mut socket: TcpStream, script: &Script, kept: &Mutex<Vec<Seen>>) {
    let Some(seen) = read(&mut socket) else { return };
    kept.lock().expect("a lock").push(seen.clone());
    let head = |code: u16, more: &str, length: usize| {
        format!("HTTP/1.1 {code} Word\r\n{more}content-length: {length}\r\n\r\n").into_bytes()
    };
    // Whoever asked may have gone already.
    let _ = match script(&seen) {
        Say::Status(code, body) => socket.write_all(&[head(code, "", body.len()), body.into_bytes()].concat()),
        Say::With(code, header, body) => {
            socket.write_all(&[head(code, &format!("{header}\r\n"), body.len()), body.into_bytes()].concat())
        }
        Say::Reset => Ok(()),
        Say::Hang => {
            let written = socket.write_all(b"HTTP/1.1 200 OK\r\n");
            std::thread::sleep(Duration::from_secs(10));
            written
        }
        Say::Raw(bytes) => socket.write_all(&bytes),
        Say::Endless => {
            let mut written = socket.write_all(&head(200, "", 1 << 40));
            let block = [b'x'; 64 * 1024];
            while written.is_ok() {
                written = socket.write_all(&block);
            }
            written
        }
    };
}

fn read(socket: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4_096];
    let end = loop {
        let count = socket.read(&mut buffer).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&buffer[..count]);
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    while bytes.len() < end + 4 + length {
        let count = socket.read(&mut buffer).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&buffer[..count]);
    }
    let body = String::from_utf8_lossy(&bytes[end + 4..]).into_owned();
    Some(Seen { method, path, headers, body })
}

/// A receipt for an action on `fraud`.
pub(crate) fn receipt(action: Action, before: Identity, intended: Identity) -> Receipt {
    let version = |text: &str| Version::parse(text).expect("a version");
    Receipt {
        id: Id::new("rct", 1, 7),
        key: ActKey { incident: Id::new("inc", 1, 1), attempt: 1, action, purpose: Purpose::Act },
        application: Application::parse("fraud").expect("a name"),
        component: Component::default(),
        target: TargetKey::parse("twin:fraud/x").expect("a key"),
        fence: 7,
        params: match action {
            Action::RollbackModel => Params::Rollback { from_version: version("42"), to_version: version("41") },
            Action::RestartComponent => Params::Restart { component: Component::default() },
            _ => Params::Empty,
        },
        before,
        intended,
        undo: Undo::None,
        snapshot: Digest::of(b"x"),
        approval: None,
        deadline: Moment::parse("2030-01-01T00:00:00Z").expect("a time"),
        state: ReceiptState::Started,
        effect: None,
        reference: None,
        intended_at: Moment::default(),
        started_at: None,
        ended_at: None,
    }
}

/// The receipt of taking it back.
pub(crate) fn undo_of(receipt: &Receipt) -> Receipt {
    let key = ActKey { purpose: Purpose::Undo, ..receipt.key.clone() };
    let id = Id::new("rct", 2, 7);
    Receipt { id, key, before: receipt.intended.clone(), intended: receipt.before.clone(), ..receipt.clone() }
}

/// The intent of a receipt, with two seconds for it.
pub(crate) fn intent(receipt: &Receipt) -> Intent {
    Intent::of(receipt, 2_000)
}

/// A declaration with a time limit of two seconds.
pub(crate) fn declared(action: Action, written: Written) -> Declaration {
    let target = TargetKey::parse("twin:fraud/x").expect("a key");
    let timeout_ms = written.timeout_ms.or(Some(2_000));
    Declaration::check(action, target, Written { timeout_ms, ..written }).expect("a declaration")
}

/// A probe that answers what a function says.
pub(crate) struct ProbeTwin<F>(pub F);

impl<F: Fn() -> Identity + Send + Sync> Probe for ProbeTwin<F> {
    fn name(&self) -> &str {
        "twin"
    }

    fn ask(&self) -> Answered {
        Answered { health: Health::Pass, identity: (self.0)(), millis: 1, detail: None }
    }
}
