//! Records keyed by their id where a list was, or a list where they were keyed.
//!
//! What it does: takes the values of the mapping as the list, or keys the list by the field that was the key.
//! Why: all members share one shape, and the key can be read on both sides.
//! Unsafe when: two fields could be the key, or a value of it occurs twice; then it refuses or raises.

use sanare_core::value::Value;

use crate::code::object_fit;
use crate::code::object_path::{Step, spoken};
use crate::code::object_place::{self, Change};
use crate::code::object_reads::{How, Place, Usage};
use crate::code::object_view::{Trouble, View};
use crate::code::object_write::{bare, literal};
use crate::names;
use crate::problem::{Answer, Tier};
use crate::shape::ObjectShape;

use super::object::layer;

pub(crate) fn answer(view: &View) -> Option<Answer> {
    match view.trouble()? {
        Trouble::NotList(place) => to_list(view, &place),
        Trouble::NotMap(place) => to_mapping(view, &place),
        _ => None,
    }
}

/// A list was read, a mapping from id to record is there.
fn to_list(view: &View, place: &Place) -> Option<Answer> {
    let all = view.at(place);
    let entries: Vec<&[(String, Value)]> = all.iter().filter_map(|value| value.as_map()).collect();
    if entries.len() != all.len() || entries.iter().all(|map| map.is_empty()) {
        return None;
    }
    let records: Vec<&Value> = entries.iter().flat_map(|map| map.iter().map(|(_, value)| value)).collect();
    if records.iter().any(|record| record.as_map().is_none()) || (records.len() < 2 && all.len() < 2) {
        return None;
    }
    let member = place.then(Step::Member);
    let names = view.key_names(&member);
    let lost: Vec<&String> =
        names.iter().filter(|name| records.iter().all(|record| record.get(name).is_none())).collect();
    let there: Vec<&String> =
        names.iter().filter(|name| records.iter().all(|record| record.get(name).is_some())).collect();
    if there.is_empty() || there.len() + lost.len() != names.len() || !shared_shape(&records) {
        return None;
    }
    let fits = there.iter().all(|name| {
        let values: Vec<&Value> = records.iter().filter_map(|record| record.get(name)).collect();
        object_fit::fit(view, &member.then(Step::Key((*name).clone())), &values).is_some()
    });
    let becomes = match lost.as_slice() {
        [] => "list({}.values())".to_owned(),
        [id] if is_id(id, place) && key_is_text(view, &member, id) => {
            format!("[{{{}: key, **record}} for key, record in {{}}.items()]", literal(id))
        }
        _ => return None,
    };
    let fits = fits && !already_fits(view, &member, &all);
    fits.then_some(())?;
    let name = named(place);
    let change = Change {
        when: "isinstance({}, dict)".into(),
        body: Vec::new(),
        becomes,
        comment: format!("{name} is now a mapping from key to record, where it was a list"),
        helper: vec!["as_records", "record_list"],
    };
    let evidence = format!("every value has {}", there.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", "));
    layer(
        "object_keyed",
        object_place::written(view, place, &change),
        Tier::A,
        format!("{name}: keyed records in place of a list"),
        vec![evidence],
        Vec::new(),
    )
}

/// A mapping from id to record was read, a list of records is there.
fn to_mapping(view: &View, place: &Place) -> Option<Answer> {
    let all = view.at(place);
    let lists: Vec<&[Value]> = all.iter().filter_map(|value| value.as_list()).collect();
    let keyed = view
        .reading
        .reads
        .iter()
        .any(|read| read.place == place.then(Step::Entry) && matches!(read.how, How::Entries | How::Subscript));
    if lists.len() != all.len() || !keyed || !view.key_names(place).is_empty() {
        return None;
    }
    let records: Vec<&Value> = lists.iter().flat_map(|list| list.iter()).collect();
    let entry = place.then(Step::Entry);
    let names = view.key_names(&entry);
    if records.is_empty()
        || names.is_empty()
        || records.iter().any(|record| record.as_map().is_none() || names.iter().any(|name| record.get(name).is_none()))
    {
        return None;
    }
    object_fit::fit(view, &entry, &records)?;
    let id = key_field(view, place, &entry, &lists)?;
    let key = literal(&id);
    let name = named(place);
    let text = records.iter().all(|record| matches!(record.get(&id), Some(Value::Text(_))));
    let made = if text { format!("record[{key}]") } else { format!("str(record[{key}])") };
    let change = Change {
        when: "isinstance({}, list)".into(),
        body: vec![
            format!("if len({{record[{key}] for record in {{}}}}) != len({{}}):").replace("{record", "{record"),
            format!("    raise ValueError(\"{} is not different in every record\")", bare(&id)),
        ],
        becomes: format!("{{{made}: record for record in {{}}}}"),
        comment: format!("{name} is now a list of records, where it was a mapping keyed by {}", bare(&id)),
        helper: vec!["keyed", "by_key"],
    };
    let evidence = format!("{id} is different in every record, and is what the code calls the key");
    layer(
        "object_keyed",
        object_place::written(view, place, &change),
        Tier::A,
        format!("{name}: a list in place of keyed records"),
        vec![evidence],
        Vec::new(),
    )
}

/// The field of the records that was their key: called as the code calls the key, or the only id, different in each.
fn key_field(view: &View, place: &Place, entry: &Place, lists: &[&[Value]]) -> Option<String> {
    let first = lists.iter().find_map(|list| list.first())?.as_map()?;
    let spoken = key_names(view, place);
    let old = view.remembered(entry);
    let fields: Vec<&String> = first
        .iter()
        .map(|(name, _)| name)
        .filter(|name| lists.iter().all(|list| distinct(list, name)))
        .filter(|name| old.as_ref().is_none_or(|shape| shape.key(name).is_none()))
        .collect();
    let called: Vec<&&String> = fields
        .iter()
        .filter(|name| {
            spoken
                .iter()
                .any(|called| names::same(called, name) || names::same(called, &format!("{}_{name}", singular(place))))
        })
        .collect();
    if let [only] = called.as_slice() {
        return Some((**only).clone());
    }
    let ids: Vec<&&String> = fields.iter().filter(|name| is_id(name, place)).collect();
    match (called.as_slice(), ids.as_slice()) {
        ([], [only]) => Some((**only).clone()),
        _ => None,
    }
}

/// What the code calls the keys of the mapping: the loop variable before the records.
fn key_names(view: &View, place: &Place) -> Vec<String> {
    let source = view.subject.source;
    let mut out = Vec::new();
    for read in view.reading.reads.iter().filter(|read| read.place == place.then(Step::Entry)) {
        let line = source.text().get(..read.range.start().to_usize()).unwrap_or_default();
        let line = line.rsplit('\n').next().unwrap_or_default();
        let Some(at) = line.rfind("for ") else { continue };
        let name: String = line
            .get(at + 4..)
            .unwrap_or_default()
            .trim_start_matches('(')
            .chars()
            .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
            .collect();
        out.push(name);
    }
    out
}

fn distinct(list: &[Value], name: &str) -> bool {
    let mut seen: Vec<String> = Vec::new();
    for record in list {
        match record.get(name) {
            Some(Value::Text(text)) => seen.push(text.clone()),
            Some(Value::Int(number)) => seen.push(number.to_string()),
            _ => return false,
        }
    }
    let count = seen.len();
    seen.sort();
    seen.dedup();
    seen.len() == count
}

fn is_id(name: &str, place: &Place) -> bool {
    let tokens = names::canonical(name).tokens;
    let own = format!("{}_id", singular(place));
    matches!(tokens.as_slice(), [only] if matches!(only.as_str(), "id" | "key" | "uid" | "uuid" | "identifier"))
        || names::same(name, &own)
}

fn singular(place: &Place) -> String {
    let name = place
        .steps
        .iter()
        .rev()
        .find_map(|step| if let Step::Key(key) = step { Some(key.clone()) } else { None })
        .unwrap_or_default();
    name.strip_suffix('s').unwrap_or(&name).to_owned()
}

/// Whether the old field held text, as keys of a mapping do, or is only used as text.
fn key_is_text(view: &View, member: &Place, id: &str) -> bool {
    let place = member.then(Step::Key(id.to_owned()));
    match view.remembered(&place) {
        Some(ObjectShape::Leaf { profile }) => profile.type_name == "str",
        Some(_) => false,
        None => {
            let mut uses = view.reading.uses_of(&place).peekable();
            uses.peek().is_some()
                && uses.all(|used| {
                    matches!(&used.how, Usage::Convert(name) if name == "str" || name == "int")
                        || matches!(used.how, Usage::Format | Usage::Concat)
                })
        }
    }
}

/// Whether a mapping is itself what each member should be.
fn already_fits(view: &View, member: &Place, all: &[&Value]) -> bool {
    object_fit::fit(view, member, all).is_some_and(|fit| !fit.keys.is_empty())
}

/// Whether the records have the same keys, a few optional ones aside.
fn shared_shape(records: &[&Value]) -> bool {
    let ObjectShape::Map { keys } = object_fit::shape_of(records) else { return false };
    let always = keys.iter().filter(|(_, _, always)| *always).count();
    always * 2 >= keys.len()
}

fn named(place: &Place) -> String {
    let name = bare(&spoken(&place.steps));
    if name.is_empty() { "the data".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use crate::kind::object_cases::{Case, check};

    fn listed(new: &'static str) -> Case<'static> {
        Case {
            source: "def load(data):\n    return {s[\"id\"]: s[\"free\"] for s in data[\"stations\"]}\n",
            old: r#"{"stations": [{"id": "a", "free": 1}, {"id": "b", "free": 2}]}"#,
            new,
            error: "TypeError: string indices must be integers, not 'str'",
            at: "stations",
            file: false,
        }
    }

    fn keyed(new: &'static str) -> Case<'static> {
        Case {
            source: "def load(data):\n    out = {}\n    for station_id, s in data[\"stations\"].items():\n        out[station_id] = s[\"free\"] + s[\"docks\"]\n    return out\n",
            old: r#"{"stations": {"a": {"free": 1, "docks": 2}, "b": {"free": 1, "docks": 5}}}"#,
            new,
            error: "AttributeError: 'list' object has no attribute 'items'",
            at: "stations",
            file: false,
        }
    }

    #[test]
    fn the_key_is_readable_on_both_sides() {
        check(
            &listed(r#"{"stations": {"c": {"id": "c", "free": 5}, "d": {"id": "d", "free": 6}}}"#),
            &["return list(data.values())"],
        );
        check(
            &listed(r#"{"stations": {"c": {"free": 5}, "d": {"free": 6}}}"#),
            &["return [{\"id\": key, **record} for key, record in data.items()]"],
        );
        let new =
            r#"{"stations": [{"station_id": "x", "free": 1, "docks": 4}, {"station_id": "y", "free": 2, "docks": 4}]}"#;
        check(
            &keyed(new),
            &["return {record[\"station_id\"]: record for record in data}", "is not different in every record"],
        );
    }

    #[test]
    fn mixed_members_and_unknown_keys_are_refused() {
        check(&listed(r#"{"stations": {"c": {"free": 5}, "version": 2}}"#), &["no_proposer: "]);
        check(&keyed(r#"{"stations": [{"free": 1, "docks": 4}, {"free": 2, "docks": 4}]}"#), &["no_proposer: "]);
        check(
            &keyed(r#"{"stations": [{"id": "x", "free": 1, "docks": 4}, {"id": "x", "free": 2, "docks": 4}]}"#),
            &["no_proposer: "],
        );
    }
}
