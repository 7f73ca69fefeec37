//! A key that some records do not have, or that is null in some.
//!
//! What it does: gives `None` where the field is not there, and only where the value goes into the result as it is.
//! Why: other records of the same batch have it under the same name, and nothing else came in its place; or the code,
//! the docstring, the annotation or the remembered shape says that it may be absent.
//! Unsafe when: the code computes with the value; then it refuses.

use sanare_core::outcome::Reason;
use sanare_core::value::Value;

use crate::code::object_none::{self, Way};
use crate::code::object_path::{Step, dotted};
use crate::code::object_reads::{How, Place, Read};
use crate::code::object_view::{Trouble, View};
use crate::code::object_write::{Draft, bare};
use crate::problem::{Answer, FieldReport, Refusal, Tier};

use super::object::layer;
use super::object_renamed::record_keys;

pub(crate) fn answer(view: &View) -> Option<Answer> {
    match view.trouble()? {
        Trouble::Absent { container, key } => absent(view, &container, &key),
        _ => None,
    }
}

/// Whether a key is one that some records lack, by the data or by what is known of it.
pub(crate) fn applies(view: &View, container: &Place, key: &str) -> bool {
    evidence(view, container, key).is_some()
}

fn absent(view: &View, container: &Place, key: &str) -> Option<Answer> {
    let place = container.then(Step::Key(key.to_owned()));
    let said = evidence(view, container, key)?;
    let reads: Vec<&Read> = view.keys_read(container).filter(|(name, _)| *name == key).map(|(_, read)| read).collect();
    let Some(way) = object_none::way(view, &place).filter(|_| reads.iter().all(|read| read.owner == 0 && read.literal))
    else {
        return Some(refused(key));
    };
    if view.reads_below(&place) {
        return Some(refused(key));
    }
    let mut draft = Draft::new(view.subject);
    let mut first = None;
    for read in reads.iter().filter(|read| read.how == How::Subscript) {
        let (base, whole) = (draft.text(read.base), draft.text(read.range));
        let name = key_literal(whole, base)?;
        let (range, text) = match way {
            Way::Plain => (read.range, format!("{base}.get({name})")),
            Way::Converted(call) => (call, format!("({} if {name} in {base} else None)", draft.text(call))),
        };
        first.get_or_insert(range);
        draft.replace(range, text);
    }
    let comment = format!("{} is left out of records that do not have it", bare(key));
    draft.note(first?, &comment);
    layer("object_optional", draft.finish(), Tier::B, comment.clone(), vec![said], Vec::new())
}

/// What says that a key may be absent.
fn evidence(view: &View, container: &Place, key: &str) -> Option<String> {
    let all: Vec<&Value> = view.at(container).into_iter().filter(|value| value.as_map().is_some()).collect();
    let (have, lack): (Vec<&Value>, Vec<&Value>) = all.iter().partition(|value| value.get(key).is_some());
    if lack.is_empty() {
        return None;
    }
    let remembered = view.remembered(container).filter(|shape| !shape.names().is_empty());
    let mut known: Vec<String> = record_keys(&have);
    if let Some(shape) = &remembered {
        known.extend(shape.names().into_iter().map(str::to_owned));
    }
    let stranger = record_keys(&lack).into_iter().find(|name| !known.contains(name));
    if !have.is_empty() {
        let memory = remembered.as_ref().is_none_or(|shape| shape.key(key).is_some());
        return (stranger.is_none() && memory).then(|| {
            format!(
                "{} of {} records have `{key}`, and nothing else came in its place in the others",
                have.len(),
                all.len()
            )
        });
    }
    let optional = remembered.as_ref().is_some_and(|shape| shape.key(key).is_some_and(|(_, always)| !always));
    if optional && stranger.is_none() {
        return Some(format!("`{key}` was not in every remembered record"));
    }
    let place = container.then(Step::Key(key.to_owned()));
    if remembered.is_some() && stranger.is_none() && (view.reading.tested(&place) || object_none::said_none(view, key))
    {
        return Some(format!("the function says that `{key}` may be absent"));
    }
    None
}

/// The text of the key in `base[key]`.
pub(crate) fn key_literal<'t>(whole: &'t str, base: &str) -> Option<&'t str> {
    whole.strip_prefix(base)?.trim().strip_prefix('[')?.strip_suffix(']').map(str::trim)
}

fn refused(key: &str) -> Answer {
    let why = "the code computes with it, so that nothing can stand for it";
    let report = FieldReport { expected: key.to_owned(), candidates: Vec::new(), unmet: why.to_owned() };
    Answer::Refused(Refusal {
        reason: Reason::MissingField,
        summary: format!("`{key}` is not in every record, and {why}"),
        fields: vec![report],
        hint: String::new(),
    })
}

/// Null among the values of a leaf that is converted, or in place of a record that is read from.
pub(crate) fn null(view: &View) -> Option<Answer> {
    match view.trouble()? {
        Trouble::Leaf(place) => null_leaf(view, &place),
        Trouble::Null(place) => null_record(view, &place),
        _ => None,
    }
}

fn null_leaf(view: &View, place: &Place) -> Option<Answer> {
    let all = view.at(place);
    let nulls = all.iter().filter(|value| matches!(value, Value::Null)).count();
    if nulls == 0 {
        return None;
    }
    let said = nullable(view, place, nulls, all.len())?;
    let Some(Way::Converted(call)) = object_none::way(view, place) else { return Some(refused_null(place)) };
    let read = view
        .reading
        .reads
        .iter()
        .find(|read| read.place == *place && read.owner == 0 && call.contains_range(read.range))?;
    let mut draft = Draft::new(view.subject);
    let text = format!("({} if {} is not None else None)", draft.text(call), draft.text(read.range));
    draft.replace(call, text);
    let comment = format!(
        "{} is null in records that do not have it",
        bare(&dotted(&place.steps[place.steps.len().saturating_sub(1)..]))
    );
    draft.note(call, &comment);
    layer("object_null", draft.finish(), Tier::B, comment.clone(), vec![said], Vec::new())
}

fn null_record(view: &View, place: &Place) -> Option<Answer> {
    let all = view.at(place);
    let nulls = all.iter().filter(|value| matches!(value, Value::Null)).count();
    let said = nullable(view, place, nulls, all.len())?;
    let reads: Vec<&Read> = view.keys_read(place).map(|(_, read)| read).collect();
    let simple =
        reads.iter().all(|read| read.owner == 0 && read.how == How::Subscript && !view.reads_below(&read.place));
    let mut draft = Draft::new(view.subject);
    let mut first = None;
    for read in &reads {
        if !simple {
            return Some(refused_null(place));
        }
        let (range, whole) = match object_none::way(view, &read.place) {
            Some(Way::Plain) => (read.range, draft.text(read.range)),
            Some(Way::Converted(call)) => (call, draft.text(call)),
            None => return Some(refused_null(place)),
        };
        first.get_or_insert(range);
        let base = draft.text(read.base);
        let statement_value = draft.is_whole_value(range);
        let text = format!("{whole} if {base} is not None else None");
        draft.replace(range, if statement_value { text } else { format!("({text})") });
    }
    let name = bare(&dotted(&place.steps[place.steps.len().saturating_sub(1)..]));
    let comment = format!("{name} is null in records that have none");
    draft.note(first?, &comment);
    layer("object_null", draft.finish(), Tier::B, comment.clone(), vec![said], Vec::new())
}

/// What says that a value may be null: others of the batch are not, or the memory says so.
fn nullable(view: &View, place: &Place, nulls: usize, all: usize) -> Option<String> {
    if nulls > 0 && nulls < all {
        return Some(format!("{nulls} of {all} are null"));
    }
    let (container, step) = place.parent()?;
    let Step::Key(key) = step else { return None };
    let optional = view.remembered(&container).is_some_and(|shape| shape.key(key).is_some_and(|(_, always)| !always));
    if optional {
        return Some(format!("`{key}` was not always there"));
    }
    let known = view.remembered(place).is_some();
    (known && object_none::said_none(view, key)).then(|| format!("the function says that `{key}` may be absent"))
}

fn refused_null(place: &Place) -> Answer {
    let expected = dotted(&place.steps);
    let why = "the code computes with it, so that nothing can stand for it";
    let report = FieldReport { expected: expected.clone(), candidates: Vec::new(), unmet: why.to_owned() };
    Answer::Refused(Refusal {
        reason: Reason::MissingField,
        summary: format!("`{expected}` is null in some records, and {why}"),
        fields: vec![report],
        hint: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use crate::kind::object_cases::{Case, check};

    fn rows(source: &'static str, new: &'static str) -> Case<'static> {
        let old = r#"[{"id": 1, "gust": 4.5, "user": {"login": "a"}}]"#;
        Case { source, old, new, error: "KeyError: 'gust'", at: "r[\"", file: false }
    }

    const STORED: &str = "def load(data):\n    return [{\"id\": r[\"id\"], \"gust\": r[\"gust\"]} for r in data]\n";
    const FLOAT: &str =
        "def load(data):\n    return [{\"id\": r[\"id\"], \"gust\": float(r[\"gust\"])} for r in data]\n";
    const SUM: &str = "def load(data):\n    return sum(r[\"gust\"] for r in data)\n";
    const USER: &str =
        "def load(data):\n    return [{\"id\": r[\"id\"], \"user\": r[\"user\"][\"login\"]} for r in data]\n";
    const TEXT: &str =
        "def load(data):\n    return [f\"{r['user']['login']}!\" + r[\"user\"][\"login\"] for r in data]\n";

    #[test]
    fn none_goes_where_the_value_would_go() {
        let new = r#"[{"id": 1}, {"id": 2, "gust": 5.5}]"#;
        check(&rows(STORED, new), &["# gust is left out of records that do not have it", "\"gust\": r.get(\"gust\")"]);
        check(&rows(FLOAT, new), &["(float(r[\"gust\"]) if \"gust\" in r else None)"]);
        let null = |source| Case {
            error: "TypeError: float() argument must be a string or a real number, not 'NoneType'",
            ..rows(source, r#"[{"id": 1, "gust": null}, {"id": 2, "gust": 5.5}]"#)
        };
        check(&null(FLOAT), &["(float(r[\"gust\"]) if r[\"gust\"] is not None else None)"]);
        let user = |source| Case {
            error: "TypeError: 'NoneType' object is not subscriptable",
            ..rows(source, r#"[{"id": 1, "user": null}, {"id": 2, "user": {"login": "b"}}]"#)
        };
        check(&user(USER), &["(r[\"user\"][\"login\"] if r[\"user\"] is not None else None)"]);
    }

    #[test]
    fn what_is_computed_with_is_refused() {
        let new = r#"[{"id": 1}, {"id": 2, "gust": 5.5}]"#;
        check(&rows(SUM, new), &["missing_field: "]);
        check(&rows(STORED, r#"[{"id": 1, "speed": 3}, {"id": 2, "gust": 5.5}]"#), &["no_identity: "]);
        check(&rows(STORED, r#"[{"id": 1}, {"id": 2}]"#), &["missing_field: "]);
        let null = Case {
            error: "TypeError: 'NoneType' object is not subscriptable",
            ..rows(TEXT, r#"[{"id": 1, "user": null}, {"id": 2, "user": {"login": "b"}}]"#)
        };
        check(&null, &["missing_field: "]);
    }
}
