//! What the engine's tests and the scoring example share: asking Python how a call went, and healing layer by layer.

#![allow(clippy::disallowed_methods, clippy::print_stderr, clippy::print_stdout, missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock};

use base64::Engine as _;
use sanare_core::value::{Column, Table, Value};
use sanare_drift::problem::{Answer, Argument, Failure, FileView, Frame, Layer, Problem, Refusal, Runtime};
use sanare_drift::shape::CallShape;
use sanare_drift::twin::{TwinCall, TwinValue};
use serde_json::Value as Json;

/// How one call went.
pub struct Outcome {
    pub result: Result<Value, Failure>,
    pub arguments: Vec<(String, Value)>,
    pub runtime: Runtime,
}

/// A function on a first and a second input.
pub struct Case {
    pub loader: PathBuf,
    pub function: String,
    pub kind: String,
    pub old: PathBuf,
    pub new: PathBuf,
    /// Whether the engine is told the shape of the old input.
    pub remember: bool,
}

/// How a heal ended.
pub enum Healed {
    /// The whole source and its layers.
    Source(String, Vec<Layer>),
    /// Refused; the layers accepted before that are given for the record.
    Refused(Refusal, Vec<Layer>),
    /// The repaired function does something else on the old input or on a twin of it.
    OldBroken(String, Vec<Layer>, String),
}

/// The interpreter: `PYTHON`, else the environment that `cargo xtask test` makes, else `python3`.
pub fn python() -> PathBuf {
    if let Some(named) = std::env::var_os("PYTHON") {
        return named.into();
    }
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/venv/bin/python");
    if beside.exists() { beside } else { "python3".into() }
}

/// Whether the libraries that loaders use are there; says so if they are not.
pub fn has_libraries() -> bool {
    let asked = Command::new(python()).args(["-c", "import numpy, openpyxl, pandas"]).output();
    let there = asked.is_ok_and(|done| done.status.success());
    if !there {
        eprintln!("skipped: numpy, openpyxl and pandas are not there; `cargo xtask test` brings them");
    }
    there
}

/// The driver, kept running: one line in, one line out.
struct Driver {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Driver {
    fn start() -> Self {
        let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drive.py");
        let mut child = Command::new(python())
            .args(["-W".as_ref(), "ignore".as_ref(), driver.as_os_str(), "--serve".as_ref()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python runs");
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, answers }
    }

    fn ask(&mut self, arguments: &Json) -> String {
        let stdin = self.child.stdin.as_mut().expect("piped");
        writeln!(stdin, "{arguments}").expect("the driver reads");
        stdin.flush().expect("the driver reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("the driver answers");
        answer
    }
}

static DRIVER: OnceLock<Mutex<Driver>> = OnceLock::new();

/// Runs `function` of `source` on an input.
pub fn run(source: &Path, function: &str, kind: &str, input: &Path) -> Outcome {
    let answer = DRIVER
        .get_or_init(|| Mutex::new(Driver::start()))
        .lock()
        .expect("no test of another thread panicked in between")
        .ask(&serde_json::json!([source, function, kind, input]));
    let json: Json = serde_json::from_str(&answer).unwrap_or_else(|error| panic!("driver: {error}: {answer}"));
    let result =
        if json["ok"].as_bool() == Some(true) { Ok(value(&json["result"])) } else { Err(failure(&json["failure"])) };
    Outcome { result, arguments: pairs(&json["arguments"]), runtime: runtime(&json["runtime"]) }
}

impl Case {
    /// Reads a case folder: `task.toml` (or `case.toml`), `loader.py`, `old.*`, `new.*`.
    pub fn open(folder: &Path) -> Self {
        let folder = folder.canonicalize().expect("case folder");
        let text = ["task.toml", "case.toml"].iter().find_map(|name| std::fs::read_to_string(folder.join(name)).ok());
        let settings: toml::Table = toml::from_str(&text.expect("task.toml")).expect("task.toml is TOML");
        let setting = |name: &str, default: &str| {
            settings.get(name).and_then(|value| value.as_str()).unwrap_or(default).to_owned()
        };
        Self {
            loader: folder.join("loader.py"),
            function: setting("function", "load"),
            kind: setting("input", "path"),
            old: input(&folder, "old"),
            new: input(&folder, "new"),
            remember: true,
        }
    }

    /// Heals layer by layer, at most six, then compares old input and twins.
    pub fn heal(&self) -> Healed {
        let scratch = tempfile::tempdir().expect("scratch");
        let original = std::fs::read_to_string(&self.loader).expect("loader");
        let path = scratch.path().join("loader.py");
        std::fs::write(&path, &original).expect("write");
        let old = run(&path, &self.function, &self.kind, &self.old);
        let old_arguments = arguments(&old.arguments);
        let mut remembered: Vec<CallShape> = Vec::new();
        if self.remember {
            let result = old.result.as_ref().ok();
            remembered.push(sanare_drift::shape::shape_of_call(&original, &self.function, &old_arguments, result));
        }
        let (mut source, mut layers) = (original.clone(), Vec::<Layer>::new());
        let mut outcome = run(&path, &self.function, &self.kind, &self.new);
        while let Err(failure) = outcome.result {
            let problem = Problem {
                words: Default::default(),
                source: source.clone(),
                function: self.function.clone(),
                first_line: 0,
                failure,
                arguments: arguments(&outcome.arguments),
                remembered: remembered.clone(),
                accepted: Vec::new(),
                runtime: outcome.runtime,
            };
            match sanare_drift::engine::next_layer(&problem) {
                Answer::Layer(layer) if layers.len() < 6 => {
                    source.clone_from(&layer.source);
                    if std::env::var_os("LAYERS").is_some() {
                        eprintln!("--- {}\n{source}", layer.kind);
                    }
                    layers.push(layer);
                }
                Answer::Layer(layer) => return Healed::OldBroken("more than six layers".into(), layers, layer.source),
                Answer::Refused(refusal) => return Healed::Refused(refusal, layers),
            }
            std::fs::write(&path, &source).expect("write");
            outcome = run(&path, &self.function, &self.kind, &self.new);
        }
        let again = run(&path, &self.function, &self.kind, &self.old);
        if format!("{:?}", again.result.ok()) != format!("{:?}", old.result.ok()) {
            return Healed::OldBroken("the old input".into(), layers, source);
        }
        let problem = Problem {
            words: Default::default(),
            source: original.clone(),
            function: self.function.clone(),
            arguments: old_arguments,
            remembered,
            ..Problem::default()
        };
        for twin in sanare_drift::twin::twins(&problem) {
            if let Some(difference) = self.compare(&twin, &original, &source, scratch.path()) {
                return Healed::OldBroken(difference, layers, source);
            }
        }
        if let Some(finding) = findings(&original, &source, &self.function, &self.new) {
            return Healed::OldBroken(format!("gate {finding}"), layers, source);
        }
        Healed::Source(source, layers)
    }

    /// What came of one case: `healed`, `refused`, `failed: why`, or `WRONG: which input`.
    pub fn verdict(&self, folder: &Path) -> String {
        let source = match self.heal() {
            Healed::Source(source, _) => source,
            Healed::Refused(refusal, _) => return format!("refused {}: {}", refusal.reason.code(), refusal.summary),
            Healed::OldBroken(why, ..) => return format!("failed: {why}"),
        };
        let scratch = tempfile::tempdir().unwrap();
        let healed = scratch.path().join("healed.py");
        std::fs::write(&healed, source).unwrap();
        let expected: Json =
            serde_json::from_str(&std::fs::read_to_string(folder.join("expected.json")).unwrap()).unwrap();
        for name in ["old", "new", "new2"] {
            let input = input(folder, name);
            match run(&healed, &self.function, &self.kind, &input).result {
                Ok(value) if answers(&expected[name], &value) => {}
                Ok(value) => return format!("WRONG: {name} gives {value:?}"),
                Err(failure) => return format!("failed: {name} raises {}: {}", failure.class, failure.message),
            }
        }
        "healed".into()
    }

    /// Runs old and new body on a twin; what differs, if something does.
    fn compare(&self, twin: &TwinCall, before: &str, after: &str, scratch: &Path) -> Option<String> {
        let mut results = Vec::new();
        for (name, text) in [("before.py", before), ("after.py", after)] {
            let path = scratch.join(name);
            std::fs::write(&path, text).expect("write");
            results.push(run(&path, &self.function, "twin", &write_twin(twin, scratch)));
        }
        let told = |outcome: &Outcome| match &outcome.result {
            Ok(value) => format!("{value:?}"),
            Err(failure) => format!("raises {}: {}", failure.class, failure.message),
        };
        let (before, after) = (told(&results[0]), told(&results[1]));
        if std::env::var_os("TWINS").is_some() {
            eprintln!("twin {}: {before}", twin.label);
        }
        // A twin on which the old body raises proves nothing.
        (before != after && results[0].result.is_ok()).then(|| format!("twin {}: {before} became {after}", twin.label))
    }
}

/// Equal as the corpus compares: numbers by size, NaN is null, order of lists counts.
fn same(found: &Value, expected: &Json) -> bool {
    match (found, expected) {
        (Value::Null, Json::Null) => true,
        (Value::Float(number), Json::Null) => number.is_nan(),
        (Value::Bool(found), Json::Bool(expected)) => found == expected,
        (Value::Int(found), Json::Number(expected)) => close(*found as f64, expected.as_f64().unwrap_or(f64::NAN)),
        (Value::Float(found), Json::Number(expected)) => close(*found, expected.as_f64().unwrap_or(f64::NAN)),
        (Value::Text(found), Json::String(expected)) => found == expected,
        (Value::List(found), Json::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(found, expected)| same(found, expected))
        }
        (Value::Map(found), Json::Object(expected)) => {
            found.len() == expected.len()
                && found.iter().all(|(key, value)| {
                    let key = key.trim_matches('\'');
                    expected.get(key).is_some_and(|expected| same(value, expected))
                })
        }
        _ => false,
    }
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs()).max(1.0)
}

fn answers(answer: &Json, value: &Value) -> bool {
    if let Some(options) = answer["any_of"].as_array() {
        return options.iter().any(|option| same(value, option));
    }
    let expected = answer.get("value").or(answer.get("accept"));
    expected.is_some_and(|expected| same(value, expected))
}

/// What the static gates say against a healed module.
fn findings(before: &str, after: &str, function: &str, new: &Path) -> Option<String> {
    use sanare_source::{SeenLiteral, VetContext, vet_all};
    let parsed = sanare_source::parse::Source::parse(after).ok()?;
    let candidate = parsed.slice(parsed.function_at(function, 0)?);
    let text = String::from_utf8_lossy(&std::fs::read(new).unwrap_or_default()).into_owned();
    let mut seen_literals = Vec::new();
    for line in text.lines() {
        for cell in line.split([',', ';', '\t', '|', '"']).filter(|cell| !cell.trim().is_empty()) {
            let structural = cell.chars().filter(|letter| letter.is_alphabetic()).count() > 3;
            seen_literals.push(SeenLiteral { text: cell.trim().to_owned(), structural });
        }
    }
    let context = VetContext { python: (3, 11), seen_literals, ..VetContext::default() };
    let report = vet_all(before, function, candidate, &context);
    let failed = |check: &&sanare_core::gate::Check| check.answer == sanare_core::gate::Answer::Failed;
    report.checks.iter().find(failed).map(|check| format!("{}: {}", check.name, check.reason))
}

/// Writes the files of a twin and its arguments; the path of the arguments.
pub fn write_twin(twin: &TwinCall, scratch: &Path) -> PathBuf {
    let mut given = Vec::new();
    for (name, value) in &twin.arguments {
        let tagged = match value {
            TwinValue::File { name, bytes } => {
                let path = scratch.join(name);
                std::fs::write(&path, bytes).expect("write");
                serde_json::json!(["s", path.to_string_lossy()])
            }
            TwinValue::Value(value) => tag(value),
        };
        given.push(serde_json::json!([name, tagged]));
    }
    let path = scratch.join("twin.json");
    std::fs::write(&path, Json::from(given).to_string()).expect("write");
    path
}

pub fn input(folder: &Path, stem: &str) -> PathBuf {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("folder")
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().split('.').next() == Some(stem)))
        .collect();
    found.sort();
    found.into_iter().next().expect("input file")
}

/// Arguments as the engine gets them: files that they name are read.
pub fn arguments(given: &[(String, Value)]) -> Vec<Argument> {
    given
        .iter()
        .map(|(name, value)| {
            let file = value.as_text().filter(|text| text.len() < 4096).map(Path::new).filter(|path| path.is_file());
            let file = file.map(|path| FileView {
                bytes: std::fs::read(path).expect("input"),
                complete: true,
                name: path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            });
            Argument { name: name.clone(), value: value.clone(), file }
        })
        .collect()
}

fn failure(json: &Json) -> Failure {
    let text = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
    let list = |name: &str| json[name].as_array().cloned().unwrap_or_default();
    Failure {
        class: text("class"),
        bases: list("bases").iter().filter_map(|base| base.as_str().map(str::to_owned)).collect(),
        message: text("message"),
        args: list("args").iter().map(value).collect(),
        cause: json["cause"].is_object().then(|| Box::new(failure(&json["cause"]))),
        frames: list("frames")
            .iter()
            .map(|frame| Frame {
                function: frame["function"].as_str().unwrap_or_default().to_owned(),
                line: frame["line"].as_u64().unwrap_or_default() as usize,
                locals: pairs(&frame["locals"]),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    }
}

fn runtime(json: &Json) -> Runtime {
    let list = |name: &str| json[name].as_array().cloned().unwrap_or_default();
    let number = |at: usize| json["python"][at].as_u64().unwrap_or_default() as u8;
    Runtime {
        python: (number(0), number(1)),
        versions: list("versions")
            .iter()
            .map(|pair| (pair[0].as_str().unwrap_or_default().into(), pair[1].as_str().unwrap_or_default().into()))
            .collect(),
        members: list("members")
            .iter()
            .map(|pair| (pair[0].as_str().unwrap_or_default().into(), pair[1].as_bool().unwrap_or_default()))
            .collect(),
    }
}

fn pairs(json: &Json) -> Vec<(String, Value)> {
    let list = json.as_array().cloned().unwrap_or_default();
    list.iter().map(|pair| (pair[0].as_str().unwrap_or_default().to_owned(), value(&pair[1]))).collect()
}

fn value(json: &Json) -> Value {
    let text = json[1].as_str().unwrap_or_default();
    match json[0].as_str().unwrap_or_default() {
        "n" => Value::Null,
        "t" => Value::Bool(json[1].as_bool().unwrap_or_default()),
        "i" => Value::Int(text.parse().unwrap_or_default()),
        "f" => Value::Float(text.parse().unwrap_or(f64::NAN)),
        "s" => Value::Text(text.to_owned()),
        "b" => Value::Bytes(base64::prelude::BASE64_STANDARD.decode(text).unwrap_or_default()),
        "l" => Value::List(json[1].as_array().map(|items| items.iter().map(value).collect()).unwrap_or_default()),
        "m" => Value::Map(pairs(&json[1])),
        "d" => {
            let columns = json[1].as_array().cloned().unwrap_or_default();
            let columns = columns.iter().map(|column| Column {
                name: column[0].as_str().unwrap_or_default().to_owned(),
                dtype: column[1].as_str().unwrap_or_default().to_owned(),
                cells: column[2].as_array().map(|cells| cells.iter().map(value).collect()).unwrap_or_default(),
            });
            Value::Table(Table { columns: columns.collect(), rows: json[2].as_u64().unwrap_or_default() as usize })
        }
        "c" => Value::Cut(0),
        _ => Value::Opaque(text.to_owned()),
    }
}

fn tag(value: &Value) -> Json {
    match value {
        Value::Bool(flag) => serde_json::json!(["t", flag]),
        Value::Int(number) => serde_json::json!(["i", number.to_string()]),
        Value::Float(number) => serde_json::json!(["f", number.to_string()]),
        Value::Text(text) => serde_json::json!(["s", text]),
        Value::Bytes(bytes) => serde_json::json!(["b", base64::prelude::BASE64_STANDARD.encode(bytes)]),
        Value::List(items) => serde_json::json!(["l", items.iter().map(tag).collect::<Vec<_>>()]),
        Value::Map(entries) => {
            serde_json::json!([
                "m",
                entries.iter().map(|(key, item)| serde_json::json!([key, tag(item)])).collect::<Vec<_>>()
            ])
        }
        _ => serde_json::json!(["n"]),
    }
}
