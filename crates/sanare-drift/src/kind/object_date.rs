//! Dates in nested data that are written another way.
//!
//! What it does: reads texts of the new form by the new format, and all others by the old one.
//! Why: one format reads every text that the old one does not, and no text has both forms.
//! Unsafe when: day first and month first both read every value, or an offset came or went; then it refuses.

use sanare_core::outcome::Reason;
use sanare_source::ast::{Expr, ExprCall};
use sanare_source::size::Ranged;

use crate::code::object_fit::remembered_profile;
use crate::code::object_path::{dotted, spoken};
use crate::code::object_reads::{Place, Usage};
use crate::code::object_view::{Trouble, View};
use crate::code::object_write::{Draft, bare, literal};
use crate::date::{self, Undecided};
use crate::problem::{Answer, FieldReport, Refusal, Tier};

use super::date_format::form;
use super::object::layer;
use super::object_lines::find_call;

pub(crate) fn answer(view: &View) -> Option<Answer> {
    let Trouble::BadText(place) = view.trouble()? else { return None };
    let all = view.at(&place);
    let texts: Vec<&str> = all.iter().filter_map(|value| value.as_text()).collect();
    if texts.len() != all.len() {
        return None;
    }
    let calls = conversions(view, &place)?;
    let first = calls.first()?;
    let old = old_format(view, first)?;
    let foreign: Vec<&str> = texts.iter().copied().filter(|text| !form::fits(text, &old)).collect();
    let decided = match date::decide(&foreign, Some(&old), remembered_profile(view, &place).as_ref()) {
        Ok(decided) => decided,
        Err(Undecided::NotDates(_) | Undecided::NoValues) => return None,
        Err(Undecided::DayOrMonth(one, other)) => {
            return Some(refused(&place, &format!("{one} and {other} both read every value")));
        }
        Err(_) => return Some(refused(&place, "no one format reads every value")),
    };
    let zoned = |format: &str| format.contains("%z") || format.contains("%Z") || format.ends_with('Z');
    let [new] = decided.formats.as_slice() else { return Some(refused(&place, "no one format reads every value")) };
    if decided.stripped || form::shape(new) == form::shape(&old) || zoned(new) != zoned(&old) {
        return Some(refused(&place, "old and new form cannot be told apart"));
    }
    let function = view.text(first.func.range()).to_owned();
    if calls.iter().any(|call| view.text(call.func.range()) != function) {
        return None;
    }
    let source = written(view, &calls, &function, new, &spoken(&place.steps));
    let summary = format!("{} is now written {new}, not {old}", bare(&spoken(&place.steps)));
    let evidence = format!("{new} reads every {} that {old} does not", dotted(&place.steps));
    layer("object_date", source, Tier::A, summary, vec![evidence], Vec::new())
}

fn written(view: &View, calls: &[&ExprCall], function: &str, new: &str, name: &str) -> Option<String> {
    let iso = function.ends_with("fromisoformat");
    let (module, method) = function.rsplit_once('.')?;
    let day_only = iso && module.rsplit('.').next() == Some("date");
    let mut draft = Draft::new(view.subject);
    let helper = |helper: &str| {
        let mut lines =
            vec![if iso { format!("def {helper}(text):") } else { format!("def {helper}(text, old_format):") }];
        lines.push("    import re".into());
        if day_only {
            lines.push("    from datetime import datetime".into());
        }
        lines.push(String::new());
        lines.push(format!("    if re.fullmatch(r\"{}\", text):", form::pattern(new)));
        lines.push(match (iso, day_only) {
            (_, true) => format!("        return datetime.strptime(text, {}).date()", literal(new)),
            (true, false) => format!("        return {module}.strptime(text, {})", literal(new)),
            (false, false) => format!("        return {module}.{method}(text, {})", literal(new)),
        });
        lines.push(if iso {
            format!("    return {function}(text)")
        } else {
            format!("    return {function}(text, old_format)")
        });
        lines
    };
    let comment = format!("{} is written as {new} as well; any other text is read as before", bare(name));
    let called = draft.helper(&["read_moment", "moment_of"], &comment, helper);
    for call in calls {
        draft.replace(call.func.range(), called.clone());
    }
    draft.finish()
}

/// The conversions of the values at a place, all in the target.
fn conversions<'a>(view: &View<'a>, place: &Place) -> Option<Vec<&'a ExprCall>> {
    let mut calls = Vec::new();
    for used in view.reading.uses_of(place) {
        match &used.how {
            Usage::Convert(name) if name.ends_with("strptime") || name.ends_with("fromisoformat") => {
                if used.owner > 0 {
                    return None;
                }
                let range = crate::code::object_none::call_around(view, used.range)?;
                calls.push(find_call(view, range)?);
            }
            _ => {}
        }
    }
    Some(calls)
}

fn old_format(view: &View, call: &ExprCall) -> Option<String> {
    let function = view.text(call.func.range());
    if function.ends_with("fromisoformat") {
        let class = function.rsplit('.').nth(1)?;
        return Some(if class == "date" { "%Y-%m-%d" } else { "%Y-%m-%dT%H:%M:%S" }.to_owned());
    }
    match call.arguments.args.get(1)? {
        Expr::StringLiteral(format) => Some(format.value.to_str().to_owned()),
        _ => None,
    }
}

fn refused(place: &Place, why: &str) -> Answer {
    let expected = dotted(&place.steps);
    let report = FieldReport { expected: expected.clone(), candidates: Vec::new(), unmet: why.to_owned() };
    let summary = format!("the dates of `{expected}` are written another way, and {why}");
    Answer::Refused(Refusal { reason: Reason::Ambiguous, summary, fields: vec![report], hint: String::new() })
}

#[cfg(test)]
mod tests {
    use crate::kind::object_cases::{Case, check};

    fn days(new: &'static str) -> Case<'static> {
        Case {
            source: "from datetime import datetime\n\n\ndef load(data):\n    return [datetime.strptime(e[\"day\"], \"%Y-%m-%d\").month for e in data]\n",
            old: r#"[{"day": "2026-01-15"}]"#,
            new,
            error: "ValueError: time data '15.01.2026' does not match format '%Y-%m-%d'",
            at: "strptime",
            file: false,
        }
    }

    #[test]
    fn the_new_form_is_read_by_its_own_format() {
        let parts = [
            "read_moment(e[\"day\"], \"%Y-%m-%d\")",
            "return datetime.strptime(text, \"%d.%m.%Y\")",
            "return datetime.strptime(text, old_format)",
        ];
        check(&days(r#"[{"day": "15.01.2026"}, {"day": "16.02.2026"}]"#), &parts);
        check(&Case { old: "", ..days(r#"[{"day": "15.01.2026"}]"#) }, &parts);
        let iso = Case {
            source: "from datetime import date\n\n\ndef load(data):\n    return [date.fromisoformat(e[\"day\"]).month for e in data]\n",
            error: "ValueError: Invalid isoformat string: '15.01.2026'",
            at: "fromisoformat",
            ..days(r#"[{"day": "15.01.2026"}]"#)
        };
        check(&iso, &["read_moment(e[\"day\"])", "return datetime.strptime(text, \"%d.%m.%Y\").date()"]);
    }

    #[test]
    fn day_or_month_and_words_are_refused() {
        check(&days(r#"[{"day": "01/02/2026"}]"#), &["ambiguous: "]);
        check(&days(r#"[{"day": "yesterday"}]"#), &["no_proposer: "]);
    }
}
