//! A list or mapping that now lies inside something, or no longer does, or under another path.
//!
//! What it does: gives the data its old form once, where it comes in.
//! Why: the only list of records, or the only mapping, that has what the code reads is the one that it reads.
//! Unsafe when: two could be meant, a word on the path changes the meaning, or the reply says that it is only a part.

use sanare_core::outcome::Reason;
use sanare_core::value::Value;

use crate::code::object_complete;
use crate::code::object_field::{self, Move};
use crate::code::object_fit::{self, is_container_word, is_general, node, node_read, spots, was_there};
use crate::code::object_path::{Step, dotted, spoken, values};
use crate::code::object_place::{self, Change, expression, wrapped};
use crate::code::object_reads::Place;
use crate::code::object_veto;
use crate::code::object_view::{Trouble, View};
use crate::code::object_write::literal;
use crate::names;
use crate::problem::{Answer, Candidate, FieldReport, Mapping, Refusal, Tier};

use super::object::layer;
use super::object_moved::lacking;
use super::object_renamed::map_record;

/// A value that could be what the code reads.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// Steps to it, from the mapping that was searched.
    pub steps: Vec<Step>,
    /// Keys that the code reads and that are there.
    pub keys: Vec<String>,
    /// Whether it has the old name.
    pub named: bool,
    /// Whether its keys had to be mapped.
    pub tier: Tier,
    /// The veto that forbids it.
    pub veto: Option<String>,
}

pub(crate) fn answer(view: &View) -> Option<Answer> {
    match view.trouble()? {
        Trouble::NotList(place) => wrapped_list(view, &place),
        Trouble::Absent { container, key } => match container.parent() {
            Some((place, Step::Entry)) => wrapped_entries(view, &place),
            _ => relocated(view, &container, &key),
        },
        Trouble::NotMap(place) => match place.parent() {
            Some((place, Step::Entry)) => wrapped_entries(view, &place),
            _ => None,
        },
        _ => None,
    }
}

/// Records keyed by data were expected, a mapping is there that holds them under a mere wrapper's name.
fn wrapped_entries(view: &View, place: &Place) -> Option<Answer> {
    let outer = view.at(place);
    let [only] = outer.as_slice() else { return None };
    let holds = |spot: &object_fit::Spot| {
        let entries = spot.value.as_map().is_some_and(|map| !map.is_empty());
        entries && object_fit::fit(view, place, &[spot.value]).is_some_and(|fit| !fit.keys.is_empty())
    };
    let found: Vec<Found> = spots(only)
        .into_iter()
        .filter(|spot| spot.steps.iter().all(is_wrapper) && holds(spot))
        .map(|spot| {
            let veto = object_veto::differs(&[], &spot.steps);
            Found { steps: spot.steps, keys: Vec::new(), named: false, tier: Tier::A, veto }
        })
        .collect();
    let found = match chosen(place, found, &[])? {
        Ok(found) => found,
        Err(refusal) => return Some(refusal),
    };
    let Some(Step::Key(first)) = found.steps.first() else { return None };
    let when = format!("{} in {{}}", literal(first));
    move_in(view, place, &[], &found, when, "mapping")
}

/// A list was expected, a mapping is there that holds it.
fn wrapped_list(view: &View, place: &Place) -> Option<Answer> {
    let outer = view.at(place);
    if outer.iter().any(|value| value.as_map().is_none()) || !view.reads_keys(&place.then(Step::Member)) {
        return None;
    }
    let found = candidates(view, place, &outer, place, &[]);
    if object_fit::fit(view, &place.then(Step::Member), &outer).is_some_and(|fit| !fit.keys.is_empty()) {
        return None;
    }
    let found = chosen(place, found, &[])?;
    let found = match found {
        Ok(found) => found,
        Err(refusal) => return Some(refusal),
    };
    move_in(view, place, &[], &found, "isinstance({}, dict)".into(), "list")
}

/// A key is gone: what was behind it may be elsewhere.
fn relocated(view: &View, container: &Place, key: &str) -> Option<Answer> {
    let outer = lacking(view, container, key);
    if let Some(answer) = whole_record(view, container, &outer) {
        return Some(answer);
    }
    let first = container.then(Step::Key(key.to_owned()));
    if !matches!(node_read(view, &first), Some("map" | "list")) {
        return None;
    }
    let target = passed_through(view, first);
    let chain = container.steps_to(&target).to_vec();
    let found = candidates(view, container, &outer, &target, &chain);
    let found = match chosen(&target, found, &chain)? {
        Ok(found) => found,
        Err(refusal) => return Some(refusal),
    };
    if let ([_], Some((Step::Key(name), prefix))) = (chain.as_slice(), found.steps.split_last()) {
        if let Some(refusal) = incomplete(view, &outer, &found) {
            return Some(refusal);
        }
        if object_complete::marks(outer.first()?, &found.steps, 0, "").guards.is_empty() {
            let moves = [Move { key: key.to_owned(), steps: prefix.to_vec(), name: name.clone() }];
            let comment = format!("{key} is now {}; the old place is tried first", spoken(&found.steps));
            let source = object_field::written(view, container, &moves, &comment);
            return finish(view, container, &chain, &found, source);
        }
    }
    move_in(view, container, &chain, &found, format!("{} not in {{}}", literal(key)), "mapping")
}

/// Everything that is read from a mapping is now one level deeper, together.
fn whole_record(view: &View, container: &Place, outer: &[&Value]) -> Option<Answer> {
    if container.steps.iter().any(|step| matches!(step, Step::Member | Step::Entry)) {
        return None;
    }
    let [only] = outer else { return None };
    let names = view.key_names(container);
    if names.len() < 2 || names.iter().any(|name| only.get(name).is_some()) {
        return None;
    }
    let needed: Vec<&String> = names.iter().filter(|name| view.needed(container, name)).collect();
    let mut found = Vec::new();
    for spot in spots(only) {
        let Some(fit) = object_fit::fit(view, container, &[spot.value]) else { continue };
        if spot.value.as_map().is_some()
            && needed.iter().all(|name| fit.keys.contains(name))
            && !was_there(view, container, &spot.steps)
        {
            let telling = fit.telling() > 0 || fit.keys.len() > 2 || spot.steps.iter().all(is_wrapper);
            let veto = object_veto::differs(&[], &spot.steps);
            if telling {
                found.push(Found { steps: spot.steps, keys: fit.keys, named: false, tier: Tier::A, veto });
            }
        }
    }
    let found = match chosen(container, found, &[])? {
        Ok(found) => found,
        Err(refusal) => return Some(refusal),
    };
    let first = needed.first().copied().or(names.first())?;
    move_in(view, container, &[], &found, format!("{} not in {{}}", literal(first)), "mapping")
}

fn is_wrapper(step: &Step) -> bool {
    match step {
        Step::Key(key) => is_container_word(key),
        _ => true,
    }
}

/// The deepest container that a lone chain of keys and of list places leads to.
pub(crate) fn passed_through(view: &View, mut place: Place) -> Place {
    loop {
        let below: Vec<&Step> = {
            let mut steps: Vec<&Step> = view
                .reading
                .reads
                .iter()
                .filter(|read| read.place.steps.len() == place.steps.len() + 1 && place.holds(&read.place))
                .filter_map(|read| read.place.steps.last())
                .collect();
            steps.sort();
            steps.dedup();
            steps
        };
        let next = match below.as_slice() {
            [step @ (Step::Key(_) | Step::Index(0 | -1))] => place.then((*step).clone()),
            _ => return place,
        };
        if !matches!(node_read(view, &next), Some("map" | "list")) {
            return place;
        }
        place = next;
    }
}

/// Every value below the searched mappings that could stand at the target.
pub(crate) fn candidates(
    view: &View,
    container: &Place,
    outer: &[&Value],
    target: &Place,
    chain: &[Step],
) -> Vec<Found> {
    let mut found = Vec::new();
    let Some(first) = outer.first() else { return found };
    let sort = node_read(view, target).unwrap_or("list");
    let old_name = chain.iter().rev().find_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        _ => None,
    });
    for spot in spots(first) {
        if node(spot.value) != sort
            || was_there(view, container, &spot.steps)
            || read_elsewhere(view, container, &spot.steps)
        {
            continue;
        }
        let there: Vec<&Value> = outer.iter().flat_map(|value| values(value, &spot.steps)).collect();
        if there.len() != outer.len() || there.iter().any(|value| node(value) != sort) {
            continue;
        }
        let named = matches!((spot.steps.last(), old_name), (Some(Step::Key(new)), Some(old)) if new == old || names::same(new, old));
        let veto = object_veto::differs(chain, &spot.steps);
        if let Some(fit) = object_fit::fit(view, target, &there) {
            if named || !fit.keys.is_empty() {
                found.push(Found { steps: spot.steps, keys: fit.keys, named, tier: Tier::A, veto });
            }
            continue;
        }
        if mapped(view, target, &there) {
            found.push(Found { steps: spot.steps, keys: Vec::new(), named, tier: Tier::B, veto });
        }
    }
    found
}

/// Whether rule 9.1 maps all that the code reads to the keys of these values or of their members.
pub(crate) fn mapped(view: &View, target: &Place, there: &[&Value]) -> bool {
    let (place, records): (Place, Vec<&Value>) = if there.iter().all(|value| value.as_list().is_some()) {
        (target.then(Step::Member), there.iter().filter_map(|value| value.as_list()).flatten().collect())
    } else {
        (target.clone(), there.to_vec())
    };
    if records.is_empty() || records.iter().any(|record| record.as_map().is_none()) {
        return false;
    }
    let names = view.key_names(&place);
    let lost: Vec<&String> =
        names.iter().filter(|name| records.iter().all(|record| record.get(name).is_none())).collect();
    let Some(first) = lost.first() else { return false };
    map_record(view, &place, &records, first).is_ok_and(|mappings| {
        lost.iter().all(|name| mappings.iter().any(|mapping| mapping.expected == **name) || !view.needed(&place, name))
    })
}

fn read_elsewhere(view: &View, container: &Place, steps: &[Step]) -> bool {
    let mut place = container.clone();
    place.steps.extend(steps.iter().cloned());
    view.reading.reads.iter().any(|read| read.place == place)
}

/// The one that is meant; a refusal when two could be, or when a veto fires; nothing when there is none.
pub(crate) fn chosen(target: &Place, found: Vec<Found>, chain: &[Step]) -> Option<Result<Found, Answer>> {
    let exact: Vec<&Found> = found.iter().filter(|found| found.tier == Tier::A).collect();
    let pool: Vec<&Found> = if exact.is_empty() { found.iter().collect() } else { exact };
    let named: Vec<&Found> = pool.iter().copied().filter(|found| found.named).collect();
    let best = match (pool.as_slice(), named.as_slice()) {
        ([], _) => return None,
        ([only], _) => only,
        (_, [only]) => only,
        _ => return Some(Err(refused(&found, target, Reason::Ambiguous, "more than one could be meant"))),
    };
    if let Some(veto) = &best.veto {
        return Some(Err(refused(
            &found,
            target,
            Reason::Vetoed,
            &format!("the likeliest means something else: {veto}"),
        )));
    }
    let telling = best.keys.iter().filter(|key| !is_general(key)).count();
    let old_wrapper =
        chain.iter().rev().find_map(|step| if let Step::Key(key) = step { Some(is_container_word(key)) } else { None });
    let new_wrapper = best
        .steps
        .iter()
        .rev()
        .find_map(|step| if let Step::Key(key) = step { Some(is_container_word(key)) } else { None });
    let by_name = best.named || new_wrapper.unwrap_or(true) || old_wrapper.unwrap_or(true);
    let by_keys = best.keys.len() >= 2 && telling >= 1;
    if by_name || by_keys {
        return Some(Ok((*best).clone()));
    }
    Some(Err(refused(&found, target, Reason::NoIdentity, "its name and keys could be anything's")))
}

/// Refuses when the data on the way says that it is only a part.
fn incomplete(view: &View, outer: &[&Value], found: &Found) -> Option<Answer> {
    let _ = view;
    for value in outer {
        let list = values(value, &found.steps).into_iter().find_map(|value| value.as_list());
        let Some(list) = list else { continue };
        if let Some(why) = object_complete::marks(value, &found.steps, list.len(), "").incomplete {
            return Some(Answer::Refused(Refusal {
                reason: Reason::IncompleteData,
                summary: format!("the records are not all here: {why}"),
                fields: Vec::new(),
                hint: "fetch all pages before the call".into(),
            }));
        }
    }
    None
}

fn move_in(view: &View, container: &Place, chain: &[Step], found: &Found, when: String, what: &str) -> Option<Answer> {
    let outer: Vec<&Value> = view.at(container);
    if let Some(refusal) = incomplete(view, &outer, found) {
        return Some(refusal);
    }
    if chain.len() > 1 && container.steps.iter().any(|step| matches!(step, Step::Member | Step::Entry)) {
        return None;
    }
    let (text, mut body) = expression(&found.steps);
    let is_list =
        outer.first().is_some_and(|value| values(value, &found.steps).iter().all(|value| value.as_list().is_some()));
    if is_list {
        body.extend(object_complete::marks(outer.first()?, &found.steps, usize::MAX, &text).guards);
    }
    let becomes = match chain.split_first() {
        None => text,
        Some((Step::Key(first), rest)) => format!("{{**{{}}, {}: {}}}", literal(first), wrapped(rest, &text)),
        Some(_) => return None,
    };
    let was = spoken(chain);
    let now = spoken(&found.steps);
    let comment = if was.is_empty() { format!("the {what} now lies in {now}") } else { format!("{was} is now {now}") };
    let change = Change { when, body, becomes, comment, helper: vec!["unwrapped", "inner_data", "without_envelope"] };
    finish(view, container, chain, found, object_place::written(view, container, &change))
}

fn finish(view: &View, container: &Place, chain: &[Step], found: &Found, source: Option<String>) -> Option<Answer> {
    let path = |steps: &[Step]| {
        let mut all = container.steps.clone();
        all.extend(steps.iter().cloned());
        dotted(&all)
    };
    let _ = view;
    let evidence = if found.tier == Tier::A {
        format!(
            "the only place that has {}",
            if found.keys.is_empty() { "its name".to_owned() } else { found.keys.join(", ") }
        )
    } else {
        "the only place whose records map to those that are read".to_owned()
    };
    let mapping = Mapping {
        expected: path(chain),
        seen: path(&found.steps),
        evidence: vec![format!("I3 {evidence}")],
        tier: found.tier,
    };
    let summary = if chain.is_empty() {
        format!("the data now lies in {}", spoken(&found.steps))
    } else {
        format!("{} is now {}", spoken(chain), spoken(&found.steps))
    };
    layer("object_envelope", source, found.tier, summary, vec![evidence], vec![mapping])
}

fn refused(found: &[Found], target: &Place, reason: Reason, why: &str) -> Answer {
    let candidates = found.iter().take(5).map(|found| Candidate {
        seen: dotted(&found.steps),
        evidence: found.keys.iter().map(|key| format!("has {key}")).collect(),
        vetoes: found.veto.iter().cloned().collect(),
    });
    let expected = dotted(&target.steps);
    let report = FieldReport { expected: expected.clone(), candidates: candidates.collect(), unmet: why.to_owned() };
    let name = if expected.is_empty() { "the data".to_owned() } else { format!("`{expected}`") };
    Answer::Refused(Refusal {
        reason,
        summary: format!("{name} is not where it was, and {why}"),
        fields: vec![report],
        hint: "name the place in a contract or in sanare.lock".into(),
    })
}

#[cfg(test)]
mod tests {
    use crate::kind::object_cases::{Case, check, check_layers};

    const QUAKES: &str = "def load(data):\n    return sorted((q[\"place\"], q[\"mag\"]) for q in data)\n";
    const BARE: &str = r#"[{"place": "A", "mag": 5.5}, {"place": "B", "mag": 4.25}]"#;

    fn quakes(new: &'static str) -> Case<'static> {
        let error = "TypeError: string indices must be integers, not 'str'";
        Case { source: QUAKES, old: BARE, new, error, at: "place", file: false }
    }

    #[test]
    fn a_list_that_is_wrapped_now() {
        let parts = ["if isinstance(data, dict):", "data = data[\"response\"][\"data\"]"];
        let case = quakes(r#"{"response": {"meta": {"n": 1}, "data": [{"place": "C", "mag": 6.5}]}}"#);
        check(&case, &parts);
        check(&Case { old: "", ..case }, &parts);
        let last = quakes(r#"{"count": 1, "next": null, "results": [{"place": "C", "mag": 6.5}]}"#);
        check(
            &last,
            &["if data[\"next\"]:", "if data[\"count\"] > len(data[\"results\"]):", "data = data[\"results\"]"],
        );
    }

    #[test]
    fn a_path_that_changed() {
        let source = "def load(data):\n    orders = data[\"data\"][\"items\"]\n    return [sum(o[\"price\"] for o in orders), [o[\"name\"] for o in orders]]\n";
        let case = Case {
            source,
            old: r#"{"data": {"items": [{"name": "Alfa", "price": 1200}]}}"#,
            new: r#"{"result": {"records": [{"title": "Alfa", "amount": 1200}, {"title": "Beta", "amount": 800}]}}"#,
            error: "KeyError: 'data'",
            at: "orders = data",
            file: false,
        };
        let moved = "data = {**data, \"data\": {\"items\": data[\"result\"][\"records\"]}}";
        check(&case, &["if \"data\" not in data:", moved]);
        let second = [("KeyError: 'price'", "sum(")];
        check_layers(&case, &second, &[moved, "field(o, \"price\", \"amount\")", "field(o, \"name\", \"title\")"]);
        let file = Case {
            source: "import json\n\n\ndef load(data):\n    with open(data) as handle:\n        book = json.load(handle)\n    return [c[\"cell_type\"] for c in book[\"worksheets\"][0][\"cells\"]]\n",
            old: r#"{"worksheets": [{"cells": [{"cell_type": "code"}]}]}"#,
            new: r#"{"cells": [{"cell_type": "code"}]}"#,
            error: "KeyError: 'worksheets'",
            at: "worksheets",
            file: true,
        };
        let parts = [
            "        if \"worksheets\" not in book:",
            "book = {**book, \"worksheets\": [{\"cells\": book[\"cells\"]}]}",
        ];
        check(&file, &parts);
    }

    #[test]
    fn a_record_that_is_wrapped_now() {
        let case = Case {
            source: "def load(data):\n    return [data[\"login\"], data[\"followers\"]]\n",
            old: r#"{"login": "m", "followers": 3}"#,
            new: r#"{"data": {"user": {"login": "k", "followers": 30}}}"#,
            error: "KeyError: 'login'",
            at: "login",
            file: false,
        };
        check(&case, &["if \"login\" not in data:", "data = data[\"data\"][\"user\"]"]);
    }

    #[test]
    fn two_lists_parts_and_strangers_are_refused() {
        check(
            &quakes(r#"{"felt": [{"place": "C", "mag": 6.5}], "other": [{"place": "D", "mag": 6.5}]}"#),
            &["ambiguous: "],
        );
        check(&quakes(r#"{"next": "p2", "results": [{"place": "C", "mag": 6.5}]}"#), &["incomplete_data: "]);
        check(&quakes(r#"{"total": 12, "results": [{"place": "C", "mag": 6.5}]}"#), &["incomplete_data: "]);
        check(&quakes(r#"{"previous": [{"place": "C", "mag": 6.5}]}"#), &["vetoed: "]);
        check(&quakes(r#"{"results": [{"where": "C", "size": 6.5}]}"#), &["no_proposer: "]);
        let users = Case {
            source: "def load(data):\n    return [u[\"name\"] for u in data[\"users\"]]\n",
            old: r#"{"users": [{"name": "a"}]}"#,
            new: r#"{"groups": [{"name": "b"}]}"#,
            error: "KeyError: 'users'",
            at: "users",
            file: false,
        };
        check(&users, &["no_identity: "]);
    }
}
