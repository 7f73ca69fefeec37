//! A member of an installed library that was renamed, moved or removed (C68).
//!
//! What it does: puts the one successor that does the same in its place, in the target; where the old member stands in
//! an undecorated function of the module, a copy of that function with the change goes into the target.
//! Why: the running version lacks the old member, and the table marks the successor as equal.
//! Unsafe when: behaviour differs; such entries are never applied.

use crate::code::object_view::{Scene, effective};
use crate::code::object_write::{Draft, comment_lines};
use crate::kind::Subject;
use crate::library::forms::{self, Change};
use crate::library::sites::{Sites, chain};
use crate::library::{self, Entry, copy};
use crate::problem::{Answer, Failure, Tier};

use super::object::layer;

pub(crate) fn answer(subject: &Subject) -> Option<Answer> {
    let scene = Scene::of(subject);
    let failure = effective(scene);
    let line = failure.frames.iter().rev().map(|frame| frame.line).find(|line| *line > 0)?;
    let chain = chain(scene, line)?;
    let function = chain.last().copied().unwrap_or(scene.target);
    let sites = Sites::of(scene, function, line);
    library::table().iter().filter(|entry| entry.equal && entry.in_range(&scene.problem.runtime)).find_map(|entry| {
        let change = forms::change(entry, &sites, failure)?;
        apply(scene, entry, &chain, &change, failure)
    })
}

fn apply(
    scene: Scene,
    entry: &Entry,
    chain: &[&sanare_source::ast::StmtFunctionDef],
    change: &Change,
    failure: &Failure,
) -> Option<Answer> {
    let runtime = &scene.problem.runtime;
    let old = entry
        .members
        .iter()
        .find(|(old, _)| old.rsplit('.').next().is_some_and(|last| failure.message.contains(&format!("'{last}'"))));
    if let Some((old, new)) = old
        && (library::known_there(runtime, old) && entry.form == "member"
            || library::known_absent(runtime, new.trim_start_matches('-')))
    {
        return None;
    }
    let mut draft = Draft::new(scene);
    if chain.is_empty() {
        change.edits.iter().for_each(|edit| draft.edit(edit.clone()));
        if change.imports.is_empty() {
            draft.note(change.first?, &entry.reason);
        } else {
            let mut lines = comment_lines(&entry.reason, "");
            lines.extend(change.imports.iter().cloned());
            lines.push(String::new());
            draft.top(lines);
        }
    } else {
        let mut lines = copy::lines(scene, chain, &change.edits, &entry.reason)?;
        if !change.imports.is_empty() {
            let imports: Vec<String> = change.imports.clone();
            lines.splice(0..0, imports.into_iter().chain([String::new()]));
        }
        draft.verbatim(lines);
    }
    let evidence = vec![format!("{}: {}", entry.id, entry.source)];
    layer("library", draft.finish(), Tier::A, entry.reason.clone(), evidence, Vec::new())
}
