//! Reads JSON lines `{"id","form","payload"}` and writes `{"id","payload"}` with the payload redacted.

use sanare_core::redact::{Policy, Redactor};
use serde_json::{Value, json};
use std::io::{self, BufRead, Write};

fn main() -> io::Result<()> {
    let personal = !std::env::args().any(|argument| argument == "--no-personal");
    let redactor = Redactor::of(Policy { personal });
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str::<Value>(&line) {
            Ok(item) => {
                let form = item.get("form").and_then(Value::as_str).unwrap_or("json");
                let payload = redactor.item(form, item.get("payload").unwrap_or(&Value::Null));
                serde_json::to_writer(&mut out, &json!({ "id": item.get("id"), "payload": payload }))?;
            }
            // A line that is nested too deep to be read as data is redacted as the text that it is.
            Err(_) => out.write_all(redactor.text(&line).as_str().as_bytes())?,
        }
        out.write_all(b"\n")?;
    }
    out.flush()
}
