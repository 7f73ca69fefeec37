//! Numbers in text that are written another way: grouped digits, a decimal comma.
//!
//! What it does: brings texts of the new form into the one that the old conversion reads, and leaves all others alone.
//! Why: one grammar reads every text, and its texts cannot be mistaken for plain numbers.
//! Unsafe when: two readings fit, units are mixed in, or there are words; then it refuses.

use sanare_core::outcome::Reason;
use sanare_core::value::Value;

use crate::code::object_fit::remembered_profile;
use crate::code::object_leaf;
use crate::code::object_path::{dotted, spoken};
use crate::code::object_reads::{Place, Usage};
use crate::code::object_view::{Trouble, View};
use crate::code::object_write::bare;
use crate::number::{self, Grammar, Negative, Undecided};
use crate::problem::{Answer, FieldReport, Refusal, Tier};

use super::object::layer;

pub(crate) fn answer(view: &View) -> Option<Answer> {
    let Trouble::BadText(place) = view.trouble()? else { return None };
    let all = view.at(&place);
    let texts: Vec<&str> = all.iter().filter_map(|value| value.as_text()).collect();
    if !all.iter().all(|value| matches!(value, Value::Text(_) | Value::Int(_) | Value::Float(_)))
        || !is_number(view, &place)
    {
        return None;
    }
    let profile = remembered_profile(view, &place);
    let old = profile.as_ref().and_then(|profile| profile.number.as_ref());
    let grammar = match number::decide(&texts, old.and_then(|number| number.grammar.as_ref())) {
        Ok(grammar) => grammar,
        Err(Undecided::NotNumbers(_) | Undecided::NoValues) => return None,
        Err(Undecided::LeadingZeros) => return Some(refused(&place, "V9 leading zeros: it identifies something")),
        Err(Undecided::TwoReadings(said) | Undecided::Mixed(said)) => return Some(refused(&place, &said)),
        Err(Undecided::MixedUnits(units)) => {
            return Some(refused(&place, &format!("mixed units: {}", units.join(", "))));
        }
    };
    if grammar.is_plain() {
        return None;
    }
    let point = texts.iter().all(|text| grammar.decimal.is_some_and(|decimal| text.contains(decimal)));
    let lines = conversion(&grammar, point)?;
    let numbers: Vec<Value> =
        texts.iter().filter_map(|text| grammar.normalize(text)?.parse().ok().map(Value::Float)).collect();
    if let Some(refusal) = object_leaf::off_scale(view, &place, &numbers) {
        return Some(refusal);
    }
    let name = bare(&spoken(&place.steps));
    let helper = |function: &str| {
        let mut out = vec![format!("def {function}(text):"), "    import re".into(), String::new()];
        out.extend(lines.iter().cloned());
        out.push("    return text".into());
        out
    };
    let comment =
        format!("the digits of {name} are now grouped or have a decimal comma; plain numbers stay as they are");
    let source = object_leaf::converted(view, &place, &["plain_digits", "plain_text"], &comment, &helper);
    let evidence = format!("one grammar reads every {}", dotted(&place.steps));
    layer("object_digits", source, Tier::A, comment, vec![evidence], Vec::new())
}

fn is_number(view: &View, place: &Place) -> bool {
    view.reading.uses_of(place).any(|used| {
        view.on_line(used.range)
            && matches!(&used.how, Usage::Convert(name) if matches!(name.as_str(), "int" | "float" | "decimal.Decimal"))
    })
}

/// Lines that return the text in plain form when it has the new one; nothing where the two could be mistaken.
fn conversion(grammar: &Grammar, point: bool) -> Option<Vec<String>> {
    let simple = grammar.prefixes.is_empty()
        && grammar.suffixes.is_empty()
        && grammar.minus.is_empty()
        && grammar.negative == Negative::Leading;
    let decimal = grammar.decimal.unwrap_or(if grammar.grouping.contains(&'.') { ',' } else { '.' });
    if !simple || !matches!(decimal, '.' | ',') {
        return None;
    }
    let fraction = if decimal == '.' { "(\\.\\d+)?" } else { "(,\\d+)?" };
    let (pattern, mut replaced) = match grammar.grouping.as_slice() {
        [] if decimal == ',' => ("-?\\d+,\\d+".to_owned(), String::new()),
        ['.'] if point => ("-?\\d{1,3}(\\.\\d{3})*,\\d+".to_owned(), ".replace(\".\", \"\")".to_owned()),
        [','] => (format!("-?\\d{{1,3}}(,\\d{{3}})+{fraction}"), ".replace(\",\", \"\")".to_owned()),
        ['\''] => (format!("-?\\d{{1,3}}('\\d{{3}})+{fraction}"), ".replace(\"'\", \"\")".to_owned()),
        blanks if !blanks.is_empty() && blanks.iter().all(|letter| letter.is_whitespace()) => {
            let whole =
                if decimal == ',' { "-?\\d{1,3}(\\s\\d{3})*".to_owned() } else { "-?\\d{1,3}(\\s\\d{3})+".to_owned() };
            return Some(vec![
                format!("    if isinstance(text, str) and re.fullmatch(r\"\\s*{whole}{fraction}\\s*\", text):"),
                format!(
                    "        return re.sub(r\"\\s\", \"\", text){}",
                    if decimal == ',' { ".replace(\",\", \".\")" } else { "" }
                ),
            ]);
        }
        _ => return None,
    };
    if decimal == ',' {
        replaced.push_str(".replace(\",\", \".\")");
    }
    let mut lines = vec![
        format!("    if isinstance(text, str) and re.fullmatch(r\"\\s*{pattern}\\s*\", text):"),
        format!("        return text{replaced}"),
    ];
    if grammar.grouping == ['.'] {
        lines.push("    if isinstance(text, str) and re.fullmatch(r\"\\s*-?\\d{1,3}(\\.\\d{3})+\\s*\", text):".into());
        lines.push("        raise ValueError(f\"{text!r} has two readings\")".into());
    }
    Some(lines)
}

fn refused(place: &Place, why: &str) -> Answer {
    let expected = dotted(&place.steps);
    let report = FieldReport { expected: expected.clone(), candidates: Vec::new(), unmet: why.to_owned() };
    let summary = format!("the numbers of `{expected}` are written another way, and {why}");
    Answer::Refused(Refusal { reason: Reason::Ambiguous, summary, fields: vec![report], hint: String::new() })
}

#[cfg(test)]
mod tests {
    use crate::kind::object_cases::{Case, check};

    fn price(new: &'static str) -> Case<'static> {
        Case {
            source: "def load(data):\n    return sum(float(r[\"price\"]) for r in data)\n",
            old: r#"[{"price": "1200.50"}]"#,
            new,
            error: "ValueError: could not convert string to float: '1,200.50'",
            at: "price",
            file: false,
        }
    }

    #[test]
    fn other_forms_become_plain() {
        check(
            &price(r#"[{"price": "1,200.50"}, {"price": "799.5"}]"#),
            &["float(plain_digits(r[\"price\"]))", "text.replace(\",\", \"\")"],
        );
        check(&price(r#"[{"price": "1200,50"}, {"price": "799,5"}]"#), &["return text.replace(\",\", \".\")"]);
        check(
            &price(r#"[{"price": "1.200,50"}, {"price": "799,50"}]"#),
            &[".replace(\".\", \"\").replace(\",\", \".\")", "has two readings"],
        );
        check(
            &price(r#"[{"price": "1 200,50"}, {"price": "799,50"}]"#),
            &["re.sub(r\"\\s\", \"\", text).replace(\",\", \".\")"],
        );
    }

    #[test]
    fn ties_and_words_are_refused() {
        check(&price(r#"[{"price": "1,200"}, {"price": "2,500"}]"#), &["ambiguous: "]);
        check(&price(r#"[{"price": "n/a"}]"#), &["no_proposer: "]);
        check(&price(r#"[{"price": "120 000 000,5"}]"#), &["scale_or_unit: "]);
    }
}
