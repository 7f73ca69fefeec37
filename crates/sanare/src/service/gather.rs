//! Rows on their way to a profile: kept in the process that has them, counted by the healer's pass, and sent as counts (S43).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use sanare_core::service::moment::HOUR;
use sanare_core::service::profile::{COLUMNS, Role};
use sanare_core::service::{Invalid, Moment, Profile, Signal};
use sanare_detect::drift::reference::{Cell, Cells, FEW, merge, sketch};

use super::healer::locked;
use super::references::Reference;

/// Rows of one profile, and the time that they may span.
const ROWS: u64 = 10_000;
const SPAN: u64 = HOUR;
/// Bytes of rows that may wait to be counted.
const BYTES: usize = 32 << 20;

/// Rows of one service.
#[derive(Debug, Default)]
pub(super) struct Rows {
    waiting: Mutex<BTreeMap<Signal, Waiting>>,
    gathered: Mutex<BTreeMap<Signal, Gathered>>,
}

#[derive(Debug, Default)]
struct Waiting {
    rows: usize,
    bytes: usize,
    columns: BTreeMap<String, (Role, Vec<Cell>)>,
    /// Whose columns were kept.
    reference: Option<Arc<Reference>>,
}

#[derive(Debug)]
struct Gathered {
    profile: Profile,
    since: Moment,
}

impl Rows {
    /// Takes rows, column by column; of columns that the reference does not have nothing is kept.
    ///
    /// # Errors
    /// [`Invalid`] for columns of different lengths or named twice, too many of them, or more rows than may wait, and while
    /// rows wait that another reference was there for.
    pub fn put(&self, signal: &Signal, reference: &Arc<Reference>, columns: Vec<Cells>) -> Result<(), Invalid> {
        let rows = columns.first().map_or(0, |column| column.cells.len());
        if columns.iter().any(|column| column.cells.len() != rows) {
            return Err(Invalid::new("columns", "have different numbers of rows"));
        }
        if columns.len() > COLUMNS {
            return Err(Invalid::new("columns", format!("are {}; at most {COLUMNS}", columns.len())));
        }
        let names: BTreeSet<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        if names.len() < columns.len() {
            return Err(Invalid::new("columns", "hold one name twice"));
        }
        let known = |column: &&Cells| reference.drift.reference.columns.iter().any(|one| one.name == column.name);
        let bytes: usize = columns.iter().filter(known).flat_map(|column| &column.cells).map(size).sum();
        let mut all = locked(&self.waiting);
        if all.values().map(|one| one.bytes).sum::<usize>() + bytes > BYTES {
            return Err(Invalid::new("rows", "are more than may wait until they are counted"));
        }
        let waiting = all.entry(signal.clone()).or_default();
        if !Arc::ptr_eq(waiting.reference.get_or_insert_with(|| Arc::clone(reference)), reference) {
            return Err(Invalid::new("reference", "has just become another one"));
        }
        for column in columns.into_iter().filter(|column| known(&column)) {
            let (_, cells) = waiting.columns.entry(column.name).or_insert((column.role, Vec::new()));
            // It was not there in the rows before.
            cells.resize(waiting.rows, Cell::Null);
            cells.extend(column.cells);
        }
        waiting.rows += rows;
        waiting.bytes += bytes;
        Ok(())
    }

    /// Rows that were taken and are not in a profile that was sent.
    pub fn held(&self) -> u64 {
        let waiting: u64 = locked(&self.waiting).values().map(|one| one.rows as u64).sum();
        waiting + locked(&self.gathered).values().map(|one| one.profile.rows).sum::<u64>()
    }

    /// Counts what waits; the profiles that are due. `ending`: nothing comes after this, and what is enough to say
    /// something is due now. What was counted or kept for a reference that is another one by now is told as lost: of what
    /// the new one has, nothing may have been kept.
    pub fn beat(
        &self,
        now: Moment,
        ending: bool,
        reference: impl Fn(&Signal) -> Option<Arc<Reference>>,
    ) -> Vec<(Signal, Result<Profile, Invalid>)> {
        let mut told = Vec::new();
        let waiting = std::mem::take(&mut *locked(&self.waiting));
        let mut gathered = locked(&self.gathered);
        let lost = |signal: &Signal| (signal.clone(), Err(Invalid::new("reference", "has become another one")));
        gathered.retain(|signal, one| {
            let stays = reference(signal).is_some_and(|reference| reference.is_of(&one.profile));
            if !stays {
                told.push(lost(signal));
            }
            stays
        });
        for (signal, rows) in waiting {
            let reference =
                reference(&signal).filter(|now| rows.reference.as_ref().is_some_and(|then| Arc::ptr_eq(then, now)));
            let Some(reference) = reference else {
                told.push(lost(&signal));
                continue;
            };
            let before = gathered.remove(&signal);
            let since = before.as_ref().map_or(now, |before| before.since);
            match count(&reference, rows, before) {
                Ok(profile) => drop(gathered.insert(signal, Gathered { profile, since })),
                Err(invalid) => told.push((signal, Err(invalid))),
            }
        }
        let due = |one: &Gathered| {
            one.profile.rows >= ROWS || now.since(one.since) >= SPAN || (ending && one.profile.rows >= FEW)
        };
        let signals: Vec<Signal> =
            gathered.iter().filter(|(_, one)| due(one)).map(|(signal, _)| signal.clone()).collect();
        for signal in signals {
            told.extend(gathered.remove(&signal).map(|one| (signal, Ok(one.profile))));
        }
        told
    }
}

fn count(reference: &Reference, rows: Waiting, before: Option<Gathered>) -> Result<Profile, Invalid> {
    let key = reference.key.as_ref().map_err(|why| Invalid::new("key", why.clone()))?;
    let column = |(name, (role, mut cells)): (String, (Role, Vec<Cell>))| {
        cells.resize(rows.rows, Cell::Null);
        Cells { name, role, cells }
    };
    let mut columns: Vec<Cells> = rows.columns.into_iter().map(column).collect();
    if columns.is_empty() {
        // Rows without any column of the reference are rows all the same: every feature is missing in them.
        let cells = vec![Cell::Null; rows.rows];
        columns.push(Cells { name: String::new(), role: Role::Feature, cells });
    }
    let sketched = sketch(&reference.drift.reference, key, &columns)?;
    match before {
        Some(before) => merge(&before.profile, &sketched),
        None => Ok(sketched),
    }
}

fn size(cell: &Cell) -> usize {
    std::mem::size_of::<Cell>() + if let Cell::Word(word) = cell { word.len() } else { 0 }
}
