//! Columns whose names changed: other spelling, another word, another language. The expected name and its alias are
//! both read; without either the code raises what it raised before.

use sanare_source::ast::Expr;

use crate::code::known::{self, Alias};
use crate::code::table_reader::Form;
use crate::code::table_reads::{Key, Read, Via};
use crate::code::write::Writer;
use crate::kind::rows::outermost;
use crate::kind::{Layers, Subject};
use crate::problem::{Answer, Mapping};
use crate::table::Tables;

/// Answers when a name that the code reads is not in the header.
pub fn answer(subject: &Subject) -> Option<Answer> {
    let tables = subject.tables();
    let (at, reader, view) = tables.first_of_any_form()?;
    if tables.code.has("column_names") {
        return None;
    }
    if tables.missing(subject.problem, at, view).is_empty() {
        return None;
    }
    let mappings = match tables.map(at, view) {
        Ok(mappings) if mappings.is_empty() => return None,
        Ok(mappings) => mappings,
        Err(refusal) => return Some(Answer::Refused(refusal)),
    };
    let source = if tables.code.has("with_known_names") {
        with_one_more(tables, &mappings)
    } else if reader.form == Form::Cells {
        in_places(tables, at, &mappings)
    } else if reader.form.is_frame() {
        in_frame(tables, at, &mappings)
    } else if reader.form == Form::Dict && only_subscripts(tables, at, &mappings) {
        in_reads(tables, at, &mappings)
    } else {
        in_header(tables, at, &mappings)
    };
    let changes: Vec<String> =
        mappings.iter().map(|one| format!("{} is now called {}", one.expected, one.seen)).collect();
    Some(Layers::mapped("header_renamed", source, mappings, changes.join(", ")))
}

/// The names that the helper of an earlier layer knows, and these.
fn with_one_more(tables: &Tables, mappings: &[Mapping]) -> Option<String> {
    let (helper, known) = (tables.code.helper("with_known_names")?, tables.code.known_names());
    // A name of then that means another column now: the helper cannot tell the two data apart.
    if mappings.iter().any(|new| known.iter().any(|(_, seen)| *seen == new.seen)) {
        return None;
    }
    let mut writer = Writer::new(&tables.code);
    let there = tables.code.text(helper);
    let is_form =
        |form: &&known::Form| known::is_text(there, &form("", &dictionary(&writer, &known), known::several(&known)));
    let form = known::FORMS.iter().find(is_form)?;
    let all: Vec<Alias> = known.into_iter().chain(mappings.iter().map(alias)).collect();
    let text = form(&keeping(&all), &dictionary(&writer, &all), known::several(&all));
    writer.rewrite(helper, &text);
    writer.finish()
}

/// Whether every read of the renamed columns is a plain subscript in the target, or one that has aliases already.
fn only_subscripts(tables: &Tables, at: usize, mappings: &[Mapping]) -> bool {
    let renamed =
        |read: &&Read| matches!(&read.key, Key::Name(name) if mappings.iter().any(|one| one.expected == *name));
    let mut reads = tables.reads.all.iter().filter(|read| read.reader == at).filter(renamed).peekable();
    let plain = |read: &Read| match read.via {
        Via::Subscript => true,
        Via::Helper => read.expr.as_call_expr().is_some_and(|call| crate::code::called(call).0 == "field"),
        _ => false,
    };
    reads.peek().is_some() && reads.all(|read| plain(read) && read.literal.is_some())
}

/// `row["amount"]` becomes `field(row, "amount", "osszeg")`, and that becomes `field(row, "amount", "osszeg", "betrag")`.
fn in_reads(tables: &Tables, at: usize, mappings: &[Mapping]) -> Option<String> {
    let mut writer = Writer::new(&tables.code);
    let mut all: Vec<Alias> = Vec::new();
    for read in tables.reads.all.iter().filter(|read| read.via == Via::Helper) {
        let call = read.expr.as_call_expr().filter(|call| crate::code::called(call).0 == "field");
        let Some((call, Key::Name(name))) = call.map(|call| (call, &read.key)) else { continue };
        for seen in call.arguments.args.iter().skip(2).filter_map(crate::code::text_of) {
            let alias = (name.clone(), seen.to_owned());
            if !all.contains(&alias) {
                all.push(alias);
            }
        }
    }
    all.extend(mappings.iter().map(alias));
    for mapping in mappings {
        for read in tables.reads.of(at, &Key::Name(mapping.expected.clone())) {
            let name = tables.code.text(read.literal?);
            let alias = crate::code::write::quoted(&mapping.seen, name.starts_with('\''));
            match read.expr {
                Expr::Call(call) => writer.after(call.arguments.args.last()?, format!(", {alias}")),
                other => {
                    let row = tables.code.text(&*other.as_subscript_expr()?.value);
                    writer.replace(read.expr, format!("field({row}, {name}, {alias})"));
                }
            }
        }
    }
    let comment = format!("{}; the old name is tried first", known::said(&all));
    match tables.code.helper("field") {
        None => writer.helper(&known::field("row", &comment, known::several(&all))),
        Some(helper) => {
            let parameter = helper.parameters.iter().next()?.name().to_string();
            let of_many = |several| known::is_text(tables.code.text(helper), &known::field(&parameter, "", several));
            if !of_many(true) && !of_many(false) {
                return None;
            }
            let several = of_many(true) || known::several(&all);
            writer.rewrite(helper, &known::field(&parameter, &comment, several));
        }
    }
    writer.finish()
}

/// The reader's header gets the known names, so that everything that reads by name goes on as before.
fn in_header(tables: &Tables, at: usize, mappings: &[Mapping]) -> Option<String> {
    let reader = tables.readers.get(at)?;
    let form = if reader.form == Form::Dict { known::of_reader } else { known::of_rows };
    let whole = if reader.form == Form::Dict { reader.whole } else { outermost(tables, reader.whole) };
    let mut writer = Writer::new(&tables.code);
    writer.wrap(whole, "with_known_names", &[]);
    let helper = first_helper(&writer, form, mappings);
    writer.helper(&helper);
    writer.finish()
}

fn first_helper(writer: &Writer, form: known::Form, mappings: &[Mapping]) -> String {
    let all: Vec<Alias> = mappings.iter().map(alias).collect();
    form(&keeping(&all), &dictionary(writer, &all), false)
}

fn alias(mapping: &Mapping) -> Alias {
    (mapping.expected.clone(), mapping.seen.clone())
}

fn keeping(aliases: &[Alias]) -> String {
    format!("{}; a column that has its old name keeps it", known::said(aliases))
}

fn dictionary(writer: &Writer, aliases: &[Alias]) -> String {
    let pairs: Vec<String> =
        aliases.iter().map(|(expected, seen)| format!("{}: {}", writer.quote(seen), writer.quote(expected))).collect();
    format!("{{{}}}", pairs.join(", "))
}

/// Where the code keeps the places of the names, they are kept by the known names.
fn in_places(tables: &Tables, at: usize, mappings: &[Mapping]) -> Option<String> {
    let mut writer = Writer::new(&tables.code);
    let mut places: Vec<&sanare_source::ast::Expr> = Vec::new();
    for read in tables.reads.all.iter().filter(|read| read.reader == at) {
        let whole = tables.code.places_by_name(&read.expr.as_subscript_expr()?.value)?;
        if !places.iter().any(|one| std::ptr::eq(*one, whole)) {
            places.push(whole);
        }
    }
    for whole in places {
        writer.wrap(whole, "with_known_names", &[]);
    }
    let helper = first_helper(&writer, known::of_places, mappings);
    writer.helper(&helper);
    writer.finish()
}

/// The frame's columns get the known names; names that the reader itself uses are put in its place.
fn in_frame(tables: &Tables, at: usize, mappings: &[Mapping]) -> Option<String> {
    let reader = tables.readers.get(at)?;
    let call = reader.call?;
    let mut writer = Writer::new(&tables.code);
    let all: Vec<Alias> = mappings.iter().map(alias).collect();
    let used_by_reader = mappings.iter().any(|mapping| {
        let reads = tables.reads.of(at, &Key::Name(mapping.expected.clone()));
        reads.into_iter().any(|read| {
            use sanare_source::size::Ranged;
            call.arguments.range().contains_range(read.expr.range())
                || call.arguments.keywords.iter().any(|keyword| keyword.value.range() == read.expr.range())
        })
    });
    if used_by_reader {
        let module = crate::code::dotted(&call.func)?;
        let path = call
            .arguments
            .find_argument_value("filepath_or_buffer", 0)
            .or(call.arguments.find_argument_value("io", 0))?;
        path.as_name_expr()?;
        if ["names", "header", "skiprows"].iter().any(|word| crate::code::keyword(call, word).is_some()) {
            return None;
        }
        let path = tables.code.text(path);
        let kept: String = call
            .arguments
            .keywords
            .iter()
            .filter(|keyword| {
                keyword.arg.as_ref().is_some_and(|name| {
                    matches!(
                        name.as_str(),
                        "sep" | "delimiter" | "encoding" | "sheet_name" | "quotechar" | "comment" | "engine"
                    )
                })
            })
            .map(|keyword| format!(", {}", tables.code.text(keyword)))
            .collect();
        writer.helper(&format!(
            "def column_names({path}):\n    # {}\n    known = {}\n    \
             there = list({module}({path}, nrows=0{kept}).columns)\n    \
             return [known[name] if name in known and known[name] not in there else name for name in there]",
            keeping(&all),
            dictionary(&writer, &all)
        ));
        let last = call.arguments.iter_source_order().last()?;
        writer.after(last.value(), format!(", header=0, names=column_names({path})"));
    } else {
        writer.wrap(reader.whole, "with_known_names", &[]);
        let helper = first_helper(&writer, known::of_frame, mappings);
        writer.helper(&helper);
    }
    writer.finish()
}
