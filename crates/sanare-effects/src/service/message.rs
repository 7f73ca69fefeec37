//! Messages to people on their way out: a signed POST, or a program that reads them. Whether anybody took one is known by
//! a code alone; what the other side says is not looked at (S104, S132).

use std::ffi::OsString;
use std::time::Duration;

use ring::hmac;
use sanare_core::model::setup::KeyPlace;
use sanare_core::port::CallFault;

use super::client::{Call, Reply};
use super::endpoint::Endpoint;
use crate::model::key_of;
use crate::task::{Task, TaskEnd, run};
use crate::trial::PrivateFolder;

/// A way out.
#[derive(Clone, Debug)]
pub enum Way {
    /// A POST of JSON.
    Webhook {
        /// Where.
        endpoint: Endpoint,
        /// The secret that it is signed with.
        sign: Option<KeyPlace>,
    },
    /// A program with the message on its standard input: code 0 means that it was taken.
    Command {
        /// An absolute program and its arguments.
        argv: Vec<String>,
        /// Variables of our environment that it sees.
        environment: Vec<String>,
    },
}

/// One message, as it goes out.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// The same each time that it is sent.
    pub id: &'a str,
    /// JSON.
    pub body: &'a [u8],
    /// Seconds since 1970, for the signature.
    pub at: u64,
}

impl Way {
    /// Sends it once.
    ///
    /// # Errors
    /// Why it was not taken, by its class.
    pub fn send(&self, message: Outgoing<'_>, timeout: Duration) -> Result<(), String> {
        match self {
            Self::Webhook { endpoint, sign } => post(endpoint, sign.as_ref(), message, timeout),
            Self::Command { argv, environment } => tell(argv, environment, message, timeout),
        }
    }
}

fn post(endpoint: &Endpoint, sign: Option<&KeyPlace>, message: Outgoing<'_>, timeout: Duration) -> Result<(), String> {
    let at = message.at.to_string();
    let mut headers = vec![
        ("content-type".to_owned(), "application/json".to_owned()),
        ("idempotency-key".to_owned(), message.id.to_owned()),
        ("x-sanare-id".to_owned(), message.id.to_owned()),
        ("x-sanare-timestamp".to_owned(), at.clone()),
    ];
    if let Some(place) = sign {
        // A message that cannot be signed is not sent unsigned.
        let secret = key_of(place).map_err(|fault| fault.word().to_owned())?.unwrap_or_default();
        headers.push(("x-sanare-signature".to_owned(), signature(&secret, &at, message.body)));
    }
    let call = Call { method: "POST", endpoint, headers: &headers, body: Some(message.body), timeout, most: 1_024 };
    match call.send() {
        Reply::Answer(answer) if (200..300).contains(&answer.status) => Ok(()),
        Reply::Answer(answer) => Err(format!("answered {}", answer.status)),
        Reply::NotSent(CallFault::NoKey(_)) => Err("no_key".to_owned()),
        Reply::NotSent(fault) | Reply::Lost(fault) => Err(fault.word().to_owned()),
    }
}

/// `sha256=` and HMAC-SHA256 of the timestamp, a dot and the body (RFC 2104), in hex.
fn signature(secret: &str, at: &str, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, &[at.as_bytes(), b".", body].concat());
    tag.as_ref().iter().fold("sha256=".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

fn tell(argv: &[String], environment: &[String], message: Outgoing<'_>, timeout: Duration) -> Result<(), String> {
    let cannot = |_| "cannot_start".to_owned();
    let folder = PrivateFolder::create().map_err(cannot)?;
    let mut argv = argv.iter().map(OsString::from);
    let seen = environment.iter().filter_map(|name| std::env::var_os(name).map(|value| (name.into(), value)));
    let task = Task {
        program: argv.next().unwrap_or_default(),
        arguments: argv.collect(),
        folder: folder.path().to_owned(),
        environment: seen.chain([("SANARE_MESSAGE".into(), message.id.into())]).collect(),
        input: message.body.to_vec(),
        deadline: timeout,
        output: 0,
    };
    match run(&task).map_err(|_| "cannot_start".to_owned())?.end {
        TaskEnd::Exited(0) => Ok(()),
        TaskEnd::Exited(code) => Err(format!("left with {code}")),
        TaskEnd::TimedOut => Err("timeout".to_owned()),
        TaskEnd::Killed(_) | TaskEnd::Unknown => Err("killed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::{Duration, Instant};

    use sanare_core::model::setup::KeyPlace;

    use super::{Outgoing, Way, signature};
    use crate::service::twin::{Say, Twin, nobody, ok};
    use crate::trial::PrivateFolder;

    const BODY: &[u8] = br#"{"kind":"escalation"}"#;

    fn send(way: &Way) -> String {
        let message = Outgoing { id: "escalation/inc_a/3/0", body: BODY, at: 1_767_225_600 };
        way.send(message, Duration::from_secs(1)).map_or_else(|why| why, |()| "taken".to_owned())
    }

    #[test]
    fn the_signature_is_the_one_that_another_program_computes() {
        // By Python: hmac.new(b"Jefe", b"1.{}", hashlib.sha256).hexdigest()
        let known = "sha256=dc7943cccf20f64327d263db5e2aca27c2b8175e8e6e7ea04f482091bf456b0f";
        assert_eq!(signature("Jefe", "1", b"{}"), known);
    }

    #[test]
    fn a_webhook_is_taken_by_its_code_alone() {
        let folder = PrivateFolder::create().unwrap();
        let secret = folder.path().join("secret");
        std::fs::File::create(&secret).unwrap().write_all(b"Jefe\n").unwrap();
        let sign = Some(KeyPlace::File(secret.display().to_string()));
        let to = |say: Say| {
            let twin = Twin::new(move |_| say.clone());
            let told = send(&Way::Webhook { endpoint: twin.at("/hook"), sign: sign.clone() });
            (told, twin.seen())
        };
        let (told, seen) = to(ok("thank you, password=hunter2"));
        assert_eq!(told, "taken");
        let seen = &seen[0];
        assert_eq!((seen.method.as_str(), seen.body.as_bytes()), ("POST", BODY));
        assert_eq!(seen.header("idempotency-key"), Some("escalation/inc_a/3/0"));
        assert_eq!(seen.header("x-sanare-id"), Some("escalation/inc_a/3/0"));
        assert_eq!(seen.header("x-sanare-signature"), Some(signature("Jefe", "1767225600", BODY).as_str()));
        for (say, why) in [
            (Say::Status(500, "token=abc".to_owned()), "answered 500"),
            (Say::Status(404, String::new()), "answered 404"),
            (Say::With(302, "location: http://127.0.0.1:1/", String::new()), "answered 302"),
            (Say::Reset, "broken"),
            (Say::Raw(b"garbage\r\n\r\n".to_vec()), "not_http"),
        ] {
            assert_eq!(to(say).0, why);
        }
        let begin = Instant::now();
        assert_eq!(to(Say::Hang).0, "timeout");
        assert!(begin.elapsed() < Duration::from_secs(5));
        assert_eq!(send(&Way::Webhook { endpoint: nobody(), sign: None }), "connect");
        let unsigned = Some(KeyPlace::Variable("SANARE_TEST_THERE_IS_NO_SUCH".to_owned()));
        let twin = Twin::new(|_| ok(""));
        assert_eq!(send(&Way::Webhook { endpoint: twin.at("/hook"), sign: unsigned }), "no_key");
        assert!(twin.seen().is_empty(), "nothing is sent unsigned");
    }

    #[test]
    fn a_program_reads_the_message_and_says_by_its_code_whether_it_took_it() {
        let folder = PrivateFolder::create().unwrap();
        let out = folder.path().join("out");
        let told = |script: &str| {
            let argv = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
            send(&Way::Command { argv, environment: Vec::new() })
        };
        assert_eq!(told(&format!("cat > {0}; echo \" $SANARE_MESSAGE$HOME\" >> {0}", out.display())), "taken");
        let read = std::fs::read_to_string(&out).unwrap();
        assert_eq!(read, "{\"kind\":\"escalation\"} escalation/inc_a/3/0\n", "and nothing else of our environment");
        assert_eq!(told("echo password=hunter2 >&2; exit 7"), "left with 7");
        assert_eq!(told("kill -9 $$"), "killed");
        assert_eq!(told("sleep 20"), "timeout");
        let none = Way::Command { argv: vec!["/nowhere/at/all".to_owned()], environment: Vec::new() };
        assert_eq!(send(&none), "cannot_start");
    }
}
