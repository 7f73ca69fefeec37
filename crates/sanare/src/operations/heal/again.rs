//! Drift after drift: a repair's helper raises when the data changes once more. That `raise` is no purpose of the owner's.
//!
//! A helper is a repair's when an accepted repair of this function brought it and it stands as that repair, or a later
//! one, left it. An inner function that the owner had before stays the owner's, whatever a repair changed in it; so does
//! a helper that somebody edited by hand.

use sanare_core::port::Store;
use sanare_core::receipt::Receipt;
use sanare_source::ast::Stmt;
use sanare_source::parse::Source;
use sanare_source::size::Ranged as _;

use super::HealRequest;
use super::adopt::accepted;

/// An inner function: its name and its text.
type Inner = (String, String);

/// Whether the failing `raise` stands in a helper that accepted repairs of this function wrote.
pub(super) fn raised_by_repair(store: &dyn Store, request: &HealRequest) -> bool {
    if !request.evidence.failure.deliberate {
        return false;
    }
    let Some(failing) = failing_helper(request) else { return false };
    let path = request.path.display().to_string();
    let receipts = store.receipts_of_function(&path, &request.function).unwrap_or_default();
    let of_function = |receipt: &&Receipt| receipt.text.contains(&failing.0);
    let mut written: Vec<Inner> = Vec::new();
    for receipt in receipts.iter().filter(of_function).filter(|receipt| accepted(store, receipt).is_some()) {
        // What it was before cannot be told: then it is not known whose a helper is.
        let Some(before) = inner_functions(&text_before(receipt)) else { continue };
        for helper in inner_functions(&receipt.text).unwrap_or_default() {
            let new = match before.iter().find(|(name, _)| *name == helper.0) {
                None => true,
                Some(earlier) => written.contains(earlier),
            };
            if new {
                written.push(helper);
            }
        }
    }
    written.contains(&failing)
}

/// The inner function of the target that holds the failing line.
fn failing_helper(request: &HealRequest) -> Option<Inner> {
    let evidence = &request.evidence;
    let line = evidence.failure.frames.last().map(|frame| frame.line).filter(|line| *line > 0)?;
    let source = Source::parse(&evidence.source).ok()?;
    let target = source.function_at(&request.function, evidence.first_line)?;
    let inner = target.body.iter().filter_map(Stmt::as_function_def_stmt).find(|inner| {
        let range = inner.range();
        (source.line(range.start().to_usize())..=source.line(range.end().to_usize())).contains(&line)
    })?;
    let name = inner.name.to_string();
    inner_functions(source.slice(target))?.into_iter().find(|(found, _)| *found == name)
}

/// The function's text before a repair, as far as its receipt tells.
fn text_before(receipt: &Receipt) -> String {
    let plain = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let (original, replacement) = (plain(&receipt.original), plain(&receipt.replacement));
    let (original, replacement) = (original.trim_end(), replacement.trim_end());
    match !replacement.is_empty() && receipt.text.matches(replacement).count() == 1 {
        true => receipt.text.replacen(replacement, original, 1),
        false => String::new(),
    }
}

/// The functions that stand directly in the body of the one function that this text is. Of two with one name there is
/// none: which one is meant?
fn inner_functions(text: &str) -> Option<Vec<Inner>> {
    let source = Source::parse(text).ok()?;
    let [Stmt::FunctionDef(outer)] = source.body() else { return None };
    let all: Vec<Inner> = outer
        .body
        .iter()
        .filter_map(Stmt::as_function_def_stmt)
        .map(|inner| (inner.name.to_string(), source.slice(inner).to_owned()))
        .collect();
    let only = |one: &&Inner| all.iter().filter(|other| other.0 == one.0).count() == 1;
    Some(all.iter().filter(only).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::inner_functions;

    #[test]
    fn only_what_stands_in_one_function_and_has_a_name_of_its_own() {
        let text = "def load(self):\n        def field(row):\n            raise KeyError(row)\n\n        return field";
        let field = ("field".to_owned(), "def field(row):\n            raise KeyError(row)".to_owned());
        assert_eq!(inner_functions(text), Some(vec![field]));
        let twice = "def load():\n    def a():\n        pass\n    def a():\n        return 1\n    return a\n";
        assert_eq!(inner_functions(twice), Some(Vec::new()));
        assert_eq!(inner_functions("    x = 1\n    def a(): pass"), None);
        assert_eq!(inner_functions(""), None);
    }
}
