//! One object where a list was, or a list of one where an object was.
//!
//! What it does: makes a list of the one object, or takes the one member.
//! Why: the object has the keys that are read from each member.
//! Unsafe when: the list holds none or several and one is needed; then the code it writes raises.

use sanare_core::value::Value;

use crate::code::object_fit;
use crate::code::object_path::{Step, spoken};
use crate::code::object_place::{self, Change};
use crate::code::object_reads::Place;
use crate::code::object_view::{Trouble, View};
use crate::code::object_write::bare;
use crate::problem::{Answer, Tier};

use super::object::layer;

pub(crate) fn answer(view: &View) -> Option<Answer> {
    match view.trouble()? {
        Trouble::NotList(place) => to_list(view, &place),
        Trouble::NotMap(place) => to_object(view, &place),
        _ => None,
    }
}

fn to_list(view: &View, place: &Place) -> Option<Answer> {
    let all = view.at(place);
    let wrong: Vec<&Value> = all.iter().copied().filter(|value| value.as_list().is_none()).collect();
    let member = place.then(Step::Member);
    let fit = object_fit::fit(view, &member, &wrong).filter(|_| wrong.iter().all(|value| value.as_map().is_some()))?;
    if fit.keys.is_empty()
        || view.key_names(&member).iter().any(|name| view.needed(&member, name) && !fit.keys.contains(name))
    {
        return None;
    }
    let name = named(place);
    let change = Change {
        when: "isinstance({}, dict)".into(),
        body: Vec::new(),
        becomes: "[{}]".into(),
        comment: format!("a list of one {name} now comes as the object itself"),
        helper: vec!["as_list", "listed"],
    };
    let source = object_place::written(view, place, &change);
    let evidence = format!("the object has {}", fit.keys.join(", "));
    layer(
        "object_single",
        source,
        Tier::A,
        format!("{name}: one object in place of a list"),
        vec![evidence],
        Vec::new(),
    )
}

fn to_object(view: &View, place: &Place) -> Option<Answer> {
    let all = view.at(place);
    let mut inner = Vec::new();
    for value in &all {
        match value {
            Value::List(items) => match items.as_slice() {
                [only] => inner.push(only),
                _ => return None,
            },
            Value::Map(_) => {}
            _ => return None,
        }
    }
    let fit = object_fit::fit(view, place, &inner)
        .filter(|_| !inner.is_empty() && inner.iter().all(|value| value.as_map().is_some()))?;
    if fit.keys.is_empty() || view.key_names(place).is_empty() {
        return None;
    }
    let name = named(place);
    let change = Change {
        when: "isinstance({}, list)".into(),
        body: vec![
            "if len({}) != 1:".into(),
            format!("    raise TypeError(\"{name} is a list that does not hold exactly one object\")"),
        ],
        becomes: "{}[0]".into(),
        comment: format!("{name} now comes as a list of one"),
        helper: vec!["the_one", "only_member"],
    };
    let source = object_place::written(view, place, &change);
    let evidence = format!("the one member has {}", fit.keys.join(", "));
    layer(
        "object_single",
        source,
        Tier::A,
        format!("{name}: a list of one in place of an object"),
        vec![evidence],
        Vec::new(),
    )
}

fn named(place: &Place) -> String {
    let name = bare(&spoken(&place.steps));
    if name.is_empty() { "the data".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use crate::kind::object_cases::{Case, check};

    fn tasks(new: &'static str) -> Case<'static> {
        Case {
            source: "def load(data):\n    return [t[\"id\"] for t in data[\"tasks\"][\"task\"]]\n",
            old: r#"{"tasks": {"task": [{"id": "2"}, {"id": "3"}]}}"#,
            new,
            error: "TypeError: string indices must be integers, not 'str'",
            at: "task",
            file: false,
        }
    }

    #[test]
    fn one_object_in_place_of_a_list() {
        let case = tasks(r#"{"tasks": {"task": {"id": "59"}}}"#);
        let parts = ["for t in as_list(data[\"tasks\"][\"task\"])", "if isinstance(data, dict):", "return [data]"];
        check(&case, &parts);
        check(&Case { old: "", ..case }, &parts);
        let user = Case {
            source: "def load(data):\n    user = data[\"user\"]\n    return user[\"login\"]\n",
            old: r#"{"user": {"login": "a"}}"#,
            new: r#"{"user": [{"login": "b"}]}"#,
            error: "TypeError: list indices must be integers or slices, not str",
            at: "user[\"login\"]",
            file: false,
        };
        check(&user, &["if isinstance(user, list):", "if len(user) != 1:", "user = user[0]"]);
        check(&Case { new: r#"{"user": [{"login": "b"}, {"login": "c"}]}"#, ..user }, &["no_proposer: "]);
    }

    #[test]
    fn another_object_is_refused() {
        check(&tasks(r#"{"tasks": {"task": {"name": "59"}}}"#), &["no_proposer: "]);
        check(&tasks(r#"{"tasks": {"task": "59"}}"#), &["no_proposer: "]);
    }
}
