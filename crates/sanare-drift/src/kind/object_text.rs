//! A whole number where text was.
//!
//! What it does: writes the number as text where it is read.
//! Why: the code joins it to text or calls a method of text on it, and a whole number has one spelling.
//! Unsafe when: the old texts had leading zeros, which a number has lost, or the new numbers have decimals.

use sanare_core::outcome::Reason;
use sanare_core::value::Value;

use crate::code::object_leaf;
use crate::code::object_path::{dotted, spoken};
use crate::code::object_reads::{Place, Usage};
use crate::code::object_view::{Trouble, View};
use crate::code::object_write::bare;
use crate::problem::{Answer, FieldReport, Refusal, Tier};
use crate::shape::ObjectShape;

use super::object::layer;

/// Methods of text that say nothing of how a number would have been written.
const METHODS: &[&str] =
    &["strip", "lstrip", "rstrip", "lower", "upper", "title", "casefold", "startswith", "endswith", "encode"];

pub(crate) fn answer(view: &View) -> Option<Answer> {
    let Trouble::Leaf(place) = view.trouble()? else { return None };
    let all = view.at(&place);
    let numbers = all.iter().filter(|value| matches!(value, Value::Int(_))).count();
    if numbers == 0
        || !all.iter().all(|value| matches!(value, Value::Int(_) | Value::Text(_)))
        || !wants_text(view, &place)
    {
        return None;
    }
    match view.remembered(&place) {
        Some(ObjectShape::Leaf { profile }) if profile.type_name == "str" => {
            if profile.leading_zeros || profile.number.as_ref().is_some_and(|number| !number.integer_only) {
                return Some(refused(&place, "V9 the old text had zeros or decimals that a number does not show"));
            }
        }
        None => {}
        Some(_) => return None,
    }
    let name = bare(&spoken(&place.steps));
    let helper = |function: &str| {
        vec![format!("def {function}(value):"), "    return str(value) if isinstance(value, int) else value".into()]
    };
    let comment = format!("{name} now comes as a whole number, where it was text");
    let source = object_leaf::converted(view, &place, &["text", "as_text", "to_text"], &comment, &helper);
    let evidence = format!("every {} is text or a whole number", dotted(&place.steps));
    layer("object_text", source, Tier::A, comment, vec![evidence], Vec::new())
}

fn wants_text(view: &View, place: &Place) -> bool {
    view.reading.uses_of(place).filter(|used| view.on_line(used.range)).any(|used| match &used.how {
        Usage::Concat => true,
        Usage::Method(name) => METHODS.contains(&name.as_str()),
        _ => false,
    })
}

fn refused(place: &Place, why: &str) -> Answer {
    let expected = dotted(&place.steps);
    let report = FieldReport { expected: expected.clone(), candidates: Vec::new(), unmet: why.to_owned() };
    let summary = format!("`{expected}` is a number where it was text, and {why}");
    Answer::Refused(Refusal { reason: Reason::Vetoed, summary, fields: vec![report], hint: String::new() })
}

#[cfg(test)]
mod tests {
    use crate::kind::object_cases::{Case, check};

    #[test]
    fn a_number_has_one_spelling() {
        let case = Case {
            source: "def load(data):\n    return [\"ID-\" + r[\"code\"] for r in data]\n",
            old: r#"[{"code": "123"}]"#,
            new: r#"[{"code": 456}]"#,
            error: "TypeError: can only concatenate str (not \"int\") to str",
            at: "code",
            file: false,
        };
        check(&case, &["\"ID-\" + text(r[\"code\"])", "return str(value) if isinstance(value, int) else value"]);
        check(&Case { old: "", ..case }, &["text(r[\"code\"])"]);
        let method = Case {
            source: "def load(data):\n    return [r[\"code\"].strip() for r in data]\n",
            error: "AttributeError: 'int' object has no attribute 'strip'",
            ..case
        };
        check(&method, &["text(r[\"code\"]).strip()"]);
        check(&Case { old: r#"[{"code": "0123"}]"#, ..case }, &["vetoed: "]);
        check(&Case { new: r#"[{"code": 4.5}]"#, ..case }, &["no_proposer: "]);
    }
}
