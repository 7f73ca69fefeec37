//! When drift is an incident: an important column, or three columns of ten, in two profiles in a row (S44).

use std::collections::BTreeSet;

use sanare_core::service::profile::Role;
use sanare_core::service::{IncidentKind, Moment};
use serde::{Deserialize, Serialize};

use super::compare::ColumnDrift;
use crate::hold::{Change, Held, Hold, Sight};

/// The share of columns that is many.
const MANY: f64 = 0.3;

/// What counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriftRule {
    /// Features whose drift alone is an incident. Every output of the model is one.
    pub important: BTreeSet<String>,
}

/// What earlier profiles said, by features and by outputs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriftWatch {
    /// When the newest profile was that has decided.
    newest: u64,
    features: Side,
    outputs: Side,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Side {
    held: Held,
    /// Important columns that drifted in the profile before, by their place in the reference.
    last: Vec<u16>,
    many: bool,
    well: bool,
}

/// A condition that changed.
#[derive(Clone, Debug, PartialEq)]
pub struct DriftChange {
    /// Of features or of outputs.
    pub kind: IncidentKind,
    /// The change.
    pub change: Change,
    /// All columns of that side that have drifted now.
    pub columns: Vec<String>,
}

impl DriftWatch {
    /// The reference is another one: what the last profile was against it says nothing of the next.
    pub fn begin_anew(&mut self) {
        for side in [&mut self.features, &mut self.outputs] {
            (side.last, side.many, side.well) = (Vec::new(), false, false);
        }
    }
}

impl DriftRule {
    /// Takes what was found in one profile, in the reference's order of columns. One that is not newer than all before it
    /// decides nothing.
    pub fn step(&self, watch: &mut DriftWatch, found: &[ColumnDrift], at: Moment) -> Vec<DriftChange> {
        let mut changes = Vec::new();
        if at.micros() <= watch.newest {
            return changes;
        }
        watch.newest = at.micros();
        for (kind, role) in [(IncidentKind::InputDrift, Role::Feature), (IncidentKind::OutputDrift, Role::Prediction)] {
            let side = if role == Role::Feature { &mut watch.features } else { &mut watch.outputs };
            let columns: Vec<(u16, &ColumnDrift)> =
                (0..).zip(found).filter(|(_, column)| column.role == role).collect();
            if let Some(change) = self.judge(side, &columns, at) {
                let drifted = columns.iter().filter(|(_, column)| column.drifted);
                let columns = drifted.map(|(_, column)| column.name.clone()).collect();
                changes.push(DriftChange { kind, change, columns });
            }
        }
        changes
    }

    /// Whether a profile is well on the side of a role; none where too few rows say so.
    pub fn is_well(&self, found: &[ColumnDrift], role: Role) -> Option<bool> {
        let columns: Vec<&ColumnDrift> = found.iter().filter(|column| column.role == role).collect();
        let measured = columns.iter().filter(|column| column.measured.is_some()).count();
        let drifted = columns.iter().filter(|column| column.drifted);
        let (important, many) = (drifted.clone().any(|column| self.matters(column)), drifted.count());
        (measured > 0).then_some(!important && (many == 0 || (many as f64) < MANY * measured as f64))
    }

    fn matters(&self, column: &ColumnDrift) -> bool {
        column.role == Role::Prediction || self.important.contains(&column.name)
    }

    fn judge(&self, side: &mut Side, columns: &[(u16, &ColumnDrift)], at: Moment) -> Option<Change> {
        let measured = columns.iter().filter(|(_, column)| column.measured.is_some()).count();
        if measured == 0 {
            // Insufficient: it says nothing, and is no link between two profiles.
            (side.last, side.many, side.well) = (Vec::new(), false, false);
            return Hold::missing(&mut side.held, at);
        }
        let drifted: Vec<&(u16, &ColumnDrift)> = columns.iter().filter(|(_, column)| column.drifted).collect();
        let now: Vec<u16> =
            drifted.iter().filter(|(_, column)| self.matters(column)).map(|(place, _)| *place).collect();
        let many = drifted.len() as f64 >= MANY * measured as f64 && !drifted.is_empty();
        let well = now.is_empty() && !many;
        let again = now.iter().any(|place| side.last.contains(place)) || (many && side.many);
        let sight = match (again, well && side.well) {
            (true, _) => Sight::Bad,
            (false, true) => Sight::Good,
            (false, false) => Sight::Between,
        };
        (side.last, side.many, side.well) = (now, many, well);
        Hold { pending: 0, keep: 0 }.step(&mut side.held, at, sight, 0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use sanare_core::service::Moment;
    use sanare_core::service::profile::Role;

    use super::{ColumnDrift, DriftRule, DriftWatch};
    use crate::drift::compare::Measured;

    /// Profiles of ten features a to j and one output z; letters drift, `!` is one with too few rows.
    fn check(profiles: &[&str]) -> Vec<String> {
        let rule = DriftRule { important: BTreeSet::from(["a".to_owned()]) };
        let mut watch = DriftWatch::default();
        let mut told = Vec::new();
        for (hour, profile) in profiles.iter().enumerate() {
            let column = |name: char| ColumnDrift {
                name: name.to_string(),
                role: if name == 'z' { Role::Prediction } else { Role::Feature },
                measured: (*profile != "!").then_some(Measured { probability: 0.0, index: 1.0, distance: 1.0 }),
                drifted: profile.contains(name),
            };
            let found: Vec<ColumnDrift> = "abcdefghijz".chars().map(column).collect();
            for change in rule.step(&mut watch, &found, Moment::from_millis(hour as u64 + 1)) {
                told.push(format!("{hour} {} {} {}", change.kind, change.change.to, change.columns.join("")));
            }
        }
        told
    }

    #[test]
    fn an_important_column_twice_in_a_row() {
        assert_eq!(check(&["a", "ab"]), ["1 input_drift firing ab"]);
        assert_eq!(check(&["a", "", "a", ""]), Vec::<String>::new());
        assert_eq!(check(&["a", "!", "a"]), Vec::<String>::new(), "too few rows are no link");
        assert_eq!(check(&["b", "b", "b"]), Vec::<String>::new(), "one column that is not important");
        assert_eq!(check(&["a", "a", "", ""]), ["1 input_drift firing a", "3 input_drift cleared "]);
        assert_eq!(check(&["a", "a", "", "!", "", ""]), ["1 input_drift firing a", "5 input_drift cleared "]);
    }

    #[test]
    fn an_older_profile_decides_nothing() {
        let rule = DriftRule { important: BTreeSet::from(["a".to_owned()]) };
        let measured = Some(Measured { probability: 0.0, index: 1.0, distance: 1.0 });
        let column = ColumnDrift { name: "a".to_owned(), role: Role::Feature, measured, drifted: true };
        let changes = |times: &[u64]| {
            let mut watch = DriftWatch::default();
            let found = std::slice::from_ref(&column);
            times.iter().map(|time| rule.step(&mut watch, found, Moment::from_millis(*time)).len()).sum::<usize>()
        };
        assert_eq!(changes(&[1, 2]), 1);
        assert_eq!(changes(&[2, 1]), 0);
        assert_eq!(changes(&[2, 2]), 0, "the same again is not two in a row");
    }

    #[test]
    fn three_columns_of_ten_twice_in_a_row() {
        assert_eq!(check(&["bcd", "efg"]), ["1 input_drift firing efg"]);
        assert_eq!(check(&["bc", "bc", "bc"]), Vec::<String>::new());
        assert_eq!(check(&["bcd", "bc", "bcd"]), Vec::<String>::new());
    }

    #[test]
    fn outputs_have_an_incident_of_their_own() {
        assert_eq!(check(&["z", "z"]), ["1 output_drift firing z"]);
        assert_eq!(check(&["az", "az"]), ["1 input_drift firing a", "1 output_drift firing z"]);
    }
}
