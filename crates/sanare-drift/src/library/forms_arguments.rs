//! Forms of the table that change arguments: keywords that are gone, arguments that must be passed another way.

use sanare_source::ast::{Expr, ExprCall};
use sanare_source::edit::Edit;
use sanare_source::size::{Ranged, TextRange};

use super::Entry;
use super::forms::{Change, filled, has_stars, is_of, is_simple, named};
use super::sites::Sites;
use crate::problem::Failure;

/// `unexpected keyword argument 'x'`: the keyword.
fn unexpected(failure: &Failure) -> Option<&str> {
    let (_, rest) = failure.message.split_once("unexpected keyword argument '")?;
    rest.split('\'').next().filter(|_| failure.class.ends_with("TypeError"))
}

/// A keyword that is gone.
pub(super) fn keyword(entry: &Entry, sites: &Sites, failure: &Failure) -> Option<Change> {
    let gone = if entry.message.is_empty() {
        let gone = unexpected(failure)?;
        let known = entry.keyword == gone
            || entry.keywords.iter().any(|name| name == gone)
            || entry.also.iter().any(|name| name == gone);
        known.then(|| gone.to_owned())?
    } else {
        failure.message.contains(&entry.message).then(|| entry.keyword.clone())?
    };
    let mut change = Change::default();
    for call in sites.calls.iter().filter(|call| sites.on_line(call.range()) && is_of(entry, sites, call)) {
        let Some(given) =
            call.arguments.keywords.iter().find(|keyword| keyword.arg.as_ref().is_some_and(|name| *name == *gone))
        else {
            continue;
        };
        let value = sites.text(&given.value);
        if (!entry.when.is_empty() && entry.when != value) || entry.only.get(&gone).is_some_and(|only| only != value) {
            return None;
        }
        let spoken: String = sites.text(*call).split_whitespace().collect();
        if !entry.needs.is_empty() && !spoken.contains(&entry.needs) {
            return None;
        }
        match entry.action.as_str() {
            "drop" => drop_keyword(&mut change, sites, call, given.range(), None),
            "rename" => {
                let name = given.arg.as_ref()?;
                change.replace(name.range(), entry.to.clone());
            }
            "replace" => {
                let lead = call
                    .arguments
                    .keywords
                    .iter()
                    .find(|keyword| keyword.arg.as_ref().is_some_and(|name| *name == entry.keyword));
                let named = lead.map_or(value, |lead| sites.text(&lead.value));
                let mut new = entry.values.get(named)?.clone();
                for (condition, text) in &entry.with {
                    if spoken.contains(condition.as_str()) && named == "False" {
                        new.clone_from(text);
                    }
                }
                let lead = lead.unwrap_or(given);
                drop_keyword(&mut change, sites, call, lead.range(), Some(new.as_str()).filter(|new| !new.is_empty()));
                for other in call.arguments.keywords.iter().filter(|keyword| {
                    keyword.arg.as_ref().is_some_and(|name| entry.also.iter().any(|known| *known == name.as_str()))
                }) {
                    drop_keyword(&mut change, sites, call, other.range(), None);
                }
                if let Some(behind) = entry.behind.get(named) {
                    change.edits.push(Edit::insert(call.range().end().to_usize(), behind.clone()));
                }
            }
            "behind" => {
                drop_keyword(&mut change, sites, call, given.range(), None);
                change
                    .edits
                    .push(Edit::insert(call.range().end().to_usize(), entry.template.replace("{value}", value)));
            }
            _ => return None,
        }
        if !entry.becomes.is_empty() {
            let others = call.arguments.keywords.iter().any(|keyword| {
                keyword.arg.as_ref().is_none_or(|name| !matches!(name.as_str(), "copy" | "dtype" | "order"))
            });
            if others {
                return None;
            }
            let text = named(&entry.becomes, sites, &mut change.imports)?;
            change.replace(call.func.range(), text);
        }
    }
    Some(change)
}

/// Takes a keyword out of a call, its comma with it, or puts another in its place.
fn drop_keyword(change: &mut Change, sites: &Sites, call: &ExprCall, range: TextRange, new: Option<&str>) {
    if let Some(new) = new {
        change.replace(range, new);
        return;
    }
    change.first.get_or_insert(call.range());
    let text = sites.source.text();
    let (start, end) = (range.start().to_usize(), range.end().to_usize());
    let open = call.arguments.range().start().to_usize() + 1;
    let before = text.get(open..start).unwrap_or_default();
    let trimmed = before.trim_end();
    if trimmed.ends_with(',') {
        change.edits.push(Edit { start: open + trimmed.len() - 1, end, text: String::new() });
        return;
    }
    let after = text.get(end..).unwrap_or_default();
    let blanks = after.len() - after.trim_start().len();
    let end = if after.trim_start().starts_with(',') {
        let rest = after.get(blanks + 1..).unwrap_or_default();
        end + blanks + 1 + (rest.len() - rest.trim_start_matches(' ').len())
    } else {
        end
    };
    change.edits.push(Edit { start, end, text: String::new() });
}

/// `x.fillna(method="ffill")` becomes `x.ffill()`.
pub(super) fn fillna(entry: &Entry, sites: &Sites, failure: &Failure) -> Option<Change> {
    if unexpected(failure)? != entry.keyword {
        return None;
    }
    let mut change = Change::default();
    for call in sites.calls.iter().filter(|call| sites.on_line(call.range()) && is_of(entry, sites, call)) {
        let Some(given) = call
            .arguments
            .keywords
            .iter()
            .find(|keyword| keyword.arg.as_ref().is_some_and(|name| *name == entry.keyword))
        else {
            continue;
        };
        let Expr::StringLiteral(value) = &given.value else { return None };
        let new = entry.values.get(value.value.to_str())?;
        if !call.arguments.args.is_empty() {
            return None;
        }
        let Expr::Attribute(attribute) = &*call.func else { return None };
        change.replace(attribute.attr.range(), new.clone());
        drop_keyword(&mut change, sites, call, given.range(), None);
    }
    Some(change)
}

/// The first argument goes through something.
pub(super) fn argument(entry: &Entry, sites: &Sites, failure: &Failure) -> Option<Change> {
    if !failure.message.contains(&entry.message) {
        return None;
    }
    let locals = failure
        .frames
        .iter()
        .rev()
        .find(|frame| frame.line > 0)
        .map(|frame| frame.locals.as_slice())
        .unwrap_or_default();
    let calls: Vec<&&ExprCall> =
        sites.calls.iter().filter(|call| sites.on_line(call.range()) && is_of(entry, sites, call)).collect();
    let [call] = calls.as_slice() else { return None };
    let first = call.arguments.args.first()?;
    if (entry.simple && !is_simple(first)) || has_stars(call) {
        return None;
    }
    if entry.form == "text_source" {
        let text = match first {
            Expr::Name(name) => {
                locals.iter().find(|(known, _)| *known == name.id.as_str()).and_then(|(_, value)| value.as_text())
            }
            _ => None,
        };
        let start = text?.trim_start().chars().next()?;
        if !matches!(start, '{' | '[' | '<') {
            return None;
        }
    }
    let mut change = Change::default();
    let text = filled(&entry.template, sites, &mut change.imports, Some(call), None)?;
    change.replace(first.range(), text);
    Some(change)
}

/// Positional arguments that must be keywords now.
pub(super) fn positional(entry: &Entry, sites: &Sites, failure: &Failure) -> Option<Change> {
    let (taken, rest) = failure.message.split_once("() takes ")?;
    let method = taken.rsplit(['.', ' ']).next()?;
    let names = entry.signatures.get(method).filter(|_| failure.class.ends_with("TypeError"))?;
    let limit: usize = rest.split_once(" positional argument")?.0.rsplit(' ').next()?.parse().ok()?;
    let function =
        sites.calls.iter().any(|call| sites.dotted(&call.func).is_some_and(|name| name == format!("pandas.{method}")));
    let keep = if function { limit } else { limit.checked_sub(1)? };
    let calls: Vec<&&ExprCall> = sites
        .calls
        .iter()
        .filter(|call| sites.on_line(call.range()) && call.arguments.args.len() > keep)
        .filter(|call| matches!(&*call.func, Expr::Attribute(attribute) if attribute.attr.as_str() == method))
        .collect();
    let [call] = calls.as_slice() else { return None };
    if has_stars(call) || !rest.contains(&format!("but {}", call.arguments.args.len() + usize::from(!function))) {
        return None;
    }
    let mut change = Change::default();
    for (at, argument) in call.arguments.args.iter().enumerate().skip(keep) {
        let name = names.get(at)?;
        change.first.get_or_insert(call.range());
        change.edits.push(Edit::insert(argument.range().start().to_usize(), format!("{name}=")));
    }
    Some(change)
}
