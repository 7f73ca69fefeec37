//! Bins hold what they promise, profiles merge in any order, and no value leaves.

use proptest::prelude::*;
use sanare_core::service::Profile;
use sanare_core::service::profile::{Column, Role, Sketch};

use super::{Cell, Cells, Named, learn, merge, sketch, word_key};
use crate::drift::compare::compare;
use crate::drift::statistics::ks_distance;

const KEY: &[u8] = b"a key of the owner";

fn named() -> Named {
    Named { name: "2026-01".to_owned(), version: 1, model_version: None }
}

fn numbers(values: &[f64]) -> Cells {
    let cells = values.iter().map(|value| Cell::Number(*value)).collect();
    Cells { name: "x".to_owned(), role: Role::Feature, cells }
}

fn words(values: &[&str]) -> Cells {
    let cells = values.iter().map(|value| Cell::Word((*value).to_owned())).collect();
    Cells { name: "w".to_owned(), role: Role::Feature, cells }
}

fn counts(profile: &Profile) -> Vec<u64> {
    match profile.columns.first().map(|column| &column.sketch) {
        Some(Sketch::Numbers { counts, .. }) => counts.clone(),
        _ => Vec::new(),
    }
}

/// The largest difference of two empirical distributions, by looking at every value.
fn exact(left: &[f64], right: &[f64]) -> f64 {
    let share =
        |values: &[f64], at: f64| values.iter().filter(|value| **value <= at).count() as f64 / values.len() as f64;
    left.iter().chain(right).map(|at| (share(left, *at) - share(right, *at)).abs()).fold(0.0, f64::max)
}

/// Values with ties, runs of one value, and a spread.
fn values() -> impl Strategy<Value = Vec<f64>> {
    let value = prop_oneof![
        4 => -3.0..3.0_f64,
        2 => (0_i32..12).prop_map(f64::from),
        1 => Just(7.0),
        1 => prop_oneof![Just(f64::MIN), Just(f64::MAX), Just(0.0), Just(-0.0), Just(5e-324)],
    ];
    prop::collection::vec(value, 200..700)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn the_binned_distance_lacks_at_most_a_hundredth(before in values(), after in values()) {
        let reference = learn(&named(), KEY, &[numbers(&before)]).expect("a reference");
        let current = sketch(&reference, KEY, &[numbers(&after)]).expect("a profile");
        let binned = ks_distance(&counts(&reference), &counts(&current)).expect("a distance");
        let exact = exact(&before, &after);
        prop_assert!(binned <= exact + 1e-12, "{} over {}", binned, exact);
        prop_assert!(binned >= exact - 0.01 - 1e-12, "{} under {}", binned, exact);
    }

    #[test]
    fn profiles_merge_in_any_order_to_the_same(parts in prop::collection::vec(values(), 2..6), turn in any::<prop::sample::Index>()) {
        let reference = learn(&named(), KEY, &[numbers(parts.first().expect("a part"))]).expect("a reference");
        let mut profiles: Vec<Profile> =
            parts.iter().map(|part| sketch(&reference, KEY, &[numbers(part)]).expect("a profile")).collect();
        let whole: Vec<f64> = parts.concat();
        let whole = sketch(&reference, KEY, &[numbers(&whole)]).expect("a profile");
        let turned = turn.index(profiles.len());
        profiles.rotate_left(turned);
        let forth = profiles.iter().skip(1).try_fold(profiles[0].clone(), |all, next| merge(&all, next)).expect("merged");
        profiles.reverse();
        let back = profiles.iter().skip(1).try_fold(profiles[0].clone(), |all, next| merge(next, &all)).expect("merged");
        prop_assert_eq!(&forth, &whole);
        prop_assert_eq!(&back, &whole);
    }
}

#[test]
fn bins_are_told_apart_at_their_edges() {
    let values: Vec<f64> = (0..1_000).map(|place| if place < 300 { 5.0 } else { f64::from(place) }).collect();
    let reference = learn(&named(), KEY, &[numbers(&values)]).expect("a reference");
    let of = |value: f64| {
        let current = sketch(&reference, KEY, &[numbers(&[value])]).expect("a profile");
        counts(&current).iter().position(|count| *count == 1).expect("a bin")
    };
    assert_eq!(counts(&reference)[of(5.0)], 300, "a value that is common has a bin of its own");
    assert_ne!(of(5.0), of(5.0_f64.next_down()));
    assert_ne!(of(5.0), of(5.0_f64.next_up()));
    assert_eq!(of(4.0), 0, "below all that was seen");
    assert_eq!(of(1e300), counts(&reference).len() - 1, "above all that was seen");
    assert_eq!(counts(&reference)[0] + counts(&reference)[of(1e300)], 0);
    assert!(counts(&reference).len() <= 101);
}

#[test]
fn what_is_no_number_is_counted_as_such() {
    let values: Vec<f64> = (0..400).map(f64::from).collect();
    let reference = learn(&named(), KEY, &[numbers(&values)]).expect("a reference");
    let mut cells = numbers(&[1.0, f64::NAN, f64::INFINITY]);
    cells.cells.extend([Cell::Null, Cell::Word("12".to_owned())]);
    let current = sketch(&reference, KEY, &[cells]).expect("a profile");
    let column = &current.columns[0];
    assert_eq!((current.rows, column.nulls, column.mistyped), (5, 3, 1));
}

#[test]
fn no_word_leaves_and_only_the_largest_are_told_apart() {
    let many: Vec<String> = (0..300).flat_map(|word| vec![format!("secret-{word}"); 1 + 300 - word]).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let reference = learn(&named(), KEY, &[words(&many)]).expect("a reference");
    let Some(Column { sketch: Sketch::Words { counts, others }, .. }) = reference.columns.first() else {
        panic!("no words")
    };
    assert_eq!(counts.len(), 200);
    assert_eq!(counts.get(&word_key(KEY, "secret-0")), Some(&301));
    assert_eq!(*others, (2..=101).sum::<u64>());
    let json = serde_json::to_string(&reference).expect("json");
    assert!(!json.contains("secret"));
    assert_ne!(word_key(KEY, "a"), word_key(b"another key", "a"));
}

#[test]
fn a_column_that_one_part_lacks_was_empty_there() {
    let values: Vec<f64> = (0..400).map(f64::from).collect();
    let other = Cells { name: "y".to_owned(), ..numbers(&values) };
    let reference = learn(&named(), KEY, &[numbers(&values), other.clone()]).expect("a reference");
    let both = sketch(&reference, KEY, &[numbers(&values), other]).expect("a profile");
    let one = sketch(&reference, KEY, &[numbers(&values)]).expect("a profile");
    let merged = merge(&both, &one).expect("merged");
    assert_eq!(merged, merge(&one, &both).expect("merged"));
    assert_eq!((merged.rows, merged.columns[1].nulls), (800, 400));
}

#[test]
fn bad_references_and_profiles_are_refused() {
    let values: Vec<f64> = (0..400).map(f64::from).collect();
    let field = |result: Result<Profile, sanare_core::service::Invalid>| result.err().map(|invalid| invalid.field);
    assert_eq!(field(learn(&named(), KEY, &[numbers(&values[..199])])).as_deref(), Some("rows"));
    let uneven = Cells { name: "y".to_owned(), ..numbers(&values[..300]) };
    assert_eq!(field(learn(&named(), KEY, &[numbers(&values), uneven])).as_deref(), Some("columns"));
    let twice = learn(&named(), KEY, &[numbers(&values), numbers(&values)]);
    assert_eq!(field(twice).as_deref(), Some("columns.name"));
    let reference = learn(&named(), KEY, &[numbers(&values)]).expect("a reference");
    let other = learn(&Named { version: 2, ..named() }, KEY, &[numbers(&values)]).expect("a reference");
    let current = sketch(&other, KEY, &[numbers(&values)]).expect("a profile");
    assert_eq!(compare(&reference, &current).err().map(|invalid| invalid.field).as_deref(), Some("reference"));
    assert_eq!(field(merge(&reference, &other)).as_deref(), Some("reference"));
    let shifted: Vec<f64> = values.iter().map(|value| value + 0.5).collect();
    let shifted = learn(&named(), KEY, &[numbers(&shifted)]).expect("a reference");
    assert_eq!(compare(&reference, &shifted).err().map(|invalid| invalid.field).as_deref(), Some("columns"));
}
