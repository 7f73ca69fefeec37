//! Cells without a value say so in a word where they were empty before. Only where the code has a rule for empty cells.

use std::collections::BTreeSet;

use crate::code::table_reads::{Key, Via};
use crate::code::table_uses::{Becomes, Op, Use};
use crate::code::write::Writer;
use crate::code::{called, keyword};
use crate::kind::header_row::put;
use crate::kind::{Layers, Subject};
use crate::problem::Answer;
use crate::table::numbers::{Reading, reads};
use crate::table::{Tables, View};
use crate::values;

/// Words that pandas takes for missing by itself.
const PANDAS: &[&str] = &[
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
];

/// Answers when words for "no value" stand in a column that the code converts and may find empty.
pub fn answer(subject: &Subject) -> Option<Answer> {
    let tables = subject.tables();
    let (at, reader, view) = tables.first()?;
    if tables.code.has("empty_if_null") {
        return None;
    }
    if reader.form.is_frame() {
        return in_frame(tables, at, view);
    }
    let now = tables.called_now(at, view);
    let mut words: BTreeSet<String> = BTreeSet::new();
    let mut keys: Vec<Key> = Vec::new();
    for read in tables.reads.all.iter().filter(|read| read.reader == at) {
        if keys.contains(&read.key) {
            continue;
        }
        let uses: Vec<Use> = tables.reads.of(at, &read.key).flat_map(|read| tables.code.uses(read)).collect();
        let converted: Vec<&Use> = uses.iter().filter(|one| one.is_number() || one.implied().is_some()).collect();
        let ruled = uses
            .iter()
            .any(|one| matches!(one.becomes, Becomes::Tested | Becomes::Compared("")) || one.ops.contains(&Op::Or));
        let Some((place, _)) = tables.place_of(&read.key, view, &now) else { continue };
        let found: BTreeSet<String> = null_words(view, place)
            .filter(|word| converted.iter().any(|one| !one.is_number() || reads(word, one) == Reading::Fails))
            .map(str::to_owned)
            .collect();
        if converted.is_empty() || found.is_empty() || converted.iter().all(|one| one.set_aside) {
            continue;
        }
        if !ruled {
            continue;
        }
        words.extend(found);
        keys.push(read.key.clone());
    }
    if keys.is_empty() {
        return None;
    }
    let words: Vec<String> = words.into_iter().collect();
    let summary = format!("a cell without a value now says {}", words.join(" or "));
    let evidence = vec!["the code has a rule for empty cells of the column".to_owned()];
    Some(Layers::structural("null_word", edit(tables, at, &keys, &words), summary, evidence))
}

fn null_words<'v>(view: &'v View, place: usize) -> impl Iterator<Item = &'v str> {
    view.texts(place).filter(|cell| !cell.trim().is_empty() && values::is_null_word(cell))
}

fn edit(tables: &Tables, at: usize, keys: &[Key], words: &[String]) -> Option<String> {
    let mut writer = Writer::new(&tables.code);
    for read in tables.reads.all.iter().filter(|read| read.reader == at && keys.contains(&read.key)) {
        if matches!(read.via, Via::Index | Via::Elsewhere | Via::Frame) || read.expr.as_name_expr().is_some() {
            return None;
        }
        writer.wrap(read.expr, "empty_if_null", &[]);
    }
    let quoted: Vec<String> = words.iter().map(|word| writer.quote(word)).collect();
    let test = match quoted.as_slice() {
        [one] => format!("text == {one}"),
        several => format!("text in ({})", several.join(", ")),
    };
    let nothing = writer.quote("");
    writer.helper(&format!(
        "def empty_if_null(text):\n    # a cell without a value may say {} instead of being empty\n    return {nothing} if {test} else text",
        words.join(" or ")
    ));
    writer.finish()
}

/// In a data frame the word is added to those that the reader takes for missing.
fn in_frame(tables: &Tables, at: usize, view: &View) -> Option<Answer> {
    let reader = tables.readers.get(at)?;
    let call = reader.call?;
    let given = keyword(call, "na_values");
    let known: Vec<String> = match given {
        None => Vec::new(),
        Some(given) => match (tables.code.constant_text(given), tables.code.constant_texts(given)) {
            (Some(one), _) => vec![one.to_owned()],
            (None, Some(several)) => several.iter().map(|word| (*word).to_owned()).collect(),
            _ => return None,
        },
    };
    let drops = tables.code.tree.exprs().any(|(_, expr)| {
        expr.as_call_expr()
            .is_some_and(|call| matches!(called(call).0, "dropna" | "isna" | "notna" | "isnull" | "notnull"))
    });
    let mut words: BTreeSet<String> = BTreeSet::new();
    for column in tables.number_columns(at, view) {
        let found: Vec<&str> = null_words(view, column.place)
            .filter(|word| !PANDAS.contains(word) && !known.iter().any(|known| known == word))
            .collect();
        let had_nulls = column.remembered(view).is_some_and(|old| old.nulls > 0);
        if found.is_empty() {
            continue;
        }
        if !(given.is_some() || drops || had_nulls) {
            return None;
        }
        words.extend(found.into_iter().map(str::to_owned));
    }
    if words.is_empty() {
        return None;
    }
    let mut writer = Writer::new(&tables.code);
    let all: Vec<String> = known.iter().chain(words.iter()).map(|word| writer.quote(word)).collect();
    put(&mut writer, call, "na_values", &format!("[{}]", all.join(", ")))?;
    let said: Vec<String> = words.into_iter().collect();
    writer.comment(call, &format!("a cell without a value may say {}", said.join(" or ")));
    let summary = format!("a cell without a value now says {}", said.join(" or "));
    Some(Layers::structural(
        "null_word",
        writer.finish(),
        summary,
        vec!["the code has a rule for missing values".to_owned()],
    ))
}
