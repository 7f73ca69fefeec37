//! A truth value is spelled another way (Y and N for 1 and 0): the spellings seen become the digits that the code reads.

use sanare_core::outcome::Reason;

use crate::code::table_reads::{Key, Via};
use crate::code::table_uses::{Becomes, Op};
use crate::code::write::Writer;
use crate::engine::refused;
use crate::kind::{Layers, Subject};
use crate::problem::Answer;
use crate::table::numbers::{Reading, cells, reads};
use crate::table::{Tables, View};
use crate::values::{self, BooleanPair};

/// Answers when a column that the code reads as a whole number holds one pair of truth words.
pub fn answer(subject: &Subject) -> Option<Answer> {
    let tables = subject.tables();
    let (at, _, view) = tables.first()?;
    if tables.code.has("flag_as_digit") {
        return None;
    }
    let now = tables.called_now(at, view);
    let mut found: Option<(BooleanPair, Vec<Key>)> = None;
    for read in tables.reads.all.iter().filter(|read| read.reader == at) {
        let uses = tables.code.uses(read);
        let digits = uses.iter().any(|one| one.becomes == Becomes::Int)
            && uses.iter().all(|one| {
                matches!(one.becomes, Becomes::Int | Becomes::Tested)
                    && one.ops.iter().all(|op| matches!(op, Op::Or | Op::Strip))
            });
        if !digits || found.as_ref().is_some_and(|(_, keys)| keys.contains(&read.key)) {
            continue;
        }
        let Some((place, _)) = tables.place_of(&read.key, view, &now) else { continue };
        let cells = cells(view, place);
        if cells.is_empty()
            || uses
                .iter()
                .any(|one| one.becomes == Becomes::Int && cells.iter().any(|cell| reads(cell, one) != Reading::Fails))
        {
            continue;
        }
        let Some(pair) = values::boolean_pair(&cells) else { continue };
        if cells.iter().any(|cell| cell.trim() != *cell) {
            continue;
        }
        if !was_digits(view, &read.key) {
            return Some(refused(Reason::Ambiguous, "truth words stand where larger numbers stood before"));
        }
        match &mut found {
            None => found = Some((pair, vec![read.key.clone()])),
            Some((known, keys)) if *known == pair => keys.push(read.key.clone()),
            Some(_) => return None,
        }
    }
    let (pair, keys) = found?;
    let names: Vec<String> = keys.iter().map(shown).collect();
    let summary =
        format!("{} now says {} and {} for 1 and 0", names.join(", "), pair.truthy.join("/"), pair.falsy.join("/"));
    let evidence = vec!["every value is one of the pair".to_owned()];
    Some(Layers::structural("flag", edit(tables, at, &pair, &keys), summary, evidence))
}

/// Whether the values before were 1 and 0 only, as far as remembered.
fn was_digits(view: &View, key: &Key) -> bool {
    let Key::Name(name) = key else { return true };
    let profile = view
        .remembered
        .and_then(|table| table.columns.iter().find(|(column, _)| column == name))
        .map(|(_, profile)| profile);
    profile.and_then(|profile| profile.number.as_ref()).is_none_or(|number| {
        number.powers.is_none_or(|(low, _, high)| low == 0 && high == 0 && !number.negative && number.integer_only)
    })
}

fn edit(tables: &Tables, at: usize, pair: &BooleanPair, keys: &[Key]) -> Option<String> {
    let mut writer = Writer::new(&tables.code);
    for read in tables.reads.all.iter().filter(|read| read.reader == at && keys.contains(&read.key)) {
        if matches!(read.via, Via::Index | Via::Elsewhere | Via::Frame) || read.expr.as_name_expr().is_some() {
            return None;
        }
        writer.wrap(read.expr, "flag_as_digit", &[]);
    }
    let entry = |word: &String, digit: &str| format!("{}: {}", writer.quote(word), writer.quote(digit));
    let entries: Vec<String> =
        pair.truthy.iter().map(|word| entry(word, "1")).chain(pair.falsy.iter().map(|word| entry(word, "0"))).collect();
    writer.helper(&format!(
        "def flag_as_digit(flag):\n    # the flag may be spelled out\n    digits = {{{}}}\n    return digits[flag] if flag in digits else flag",
        entries.join(", ")
    ));
    writer.finish()
}

fn shown(key: &Key) -> String {
    match key {
        Key::Name(name) => format!("`{name}`"),
        Key::At(place) => format!("column {}", place + 1),
    }
}
