//! A connection of which every single read and write is bounded by silence and by the end of the whole exchange.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// When the whole exchange is over.
    pub end: Instant,
    /// Longest time without a byte.
    pub silence: Duration,
}

impl Bounds {
    /// What is left, or the error of a time-out.
    pub fn left(&self) -> io::Result<Duration> {
        let left = self.end.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err(ErrorKind::TimedOut.into()),
            false => Ok(left),
        }
    }
}

/// A socket that looks at its bounds before it waits. Encryption stands on top of it, so that a peer which sends one byte
/// at a time inside one record does not escape them.
#[derive(Debug)]
pub struct Timed {
    socket: TcpStream,
    bounds: Bounds,
}

impl Timed {
    /// A socket under these bounds.
    pub fn new(socket: TcpStream, bounds: Bounds) -> Self {
        Self { socket, bounds }
    }

    /// New bounds, for the next exchange.
    pub fn set(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// Whether the peer has closed it, or sent something that nobody asked for.
    fn is_stale(&self) -> bool {
        let mut byte = [0];
        let looked = self.socket.set_nonblocking(true).and_then(|()| self.socket.peek(&mut byte));
        let quiet = matches!(looked, Err(ref error) if error.kind() == ErrorKind::WouldBlock);
        self.socket.set_nonblocking(false).is_err() || !quiet
    }
}

/// Both systems' words for a passed time-out become one.
fn timed_out(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::WouldBlock => ErrorKind::TimedOut.into(),
        _ => error,
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.bounds.left()?.min(self.bounds.silence);
        self.socket.set_read_timeout(Some(left))?;
        self.socket.read(buffer).map_err(timed_out)
    }
}

impl Write for Timed {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let left = self.bounds.left()?.min(self.bounds.silence);
        self.socket.set_write_timeout(Some(left))?;
        self.socket.write(buffer).map_err(timed_out)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// Plain or encrypted.
#[derive(Debug)]
pub enum Stream {
    /// As it is.
    Plain(Timed),
    /// Encrypted.
    Tls(Box<rustls::StreamOwned<rustls::ClientConnection, Timed>>),
}

impl Stream {
    /// New bounds, for the next exchange.
    pub fn set(&mut self, bounds: Bounds) {
        match self {
            Self::Plain(timed) => timed.set(bounds),
            Self::Tls(tls) => tls.sock.set(bounds),
        }
    }

    /// Whether the peer has closed it, or sent something that nobody asked for.
    pub fn is_stale(&self) -> bool {
        match self {
            Self::Plain(timed) => timed.is_stale(),
            Self::Tls(tls) => tls.sock.is_stale(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(timed) => timed.read(buffer),
            Self::Tls(tls) => tls.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(timed) => timed.write(buffer),
            Self::Tls(tls) => tls.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(timed) => timed.flush(),
            Self::Tls(tls) => tls.flush(),
        }
    }
}
