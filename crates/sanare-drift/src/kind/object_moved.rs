//! Fields that now lie elsewhere in the same record: one level deeper, one level higher, in the only member of a list.
//!
//! What it does: reads each field at its old place first, then at the one place where its name is found now.
//! Why: a field of the same name, found exactly once in the record, at a place that did not exist before, is the field.
//! Unsafe when: the name could belong to anything (`id`, `name`) and nothing else moved with it; then it refuses.

use sanare_core::outcome::Reason;
use sanare_core::value::Value;

use crate::code::object_field::{self, Move};
use crate::code::object_fit::{self, Spot, is_container_word, is_general, spots, was_there};
use crate::code::object_path::{Step, dotted, spoken};
use crate::code::object_reads::{How, Place};
use crate::code::object_veto;
use crate::code::object_view::{Trouble, View};
use crate::names;
use crate::problem::{Answer, Candidate, FieldReport, Mapping, Refusal, Tier};

use super::object::layer;
use super::object_renamed;

/// A field found elsewhere in every record that lacks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where.
    pub moved: Move,
    /// The veto that forbids it.
    pub veto: Option<String>,
}

pub(crate) fn answer(view: &View) -> Option<Answer> {
    let Some(Trouble::Absent { container, key }) = view.trouble() else { return None };
    let lacking = lacking(view, &container, &key);
    let found = places(view, &container, &lacking, &key);
    let allowed: Vec<&Found> = found.iter().filter(|found| found.veto.is_none()).collect();
    let first = match (allowed.as_slice(), found.as_slice()) {
        ([], []) => return None,
        ([], _) => {
            // A name beside the record that means the same may still settle it.
            return object_renamed::answer(view)
                .or_else(|| Some(refused(&key, &found, Reason::Vetoed, "a word on the path changes its meaning")));
        }
        ([only], [_]) => (*only).clone(),
        _ => return Some(refused(&key, &found, Reason::Ambiguous, "its name is found at more than one place")),
    };
    if object_renamed::mapped(view, &container, &key)
        .is_ok_and(|mappings| mappings.iter().any(|mapping| mapping.expected == key))
    {
        return Some(refused(&key, &found, Reason::Ambiguous, "a field beside it could be meant as well"));
    }
    let mut moves = vec![first.moved.clone()];
    for other in missing(view, &container, &lacking).into_iter().filter(|other| *other != key) {
        if let [only] = places(view, &container, &lacking, &other).as_slice()
            && only.veto.is_none()
            && only.moved.steps == first.moved.steps
        {
            moves.push(only.moved.clone());
        }
    }
    if !settled(view, &container, &moves) {
        return Some(refused(&key, &found, Reason::NoIdentity, "a name that any record can have does not identify it"));
    }
    let names: Vec<&str> = moves.iter().map(|moved| moved.key.as_str()).collect();
    let now = spoken(&first.moved.steps);
    let one = if first.moved.steps.iter().any(|step| matches!(step, Step::Index(_))) {
        ", which holds one member"
    } else {
        ""
    };
    let comment = format!(
        "{} now in {now}{one}; the old place is tried first",
        crate::kind::object_renamed::listed(&names, "is", "are")
    );
    let source = object_field::written(view, &container, &moves, &comment);
    let mappings = moves.iter().map(|moved| {
        let mut steps = container.steps.clone();
        let expected = dotted(&container.then(Step::Key(moved.key.clone())).steps);
        steps.extend(moved.steps.iter().cloned());
        steps.push(Step::Key(moved.name.clone()));
        Mapping { expected, seen: dotted(&steps), evidence: vec!["I3 equal leaf, found once".into()], tier: Tier::A }
    });
    let summary = format!("{} now in {now}", crate::kind::object_renamed::listed(&names, "is", "are"));
    let evidence = moves.iter().map(|moved| format!("{}: found once in each record, at {now}", moved.key)).collect();
    layer("object_moved", source, Tier::A, summary, evidence, mappings.collect())
}

/// The mappings at a place that lack a key.
pub(crate) fn lacking<'v>(view: &'v View, container: &Place, key: &str) -> Vec<&'v Value> {
    view.at(container).into_iter().filter(|value| value.as_map().is_some() && value.get(key).is_none()).collect()
}

/// The keys read from these records that none of them has.
pub(crate) fn missing(view: &View, container: &Place, lacking: &[&Value]) -> Vec<String> {
    let mut names = view.key_names(container);
    names.retain(|name| lacking.iter().all(|value| value.get(name).is_none()));
    names.retain(|name| view.keys_read(container).any(|(key, read)| key == name && read.how != How::Written));
    names
}

/// Where a key's name is found below each of these records, and nowhere else in them.
pub(crate) fn places(view: &View, container: &Place, lacking: &[&Value], key: &str) -> Vec<Found> {
    let old = [Step::Key(key.to_owned())];
    let target = container.then(Step::Key(key.to_owned()));
    let mut found: Vec<Found> = Vec::new();
    let Some(first) = lacking.first() else { return found };
    // One value of a mapping that is keyed by data may be a wrapper, and the keys below it data.
    if container.steps.last() == Some(&Step::Entry) && lacking.len() < 2 {
        return found;
    }
    for Spot { steps, value } in spots(first) {
        let Value::Map(entries) = value else { continue };
        for (name, _) in entries.iter().filter(|(name, _)| name == key || names::same(name, key)) {
            let mut whole = steps.clone();
            whole.push(Step::Key(name.clone()));
            if was_there(view, container, &whole) || expected_elsewhere(view, container, &whole) {
                continue;
            }
            let values: Vec<&Value> =
                lacking.iter().flat_map(|record| crate::code::object_path::values(record, &whole)).collect();
            let lone = steps.iter().all(|step| !matches!(step, Step::Index(_))) || lists_hold_one(lacking, &steps);
            if values.len() != lacking.len()
                || !lone
                || object_fit::fit(view, &target, &values).is_none()
                || !object_fit::leaf_fits(view, &target, &values)
            {
                continue;
            }
            let mut veto = object_veto::differs(&old, &whole);
            if veto.is_none() {
                veto = moved_scale(view, &target, &values);
            }
            if veto.is_none() && lacking.iter().any(|record| object_fit::occurrences(record, name, 8) != 1) {
                veto = Some(format!("`{name}` stands at more than one place"));
            }
            found.push(Found { moved: Move { key: key.to_owned(), steps: steps.clone(), name: name.clone() }, veto });
        }
    }
    found
}

/// V6 for a field of the same name: three powers of ten, or two where that is sure of few values.
fn moved_scale(view: &View, target: &Place, values: &[&Value]) -> Option<String> {
    let old = object_fit::remembered_profile(view, target)?;
    let new = object_fit::profile(values);
    let why = crate::code::object_leaf::scale_veto(&old, &new)?;
    let middle = |profile: &crate::profile::Profile| {
        profile.number.as_ref().and_then(|numbers| numbers.powers).map(|powers| powers.1)
    };
    let far = middle(&old).zip(middle(&new)).is_some_and(|(old, new)| (old - new).abs() >= 3);
    let sure = old.count >= 3 || (old.type_name == "float" && new.type_name == "int");
    (far || sure).then_some(why)
}

/// Whether every list on the way holds exactly one member in every record.
fn lists_hold_one(records: &[&Value], steps: &[Step]) -> bool {
    steps.iter().enumerate().filter(|(_, step)| matches!(step, Step::Index(_))).all(|(at, _)| {
        let before = steps.get(..at).unwrap_or_default();
        records
            .iter()
            .flat_map(|record| crate::code::object_path::values(record, before))
            .all(|list| list.as_list().is_some_and(|items| items.len() == 1))
    })
}

/// Whether the code reads something else at these steps already.
fn expected_elsewhere(view: &View, container: &Place, steps: &[Step]) -> bool {
    let mut place = container.clone();
    place.steps.extend(steps.iter().cloned());
    view.reading.reads.iter().any(|read| read.place == place)
}

/// Names that any record can have settle nothing, unless they come with a telling one or lie in a mere wrapper.
fn settled(view: &View, container: &Place, moves: &[Move]) -> bool {
    if moves.iter().any(|moved| !is_general(&moved.key)) {
        return true;
    }
    let Some(first) = moves.first() else { return false };
    let wrapper = |step: &Step| match step {
        Step::Key(key) => is_container_word(key) || same_thing(container, key),
        _ => true,
    };
    first.steps.iter().all(wrapper) || (measures(moves) && is_new(view, container, first))
}

/// Whether all of these are measures of the record, which cannot belong to something else in it as a name can.
fn measures(moves: &[Move]) -> bool {
    const MEASURES: &[&str] = &[
        "amount",
        "price",
        "total",
        "count",
        "score",
        "size",
        "status",
        "state",
        "timestamp",
        "version",
        "level",
        "rank",
    ];
    moves.iter().all(|moved| MEASURES.contains(&moved.key.to_lowercase().as_str()))
}

/// Whether what holds the field now was not in the remembered record.
fn is_new(view: &View, container: &Place, moved: &Move) -> bool {
    let Some(first) = moved.steps.first() else { return false };
    let known = view.remembered(container).is_some_and(|shape| !shape.names().is_empty());
    known && !was_there(view, container, std::slice::from_ref(first))
}

/// Whether a key is the singular of the list that the record lies in.
fn same_thing(container: &Place, key: &str) -> bool {
    let list = container.steps.iter().rev().find_map(|step| match step {
        Step::Key(key) => Some(key.to_lowercase()),
        _ => None,
    });
    let key = key.to_lowercase();
    list.is_some_and(|list| list == key || list == format!("{key}s") || list == format!("{key}es"))
}

fn refused(key: &str, found: &[Found], reason: Reason, why: &str) -> Answer {
    let candidates = found.iter().take(5).map(|found| {
        let mut steps = found.moved.steps.clone();
        steps.push(Step::Key(found.moved.name.clone()));
        Candidate {
            seen: dotted(&steps),
            evidence: vec!["I3 equal leaf".into()],
            vetoes: found.veto.iter().cloned().collect(),
        }
    });
    let report = FieldReport { expected: key.to_owned(), candidates: candidates.collect(), unmet: why.to_owned() };
    let summary = format!("`{key}` is not where it was, and {why}");
    Answer::Refused(Refusal {
        reason,
        summary,
        fields: vec![report],
        hint: "name the place in a contract or in sanare.lock".into(),
    })
}

#[cfg(test)]
mod tests {
    use crate::kind::object_cases::{Case, check};

    const TWEETS: &str =
        "def load(data):\n    return {t[\"id\"]: t[\"retweet_count\"] + t[\"like_count\"] for t in data}\n";
    const OLD: &str = r#"[{"id": "1", "retweet_count": 3, "like_count": 4}]"#;

    fn tweets(new: &'static str) -> Case<'static> {
        Case { source: TWEETS, old: OLD, new, error: "KeyError: 'retweet_count'", at: "retweet", file: false }
    }

    #[test]
    fn fields_that_moved_together() {
        let case = tweets(r#"[{"id": "2", "metrics": {"retweet_count": 30, "like_count": 40, "reply_count": 1}}]"#);
        let parts = [
            "field(t, \"retweet_count\") + field(t, \"like_count\")",
            "inner = record[\"metrics\"]",
            "return inner[name]",
        ];
        check(&case, &parts);
        check(&Case { old: "", ..case }, &parts);
        let listed = tweets(r#"[{"id": "2", "metrics": [{"retweet_count": 30, "like_count": 40}]}]"#);
        check(&listed, &["if len(members) != 1:", "inner = members[0]"]);
        let renamed = tweets(r#"[{"id": "2", "metrics": {"retweetCount": 30, "likeCount": 40}}]"#);
        check(&renamed, &["field(t, \"retweet_count\", \"retweetCount\")", "return inner[alias]"]);
    }

    #[test]
    fn general_names_qualifiers_and_two_places_are_refused() {
        let name = Case {
            source: "def load(data):\n    return [r[\"name\"] for r in data]\n",
            old: r#"[{"name": "a", "stars": 1}]"#,
            new: r#"[{"stars": 2, "owner": {"name": "bob"}}]"#,
            error: "KeyError: 'name'",
            at: "name",
            file: false,
        };
        check(&name, &["missing_field: "]);
        check(&Case { new: r#"[{"stars": 2, "repository": {"name": "bob"}}]"#, ..name }, &["no_identity: "]);
        let two = tweets(
            r#"[{"id": "2", "a": {"retweet_count": 1, "like_count": 2}, "b": {"retweet_count": 3, "like_count": 4}}]"#,
        );
        check(&two, &["retweet_count"]);
        check(&two, &["missing_field: "]);
        let many = tweets(r#"[{"id": "2", "metrics": [{"retweet_count": 30}, {"retweet_count": 40}]}]"#);
        check(&many, &["missing_field: "]);
    }
}
