//! A number that now comes as text.
//!
//! What it does: converts text to the number type that the field had, and leaves numbers alone.
//! Why: the code calculates with the field, and every text is a number in one grammar.
//! Unsafe when: leading zeros, two readings, or words among the numbers; then it refuses.

use sanare_core::outcome::Reason;
use sanare_core::value::Value;

use crate::code::object_leaf;
use crate::code::object_path::{dotted, spoken};
use crate::code::object_reads::{Place, Usage};
use crate::code::object_view::{Trouble, View};
use crate::code::object_write::bare;
use crate::number::{self, Grammar, Negative, Undecided};
use crate::problem::{Answer, FieldReport, Refusal, Tier};
use crate::shape::ObjectShape;

use super::object::layer;

pub(crate) fn answer(view: &View) -> Option<Answer> {
    let Trouble::Leaf(place) = view.trouble()? else { return None };
    let all = view.at(&place);
    let texts: Vec<&str> = all.iter().filter_map(|value| value.as_text()).collect();
    let others = all.iter().all(|value| matches!(value, Value::Text(_) | Value::Int(_) | Value::Float(_)));
    if texts.is_empty() || !others || !wants_number(view, &place) {
        return None;
    }
    let remembered = view.remembered(&place);
    let type_name = match &remembered {
        Some(ObjectShape::Leaf { profile }) => profile.type_name.clone(),
        Some(_) => return None,
        None => String::new(),
    };
    if type_name == "str" {
        return None;
    }
    let name = bare(&spoken(&place.steps));
    let grammar = match number::decide(&texts, None) {
        Ok(grammar) => grammar,
        Err(undecided) => return Some(refused(&place, undecided)),
    };
    let (fraction, lines) = conversion(&grammar)?;
    let whole_before = all.iter().any(|value| matches!(value, Value::Int(_)))
        && !all.iter().any(|value| matches!(value, Value::Float(_)));
    let to = match type_name.as_str() {
        "float" => "float",
        "int" if fraction => return Some(scale(&place)),
        "int" => "int",
        _ if !fraction && (whole_before || remembered.is_none()) => "int",
        _ => "float",
    };
    if let Some(refusal) = object_leaf::off_scale(view, &place, &numbers(&all, &grammar)) {
        return Some(refusal);
    }
    let helper = |function: &str| {
        let mut out = vec![
            format!("def {function}(value):"),
            "    if not isinstance(value, str):".into(),
            "        return value".into(),
        ];
        out.extend(lines.iter().map(|line| format!("    {}", line.replace("TYPE", to))));
        out
    };
    let comment = format!("{name} now comes as text");
    let source = object_leaf::converted(view, &place, &["number", "as_number", "to_number"], &comment, &helper);
    let evidence = format!("every text of {} is a number", dotted(&place.steps));
    layer("object_number", source, Tier::A, format!("{name} now comes as text"), vec![evidence], Vec::new())
}

/// Whether the code calculates with the value.
fn wants_number(view: &View, place: &Place) -> bool {
    view.reading.uses_of(place).filter(|used| view.on_line(used.range)).any(|used| match &used.how {
        Usage::Arithmetic | Usage::Order => true,
        Usage::Add => remembered_number(view, place),
        Usage::Convert(name) => {
            matches!(name.as_str(), "round" | "abs" | "datetime.timedelta") || name.ends_with("fromtimestamp")
        }
        _ => false,
    })
}

/// Whether the memory or other records say that it is a number.
fn remembered_number(view: &View, place: &Place) -> bool {
    match view.remembered(place) {
        Some(ObjectShape::Leaf { profile }) => matches!(profile.type_name.as_str(), "int" | "float"),
        _ => view.at(place).iter().any(|value| matches!(value, Value::Int(_) | Value::Float(_))),
    }
}

/// Whether there are decimals, and the lines that return the number; nothing for grammars that need more.
fn conversion(grammar: &Grammar) -> Option<(bool, Vec<String>)> {
    let simple = grammar.prefixes.is_empty()
        && grammar.suffixes.is_empty()
        && grammar.minus.is_empty()
        && grammar.negative == Negative::Leading;
    let fraction = !grammar.integer_only;
    if !simple {
        return None;
    }
    if grammar.is_plain() {
        return Some((fraction, vec!["return TYPE(value)".into()]));
    }
    let decimal = grammar.decimal.unwrap_or(if grammar.grouping.contains(&'.') { ',' } else { '.' });
    let [group] = grammar.grouping.as_slice() else {
        if !grammar.grouping.is_empty() || decimal != ',' {
            return None;
        }
        return Some((
            fraction,
            vec![
                "if \".\" in value:".into(),
                "    raise ValueError(f\"not a number with a decimal comma: {value!r}\")".into(),
                "return TYPE(value.replace(\",\", \".\"))".into(),
            ],
        ));
    };
    if !matches!(group, ',' | '.' | ' ' | '\'') {
        return None;
    }
    let class = if *group == '.' {
        "\\."
    } else if *group == '\'' {
        "'"
    } else if *group == ' ' {
        " "
    } else {
        ","
    };
    let point = if decimal == '.' { "\\." } else { "," };
    let replaced = if decimal == '.' { String::new() } else { ".replace(\",\", \".\")".into() };
    Some((
        fraction,
        vec![
            "import re".into(),
            String::new(),
            format!("if not re.fullmatch(r\"\\s*-?(\\d+|\\d{{1,3}}({class}\\d{{3}})+)({point}\\d+)?\\s*\", value):"),
            "    raise ValueError(f\"not a number: {value!r}\")".into(),
            format!("return TYPE(value.replace(\"{group}\", \"\"){replaced})"),
        ],
    ))
}

fn numbers(all: &[&Value], grammar: &Grammar) -> Vec<Value> {
    all.iter()
        .filter_map(|value| match value {
            Value::Text(text) => grammar.normalize(text).and_then(|text| text.parse().ok()).map(Value::Float),
            other => Some((*other).clone()),
        })
        .collect()
}

fn refused(place: &Place, undecided: Undecided) -> Answer {
    let (reason, why) = match undecided {
        Undecided::LeadingZeros => (Reason::Vetoed, "V9 leading zeros: it identifies something".to_owned()),
        Undecided::TwoReadings(said) | Undecided::Mixed(said) => (Reason::Ambiguous, said),
        Undecided::MixedUnits(units) => (Reason::ScaleOrUnit, format!("mixed units: {}", units.join(", "))),
        Undecided::NotNumbers(_) | Undecided::NoValues => (Reason::NotData, "some texts are no numbers".to_owned()),
    };
    said(place, reason, &why)
}

fn scale(place: &Place) -> Answer {
    said(place, Reason::ScaleOrUnit, "it held whole numbers, and now has decimals")
}

fn said(place: &Place, reason: Reason, why: &str) -> Answer {
    let expected = dotted(&place.steps);
    let report = FieldReport { expected: expected.clone(), candidates: Vec::new(), unmet: why.to_owned() };
    Answer::Refused(Refusal {
        reason,
        summary: format!("`{expected}` now comes as text, and {why}"),
        fields: vec![report],
        hint: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use crate::kind::object_cases::{Case, check};

    fn price(new: &'static str) -> Case<'static> {
        Case {
            source: "def load(data):\n    return {\"worth\": round(data[\"price\"] * 0.5, 2)}\n",
            old: r#"{"price": 46311.75}"#,
            new,
            error: "TypeError: can't multiply sequence by non-int of type 'float'",
            at: "price",
            file: false,
        }
    }

    #[test]
    fn text_is_converted_as_it_was_before() {
        check(&price(r#"{"price": "107135.4"}"#), &["number(data[\"price\"]) * 0.5", "return float(value)"]);
        check(&price(r#"{"price": "107,135.40"}"#), &["re.fullmatch(", "return float(value.replace(\",\", \"\"))"]);
        let whole = Case {
            source: "def load(data):\n    worth = 0\n    for item in data:\n        worth = worth + item[\"price\"] * item[\"count\"]\n    return worth\n",
            old: r#"[{"price": 150, "count": 20}]"#,
            new: r#"[{"price": 150, "count": 200}, {"price": "28", "count": 93}]"#,
            error: "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
            at: "worth + item",
            file: false,
        };
        check(&whole, &["number(item[\"price\"]) * item[\"count\"]", "return int(value)"]);
        check(&Case { old: "", ..whole }, &["return int(value)"]);
        let list = Case {
            source: "def load(data):\n    return max(data[\"values\"]) * 2\n",
            old: r#"{"values": [1.5, 2.0]}"#,
            new: r#"{"values": ["13.5", "9.25"]}"#,
            error: "TypeError: unsupported operand type(s) for -: 'str' and 'str'",
            at: "max(",
            file: false,
        };
        check(&list, &["max([number(value) for value in data[\"values\"]])"]);
    }

    #[test]
    fn zeros_words_ties_and_scale_are_refused() {
        check(&price(r#"{"price": "00107135"}"#), &["vetoed: "]);
        check(&price(r#"{"price": "n/a"}"#), &["not_data: "]);
        check(&price(r#"{"price": "1.234"}"#), &["ambiguous: "]);
        check(&price(r#"{"price": "10713540000"}"#), &["scale_or_unit: "]);
    }
}
