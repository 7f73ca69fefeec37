//! Words on a path that change what a value means: such a word on one side only forbids taking one for the other.

use crate::code::object_path::Step;
use crate::names;

/// The words of V1 to V3 that stand on one path and not on the other, with the rule, or nothing.
pub fn differs(old: &[Step], new: &[Step]) -> Option<String> {
    let (left, right) = (words(old), words(new));
    let lost: Vec<&str> = left.iter().filter(|word| !right.contains(word)).map(String::as_str).collect();
    let gained: Vec<&str> = right.iter().filter(|word| !left.contains(word)).map(String::as_str).collect();
    let word = lost.first().or(gained.first())?;
    let rule = if UNITS.contains(word) { "V3 unit" } else if NEGATIONS.contains(word) { "V2 negation" } else { "V1 qualifier" };
    Some(format!("{rule} {word}"))
}

fn words(steps: &[Step]) -> Vec<String> {
    let mut out = Vec::new();
    for step in steps {
        let Step::Key(key) = step else { continue };
        for token in names::canonical(key).tokens {
            let token = root_of(&token).to_owned();
            if (QUALIFIERS.contains(&token.as_str()) || UNITS.contains(&token.as_str()) || NEGATIONS.contains(&token.as_str())) && !out.contains(&token) {
                out.push(token);
            }
        }
    }
    out.sort();
    out
}

/// One spelling for words that mean the same here.
fn root_of(word: &str) -> &str {
    match word {
        "minimum" | "lowest" => "min",
        "maximum" | "highest" => "max",
        "avg" | "mean" => "average",
        "prev" | "prior" | "former" => "previous",
        "refunded" | "refunds" => "refund",
        "discounted" | "discounts" => "discount",
        "taxes" | "vat" => "tax",
        "fees" => "fee",
        "estimate" | "estimation" => "estimated",
        "cancelled" | "canceled" => "canceled",
        "annual" | "annually" => "yearly",
        "latest" => "last",
        other => other,
    }
}

const QUALIFIERS: &[&str] = &[
    "tax", "gross", "net", "refund", "discount", "fee", "tip", "shipping", "previous", "next", "first", "last", "min", "max", "average",
    "median", "cumulative", "hourly", "daily", "weekly", "monthly", "yearly", "estimated", "actual", "planned", "forecast", "predicted",
    "expected", "target", "paid", "unpaid", "billing", "delivery", "buyer", "seller", "debit", "credit", "start", "end", "begin", "created",
    "updated", "modified", "deleted", "booking", "born", "died", "yesterday", "today", "tomorrow", "home", "away", "guest", "host", "from",
    "to", "sender", "receiver", "recipient", "origin", "destination", "source", "parent", "child", "low", "high", "open", "close", "bid",
    "ask", "before", "after", "inbound", "outbound", "canceled", "archived", "draft", "history", "historical", "original", "old", "new",
    "base", "quote", "manager", "assignee", "reporter", "creator", "editor", "reviewer", "approver", "owner", "author", "committer",
    "customer", "supplier", "vendor", "merchant", "primary", "secondary", "alternate", "backup", "temp", "temporary", "test", "sample",
    "default", "requested", "approved", "rejected", "available", "reserved", "male", "female", "left", "right", "inner", "outer", "win",
    "loss", "gain", "import", "export", "domestic", "foreign", "pre", "post", "sub", "remaining", "used", "free", "pending", "confirmed",
    "probable", "feels", "apparent", "dew", "gust", "peak", "regular", "change", "delta", "diff", "variation", "error", "std", "stddev",
    "variance", "percentile", "promised", "scheduled",
];

const NEGATIONS: &[&str] = &["not", "non", "no", "un", "in", "inactive", "disabled", "invalid", "exclude", "excluded", "without"];

const UNITS: &[&str] = &[
    "usd", "eur", "gbp", "huf", "chf", "jpy", "cny", "pln", "czk", "sek", "nok", "dkk", "inr", "btc", "eth", "cent", "cents", "percent", "pct",
    "kg", "g", "lb", "lbs", "oz", "km", "mi", "mile", "miles", "m", "cm", "mm", "ft", "feet", "inch", "inches", "kmh", "kph", "mph", "kn",
    "knots", "celsius", "fahrenheit", "kelvin", "c", "f", "k", "ms", "sec", "seconds", "second", "minutes", "minute", "hours", "hour", "days",
    "day", "kb", "mb", "gb", "bytes", "kwh", "wh", "mwh", "kw", "w", "hpa", "pa", "bar", "psi", "thousand", "thousands", "million", "millions",
    "imperial", "metric",
];
