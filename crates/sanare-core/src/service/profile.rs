//! Drift profiles: sketches of data that a client sends instead of rows (S43). Statistics over them are in `sanare-detect`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::invalid::Invalid;
use super::name::Version;

/// Columns of a profile, at most.
pub const COLUMNS: usize = 500;
/// Bins of a number, at most: 100 of equal share, as many again for single values that hold more, and one beyond each end.
pub const BINS: usize = 202;
/// Words that are counted apart, at most.
pub const CATEGORIES: usize = 200;
/// Bytes of a profile as JSON, at most.
pub const BYTES: usize = 256 * 1024;

/// A checked profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Profile(Written);

/// A profile as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// Name of the reference that gave the edges.
    pub reference: String,
    /// Its version.
    pub reference_version: u32,
    /// The model version that it is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_version: Option<Version>,
    /// Rows that it sums up.
    pub rows: u64,
    /// Its columns.
    pub columns: Vec<Column>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Rows without a value.
    pub nulls: u64,
    /// Rows with a value that is no number where numbers are counted, or the other way round.
    #[serde(default)]
    pub mistyped: u64,
    /// Whether it is a feature or the model's output.
    #[serde(default)]
    pub role: Role,
    /// What is known of its values.
    pub sketch: Sketch,
    /// Positive numbers by the floor of four times their logarithm to base 2: enough to see a change of unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub magnitudes: BTreeMap<i16, u64>,
}

/// What a column is to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Goes in.
    #[default]
    Feature,
    /// Comes out.
    Prediction,
}

/// Counts of values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Sketch {
    /// Numbers: `edges` ascending, one count more than edges. The first bin is below the first edge, each other one
    /// begins at its edge. Two equal edges enclose a bin for that single value.
    Numbers {
        /// Quantiles of the reference.
        edges: Vec<f64>,
        /// Rows a bin.
        counts: Vec<u64>,
    },
    /// Words: counts of the largest under a keyed hash, and of all others together.
    Words {
        /// Rows a hash.
        counts: BTreeMap<String, u64>,
        /// Rows of all other words.
        others: u64,
    },
}

impl Profile {
    /// Checks a profile.
    ///
    /// # Errors
    /// [`Invalid`] for the first thing that is wrong.
    pub fn new(written: Written) -> Result<Self, Invalid> {
        if written.reference.trim().is_empty() || written.reference.chars().count() > 128 {
            return Err(Invalid::new("reference", "is blank or longer than 128 characters"));
        }
        if written.columns.len() > COLUMNS {
            return Err(Invalid::new("columns", format!("are {}; at most {COLUMNS}", written.columns.len())));
        }
        let mut names = std::collections::BTreeSet::new();
        for column in &written.columns {
            check(column, written.rows).map_err(|invalid| invalid.within("columns"))?;
            if !names.insert(column.name.as_str()) {
                return Err(Invalid::quoting("columns.name", &column.name, "it stands twice"));
            }
        }
        Ok(Self(written))
    }
}

impl std::ops::Deref for Profile {
    type Target = Written;

    fn deref(&self) -> &Written {
        &self.0
    }
}

fn check(column: &Column, rows: u64) -> Result<(), Invalid> {
    if column.name.trim().is_empty() || column.name.chars().count() > 200 {
        return Err(Invalid::new("name", "is blank or longer than 200 characters"));
    }
    let counted = match &column.sketch {
        Sketch::Numbers { edges, counts } => {
            if counts.len() > BINS || counts.len() != edges.len() + 1 {
                return Err(Invalid::new("counts", format!("are one more than the edges, and at most {BINS}")));
            }
            if edges.iter().any(|edge| !edge.is_finite()) || edges.windows(2).any(|pair| pair[0] > pair[1]) {
                return Err(Invalid::new("edges", "are finite and ascend"));
            }
            counts.iter().try_fold(0_u64, |sum, count| sum.checked_add(*count))
        }
        Sketch::Words { counts, others } => {
            if counts.len() > CATEGORIES {
                return Err(Invalid::new("counts", format!("are of at most {CATEGORIES} words")));
            }
            let hash = |key: &str| (8..=64).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_hexdigit());
            if counts.keys().any(|key| !hash(key)) {
                return Err(Invalid::new("counts", "are told by hashes of 8 to 64 hex digits, never by words"));
            }
            counts.values().try_fold(*others, |sum, count| sum.checked_add(*count))
        }
    };
    let all = counted.and_then(|counted| counted.checked_add(column.nulls));
    match all.and_then(|all| all.checked_add(column.mistyped)) {
        Some(sum) if sum == rows => Ok(()),
        _ => Err(Invalid::new("counts", "and nulls do not add up to the rows")),
    }
}

impl TryFrom<Written> for Profile {
    type Error = Invalid;

    fn try_from(written: Written) -> Result<Self, Invalid> {
        Self::new(written)
    }
}

impl From<Profile> for Written {
    fn from(profile: Profile) -> Self {
        profile.0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::Profile;

    fn good() -> Json {
        json!({ "reference": "2026-01", "reference_version": 3, "rows": 100, "columns": [
            { "name": "age", "nulls": 5, "sketch": { "numbers": { "edges": [18.0, 18.0, 40.0], "counts": [5, 10, 40, 40] } } },
            { "name": "city", "nulls": 0, "role": "feature",
              "sketch": { "words": { "counts": { "0011223344556677": 90 }, "others": 10 } } },
        ] })
    }

    /// Changes one place of the good profile and tells the answer.
    fn check(path: &str, value: Json) -> String {
        let mut profile = good();
        *profile.pointer_mut(path).expect("a path of the good profile") = value;
        serde_json::from_value::<Profile>(profile).map_or_else(|error| error.to_string(), |_| "good".to_owned())
    }

    #[test]
    fn bad_profiles_are_refused_and_the_good_one_is_not() {
        assert_eq!(check("/rows", json!(100)), "good");
        assert!(check("/rows", json!(101)).contains("do not add up"));
        assert!(check("/columns/0/sketch/numbers/edges", json!([18.0, 17.0, 40.0])).contains("ascend"));
        assert!(check("/columns/0/sketch/numbers/edges", json!([18.0, 40.0])).contains("one more"));
        assert!(check("/columns/0/sketch/numbers/counts", json!([-5, 20, 40, 40])).contains("invalid value"));
        assert!(check("/columns/0/sketch/numbers/counts", json!([u64::MAX, 10, 40, 40])).contains("add up"));
        assert!(check("/columns/1/sketch/words/counts", json!({ "Berlin": 90 })).contains("hashes"));
        assert!(check("/columns/1/name", json!("age")).contains("stands twice"));
        assert!(check("/reference", json!(" ")).contains("blank"));
        let column = json!({ "name": "x", "nulls": 100, "sketch": { "words": { "counts": {}, "others": 0 } } });
        let many: Vec<Json> = (0..501)
            .map(|number| {
                let mut column = column.clone();
                column["name"] = json!(format!("c{number}"));
                column
            })
            .collect();
        assert!(check("/columns", json!(many)).contains("501"));
        assert_eq!(check("/columns", json!(many[..500])), "good");
    }
}
