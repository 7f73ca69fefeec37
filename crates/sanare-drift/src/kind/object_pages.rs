//! A flat list that now comes in pages.
//!
//! What it does: joins the records of all pages, in page order, into the list that the code reads.
//! Why: every page is there, and its records are the only ones that have what the code reads.
//! Unsafe when: a page is missing, or the reply says that there are more; then it refuses.

use sanare_core::outcome::Reason;
use sanare_core::value::Value;

use crate::code::object_complete::{self, is_page_count, is_page_number, number};
use crate::code::object_fit::{self, node_read, spots};
use crate::code::object_path::{Step, dotted, spoken, values};
use crate::code::object_place::{self, Change, expression};
use crate::code::object_reads::Place;
use crate::code::object_view::{Trouble, View};
use crate::code::object_write::literal;
use crate::problem::{Answer, Mapping, Refusal, Tier};

use super::object::layer;
use super::object_envelope::mapped;

/// Pages whose records could be the list.
#[derive(Clone, Debug)]
struct Pages {
    /// Steps to the list of pages.
    to_pages: Vec<Step>,
    /// Steps from a page to its records.
    to_records: Vec<Step>,
    tier: Tier,
}

pub(crate) fn answer(view: &View) -> Option<Answer> {
    let (container, key) = match view.trouble()? {
        Trouble::NotList(place) => (place, None),
        Trouble::Absent { container, key } => (container, Some(key)),
        _ => return None,
    };
    let target = match &key {
        Some(key) => container.then(Step::Key(key.clone())),
        None => container.clone(),
    };
    if container.steps.iter().any(|step| !matches!(step, Step::Key(_))) || node_read(view, &target) != Some("list") {
        return None;
    }
    let outer = view.at(&container);
    let [outer] = outer.as_slice() else { return None };
    outer.as_map()?;
    let found = all_pages(view, outer, &target);
    let [pages] = found.as_slice() else { return None };
    let list = values(outer, &pages.to_pages).into_iter().find_map(|value| value.as_list())?;
    let records: usize = list
        .iter()
        .flat_map(|page| values(page, &pages.to_records))
        .filter_map(|value| value.as_list())
        .map(<[Value]>::len)
        .sum();
    if let Some(why) = incomplete(outer, &pages.to_pages, list, records) {
        return Some(Answer::Refused(Refusal {
            reason: Reason::IncompleteData,
            summary: format!("the pages are not all here: {why}"),
            fields: Vec::new(),
            hint: "fetch all pages before the call".into(),
        }));
    }
    let source = object_place::written(view, &container, &change(outer, pages, list, key.as_deref()));
    let path = |steps: &[Step]| dotted(&[container.steps.as_slice(), steps].concat());
    let mut seen = pages.to_pages.clone();
    seen.push(Step::Member);
    seen.extend(pages.to_records.iter().cloned());
    let now = spoken(&seen);
    let evidence = format!("{} pages are there, none is missing", list.len());
    let mapping = Mapping {
        expected: dotted(&target.steps),
        seen: path(&seen),
        evidence: vec![format!("I3 {evidence}")],
        tier: pages.tier,
    };
    layer(
        "object_pages",
        source,
        pages.tier,
        format!("the records now come in pages, at {now}"),
        vec![evidence],
        vec![mapping],
    )
}

fn all_pages(view: &View, outer: &Value, target: &Place) -> Vec<Pages> {
    let mut found = Vec::new();
    for spot in spots(outer) {
        let Some(list) = spot.value.as_list() else { continue };
        let paged = spot.steps.iter().any(|step| matches!(step, Step::Key(key) if key.to_lowercase().contains("page")));
        let Some(first) = list.first().filter(|page| page.as_map().is_some()) else { continue };
        let numbered = page_number(list).is_some();
        if spot.steps.iter().any(|step| matches!(step, Step::Index(_))) || !(paged || (numbered && list.len() > 1)) {
            continue;
        }
        for inner in spots(first) {
            let there: Vec<&Value> = list.iter().flat_map(|page| values(page, &inner.steps)).collect();
            if there.len() != list.len()
                || there.iter().any(|value| value.as_list().is_none())
                || inner.steps.iter().any(|step| matches!(step, Step::Index(_)))
            {
                continue;
            }
            let tier = match object_fit::fit(view, target, &there) {
                Some(fit) if !fit.keys.is_empty() => Tier::A,
                Some(_) => continue,
                None if mapped(view, target, &there) => Tier::B,
                None => continue,
            };
            found.push(Pages { to_pages: spot.steps.clone(), to_records: inner.steps.clone(), tier });
        }
    }
    let best = found.iter().map(|pages| pages.tier).min();
    found.retain(|pages| Some(pages.tier) == best);
    found
}

/// The key of the pages' own numbers.
fn page_number(list: &[Value]) -> Option<&str> {
    let first = list.first()?.as_map()?;
    let (key, _) = first.iter().find(|(key, value)| is_page_number(key) && matches!(value, Value::Int(_)))?;
    list.iter().all(|page| matches!(page.get(key), Some(Value::Int(_)))).then_some(key.as_str())
}

fn incomplete(outer: &Value, to_pages: &[Step], list: &[Value], records: usize) -> Option<String> {
    let (_, before) = to_pages.split_last()?;
    let mut holders: Vec<&Value> = vec![outer];
    for at in 1..=before.len() {
        holders.extend(values(outer, before.get(..at).unwrap_or_default()));
    }
    for holder in holders {
        for (key, value) in holder.as_map().unwrap_or_default() {
            if is_page_count(key) && number(value).is_some_and(|count| count != list.len()) {
                return Some(format!("`{key}` is not the number of pages"));
            }
        }
        let rest: Vec<(String, Value)> =
            holder.as_map().unwrap_or_default().iter().filter(|(key, _)| !is_page_count(key)).cloned().collect();
        if let Some(why) = object_complete::marks(&Value::Map(rest), &[], records, "").incomplete {
            return Some(why);
        }
    }
    if let Some(last) = list.last() {
        if let Some(why) = object_complete::marks(last, &[], usize::MAX, "").incomplete {
            return Some(why);
        }
    }
    if let Some(key) = page_number(list) {
        let mut numbers: Vec<usize> = list.iter().filter_map(|page| page.get(key)).filter_map(number).collect();
        numbers.sort_unstable();
        let first = numbers.first().copied().unwrap_or(0);
        if first > 1 || numbers.iter().enumerate().any(|(at, number)| *number != first + at) {
            return Some("the page numbers have a gap".into());
        }
    }
    None
}

fn change(outer: &Value, pages: &Pages, list: &[Value], key: Option<&str>) -> Change {
    let (all, _) = expression(&pages.to_pages);
    let (records, _) = expression(&pages.to_records);
    let records = records.replace("{}", "page");
    let mut body = vec![format!("pages = {all}")];
    if let Some(number) = page_number(list) {
        let number = literal(number);
        body = vec![format!("pages = sorted({all}, key=lambda page: page[{number}])")];
        let first = list
            .iter()
            .filter_map(|page| page.get(number.trim_matches('"')))
            .filter_map(self::number)
            .min()
            .unwrap_or(1);
        body.push(format!("if [page[{number}] for page in pages] != list(range({first}, len(pages) + {first})):"));
        body.push("    raise ValueError(\"a page is missing\")".into());
    }
    let counts = outer
        .as_map()
        .unwrap_or_default()
        .iter()
        .find(|(name, value)| is_page_count(name) && matches!(value, Value::Int(_)));
    if let (Some((name, _)), 1) = (counts, pages.to_pages.len()) {
        body.push(format!("if len(pages) != {{}}[{}]:", literal(name)));
        body.push("    raise ValueError(\"a page is missing\")".into());
    }
    let joined = format!("[record for page in pages for record in {records}]");
    let what = key.map_or("the list".to_owned(), |key| format!("{key} is flat no more: it"));
    Change {
        when: key.map_or("isinstance({}, dict)".into(), |key| format!("{} not in {{}}", literal(key))),
        body,
        becomes: key.map_or(joined.clone(), |key| format!("{{**{{}}, {}: {joined}}}", literal(key))),
        comment: format!("{what} now comes in pages, at {}; all pages are joined in order", spoken(&pages.to_pages)),
        helper: vec!["joined_pages", "all_pages"],
    }
}

#[cfg(test)]
mod tests {
    use crate::kind::object_cases::{Case, check, check_layers};

    const ORDERS: &str = "def load(data):\n    return [sum(o[\"price\"] for o in data[\"items\"]), [o[\"name\"] for o in data[\"items\"]]]\n";

    fn orders(new: &'static str) -> Case<'static> {
        let old = r#"{"items": [{"name": "Alfa", "price": 1200}, {"name": "Beta", "price": 800}]}"#;
        Case { source: ORDERS, old, new, error: "KeyError: 'items'", at: "items", file: false }
    }

    #[test]
    fn all_pages_are_joined() {
        let new = r#"{"page_count": 2, "pages": [{"page": 1, "results": [{"name": "A", "price": 1200}]}, {"page": 2, "results": [{"name": "B", "price": 800}]}]}"#;
        let parts = [
            "pages = sorted(data[\"pages\"], key=lambda page: page[\"page\"])",
            "if [page[\"page\"] for page in pages] != list(range(1, len(pages) + 1)):",
            "if len(pages) != data[\"page_count\"]:",
            "data = {**data, \"items\": [record for page in pages for record in page[\"results\"]]}",
        ];
        check(&orders(new), &parts);
        check(&Case { old: "", ..orders(new) }, &parts);
        let renamed = r#"{"pages": [{"results": [{"title": "A", "amount": 1200}]}, {"results": [{"title": "B", "amount": 800}]}]}"#;
        check_layers(
            &orders(renamed),
            &[("KeyError: 'price'", "sum(")],
            &["pages = data[\"pages\"]", "field(o, \"price\", \"amount\")"],
        );
        let bare = Case {
            source: "def load(data):\n    return [o[\"price\"] for o in data]\n",
            old: r#"[{"price": 1}]"#,
            new: r#"{"pages": [{"page": 1, "rows": [{"price": 1}]}, {"page": 2, "rows": [{"price": 2}]}]}"#,
            error: "TypeError: string indices must be integers, not 'str'",
            at: "price",
            file: false,
        };
        check(&bare, &["data = [record for page in pages for record in page[\"rows\"]]"]);
    }

    #[test]
    fn a_missing_page_is_refused() {
        let gap = r#"{"pages": [{"page": 1, "results": [{"name": "A", "price": 1200}]}, {"page": 3, "results": [{"name": "B", "price": 800}]}]}"#;
        check(&orders(gap), &["incomplete_data: "]);
        let count = r#"{"page_count": 3, "pages": [{"page": 1, "results": [{"name": "A", "price": 1200}]}, {"page": 2, "results": [{"name": "B", "price": 800}]}]}"#;
        check(&orders(count), &["incomplete_data: "]);
        let more = r#"{"has_more": true, "pages": [{"page": 1, "results": [{"name": "A", "price": 1200}]}, {"page": 2, "results": [{"name": "B", "price": 800}]}]}"#;
        check(&orders(more), &["incomplete_data: "]);
    }
}
