//! A wrapper that is gone: the list or record lies where the mapping around it was.
//!
//! What it does: puts the wrapper back where the data comes in, or reads the record itself where its part was read.
//! Why: what is there has the keys that are read through the wrapper, and the wrapper held nothing else that is read.
//! Unsafe when: the record had keys of these names before; then it refuses.

use sanare_core::value::Value;

use crate::code::object_fit::{self, node_read};
use crate::code::object_path::{Step, dotted, spoken};
use crate::code::object_place::{self, Change, wrapped};
use crate::code::object_reads::{How, Place, Read};
use crate::code::object_veto;
use crate::code::object_view::{Trouble, View};
use crate::code::object_write::{Draft, bare};
use crate::problem::{Answer, Mapping, Tier};

use super::object::layer;
use super::object_envelope::passed_through;
use super::object_moved::lacking;

pub(crate) fn answer(view: &View) -> Option<Answer> {
    match view.trouble()? {
        Trouble::NotMap(place) => list(view, &place),
        Trouble::Absent { container, key } => record(view, &container, &key),
        _ => None,
    }
}

/// A list lies where a mapping held it.
fn list(view: &View, place: &Place) -> Option<Answer> {
    let names = view.key_names(place);
    let [key] = names.as_slice() else { return None };
    let target = passed_through(view, place.then(Step::Key(key.clone())));
    let chain = place.steps_to(&target).to_vec();
    let all = view.at(place);
    if node_read(view, &target) != Some("list") || all.iter().any(|value| value.as_list().is_none()) {
        return None;
    }
    let fit = object_fit::fit(view, &target, &all)?;
    if fit.keys.is_empty() || object_veto::differs(&chain, &[]).is_some() {
        return None;
    }
    let was = bare(&spoken(&chain));
    let change = Change {
        when: "isinstance({}, list)".into(),
        body: Vec::new(),
        becomes: wrapped(&chain, "{}"),
        comment: format!("the list that was in {was} now comes by itself"),
        helper: vec!["with_envelope", "as_before"],
    };
    let source = object_place::written(view, place, &change);
    let evidence = format!("its members have {}", fit.keys.join(", "));
    let mapping = Mapping {
        expected: dotted(&target.steps),
        seen: dotted(&place.steps),
        evidence: vec![format!("I3 {evidence}")],
        tier: Tier::A,
    };
    layer("object_unwrapped", source, Tier::A, change.comment, vec![evidence], vec![mapping])
}

/// The fields of a part lie in the record itself.
fn record(view: &View, container: &Place, key: &str) -> Option<Answer> {
    let part = container.then(Step::Key(key.to_owned()));
    let outer: Vec<&Value> = lacking(view, container, key);
    let names = view.key_names(&part);
    if names.is_empty() || outer.is_empty() {
        return None;
    }
    let fit = object_fit::fit(view, &part, &outer)?;
    let own = view.key_names(container);
    let known = view.remembered(container);
    let taken = |name: &String| own.contains(name) || known.as_ref().is_some_and(|shape| shape.key(name).is_some());
    if fit.keys.len() < names.len() || names.iter().any(taken) {
        return None;
    }
    if object_veto::differs(&[Step::Key(key.to_owned())], &[]).is_some() || (fit.telling() == 0 && fit.keys.len() < 2) {
        return None;
    }
    let reads: Vec<&Read> = view.keys_read(container).filter(|(name, _)| *name == key).map(|(_, read)| read).collect();
    if reads.iter().any(|read| read.owner > 0 || read.how != How::Subscript) {
        return None;
    }
    let name = bare(key);
    let comment = format!("{name} is gone: its fields now lie in the record itself");
    let mut draft = Draft::new(view.subject);
    let helper = draft.helper(&["part", "part_of", "inner_part"], &comment, |function| {
        vec![format!("def {function}(record, name):"), "    return record[name] if name in record else record".into()]
    });
    for read in reads {
        let (base, whole) = (draft.text(read.base), draft.text(read.range));
        let literal = super::object_optional::key_literal(whole, base)?;
        draft.replace(read.range, format!("{helper}({base}, {literal})"));
    }
    let evidence = format!("every record has {}", fit.keys.join(", "));
    let mapping = Mapping {
        expected: dotted(&part.steps),
        seen: dotted(&container.steps),
        evidence: vec![format!("I3 {evidence}")],
        tier: Tier::A,
    };
    layer("object_unwrapped", draft.finish(), Tier::A, comment, vec![evidence], vec![mapping])
}

#[cfg(test)]
mod tests {
    use crate::kind::object_cases::{Case, check};

    #[test]
    fn a_wrapper_that_is_gone() {
        let source = "def load(data):\n    return [q[\"place\"] for q in data[\"data\"]]\n";
        let case = Case {
            source,
            old: r#"{"data": [{"place": "A"}]}"#,
            new: r#"[{"place": "C"}]"#,
            error: "TypeError: list indices must be integers or slices, not str",
            at: "data[\"data\"]",
            file: false,
        };
        check(&case, &["if isinstance(data, list):", "data = {\"data\": data}"]);
        check(&Case { old: "", ..case }, &["data = {\"data\": data}"]);
        check(&Case { new: r#"[{"name": "C"}]"#, ..case }, &["no_proposer: "]);
        let source = "def load(data):\n    out = []\n    for x in data:\n        a = x[\"attributes\"]\n        out.append([x[\"id\"], a[\"title\"], a[\"views\"]])\n    return out\n";
        let old = r#"[{"id": 1, "attributes": {"title": "b", "views": 7}}]"#;
        let record = Case {
            source,
            old,
            new: r#"[{"id": 1, "title": "a", "views": 4}]"#,
            error: "KeyError: 'attributes'",
            at: "a = x",
            file: false,
        };
        check(&record, &["a = part(x, \"attributes\")", "return record[name] if name in record else record"]);
        check(
            &Case { old: r#"[{"id": 1, "title": "old", "attributes": {"title": "b", "views": 7}}]"#, ..record },
            &["missing_field: "],
        );
    }
}
