//! What a layer must not leave behind: cells that the code would read without an error, but wrongly.

use sanare_core::outcome::Reason;

use super::mapping::profile_of;
use super::numbers::{NumberColumn, Reading, cells, reads, scale_changed};
use super::{Tables, View};
use crate::code::table_reads::Key;
use crate::code::table_uses::{Becomes, Op, Use};
use crate::engine::refused;
use crate::problem::{Answer, Problem};
use crate::profile::Profile;

/// What is wrong with the columns that the code reads.
pub enum Finding {
    /// Numbers would be misread without an error; the number kind may repair it.
    Misread,
    /// Nothing may be offered.
    Objection(Answer),
}

/// Looks at every column that the repaired code would read. Where the layer is about a loop that finds nothing
/// (`found_none`), a word that does not occur is the very case, unless one that looks like it took its place.
pub fn findings(problem: &Problem, tables: &Tables, found_none: bool) -> Option<Finding> {
    let (at, _, view) = tables.first()?;
    let now = tables.called_now(at, view);
    let mut done: Vec<Key> = Vec::new();
    for read in tables.reads.all.iter().filter(|read| read.reader == at) {
        if done.contains(&read.key) {
            continue;
        }
        done.push(read.key.clone());
        let Some((place, _)) = tables.place_of(&read.key, view, &now) else { continue };
        if matches!(&read.key, Key::Name(name) if tables.made.contains(name)) {
            continue;
        }
        let uses: Vec<Use> = tables.reads.of(at, &read.key).flat_map(|read| tables.code.uses(read)).collect();
        let shown = view.header.get(place).cloned().unwrap_or_default();
        if view.header.iter().filter(|name| **name == shown).count() > 1 && matches!(read.key, Key::Name(_)) {
            return Some(Finding::Objection(refused(
                Reason::Ambiguous,
                &format!("the header names `{shown}` more than once"),
            )));
        }
        if let Some(objection) = words_gone(view, place, &uses, &shown, found_none) {
            return Some(Finding::Objection(objection));
        }
        if let Some(old) = remembered(view, &read.key) {
            let new = profile_of(view, place);
            if let Some(objection) = changed(old, &new, &uses, &shown) {
                return Some(Finding::Objection(objection));
            }
        }
    }
    let _ = problem;
    let columns = tables.number_columns(at, view);
    let loud = |column: &NumberColumn| {
        let failing = |cell: &&str| column.uses.iter().any(|one| reads(cell, one) == Reading::Fails);
        !column.set_aside && cells(view, column.place).iter().any(failing)
    };
    let silent = |column: &NumberColumn| !column.read_right && column.grammar.is_ok() && !loud(column);
    columns.iter().any(silent).then_some(Finding::Misread)
}

fn remembered<'v>(view: &'v View, key: &Key) -> Option<&'v Profile> {
    let columns = &view.remembered?.columns;
    match key {
        Key::Name(name) => columns.iter().find(|(column, _)| column == name).map(|(_, profile)| profile),
        Key::At(place) => columns.get(usize::try_from(*place).ok()?).map(|(_, profile)| profile),
    }
}

/// The code compares with words that do not occur any more: the words may have been renamed as well.
fn words_gone(view: &View, place: usize, uses: &[Use], shown: &str, found_none: bool) -> Option<Answer> {
    let compared: Vec<&str> = uses
        .iter()
        .filter(|one| one.ops.iter().all(|op| matches!(op, Op::Strip | Op::Function(_))))
        .filter_map(|one| match one.becomes {
            Becomes::Compared(text) if !text.is_empty() => Some(text),
            _ => None,
        })
        .collect();
    let cells = cells(view, place);
    let occurs = |word: &&str| cells.iter().any(|cell| cell.trim() == *word);
    if compared.is_empty() || cells.is_empty() || compared.iter().any(occurs) {
        return None;
    }
    if found_none && !cells.iter().any(|cell| compared.iter().any(|word| alike(cell, word))) {
        return None;
    }
    let said = format!("`{shown}` is compared with {}, which does not occur in it any more", compared.join(", "));
    Some(refused(Reason::Vetoed, &said))
}

/// Whether a value could be the word in another spelling.
fn alike(cell: &str, word: &str) -> bool {
    let (cell, word) = (cell.trim().to_lowercase(), word.trim().to_lowercase());
    cell == word || cell.starts_with(&word) || word.starts_with(&cell) || crate::names::same(&cell, &word)
}

/// The form of a column's values changed in a way that the code would not notice.
fn changed(old: &Profile, new: &Profile, uses: &[Use], shown: &str) -> Option<Answer> {
    if uses.iter().any(Use::is_number) && new.units.is_empty() && old.units.is_empty() && scale_changed(old, new) {
        return Some(refused(
            Reason::ScaleOrUnit,
            &format!("the numbers of `{shown}` are of another size than before"),
        ));
    }
    let as_text: Vec<&Use> =
        uses.iter().filter(|one| matches!(one.becomes, Becomes::Text | Becomes::Date(None))).collect();
    if as_text.is_empty() {
        return None;
    }
    let sliced = as_text.iter().all(|one| one.ops.contains(&Op::Slice));
    if !old.dates.is_empty() && new.count > 0 && !same_dates(old, new, sliced) {
        return Some(refused(
            Reason::Vetoed,
            &format!("the dates of `{shown}` are written another way, and the code uses their text"),
        ));
    }
    if let (Some(before), Some(after)) = (&old.flag, &new.flag)
        && before != after
        && before.0 != after.0
    {
        return Some(refused(
            Reason::Vetoed,
            &format!("`{shown}` spells truth another way, and the code uses its text"),
        ));
    }
    None
}

fn same_dates(old: &Profile, new: &Profile, sliced: bool) -> bool {
    let day = |format: &String| format.split(['T', ' ']).next().unwrap_or_default().to_owned();
    if sliced {
        return old.dates.iter().any(|before| new.dates.iter().any(|after| day(before) == day(after)));
    }
    old.dates.iter().any(|before| new.dates.contains(before))
}
