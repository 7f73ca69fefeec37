//! A value that became an object around it, or an object that became its one value.
//!
//! What it does: takes the one leaf that has the old type, or the value itself.
//! Why: the object holds exactly one leaf of the old type, under a name that says no more than "the value".
//! Unsafe when: the object also names a unit or currency, or holds two such leaves; then it refuses.

use sanare_core::outcome::Reason;
use sanare_core::value::Value;

use crate::code::object_fit::type_fits;
use crate::code::object_path::{Step, dotted, spoken};
use crate::code::object_place::{self, Change};
use crate::code::object_reads::{How, Place, Usage};
use crate::code::object_view::{Trouble, View};
use crate::code::object_write::{bare, literal};
use crate::names;
use crate::problem::{Answer, Candidate, FieldReport, Mapping, Refusal, Tier};
use crate::shape::ObjectShape;

use super::object::layer;

pub(crate) fn answer(view: &View) -> Option<Answer> {
    match view.trouble()? {
        Trouble::Leaf(place) => to_leaf(view, &place),
        Trouble::NotMap(place) => to_object(view, &place),
        _ => None,
    }
}

fn to_leaf(view: &View, place: &Place) -> Option<Answer> {
    let all = view.at(place);
    let maps: Vec<&Value> = all.iter().copied().filter(|value| value.as_map().is_some()).collect();
    let first = maps.first()?.as_map()?;
    let wanted = wanted_type(view, place)?;
    let leaves: Vec<&str> = first
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| {
            maps.iter().all(|map| {
                map.get(name).is_some_and(|value| type_fits(&wanted, value) && !matches!(value, Value::Null))
            })
        })
        .collect();
    let key = match place.steps.last() {
        Some(Step::Key(key)) => key.clone(),
        _ => String::new(),
    };
    let [leaf] = leaves.as_slice() else {
        return (!leaves.is_empty())
            .then(|| refused(&key, &leaves, Reason::Ambiguous, "more than one leaf has its type"));
    };
    if !is_value_word(leaf) && !names::same(leaf, &key) {
        return Some(refused(&key, &leaves, Reason::NoIdentity, "the name of the one leaf says something else"));
    }
    let mut pins = Vec::new();
    for (name, value) in first.iter().filter(|(name, _)| name != leaf) {
        if is_unit_word(name) {
            return Some(refused(
                &key,
                &leaves,
                Reason::ScaleOrUnit,
                &format!("`{name}` gives a unit that the code does not know"),
            ));
        }
        if let (true, Value::Text(text)) = (is_relation_word(name), value) {
            if maps.iter().any(|map| map.get(name) != Some(value))
                || !matches!(text.as_str(), "eq" | "=" | "==" | "equal" | "exact" | "exactly" | "equals")
            {
                return Some(refused(
                    &key,
                    &leaves,
                    Reason::Ambiguous,
                    &format!("`{name}` says that the value is not exact"),
                ));
            }
            pins.push((name.clone(), text.clone()));
        }
    }
    let name = bare(&spoken(&place.steps));
    let mut body = Vec::new();
    for (pin, text) in &pins {
        body.push(format!("if {{}}[{}] != {}:", literal(pin), literal(text)));
        body.push(format!("    raise ValueError(\"{name} is not exact\")"));
    }
    let change = Change {
        when: "isinstance({}, dict)".into(),
        body,
        becomes: format!("{{}}[{}]", literal(leaf)),
        comment: format!("{name} is now an object with the value in {}", bare(leaf)),
        helper: vec!["plain_value", "inner_value"],
    };
    let mut seen = place.steps.clone();
    seen.push(Step::Key((*leaf).to_owned()));
    let evidence = format!("`{leaf}` is the one leaf of type {wanted}");
    let mapping = Mapping {
        expected: dotted(&place.steps),
        seen: dotted(&seen),
        evidence: vec![evidence.clone()],
        tier: Tier::A,
    };
    let source = object_place::written(view, place, &change);
    layer(
        "object_scalar",
        source,
        Tier::A,
        format!("{name} is now an object with the value in {leaf}"),
        vec![evidence],
        vec![mapping],
    )
}

/// The type that the leaf had: remembered, or needed by what the code does with it.
fn wanted_type(view: &View, place: &Place) -> Option<String> {
    match view.remembered(place) {
        Some(ObjectShape::Leaf { profile }) if profile.type_name != "mixed" => return Some(profile.type_name),
        Some(_) => return None,
        None => {}
    }
    view.reading.uses_of(place).find_map(|used| match &used.how {
        Usage::Arithmetic | Usage::Add | Usage::Order => Some("float".to_owned()),
        Usage::Convert(name)
            if matches!(name.as_str(), "int" | "float" | "round" | "abs" | "datetime.datetime.fromtimestamp") =>
        {
            Some("float".to_owned())
        }
        Usage::Concat => Some("str".to_owned()),
        Usage::Convert(name) if name.contains("strptime") || name.contains("fromisoformat") => Some("str".to_owned()),
        _ => None,
    })
}

fn to_object(view: &View, place: &Place) -> Option<Answer> {
    let all = view.at(place);
    let scalars: Vec<&Value> = all.iter().copied().filter(|value| value.as_map().is_none()).collect();
    if scalars.is_empty() || scalars.iter().any(|value| value.as_list().is_some() || matches!(value, Value::Null)) {
        return None;
    }
    let names = view.key_names(place);
    let [leaf] = names.as_slice() else { return None };
    let leaf_place = place.then(Step::Key(leaf.clone()));
    if view.reads_below(&leaf_place)
        || view.keys_read(place).any(|(_, read)| !matches!(read.how, How::Subscript | How::Get(_)))
    {
        return None;
    }
    let wanted = wanted_type(view, &leaf_place)?;
    let lone = match view.remembered(place) {
        Some(ObjectShape::Map { keys }) => {
            keys.iter().filter(|(_, shape, _)| matches!(shape, ObjectShape::Leaf { profile } if same_type(&profile.type_name, &wanted))).count() == 1
        }
        _ => is_value_word(leaf),
    };
    if !lone || !scalars.iter().all(|value| type_fits(&wanted, value)) {
        return Some(refused(
            leaf,
            &[],
            Reason::Ambiguous,
            "the object had more than one leaf that the value could be",
        ));
    }
    let name = bare(&spoken(&place.steps));
    let change = Change {
        when: "not isinstance({}, dict)".into(),
        body: Vec::new(),
        becomes: format!("{{{}: {{}}}}", literal(leaf)),
        comment: format!("{name} is now the plain value that was in {}", bare(leaf)),
        helper: vec!["as_object", "with_value"],
    };
    let evidence = format!("`{leaf}` was the one leaf of type {wanted}");
    let mapping = Mapping {
        expected: dotted(&leaf_place.steps),
        seen: dotted(&place.steps),
        evidence: vec![evidence.clone()],
        tier: Tier::A,
    };
    let source = object_place::written(view, place, &change);
    layer("object_scalar", source, Tier::A, format!("{name} is now the plain value"), vec![evidence], vec![mapping])
}

fn same_type(left: &str, right: &str) -> bool {
    let number = |name: &str| matches!(name, "int" | "float");
    left == right || (number(left) && number(right))
}

fn is_value_word(name: &str) -> bool {
    matches!(
        name.to_lowercase().trim_start_matches(['_', '$', '#', '@']),
        "value"
            | "val"
            | "text"
            | "raw"
            | "content"
            | "amount"
            | "total"
            | "count"
            | "number"
            | "data"
            | "v"
            | "numberdecimal"
            | "numberint"
    )
}

fn is_unit_word(name: &str) -> bool {
    let name = name.to_lowercase();
    ["unit", "currency", "scale", "exponent", "precision", "factor", "multiplier", "decimals", "denominator", "divisor"]
        .iter()
        .any(|word| name.contains(word))
}

fn is_relation_word(name: &str) -> bool {
    matches!(
        name.to_lowercase().as_str(),
        "relation" | "operator" | "qualifier" | "accuracy" | "comparison" | "bound" | "approximate"
    )
}

fn refused(key: &str, leaves: &[&str], reason: Reason, why: &str) -> Answer {
    let candidates = leaves.iter().take(5).map(|leaf| Candidate {
        seen: (*leaf).to_owned(),
        evidence: vec!["S type fits".into()],
        vetoes: Vec::new(),
    });
    let report = FieldReport { expected: key.to_owned(), candidates: candidates.collect(), unmet: why.to_owned() };
    Answer::Refused(Refusal {
        reason,
        summary: format!("`{key}` changed its form, and {why}"),
        fields: vec![report],
        hint: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use crate::kind::object_cases::{Case, check};

    const TOTAL: &str = "def load(data):\n    hits = data[\"hits\"]\n    total = hits[\"total\"]\n    page = hits[\"hits\"]\n    return {\"total\": total, \"left\": total - len(page)}\n";
    const OLD: &str = r#"{"hits": {"total": 12, "hits": [1]}}"#;

    fn total(old: &'static str, new: &'static str) -> Case<'static> {
        Case {
            source: TOTAL,
            old,
            new,
            error: "TypeError: unsupported operand type(s) for -: 'dict' and 'int'",
            at: "left",
            file: false,
        }
    }

    #[test]
    fn the_one_leaf_is_taken() {
        let new = r#"{"hits": {"total": {"value": 250, "relation": "eq"}, "hits": [1]}}"#;
        check(&total(OLD, new), &["total = total[\"value\"]", "if total[\"relation\"] != \"eq\":"]);
        check(&total("", new), &["total = total[\"value\"]"]);
        check(&total(OLD, r#"{"hits": {"total": {"count": 250}, "hits": []}}"#), &["total = total[\"count\"]"]);
    }

    #[test]
    fn units_bounds_and_two_leaves_are_refused() {
        check(&total(OLD, r#"{"hits": {"total": {"value": 250, "relation": "gte"}, "hits": [1]}}"#), &["ambiguous: "]);
        check(&total(OLD, r#"{"hits": {"total": {"value": 250, "unit": "k"}, "hits": [1]}}"#), &["scale_or_unit: "]);
        check(&total(OLD, r#"{"hits": {"total": {"value": 250, "limit": 10}, "hits": [1]}}"#), &["ambiguous: "]);
        check(&total(OLD, r#"{"hits": {"total": {"seconds": 250}, "hits": [1]}}"#), &["no_identity: "]);
    }
}
