//! What child and parent say to each other.
//!
//! The child sends, in this order: `F` and a part (it could not shut itself in), or nothing yet; a descriptor with `L`
//! (listen here for refusals) or `l` (there is none); `A` (alive); `R`, a number that only this trial knows, a length,
//! the report.

use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

use crate::sandbox::Part;

pub(super) const SECRET: usize = 16;

/// One message of the child.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    NotShutIn(Part),
    ShutIn,
    Alive,
    Report(Vec<u8>),
    /// Nothing whole yet.
    Incomplete,
    TooLong,
    Garbled,
}

/// Puts messages together from what arrives.
pub(super) struct Ear {
    buffer: Vec<u8>,
    secret: [u8; SECRET],
    longest: usize,
}

impl Ear {
    pub(super) fn new(secret: [u8; SECRET], longest: usize) -> Self {
        Self { buffer: Vec::new(), secret, longest }
    }

    pub(super) fn hear(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next message, if it is whole.
    pub(super) fn next(&mut self) -> Heard {
        match *self.buffer.as_slice() {
            [] | [b'F'] => Heard::Incomplete,
            [b'F', part, ..] => {
                self.take(2, Part::ALL.get(usize::from(part)).map_or(Heard::Garbled, |part| Heard::NotShutIn(*part)))
            }
            [b'L' | b'l', ..] => self.take(1, Heard::ShutIn),
            [b'A', ..] => self.take(1, Heard::Alive),
            [b'R', ref rest @ ..] => self.report(rest),
            _ => Heard::Garbled,
        }
    }

    fn report(&self, rest: &[u8]) -> Heard {
        let Some((secret, rest)) = rest.split_first_chunk::<SECRET>() else { return Heard::Incomplete };
        let Some((length, report)) = rest.split_first_chunk::<8>() else { return Heard::Incomplete };
        let length = u64::from_le_bytes(*length);
        if *secret != self.secret || (report.len() as u64) > length {
            return Heard::Garbled;
        }
        if length > self.longest as u64 {
            return Heard::TooLong;
        }
        if (report.len() as u64) < length { Heard::Incomplete } else { Heard::Report(report.to_vec()) }
    }

    fn take(&mut self, count: usize, heard: Heard) -> Heard {
        self.buffer.drain(..count);
        heard
    }
}

/// The head of a report.
pub(super) fn report_head(secret: [u8; SECRET], length: usize) -> [u8; 1 + SECRET + 8] {
    let mut head = [b'R'; 1 + SECRET + 8];
    let parts = secret.into_iter().chain((length as u64).to_le_bytes());
    for (to, from) in head.iter_mut().skip(1).zip(parts) {
        *to = from;
    }
    head
}

pub(super) fn failure(part: Part) -> [u8; 2] {
    let at = Part::ALL.iter().position(|known| *known == part).unwrap_or_default();
    [b'F', u8::try_from(at).unwrap_or_default()]
}

/// Sends all bytes; false when the parent is gone.
#[expect(unsafe_code, reason = "a bare send, for use between fork and work")]
pub(super) fn send(socket: RawFd, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        // SAFETY: the buffer is as long as the call is told.
        let sent = unsafe { libc::send(socket, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
        match usize::try_from(sent) {
            Ok(sent) => bytes = bytes.get(sent..).unwrap_or_default(),
            Err(_) if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
    true
}

/// Room for one descriptor beside a message, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Beside([u8; 64]);

/// Sends `L` with a descriptor beside it.
#[expect(unsafe_code, reason = "descriptors travel beside messages, which the standard library does not offer")]
pub(super) fn send_descriptor(socket: RawFd, descriptor: RawFd) -> bool {
    let mut letter = [b'L'];
    let mut part = libc::iovec { iov_base: letter.as_mut_ptr().cast(), iov_len: 1 };
    let mut beside = Beside([0; 64]);
    // SAFETY: all-zero bytes are a valid message header; every pointer put into it lives until the call returns, and
    // the room beside the message is larger than the space of one descriptor.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = beside.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(4) as _;
        let head = libc::CMSG_FIRSTHDR(&raw const message);
        if head.is_null() {
            return false;
        }
        (*head).cmsg_level = libc::SOL_SOCKET;
        (*head).cmsg_type = libc::SCM_RIGHTS;
        (*head).cmsg_len = libc::CMSG_LEN(4) as _;
        libc::CMSG_DATA(head).cast::<RawFd>().write_unaligned(descriptor);
        libc::sendmsg(socket, &raw const message, libc::MSG_NOSIGNAL) == 1
    }
}

/// Receives bytes, and a descriptor when one lies beside them. No bytes means the end.
#[expect(unsafe_code, reason = "descriptors travel beside messages, which the standard library does not offer")]
pub(super) fn receive(socket: RawFd, buffer: &mut [u8]) -> std::io::Result<(usize, Option<OwnedFd>)> {
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut beside = Beside([0; 64]);
    // SAFETY: as in `send_descriptor`; a descriptor that the kernel put there is open and belongs to nobody yet.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = beside.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(4) as _;
        let count = libc::recvmsg(socket, &raw mut message, libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT);
        let Ok(count) = usize::try_from(count) else { return Err(std::io::Error::last_os_error()) };
        let head = libc::CMSG_FIRSTHDR(&raw const message);
        if head.is_null() || (*head).cmsg_type != libc::SCM_RIGHTS {
            return Ok((count, None));
        }
        let descriptor = libc::CMSG_DATA(head).cast::<RawFd>().read_unaligned();
        Ok((count, Some(OwnedFd::from_raw_fd(descriptor))))
    }
}

#[cfg(test)]
mod tests {
    use super::{Ear, Heard, SECRET, failure, report_head};
    use crate::sandbox::Part;

    fn hear(bytes: &[u8]) -> Vec<Heard> {
        let mut ear = Ear::new([7; SECRET], 100);
        ear.hear(bytes);
        let mut all = Vec::new();
        loop {
            all.push(ear.next());
            if !matches!(all.last(), Some(Heard::ShutIn | Heard::Alive | Heard::NotShutIn(_))) {
                return all;
            }
        }
    }

    #[test]
    fn messages() {
        assert_eq!(hear(b""), [Heard::Incomplete]);
        assert_eq!(hear(b"lA"), [Heard::ShutIn, Heard::Alive, Heard::Incomplete]);
        assert_eq!(hear(&failure(Part::Seccomp)), [Heard::NotShutIn(Part::Seccomp), Heard::Incomplete]);
        let report =
            |secret: u8, length: usize, body: &[u8]| hear(&[&report_head([secret; SECRET], length), body].concat());
        assert_eq!(report(7, 2, b"ok"), [Heard::Report(b"ok".to_vec())]);
        assert_eq!(report(7, 3, b"ok"), [Heard::Incomplete]);
        assert_eq!(report(7, 1, b"ok"), [Heard::Garbled]);
        assert_eq!(report(8, 2, b"ok"), [Heard::Garbled]);
        assert_eq!(report(7, 101, b"ok"), [Heard::TooLong]);
        assert_eq!(hear(b"x"), [Heard::Garbled]);
    }
}
