//! The redactor as a whole: its rules by their own examples, and what must hold for any text and any data.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::rule::{Rules, written};
use super::*;
use serde_json::json;

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    fn text(&mut self, alphabet: &str, length: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..length).map(|_| letters[self.below(letters.len())]).collect()
    }
}

/// Fills in the made-up parts of an example: `{a36}` is 36 letters and digits, `{h32}` hexadecimal digits, `{d9}`
/// digits, `{u16}` upper case and digits, `{A16}` base 32, `{l20}` lower case and digits, `{H8}` upper hexadecimal
/// digits, `{b40}` base64, `{w43}` base64 for addresses, `{k107}` base 58, `{uuid}` a UUID of version 4.
fn filled(example: &str, dice: &mut Dice) -> String {
    const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
    const DIGITS: &str = "0123456789";
    let upper = LOWER.to_uppercase();
    let pattern = regex::Regex::new(r"\{(uuid|([ahduAlHbwk])(\d+))\}").unwrap();
    let made = pattern.replace_all(example, |captures: &regex::Captures<'_>| {
        if &captures[1] == "uuid" {
            let hex = |dice: &mut Dice, n| dice.text("0123456789abcdef", n);
            return format!("{}-{}-4{}-a{}-{}", hex(dice, 8), hex(dice, 4), hex(dice, 3), hex(dice, 3), hex(dice, 12));
        }
        let alphabet = match &captures[2] {
            "a" => format!("{LOWER}{upper}{DIGITS}"),
            "h" => "0123456789abcdef".to_owned(),
            "H" => "0123456789ABCDEF".to_owned(),
            "d" => DIGITS.to_owned(),
            "u" => format!("{upper}{DIGITS}"),
            "A" => format!("{upper}234567"),
            "l" => format!("{LOWER}{DIGITS}"),
            "b" => format!("{LOWER}{upper}{DIGITS}+/"),
            "k" => "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".to_owned(),
            _ => format!("{LOWER}{upper}{DIGITS}-_"),
        };
        dice.text(&alphabet, captures[3].parse().unwrap())
    });
    made.into_owned()
}

/// Whether a rule, by itself, finds something in a text.
fn holds(rules: &Rules, id: &str, text: &str) -> bool {
    let hits = rules.search.as_ref().unwrap().hits(text.as_bytes());
    hits.iter().any(|hit| {
        rules.triggers[hit.keyword].iter().any(|trigger| match trigger {
            rule::Trigger::Rule(index) => {
                let rule = &rules.list[*index];
                let called = rule.text.id == id && rule.called(text.as_bytes(), hit.start, hit.end);
                called && rule.find(text.as_bytes(), hit.start, hit.end).is_some()
            }
            _ => false,
        })
    })
}

#[test]
fn each_rule_holds_for_its_examples() {
    let rules = Rules::new(Policy::default());
    let mut dice = Dice(11);
    let mut wrong = Vec::new();
    for rule in written() {
        if rule.examples.is_empty() || rule.counterexamples.is_empty() {
            wrong.push(format!("{} lacks examples", rule.id));
        }
        for example in &rule.examples {
            for _ in 0..4 {
                let text = filled(example, &mut dice);
                if !holds(&rules, &rule.id, &text) {
                    wrong.push(format!("{} does not find {text}", rule.id));
                }
            }
        }
        for example in &rule.counterexamples {
            if holds(&rules, &rule.id, example) || Redactor::standard().text(example).as_str() != example {
                wrong.push(format!("{} finds {example}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn ids_of_rules_fit_into_placeholders() {
    let mut seen = std::collections::BTreeSet::new();
    for rule in written() {
        let mark = place::placeholder(&rule.id);
        assert_eq!(place::placeholder_end(mark.as_bytes(), 0), Some(mark.len()), "{}", rule.id);
        assert!(seen.insert(rule.id.clone()), "{} is there twice", rule.id);
    }
}

fn check(text: &str, expected: &str) {
    assert_eq!(Redactor::standard().text(text).as_str(), expected);
}

#[test]
fn values_by_their_names() {
    check("password=q8Zk2LmX9 host=db1", "password=<redacted:password> host=db1");
    check("{'api_key': 'q8Zk2LmX9pWv', 'n': 3}", "{'api_key': '<redacted:api-key>', 'n': 3}");
    check("loader --db-password alma1 -v", "loader --db-password <redacted:password> -v");
    check("<jelszó>alma12</jelszó>", "<jelszó><redacted:password></jelszó>");
    check("postgresql://etl:alma@db1/dw", "postgresql://etl:<redacted:url-password>@db1/dw");
    check(r#"{"a": "{\"token\": \"q8Zk2LmX9pWv\"}"}"#, r#"{"a": "{\"token\": \"<redacted:token>\"}"}"#);
    check("login,password\nkati,alma12\n", "login,password\nkati,<redacted:password>\n");
    check("  login password\n0  kati   alma12", "  login password\n0  kati   <redacted:password>");
}

#[test]
fn names_without_values() {
    for text in [
        "KeyError: 'password'",
        "password authentication failed for user \"etl\"",
        "token = get_token(user, scope='read')",
        "max_tokens=4096 author=kati compass=NNW",
        "password: str | None = None",
        "columns: ['id', 'password', 'token']",
        "password=<redacted:password> token=${TOKEN}",
        "cache_key=sales:2026-01 key=galamb",
    ] {
        check(text, text);
    }
}

#[test]
fn data_by_its_structure() {
    let check = |before: Value, after: Value| assert_eq!(*Redactor::standard().json(&before).as_ref(), after);
    check(json!({"password": "alma", "n": 1}), json!({"password": "<redacted:password>", "n": 1}));
    check(
        json!({"env": [{"name": "API_TOKEN", "value": "q8Zk2LmX9pWv"}, {"name": "LOG", "value": "debug"}]}),
        json!({"env": [{"name": "API_TOKEN", "value": "<redacted:token>"}, {"name": "LOG", "value": "debug"}]}),
    );
    check(json!(["--token", "q8Zk2LmX9pWv", "-v"]), json!(["--token", "<redacted:token>", "-v"]));
    check(
        json!({"columns": ["id", "password"], "data": [[1, "alma12"]]}),
        json!({"columns": ["id", "password"], "data": [[1, "<redacted:password>"]]}),
    );
    check(
        json!({"db_password": "q8Zk2LmX9pWv", "message": "login with q8Zk2LmX9pWv refused"}),
        json!({"db_password": "<redacted:password>", "message": "login with <redacted:password> refused"}),
    );
    check(
        json!({"password": null, "token": "", "secret": false}),
        json!({"password": null, "token": "", "secret": false}),
    );
}

#[test]
fn data_that_is_too_deep_is_replaced() {
    let mut deep = json!("password=q8Zk2LmX9pWv");
    for _ in 0..50_000 {
        deep = Value::Array(vec![deep]);
    }
    let copied = Redactor::standard().json(&deep).as_ref().to_string();
    assert!(copied.contains("<redacted:too-deep>") && !copied.contains("q8Zk"));
    let text = Redactor::standard().json_owned(deep).as_ref().to_string();
    assert!(text.contains("<redacted:too-deep>") && !text.contains("q8Zk"));
}

thread_local! {
    static PANICS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// What a rule that is broken does.
pub(super) fn may_panic() {
    assert!(!PANICS.get(), "a rule has broken down");
}

/// Whatever a rule does, nothing goes out unread (S118).
#[test]
fn where_a_rule_breaks_down_everything_is_taken_out() {
    let redactor = Redactor::standard();
    let said = "it could not connect: Hq8Zk2LmX9pWv";
    PANICS.set(true);
    let text = redactor.text(said);
    let cut = redactor.text_cut(said, 1_000);
    let data = redactor.json(&json!({ "said": said, "more": [said] }));
    let written = redactor.json_text(&format!(r#"{{"said": "{said}"}}"#));
    let item = redactor.item("text", &json!(said));
    let found = redactor.secrets_in(said);
    PANICS.set(false);
    for text in [text.into_inner(), cut.into_inner(), item.to_string(), data.as_ref().to_string()] {
        assert!(text.contains("<redacted:unreadable>") && !text.contains("connect") && !text.contains("Hq8"), "{text}");
    }
    assert!(!written.is_ok_and(|text| text.as_str().contains("connect")));
    assert_eq!(found, [(0..said.len(), "unreadable".to_owned())]);
    assert_eq!(redactor.text(said).as_str(), said, "a rule that does not break down finds nothing in it");
}

/// Whatever stands before it, a secret goes: text that is made to be slow runs out of fuel at most, and is then taken out whole.
/// What it costs is the bench `redact`'s (S118: 50 ms).
#[test]
fn text_that_is_made_to_be_slow_hides_no_secret() {
    for piece in [
        "sk-",
        "ghp_",
        "password=",
        "key=",
        "key=\"",
        "token=",
        "://a:",
        "token: ",
        "eyJ",
        "-----BEGIN ",
        "Bearer ",
        "xox",
        "AKIA",
        "@",
    ] {
        let text = format!("{} password=q8Zk2LmX9pWv7", piece.repeat(16_384 / piece.len()));
        let taken = Redactor::standard().text(&text).into_inner();
        assert!(!taken.contains("q8Zk2LmX9pWv7"), "{piece}");
    }
}

/// A value that holds all that follow is judged for so many names and no more; what is not judged goes.
#[test]
fn values_in_values_without_end_go_unread() {
    for piece in ["token=", "api_key="] {
        let taken = |times: usize| Redactor::standard().text(&piece.repeat(times)).into_inner();
        assert_eq!(taken(40), piece.repeat(40), "{piece}");
        let long = taken(32_768 / piece.len());
        assert!(long.len() < 8192 && long.contains("<redacted:"), "{piece}: {}", long.len());
    }
}

#[test]
fn no_cut_leaves_half_a_secret() {
    let secret = format!("ghp_{}", Dice(5).text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 36));
    let text = format!("upstream rejected {secret} after 3 attempts; password='{secret}x' again");
    for limit in 0..text.len() {
        let cut = Redactor::standard().text_cut(&text, limit);
        assert!(cut.as_str().chars().count() <= limit);
        for start in 0..secret.len() - 6 {
            assert!(!cut.as_str().contains(&secret[start..start + 6]), "{limit}: {cut}");
        }
        assert!(
            !cut.as_str().contains("<redact") || cut.as_str().matches('<').count() == cut.as_str().matches('>').count()
        );
    }
}

/// Pieces of which texts are made that give a redactor trouble.
const PIECES: &[&str] = &[
    "password",
    "token",
    "api_key",
    "Authorization",
    "cookie",
    "key",
    "jelszó",
    "パスワード",
    "=",
    ": ",
    " ",
    "\n",
    "\"",
    "'",
    "\\\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    ",",
    ";",
    "&",
    "|",
    "://",
    "@",
    "--",
    "%3D",
    "%26",
    "\\u0061",
    "\\n",
    "Bearer ",
    "Basic ",
    "ghp_",
    "sk-",
    "eyJ",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----END RSA PRIVATE KEY-----",
    "<redacted:password>",
    "<redacted:",
    "q8Zk2LmX9pWv4Tn7",
    "alma",
    "2026-01-31",
    "ő",
    "🔑",
    "\u{200b}",
    "\0",
    "\x1b[31m",
    "│",
    "cGFzc3dvcmQ9cThaazJMbVg5cFd2",
    "  ",
    "\t",
    "0",
    "4539 5787 6362 1486",
    "name",
    "value",
    "INSERT INTO t (",
    "VALUES (",
    "...",
    "…",
    "“",
    "”",
    "&quot;",
    "</",
    "password=",
    "login,password\n",
    "kati,alma12\n",
];

fn made(dice: &mut Dice) -> String {
    let count = 1 + dice.below(24);
    (0..count)
        .map(|_| match dice.below(12) {
            0 => dice.text("aZ0é \"'\\<>{}%&=:", 5),
            1 => char::from_u32(dice.below(0xD7FF) as u32).unwrap_or('x').to_string(),
            _ => PIECES[dice.below(PIECES.len())].to_owned(),
        })
        .collect()
}

#[test]
fn twice_is_as_once_for_any_text() {
    for personal in [false, true] {
        let redactor = Redactor::of(Policy { personal });
        let mut dice = Dice(if personal { 3 } else { 4 });
        for _ in 0..6000 {
            let text = made(&mut dice);
            let once = redactor.text(&text);
            assert_eq!(redactor.text(once.as_str()), once, "{text:?}");
        }
    }
}

fn made_data(dice: &mut Dice, depth: usize) -> Value {
    match dice.below(if depth > 4 { 4 } else { 8 }) {
        0 => json!(dice.below(100_000)),
        1 => Value::Null,
        2 | 3 => Value::String(made(dice)),
        4 | 5 => Value::Array((0..dice.below(5)).map(|_| made_data(dice, depth + 1)).collect()),
        _ => {
            let keys = [
                "password", "name", "value", "data", "columns", "auth", "n", "headers", "token", "rows", "Cookie", "x",
            ];
            let entry = |dice: &mut Dice| (keys[dice.below(keys.len())].to_owned(), made_data(dice, depth + 1));
            Value::Object((0..dice.below(5)).map(|_| entry(dice)).collect())
        }
    }
}

fn same_shape(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Array(before), Value::Array(after)) => {
            before.len() == after.len() && before.iter().zip(after).all(|(before, after)| same_shape(before, after))
        }
        (Value::Object(before), Value::Object(after)) => {
            before.len() == after.len()
                && before.values().zip(after.values()).all(|(before, after)| same_shape(before, after))
        }
        (Value::Array(_) | Value::Object(_), _) | (_, Value::Array(_) | Value::Object(_)) => false,
        _ => true,
    }
}

#[test]
fn twice_is_as_once_for_any_data_and_its_shape_stays() {
    let redactor = Redactor::with_personal();
    let mut dice = Dice(8);
    for _ in 0..3000 {
        let data = made_data(&mut dice, 0);
        let once = redactor.json(&data);
        assert!(same_shape(&data, once.as_ref()), "{data}");
        assert_eq!(redactor.json(once.as_ref()), once, "{data}");
    }
}

/// Data as programs have it, most of it without a secret, and what the secrets of it are told by: keys, names beside them,
/// columns, statements, lists of arguments, and the same value elsewhere.
fn made_rows(dice: &mut Dice, depth: usize) -> Value {
    const VALUES: [&str; 25] = [
        "tr0ub4dor&3xKq",
        "galamb-röptetés",
        "correct horse 9 battery",
        "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
        "order 17 of customer",
        "token",
        "pin",
        "db/password",
        "--password",
        "-v",
        "INSERT INTO t (id, pin) VALUES (?, ?)",
        "SELECT a FROM t WHERE password = ?",
        "the note tr0ub4dor&3xKq stands here",
        "x",
        "",
        "https://bot:q8Zk2LmX9@h/x",
        "cGFzc3dvcmQ9cThaazJMbVg5cFd2",
        "/var/lib/containers/overlay-images/merged",
        "100 % of it",
        "line\nbroken",
        "Bearer q8Zk2LmX9pWv4Tn7",
        "correct horse 9 battery again",
        "p%61ssw&#111;rd=r7Yj3KnB8q",
        "4711",
        "pin",
    ];
    const KEYS: [&str; 27] = [
        "id",
        "name",
        "key",
        "value",
        "columns",
        "fields",
        "data",
        "rows",
        "sql",
        "query",
        "params",
        "args",
        "note",
        "unit",
        "amount",
        "db_password",
        "token",
        "pin",
        "auth",
        "Authorization",
        "cookie",
        "headers",
        "body",
        "items",
        "secret_key",
        "naïve",
        "token=q8Zk2LmX9pWv4Tn7",
    ];
    let text = |dice: &mut Dice| json!(VALUES[dice.below(VALUES.len())]);
    match dice.below(if depth > 4 { 5 } else { 11 }) {
        0 => json!(dice.below(100_000)),
        1 => json!(dice.below(100_000) as f64 / 8.0),
        2 => [Value::Null, json!(true)][dice.below(2)].clone(),
        3 | 4 => text(dice),
        5 => Value::Array((0..dice.below(4)).map(|_| text(dice)).collect()),
        6 => Value::Array((0..dice.below(4)).map(|_| Value::Array(vec![text(dice), text(dice)])).collect()),
        7 => Value::Array((0..dice.below(5)).map(|_| made_rows(dice, depth + 1)).collect()),
        _ => {
            let quiet = dice.below(2) == 0;
            let among = |dice: &mut Dice| KEYS[dice.below(if quiet { 15 } else { KEYS.len() })].to_owned();
            Value::Object((0..dice.below(6)).map(|_| (among(dice), made_rows(dice, depth + 1))).collect())
        }
    }
}

/// JSON text in another writing: all beyond ASCII as escapes.
fn ascii(text: &str) -> String {
    let mut units = [0; 2];
    text.chars().fold(String::new(), |mut out, c| {
        if c.is_ascii() {
            out.push(c);
        } else {
            out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
        out
    })
}

#[test]
fn json_text_loses_what_its_data_loses() {
    let redactor = Redactor::standard();
    let mut dice = Dice(21);
    let mut changed = 0;
    for round in 0..6000 {
        let data = if round % 3 == 0 { made_data(&mut dice, 0) } else { made_rows(&mut dice, 0) };
        let expected = redactor.json(&data).into_inner();
        changed += usize::from(expected != data);
        let compact = data.to_string();
        for text in [serde_json::to_string_pretty(&data).unwrap(), ascii(&compact), compact] {
            let cleaned = redactor.json_text(&text).unwrap();
            let read: Value = serde_json::from_str(cleaned.as_str()).unwrap();
            assert_eq!(read, expected, "{text}");
        }
    }
    assert!((1000..5000).contains(&changed), "{changed}");
}

#[test]
fn json_text_without_secrets_stays_as_it_is_written() {
    let redactor = Redactor::standard();
    let text = "{ \"n\": [1.50, -0,\n 1e5, 123456789012345678901234567890], \"unit\":\"kg\",\t\"ok\": [true, null] } ";
    assert_eq!(redactor.json_text(text).unwrap().as_str(), text);
    let text = r#"[{"a": 1.50, "password": "q8Zk2LmX9"}, {"a": 2.50, "note": "not q8Zk2LmX9"}, {"a": 1, "a": "b"}]"#;
    assert_eq!(
        redactor.json_text(text).unwrap().as_str(),
        r#"[{"a": 1.50, "password": "<redacted:password>"}, {"a": 2.50, "note": "not <redacted:password>"}, {"a": 1, "a": "b"}]"#
    );
    // Of two values of one key readers may take either.
    let twice = redactor.json_text(r#"{"password": "q8Zk2LmX9pWv", "password": "r7Yj3KnW8qXu"}"#).unwrap();
    assert!(!twice.as_str().contains("q8Zk") && !twice.as_str().contains("r7Yj"), "{twice}");
}

#[test]
fn what_is_no_json_is_refused() {
    let redactor = Redactor::standard();
    let deep = "[".repeat(500) + &"]".repeat(500);
    for text in [
        "",
        "{",
        "[1,]",
        "{\"a\" 1}",
        "{\"a\": 01}",
        "[1] 2",
        "\"a\nb\"",
        "[\"\\x\"]",
        "[-]",
        "[1.]",
        "[1e]",
        "tru",
        "{1: 2}",
        "[\"\\ud800\"]",
        "[\"a",
        "{\"a\": \"\\",
        "\u{feff}[]",
        "[1e999]",
        &deep,
    ] {
        assert!(redactor.json_text(text).is_err(), "{text}");
    }
}

#[test]
fn rules_of_the_user_add_and_are_checked() {
    let rule = |id: &str, pattern: &str, example: &str| ExtraRule {
        id: id.to_owned(),
        pattern: pattern.to_owned(),
        examples: vec![example.to_owned()],
        counterexamples: vec!["order 17".to_owned()],
    };
    let good = rule("customer", r"cust-\d{6}", "cust-123456");
    let redactor = Redactor::with_extra(Policy::default(), vec![good]).unwrap();
    assert_eq!(
        redactor.text("for cust-123456 and password=alma12x").as_str(),
        "for <redacted:customer> and password=<redacted:password>"
    );
    let trouble = |rule| Redactor::with_extra(Policy::default(), vec![rule]).err().unwrap().to_string();
    assert_eq!(trouble(rule("A b", "x", "x")), "rule id `A b` may only have lower-case letters, digits and `-`");
    assert!(trouble(rule("a", "(", "x")).starts_with("rule `a`: pattern cannot be read:"));
    assert_eq!(trouble(rule("a", r"cust-\d{6}", "cust-1")), "rule `a`: example disagrees with its pattern: `cust-1`");
    assert_eq!(trouble(rule("a", r"\d+", "5")), "rule `a`: example disagrees with its pattern: `order 17`");
}

#[test]
fn records_are_not_believed() {
    assert_eq!(Redacted::<String>::from_record("password=alma12x").as_str(), "password=<redacted:password>");
    let record = Redacted::<Value>::from_record(&json!({"password": "alma12x"}));
    assert_eq!(serde_json::to_string(&record).unwrap(), r#"{"password":"<redacted:password>"}"#);
    assert_eq!(format!("{record:?}"), "Object {\"password\": String(\"<redacted:password>\")}");
}

#[test]
fn secrets_for_gates_and_delivery() {
    let secrets = secrets_in("a = 'x'; API_KEY = 'q8Zk2LmX9pWv'");
    assert_eq!(secrets, [(20..32, "api-key".to_owned())]);
    assert!(is_secret_name("db_password") && is_secret_name("X-Api-Key") && !is_secret_name("primary_key"));
    let token = format!("ghp_{}", Dice(1).text("abcXYZ019", 36));
    assert_eq!(looks_like_secret(&token).as_deref(), Some("github-token"));
    assert_eq!(looks_like_secret("galamb"), None);
}
