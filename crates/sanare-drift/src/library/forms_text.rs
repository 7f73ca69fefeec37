//! Forms of the table that change texts, imports and whole functions.

use sanare_source::ast::visitor::{Visitor, walk_expr, walk_stmt};
use sanare_source::ast::{Expr, Stmt, StmtFunctionDef};
use sanare_source::edit::Edit;
use sanare_source::size::Ranged;

use super::Entry;
use super::forms::{Change, is_of};
use super::sites::Sites;
use crate::problem::Failure;

/// A text on the failing line that the message itself gives a successor for.
pub(super) fn literal(entry: &Entry, sites: &Sites, failure: &Failure) -> Option<Change> {
    let (old, new) = entry.messages.iter().find_map(|pattern| between(pattern, &failure.message))?;
    let texts: Vec<&&Expr> = sites
        .texts
        .iter()
        .filter(|text| {
            sites.on_line(text.range()) && matches!(text, Expr::StringLiteral(text) if text.value.to_str() == old)
        })
        .collect();
    let [only] = texts.as_slice() else { return None };
    let text = sites.text(**only);
    let edits = vec![Edit::replace(only.range(), text.replace(&old, &new))];
    Some(Change { edits, first: Some(only.range()), ..Change::default() })
}

/// What stands in a message for `{old}` and `{new}`.
fn between(pattern: &str, message: &str) -> Option<(String, String)> {
    let (before, rest) = pattern.split_once("{old}")?;
    let (middle, after) = rest.split_once("{new}")?;
    let start = message.find(before)? + before.len();
    let rest = message.get(start..)?;
    let end = rest.find(middle)?;
    let old = rest.get(..end)?;
    let rest = rest.get(end + middle.len()..)?;
    let new = rest.get(..rest.find(after)?)?;
    let word = |text: &str| {
        !text.is_empty() && text.len() < 12 && text.chars().all(|letter| letter.is_alphanumeric() || letter == '-')
    };
    (word(old) && word(new)).then(|| (old.to_owned(), new.to_owned()))
}

/// The letter U in a file's mode.
pub(super) fn mode(entry: &Entry, sites: &Sites, failure: &Failure) -> Option<Change> {
    let shown = failure.message.strip_prefix("invalid mode: '")?.split('\'').next()?;
    if !shown.contains('U') || shown.contains(['b', 'w', 'a', '+']) {
        return None;
    }
    let mut change = Change::default();
    for call in sites.calls.iter().filter(|call| sites.on_line(call.range()) && is_of(entry, sites, call)) {
        let Some(Expr::StringLiteral(text)) = call.arguments.find_argument_value("mode", 1) else { continue };
        if text.value.to_str() == shown {
            let plain = sites.text(text).replace('U', "");
            let plain =
                if plain.contains('r') { plain } else { plain.replacen(['"', '\''], "'r", 1).replace("'r\"", "'r'") };
            change.first = Some(call.range());
            change.edits.push(Edit::replace(text.range(), plain));
        }
    }
    Some(change)
}

/// Flags for the whole of a pattern, moved to its start.
pub(super) fn regex_flags(entry: &Entry, sites: &Sites, failure: &Failure) -> Option<Change> {
    if !failure.message.contains(&entry.message) {
        return None;
    }
    let mut change = Change::default();
    for call in sites.calls.iter().filter(|call| sites.on_line(call.range())) {
        let name = sites.dotted(&call.func).unwrap_or_default();
        let Some(pattern @ Expr::StringLiteral(_)) = call.arguments.args.first().filter(|_| name.starts_with("re."))
        else {
            continue;
        };
        let text = sites.text(pattern);
        let open = text.find(['"', '\''])? + 1;
        let body = text.get(open..)?;
        let Some((at, flags)) = flags_in(body) else { continue };
        if at == 0 || body.get(..at).is_some_and(|before| before.ends_with('\\') || before.starts_with(['"', '\''])) {
            continue;
        }
        let moved = format!("{}{flags}{}{}", text.get(..open)?, body.get(..at)?, body.get(at + flags.len()..)?);
        change.first = Some(call.range());
        change.edits.push(Edit::replace(pattern.range(), moved));
    }
    Some(change)
}

/// `(?i)` and the like: where it stands and its text.
fn flags_in(body: &str) -> Option<(usize, &str)> {
    for (at, _) in body.match_indices("(?") {
        let rest = body.get(at..)?;
        let end = rest.find(')')?;
        let letters = rest.get(2..end)?;
        if !letters.is_empty() && letters.chars().all(|letter| "aiLmsux".contains(letter)) {
            return Some((at, rest.get(..=end)?));
        }
    }
    None
}

/// ISO dates of several precisions in one column.
pub(super) fn iso_dates(entry: &Entry, sites: &Sites, failure: &Failure) -> Option<Change> {
    let fits = entry.messages.iter().any(|part| failure.message.contains(part.as_str()));
    let format = failure.message.split("format \"").nth(1)?.split('"').next()?;
    if !fits || !format.starts_with("%Y-%m-%d") || !shown_dates_are_iso(&failure.message) {
        return None;
    }
    let mut change = Change::default();
    for call in sites.calls.iter().filter(|call| sites.on_line(call.range()) && is_of(entry, sites, call)) {
        let names: Vec<&str> = call
            .arguments
            .keywords
            .iter()
            .filter_map(|keyword| keyword.arg.as_ref())
            .map(|name| name.as_str())
            .collect();
        if names.iter().any(|name| matches!(*name, "format" | "dayfirst" | "yearfirst" | "errors" | "unit"))
            || call.arguments.args.len() != 1
        {
            return None;
        }
        let end = call.arguments.args.first()?.range().end().to_usize();
        change.first = Some(call.range());
        change.edits.push(Edit::insert(end, ", format=\"ISO8601\""));
    }
    Some(change)
}

/// The date that the message shows, or the rest of it that did not fit, is of ISO form.
fn shown_dates_are_iso(message: &str) -> bool {
    if let Some(shown) = message.strip_prefix("time data \"").and_then(|rest| rest.split('"').next()) {
        let bytes = shown.as_bytes();
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        return [0, 1, 2, 3, 5, 6].iter().all(|at| digit(*at)) && bytes.get(4) == Some(&b'-');
    }
    if let Some((_, rest)) = message.split_once("\": \"") {
        let rest = rest.split('"').next().unwrap_or_default().trim_start_matches(['T', ' ']);
        return rest.chars().all(|letter| letter.is_ascii_digit() || matches!(letter, ':' | '.' | '+' | '-' | 'Z'));
    }
    false
}

/// An import inside the function from where the name was.
pub(super) fn import(entry: &Entry, sites: &Sites, failure: &Failure) -> Option<Change> {
    if !failure.class.ends_with("ImportError") && !failure.class.ends_with("ModuleNotFoundError") {
        return None;
    }
    let mut change = Change::default();
    for statement in sites.statements.iter().filter(|statement| sites.on_line(statement.range())) {
        match statement {
            Stmt::ImportFrom(import) => {
                let module = import.module.as_ref()?.as_str();
                let mut lines: Vec<String> = Vec::new();
                for alias in &import.names {
                    let old = format!("{module}.{}", alias.name);
                    let new = match entry.members.get(&old) {
                        Some(new) => new.clone(),
                        None if failure.class.ends_with("ImportError")
                            && !failure.class.ends_with("ModuleNotFoundError")
                            && !failure.message.contains(&format!("'{}'", alias.name)) =>
                        {
                            old
                        }
                        None => return None,
                    };
                    let (from, name) = new.rsplit_once('.')?;
                    let wanted = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                    let part = if name == wanted { name.to_owned() } else { format!("{name} as {wanted}") };
                    let start = format!("from {from} import ");
                    match lines.iter_mut().find(|line| line.starts_with(&start)) {
                        Some(line) => line.push_str(&format!(", {part}")),
                        None => lines.push(format!("{start}{part}")),
                    }
                }
                if lines.iter().any(|line| line.starts_with(&format!("from {module} import")) && lines.len() == 1) {
                    continue;
                }
                let indent =
                    sanare_source::edit::indentation(sites.source.text(), statement.range().start().to_usize());
                change.first = Some(statement.range());
                change.edits.push(Edit::replace(statement.range(), lines.join(&format!("\n{indent}"))));
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    let Some(new) = entry.members.get(alias.name.as_str()) else { continue };
                    alias.asname.as_ref()?;
                    change.first = Some(statement.range());
                    change.edits.push(Edit::replace(alias.name.range(), new.clone()));
                }
            }
            _ => {}
        }
    }
    Some(change)
}

/// A generator that was a coroutine by its decorator.
pub(super) fn coroutine(entry: &Entry, sites: &Sites, failure: &Failure) -> Option<Change> {
    if !failure.message.starts_with("module 'asyncio' has no attribute 'coroutine'") {
        return None;
    }
    let mut change = Change::default();
    for statement in &sites.statements {
        let Stmt::FunctionDef(function) = statement else { continue };
        let Some(decorator) = function
            .decorator_list
            .iter()
            .find(|decorator| sites.dotted(&decorator.expression).is_some_and(|name| entry.functions.contains(&name)))
        else {
            continue;
        };
        let mut finder = Yields { awaits: Vec::new(), plain: false, function };
        for inner in &function.body {
            finder.visit_stmt(inner);
        }
        if finder.plain {
            return None;
        }
        let text = sites.source.text();
        let start = decorator.range().start().to_usize();
        let rest = text.get(decorator.range().end().to_usize()..)?;
        let end = decorator.range().end().to_usize() + (rest.len() - rest.trim_start().len());
        let def = start_of_def(text, function)?;
        change.first.get_or_insert(function.range());
        if end == def {
            change.edits.push(Edit { start, end: def, text: "async ".into() });
        } else {
            change.edits.push(Edit { start, end, text: String::new() });
            change.edits.push(Edit::insert(def, "async "));
        }
        for (start, end) in finder.awaits {
            change.edits.push(Edit { start, end, text: "await ".into() });
        }
    }
    Some(change)
}

fn start_of_def(text: &str, function: &StmtFunctionDef) -> Option<usize> {
    let after = function.decorator_list.last().map_or(function.range().start(), |last| last.range().end()).to_usize();
    let name = function.name.range().start().to_usize();
    Some(after + text.get(after..name)?.rfind("def")?)
}

/// `yield from x` at its place, and whether there is a plain `yield`.
struct Yields<'a> {
    awaits: Vec<(usize, usize)>,
    plain: bool,
    function: &'a StmtFunctionDef,
}

impl<'a> Visitor<'a> for Yields<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if !matches!(statement, Stmt::FunctionDef(inner) if !std::ptr::eq(inner, self.function)) {
            walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Yield(_) => self.plain = true,
            Expr::YieldFrom(from) => {
                self.awaits.push((from.range().start().to_usize(), from.value.range().start().to_usize()))
            }
            Expr::Lambda(_) => return,
            _ => {}
        }
        walk_expr(self, expr);
    }
}
