//! Keys of a record that have a new name beside the old ones.
//!
//! What it does: reads the expected key first, then the one key that rule 9.1 takes for it.
//! Why: all fields that a record lost are mapped together, one to one, so that none steals another's name.
//! Unsafe when: rule 9.1 finds no identity; then it refuses with the ranked candidates.

use sanare_core::value::Value;

use crate::code::object_field::{self, Move};
use crate::code::object_fit::{self, node, node_read, remembered_profile};
use crate::code::object_path::{Step, dotted};
use crate::code::object_reads::{Place, Usage};
use crate::code::object_view::{Trouble, View};
use crate::matching::{Expected, ImpliedType, MatchContext, Seen, match_fields};
use crate::problem::{Answer, Mapping, Refusal, Tier};

use super::object::layer;
use super::object_moved::{lacking, missing};

pub(crate) fn answer(view: &View) -> Option<Answer> {
    let Some(Trouble::Absent { container, key }) = view.trouble() else { return None };
    let mappings = match mapped(view, &container, &key) {
        Ok(mappings) => mappings,
        Err(refusal)
            if super::object_optional::applies(view, &container, &key)
                || refusal.fields.is_empty() && refusal.summary.is_empty() =>
        {
            return None;
        }
        Err(refusal) => return Some(Answer::Refused(refusal)),
    };
    if !mappings.iter().any(|mapping| mapping.expected == key) {
        return None;
    }
    let moves: Vec<Move> = mappings
        .iter()
        .map(|mapping| Move { key: mapping.expected.clone(), steps: Vec::new(), name: mapping.seen.clone() })
        .collect();
    let renamed: Vec<String> = moves.iter().map(|moved| format!("{} is now {}", moved.key, moved.name)).collect();
    let comment = format!("{}; the old name is tried first", renamed.join(", "));
    let source = object_field::written(view, &container, &moves, &comment);
    let tier = mappings.iter().map(|mapping| mapping.tier).max().unwrap_or(Tier::B);
    let evidence = mappings
        .iter()
        .flat_map(|mapping| mapping.evidence.iter().map(|line| format!("{}: {line}", mapping.expected)))
        .collect();
    let full = mappings.into_iter().map(|mapping| Mapping {
        expected: dotted(&container.then(Step::Key(mapping.expected)).steps),
        seen: dotted(&container.then(Step::Key(mapping.seen)).steps),
        ..mapping
    });
    layer("object_renamed", source, tier, renamed.join(", "), evidence, full.collect())
}

/// What rule 9.1 says to all the keys that the records lacking this one have lost, together.
///
/// # Errors
/// The refusal of rule 9.1.
pub(crate) fn mapped(view: &View, container: &Place, key: &str) -> Result<Vec<Mapping>, Refusal> {
    let lacking = lacking(view, container, key);
    map_record(view, container, &lacking, key)
}

/// Maps the keys read at a place to those of records that could stand there.
///
/// # Errors
/// The refusal of rule 9.1.
pub(crate) fn map_record(
    view: &View,
    container: &Place,
    records: &[&Value],
    key: &str,
) -> Result<Vec<Mapping>, Refusal> {
    let sort = node_read(view, &container.then(Step::Key(key.to_owned())));
    let lost = missing(view, container, records);
    let remembered = view.remembered(container);
    let old_names: Vec<String> =
        remembered.as_ref().map(|shape| shape.names().into_iter().map(str::to_owned).collect()).unwrap_or_default();
    let of_sort = |name: &str| {
        let read = node_read(view, &container.then(Step::Key(name.to_owned())));
        read.is_none() || sort.is_none() || read == sort
    };
    let names = view.key_names(container);
    let expected: Vec<Expected> = names
        .iter()
        .filter(|name| !lost.contains(name) || of_sort(name))
        .map(|name| expect(view, container, name, &old_names, lost.contains(name)))
        .collect();
    let seen_names = record_keys(records);
    let seen: Vec<Seen> = seen_names
        .iter()
        .enumerate()
        .filter(|(_, name)| names.contains(name) || !old_names.contains(name))
        .filter_map(|(position, name)| {
            let values: Vec<&Value> = records.iter().filter_map(|record| record.get(name)).collect();
            let fits = names.contains(name)
                || values
                    .iter()
                    .all(|value| sort.is_none_or(|sort| node(value) == sort || matches!(value, Value::Null)));
            fits.then(|| Seen { name: name.clone(), profile: object_fit::profile(&values), position })
        })
        .collect();
    let fields = if old_names.is_empty() { names.len() } else { old_names.len() };
    let accepted = accepted(view, container, &seen)?;
    let context = MatchContext {
        lexicon: view.subject.problem.words.lexicon(),
        contract_aliases: view.subject.problem.words.aliases(),
        lockfile: &accepted,
        closed_record: fields == seen_names.len(),
    };
    let eager: Vec<Expected> = expected
        .iter()
        .map(|field| Expected { needed: field.needed || lost.contains(&field.name), ..field.clone() })
        .collect();
    let mut mappings = match match_fields(&eager, &seen, &context) {
        Ok(mappings) => mappings,
        Err(_) => match_fields(&expected, &seen, &context)?,
    };
    mappings.retain(|mapping| mapping.expected != mapping.seen && lost.contains(&mapping.expected));
    Ok(mappings)
}

/// The lockfile's mappings of keys at this place (I2).
fn accepted(view: &View, container: &Place, seen: &[Seen]) -> Result<Vec<Mapping>, Refusal> {
    let mut mappings = Vec::new();
    for entry in &view.subject.problem.accepted {
        let leaf = |path: &str| -> Option<String> {
            let key = path.rsplit_once('.').map_or(path, |(_, leaf)| leaf).to_owned();
            (dotted(&container.then(Step::Key(key.clone())).steps) == path).then_some(key)
        };
        let (Some(expected), Some(now)) = (leaf(&entry.expected), leaf(&entry.seen)) else { continue };
        let Some(field) = seen.iter().find(|field| field.name == now) else { continue };
        match entry.mapping(&field.profile) {
            Ok(mapping) => mappings.push(Mapping { expected, seen: now, ..mapping }),
            Err(why) => return Err(crate::table::mapping::refusal(sanare_core::outcome::Reason::ScaleOrUnit, why)),
        }
    }
    Ok(mappings)
}

fn expect(view: &View, container: &Place, name: &str, old_names: &[String], lost: bool) -> Expected {
    let place = container.then(Step::Key(name.to_owned()));
    Expected {
        name: name.to_owned(),
        needed: lost && view.needed(container, name),
        profile: remembered_profile(view, &place),
        position: old_names.iter().position(|known| known == name),
        implied_type: implied(view, &place),
    }
}

/// What the code makes of a leaf, or of the members of the list at a place.
pub(crate) fn implied(view: &View, place: &Place) -> Option<ImpliedType> {
    let member = place.then(Step::Member);
    view.reading.uses.iter().filter(|used| used.place == *place || used.place == member).find_map(|used| {
        match &used.how {
            Usage::Convert(name) if name == "int" => Some(ImpliedType::Int),
            Usage::Convert(name) if matches!(name.as_str(), "float" | "round" | "abs" | "decimal.Decimal") => {
                Some(ImpliedType::Float)
            }
            Usage::Convert(name) if name.starts_with("datetime.") || name.starts_with("time.") => {
                Some(ImpliedType::Date)
            }
            Usage::Convert(name) if name == "bool" => Some(ImpliedType::Flag),
            Usage::Arithmetic => Some(ImpliedType::Float),
            Usage::Concat => Some(ImpliedType::Text),
            Usage::Method(name)
                if matches!(
                    name.as_str(),
                    "strip" | "lower" | "upper" | "split" | "startswith" | "endswith" | "replace" | "title"
                ) =>
            {
                Some(ImpliedType::Text)
            }
            _ => None,
        }
    })
}

/// The keys of records, in order, each once.
pub(crate) fn record_keys(records: &[&Value]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for record in records {
        for (name, _) in record.as_map().unwrap_or_default() {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    names
}

/// `a is`, `a and b are`.
pub(crate) fn listed(names: &[&str], one: &str, many: &str) -> String {
    match names {
        [] => String::new(),
        [only] => format!("{only} {one}"),
        [rest @ .., last] => format!("{} and {last} {many}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use crate::kind::object_cases::{Case, check};

    const USERS: &str = "def load(data):\n    return [r[\"firstName\"] + \" \" + r[\"lastName\"] for r in data]\n";

    fn users(new: &'static str) -> Case<'static> {
        let old = r#"[{"firstName": "A", "lastName": "B"}]"#;
        Case { source: USERS, old, new, error: "KeyError: 'firstName'", at: "firstName", file: false }
    }

    #[test]
    fn all_lost_keys_are_mapped_together() {
        let parts = [
            "field(r, \"firstName\", \"first_name\") + \" \" + field(r, \"lastName\", \"last_name\")",
            "for key in (name, alias):",
            "raise KeyError(f\"neither {name!r} nor {alias!r} in {list(record)}\")",
        ];
        let case = users(r#"[{"first_name": "C", "last_name": "D"}, {"first_name": "E", "last_name": "F"}]"#);
        check(&case, &parts);
        check(&Case { old: "", ..case }, &parts);
    }

    #[test]
    fn keys_of_a_loop_and_optional_reads() {
        let source = "def load(data):\n    keys = (\"tempMax\", \"tempMin\")\n    return [[day[key] for key in keys] for day in data]\n";
        let case = Case {
            source,
            old: r#"[{"tempMax": 10, "tempMin": 1}]"#,
            new: r#"[{"temp_max": 20, "temp_min": 3}]"#,
            error: "KeyError: 'tempMax'",
            at: "day[key]",
            file: false,
        };
        check(&case, &["field(day, key)", "aliases = {\"tempMax\": \"temp_max\", \"tempMin\": \"temp_min\"}"]);
        let source = "def load(data):\n    return [r[\"fullName\"] + r.get(\"nickName\", \"\") for r in data]\n";
        let case = Case {
            source,
            old: r#"[{"fullName": "A", "nickName": "B"}]"#,
            new: r#"[{"full_name": "A", "nick_name": "B"}]"#,
            error: "KeyError: 'fullName'",
            at: "fullName",
            file: false,
        };
        check(&case, &["r.get(\"nickName\", r.get(\"nick_name\", \"\"))"]);
    }

    #[test]
    fn another_function_is_left_alone() {
        let source = "def read(row):\n    return row[\"Amount\"]\n\n\ndef load(data):\n    return sum(read(row) for row in data)\n";
        let case = Case {
            source,
            old: r#"[{"Amount": 5}]"#,
            new: r#"[{"amount": 7}]"#,
            error: "KeyError: 'Amount'",
            at: "row[\"Amount\"]",
            file: false,
        };
        check(
            &case,
            &["def read(row):\n    return row[\"Amount\"]\n", "sum(read(with_old_names(row)) for row in data)"],
        );
    }

    #[test]
    fn decoys_and_two_names_are_refused() {
        let case = Case {
            source: "def load(data):\n    return sum(r[\"amount\"] for r in data)\n",
            old: r#"[{"amount": 5, "day": "a"}]"#,
            new: r#"[{"refund_amount": 7, "day": "b"}]"#,
            error: "KeyError: 'amount'",
            at: "amount",
            file: false,
        };
        check(&case, &["vetoed: "]);
        check(&Case { new: r#"[{"order_number": 5001, "day": "b"}]"#, ..case }, &["no_identity: "]);
        check(&users(r#"[{"first_name": "C", "first name": "X", "last_name": "D"}]"#), &["ambiguous: "]);
    }
}
