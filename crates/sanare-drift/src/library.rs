//! The library table (C68): removed members of installed libraries, each with the one successor that does the same.
//!
//! An entry is applied only where the running version lacks the old member, the error says so, and the entry is marked
//! equal. What does not live here: finding the old member in the source ([`sites`]) and writing the new one ([`forms`]).

pub(crate) mod copy;
pub(crate) mod forms;
mod forms_arguments;
mod forms_text;
pub(crate) mod sites;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use sanare_source::parse::Source;
use serde::Deserialize;

/// One entry of the table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its name in records.
    pub id: String,
    /// The distribution that lost the member; `python` for the standard library.
    pub distribution: String,
    /// The first version without it.
    pub removed: String,
    /// How it is edited; see [`forms`].
    pub form: String,
    /// One sentence for the comment in the repaired code.
    pub reason: String,
    /// Where that is written.
    pub source: String,
    /// Whether the successor does the same in every case; others are never applied by themselves.
    #[serde(default = "yes")]
    pub equal: bool,
    /// Old and new members or names.
    #[serde(default)]
    pub members: BTreeMap<String, String>,
    /// Functions by dotted name.
    #[serde(default)]
    pub functions: Vec<String>,
    /// Methods by name.
    #[serde(default)]
    pub methods: Vec<String>,
    /// Classes whose method it is, as error messages name them.
    #[serde(default)]
    pub classes: Vec<String>,
    /// The method or attribute.
    #[serde(default)]
    pub method: String,
    /// How many arguments the call must have.
    pub arguments: Option<usize>,
    /// The new text, with `{self}`, `{args}`, `{0}`, `{call}`, `{value}`, `{module:name}` filled in.
    #[serde(default)]
    pub template: String,
    /// The new text where the result is unpacked into several names.
    #[serde(default)]
    pub unpacked: String,
    /// Not applied where one of these attributes is read in the function.
    #[serde(default)]
    pub unless_read: Vec<String>,
    /// Applied only where the argument or receiver is a plain name or path of names.
    #[serde(default)]
    pub simple: bool,
    /// A part of the error's message, where it is not the usual one of its form.
    #[serde(default)]
    pub message: String,
    /// Several such parts.
    #[serde(default)]
    pub messages: Vec<String>,
    /// The removed keyword.
    #[serde(default)]
    pub keyword: String,
    /// Several removed keywords.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// Keywords that go with it.
    #[serde(default)]
    pub also: Vec<String>,
    /// What happens to it: `drop`, `rename`, `replace`, `behind`.
    #[serde(default)]
    pub action: String,
    /// Its new name.
    #[serde(default)]
    pub to: String,
    /// Only for this value.
    #[serde(default)]
    pub when: String,
    /// What the called function becomes.
    #[serde(default)]
    pub becomes: String,
    /// The value of a keyword that is added.
    #[serde(default)]
    pub value: String,
    /// Text that another argument must have.
    #[serde(default)]
    pub needs: String,
    /// New text by the value that the keyword has.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// New text where another keyword has this value.
    #[serde(default)]
    pub with: BTreeMap<String, String>,
    /// Text behind the call by the value that the keyword has.
    #[serde(default)]
    pub behind: BTreeMap<String, String>,
    /// The only value allowed for one of several keywords.
    #[serde(default)]
    pub only: BTreeMap<String, String>,
    /// Names of positional parameters by function or method.
    #[serde(default)]
    pub signatures: BTreeMap<String, Vec<String>>,
    /// The example that is run as a test.
    pub example: Example,
}

/// An entry's example: a function, how it fails, what must stand in the repaired text.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// Class and message.
    pub error: String,
    /// The module before; the function is `f`.
    pub before: String,
    /// A part of the failing line.
    pub at: String,
    /// A part of the module afterwards; empty where the entry is not to be applied.
    pub after: String,
}

#[derive(Deserialize)]
struct File {
    entry: Vec<Entry>,
}

const FILES: &[&str] = &[
    include_str!("../data/library/standard.toml"),
    include_str!("../data/library/numpy.toml"),
    include_str!("../data/library/pandas.toml"),
    include_str!("../data/library/openpyxl.toml"),
];

fn yes() -> bool {
    true
}

/// The whole table, read once.
pub fn table() -> &'static [Entry] {
    static TABLE: OnceLock<Vec<Entry>> = OnceLock::new();
    TABLE.get_or_init(|| {
        FILES.iter().filter_map(|text| toml::from_str::<File>(text).ok()).flat_map(|file| file.entry).collect()
    })
}

/// The dotted members that the host is to look up for a function (`runtime.members`): every old and new member of the
/// table whose old name stands in the source.
pub fn questions(source: &str, function: &str) -> Vec<String> {
    let Ok(parsed) = Source::parse(source) else { return Vec::new() };
    if parsed.functions(function).is_empty() {
        return Vec::new();
    }
    let mut out = Vec::new();
    for entry in table() {
        let pairs = entry.members.iter().map(|(old, new)| (old.as_str(), new.as_str()));
        let functions = entry.functions.iter().map(|old| (old.as_str(), entry.becomes.as_str()));
        for (old, new) in pairs.chain(functions) {
            let last = old.rsplit('.').next().unwrap_or(old);
            if !crate::code::object_write::has_word(source, last) {
                continue;
            }
            for name in [old, new.trim_start_matches('-')] {
                if name.contains('.') && !out.iter().any(|known| known == name) {
                    out.push(name.to_owned());
                }
            }
        }
    }
    out
}

/// The distributions whose versions the table needs, in order: said here too, so that nobody has to read the table for it.
pub const DISTRIBUTIONS: [&str; 3] = ["numpy", "openpyxl", "pandas"];

impl Entry {
    /// Whether the version that runs is one without the old member. A version that is not known does not stand against
    /// it: the error itself says that the member is absent.
    pub fn in_range(&self, runtime: &crate::problem::Runtime) -> bool {
        let version = if self.distribution == "python" {
            if runtime.python == (0, 0) {
                return true;
            }
            format!("{}.{}", runtime.python.0, runtime.python.1)
        } else {
            match runtime.versions.iter().find(|(name, _)| *name == self.distribution) {
                Some((_, version)) => version.clone(),
                None => return true,
            }
        };
        parts(&version) >= parts(&self.removed)
    }
}

/// Whether the host looked a member up and did not find it.
pub fn known_absent(runtime: &crate::problem::Runtime, member: &str) -> bool {
    runtime.members.iter().any(|(name, there)| name == member && !there)
}

/// Whether the host looked a member up and found it.
pub fn known_there(runtime: &crate::problem::Runtime, member: &str) -> bool {
    runtime.members.iter().any(|(name, there)| name == member && *there)
}

fn parts(version: &str) -> Vec<u32> {
    let number = |part: &str| part.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0);
    version.split('.').map(number).take(2).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::{DISTRIBUTIONS, FILES, File, questions, table};
    use crate::engine::next_layer;
    use crate::problem::{Answer, Failure, Frame, Problem, Runtime};

    #[test]
    fn every_file_is_read() {
        for text in FILES {
            if let Err(error) = toml::from_str::<File>(text) {
                panic!("{error}");
            }
        }
        assert!(table().len() >= 60, "{}", table().len());
        let mut ids: Vec<&str> = table().iter().map(|entry| entry.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), table().len());
    }

    #[test]
    fn every_example_does_what_it_says() {
        let mut wrong = Vec::new();
        for entry in table() {
            let example = &entry.example;
            let (class, message) = example.error.split_once(": ").unwrap_or((&example.error, ""));
            let line = 1 + example.before.lines().position(|line| line.contains(&example.at)).unwrap();
            let problem = Problem {
                source: example.before.clone(),
                function: "f".into(),
                failure: Failure {
                    class: class.into(),
                    message: message.into(),
                    frames: vec![Frame {
                        function: "f".into(),
                        line,
                        locals: vec![("x".into(), sanare_core::value::Value::Text("[1]".into()))],
                        ..Frame::default()
                    }],
                    ..Failure::default()
                },
                runtime: Runtime { python: (3, 14), ..Runtime::default() },
                ..Problem::default()
            };
            match next_layer(&problem) {
                Answer::Layer(layer) if example.after.is_empty() => {
                    wrong.push(format!("{}: applied\n{}", entry.id, layer.source))
                }
                Answer::Layer(layer) if !layer.source.contains(&example.after) => {
                    wrong.push(format!("{}:\n{}", entry.id, layer.source))
                }
                Answer::Layer(layer) => {
                    if sanare_source::parse::Source::parse(&layer.source).is_err() {
                        wrong.push(format!("{} does not parse:\n{}", entry.id, layer.source));
                    }
                }
                Answer::Refused(refusal) if !example.after.is_empty() => {
                    wrong.push(format!("{}: {}", entry.id, refusal.summary))
                }
                Answer::Refused(_) => {}
            }
            let older = Problem {
                runtime: Runtime {
                    python: (2, 7),
                    versions: vec![(entry.distribution.clone(), "0.1".into())],
                    members: Vec::new(),
                },
                ..problem
            };
            if let Answer::Layer(layer) = next_layer(&older) {
                wrong.push(format!("{}: applied out of range\n{}", entry.id, layer.source));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n---\n"));
    }

    #[test]
    fn the_distributions_are_those_of_the_table() {
        let named = table().iter().map(|entry| entry.distribution.as_str()).filter(|name| *name != "python");
        assert_eq!(named.collect::<std::collections::BTreeSet<_>>(), DISTRIBUTIONS.into_iter().collect());
    }

    #[test]
    fn questions_name_old_and_new() {
        let asked = questions("import numpy as np\ndef f(x):\n    return np.product(x)\n", "f");
        assert!(asked.contains(&"numpy.product".to_owned()) && asked.contains(&"numpy.prod".to_owned()), "{asked:?}");
        assert!(questions("def f(x):\n    return x\n", "f").is_empty());
    }
}
