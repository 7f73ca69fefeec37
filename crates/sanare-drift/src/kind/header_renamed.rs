//! Columns whose names changed: other spelling, another word, another language. The expected name and its alias are
//! both read; without either the code raises what it raised before.

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
    if ["with_known_names", "column_names"].iter().any(|helper| tables.code.has(helper)) {
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
    let source = if reader.form == Form::Cells {
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

/// Whether every read of the renamed columns is a plain subscript in the target.
fn only_subscripts(tables: &Tables, at: usize, mappings: &[Mapping]) -> bool {
    let renamed =
        |read: &&Read| matches!(&read.key, Key::Name(name) if mappings.iter().any(|one| one.expected == *name));
    let mut reads = tables.reads.all.iter().filter(|read| read.reader == at).filter(renamed).peekable();
    reads.peek().is_some() && reads.all(|read| read.via == Via::Subscript && read.literal.is_some())
}

/// `row["amount"]` becomes `field(row, "amount", "osszeg")`.
fn in_reads(tables: &Tables, at: usize, mappings: &[Mapping]) -> Option<String> {
    let mut writer = Writer::new(&tables.code);
    for mapping in mappings {
        for read in tables.reads.of(at, &Key::Name(mapping.expected.clone())) {
            let (subscript, literal) = (read.expr.as_subscript_expr()?, read.literal?);
            let row = tables.code.text(&*subscript.value);
            let name = tables.code.text(literal);
            let alias = crate::code::write::quoted(&mapping.seen, name.starts_with('\''));
            writer.replace(read.expr, format!("field({row}, {name}, {alias})"));
        }
    }
    writer.helper(&format!(
        "def field(row, name, alias):\n    # {}; the old name is tried first\n    for key in (name, alias):\n        \
         if key in row:\n            return row[key]\n    raise KeyError(f\"neither {{name!r}} nor {{alias!r}} in {{list(row)}}\")",
        renames(mappings)
    ));
    writer.finish()
}

/// The reader's header gets the known names, so that everything that reads by name goes on as before.
fn in_header(tables: &Tables, at: usize, mappings: &[Mapping]) -> Option<String> {
    let reader = tables.readers.get(at)?;
    let mut writer = Writer::new(&tables.code);
    let names = aliases(&writer, mappings);
    let comment = format!("# {}; a column that has its old name keeps it", renames(mappings));
    let whole = if reader.form == Form::Dict { reader.whole } else { outermost(tables, reader.whole) };
    writer.wrap(whole, "with_known_names", &[]);
    if reader.form == Form::Dict {
        writer.helper(&format!(
            "def with_known_names(reader):\n    {comment}\n    known = {names}\n    there = reader.fieldnames or []\n    \
             reader.fieldnames = [\n        known[name] if name in known and known[name] not in there else name for name in there\n    ]\n    \
             return reader"
        ));
    } else {
        writer.helper(&format!(
            "def with_known_names(rows):\n    {comment}\n    known = {names}\n    for number, row in enumerate(rows):\n        \
             if number == 0:\n            row = [known[name] if name in known and known[name] not in row else name for name in row]\n        \
             yield row"
        ));
    }
    writer.finish()
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
    let names = aliases(&writer, mappings);
    writer.helper(&format!(
        "def with_known_names(places):\n    # {}; a column that has its old name keeps it\n    known = {names}\n    \
         return {{known[name] if name in known and known[name] not in places else name: at for name, at in places.items()}}",
        renames(mappings)
    ));
    writer.finish()
}

/// The frame's columns get the known names; names that the reader itself uses are put in its place.
fn in_frame(tables: &Tables, at: usize, mappings: &[Mapping]) -> Option<String> {
    let reader = tables.readers.get(at)?;
    let call = reader.call?;
    let mut writer = Writer::new(&tables.code);
    let names = aliases(&writer, mappings);
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
            "def column_names({path}):\n    # {}; a column that has its old name keeps it\n    known = {names}\n    \
             there = list({module}({path}, nrows=0{kept}).columns)\n    \
             return [known[name] if name in known and known[name] not in there else name for name in there]",
            renames(mappings)
        ));
        let last = call.arguments.iter_source_order().last()?;
        writer.after(last.value(), format!(", header=0, names=column_names({path})"));
    } else {
        writer.wrap(reader.whole, "with_known_names", &[]);
        writer.helper(&format!(
            "def with_known_names(frame):\n    # {}; a column that has its old name keeps it\n    known = {names}\n    \
             return frame.rename(columns={{new: old for new, old in known.items() if old not in frame.columns}})",
            renames(mappings)
        ));
    }
    writer.finish()
}

fn aliases(writer: &Writer, mappings: &[Mapping]) -> String {
    let pairs: Vec<String> =
        mappings.iter().map(|one| format!("{}: {}", writer.quote(&one.seen), writer.quote(&one.expected))).collect();
    format!("{{{}}}", pairs.join(", "))
}

fn renames(mappings: &[Mapping]) -> String {
    let pairs: Vec<String> = mappings
        .iter()
        .enumerate()
        .map(|(at, one)| {
            let verb = if at == 0 { " was renamed to " } else { " to " };
            format!("{}{verb}{}", plain(&one.expected), plain(&one.seen))
        })
        .collect();
    pairs.join(", ")
}

/// A name inside a comment: one line, nothing hidden.
fn plain(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control() && *letter != '\u{feff}').collect::<String>().trim().to_owned()
}
