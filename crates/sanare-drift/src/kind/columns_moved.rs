//! Columns read by place were moved, or others were put between them: each is found by its name in the header. Files
//! whose header has none of the names are read by place as before.

use std::collections::BTreeMap;

use sanare_core::outcome::Reason;
use sanare_source::ast::{Expr, Stmt};

use crate::code::table_reader::Form;
use crate::code::table_reads::{Key, Read};
use crate::code::write::Writer;
use crate::engine::refused;
use crate::kind::rows::wrap_rows;
use crate::kind::{Layers, Subject};
use crate::names;
use crate::problem::{Answer, Mapping, Tier};
use crate::table::{Tables, View};

/// Answers when a column that is read by place has another name there than before.
pub fn answer(subject: &Subject) -> Option<Answer> {
    let tables = subject.tables();
    let (at, reader, view) = tables.first()?;
    if !matches!(reader.form, Form::Rows | Form::Sheet) || tables.code.has("in_known_order") {
        return None;
    }
    let places = places(tables, at, view);
    if places.is_empty() {
        return None;
    }
    let known = match view.remembered {
        Some(table) if table.columns.iter().any(|(name, _)| !name.is_empty()) => remembered_names(view, &places)?,
        _ => named_by_variables(tables, at)?,
    };
    let mut moved = BTreeMap::new();
    let mappings = match targets(tables, at, view, &known) {
        Ok(mappings) => mappings,
        Err(answer) => return Some(answer),
    };
    for (place, name) in &known {
        let seen = mappings.iter().find(|one| one.expected == *name).map_or(name, |one| &one.seen);
        let now = view.place(seen)?;
        moved.insert(*place, (name.clone(), seen.clone(), now));
    }
    if moved.iter().all(|(place, (_, _, now))| place == now) {
        return None;
    }
    let source = edit(tables, at, view, &moved);
    let summary =
        format!("the columns {} stand in other places now", known.values().cloned().collect::<Vec<_>>().join(", "));
    let mut all: Vec<Mapping> = mappings;
    for name in known.values() {
        if !all.iter().any(|one| one.expected == *name) {
            all.push(Mapping {
                expected: name.clone(),
                seen: name.clone(),
                evidence: vec!["I3 the same name".into()],
                tier: Tier::A,
            });
        }
    }
    all.retain(|one| known.values().any(|name| *name == one.expected));
    Some(Layers::mapped("columns_moved", source, all, summary))
}

/// Places that the code reads, from the start.
fn places(tables: &Tables, at: usize, view: &View) -> Vec<usize> {
    let width = view.remembered.map_or(view.header.len(), |table| table.columns.len());
    let mut places: Vec<usize> = Vec::new();
    for read in tables.reads.all.iter().filter(|read| read.reader == at) {
        let Key::At(place) = read.key else { continue };
        let place = if place < 0 { i64::try_from(width).unwrap_or_default() + place } else { place };
        if let Ok(place) = usize::try_from(place)
            && !places.contains(&place)
        {
            places.push(place);
        }
    }
    places.sort_unstable();
    places
}

fn remembered_names(view: &View, places: &[usize]) -> Option<BTreeMap<usize, String>> {
    let columns = &view.remembered?.columns;
    let mut names = BTreeMap::new();
    for place in places {
        let name = &columns.get(*place)?.0;
        if name.trim().is_empty() || columns.iter().filter(|(other, _)| other == name).count() > 1 {
            return None;
        }
        names.insert(*place, name.clone());
    }
    Some(names)
}

/// Without a remembered header: the names of the variables that the fields are put into.
fn named_by_variables(tables: &Tables, at: usize) -> Option<BTreeMap<usize, String>> {
    let mut names = BTreeMap::new();
    for read in tables.reads.all.iter().filter(|read| read.reader == at) {
        let Key::At(place) = read.key else { continue };
        let place = usize::try_from(place).ok()?;
        names.insert(place, variable(tables, read)?);
    }
    Some(names)
}

fn variable(tables: &Tables, read: &Read) -> Option<String> {
    if let Some(name) = read.expr.as_name_expr() {
        return Some(name.id.to_string());
    }
    tables.code.tree.stmts().find_map(|(_, statement)| {
        let Stmt::Assign(assign) = statement else { return None };
        let target = assign.targets.first()?;
        match (target, &*assign.value) {
            (Expr::Name(name), value) if holds(value, read.expr) => Some(name.id.to_string()),
            (Expr::Tuple(targets), Expr::Tuple(values)) => {
                let place = values.elts.iter().position(|value| holds(value, read.expr))?;
                Some(targets.elts.get(place)?.as_name_expr()?.id.to_string())
            }
            _ => None,
        }
    })
}

fn holds(value: &Expr, read: &Expr) -> bool {
    use sanare_source::size::Ranged;
    value.range().contains_range(read.range())
}

/// What the known names are called now; nothing moved if the header has none of them.
fn targets(tables: &Tables, at: usize, view: &View, known: &BTreeMap<usize, String>) -> Result<Vec<Mapping>, Answer> {
    if view.header.iter().all(|name| name.trim().is_empty()) {
        return Err(refused(
            Reason::NoIdentity,
            "fields are read by place, and the file has no header that names them",
        ));
    }
    for name in known.values() {
        if view.header.iter().filter(|other| other == &name).count() > 1 {
            return Err(refused(Reason::Ambiguous, &format!("the header names `{name}` more than once")));
        }
    }
    if view.remembered.is_some() {
        return tables.map(at, view).map_err(Answer::Refused);
    }
    let mut mappings = Vec::new();
    for name in known.values() {
        let same: Vec<&String> = view.header.iter().filter(|seen| *seen == name || names::same(name, seen)).collect();
        match same.as_slice() {
            [one] => mappings.push(Mapping {
                expected: name.clone(),
                seen: (*one).clone(),
                evidence: vec!["I3 the variable's name".into()],
                tier: Tier::B,
            }),
            _ => {
                return Err(refused(
                    Reason::NoIdentity,
                    &format!("`{name}` is read by place, and no column of that name is in the header"),
                ));
            }
        }
    }
    Ok(mappings)
}

fn edit(tables: &Tables, at: usize, view: &View, moved: &BTreeMap<usize, (String, String, usize)>) -> Option<String> {
    let mut writer = Writer::new(&tables.code);
    let largest = *moved.keys().last()?;
    let width = view.remembered.map_or(largest + 1, |table| table.columns.len().max(largest + 1));
    let renamed = moved.values().any(|(name, seen, _)| name != seen);
    let known: Vec<String> = moved
        .iter()
        .map(|(place, (name, seen, _))| {
            let (name, seen) = (writer.quote(name), writer.quote(seen));
            if renamed { format!("{place}: ({name}, {seen})") } else { format!("{place}: {name}") }
        })
        .collect();
    wrap_rows(tables, at, &mut writer, "in_known_order", &[])?;
    let known = known.join(", ");
    let lookup = if renamed {
        "            places = {\n                place: row.index(name if name in row else alias)\n                for place, (name, alias) in known.items()\n                if name in row or alias in row\n            }"
    } else {
        "            places = {place: row.index(name) for place, name in known.items() if name in row}"
    };
    writer.helper(&format!(
        "def in_known_order(rows):\n    # columns were moved: each field is found by its name in the header and put where it used to be;\n    \
         # rows below a header without these names keep their order\n    known = {{{known}}}\n    places = {{}}\n    \
         for number, row in enumerate(rows):\n        row = list(row)\n        if number == 0:\n{lookup}\n            \
         if places and len(places) < len(known):\n                raise ValueError(f\"not all of {{list(known.values())}} are in {{row}}\")\n        \
         yield [row[places[at]] if at in places else None for at in range({width})] if places and row else row"
    ));
    writer.finish()
}
