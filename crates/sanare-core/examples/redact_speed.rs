//! How fast the redactor is: MB/s on one core for logs, JSON and source, and on text that is made to be slow.
#![allow(clippy::disallowed_methods)]

use sanare_core::redact::{Policy, Redactor};
use std::hint::black_box;
use std::io::{self, Write};
use std::time::Instant;

struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn pick<'t>(&mut self, list: &[&'t str]) -> &'t str {
        list[self.below(list.len() as u64) as usize]
    }

    fn hex(&mut self, n: usize) -> String {
        (0..n).map(|_| char::from(b"0123456789abcdef"[self.below(16) as usize])).collect()
    }
}

const WORDS: &[&str] = &[
    "order",
    "batch",
    "the",
    "of",
    "loaded",
    "customer",
    "row",
    "rejected",
    "total",
    "and",
    "retry",
    "queue",
    "region",
    "was",
    "not",
    "found",
    "in",
    "column",
    "amount",
    "date",
    "finished",
    "with",
    "status",
    "request",
    "from",
    "cache",
    "user",
    "pool",
    "connection",
    "closed",
    "value",
    "module",
];

fn log(size: usize) -> String {
    let mut dice = Dice(1);
    let mut text = String::new();
    while text.len() < size {
        text.push_str(&format!(
            "2026-03-{:02} {:02}:{:02}:07,{:03} {} {} request={}-{} rows={} path=/api/v1/{}/{} key={} took {} ms for {} {} {}\n",
            1 + dice.below(28), dice.below(24), dice.below(60), dice.below(1000),
            dice.pick(&["INFO", "DEBUG", "WARNING"]), dice.pick(&["jobs.load", "http.client", "db.pool", "auth.session"]),
            dice.hex(8), dice.hex(12), dice.below(99999), dice.pick(WORDS), dice.below(9999), dice.pick(WORDS), dice.below(9000), dice.pick(WORDS), dice.pick(WORDS), dice.pick(WORDS),
        ));
    }
    text
}

fn json(size: usize) -> String {
    let mut dice = Dice(2);
    let mut text = String::from("[");
    while text.len() < size {
        text.push_str(&format!(
            "{{\"id\": {}, \"customer\": \"{} {}\", \"amount\": {}.{:02}, \"currency\": \"EUR\", \"note\": \"{} {} {} {}\\n{}\", \"created\": \"2026-01-{:02}T10:00:00Z\", \"tags\": [\"{}\", \"{}\"], \"paid\": true}},\n",
            dice.below(1 << 30), dice.pick(WORDS), dice.pick(WORDS), dice.below(9000), dice.below(100), dice.pick(WORDS), dice.pick(WORDS), dice.pick(WORDS), dice.pick(WORDS), dice.pick(WORDS), 1 + dice.below(28), dice.pick(WORDS), dice.pick(WORDS),
        ));
    }
    text.push_str("{}]");
    text
}

fn source(size: usize) -> String {
    let own = include_str!("../src/redact/scan.rs");
    let python = "def load_orders(path, limit=None):\n    \"\"\"Read orders from a CSV file.\"\"\"\n    rows = []\n    with open(path, encoding='utf-8') as handle:\n        for index, line in enumerate(handle):\n            name, amount = line.rstrip('\\n').split(',')\n            if limit is not None and index >= limit:\n                break\n            rows.append({'name': name, 'amount': float(amount)})\n    return sorted(rows, key=lambda row: row['amount'])\n\n\n";
    let mut text = String::new();
    while text.len() < size {
        text.push_str(own);
        for _ in 0..30 {
            text.push_str(python);
        }
    }
    text
}

/// Seconds that this thread has run, where the system tells; else the time on the wall.
fn seconds(start: Instant) -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds: Option<f64> = text.split_whitespace().next().and_then(|word| word.parse().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |n| n / 1e9)
}

/// How fast this machine is at the moment: a chain of one table look-up a byte, as in a checksum.
fn machine() -> f64 {
    let table: Vec<u32> =
        (0..256u32).map(|n| (0..8).fold(n, |c, _| if c & 1 == 1 { 0xedb8_8320 ^ (c >> 1) } else { c >> 1 })).collect();
    let bytes = log(1_000_000).into_bytes();
    best(bytes.len(), || {
        let sum = bytes.iter().fold(!0u32, |sum, byte| table[((sum ^ u32::from(*byte)) & 255) as usize] ^ (sum >> 8));
        black_box(sum);
    })
}

/// MB/s over enough repetitions for the system's clock of threads, which counts in ticks.
fn best(bytes: usize, mut step: impl FnMut()) -> f64 {
    step();
    let start = Instant::now();
    let before = seconds(start);
    let mut times = 0;
    while times < 6 || seconds(start) - before < 0.3 {
        step();
        times += 1;
    }
    (bytes * times) as f64 / 1e6 / (seconds(start) - before)
}

/// A text in parts of 64 KB, as a program hands it over.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while rest.len() > 1 << 16 {
        let end = (0..=1 << 16).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(0);
        let (part, more) = rest.split_at(end);
        parts.push(part);
        rest = more;
    }
    parts.push(rest);
    parts
}

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let size = 4_000_000;
    writeln!(out, "machine: {:.0} MB/s of a byte-wise checksum", machine())?;
    // With arguments: one kind of text, with or without personal data.
    let only = std::env::args().nth(1);
    let which = std::env::args().nth(2);
    for personal in [false, true] {
        if which.as_ref().is_some_and(|which| *which != personal.to_string()) {
            continue;
        }
        let redactor = Redactor::of(Policy { personal });
        for (name, text) in [("log", log(size)), ("json text", json(size)), ("source", source(size))] {
            if only.as_ref().is_some_and(|only| only != name) {
                continue;
            }
            let parts = parts(&text);
            let speed = best(text.len(), || {
                for part in &parts {
                    black_box(redactor.text(black_box(part)));
                }
            });
            let findings = redactor.secrets_in(&text).len();
            writeln!(out, "{name:<10} personal={personal:<5} {speed:8.0} MB/s  ({findings} findings)")?;
        }
        if only.as_ref().is_some_and(|only| only != "data") {
            continue;
        }
        let text = json(size);
        let data: serde_json::Value = serde_json::from_str(&text)?;
        let copies: Vec<serde_json::Value> = (0..8).map(|_| data.clone()).collect();
        let start = Instant::now();
        let before = seconds(start);
        let done: Vec<_> = copies.into_iter().map(|copy| black_box(redactor.json_owned(copy))).collect();
        let speed = (text.len() * done.len()) as f64 / 1e6 / (seconds(start) - before);
        drop(done);
        let cloned = best(text.len(), || {
            black_box(black_box(&data).clone());
        });
        let written = best(text.len(), || {
            black_box(redactor.json_text(black_box(&text)).ok());
        });
        writeln!(out, "json       personal={personal:<5} {written:8.0} MB/s  (read, cleaned and written)")?;
        writeln!(out, "json data  personal={personal:<5} {speed:8.0} MB/s  (copying it alone: {cloned:.0} MB/s)")?;
    }
    if only.is_some() {
        return Ok(());
    }
    let redactor = Redactor::standard();
    for (name, unit) in [
        ("word", "a"),
        ("base64", "QUJD"),
        ("key=", "key="),
        ("password: ", "password: "),
        ("quotes", "'\""),
        ("password=\"", "password=\""),
        ("url", "http://a:b"),
        ("sk-", "sk-"),
        ("eyJ.", "eyJ."),
        ("escapes", "\\u0041"),
        ("percent", "%41"),
        ("brackets", "["),
        ("password=(", "password=("),
        ("api_key\\\"", "api_key=\\\""),
        ("begin", "-----BEGIN RSA PRIVATE KEY-----\n"),
        ("token,", "token,\n"),
        ("name", "\"name\": \"password\", "),
        ("://", "://"),
        ("digits", "4"),
        ("at", "a@"),
        ("cookie", "cookie: a=b; "),
        ("header", "  password  token\n"),
        ("<password>", "<password>"),
    ] {
        let mut times = Vec::new();
        for size in [10_000, 100_000, 1_000_000] {
            let text = unit.repeat(size / unit.len());
            let start = Instant::now();
            let before = seconds(start);
            black_box(redactor.text(black_box(&text)));
            times.push(format!("{:9.2}", (seconds(start) - before) * 1e3));
        }
        writeln!(out, "slow {name:<12} 10 kB, 100 kB, 1 MB: {} ms", times.join(" "))?;
    }
    for (name, unit) in [
        ("secrets", r#"{"password": "q8Zk2LmX9@"}"#),
        ("again", r#"{"password": "q8Zk2LmX9@", "note": "of q8Zk2LmX9@ again"}"#),
        ("names", r#"{"name": "password", "value": "q8Zk2LmX9@"}"#),
        ("columns", r#"{"columns": ["id", "pin"], "data": [[1, "4711"]]}"#),
        ("escapes", r#""\u0070assword""#),
        ("words", r#"["password", "token", "key"]"#),
    ] {
        let mut times = Vec::new();
        for size in [10_000, 100_000, 1_000_000] {
            let text = format!("[{}{unit}]", format!("{unit},").repeat(size / unit.len()));
            let start = Instant::now();
            let before = seconds(start);
            black_box(redactor.json_text(black_box(&text)).ok());
            times.push(format!("{:9.2}", (seconds(start) - before) * 1e3));
        }
        writeln!(out, "json {name:<12} 10 kB, 100 kB, 1 MB: {} ms", times.join(" "))?;
    }
    Ok(())
}
