//! Where a value lies in nested data: the steps from a root to it, and the values that they lead to.

use sanare_core::value::Value;

use crate::shape::ObjectShape;

/// One step into nested data.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// The value behind this key.
    Key(String),
    /// The member at this place of a list, negative from its end.
    Index(i64),
    /// Any member of a list.
    Member,
    /// Any value of a mapping, whatever its key.
    Entry,
}

/// The steps as people say them: `data > items > each`.
pub fn spoken(steps: &[Step]) -> String {
    let words: Vec<String> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Key(key) => Some(key.clone()),
            _ => None,
        })
        .collect();
    words.join(" > ")
}

/// The steps as one dotted text, for mappings and the lockfile: `data.items[].price`.
pub fn dotted(steps: &[Step]) -> String {
    let mut out = String::new();
    for step in steps {
        match step {
            Step::Key(key) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(key);
            }
            Step::Index(at) => out.push_str(&format!("[{at}]")),
            Step::Member => out.push_str("[]"),
            Step::Entry => out.push_str("{}"),
        }
    }
    out
}

/// Every value that these steps lead to; a step that does not fit leads nowhere.
pub fn values<'a>(root: &'a Value, steps: &[Step]) -> Vec<&'a Value> {
    let mut current = vec![root];
    for step in steps {
        let mut next = Vec::new();
        for value in current {
            match (step, value) {
                (Step::Key(key), Value::Map(_)) => next.extend(value.get(key)),
                (Step::Index(at), Value::List(items)) => next.extend(member_at(items, *at)),
                (Step::Member, Value::List(items)) => {
                    next.extend(items.iter().filter(|item| !matches!(item, Value::Cut(_))));
                }
                (Step::Entry, Value::Map(entries)) => next.extend(entries.iter().map(|(_, value)| value)),
                _ => {}
            }
        }
        current = next;
    }
    current
}

/// The remembered shape at these steps.
pub fn shape<'a>(root: &'a ObjectShape, steps: &[Step]) -> Option<&'a ObjectShape> {
    let mut current = root;
    for step in steps {
        current = match (step, current) {
            (Step::Key(key), _) => current.key(key)?.0,
            (Step::Index(_) | Step::Member, _) => current.member()?,
            (Step::Entry, ObjectShape::Map { keys }) => &keys.first()?.1,
            (Step::Entry, _) => return None,
        };
    }
    Some(current)
}

/// Whether anything below was left out when the value was captured.
pub fn is_cut(value: &Value) -> bool {
    match value {
        Value::Cut(_) => true,
        Value::List(items) => items.iter().any(is_cut),
        Value::Map(entries) => entries.iter().any(|(_, value)| is_cut(value)),
        _ => false,
    }
}

fn member_at(items: &[Value], at: i64) -> Option<&Value> {
    let length = i64::try_from(items.len()).ok()?;
    let place = if at < 0 { at + length } else { at };
    items.get(usize::try_from(place).ok()?)
}
