//! The dictionary of `sanare._request.build` as the face's request.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sanare::core::classify::{Class, classify};
use sanare::core::evidence::{Argument, Evidence, FileView};
use sanare::core::id::Id;
use sanare::core::outcome::Reason;
use sanare::core::settings::Settings;
use sanare::core::value::Value;
use sanare::effects::project::{Interpreter, Project, may_rewrite};
use sanare::operations::heal::{Continues, HealRequest, More};
use serde_json::{Value as Json, json};

use crate::back::items;
use crate::convert::{Limits, Reader};
use crate::failure::{self, Origin, dict, failure, flag, get, integer, plain_text, text};

/// Bytes of a file that an argument names, at most (C52).
const FILE: u64 = 64 * 1024 * 1024;
/// The same for the look at a good call (C48).
pub const FILE_LOOK: u64 = 64 * 1024;

/// Options that the face knows; objects and lists of objects stay in Python.
const OPTIONS: [&str; 10] =
    ["mode", "remember", "rerun", "write", "attempts", "deadline", "wait", "verify", "about", "proposers"];

/// Reads a request: what a record needs at once, within the budgets of the evidence, and the rest when it is asked for.
pub fn heal_request(request: &Bound<'_, PyDict>) -> HealRequest {
    let path = PathBuf::from(text(request, "path"));
    let root = text(request, "project_root");
    let project = match root.is_empty() {
        true => project_of_file(&path),
        // What is no file has no project of its own: the host says which one it belongs to.
        false => Project::of_folder(Path::new(&root), std::env::home_dir().as_deref()),
    };
    let error = dict(request, "error").unwrap_or_else(|| PyDict::new(request.py()));
    let frames = get(request, "frames");
    let options = options(request);
    // Broken settings refuse the heal and leave all values out of the record; what is read meanwhile has the defaults.
    let settings = sanare::wire::settings::settings(&project.root, &options).ok();
    let mut reader = Reader::new(settings.as_ref().map_or(Limits::EVIDENCE, evidence_limits));
    let mut failure = failure(&error, &mut reader, Origin::Live);
    let arguments = arguments(request, &mut reader, 0);
    failure.frames =
        frames.as_ref().map(|list| failure::frames(list, Some(&mut reader), Origin::Live)).unwrap_or_default();
    // A failure that no change of code repairs is captured for the record alone. What was raised on purpose may have been
    // raised by a repair: the store knows that.
    let repairable = matches!(classify(&failure).class, Class::Drift | Class::Library | Class::Bug | Class::Deliberate);
    let (source_trouble, unsupported) = trouble(request, &error, &path, &project);
    HealRequest {
        project: project.name(),
        project_root: project.root,
        path,
        function: text(request, "function"),
        first_line: count(request, "first_line"),
        source_trouble,
        unsupported,
        in_memory: text(request, "origin") == "memory",
        named: flag(request, "named"),
        continues: continues(request),
        code: text(request, "code"),
        lease_ms: integer(request, "lease_ms").and_then(|millis| u64::try_from(millis).ok()).unwrap_or(30_000),
        options,
        readable: folders(request, "interpreter"),
        evidence: Evidence {
            failure,
            arguments,
            source: text(request, "source"),
            first_line: count(request, "first_line"),
            globals: globals(request, &mut reader),
            contract: get(request, "contract").map(|value| reader.read(&value)).unwrap_or_default(),
            environment: settings.as_ref().map(environment).unwrap_or_default(),
            logs: logs(request),
            python: version(request),
        },
        more: repairable.then(|| more(request)),
    }
}

/// The incident that an inner function ended and this one goes on with.
fn continues(request: &Bound<'_, PyDict>) -> Option<Continues> {
    let given = dict(request, "continues")?;
    let incident = Id::from_text(text(&given, "incident"));
    let spent_ms = integer(&given, "spent_ms").and_then(|millis| u64::try_from(millis).ok()).unwrap_or(u64::MAX);
    Some(Continues { incident, spent_ms })
}

/// Reads whole arguments and more of the local variables, when that is wanted.
fn more(request: &Bound<'_, PyDict>) -> More {
    let request = request.clone().unbind();
    More(Box::new(move |evidence| {
        Python::attach(|py| {
            let request = request.bind(py);
            evidence.arguments = arguments(request, &mut Reader::new(Limits::DATA), FILE);
            if let Some(list) = get(request, "frames") {
                evidence.failure.frames = failure::frames(&list, None, Origin::Live);
            }
        });
    }))
}

/// The project of a source file.
pub fn project_of_file(path: &Path) -> Project {
    Project::of_file(path, std::env::home_dir().as_deref())
}

/// Why the running function is not what may be changed, in the closed list's words.
fn trouble(
    request: &Bound<'_, PyDict>,
    error: &Bound<'_, PyDict>,
    path: &Path,
    project: &Project,
) -> (Option<(Reason, String)>, Option<String>) {
    let say = |reason: Reason| Some((reason, reason.sentence().to_owned()));
    if text(error, "group") == "mixed" {
        return (Some((Reason::UnsupportedTarget, "several different failures in one group".to_owned())), None);
    }
    match text(request, "origin").as_str() {
        // Whatever is asked for, a library's code is not changed, in memory either.
        "library" => (Some((Reason::UnsupportedTarget, why_library(request, path, project))), None),
        "file" => {
            let interpreter = interpreter(request);
            (None, may_rewrite(path, project, &interpreter).err().map(|why| why.to_string()))
        }
        "changed" => (say(Reason::SourceChanged), None),
        "memory" => (None, None),
        _ => (say(Reason::NoSource), None),
    }
}

/// A list of folders.
fn folders(request: &Bound<'_, PyDict>, name: &str) -> Vec<PathBuf> {
    let found = get(request, name).map(|list| items(&list)).unwrap_or_default();
    found.iter().map(|folder| PathBuf::from(plain_text(folder))).collect()
}

fn why_library(request: &Bound<'_, PyDict>, path: &Path, project: &Project) -> String {
    let why = may_rewrite(path, project, &interpreter(request)).err().map(|why| why.to_string());
    why.unwrap_or_else(|| "the source is not the project's".to_owned())
}

fn interpreter(request: &Bound<'_, PyDict>) -> Interpreter {
    Interpreter { stdlib: folders(request, "stdlib"), packages: folders(request, "packages") }
}

/// How much is read for the record, as the settings say.
pub fn evidence_limits(settings: &Settings) -> Limits {
    let count = |path: &str| usize::try_from(settings.number(path)).unwrap_or(usize::MAX);
    let most = count("evidence.disk.arguments").max(count("evidence.disk.locals"));
    Limits {
        nodes: count("evidence.nodes"),
        bytes: count("evidence.size"),
        head: most.saturating_add(1_024).max(4_096),
        time: Duration::from_millis(settings.number("evidence.time")),
        ..Limits::EVIDENCE
    }
}

/// The listed environment variables that are set; no others are read (C38). With the interpreter's lock held, so that
/// the program does not change them at the same time.
pub fn environment(settings: &Settings) -> Vec<(String, String)> {
    let names = settings.list("evidence.environment_vars").into_iter();
    names.filter_map(|name| std::env::var(&name).ok().map(|value| (name, value))).collect()
}

/// Module names that the target reads, as `(name, value)`.
pub fn globals(request: &Bound<'_, PyDict>, reader: &mut Reader) -> Vec<(String, Value)> {
    let pairs = get(request, "globals").map(|list| items(&list)).unwrap_or_default();
    let named = pairs.iter().filter_map(|pair| match items(pair).as_slice() {
        [name, value] => Some((plain_text(name), reader.read(value))),
        _ => None,
    });
    named.collect()
}

/// The program's own log lines, oldest first.
pub fn logs(request: &Bound<'_, PyDict>) -> Vec<String> {
    get(request, "logs").map(|list| items(&list).iter().map(plain_text).collect()).unwrap_or_default()
}

/// Options as the face takes them.
pub fn options(request: &Bound<'_, PyDict>) -> Vec<(String, Json)> {
    let Some(given) = dict(request, "options") else { return Vec::new() };
    let mut options = Vec::new();
    for name in OPTIONS {
        let Some(value) = get(&given, name) else { continue };
        let json = match name {
            "attempts" => value.extract::<u64>().ok().map(|number| json!(number)),
            // Python keeps durations in seconds; files and face have texts with a unit.
            "deadline" | "wait" => value.extract::<f64>().ok().map(|seconds| json!(format!("{:.0}ms", seconds * 1e3))),
            "proposers" => Some(json!(items(&value).iter().map(plain_text).collect::<Vec<_>>())),
            "verify" => Some(commands(&value)),
            _ => Some(json!(plain_text(&value))),
        };
        options.extend(json.map(|json| (name.to_owned(), json)));
    }
    options
}

/// Argument lists as JSON.
fn commands(value: &Bound<'_, PyAny>) -> Json {
    let texts = |command: &Bound<'_, PyAny>| items(command).iter().map(|part| json!(plain_text(part))).collect();
    Json::Array(items(value).iter().map(|command| Json::Array(texts(command))).collect())
}

/// Arguments as `(name, value, path or None)`.
pub fn arguments(request: &Bound<'_, PyDict>, reader: &mut Reader, bytes: u64) -> Vec<Argument> {
    let Some(given) = get(request, "arguments") else { return Vec::new() };
    let given = items(&given);
    given
        .iter()
        .enumerate()
        .filter_map(|(at, entry)| {
            let entry = items(entry);
            let [name, value, path] = entry.as_slice() else { return None };
            let file = Some(plain_text(path)).filter(|path| !path.is_empty() && bytes > 0);
            Some(Argument {
                name: plain_text(name),
                value: reader.read_share(value, given.len() - at),
                file: file.and_then(|path| file_view(Path::new(&path), bytes)),
            })
        })
        .collect()
}

fn file_view(path: &Path, limit: u64) -> Option<FileView> {
    use std::io::Read;
    // A pipe may have taken the file's place since it was looked at.
    let file = sanare::effects::regular_file::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).ok()?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    Some(FileView { complete: bytes.len() as u64 >= length, bytes, name })
}

/// The result of a good call, bounded.
pub fn result(request: &Bound<'_, PyDict>, limits: Limits) -> Value {
    if !flag(request, "has_result") {
        return Value::Opaque("generator".to_owned());
    }
    match request.get_item("result") {
        Ok(Some(value)) => Reader::new(limits).read(&value),
        _ => Value::Null,
    }
}

fn count(request: &Bound<'_, PyDict>, name: &str) -> usize {
    integer(request, name).and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
}

/// The interpreter's version.
pub fn version(request: &Bound<'_, PyDict>) -> (u8, u8) {
    get(request, "python").and_then(|pair| pair.extract().ok()).unwrap_or((3, 10))
}
