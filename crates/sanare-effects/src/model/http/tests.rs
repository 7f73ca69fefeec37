//! Answers as servers send them, and as they should not.

use std::io::{Cursor, Read, Write};

use super::exchange;

/// A peer that has said all of it already, a few bytes at a time.
struct Peer(Cursor<Vec<u8>>, usize);

impl Read for Peer {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(self.1);
        self.0.read(&mut buffer[..most])
    }
}

impl Write for Peer {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        Ok(buffer.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn said(answer: &str, step: usize) -> String {
    let mut peer = Peer(Cursor::new(answer.as_bytes().to_vec()), step);
    match exchange(&mut peer, "h", "/", &[], b"{}") {
        Ok(found) => format!(
            "{} {:?} {} {:?}",
            found.incoming.status,
            String::from_utf8_lossy(&found.incoming.body),
            found.reusable,
            found.retry_after
        ),
        Err(failed) => failed.fault.word().to_owned(),
    }
}

#[test]
fn answers_are_read_in_pieces_of_any_size() {
    for step in [1, 2, 7, 4096] {
        let check = |answer: &str, expected: &str| assert_eq!(said(answer, step), expected, "{answer:?} by {step}");
        check("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", "200 \"ok\" true None");
        check("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok", "200 \"ok\" false None");
        check("HTTP/1.1 200 OK\r\n\r\nall of it", "200 \"all of it\" false None");
        check("HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", "200 \"ok\" false None");
        check("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "200 \"\" true None");
        check(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nt: 1\r\n\r\n",
            "200 \"abcde\" true None",
        );
        check("HTTP/1.1 429 No\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n", "429 \"\" true Some(7)");
        check("HTTP/1.1 302 Found\r\nlocation: http://x\r\ncontent-length: 0\r\n\r\n", "302 \"\" true None");
    }
}

#[test]
fn what_is_no_answer_is_refused() {
    let check = |answer: &str, expected: &str| assert_eq!(said(answer, 4096), expected, "{answer:?}");
    check("", "broken");
    check("SSH-2.0-OpenSSH\r\n", "not_http");
    check("HTTP/1.1 999999 X\r\n\r\n", "not_http");
    check("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab", "broken");
    check("HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcdef", "not_http");
    check("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", "not_http");
    check("HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\nx", "too_long");
    check("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx", "encoded");
    check("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "not_http");
    check("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\nx", "broken");
    check(&format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(70_000)), "not_http");
    check(&format!("HTTP/1.1 200 OK\r\n\r\n{}", "y".repeat(2_000_000)), "too_long");
    check(&"x".repeat(100_000), "not_http");
    assert!(said(&format!("HTTP/1.1 500 X\r\n\r\n{}", "y".repeat(2_000_000)), 4096).starts_with("500 "));
}
