//! Schemas: types, nulls, ranges and words of columns, and features that are gone (S45).

use std::collections::BTreeMap;

use sanare_core::service::profile::{Column, Profile, Sketch};
use sanare_core::service::{IncidentKind, Invalid, Moment};
use serde::{Deserialize, Serialize};

use super::compare::same_reference;
use super::reference::FEW;
use super::unit::{UnitChange, changed};
use crate::hold::{Change, Held, Hold, Sight};

/// The share of rows that may break a rule.
const BROKEN: f64 = 0.01;
/// The share of rows in which a feature may be empty, and in which it may have been in the reference.
const EMPTY: f64 = 0.05;
const EMPTY_BEFORE: f64 = 0.01;

/// What a model version expects of its features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// By name.
    pub columns: BTreeMap<String, Expected>,
}

/// What is expected of one column.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Whether rows may lack it.
    pub nullable: bool,
    /// Least and largest number; none where any will do.
    pub range: Option<(f64, f64)>,
    /// Whether words that the reference does not know are wrong.
    pub closed: bool,
}

/// What is wrong with a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Breach {
    /// It is not there.
    Absent,
    /// It is empty in this share of rows, and was not in the reference.
    Empty(f64),
    /// It may not be empty, and is in this share.
    Null(f64),
    /// Another type in this share.
    Mistyped(f64),
    /// Outside of its range in this share; perhaps because its unit is another one.
    OutOfRange(f64, Option<UnitChange>),
    /// Words that nobody knows in this share.
    UnknownWord(f64),
}

/// A breach and its column.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// The column.
    pub column: String,
    /// What is wrong.
    pub breach: Breach,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.column, self.breach)
    }
}

impl std::fmt::Display for Breach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        match self {
            Self::Absent => f.write_str("absent"),
            Self::Empty(share) | Self::Null(share) => write!(f, "empty in {}", percent(*share)),
            Self::Mistyped(share) => write!(f, "another type in {}", percent(*share)),
            Self::OutOfRange(share, None) => write!(f, "out of range in {}", percent(*share)),
            Self::OutOfRange(share, Some(unit)) => {
                write!(f, "out of range in {}, probably another unit: {unit}", percent(*share))
            }
            Self::UnknownWord(share) => write!(f, "unknown words in {}", percent(*share)),
        }
    }
}

impl Breach {
    /// The kind of incident that it is.
    pub fn kind(self) -> IncidentKind {
        match self {
            Self::Absent | Self::Empty(_) => IncidentKind::FeatureMissing,
            _ => IncidentKind::SchemaViolation,
        }
    }
}

impl Schema {
    /// The schema that a reference suggests; a person confirms it.
    pub fn learn(reference: &Profile) -> Self {
        let expected = |column: &Column| {
            let (range, closed) = match &column.sketch {
                Sketch::Numbers { edges, .. } => (edges.first().copied().zip(edges.last().copied()), false),
                Sketch::Words { others, .. } => (None, *others == 0),
            };
            Expected { nullable: column.nulls > 0, range, closed }
        };
        Self { columns: reference.columns.iter().map(|column| (column.name.clone(), expected(column))).collect() }
    }

    /// Everything in a profile that breaks it. Nothing is said of fewer than 200 rows.
    ///
    /// # Errors
    /// [`Invalid`] for a profile of another reference.
    pub fn check(&self, reference: &Profile, current: &Profile) -> Result<Vec<Violation>, Invalid> {
        same_reference(reference, current)?;
        let mut found = Vec::new();
        if current.rows < FEW {
            return Ok(found);
        }
        for (name, expected) in &self.columns {
            let named = |profile: &Profile| profile.columns.iter().find(|column| column.name == *name).cloned();
            let before = named(reference);
            let breaches = match named(current) {
                None => vec![Breach::Absent],
                Some(after) => breaches(expected, before.as_ref(), reference.rows, &after, current.rows),
            };
            found.extend(breaches.into_iter().map(|breach| Violation { column: name.clone(), breach }));
        }
        Ok(found)
    }
}

fn breaches(expected: &Expected, before: Option<&Column>, rows_before: u64, after: &Column, rows: u64) -> Vec<Breach> {
    let share = |count: u64| count as f64 / rows as f64;
    let mut found = Vec::new();
    let empty = share(after.nulls);
    let empty_before = before.map_or(0.0, |before| before.nulls as f64 / rows_before.max(1) as f64);
    if empty > EMPTY && empty_before < EMPTY_BEFORE {
        found.push(Breach::Empty(empty));
    } else if !expected.nullable && empty > BROKEN {
        found.push(Breach::Null(empty));
    }
    if share(after.mistyped) > BROKEN {
        found.push(Breach::Mistyped(share(after.mistyped)));
    }
    match &after.sketch {
        Sketch::Numbers { edges, counts } => {
            let outside = share(outside(edges, counts, expected.range));
            if outside > BROKEN {
                let unit = before.and_then(|before| changed(&before.magnitudes, &after.magnitudes));
                found.push(Breach::OutOfRange(outside, unit));
            }
        }
        Sketch::Words { others, .. } => {
            if expected.closed && share(*others) > BROKEN {
                found.push(Breach::UnknownWord(share(*others)));
            }
        }
    }
    found
}

/// Rows in bins that lie wholly outside of a range.
fn outside(edges: &[f64], counts: &[u64], range: Option<(f64, f64)>) -> u64 {
    let Some((least, largest)) = range else { return 0 };
    let mut rows = 0;
    for (place, count) in counts.iter().enumerate() {
        let begins = place.checked_sub(1).and_then(|place| edges.get(place));
        let below = edges.get(place).is_some_and(|end| *end <= least);
        // The last edge of a learned reference is the next number after its largest, or that number itself, twice.
        let above = begins.is_some_and(|begin| {
            // A bin of one value: it encloses it, or ends right after it.
            let alone = edges.get(place).is_some_and(|end| *end <= begin.next_up());
            *begin > largest || (*begin == largest && !alone)
        });
        if below || above {
            rows += count;
        }
    }
    rows
}

/// What earlier profiles said of a schema.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SchemaWatch {
    /// When the newest profile was that has decided.
    newest: u64,
    sides: [Side; 2],
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Side {
    held: Held,
    /// Places in the schema of the columns that were broken in the profile before.
    last: Vec<u16>,
    seen: bool,
}

/// A condition that changed.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaChange {
    /// Broken, or missing.
    pub kind: IncidentKind,
    /// The change.
    pub change: Change,
    /// What is wrong now.
    pub violations: Vec<Violation>,
}

impl SchemaWatch {
    /// The reference is another one: what the last profile broke says nothing of the next.
    pub fn begin_anew(&mut self) {
        for side in &mut self.sides {
            (side.last, side.seen) = (Vec::new(), false);
        }
    }
}

impl Schema {
    /// The range that the bins of a reference cannot tell from a wider one, by its column: where a bin holds numbers on
    /// both sides of an end, nobody knows how many of them are beyond it.
    pub fn blurred(&self, reference: &Profile) -> Option<&str> {
        let mut ranges = self.columns.iter().filter_map(|(name, expected)| Some((name, expected.range?)));
        let named = |name: &str| reference.columns.iter().find(|column| column.name == name);
        let blurred = |(name, (least, largest)): &(&String, (f64, f64))| match named(name).map(|column| &column.sketch)
        {
            Some(Sketch::Numbers { edges, .. }) => {
                let ends = *least == f64::NEG_INFINITY || edges.contains(least);
                !ends
                    || !(*largest == f64::INFINITY
                        || edges.iter().any(|edge| edge == largest || *edge == largest.next_up()))
            }
            _ => true,
        };
        ranges.find(|range| blurred(range)).map(|(name, _)| name.as_str())
    }

    /// Takes the violations of one profile of enough rows: a column that is broken twice in a row opens, two profiles
    /// without any clear. One that is not newer than all before it decides nothing.
    pub fn step(&self, watch: &mut SchemaWatch, found: &[Violation], at: Moment) -> Vec<SchemaChange> {
        let kinds = [IncidentKind::SchemaViolation, IncidentKind::FeatureMissing];
        let mut changes = Vec::new();
        if at.micros() <= watch.newest {
            return changes;
        }
        watch.newest = at.micros();
        for (kind, side) in kinds.into_iter().zip(&mut watch.sides) {
            let violations: Vec<Violation> =
                found.iter().filter(|violation| violation.breach.kind() == kind).cloned().collect();
            let place = |name: &str| self.columns.keys().position(|column| column == name);
            let places = violations.iter().filter_map(|violation| place(&violation.column));
            let now: Vec<u16> = places.filter_map(|place| u16::try_from(place).ok()).collect();
            let sight = match () {
                () if now.iter().any(|place| side.last.contains(place)) => Sight::Bad,
                () if now.is_empty() && side.last.is_empty() && side.seen => Sight::Good,
                () => Sight::Between,
            };
            (side.last, side.seen) = (now, true);
            let hold = Hold { pending: 0, keep: 0 };
            if let Some(change) = hold.step(&mut side.held, at, sight, 0) {
                changes.push(SchemaChange { kind, change, violations });
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use sanare_core::service::Moment;
    use sanare_core::service::profile::{Profile, Role};

    use super::{Schema, SchemaWatch};
    use crate::drift::reference::{Cell, Cells, Named, learn, learn_with, sketch};

    const ROWS: usize = 1_000;

    fn column(name: &str, cell: impl Fn(usize) -> Cell) -> Cells {
        Cells { name: name.to_owned(), role: Role::Feature, cells: (0..ROWS).map(cell).collect() }
    }

    fn height(place: usize) -> f64 {
        1.5 + place as f64 * 0.000_5
    }

    fn heights() -> Cells {
        column("height", |place| Cell::Number(height(place)))
    }

    fn cities() -> Cells {
        column("city", |place| Cell::Word(["Bern", "Genf", "Chur"][place % 3].to_owned()))
    }

    fn reference() -> Profile {
        let named = Named { name: "r".to_owned(), version: 1, model_version: None };
        learn(&named, b"k", &[heights(), cities()]).expect("a reference")
    }

    /// Two profiles in a row of these columns: what opens, of which columns and why.
    fn check(columns: &[Cells]) -> Vec<String> {
        let reference = reference();
        let schema = Schema::learn(&reference);
        let current = sketch(&reference, b"k", columns).expect("a profile");
        let found = schema.check(&reference, &current).expect("comparable");
        let mut watch = SchemaWatch::default();
        let first = schema.step(&mut watch, &found, Moment::from_millis(1));
        assert!(first.is_empty(), "one profile opens nothing: {first:?}");
        let mut told = Vec::new();
        for change in schema.step(&mut watch, &found, Moment::from_millis(2)) {
            for violation in change.violations {
                told.push(format!("{} {} {:?}", change.kind, violation.column, violation.breach));
            }
        }
        assert!(schema.step(&mut watch, &[], Moment::from_millis(3)).is_empty());
        let cleared = schema.step(&mut watch, &[], Moment::from_millis(4));
        assert_eq!(cleared.is_empty(), told.is_empty());
        told
    }

    #[test]
    fn the_right_kind_and_columns() {
        assert_eq!(check(&[heights(), cities()]), Vec::<String>::new());
        let renamed = Cells { name: "size".to_owned(), ..heights() };
        assert_eq!(check(&[renamed, cities()]), ["feature_missing height Absent"]);
        assert_eq!(check(&[heights()]), ["feature_missing city Absent"]);
        let text = column("height", |place| Cell::Word(height(place).to_string()));
        assert_eq!(check(&[text, cities()]), ["schema_violation height Mistyped(1.0)"], "numbers as text");
        let null = column("height", |_| Cell::Null);
        assert_eq!(check(&[null, cities()]), ["feature_missing height Empty(1.0)"]);
        let three = column("height", |place| if place < 30 { Cell::Null } else { Cell::Number(height(place)) });
        assert_eq!(check(&[three, cities()]), ["schema_violation height Null(0.03)"]);
        let ten = column("height", |place| if place < 10 { Cell::Null } else { Cell::Number(height(place)) });
        assert_eq!(check(&[ten, cities()]), Vec::<String>::new(), "1 % is not over 1 %");
    }

    /// Missing is what was there before: a feature that is empty now and then in the reference too is not missing.
    #[test]
    fn what_is_empty_in_the_reference_too_is_not_missing() {
        let told = |before: usize, after: usize| {
            let of = |rows: usize| {
                column("height", move |place| if place < rows { Cell::Null } else { Cell::Number(height(place)) })
            };
            let named = Named { name: "r".to_owned(), version: 1, model_version: None };
            let reference = learn(&named, b"k", &[of(before)]).expect("a reference");
            let current = sketch(&reference, b"k", &[of(after)]).expect("a profile");
            let found = Schema::learn(&reference).check(&reference, &current).expect("comparable");
            found.iter().map(|violation| format!("{:?}", violation.breach)).collect::<Vec<_>>()
        };
        assert_eq!(told(9, 51), ["Empty(0.051)"], "in under 1 % before, in over 5 % now");
        assert_eq!(told(10, 51), Vec::<String>::new());
        assert_eq!(told(9, 50), Vec::<String>::new());
    }

    #[test]
    fn a_range_is_one_that_the_bins_can_tell() {
        let reference = reference();
        let mut schema = Schema::learn(&reference);
        assert_eq!(schema.blurred(&reference), None, "what was learned fits");
        schema.columns.get_mut("height").expect("a column").range = Some((f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!(schema.blurred(&reference), None);
        schema.columns.get_mut("height").expect("a column").range = Some((0.0, 10.0));
        assert_eq!(schema.blurred(&reference), Some("height"));
        let cuts = [("height".to_owned(), vec![0.0, 10.0])].into();
        let named = Named { name: "r".to_owned(), version: 1, model_version: None };
        let wide = learn_with(&named, b"k", &[heights(), cities()], &cuts).expect("a reference");
        assert_eq!(schema.blurred(&wide), None, "it was learned with them");
        let broken = |value: f64| {
            let cells = column("height", |place| Cell::Number(if place < 20 { value } else { height(place) }));
            let current = sketch(&wide, b"k", &[cells, cities()]).expect("a profile");
            schema.check(&wide, &current).expect("comparable").len()
        };
        assert_eq!([-0.1, 0.0, 9.9, 10.0, 10.1].map(broken), [1, 0, 0, 0, 1]);
    }

    #[test]
    fn a_new_word_counts_from_one_percent_on() {
        let with = |count: usize| {
            column("city", move |place| {
                Cell::Word(if place < count { "Visp" } else { ["Bern", "Genf", "Chur"][place % 3] }.to_owned())
            })
        };
        assert_eq!(check(&[heights(), with(5)]), Vec::<String>::new());
        assert_eq!(check(&[heights(), with(50)]), ["schema_violation city UnknownWord(0.05)"]);
    }

    #[test]
    fn other_units_are_out_of_range_and_named_where_they_can_be() {
        let times = |factor: f64| column("height", move |place| Cell::Number(height(place) * factor));
        assert_eq!(check(&[times(3.280_84), cities()]), ["schema_violation height OutOfRange(1.0, None)"], "feet");
        assert_eq!(
            check(&[times(100.0), cities()]),
            ["schema_violation height OutOfRange(1.0, Some(Times(100.0)))"],
            "centimetres"
        );
    }

    #[test]
    fn ends_of_a_range_belong_to_it_and_few_rows_say_nothing() {
        let ends = column("height", |place| Cell::Number(if place % 2 == 0 { height(0) } else { height(ROWS - 1) }));
        assert_eq!(check(&[ends, cities()]), Vec::<String>::new());
        let reference = reference();
        let few = Cells { cells: vec![Cell::Null; 199], ..heights() };
        let current = sketch(&reference, b"k", &[few]).expect("a profile");
        assert_eq!(Schema::learn(&reference).check(&reference, &current), Ok(Vec::new()));
    }
}
