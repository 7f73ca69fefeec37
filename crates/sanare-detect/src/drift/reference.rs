//! References and sketches: rows become counts in the process that has the rows, and only the counts leave it (S43).

use std::collections::BTreeMap;

use sanare_core::hash::Digest;
use sanare_core::service::profile::{BINS, CATEGORIES, Column, Profile, Role, Sketch, Written};
use sanare_core::service::{Invalid, Version};

/// Rows below which a reference is not learned.
pub const FEW: u64 = 200;
/// The share of the reference that a bin holds at most, so that the distance seen on bins lacks no more than this.
const SHARE: f64 = 0.01;

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// None, or a number that is none.
    Null,
    /// A number.
    Number(f64),
    /// Anything else, as text; it is hashed and not kept.
    Word(String),
}

/// The values of one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells {
    /// The column's name.
    pub name: String,
    /// What it is to the model.
    pub role: Role,
    /// Its values, one a row.
    pub cells: Vec<Cell>,
}

/// What a reference is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// The model version that it is bound to.
    pub model_version: Option<Version>,
}

/// Learns a reference: where the bins of each number begin, and which words are the largest.
///
/// # Errors
/// [`Invalid`] for fewer than 200 rows, columns of different lengths, or what a profile does not hold.
pub fn learn(named: &Named, key: &[u8], columns: &[Cells]) -> Result<Profile, Invalid> {
    learn_with(named, key, columns, &BTreeMap::new())
}

/// The same, with numbers by column at which a bin has to begin and another one end: the ends of ranges that are expected.
///
/// # Errors
/// As [`learn`].
pub fn learn_with(
    named: &Named,
    key: &[u8],
    columns: &[Cells],
    cuts: &BTreeMap<String, Vec<f64>>,
) -> Result<Profile, Invalid> {
    let rows = rows_of(columns)?;
    if rows < FEW {
        return Err(Invalid::new("rows", format!("are {rows}; a reference needs {FEW}")));
    }
    let blank: Vec<Column> = columns
        .iter()
        .map(|cells| blank(cells, key, cuts.get(&cells.name).map(Vec::as_slice).unwrap_or_default()))
        .collect();
    written(named, rows, columns, &blank, key)
}

/// Counts rows by the bins and words of a reference. A column that the reference does not have is left out.
///
/// # Errors
/// [`Invalid`] for columns of different lengths or named twice.
pub fn sketch(reference: &Profile, key: &[u8], columns: &[Cells]) -> Result<Profile, Invalid> {
    let rows = rows_of(columns)?;
    let named = Named {
        name: reference.reference.clone(),
        version: reference.reference_version,
        model_version: reference.model_version.clone(),
    };
    written(&named, rows, columns, &reference.columns, key)
}

/// Two profiles of one reference as one. In whatever order many are merged, the result is the same. A column that one of
/// them lacks was empty there.
///
/// # Errors
/// [`Invalid`] where they are not of one reference.
pub fn merge(left: &Profile, right: &Profile) -> Result<Profile, Invalid> {
    let names =
        |profile: &Profile| (profile.reference.clone(), profile.reference_version, profile.model_version.clone());
    if names(left) != names(right) {
        return Err(Invalid::new("reference", "is another one; profiles of two references are not merged"));
    }
    let mut columns: BTreeMap<&str, Column> = BTreeMap::new();
    for (side, other) in [(left, right), (right, left)] {
        for column in &side.columns {
            match columns.get_mut(column.name.as_str()) {
                Some(merged) => add(merged, column)?,
                None => {
                    let mut first = column.clone();
                    if !other.columns.iter().any(|column| column.name == first.name) {
                        first.nulls = first.nulls.saturating_add(other.rows);
                    }
                    columns.insert(&column.name, first);
                }
            }
        }
    }
    let columns = columns.into_values().collect();
    Profile::new(Written { rows: left.rows.saturating_add(right.rows), columns, ..(**left).clone() })
}

/// The key of a word: a keyed hash, so that a profile holds no word and two owners' profiles cannot be compared.
pub fn word_key(key: &[u8], word: &str) -> String {
    Digest::of_parts(&[key, word.as_bytes()]).as_str().chars().take(16).collect()
}

fn rows_of(columns: &[Cells]) -> Result<u64, Invalid> {
    let rows = columns.first().map_or(0, |column| column.cells.len());
    if columns.iter().any(|column| column.cells.len() != rows) {
        return Err(Invalid::new("columns", "have different numbers of rows"));
    }
    Ok(rows as u64)
}

fn written(named: &Named, rows: u64, cells: &[Cells], like: &[Column], key: &[u8]) -> Result<Profile, Invalid> {
    let mut columns = Vec::new();
    for cells in cells {
        if let Some(like) = like.iter().find(|column| column.name == cells.name) {
            columns.push(count(like, cells, key));
        }
    }
    columns.sort_by(|a, b| a.name.cmp(&b.name));
    Profile::new(Written {
        reference: named.name.clone(),
        reference_version: named.version,
        model_version: named.model_version.clone(),
        rows,
        columns,
    })
}

/// A column without counts, with the bins or words that its values suggest.
fn blank(cells: &Cells, key: &[u8], cuts: &[f64]) -> Column {
    let numbers: Vec<f64> = cells.cells.iter().filter_map(number).collect();
    let words: Vec<&str> = cells.cells.iter().filter_map(word).collect();
    let sketch = if words.len() * 100 <= numbers.len() && !numbers.is_empty() {
        let edges = edges(numbers, cuts);
        Sketch::Numbers { counts: vec![0; edges.len() + 1], edges }
    } else {
        let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
        for word in words {
            *sizes.entry(word_key(key, word)).or_default() += 1;
        }
        let mut largest: Vec<(String, u64)> = sizes.into_iter().collect();
        largest.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Sketch::Words { counts: largest.into_iter().take(CATEGORIES).map(|(key, _)| (key, 0)).collect(), others: 0 }
    };
    Column { name: cells.name.clone(), nulls: 0, mistyped: 0, role: cells.role, sketch, magnitudes: BTreeMap::new() }
}

fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Number(number) if number.is_finite() => Some(*number),
        _ => None,
    }
}

fn word(cell: &Cell) -> Option<&str> {
    match cell {
        Cell::Word(word) => Some(word),
        _ => None,
    }
}

/// Where bins begin: none holds over a hundredth of the numbers, but for a value that does so alone and has a bin of its
/// own. The first bin lies below the least number, the last above the largest.
fn edges(mut numbers: Vec<f64>, cuts: &[f64]) -> Vec<f64> {
    numbers.sort_by(f64::total_cmp);
    let mut share = SHARE;
    loop {
        let mut edges = edges_by(&numbers, share);
        // Neither in the middle of a bin that one value has for itself, nor twice.
        for cut in cuts.iter().flat_map(|cut| [*cut, cut.next_up()]).filter(|cut| cut.is_finite()) {
            let after = edges.partition_point(|edge| *edge < cut);
            if edges.get(after) != Some(&cut) {
                edges.insert(after, cut);
            }
        }
        if edges.len() < BINS {
            return edges;
        }
        share *= 1.25;
    }
}

fn edges_by(sorted: &[f64], share: f64) -> Vec<f64> {
    let most = (share * sorted.len() as f64).floor().max(1.0) as usize;
    let mut edges: Vec<f64> = Vec::new();
    let (mut held, mut alone) = (0, false);
    for run in sorted.chunk_by(|a, b| a == b) {
        let Some(value) = run.first().map(|value| value + 0.0) else { continue };
        if run.len() > most {
            edges.extend([value, value]);
            (held, alone) = (0, true);
            continue;
        }
        if edges.is_empty() || held + run.len() > most {
            if !(alone && held == 0) {
                edges.push(value);
            }
            held = 0;
        }
        held += run.len();
        alone = false;
    }
    if !alone {
        edges.extend(sorted.last().map(|last| last.next_up()).filter(|edge| edge.is_finite()));
    }
    edges
}

/// The bin of a number: each begins at its edge; two equal edges enclose that one value.
fn bin(edges: &[f64], number: f64) -> usize {
    let after = edges.partition_point(|edge| *edge <= number);
    let twice = after >= 2 && edges.get(after - 1) == edges.get(after - 2);
    if twice && edges.get(after - 1) == Some(&(number + 0.0)) { after - 1 } else { after }
}

fn count(like: &Column, cells: &Cells, key: &[u8]) -> Column {
    let mut column = Column { nulls: 0, mistyped: 0, magnitudes: BTreeMap::new(), ..like.clone() };
    match &mut column.sketch {
        Sketch::Numbers { counts, .. } => counts.fill(0),
        Sketch::Words { counts, others } => {
            counts.values_mut().for_each(|count| *count = 0);
            *others = 0;
        }
    }
    for cell in &cells.cells {
        let place = match (&mut column.sketch, cell) {
            (_, Cell::Null) => &mut column.nulls,
            (_, Cell::Number(number)) if !number.is_finite() => &mut column.nulls,
            (Sketch::Numbers { edges, counts }, Cell::Number(number)) => {
                if let Some(magnitude) = super::unit::magnitude(*number) {
                    *column.magnitudes.entry(magnitude).or_default() += 1;
                }
                match counts.get_mut(bin(edges, *number)) {
                    Some(count) => count,
                    None => &mut column.mistyped,
                }
            }
            (Sketch::Words { counts, others }, Cell::Word(word)) => {
                counts.get_mut(&word_key(key, word)).unwrap_or(others)
            }
            (Sketch::Numbers { .. }, Cell::Word(_)) | (Sketch::Words { .. }, Cell::Number(_)) => &mut column.mistyped,
        };
        *place += 1;
    }
    column
}

fn add(into: &mut Column, from: &Column) -> Result<(), Invalid> {
    let sum = |to: &mut u64, more: u64| *to = to.saturating_add(more);
    sum(&mut into.nulls, from.nulls);
    sum(&mut into.mistyped, from.mistyped);
    for (magnitude, count) in &from.magnitudes {
        sum(into.magnitudes.entry(*magnitude).or_default(), *count);
    }
    match (&mut into.sketch, &from.sketch) {
        (Sketch::Numbers { edges, counts }, Sketch::Numbers { edges: others, counts: more }) if edges == others => {
            counts.iter_mut().zip(more).for_each(|(count, more)| sum(count, *more));
        }
        (Sketch::Words { counts, others }, Sketch::Words { counts: more, others: rest })
            if counts.keys().eq(more.keys()) =>
        {
            counts.values_mut().zip(more.values()).for_each(|(count, more)| sum(count, *more));
            sum(others, *rest);
        }
        _ => return Err(Invalid::quoting("columns", &from.name, "its bins are those of another reference")),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
