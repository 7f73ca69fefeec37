//! Whether a reply says that it is only a part: a further page, a cursor, a total larger than what is there.

use sanare_core::value::Value;

use crate::code::object_path::Step;
use crate::code::object_write::literal;

/// What a reply says about further data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// It says that something is missing, and how.
    pub incomplete: Option<String>,
    /// Statements that raise when a later reply says so; in terms of `{}`, the reply.
    pub guards: Vec<String>,
    /// There are as many records as fit on a page.
    pub full: bool,
}

/// Reads the marks of every mapping on the way to a list of records.
pub fn marks(root: &Value, steps: &[Step], records: usize, list: &str) -> Marks {
    let mut marks = Marks::default();
    let mut current = Some(root);
    let mut text = String::from("{}");
    for at in 0..=steps.len() {
        if let Some(map @ Value::Map(_)) = current {
            read(map, &text, records, list, &mut marks, 1);
        }
        let Some(step) = steps.get(at) else { break };
        match step {
            Step::Key(key) => {
                text.push_str(&format!("[{}]", literal(key)));
                current = current.and_then(|value| value.get(key));
            }
            _ => {
                text.push_str("[0]");
                current = current.and_then(|value| value.as_list()).and_then(<[Value]>::first);
            }
        }
    }
    if marks.full && marks.guards.is_empty() && marks.incomplete.is_none() {
        marks.incomplete = Some("there are as many records as one page holds".into());
    }
    marks
}

fn read(map: &Value, text: &str, records: usize, list: &str, marks: &mut Marks, depth: usize) {
    for (key, value) in map.as_map().unwrap_or_default() {
        let word: String = key.chars().filter(|letter| letter.is_alphanumeric()).collect::<String>().to_lowercase();
        let here = format!("{text}[{}]", literal(key));
        let mut guard = |condition: String| {
            marks.guards.push(format!("if {condition}:"));
            marks.guards.push("    raise ValueError(\"the reply holds only a part of the records\")".into());
        };
        if MORE.contains(&word.as_str()) && is_scalar(value) {
            if is_true(value) {
                marks.incomplete = Some(format!("`{key}` says that there is more"));
            }
            guard(here.clone());
        } else if LAST.contains(&word.as_str()) && matches!(value, Value::Bool(_)) {
            if *value == Value::Bool(false) {
                marks.incomplete = Some(format!("`{key}` says that this is not all"));
            }
            guard(format!("not {here}"));
        } else if TOTALS.contains(&word.as_str()) && number(value).is_some() {
            if number(value).is_some_and(|total| total > records) {
                marks.incomplete = Some(format!("`{key}` is larger than the number of records"));
            }
            if matches!(value, Value::Int(_)) {
                guard(format!("{here} > len({list})"));
            }
        } else if OFFSETS.contains(&word.as_str()) && number(value).is_some_and(|offset| offset > 0) {
            marks.incomplete = Some(format!("`{key}` says that it does not begin at the first"));
        } else if LIMITS.contains(&word.as_str()) && number(value).is_some_and(|limit| limit > 0 && limit == records) {
            marks.full = true;
        } else if PAGES.contains(&word.as_str()) && number(value).is_some_and(|pages| pages > 1) {
            marks.incomplete = Some(format!("`{key}` says that there are more pages"));
        } else if depth > 0 && ENVELOPES.contains(&word.as_str()) && matches!(value, Value::Map(_)) {
            read(value, &here, records, list, marks, depth - 1);
        }
    }
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Map(_) | Value::List(_))
}

/// A number, written as such or as text.
pub fn number(value: &Value) -> Option<usize> {
    match value {
        Value::Int(number) => usize::try_from(*number).ok(),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => *flag,
        Value::Text(text) => !text.is_empty(),
        Value::Int(number) => *number != 0,
        _ => false,
    }
}

/// Names of a count of pages.
pub fn is_page_count(name: &str) -> bool {
    let word: String = name.chars().filter(|letter| letter.is_alphanumeric()).collect::<String>().to_lowercase();
    PAGES.contains(&word.as_str())
}

/// Names of a page's own number.
pub fn is_page_number(name: &str) -> bool {
    let word: String = name.chars().filter(|letter| letter.is_alphanumeric()).collect::<String>().to_lowercase();
    matches!(
        word.as_str(),
        "page" | "pagenumber" | "pageno" | "number" | "pagenum" | "index" | "pageindex" | "seq" | "sequence" | "no"
    )
}

const MORE: &[&str] = &[
    "next",
    "nextpage",
    "nexturl",
    "nextlink",
    "nextpagetoken",
    "nexttoken",
    "nextcursor",
    "hasmore",
    "hasnext",
    "hasnextpage",
    "more",
    "moreresults",
    "odatanextlink",
    "continuation",
    "continuationtoken",
    "continue",
    "cursor",
    "endcursor",
    "scrollid",
    "truncated",
    "istruncated",
    "partial",
    "nextoffset",
    "nexthref",
    "paginationtoken",
    "lastevaluatedkey",
];

const LAST: &[&str] = &["islast", "lastpage", "islastpage", "complete", "iscomplete", "done"];

const TOTALS: &[&str] = &[
    "total",
    "totalcount",
    "totalresults",
    "totalrecords",
    "totalitems",
    "totalelements",
    "totalhits",
    "numfound",
    "recordstotal",
    "count",
    "resultcount",
    "totalrows",
    "numresults",
    "itemcount",
    "recordcount",
    "available",
    "found",
];

const PAGES: &[&str] =
    &["pagecount", "totalpages", "pagestotal", "numpages", "npages", "lastpagenumber", "maxpage", "pages"];

const LIMITS: &[&str] = &["perpage", "pagesize", "limit", "maxresults", "itemsperpage", "resultsperpage", "pagelimit"];

const OFFSETS: &[&str] = &["offset", "start", "startat", "skip", "startindex"];

const ENVELOPES: &[&str] = &[
    "meta",
    "metadata",
    "paging",
    "pagination",
    "links",
    "page",
    "pageinfo",
    "info",
    "cursors",
    "resultset",
    "summary",
    "navigation",
];
