//! Date and time came in one column and now come in two, which join to the old format exactly; or the reverse.

use sanare_core::outcome::Reason;
use sanare_source::ast::Expr;

use crate::code::table_reader::Form;
use crate::code::table_reads::{Key, Read, Via};
use crate::code::table_uses::Becomes;
use crate::code::write::Writer;
use crate::engine::refused;
use crate::kind::date_format::form;
use crate::kind::{Layers, Subject};
use crate::names;
use crate::problem::{Answer, Mapping, Tier};
use crate::table::numbers::cells;
use crate::table::{Tables, View};

/// Words of a name that say date or time and nothing about which one.
const MOMENT_WORDS: &[&str] = &["date", "time", "datetime", "timestamp", "local", "day", "at"];

/// Answers when a moment that the code reads from one column stands in two.
pub fn answer(subject: &Subject) -> Option<Answer> {
    let tables = subject.tables();
    let (at, reader, view) = tables.first()?;
    if reader.form != Form::Dict || tables.code.has("joined") {
        return None;
    }
    let missing = tables.missing(subject.problem, at, view);
    for name in &missing {
        let key = Key::Name(name.clone());
        let reads: Vec<&Read> = tables.reads.of(at, &key).collect();
        let formats: Vec<&str> = reads
            .iter()
            .flat_map(|read| tables.code.uses(read))
            .filter_map(|one| match one.becomes {
                Becomes::Date(Some(format)) if one.ops.is_empty() => Some(format),
                _ => None,
            })
            .collect();
        let Some(format) = formats.first() else { continue };
        let Some((date_form, time_form)) = format.split_once([' ', 'T']) else { continue };
        if formats.len() != reads.len() || !time_form.contains("%M") {
            continue;
        }
        let separator = &format[date_form.len()..=date_form.len()];
        let parts = |wanted: &str| -> Vec<usize> {
            (0..view.header.len())
                .filter(|place| column_of(view, *place, wanted) && same_subject(name, &view.header[*place]))
                .collect()
        };
        let (dates, times) = (parts(date_form), parts(time_form));
        let ([date], [time]) = (dates.as_slice(), times.as_slice()) else {
            if dates.len() > 1 || times.len() > 1 {
                return Some(refused(
                    Reason::Ambiguous,
                    &format!("more than one date or time could be a part of `{name}`"),
                ));
            }
            continue;
        };
        let (date, time) = (view.header[*date].clone(), view.header[*time].clone());
        let source = edit(tables, &reads, name, &date, &time, separator);
        let mapping = |seen: &str| Mapping {
            expected: name.clone(),
            seen: seen.to_owned(),
            evidence: vec![
                "I5 the same words beside date and time".into(),
                format!("S both parts join to {format} in every row"),
            ],
            tier: Tier::B,
        };
        let summary = format!("{name} now comes in two columns, {date} and {time}");
        return Some(Layers::mapped("column_split", source, vec![mapping(&date), mapping(&time)], summary));
    }
    None
}

/// Whether every cell of a column has the form.
fn column_of(view: &View, place: usize, format: &str) -> bool {
    let all: Vec<&str> = view.texts(place).collect();
    !all.is_empty() && cells(view, place).len() == all.len() && all.iter().all(|cell| form::fits(cell, format))
}

/// Whether two names speak of the same thing, date and time words aside.
fn same_subject(expected: &str, seen: &str) -> bool {
    let words = |name: &str| {
        let mut words: Vec<String> =
            names::canonical(name).tokens.into_iter().filter(|word| !MOMENT_WORDS.contains(&word.as_str())).collect();
        words.sort();
        words
    };
    words(expected) == words(seen)
}

fn edit(tables: &Tables, reads: &[&Read], name: &str, date: &str, time: &str, separator: &str) -> Option<String> {
    let mut writer = Writer::new(&tables.code);
    for read in reads {
        if read.via != Via::Subscript {
            return None;
        }
        let Expr::Subscript(subscript) = read.expr else { return None };
        writer.replace(read.expr, format!("joined({})", tables.code.text(&*subscript.value)));
    }
    let (name, date, time, separator) =
        (writer.quote(name), writer.quote(date), writer.quote(time), writer.quote(separator));
    writer.helper(&format!(
        "def joined(row):\n    # date and time now come in two columns\n    if {name} in row:\n        return row[{name}]\n    \
         return row[{date}] + {separator} + row[{time}]"
    ));
    writer.finish()
}
