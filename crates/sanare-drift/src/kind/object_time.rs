//! A moment that now comes in another encoding: text with an offset where seconds were, or the reverse.
//!
//! What it does: turns the new form into the old one where it is read, the moment unchanged.
//! Why: text that carries its offset and a number of seconds or milliseconds name one moment each.
//! Unsafe when: the text has no offset, or the old text had none; then it refuses.

use sanare_core::outcome::Reason;
use sanare_core::value::Value;

use crate::code::object_leaf;
use crate::code::object_path::{dotted, spoken};
use crate::code::object_reads::{Place, Usage};
use crate::code::object_view::{Trouble, View};
use crate::code::object_write::{bare, literal};
use crate::problem::{Answer, FieldReport, Refusal, Tier};

use super::object::layer;

pub(crate) fn answer(view: &View) -> Option<Answer> {
    let Trouble::Leaf(place) = view.trouble()? else { return None };
    let all = view.at(&place);
    let conversion = view.reading.uses_of(&place).find_map(|used| match &used.how {
        Usage::Convert(name) if name.starts_with("datetime.") || name.starts_with("time.") => {
            Some((name.clone(), used.range))
        }
        _ => None,
    });
    let (name, range) = conversion?;
    if name.ends_with("fromtimestamp") || name == "time.gmtime" || name == "time.localtime" {
        return to_seconds(view, &place, &all, range);
    }
    if name.ends_with("fromisoformat") || name.ends_with("strptime") {
        return to_text(view, &place, &all, &name, range);
    }
    None
}

/// Text where a number of seconds is needed.
fn to_seconds(view: &View, place: &Place, all: &[&Value], used: sanare_source::size::TextRange) -> Option<Answer> {
    let texts: Vec<&str> = all.iter().filter_map(|value| value.as_text()).collect();
    if texts.is_empty() || !all.iter().all(|value| matches!(value, Value::Text(_) | Value::Int(_) | Value::Float(_))) {
        return None;
    }
    if texts.iter().all(|text| is_moment(text, false)) && !texts.iter().all(|text| is_moment(text, true)) {
        return Some(refused(place, "the text has no offset, so that the moment is not known"));
    }
    if !texts.iter().all(|text| is_moment(text, true)) {
        return None;
    }
    let class = datetime_class(view, used);
    let name = bare(&spoken(&place.steps));
    let imported = class.is_none();
    let class = class.unwrap_or_else(|| "datetime".into());
    let helper = |function: &str| {
        let mut lines = vec![
            format!("def {function}(value):"),
            "    if not isinstance(value, str):".into(),
            "        return value".into(),
        ];
        if imported {
            lines.push("    from datetime import datetime".into());
            lines.push(String::new());
        }
        lines.push(format!("    moment = {class}.fromisoformat(value.replace(\"Z\", \"+00:00\"))"));
        lines.push("    if moment.tzinfo is None:".into());
        lines.push("        raise ValueError(f\"no offset in {value!r}\")".into());
        lines.push("    return moment.timestamp()".into());
        lines
    };
    let comment = format!("{name} is now text with its offset, where it was a number of seconds");
    let source = object_leaf::converted(view, place, &["seconds", "epoch_seconds"], &comment, &helper);
    let evidence = format!("every {} carries its offset", dotted(&place.steps));
    layer("object_time", source, Tier::A, comment, vec![evidence], Vec::new())
}

/// A number where text is parsed.
fn to_text(
    view: &View,
    place: &Place,
    all: &[&Value],
    name: &str,
    used: sanare_source::size::TextRange,
) -> Option<Answer> {
    let numbers: Vec<f64> = all
        .iter()
        .filter_map(|value| match value {
            Value::Int(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            _ => None,
        })
        .collect();
    if numbers.is_empty() || !all.iter().all(|value| matches!(value, Value::Text(_) | Value::Int(_) | Value::Float(_)))
    {
        return None;
    }
    let format = old_format(view, place, name, used)?;
    let Some(format) = format else {
        return Some(refused(place, "the old text had no offset, so that its zone is not known"));
    };
    let divisor = unit(&numbers)?;
    let class = datetime_class(view, used).unwrap_or_else(|| "datetime".into());
    let said = bare(&spoken(&place.steps));
    let unit_name = if divisor == 1 { "seconds" } else { "milliseconds" };
    let moment = if divisor == 1 { "value".to_owned() } else { format!("value / {divisor}") };
    let helper = |function: &str| {
        vec![
            format!("def {function}(value):"),
            "    if isinstance(value, str):".into(),
            "        return value".into(),
            "    from datetime import datetime, timezone".into(),
            String::new(),
            format!("    return datetime.fromtimestamp({moment}, tz=timezone.utc).strftime({})", literal(&format)),
        ]
    };
    let _ = class;
    let comment = format!("{said} is now a number of {unit_name} since 1970, where it was text in UTC");
    let source = object_leaf::converted(view, place, &["moment_text", "utc_text"], &comment, &helper);
    let evidence = format!("every {} is a moment between 1990 and 2100 in {unit_name} only", dotted(&place.steps));
    layer("object_time", source, Tier::A, comment, vec![evidence], Vec::new())
}

/// The format in which the old text is to be written: nothing when it is not known, an inner nothing when it had no zone.
fn old_format(view: &View, place: &Place, name: &str, used: sanare_source::size::TextRange) -> Option<Option<String>> {
    if name.ends_with("strptime") {
        let text = view.text(used);
        let whole = view.subject.source.text().get(used.end().to_usize()..).unwrap_or_default();
        let rest = whole.trim_start().strip_prefix(',')?.trim_start();
        let quote = rest.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
        let format = rest.get(1..)?.split(quote).next()?.to_owned();
        let _ = text;
        if format.ends_with('Z') && !format.ends_with("%Z") || format.ends_with("%z") || format.ends_with("+00:00") {
            let only_whole = !format.contains("%f");
            return only_whole.then_some(Some(format));
        }
        return Some(None);
    }
    let profile = crate::code::object_fit::remembered_profile(view, place)?;
    let zoned = profile.dates.iter().any(|format| format.contains("%z") || format.ends_with('Z'));
    Some(zoned.then(|| "%Y-%m-%dT%H:%M:%S+00:00".to_owned()))
}

/// 1 for seconds, 1000 for milliseconds: whichever puts every moment between 1990 and 2100.
fn unit(numbers: &[f64]) -> Option<u32> {
    let within =
        |divisor: f64| numbers.iter().all(|number| (631_152_000.0..4_102_444_800.0).contains(&(number / divisor)));
    match (within(1.0), within(1000.0)) {
        (true, false) => Some(1),
        (false, true) => Some(1000),
        _ => None,
    }
}

/// What the file calls the class `datetime`, from the conversion itself.
fn datetime_class(view: &View, used: sanare_source::size::TextRange) -> Option<String> {
    let before = view.subject.source.text().get(..used.start().to_usize())?.trim_end();
    let before = before.strip_suffix('(')?;
    let start = before
        .rfind(|letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == '.'))
        .map_or(0, |at| at + 1);
    let called = before.get(start..)?;
    let class = called.strip_suffix(".fromtimestamp").or_else(|| called.strip_suffix(".utcfromtimestamp"))?;
    let last = class.rsplit('.').next()?;
    (last != "date" && !class.is_empty()).then(|| class.to_owned())
}

/// `2023-07-17T13:34:13+02:00`, seconds and fraction optional; the offset too where it is not asked for.
fn is_moment(text: &str, offset: bool) -> bool {
    let bytes = text.as_bytes();
    let digits = |from: usize, to: usize| bytes.get(from..to).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    let at = |index: usize, letters: &[u8]| bytes.get(index).is_some_and(|byte| letters.contains(byte));
    if !(digits(0, 4)
        && at(4, b"-")
        && digits(5, 7)
        && at(7, b"-")
        && digits(8, 10)
        && at(10, b"T ")
        && digits(11, 13)
        && at(13, b":")
        && digits(14, 16))
    {
        return false;
    }
    let mut rest = text.get(16..).unwrap_or_default();
    if rest.starts_with(':') {
        if !digits(17, 19) {
            return false;
        }
        rest = text.get(19..).unwrap_or_default();
    }
    if let Some(fraction) = rest.strip_prefix('.') {
        let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if count != 3 && count != 6 {
            return false;
        }
        rest = fraction.get(count..).unwrap_or_default();
    }
    let zone = rest.as_bytes();
    let numeric = zone.len() == 6
        && matches!(zone.first(), Some(b'+' | b'-'))
        && zone.get(3) == Some(&b':')
        && [1, 2, 4, 5].iter().all(|at| zone.get(*at).is_some_and(u8::is_ascii_digit));
    rest == "Z" || numeric || (!offset && rest.is_empty())
}

fn refused(place: &Place, why: &str) -> Answer {
    let expected = dotted(&place.steps);
    let report = FieldReport { expected: expected.clone(), candidates: Vec::new(), unmet: why.to_owned() };
    Answer::Refused(Refusal {
        reason: Reason::Ambiguous,
        summary: format!("`{expected}` changed its form, and {why}"),
        fields: vec![report],
        hint: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::{is_moment, unit};

    #[test]
    fn a_moment_has_its_offset() {
        let check = |text: &str, offset: bool, expected: bool| assert_eq!(is_moment(text, offset), expected, "{text}");
        check("2023-07-17T13:34:13+02:00", true, true);
        check("2023-07-17T13:34:13Z", true, true);
        check("2023-07-17T13:34:13.250Z", true, true);
        check("2023-07-17T13:34:13", true, false);
        check("2023-07-17T13:34:13", false, true);
        check("17.07.2023 13:34", false, false);
    }

    #[test]
    fn the_unit_is_the_one_that_gives_a_plausible_year() {
        assert_eq!(unit(&[1_689_593_653.0]), Some(1));
        assert_eq!(unit(&[1_689_593_653_000.0]), Some(1000));
        assert_eq!(unit(&[12.0]), None);
    }
}

#[cfg(test)]
mod examples {
    use crate::kind::object_cases::{Case, check};

    fn seconds(new: &'static str) -> Case<'static> {
        Case {
            source: "import datetime as dt\n\n\ndef load(data):\n    return [dt.datetime.fromtimestamp(e[\"ts\"], dt.timezone.utc).isoformat() for e in data]\n",
            old: r#"[{"ts": 1700000000}]"#,
            new,
            error: "TypeError: 'str' object cannot be interpreted as an integer",
            at: "ts",
            file: false,
        }
    }

    fn text(new: &'static str) -> Case<'static> {
        Case {
            source: "from datetime import datetime\n\n\ndef load(data):\n    return [datetime.strptime(e[\"at\"], \"%Y-%m-%dT%H:%M:%SZ\").year for e in data]\n",
            old: r#"[{"at": "2024-01-05T10:20:30Z"}]"#,
            new,
            error: "TypeError: strptime() argument 1 must be str, not int",
            at: "strptime",
            file: false,
        }
    }

    #[test]
    fn the_moment_stays() {
        let parts = [
            "seconds(e[\"ts\"])",
            "dt.datetime.fromisoformat(value.replace(\"Z\", \"+00:00\"))",
            "return moment.timestamp()",
        ];
        check(&seconds(r#"[{"ts": "2024-03-01T23:30:00-02:00"}]"#), &parts);
        check(&seconds(r#"[{"ts": "2024-03-01T23:30:00Z"}]"#), &parts);
        check(
            &text(r#"[{"at": 1710000000}]"#),
            &["datetime.fromtimestamp(value, tz=timezone.utc).strftime(\"%Y-%m-%dT%H:%M:%SZ\")"],
        );
        check(&text(r#"[{"at": 1710000000000}]"#), &["datetime.fromtimestamp(value / 1000, tz=timezone.utc)"]);
    }

    #[test]
    fn an_unknown_zone_or_unit_is_refused() {
        check(&seconds(r#"[{"ts": "2024-03-01T23:30:00"}]"#), &["ambiguous: "]);
        check(&seconds(r#"[{"ts": "yesterday"}]"#), &["not_data: "]);
        check(&text(r#"[{"at": 12}]"#), &["no_proposer: "]);
        let naive = Case {
            source: "from datetime import datetime\n\n\ndef load(data):\n    return [datetime.strptime(e[\"at\"], \"%Y-%m-%d %H:%M\").year for e in data]\n",
            old: r#"[{"at": "2024-01-05 10:20"}]"#,
            ..text(r#"[{"at": 1710000000}]"#)
        };
        check(&naive, &["ambiguous: "]);
    }
}
