//! HTTP/1.1, as much as an exchange of one text for another needs. Redirects are answers like others.

use std::io::{ErrorKind, Read, Write};

use sanare_core::port::{CallFault, Incoming};

/// Bytes of a head, of an answer, of an answer that is no success.
const HEAD: usize = 32 * 1024;
const BODY: usize = 1024 * 1024;
const REFUSAL: usize = 8 * 1024;

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The method, such as `POST`.
    pub method: &'a str,
    /// What the `Host` header says.
    pub authority: &'a str,
    /// Path and query.
    pub path: &'a str,
    /// Further headers.
    pub headers: &'a [(String, String)],
    /// The body; without one no length is told.
    pub body: Option<&'a [u8]>,
}

/// How much of an answer is taken.
#[derive(Clone, Copy, Debug)]
pub enum Limits {
    /// A reply of a model: status 200 is read whole or not at all.
    Reply,
    /// So many bytes of any answer; what is longer is cut.
    Cut(usize),
}

/// An answer, and what its head says for the next one.
#[derive(Debug)]
pub struct Answered {
    /// Status and body.
    pub incoming: Incoming,
    /// Whether the body is there as a whole.
    pub whole: bool,
    /// Seconds that it has lain in a cache.
    pub age: Option<u64>,
    /// Where the server says that something is, as it was written; nothing is followed.
    pub location: Option<String>,
    /// Seconds that the server asks to wait.
    pub retry_after: Option<u64>,
    /// Whether the connection may be used again.
    pub reusable: bool,
}

/// A fault, and whether a byte of the answer had come: without one, a kept connection was merely closed meanwhile.
#[derive(Debug)]
pub struct Failed {
    /// What happened.
    pub fault: CallFault,
    /// Whether an answer had begun.
    pub begun: bool,
}

/// Sends a model's request and reads its answer.
pub fn exchange(
    stream: &mut (impl Read + Write),
    authority: &str,
    path: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> Result<Answered, Failed> {
    send(stream, Request { method: "POST", authority, path, headers, body: Some(body) }, Limits::Reply)
}

/// Sends a request and reads its answer.
pub fn send(stream: &mut (impl Read + Write), request: Request<'_>, limits: Limits) -> Result<Answered, Failed> {
    let mut head = format!(
        "{} {} HTTP/1.1\r\nhost: {}\r\naccept: application/json\r\nuser-agent: sanare/{}\r\n",
        request.method,
        request.path,
        request.authority,
        env!("CARGO_PKG_VERSION"),
    );
    if let Some(body) = request.body {
        head.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    for (name, value) in request.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(request.body.unwrap_or_default());
    let sent = stream.write_all(&bytes).and_then(|()| stream.flush());
    let mut reader = Reader { stream, buffer: Vec::new(), at: 0, begun: false };
    // A server that refuses may answer before it has read everything: what it says is looked at even so.
    match (sent, answer(&mut reader, limits)) {
        (_, Ok(answered)) => Ok(answered),
        (Err(error), Err(_)) if !reader.begun => Err(Failed { fault: fault(&error), begun: false }),
        (_, Err(fault)) => Err(Failed { fault, begun: reader.begun }),
    }
}

/// Asks a proxy for a way through.
pub fn tunnel(stream: &mut (impl Read + Write), authority: &str) -> Result<(), CallFault> {
    let request = format!("CONNECT {authority} HTTP/1.1\r\nhost: {authority}\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(|error| fault(&error))?;
    let mut reader = Reader { stream, buffer: Vec::new(), at: 0, begun: false };
    let head = reader.head()?;
    // Nothing may follow the head before we speak: it would be taken for the server's.
    if head.status != 200 || reader.at < reader.buffer.len() {
        return Err(CallFault::Connect);
    }
    Ok(())
}

fn fault(error: &std::io::Error) -> CallFault {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => CallFault::Timeout,
        // rustls reports what is wrong with a certificate as invalid data; its words name no content.
        ErrorKind::InvalidData => CallFault::Tls(error.to_string().chars().take(120).collect()),
        _ => CallFault::Broken,
    }
}

#[derive(Debug, Default)]
struct Head {
    status: u16,
    length: Option<usize>,
    chunked: bool,
    encoded: bool,
    close: bool,
    retry_after: Option<u64>,
    age: Option<u64>,
    location: Option<String>,
}

fn answer<S: Read>(reader: &mut Reader<'_, S>, limits: Limits) -> Result<Answered, CallFault> {
    let mut head = reader.head()?;
    while (100..200).contains(&head.status) {
        head = reader.head()?;
    }
    let (good, most) = match limits {
        Limits::Reply if head.status == 200 => (true, BODY),
        Limits::Reply => (false, REFUSAL),
        Limits::Cut(most) => (false, most),
    };
    let read_as_text = good || matches!(limits, Limits::Cut(_));
    if read_as_text && head.encoded {
        return Err(CallFault::Encoded);
    }
    let mut whole = true;
    let body = match (head.status, head.chunked, head.length) {
        (204 | 304, _, _) => Vec::new(),
        (_, true, _) => reader.chunked(most, &mut whole)?,
        (_, _, Some(length)) => {
            whole = length <= most;
            if good && !whole {
                return Err(CallFault::TooLong);
            }
            reader.exactly(length.min(most))?
        }
        (_, _, None) => {
            head.close = true;
            reader.until_closed(most, &mut whole)?
        }
    };
    if good && !whole {
        return Err(CallFault::TooLong);
    }
    let reusable = whole && !head.close && reader.at == reader.buffer.len();
    let incoming = Incoming { status: head.status, body };
    Ok(Answered { incoming, whole, age: head.age, location: head.location, retry_after: head.retry_after, reusable })
}

struct Reader<'a, S> {
    stream: &'a mut S,
    buffer: Vec<u8>,
    at: usize,
    begun: bool,
}

impl<S: Read> Reader<'_, S> {
    /// More bytes into the buffer; how many.
    fn more(&mut self) -> Result<usize, CallFault> {
        if self.at > 64 * 1024 {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        let mut chunk = [0; 16 * 1024];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(count) => {
                    self.begun |= count > 0;
                    self.buffer.extend_from_slice(chunk.get(..count).unwrap_or_default());
                    return Ok(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Many servers end an encrypted stream without saying so.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) => return Err(fault(&error)),
            }
        }
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    /// A line without its end.
    fn line(&mut self, most: usize) -> Result<String, CallFault> {
        let mut seen = 0;
        loop {
            if let Some(found) = self.rest().get(seen..).and_then(|rest| rest.iter().position(|byte| *byte == b'\n')) {
                let line = self.rest().get(..seen + found).unwrap_or_default();
                let text = String::from_utf8_lossy(line).trim_end_matches('\r').to_owned();
                self.at += seen + found + 1;
                return Ok(text);
            }
            seen = self.rest().len();
            if seen > most {
                return Err(CallFault::NotHttp);
            }
            if self.more()? == 0 {
                return Err(CallFault::Broken);
            }
        }
    }

    fn head(&mut self) -> Result<Head, CallFault> {
        let first = self.line(HEAD)?;
        let mut words = first.split(' ');
        let version = words.next().unwrap_or_default();
        let status = words.next().and_then(|word| word.parse::<u16>().ok()).filter(|code| (100..600).contains(code));
        let (true, Some(status)) = (version.starts_with("HTTP/1."), status) else { return Err(CallFault::NotHttp) };
        let mut head = Head { status, close: version == "HTTP/1.0", ..Head::default() };
        let mut bytes = first.len();
        loop {
            let line = self.line(HEAD)?;
            bytes += line.len() + 2;
            if bytes > HEAD {
                return Err(CallFault::NotHttp);
            }
            if line.is_empty() {
                return Ok(head);
            }
            let (name, value) = line.split_once(':').ok_or(CallFault::NotHttp)?;
            head.take(&name.trim().to_ascii_lowercase(), value.trim())?;
        }
    }

    fn exactly(&mut self, length: usize) -> Result<Vec<u8>, CallFault> {
        while self.rest().len() < length {
            if self.more()? == 0 {
                return Err(CallFault::Broken);
            }
        }
        let body = self.rest().get(..length).unwrap_or_default().to_vec();
        self.at += length;
        Ok(body)
    }

    fn until_closed(&mut self, most: usize, whole: &mut bool) -> Result<Vec<u8>, CallFault> {
        while self.rest().len() <= most {
            if self.more()? == 0 {
                let body = self.rest().to_vec();
                self.at = self.buffer.len();
                return Ok(body);
            }
        }
        *whole = false;
        Ok(self.rest().get(..most).unwrap_or_default().to_vec())
    }

    fn chunked(&mut self, most: usize, whole: &mut bool) -> Result<Vec<u8>, CallFault> {
        let mut body = Vec::new();
        loop {
            let line = self.line(1_024)?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| CallFault::NotHttp)?;
            if size == 0 {
                while !self.line(HEAD)?.is_empty() {}
                return Ok(body);
            }
            if size > most - body.len() {
                *whole = false;
                let left = most - body.len();
                body.extend(self.exactly(left)?);
                return Ok(body);
            }
            body.extend(self.exactly(size)?);
            if !self.line(2)?.is_empty() {
                return Err(CallFault::NotHttp);
            }
        }
    }
}

impl Head {
    fn take(&mut self, name: &str, value: &str) -> Result<(), CallFault> {
        match name {
            "content-length" => {
                let length = value.parse::<usize>().map_err(|_| CallFault::NotHttp)?;
                if self.length.is_some_and(|known| known != length) {
                    return Err(CallFault::NotHttp);
                }
                self.length = Some(length);
            }
            "transfer-encoding" => match value.to_ascii_lowercase().as_str() {
                "chunked" => self.chunked = true,
                "identity" => {}
                _ => self.encoded = true,
            },
            "content-encoding" => self.encoded |= !matches!(value.to_ascii_lowercase().as_str(), "identity" | ""),
            "connection" => self.close |= value.to_ascii_lowercase().contains("close"),
            // Seconds only: a date would need a clock that agrees with the server's.
            "retry-after" => self.retry_after = value.parse().ok(),
            "age" => self.age = value.parse().ok(),
            "location" => self.location = Some(value.to_owned()),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
