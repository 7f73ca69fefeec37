//! Writing a record's fields that are now elsewhere: the old name first, then the new one, where they are read.

use sanare_source::size::TextRange;

use crate::code::object_path::{Step, spoken};
use crate::code::object_reads::{How, Place, Read};
use crate::code::object_view::View;
use crate::code::object_write::{Draft, bare, literal};

/// A key that is now elsewhere in the same record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The key that the code reads.
    pub key: String,
    /// Steps from the record to the mapping that holds it now; none when it is still in the record.
    pub steps: Vec<Step>,
    /// Its name there.
    pub name: String,
}

/// The module with these fields read at their new places too; `None` where a read cannot be rewritten.
pub fn written(view: &View, container: &Place, moves: &[Move], comment: &str) -> Option<String> {
    let steps = moves.first()?.steps.clone();
    if moves.iter().any(|moved| moved.steps != steps) {
        return None;
    }
    let mut draft = Draft::new(view.subject);
    let reads: Vec<(&Move, &Read)> = moves
        .iter()
        .flat_map(|moved| {
            view.keys_read(container).filter(|(key, _)| *key == moved.key).map(move |(_, read)| (moved, read))
        })
        .collect();
    let here: Vec<&(&Move, &Read)> =
        reads.iter().filter(|(_, read)| read.owner == 0 && read.how != How::Written).collect();
    let helper = Helper { steps: &steps, moves, comment, indirect: here.iter().any(|(_, read)| !read.literal) };
    for (moved, read) in here {
        let text = helper.read(view, &mut draft, moved, read)?;
        draft.replace(read.range, text);
    }
    let mut vias: Vec<usize> =
        reads.iter().filter(|(_, read)| read.owner > 0).filter_map(|(_, read)| read.via).collect();
    vias.sort_unstable();
    vias.dedup();
    if reads.iter().any(|(_, read)| read.owner > 0 && read.via.is_none()) {
        return None;
    }
    for via in vias {
        helper.boundary(view, &mut draft, container, via)?;
    }
    draft.finish()
}

struct Helper<'m> {
    steps: &'m [Step],
    moves: &'m [Move],
    comment: &'m str,
    /// Some key is not written out where it is read.
    indirect: bool,
}

impl Helper<'_> {
    fn read(&self, view: &View, draft: &mut Draft, moved: &Move, read: &Read) -> Option<String> {
        let base = draft.text(read.base);
        let (old, new) = (draft.quoted(&literal(&moved.key)), draft.quoted(&literal(&moved.name)));
        match &read.how {
            How::Subscript => {
                let name = self.name(draft);
                let key = if read.literal { old } else { key_text(view, read)?.to_owned() };
                Some(if self.given(read.literal) {
                    format!("{name}({base}, {key}, {new})")
                } else {
                    format!("{name}({base}, {key})")
                })
            }
            How::Get(default) if self.steps.is_empty() && read.literal => {
                let rest = default.map(|range| format!(", {}", draft.text(range))).unwrap_or_default();
                Some(format!("{base}.get({old}, {base}.get({new}{rest}))"))
            }
            How::Pop if self.steps.is_empty() && read.literal => {
                Some(format!("{base}.pop({old} if {old} in {base} else {new})"))
            }
            How::Contains if self.steps.is_empty() && read.literal => {
                let text = draft.text(read.range);
                let (op, join) = if text.contains("not in") { ("not in", "and") } else { ("in", "or") };
                Some(format!("({text} {join} {new} {op} {base})"))
            }
            _ => None,
        }
    }

    /// Whether the new name is passed at each read.
    fn given(&self, literal: bool) -> bool {
        literal && !self.indirect && (self.steps.is_empty() || self.renamed())
    }

    fn renamed(&self) -> bool {
        self.moves.iter().any(|moved| moved.key != moved.name)
    }

    fn name(&self, draft: &mut Draft) -> String {
        let given = self.given(true);
        let names = ["field", "read_field", "field_of", "get_field"];
        draft.helper(&names, self.comment, |name| self.lines(name, given))
    }

    fn lines(&self, name: &str, given: bool) -> Vec<String> {
        let mut lines = Vec::new();
        let parameters = if given { "record, name, alias" } else { "record, name" };
        lines.push(format!("def {name}({parameters}):"));
        let alias = if given {
            "alias"
        } else if self.renamed() {
            "aliases[name]"
        } else {
            "name"
        };
        if alias == "aliases[name]" {
            let pairs: Vec<String> =
                self.moves.iter().map(|moved| format!("{}: {}", literal(&moved.key), literal(&moved.name))).collect();
            lines.push("    if name in record:".into());
            lines.push("        return record[name]".into());
            lines.push(format!("    aliases = {{{}}}", pairs.join(", ")));
            let source = if self.steps.is_empty() { "record" } else { "inner" };
            if source == "inner" {
                lines.extend(inner(self.steps, "name"));
            }
            lines.push(format!("    if name in aliases and aliases[name] in {source}:"));
            lines.push(format!("        return {source}[aliases[name]]"));
            lines.push("    raise KeyError(f\"neither {name!r} nor its new name in {list(record)}\")".into());
            return lines;
        }
        if self.steps.is_empty() {
            lines.push("    for key in (name, alias):".into());
            lines.push("        if key in record:".into());
            lines.push("            return record[key]".into());
            lines.push("    raise KeyError(f\"neither {name!r} nor {alias!r} in {list(record)}\")".into());
            return lines;
        }
        lines.push("    if name in record:".into());
        lines.push("        return record[name]".into());
        lines.extend(inner(self.steps, "name"));
        lines.push(format!("    if {alias} not in inner:"));
        lines.push(format!(
            "        raise KeyError(f\"{{name!r}} is neither in {{list(record)}} nor in {}\")",
            bare(&spoken(self.steps))
        ));
        lines.push(format!("    return inner[{alias}]"));
        lines
    }

    /// The data is adapted before the call, since the function that reads it stays as it is.
    fn boundary(&self, view: &View, draft: &mut Draft, container: &Place, via: usize) -> Option<()> {
        let call = view.reading.calls.get(via)?;
        let (range, place) = call
            .arguments
            .iter()
            .filter(|(_, place)| place.holds(container))
            .max_by_key(|(_, place)| place.steps.len())?;
        let names = ["with_old_names", "as_before", "adapted", "old_form"];
        let name = draft.helper(&names, self.comment, |name| self.adapter(name));
        let argument = draft.text(*range);
        let text = rebuilt(argument, place.steps_to(container), &name, 0);
        draft.replace(*range, draft.quoted(&text));
        Some(())
    }

    fn adapter(&self, name: &str) -> Vec<String> {
        let mut lines = vec![format!("def {name}(record):")];
        if self.steps.is_empty() {
            let pairs: Vec<String> =
                self.moves.iter().map(|moved| format!("{}: {}", literal(&moved.key), literal(&moved.name))).collect();
            lines.push(format!("    names = {{{}}}", pairs.join(", ")));
            lines.push(
                "    found = {old: record[new] for old, new in names.items() if old not in record and new in record}"
                    .into(),
            );
            lines.push("    return {**record, **found}".into());
            return lines;
        }
        let known: Vec<String> = self.moves.iter().map(|moved| format!("{} in record", literal(&moved.key))).collect();
        lines.push(format!("    if {}:", known.join(" or ")));
        lines.push("        return record".into());
        lines.extend(inner(
            self.steps,
            &literal(&self.moves.first().map(|moved| moved.key.clone()).unwrap_or_default()),
        ));
        let pairs: Vec<String> = self
            .moves
            .iter()
            .map(|moved| format!("{}: inner[{}]", literal(&moved.key), literal(&moved.name)))
            .collect();
        lines.push(format!("    return {{**record, {}}}", pairs.join(", ")));
        lines
    }
}

/// Lines that set `inner` to the mapping at these steps below `record`.
fn inner(steps: &[Step], name: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut text = String::from("record");
    let mut walked: Vec<Step> = Vec::new();
    for step in steps {
        walked.push(step.clone());
        match step {
            Step::Key(key) => text.push_str(&format!("[{}]", literal(key))),
            _ => {
                lines.push(format!("    members = {text}"));
                lines.push("    if len(members) != 1:".into());
                let said = bare(&spoken(walked.get(..walked.len() - 1).unwrap_or_default()));
                let named = if name.starts_with('"') { bare(name.trim_matches('"')) } else { format!("{{{name}!r}}") };
                lines.push(format!("        raise KeyError(f\"{named} is looked for in {said}, which has {{len(members)}} members, not one\")"));
                text = "members[0]".into();
            }
        }
    }
    lines.push(format!("    inner = {text}"));
    lines
}

/// An expression whose record at these steps goes through a function.
fn rebuilt(text: &str, steps: &[Step], function: &str, depth: usize) -> String {
    let Some((first, rest)) = steps.split_first() else { return format!("{function}({text})") };
    match first {
        Step::Key(key) => {
            let key = literal(key);
            format!("{{**{text}, {key}: {}}}", rebuilt(&format!("{text}[{key}]"), rest, function, depth))
        }
        Step::Member | Step::Index(_) => {
            let names = ["record", "part", "piece", "member"];
            let name = names.get(depth).copied().unwrap_or("value");
            format!("[{} for {name} in {text}]", rebuilt(name, rest, function, depth + 1))
        }
        Step::Entry => {
            let names = ["value", "inner_value", "part_value"];
            let name = names.get(depth).copied().unwrap_or("entry");
            format!("{{key: {} for key, {name} in {text}.items()}}", rebuilt(name, rest, function, depth + 1))
        }
    }
}

/// The key's own text in a subscript whose key is no literal.
fn key_text<'v>(view: &'v View, read: &Read) -> Option<&'v str> {
    let range = TextRange::new(read.base.end(), read.range.end());
    view.text(range).trim().strip_prefix('[')?.strip_suffix(']').map(str::trim)
}
