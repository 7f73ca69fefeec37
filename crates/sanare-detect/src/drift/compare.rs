//! Drift tests: each column of a profile against the reference, significant and large before it counts (S44).

use sanare_core::service::Invalid;
use sanare_core::service::profile::{Column, Profile, Role, Sketch};

use super::reference::FEW;
use super::statistics::{chi_square, discoveries, ks_distance, ks_probability, merge_small, psi, variation};

/// The rate of false discoveries over all columns.
const RATE: f64 = 0.05;
/// What is large: an index, or a distance.
const LARGE_INDEX: f64 = 0.2;
const LARGE_DISTANCE: f64 = 0.1;
/// Groups of the index.
const GROUPS: usize = 10;

/// What was found of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDrift {
    /// Its name.
    pub name: String,
    /// What it is to the model.
    pub role: Role,
    /// The numbers; none where there were too few rows on a side, or nothing to compare.
    pub measured: Option<Measured>,
    /// Whether it has drifted: significant over all columns, and large.
    pub drifted: bool,
}

/// How far a column is from its reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// How probable so much is without drift.
    pub probability: f64,
    /// The population stability index.
    pub index: f64,
    /// The Kolmogorov–Smirnov distance of numbers, the total variation of words.
    pub distance: f64,
}

/// Compares a profile with its reference, column by column of the reference.
///
/// # Errors
/// [`Invalid`] for a profile of another reference.
pub fn compare(reference: &Profile, current: &Profile) -> Result<Vec<ColumnDrift>, Invalid> {
    same_reference(reference, current)?;
    let mut found: Vec<ColumnDrift> = Vec::new();
    for before in &reference.columns {
        let after = current.columns.iter().find(|column| column.name == before.name);
        let measured = after.map_or(Ok(None), |after| measure(before, after))?;
        found.push(ColumnDrift { name: before.name.clone(), role: before.role, measured, drifted: false });
    }
    let probabilities: Vec<f64> = found.iter().filter_map(|column| column.measured).map(|it| it.probability).collect();
    let mut significant = discoveries(&probabilities, RATE).into_iter();
    for column in &mut found {
        if let Some(measured) = column.measured {
            let large = measured.index >= LARGE_INDEX || measured.distance >= LARGE_DISTANCE;
            column.drifted = significant.next() == Some(true) && large;
        }
    }
    Ok(found)
}

/// Whether a profile was counted by the bins of this reference.
pub(super) fn same_reference(reference: &Profile, current: &Profile) -> Result<(), Invalid> {
    let names = |profile: &Profile| (profile.reference.clone(), profile.reference_version);
    if names(reference) != names(current) {
        return Err(Invalid::quoting("reference", &current.reference, "it is not the reference that is known here"));
    }
    if current.model_version.is_some() && reference.model_version != current.model_version {
        return Err(Invalid::new("model_version", "is not the one that the reference is bound to"));
    }
    Ok(())
}

fn measure(before: &Column, after: &Column) -> Result<Option<Measured>, Invalid> {
    let other = || Invalid::quoting("columns", &before.name, "its bins are those of another reference");
    match (&before.sketch, &after.sketch) {
        (Sketch::Numbers { edges, counts }, Sketch::Numbers { edges: others, counts: now }) => {
            if edges != others {
                return Err(other());
            }
            Ok(measure_numbers(counts, now))
        }
        (Sketch::Words { counts, others }, Sketch::Words { counts: now, others: rest }) => {
            if !counts.keys().eq(now.keys()) {
                return Err(other());
            }
            let row = |counts: &std::collections::BTreeMap<String, u64>, others: u64| -> Vec<u64> {
                counts.values().copied().chain([others]).collect()
            };
            Ok(measure_words(&row(counts, *others), &row(now, *rest)))
        }
        _ => Err(other()),
    }
}

fn enough(before: &[u64], after: &[u64]) -> Option<(u64, u64)> {
    let (before, after) = (before.iter().sum(), after.iter().sum());
    (before >= FEW && after >= FEW).then_some((before, after))
}

fn measure_numbers(before: &[u64], after: &[u64]) -> Option<Measured> {
    let (befores, afters) = enough(before, after)?;
    let distance = ks_distance(before, after)?;
    let (before, after) = grouped(before, after, befores);
    let index = psi(&before, &after)?;
    Some(Measured { probability: ks_probability(distance, befores, afters), index, distance })
}

fn measure_words(before: &[u64], after: &[u64]) -> Option<Measured> {
    enough(before, after)?;
    let (before, after) = merge_small(before, after);
    // One word only, on both sides: nothing can have changed.
    let (_, probability) = chi_square(&before, &after)?;
    Some(Measured { probability, index: psi(&before, &after)?, distance: variation(&before, &after)? })
}

/// Neighbouring bins joined to ten groups of about equal share of the reference.
fn grouped(before: &[u64], after: &[u64], befores: u64) -> (Vec<u64>, Vec<u64>) {
    let mut groups: Vec<(u64, u64)> = Vec::new();
    let (mut open, mut below) = ((0, 0), 0_u64);
    for (a, b) in before.iter().zip(after) {
        open = (open.0 + a, open.1 + b);
        below += a;
        let due = (groups.len() + 1) as f64 / GROUPS as f64;
        if below as f64 / befores as f64 >= due && groups.len() + 1 < GROUPS {
            groups.push(open);
            open = (0, 0);
        }
    }
    groups.push(open);
    groups.into_iter().unzip()
}

#[cfg(test)]
mod tests;
