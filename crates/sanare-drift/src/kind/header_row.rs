//! Lines stand above the header, or other lines than before: the table begins at the row that holds its names.

use sanare_core::outcome::Reason;
use sanare_source::ast::Expr;
use sanare_source::size::Ranged;

use crate::code::table_reader::{Form, Step};
use crate::code::write::Writer;
use crate::code::{argument, dotted, keyword};
use crate::engine::refused;
use crate::kind::{Layers, Subject};
use crate::problem::Answer;
use crate::table::{Tables, View};

/// Answers when the names stand in another row than the one that the code takes for the header.
pub fn answer(subject: &Subject) -> Option<Answer> {
    let tables = subject.tables();
    let (at, reader, view) = tables.first()?;
    if tables.code.has("from_header") || tables.code.has("rows_above_header") || !view.found {
        return None;
    }
    let declared = match view.declared_header {
        Some(declared) => declared,
        None if subject.problem.failure.class.ends_with("StopIteration") => usize::MAX,
        None => return None,
    };
    if declared == view.header_row {
        return None;
    }
    if view.header_rivals {
        return Some(refused(Reason::Ambiguous, "more than one row could be the header"));
    }
    let sets = match header_names(tables, at, view) {
        Ok(sets) if sets.iter().all(|set| !set.is_empty()) => sets,
        Ok(_) => return None,
        Err(refusal) => return Some(Answer::Refused(refusal)),
    };
    let source = match reader.form {
        Form::Dict | Form::Rows => in_lines(tables, at, view, &sets),
        Form::Sheet => in_rows(tables, at, &sets),
        Form::Frame => in_frame(tables, at, &sets),
        Form::Excel => in_excel(tables, at, &sets),
        Form::Cells => None,
    };
    let summary = match view.header_row {
        0 => "no line stands above the header any more".to_owned(),
        1 => "a line now stands above the header".to_owned(),
        count => format!("{count} lines now stand above the header"),
    };
    let evidence = vec![format!(
        "row {} holds {}",
        view.header_row + 1,
        sets.last().map(|set| set.join(", ")).unwrap_or_default()
    )];
    Some(Layers::structural("header_row", source, summary, evidence))
}

/// Names that tell the header: those that the code expects, and what they are called now if that differs.
pub fn header_names(tables: &Tables, at: usize, view: &View) -> Result<Vec<Vec<String>>, crate::problem::Refusal> {
    let mappings = tables.map(at, view)?;
    let expected = tables.expected(at, view.remembered);
    let mut old: Vec<String> = expected.iter().filter(|field| field.needed).map(|field| field.name.clone()).collect();
    for field in expected.iter().filter(|field| !field.needed && view.place(&field.name).is_some()) {
        if old.len() >= 3 {
            break;
        }
        old.push(field.name.clone());
    }
    old.truncate(6);
    let seen = |name: &String| {
        mappings.iter().find(|one| one.expected == *name).map_or_else(|| name.clone(), |one| one.seen.clone())
    };
    let new: Vec<String> = old.iter().map(seen).collect();
    Ok(if new == old { vec![old] } else { vec![old, new] })
}

/// The condition that a row of cells is the header.
pub fn condition(writer: &Writer, sets: &[Vec<String>], cells: &str) -> (String, String) {
    let set = |names: &Vec<String>| {
        format!("{{{}}}", names.iter().map(|name| writer.quote(name)).collect::<Vec<_>>().join(", "))
    };
    match sets {
        [only] => (format!("names = {}", set(only)), format!("names <= set({cells})")),
        _ => {
            let all: Vec<String> = sets.iter().map(set).collect();
            (format!("headers = ({})", all.join(", ")), format!("any(names <= set({cells}) for names in headers)"))
        }
    }
}

fn in_lines(tables: &Tables, at: usize, view: &View, sets: &[Vec<String>]) -> Option<String> {
    let reader = tables.readers.get(at)?;
    let call = reader.call?;
    let input = reader.input.as_ref()?;
    let mut writer = Writer::new(&tables.code);
    let first = call.arguments.find_positional(0)?;
    let module = dotted(&call.func)?;
    let import = if module.starts_with("csv.") { "" } else { "    import csv\n\n" };
    let delimiter = if view.delimiter == ',' {
        String::new()
    } else {
        format!(", delimiter={}", writer.quote(&view.delimiter.to_string()))
    };
    let (names, condition) = condition(&writer, sets, &format!("next(csv.reader([line]{delimiter}), [])"));
    let (comment, otherwise) = match input.steps.iter().find_map(|step| match step {
        Step::Slice(slice) => Some(*slice),
        _ => None,
    }) {
        None if input.skipped == Some(0) && input.dropped.is_some() => {
            writer.wrap(first, "from_header", &[]);
            ("# lines may stand above the header; the table begins where its names do", "lines".to_owned())
        }
        Some(Expr::Subscript(slice)) if input.skipped == Some(0) => {
            let bounds = slice.slice.as_slice_expr()?;
            let lower = bounds.lower.as_deref()?;
            if bounds.upper.is_some() || bounds.step.is_some() {
                return None;
            }
            let (lines, start) = (tables.code.text(&*slice.value), tables.code.text(lower));
            if crate::code::int_of(lower).is_some() {
                writer.replace(slice.range(), format!("from_header({lines})"));
                (
                    "# the number of lines above the header varies; the table begins where its names do",
                    format!("lines[{start}:]"),
                )
            } else {
                // The code searches for the header by itself: the place where it found it is replaced.
                return found_by_search(tables, lower, lines, sets, &delimiter, import);
            }
        }
        _ => return None,
    };
    let found = match tables.rows_skipped(reader)? {
        0 => "lines[number:]".to_owned(),
        kept => format!("[\"\"] * ({kept} - number) + lines[max(0, number - {kept}):]"),
    };
    writer.helper(&format!(
        "def from_header(lines):\n    {comment}\n{import}    {names}\n    lines = list(lines)\n    \
         for number, line in enumerate(lines):\n        if number < 50 and {condition}:\n            return {found}\n    return {otherwise}"
    ));
    writer.finish()
}

/// `start = next(i for i, line in enumerate(lines) if line.startswith("Timestamp,"))`: the rule is put right.
fn found_by_search(
    tables: &Tables,
    lower: &Expr,
    lines: &str,
    sets: &[Vec<String>],
    delimiter: &str,
    import: &str,
) -> Option<String> {
    let mut writer = Writer::new(&tables.code);
    let crate::code::Binding::Assigned(search) = binding(tables, lower)? else { return None };
    let call = search.as_call_expr()?;
    let generator = call.arguments.find_positional(0).and_then(Expr::as_generator_expr)?;
    if crate::code::called(call).0 != "next" || call.arguments.len() != 1 || generator.generators.len() != 1 {
        return None;
    }
    let (names, condition) = condition(&writer, sets, &format!("next(csv.reader([line]{delimiter}), [])"));
    writer.replace(search.range(), format!("from_header({lines})"));
    writer.helper(&format!(
        "def from_header(lines):\n    # the first name of the header is another one now; the line that holds the needed names is the header\n{import}    {names}\n    \
         return next(number for number, line in enumerate(lines) if {condition})"
    ));
    writer.finish()
}

fn binding<'a>(tables: &Tables<'a>, lower: &Expr) -> Option<crate::code::Binding<'a>> {
    let same = tables.code.tree.exprs().map(|(_, expr)| expr).find(|expr| std::ptr::eq(*expr, lower))?;
    tables.code.binding(same)
}

fn in_rows(tables: &Tables, at: usize, sets: &[Vec<String>]) -> Option<String> {
    let reader = tables.readers.get(at)?;
    if reader.call.is_some_and(|call| argument(call, "min_row", 0).is_some()) || tables.rows_skipped(reader)? > 0 {
        return None;
    }
    let mut writer = Writer::new(&tables.code);
    let (names, condition) = condition(&writer, sets, "row");
    writer.wrap(reader.whole, "from_header", &[]);
    writer.helper(&format!(
        "def from_header(rows):\n    # rows may stand above the header; the table begins where its names do\n    {names}\n    \
         rows = list(rows)\n    start = next((number for number, row in enumerate(rows) if number < 50 and {condition}), 0)\n    yield from rows[start:]"
    ));
    writer.finish()
}

fn in_frame(tables: &Tables, at: usize, sets: &[Vec<String>]) -> Option<String> {
    let reader = tables.readers.get(at)?;
    let call = reader.call?;
    let path = argument(call, "filepath_or_buffer", 0)?;
    if path.as_name_expr().is_none() || reader.input.as_ref()?.steps.iter().any(|step| !matches!(step, Step::Helper(_)))
    {
        return None;
    }
    let mut writer = Writer::new(&tables.code);
    let encoding = keyword(call, "encoding").map_or_else(
        || ", encoding=\"utf-8\"".to_owned(),
        |encoding| format!(", encoding={}", tables.code.text(encoding)),
    );
    let separator = keyword(call, "sep")
        .or(keyword(call, "delimiter"))
        .map_or(String::new(), |sep| format!(", delimiter={}", tables.code.text(sep)));
    let (names, condition) = condition(&writer, sets, "row");
    let otherwise = keyword(call, "skiprows").or(keyword(call, "header")).map_or("0", |rows| tables.code.text(rows));
    writer.helper(&format!(
        "def rows_above_header(path):\n    # lines may stand above the header; the table begins where its names do\n    import csv\n\n    {names}\n    \
         with open(path, newline=\"\"{encoding}) as handle:\n        for number, row in enumerate(csv.reader(handle{separator})):\n            \
         if {condition}:\n                return number\n    return {otherwise}"
    ));
    if let Some(header) = keyword(call, "header") {
        // Counted from the first line that is not skipped, which is the header itself now.
        if keyword(call, "names").is_some() || header.is_none_literal_expr() {
            return None;
        }
        writer.replace(header, "0");
    }
    let value = format!("rows_above_header({})", tables.code.text(path));
    put(&mut writer, call, "skiprows", &value)?;
    writer.finish()
}

fn in_excel(tables: &Tables, at: usize, sets: &[Vec<String>]) -> Option<String> {
    let reader = tables.readers.get(at)?;
    let call = reader.call?;
    let path = argument(call, "io", 0)?;
    if keyword(call, "header").is_some() {
        return None;
    }
    let module = dotted(&call.func)?;
    let mut writer = Writer::new(&tables.code);
    let sheet = argument(call, "sheet_name", 1)
        .map_or(String::new(), |sheet| format!(", sheet_name={}", tables.code.text(sheet)));
    let (names, condition) = condition(&writer, sets, "row");
    let otherwise = keyword(call, "skiprows").map_or("0", |rows| tables.code.text(rows));
    writer.helper(&format!(
        "def rows_above_header(path):\n    # rows may stand above the header; the table begins where its names do\n    {names}\n    \
         head = {module}(path{sheet}, header=None, nrows=50)\n    for number, row in enumerate(head.itertuples(index=False)):\n        \
         if {condition}:\n            return number\n    return {otherwise}"
    ));
    let value = format!("rows_above_header({})", tables.code.text(path));
    put(&mut writer, call, "skiprows", &value)?;
    writer.finish()
}

/// Sets a keyword of a call.
pub fn put(writer: &mut Writer, call: &sanare_source::ast::ExprCall, name: &str, value: &str) -> Option<()> {
    match keyword(call, name) {
        Some(existing) => writer.replace(existing, value),
        None => {
            let last = call.arguments.iter_source_order().last()?;
            writer.insert(last.value().end().to_usize(), format!(", {name}={value}"));
        }
    }
    Some(())
}
