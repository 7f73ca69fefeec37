//! Writing a container that is now elsewhere: the data gets its old form once, where it comes in.

use crate::code::object_path::{Step, spoken};
use crate::code::object_reads::{Form, Place};
use crate::code::object_view::View;
use crate::code::object_write::{Draft, bare, comment_lines, literal};

/// How a piece of data gets its old form.
#[derive(Clone, Debug)]
pub struct Change {
    /// The condition under which it has the new form, in terms of `{}`, the piece of data.
    pub when: String,
    /// Statements before the old form is made, checks that raise among them; in terms of `{}`.
    pub body: Vec<String>,
    /// Its old form, in terms of `{}`.
    pub becomes: String,
    /// What changed, for the comment.
    pub comment: String,
    /// Names for a helper function, if one is needed.
    pub helper: Vec<&'static str>,
}

/// The module in which the data at a place gets its old form; `None` where it cannot be written.
pub fn written(view: &View, place: &Place, change: &Change) -> Option<String> {
    let mut draft = Draft::new(view.subject);
    let root = view.reading.roots.get(place.root)?;
    let named = view.reading.bindings.iter().filter(|binding| binding.place == *place).collect::<Vec<_>>();
    if place.steps.is_empty() && root.form == Form::Parameter {
        draft.top(lines(&root.parameter, change));
        return draft.finish();
    }
    let entries: Vec<_> = view.reading.entries.iter().filter(|entry| entry.place == *place).collect();
    if let ([binding], true) = (named.as_slice(), entries.len() <= 1) {
        let name = view.text(binding.statement);
        let plain_statement = name.starts_with(&binding.name);
        if plain_statement {
            draft.after(
                binding.statement,
                &lines(&binding.name, change).iter().map(|line| draft.quoted(line)).collect::<Vec<_>>(),
            );
            return draft.finish();
        }
    }
    let mut ranges: Vec<_> = entries.iter().map(|entry| entry.range).collect();
    if ranges.is_empty() {
        let reads =
            view.reading.reads.iter().filter(|read| read.place == *place && read.owner == 0 && read.range != read.base);
        ranges.extend(reads.map(|read| read.range));
        ranges.dedup();
    }
    if ranges.is_empty() {
        return None;
    }
    let names = change.helper.clone();
    let name = draft.helper(&names, &change.comment, |name| helper(name, change));
    for range in ranges {
        let text = format!("{name}({})", draft.text(range));
        draft.replace(range, text);
    }
    draft.finish()
}

fn lines(name: &str, change: &Change) -> Vec<String> {
    let mut out = vec![format!("if {}:", change.when.replace("{}", name))];
    out.extend(comment_lines(&change.comment, "    "));
    out.extend(change.body.iter().map(|line| format!("    {}", line.replace("{}", name))));
    out.push(format!("    {name} = {}", change.becomes.replace("{}", name)));
    out
}

fn helper(name: &str, change: &Change) -> Vec<String> {
    let mut out = vec![format!("def {name}(data):"), format!("    if {}:", change.when.replace("{}", "data"))];
    out.extend(change.body.iter().map(|line| format!("        {}", line.replace("{}", "data"))));
    out.push(format!("        return {}", change.becomes.replace("{}", "data")));
    out.push("    return data".into());
    out
}

/// The expression that steps lead to from `{}`, and the checks that lists of one need.
pub fn expression(steps: &[Step]) -> (String, Vec<String>) {
    let mut text = String::from("{}");
    let mut checks = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Key(key) => text.push_str(&format!("[{}]", literal(key))),
            _ => {
                let said = bare(&spoken(steps.get(..at).unwrap_or_default()));
                let said = if said.is_empty() { "the data".to_owned() } else { said };
                checks.push(format!("if len({text}) != 1:"));
                checks.push(format!("    raise ValueError(\"{said} does not hold exactly one member\")"));
                text.push_str("[0]");
            }
        }
    }
    (text, checks)
}

/// The old form at these steps around a value.
pub fn wrapped(chain: &[Step], value: &str) -> String {
    let mut text = value.to_owned();
    for step in chain.iter().rev() {
        text = match step {
            Step::Key(key) => format!("{{{}: {text}}}", literal(key)),
            _ => format!("[{text}]"),
        };
    }
    text
}
