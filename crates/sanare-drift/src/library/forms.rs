//! The edits of the table's forms: each takes an entry and the function that failed, and gives replacements or nothing.

use sanare_core::value::Value;
use sanare_source::ast::{Expr, ExprCall, Stmt};
use sanare_source::edit::Edit;
use sanare_source::size::{Ranged, TextRange};

use super::Entry;
use super::sites::Sites;
use crate::code::object_write::has_word;
use crate::problem::Failure;

/// What an entry changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    pub(crate) edits: Vec<Edit>,
    /// Import lines that the new text needs, inside the function.
    pub(crate) imports: Vec<String>,
    /// The first changed range.
    pub(crate) first: Option<TextRange>,
}

impl Change {
    pub(super) fn replace(&mut self, range: TextRange, text: impl Into<String>) {
        self.first.get_or_insert(range);
        self.edits.push(Edit::replace(range, text));
    }
}

/// The change of an entry for a failure, if it is one of its failures.
pub(crate) fn change(entry: &Entry, sites: &Sites, failure: &Failure) -> Option<Change> {
    let change = match entry.form.as_str() {
        "member" => member(entry, sites, failure),
        "name" => name(entry, sites, failure),
        "call" => call(entry, sites, failure),
        "method" => method(entry, sites, failure, true),
        "attribute" => method(entry, sites, failure, false),
        "append" => append(entry, sites, failure),
        "keyword" => super::forms_arguments::keyword(entry, sites, failure),
        "fillna" => super::forms_arguments::fillna(entry, sites, failure),
        "argument" | "text_source" => super::forms_arguments::argument(entry, sites, failure),
        "positional" => super::forms_arguments::positional(entry, sites, failure),
        "literal" => super::forms_text::literal(entry, sites, failure),
        "mode" => super::forms_text::mode(entry, sites, failure),
        "regex_flags" => super::forms_text::regex_flags(entry, sites, failure),
        "iso_dates" => super::forms_text::iso_dates(entry, sites, failure),
        "import" => super::forms_text::import(entry, sites, failure),
        "coroutine" => super::forms_text::coroutine(entry, sites, failure),
        _ => None,
    }?;
    (!change.edits.is_empty()).then_some(change)
}

fn is_attribute_error(failure: &Failure) -> bool {
    failure.class.ends_with("AttributeError")
}

/// `module 'x' has no attribute 'y'`: both names.
fn missing_member(failure: &Failure) -> Option<(String, String)> {
    let rest = failure.message.strip_prefix("module '")?;
    let (module, rest) = rest.split_once("' has no attribute '")?;
    Some((module.to_owned(), rest.split('\'').next()?.to_owned()))
}

/// `'X' object has no attribute 'y'`: both names.
fn missing_attribute(failure: &Failure) -> Option<(String, String)> {
    let (class, rest) = failure.message.split_once("' object has no attribute '")?;
    let class = class.rsplit('\'').next()?;
    Some((class.to_owned(), rest.split('\'').next()?.to_owned()))
}

/// A module's member by its new name, wherever it stands in the function.
fn member(entry: &Entry, sites: &Sites, failure: &Failure) -> Option<Change> {
    if !is_attribute_error(failure) {
        return None;
    }
    let missing = match missing_member(failure) {
        Some((module, name)) => format!("{module}.{name}"),
        None => {
            let (class, name) = failure.message.strip_prefix("type object '")?.split_once("' has no attribute '")?;
            let name = name.split('\'').next()?;
            entry.members.keys().find(|old| old.ends_with(&format!(".{class}.{name}")))?.clone()
        }
    };
    let new = entry.members.get(&missing)?;
    let mut change = Change::default();
    let mut on_line = false;
    for attribute in &sites.attributes {
        let whole = Expr::Attribute((*attribute).clone());
        if sites.dotted(&whole).as_deref() == Some(missing.as_str()) {
            on_line |= sites.on_line(attribute.range());
            let text = named(new, sites, &mut change.imports)?;
            change.replace(attribute.range(), text);
        }
    }
    (on_line && !shadowed(new, sites)).then_some(change)
}

/// A built-in that is gone.
fn name(entry: &Entry, sites: &Sites, failure: &Failure) -> Option<Change> {
    let missing = failure.message.strip_prefix("name '")?.split('\'').next()?;
    let new = entry.members.get(missing).filter(|_| failure.class.ends_with("NameError"))?;
    let mut change = Change::default();
    for site in sites.names.iter().filter(|site| site.id == missing) {
        let text = named(new, sites, &mut change.imports)?;
        change.replace(site.range(), text);
    }
    (!shadowed(new, sites)).then_some(change)
}

/// Whether a built-in's name means something else in the module.
fn shadowed(new: &str, sites: &Sites) -> bool {
    if new.contains('.') {
        return false;
    }
    let module = sites.source.text();
    [format!("def {new}("), format!("class {new}"), format!("\n{new} ="), format!(" {new} =")]
        .iter()
        .any(|text| module.contains(text.as_str()))
        || sites.imports.contains_key(new)
}

/// The text by which a dotted name can be read in the function, and the import that it needs.
pub(super) fn named(new: &str, sites: &Sites, imports: &mut Vec<String>) -> Option<String> {
    if let Some(rest) = new.strip_prefix('-') {
        return Some(format!("(-{})", named(rest, sites, imports)?));
    }
    let Some((module, last)) = new.rsplit_once('.') else { return Some(new.to_owned()) };
    if matches!(module, "str" | "dict") || module.chars().all(|letter| letter.is_ascii_digit()) {
        return Some(new.to_owned());
    }
    if let Some((alias, _)) = sites.imports.iter().filter(|(_, dotted)| *dotted == new).min() {
        return Some(alias.clone());
    }
    if let Some((alias, _)) = sites.imports.iter().filter(|(_, dotted)| *dotted == module).min() {
        let submodule = module.contains('.');
        if !submodule || alias.as_str() != module {
            return Some(format!("{alias}.{last}"));
        }
    }
    let (line, text) = if has_word(sites.source.text(), last) && !only_as_attribute(sites, last) {
        let alias = format!("{}_{last}", module.rsplit('.').next().unwrap_or(module)).to_lowercase();
        (format!("from {module} import {last} as {alias}"), alias)
    } else {
        (format!("from {module} import {last}"), last.to_owned())
    };
    if !imports.contains(&line) {
        imports.push(line);
    }
    Some(text)
}

/// Whether a word stands in the module only behind a dot.
fn only_as_attribute(sites: &Sites, word: &str) -> bool {
    let text = sites.source.text();
    text.match_indices(word).all(|(at, _)| {
        let inside = |letter: char| letter.is_alphanumeric() || letter == '_';
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|text| text.chars().next());
        before == Some('.') || before.is_some_and(inside) || after.is_some_and(inside)
    })
}

/// The text by which a module can be read, and the import that it needs.
fn module(name: &str, sites: &Sites, imports: &mut Vec<String>) -> String {
    if let Some((alias, _)) = sites.imports.iter().filter(|(_, dotted)| *dotted == name).min() {
        return alias.clone();
    }
    let alias = match name {
        "pandas" => "pd",
        "numpy" => "np",
        other => other,
    };
    let line = if alias == name { format!("import {name}") } else { format!("import {name} as {alias}") };
    if !imports.contains(&line) {
        imports.push(line);
    }
    alias.to_owned()
}

/// A template with everything filled in.
pub(super) fn filled(
    template: &str,
    sites: &Sites,
    imports: &mut Vec<String>,
    call: Option<&ExprCall>,
    receiver: Option<&Expr>,
) -> Option<String> {
    let mut text = template.to_owned();
    while let Some(at) = text.find("{module:") {
        let end = at + text.get(at..)?.find('}')?;
        let name = text.get(at + 8..end)?.to_owned();
        let read = module(&name, sites, imports);
        text.replace_range(at..=end, &read);
    }
    if let Some(receiver) = receiver {
        text = text.replace("{self}", sites.text(receiver));
    }
    if let Some(call) = call {
        let range = call.arguments.range();
        let inner = sites.source.text().get(range.start().to_usize() + 1..range.end().to_usize() - 1)?.trim();
        text = text.replace("{args}", inner);
        text = text.replace("{rest_all}", &if inner.is_empty() { String::new() } else { format!(", {inner}") });
        for (at, argument) in call.arguments.args.iter().enumerate() {
            text = text.replace(&format!("{{{at}}}"), sites.text(argument));
        }
        text = text.replace("{call}", sites.text(call));
    }
    (!text.contains("{0}") && !text.contains("{1}")).then_some(text)
}

pub(super) fn is_simple(expr: &Expr) -> bool {
    match expr {
        Expr::Name(_) => true,
        Expr::Attribute(attribute) => is_simple(&attribute.value),
        Expr::Subscript(subscript) => {
            is_simple(&subscript.value)
                && matches!(&*subscript.slice, Expr::StringLiteral(_) | Expr::NumberLiteral(_) | Expr::Name(_))
        }
        _ => false,
    }
}

/// Whether a call is of one of the entry's functions or methods.
pub(super) fn is_of(entry: &Entry, sites: &Sites, call: &ExprCall) -> bool {
    let dotted = sites.dotted(&call.func);
    if dotted.is_some_and(|name| entry.functions.contains(&name)) {
        return true;
    }
    matches!(&*call.func, Expr::Attribute(attribute) if entry.methods.iter().any(|name| *name == attribute.attr.as_str()))
}

pub(super) fn has_stars(call: &ExprCall) -> bool {
    call.arguments.args.iter().any(|argument| matches!(argument, Expr::Starred(_)))
        || call.arguments.keywords.iter().any(|keyword| keyword.arg.is_none())
}

/// A call that becomes another expression.
fn call(entry: &Entry, sites: &Sites, failure: &Failure) -> Option<Change> {
    if entry.message.is_empty() {
        let (module, name) = missing_member(failure)?;
        entry.functions.contains(&format!("{module}.{name}")).then_some(())?;
    } else {
        failure.message.contains(&entry.message).then_some(())?;
    }
    if sites.attributes.iter().any(|attribute| entry.unless_read.iter().any(|name| *name == attribute.attr.as_str())) {
        return None;
    }
    let mut change = Change::default();
    for call in sites.calls.iter().filter(|call| is_of(entry, sites, call)) {
        let given = call.arguments.args.len();
        if !call.arguments.keywords.is_empty()
            || entry.arguments.is_some_and(|wanted| wanted != given)
            || has_stars(call)
        {
            return None;
        }
        if entry.simple && !call.arguments.args.first().is_some_and(is_simple) {
            return None;
        }
        let unpacked = matches!(sites.statement(call.range()), Some(Stmt::Assign(assign)) if assign.value.range() == call.range() && matches!(assign.targets.first(), Some(Expr::Tuple(_))));
        let template = if unpacked && !entry.unpacked.is_empty() { &entry.unpacked } else { &entry.template };
        let text = filled(template, sites, &mut change.imports, Some(call), None)?;
        change.replace(call.range(), text);
    }
    Some(change)
}

/// A method or attribute of a class.
fn method(entry: &Entry, sites: &Sites, failure: &Failure, called: bool) -> Option<Change> {
    let (class, name) = missing_attribute(failure).filter(|_| is_attribute_error(failure))?;
    let short = class.rsplit('.').next().unwrap_or(&class);
    if name != entry.method
        || !entry.classes.iter().any(|known| known == &class || known.rsplit('.').next() == Some(short))
    {
        return None;
    }
    let mut change = Change::default();
    if called {
        let all: Vec<&&ExprCall> = sites
            .calls
            .iter()
            .filter(|call| matches!(&*call.func, Expr::Attribute(attribute) if attribute.attr.as_str() == name))
            .collect();
        let receivers = same_receivers(sites, &all.iter().filter_map(|call| receiver(call)).collect::<Vec<_>>())?;
        for call in all {
            let Some(from) = receiver(call) else { continue };
            if !receivers.contains(&sites.text(from)) {
                continue;
            }
            let wrong = entry
                .arguments
                .is_some_and(|wanted| wanted != call.arguments.args.len() || !call.arguments.keywords.is_empty());
            if wrong || has_stars(call) || (entry.simple && !is_simple(from)) {
                return None;
            }
            let text = filled(&entry.template, sites, &mut change.imports, Some(call), Some(from))?;
            change.replace(call.range(), text);
        }
        return Some(change);
    }
    let all: Vec<_> = sites.attributes.iter().filter(|attribute| attribute.attr.as_str() == name).collect();
    let receivers = same_receivers(sites, &all.iter().map(|attribute| &*attribute.value).collect::<Vec<_>>())?;
    for attribute in all.iter().filter(|attribute| receivers.contains(&sites.text(&*attribute.value))) {
        let text = filled(&entry.template, sites, &mut change.imports, None, Some(&attribute.value))?;
        change.replace(attribute.range(), text);
    }
    Some(change)
}

pub(super) fn receiver(call: &ExprCall) -> Option<&Expr> {
    match &*call.func {
        Expr::Attribute(attribute) => Some(&attribute.value),
        _ => None,
    }
}

/// The texts of the receivers on the failing line, when all are one; others in the function with the same text follow.
fn same_receivers<'a>(sites: &Sites<'a>, all: &[&Expr]) -> Option<Vec<&'a str>> {
    let mut texts: Vec<&str> =
        all.iter().filter(|from| sites.on_line(from.range())).map(|from| sites.text(*from)).collect();
    texts.dedup();
    match texts.as_slice() {
        [_] => Some(texts),
        _ => None,
    }
}

/// `frame.append(other, …)` becomes `pd.concat([frame, other], …)`.
fn append(entry: &Entry, sites: &Sites, failure: &Failure) -> Option<Change> {
    let (class, name) = missing_attribute(failure).filter(|_| is_attribute_error(failure))?;
    let short = class.rsplit('.').next().unwrap_or(&class).to_owned();
    if name != entry.method || !entry.classes.contains(&short) {
        return None;
    }
    let locals = failure
        .frames
        .iter()
        .rev()
        .find(|frame| frame.line > 0)
        .map(|frame| frame.locals.as_slice())
        .unwrap_or_default();
    let mut change = Change::default();
    let candidates: Vec<&&ExprCall> = sites
        .calls
        .iter()
        .filter(|call| {
            sites.on_line(call.range())
                && matches!(&*call.func, Expr::Attribute(attribute) if attribute.attr.as_str() == name)
        })
        .filter(|call| receiver(call).is_some_and(|from| !is_list(sites.text(from), locals)))
        .collect();
    let [only] = candidates.as_slice() else { return None };
    let from = receiver(only)?;
    let other = only.arguments.args.first()?;
    let allowed = ["ignore_index", "verify_integrity", "sort"];
    let known = only
        .arguments
        .keywords
        .iter()
        .all(|keyword| keyword.arg.as_ref().is_some_and(|name| allowed.contains(&name.as_str())));
    if only.arguments.args.len() != 1 || !known {
        return None;
    }
    let pandas = module("pandas", sites, &mut change.imports);
    let part = part(
        sites,
        other,
        &short,
        locals,
        &pandas,
        &only.arguments.keywords.iter().any(|keyword| sites.text(keyword).replace(' ', "") == "ignore_index=True"),
    )?;
    let keywords: String = only.arguments.keywords.iter().map(|keyword| format!(", {}", sites.text(keyword))).collect();
    change.replace(only.range(), format!("{pandas}.concat([{}, {part}]{keywords})", sites.text(from)));
    Some(change)
}

fn is_list(text: &str, locals: &[(String, Value)]) -> bool {
    locals.iter().any(|(name, value)| name == text && matches!(value, Value::List(_)))
}

/// The text of what is appended, as a part of the list that concat takes.
fn part(
    sites: &Sites,
    other: &Expr,
    class: &str,
    locals: &[(String, Value)],
    pandas: &str,
    ignore_index: &bool,
) -> Option<String> {
    let text = sites.text(other);
    let made = match other {
        Expr::Call(call) => Some(call),
        Expr::Name(name) => assigned_call(sites, name.id.as_str()),
        _ => None,
    };
    if let Some(call) = made {
        let maker = sites.dotted(&call.func).unwrap_or_default();
        let frame = maker == "pandas.DataFrame"
            || maker.starts_with("pandas.read_")
            || maker == "pandas.concat"
            || maker == "pandas.json_normalize";
        if (class == "DataFrame" && frame) || (class == "Series" && maker == "pandas.Series") {
            return Some(text.to_owned());
        }
    }
    if let Expr::List(list) = other {
        let frames = list.elts.iter().all(
            |item| matches!(item, Expr::Call(call) if sites.dotted(&call.func).as_deref() == Some("pandas.DataFrame")),
        );
        if frames && !list.elts.is_empty() {
            return Some(format!("*{text}"));
        }
    }
    let local = match other {
        Expr::Name(name) => locals.iter().find(|(known, _)| *known == name.id.as_str()).map(|(_, value)| value),
        _ => None,
    };
    if class == "DataFrame" && *ignore_index && (matches!(other, Expr::Dict(_)) || matches!(local, Some(Value::Map(_))))
    {
        return Some(format!("{pandas}.DataFrame([{text}])"));
    }
    match local {
        Some(Value::Table(table)) if class == "DataFrame" && table.columns.len() > 1 => Some(text.to_owned()),
        Some(Value::Table(table)) if class == "Series" && table.columns.len() == 1 => Some(text.to_owned()),
        _ => None,
    }
}

/// The call that a name was last assigned, if it is assigned once.
fn assigned_call<'a>(sites: &Sites<'a>, name: &str) -> Option<&'a ExprCall> {
    let mut found = sites.statements.iter().filter_map(|statement| match statement {
        Stmt::Assign(assign) if matches!(assign.targets.as_slice(), [Expr::Name(target)] if target.id == name) => {
            Some(&*assign.value)
        }
        _ => None,
    });
    match (found.next(), found.next()) {
        (Some(Expr::Call(call)), None) => Some(call),
        _ => None,
    }
}
