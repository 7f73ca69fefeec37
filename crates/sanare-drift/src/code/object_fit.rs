//! Whether a value could stand where the function reads, and which values below another one could.

use sanare_core::value::Value;

use crate::code::object_path::Step;
use crate::code::object_reads::{Place, Usage};
use crate::code::object_view::View;
use crate::object_shape;
use crate::profile::Profile;
use crate::shape::ObjectShape;

/// How deep below a record a moved value is looked for.
const DEPTH: usize = 6;

/// A value below another one. [`Step::Index`] of 0 stands for the one member of a list of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Spot<'a> {
    /// Steps to it.
    pub steps: Vec<Step>,
    /// The value.
    pub value: &'a Value,
}

/// How well values fit a place: the names of keys that were found there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fit {
    /// Keys that are read there and are there, each once.
    pub keys: Vec<String>,
}

impl Fit {
    /// Names that say something about what the record is.
    pub fn telling(&self) -> usize {
        self.keys.iter().filter(|key| !is_general(key)).count()
    }
}

/// Every mapping and list below a value that single steps lead to, itself not included.
pub fn spots<'a>(value: &'a Value) -> Vec<Spot<'a>> {
    let mut out = Vec::new();
    descend(value, &mut Vec::new(), &mut out);
    out
}

fn descend<'a>(value: &'a Value, steps: &mut Vec<Step>, out: &mut Vec<Spot<'a>>) {
    if steps.len() >= DEPTH {
        return;
    }
    let mut follow = |step: Step, inner: &'a Value, out: &mut Vec<Spot<'a>>| {
        steps.push(step);
        out.push(Spot { steps: steps.clone(), value: inner });
        descend(inner, steps, out);
        steps.pop();
    };
    match value {
        Value::Map(entries) => {
            for (key, inner) in entries {
                follow(Step::Key(key.clone()), inner, out);
            }
        }
        Value::List(items) => {
            if let [only] = items.as_slice() {
                follow(Step::Index(0), only, out);
            }
        }
        _ => {}
    }
}

/// How many places hold a key of this name, lists of any length included.
pub fn occurrences(value: &Value, name: &str, depth: usize) -> usize {
    match value {
        Value::Map(entries) if depth > 0 => {
            let here = usize::from(entries.iter().any(|(key, _)| key == name));
            here + entries.iter().map(|(_, inner)| occurrences(inner, name, depth - 1)).sum::<usize>()
        }
        Value::List(items) if depth > 0 => {
            items.iter().map(|inner| occurrences(inner, name, depth - 1)).max().unwrap_or(0)
        }
        _ => 0,
    }
}

/// Whether values could stand at a place, and which of the keys read there they have; `None` when they could not.
pub fn fit(view: &View, place: &Place, values: &[&Value]) -> Option<Fit> {
    let mut found = Fit::default();
    fits(view, place, values, &mut found, DEPTH).then_some(found)
}

fn fits(view: &View, place: &Place, values: &[&Value], found: &mut Fit, depth: usize) -> bool {
    if depth == 0 || values.is_empty() {
        return true;
    }
    let names = view.key_names(place);
    let entries = view
        .reading
        .reads
        .iter()
        .any(|read| read.place.parent().is_some_and(|(of, step)| of == *place && *step == Step::Entry));
    if !names.is_empty() {
        return values.iter().all(|value| value.as_map().is_some())
            && names.iter().all(|name| {
                let there: Vec<&Value> = values.iter().filter_map(|value| value.get(name)).collect();
                let place = place.then(Step::Key(name.clone()));
                if !there.is_empty() && !found.keys.contains(name) {
                    found.keys.push(name.clone());
                }
                (there.len() == values.len() || !must_have(view, &place))
                    && fits(view, &place, &there, found, depth - 1)
            });
    }
    if entries {
        let inner: Vec<&Value> =
            values.iter().filter_map(|value| value.as_map()).flatten().map(|(_, value)| value).collect();
        return values.iter().all(|value| value.as_map().is_some())
            && fits(view, &place.then(Step::Entry), &inner, found, depth - 1);
    }
    if view.takes_members(place) {
        let inner: Vec<&Value> = values.iter().filter_map(|value| value.as_list()).flatten().collect();
        return values.iter().all(|value| value.as_list().is_some())
            && fits(view, &place.then(Step::Member), &inner, found, depth - 1);
    }
    leaf_fits(view, place, values)
}

/// Whether a key is there in every good record, as far as code and memory say.
fn must_have(view: &View, place: &Place) -> bool {
    let Some((container, Step::Key(key))) = place.parent().map(|(container, step)| (container, step.clone())) else {
        return true;
    };
    match view.remembered(&container) {
        Some(shape) if !shape.names().is_empty() => shape.key(&key).is_some_and(|(_, always)| always),
        _ => view.needed(&container, &key),
    }
}

/// Whether values could be used as the leaf at a place is.
pub fn leaf_fits(view: &View, place: &Place, values: &[&Value]) -> bool {
    match view.remembered(place) {
        Some(ObjectShape::Leaf { profile }) => values.iter().all(|value| type_fits(&profile.type_name, value)),
        Some(ObjectShape::List { .. }) => values.iter().all(|value| value.as_list().is_some()),
        Some(ObjectShape::Map { .. }) => values.iter().all(|value| value.as_map().is_some()),
        None => {
            let used = view.reading.uses_of(place).any(|used| {
                !matches!(
                    used.how,
                    Usage::Stored | Usage::Passed(_) | Usage::Length | Usage::Truth | Usage::NoneTest | Usage::TypeTest
                )
            });
            !used || values.iter().all(|value| value.as_map().is_none() && value.as_list().is_none())
        }
    }
}

/// Whether a value is of a remembered type.
pub fn type_fits(type_name: &str, value: &Value) -> bool {
    match type_name {
        "int" | "float" => matches!(value, Value::Int(_) | Value::Float(_)),
        "str" => matches!(value, Value::Text(_)),
        "bool" => matches!(value, Value::Bool(_)),
        _ => value.as_map().is_none() && value.as_list().is_none(),
    }
}

/// What the values at a place, or the members of the lists there, look like.
pub fn profile(values: &[&Value]) -> Profile {
    if values.iter().all(|value| value.as_list().is_some()) {
        return Profile::of_values(values.iter().filter_map(|value| value.as_list()).flatten());
    }
    Profile::of_values(values.iter().copied())
}

/// The remembered profile at a place, or of the members of the list there.
pub fn remembered_profile(view: &View, place: &Place) -> Option<Profile> {
    let shape = view.remembered(place)?;
    shape.profile().or_else(|| shape.member().and_then(ObjectShape::profile)).cloned()
}

/// Whether the remembered data had something at these steps below a place already.
pub fn was_there(view: &View, container: &Place, steps: &[Step]) -> bool {
    let shape = view.remembered(container);
    shape.is_some_and(|shape| crate::code::object_path::shape(&shape, steps).is_some())
}

/// Whether two values have the same sort of node: mapping, list or leaf.
pub fn node(value: &Value) -> &'static str {
    match value {
        Value::Map(_) => "map",
        Value::List(_) => "list",
        _ => "leaf",
    }
}

/// The node that is read at a place: `map`, `list`, `leaf`, or nothing that can be told.
pub fn node_read(view: &View, place: &Place) -> Option<&'static str> {
    if view.reads_keys(place) {
        return Some("map");
    }
    match view.remembered(place) {
        Some(ObjectShape::Map { .. }) => return Some("map"),
        Some(ObjectShape::List { .. }) => return Some("list"),
        Some(ObjectShape::Leaf { .. }) => return Some("leaf"),
        None => {}
    }
    let below = |step: fn(&Step) -> bool| {
        view.reading.reads.iter().any(|read| {
            read.place.steps.len() == place.steps.len() + 1
                && place.holds(&read.place)
                && read.place.steps.last().is_some_and(step)
        })
    };
    if below(|step| matches!(step, Step::Entry)) {
        return Some("map");
    }
    if below(|step| matches!(step, Step::Member | Step::Index(_))) {
        return Some("list");
    }
    let leaf = view.reading.uses_of(place).any(|used| {
        matches!(
            used.how,
            Usage::Convert(_)
                | Usage::Arithmetic
                | Usage::Concat
                | Usage::Compare
                | Usage::Order
                | Usage::Key
                | Usage::Format
        )
    });
    leaf.then_some("leaf")
}

/// The shape that several values share.
pub fn shape_of(values: &[&Value]) -> ObjectShape {
    object_shape::of_all(values)
}

/// Words for containers that say nothing about what is in them.
pub fn is_container_word(name: &str) -> bool {
    let name = name.to_lowercase();
    let name = name.trim_start_matches(['_', '$', '@']);
    CONTAINERS.contains(&name)
}

/// Names that any record can have.
pub fn is_general(name: &str) -> bool {
    let name = name.to_lowercase();
    let name = name.trim_start_matches(['_', '$', '@', '#']);
    GENERAL.contains(&name)
}

const CONTAINERS: &[&str] = &[
    "data",
    "datas",
    "dataset",
    "result",
    "results",
    "response",
    "responses",
    "reply",
    "payload",
    "body",
    "content",
    "contents",
    "record",
    "records",
    "row",
    "rows",
    "item",
    "items",
    "entry",
    "entries",
    "element",
    "elements",
    "object",
    "objects",
    "list",
    "lists",
    "value",
    "values",
    "collection",
    "hits",
    "docs",
    "documents",
    "documentlist",
    "embedded",
    "page",
    "pages",
    "batch",
    "output",
    "root",
    "envelope",
    "return",
    "returns",
    "d",
    "attributes",
    "properties",
    "fields",
    "resource",
    "resources",
    "nodes",
    "node",
    "edges",
    "members",
    "children",
    "set",
    "resultset",
    "recordset",
    "info",
    "details",
    "detail",
    "model",
    "models",
    "array",
    "feed",
    "hit",
    "wrapper",
    "main",
    "metadata",
    "graph",
    "included",
    "matches",
];

const GENERAL: &[&str] = &[
    "id",
    "ids",
    "name",
    "names",
    "type",
    "kind",
    "value",
    "values",
    "date",
    "time",
    "status",
    "state",
    "count",
    "number",
    "code",
    "title",
    "url",
    "uri",
    "link",
    "href",
    "label",
    "description",
    "text",
    "key",
    "amount",
    "total",
    "price",
    "unit",
    "size",
    "created",
    "updated",
    "created_at",
    "updated_at",
    "timestamp",
    "version",
    "format",
    "category",
    "tags",
    "message",
    "note",
    "error",
    "index",
    "position",
    "rank",
    "level",
    "score",
    "data",
    "items",
    "result",
    "results",
    "user",
    "owner",
    "author",
    "length",
    "width",
    "height",
    "active",
    "enabled",
];
