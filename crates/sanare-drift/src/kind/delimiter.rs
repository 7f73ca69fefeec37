//! Another character stands between the fields: the one under which the expected names appear.

use sanare_core::outcome::Reason;
use sanare_source::ast::Expr;
use sanare_source::size::Ranged;

use crate::code::table_reader::{Form, Step};
use crate::code::write::Writer;
use crate::code::{argument, dotted, keyword};
use crate::engine::refused;
use crate::kind::header_row::{condition, header_names};
use crate::kind::{Layers, Subject};
use crate::problem::Answer;
use crate::table::Tables;

/// Answers when the names appear under another delimiter only.
pub fn answer(subject: &Subject) -> Option<Answer> {
    let tables = subject.tables();
    let (at, reader, view) = tables.first()?;
    if !reader.form.is_text()
        || tables.code.has("delimiter_of")
        || !view.found
        || view.delimiter == view.declared_delimiter
    {
        return None;
    }
    let (declared, seen) = (view.declared_delimiter, view.delimiter);
    if !view.rival_delimiters.is_empty() {
        return Some(refused(Reason::Ambiguous, "the names appear under more than one delimiter"));
    }
    let inside = |letter: char, names: &mut dyn Iterator<Item = &str>| {
        names.map(|name| name.matches(letter).count()).sum::<usize>()
    };
    let new_commas = inside(declared, &mut view.header.iter().map(String::as_str));
    let new_seen = view.header.len().saturating_sub(1) + inside(seen, &mut view.header.iter().map(String::as_str));
    let remembered = view.remembered.map(|table| &table.columns);
    let old_wins = remembered.is_none_or(|columns| {
        inside(seen, &mut columns.iter().map(|(name, _)| name.as_str())) <= columns.len().saturating_sub(1)
    });
    if new_seen <= new_commas || !old_wins {
        return Some(refused(Reason::Ambiguous, "the header line does not settle the delimiter"));
    }
    let summary = format!("the fields are now separated by {}, not by {}", word(seen), word(declared));
    let evidence = vec![format!("the expected names appear in the header under {}", word(seen))];
    Some(Layers::structural("delimiter", edit(tables, at, declared, seen), summary, evidence))
}

fn edit(tables: &Tables, at: usize, declared: char, seen: char) -> Option<String> {
    let reader = tables.readers.get(at)?;
    let view = tables.views.get(at)?.as_ref()?;
    let input = reader.input.as_ref()?;
    let call = reader.call?;
    let mut writer = Writer::new(&tables.code);
    if view.header_row > 0 && view.declared_header != Some(view.header_row) && !tables.code.has("from_header") {
        return below_titles(tables, at, declared, seen);
    }
    let first = call.arguments.find_positional(0)?;
    let (parameter, given, line) = if reader.form == Form::Frame {
        let encoding = keyword(call, "encoding").map_or_else(
            || ", encoding=\"utf-8\"".to_owned(),
            |encoding| format!(", encoding={}", tables.code.text(encoding)),
        );
        (
            "path",
            tables.code.text(first),
            vec![format!("with open(path{encoding}) as handle:"), "    line = handle.readline()".into()],
        )
    } else if input.open().is_some()
        && first.as_name_expr().is_some()
        && input.skipped == Some(0)
        && !input.steps.iter().any(|step| matches!(step, Step::Split(_) | Step::Slice(_) | Step::Chosen(_)))
    {
        ("handle", tables.code.text(first), vec!["line = handle.readline()".into(), "handle.seek(0)".into()])
    } else if matches!(first, Expr::Name(_))
        && input.steps.iter().any(|step| matches!(step, Step::Split(_) | Step::Slice(_) | Step::Chosen(_)))
    {
        ("lines", tables.code.text(first), vec!["line = next(iter(lines), \"\")".into()])
    } else if input.open().is_none() && view.declared_header == Some(0) {
        ("text", input.argument, vec!["line = text.partition(\"\\n\")[0]".into()])
    } else {
        return None;
    };
    let mut helper = vec![
        format!("def delimiter_of({parameter}):"),
        format!("    # the fields may be separated by {} instead of {}; the header tells", word(seen), word(declared)),
    ];
    helper.extend(line.iter().map(|line| format!("    {line}")));
    let (new, old) = (
        crate::code::write::quoted(&seen.to_string(), false),
        crate::code::write::quoted(&declared.to_string(), false),
    );
    helper.push(format!("    return {new} if line.count({new}) > line.count({old}) else {old}"));
    writer.helper(&helper.join("\n"));
    put(tables, at, &mut writer, format!("delimiter_of({given})"))?;
    writer.finish()
}

/// Lines stand above the header, which alone tells the delimiter: the line that holds the names is looked for under both.
/// That the table begins there is the next layer.
fn below_titles(tables: &Tables, at: usize, declared: char, seen: char) -> Option<String> {
    let reader = tables.readers.get(at)?;
    let view = tables.views.get(at)?.as_ref()?;
    let input = reader.input.as_ref()?;
    let first = reader.call?.arguments.find_positional(0)?;
    if view.header_rivals {
        return None;
    }
    let sets = header_names(tables, at, view).ok().filter(|sets| sets.iter().all(|set| set.len() > 1))?;
    let chosen = input.steps.iter().any(|step| matches!(step, Step::Split(_) | Step::Slice(_) | Step::Chosen(_)));
    let (parameter, given, lines) = match () {
        () if reader.form == Form::Frame => return None,
        () if input.open().is_some() && first.is_name_expr() && input.skipped == Some(0) && !chosen => {
            ("handle", tables.code.text(first), "lines = [handle.readline() for _ in range(50)]\n    handle.seek(0)")
        }
        () if input.open().is_none() && view.declared_header == Some(0) && !chosen => {
            ("text", input.argument, "lines = text.splitlines()")
        }
        () => return None,
    };
    let mut writer = Writer::new(&tables.code);
    let (names, condition) = condition(&writer, &sets, "next(csv.reader([line], delimiter=delimiter), [])");
    let import = if dotted(&reader.call?.func)?.starts_with("csv.") { "" } else { "    import csv\n\n" };
    let quoted = |delimiter: char| writer.quote(&delimiter.to_string());
    let (new, old) = (quoted(seen), quoted(declared));
    writer.helper(&format!(
        "def delimiter_of({parameter}):\n    \
         # the fields may be separated by {} instead of {}; the line that holds the names tells\n{import}    {names}\n    {lines}\n    \
         for line in lines:\n        for delimiter in ({old}, {new}):\n            if {condition}:\n                return delimiter\n    \
         return {old}",
        word(seen),
        word(declared)
    ));
    put(tables, at, &mut writer, format!("delimiter_of({given})"))?;
    writer.finish()
}

/// Gives the reader its delimiter.
fn put(tables: &Tables, at: usize, writer: &mut Writer, value: String) -> Option<()> {
    let reader = tables.readers.get(at)?;
    let call = reader.call?;
    let existing = if reader.form == Form::Frame {
        keyword(call, "sep").or(argument(call, "delimiter", 1))
    } else {
        keyword(call, "delimiter")
    };
    match existing {
        Some(existing) => writer.replace(existing, value),
        None => {
            let last = call.arguments.iter_source_order().last()?;
            let name = if reader.form == Form::Frame { "sep" } else { "delimiter" };
            writer.insert(last.value().end().to_usize(), format!(", {name}={value}"));
        }
    }
    Some(())
}

fn word(delimiter: char) -> &'static str {
    match delimiter {
        ',' => "commas",
        ';' => "semicolons",
        '\t' => "tabs",
        '|' => "bars",
        _ => "another character",
    }
}
