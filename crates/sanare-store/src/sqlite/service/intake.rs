//! Readings on their way in. Rows are made by whoever brings them; then whoever holds the connection writes what all of
//! them have brought meanwhile, in one transaction with one sync, and each is answered when that is on the disk (S121).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};
use sanare_core::port::StoreFault;
use sanare_core::service::{Change, NotMade, Observation};

use super::super::fault::fault;
use super::super::{Sqlite, Trouble};
use super::text;

/// Readings of one transaction; one change is never divided.
const TOGETHER: usize = 1_000;

/// A reading as its row.
pub(super) struct Row {
    id: String,
    application: String,
    source: String,
    source_id: String,
    content: String,
    value: String,
}

impl Row {
    pub(super) fn of(seen: &Observation) -> Result<Self, Trouble> {
        Ok(Self {
            id: seen.id.as_str().to_owned(),
            application: seen.application.as_str().to_owned(),
            source: seen.source.as_str().to_owned(),
            source_id: seen.source_id.clone(),
            content: seen.content().as_str().to_owned(),
            value: text(seen)?,
        })
    }

    /// Whether it is there already; an error where another content is there under its source id.
    pub(super) fn is_there(&self, in_store: &Connection) -> Result<Result<bool, NotMade>, Trouble> {
        let mut known = in_store.prepare_cached(include_str!("../../../sql/sqlite/service_observation_content.sql"))?;
        let by = params![self.application, self.source, self.source_id];
        let same = |row: &rusqlite::Row<'_>| Ok(row.get_ref(0)?.as_str()? == self.content);
        Ok(match known.query_row(by, same).optional()? {
            None => Ok(false),
            Some(true) => Ok(true),
            Some(false) => Err(NotMade::Conflict(self.source_id.clone())),
        })
    }

    /// Adds it.
    pub(super) fn add(&self, to: &Connection) -> Result<(), Trouble> {
        let Self { id, application, source, source_id, content, value } = self;
        let mut add = to.prepare_cached(include_str!("../../../sql/sqlite/service_observation_add.sql"))?;
        add.execute(params![id, application, source, source_id, content, value])?;
        Ok(())
    }
}

/// The rows of a change, each source id once; an error where it contradicts itself.
fn rows(change: &Change) -> Result<Vec<Row>, NotMade> {
    let mut rows: Vec<Row> = Vec::with_capacity(change.observations.len());
    let mut places: HashMap<(&str, &str, &str), usize> = HashMap::with_capacity(change.observations.len());
    for seen in &change.observations {
        let row = Row::of(seen).map_err(Trouble::into_fault)?;
        let name = (seen.application.as_str(), seen.source.as_str(), seen.source_id.as_str());
        match places.get(&name).and_then(|place| rows.get(*place)) {
            Some(known) if known.content != row.content => return Err(NotMade::Conflict(row.source_id)),
            Some(_) => {}
            None => {
                places.insert(name, rows.len());
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

/// Changes that wait to be written, oldest first.
#[derive(Default)]
pub(in super::super) struct Queue(Mutex<Vec<Arc<Ticket>>>);

/// One change that waits.
struct Ticket {
    rows: Vec<Row>,
    came: Mutex<Option<Result<(), NotMade>>>,
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, Vec<Arc<Ticket>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The oldest ones, as many as go into one transaction.
    fn take(&self) -> Vec<Arc<Ticket>> {
        let mut waiting = self.waiting();
        let mut readings = 0;
        let fits = waiting.iter().take_while(|ticket| {
            readings += ticket.rows.len();
            readings <= TOGETHER
        });
        let count = fits.count().max(1).min(waiting.len());
        waiting.drain(..count).collect()
    }
}

impl Ticket {
    fn came(&self) -> MutexGuard<'_, Option<Result<(), NotMade>>> {
        self.came.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a change is nothing but readings, which expect nothing of the store and write nothing else.
pub(super) fn is_only_readings(change: &Change) -> bool {
    let Change {
        now: _,
        under,
        free,
        acts_seen,
        entries,
        observations,
        incidents,
        runs,
        snapshots,
        receipts,
        approvals,
        acts,
        measured,
        messages,
        silences,
        states,
    } = change;
    let alone = under.is_empty() && free.is_empty() && acts_seen.is_none() && entries.is_empty();
    let still = incidents.is_empty() && runs.is_empty() && snapshots.is_empty() && receipts.is_empty();
    let quiet = approvals.is_empty() && acts.is_empty() && measured.is_empty() && messages.is_empty();
    let forgetful = silences.is_empty() && states.is_empty();
    !observations.is_empty() && alone && still && quiet && forgetful
}

/// Stores a change of readings; they are on the disk when this returns.
pub(super) fn store(store: &Sqlite, change: &Change) -> Result<(), NotMade> {
    let ticket = Arc::new(Ticket { rows: rows(change)?, came: Mutex::default() });
    let queue = store.slots.queue()?;
    queue.waiting().push(Arc::clone(&ticket));
    loop {
        let mut held = store.connection();
        // Whoever had the connection before may have written it along.
        if let Some(came) = ticket.came().take() {
            return came;
        }
        let together = queue.take();
        if together.is_empty() {
            let lost = "whoever wrote the readings has broken down";
            return Err(StoreFault::Unusable(lost.to_owned()).into());
        }
        let written = match &mut held {
            Ok(held) => held.get_durable(true).and_then(|connection| write(connection, &together)),
            Err(fault) => Err(fault.clone()),
        };
        match written {
            Ok(answers) => {
                for (ticket, answer) in together.iter().zip(answers) {
                    *ticket.came() = Some(answer);
                }
            }
            Err(fault) => together.iter().for_each(|ticket| *ticket.came() = Some(Err(fault.clone().into()))),
        }
        // Only now: whoever has the connection next finds its answer.
        drop(held);
    }
}

/// Writes them in one transaction. A change is looked at whole before any of it is written, so that one that conflicts
/// leaves nothing behind and the others alone: undoing a part would cost a journal of its own.
fn write(connection: &mut Connection, together: &[Arc<Ticket>]) -> Result<Vec<Result<(), NotMade>>, StoreFault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
    let mut answers = Vec::with_capacity(together.len());
    for ticket in together {
        answers.push(add(&transaction, &ticket.rows).map_err(Trouble::into_fault)?);
    }
    transaction.commit().map_err(fault)?;
    Ok(answers)
}

fn add(to: &Connection, rows: &[Row]) -> Result<Result<(), NotMade>, Trouble> {
    let mut fresh = Vec::with_capacity(rows.len());
    for row in rows {
        match row.is_there(to)? {
            Ok(true) => {}
            Ok(false) => fresh.push(row),
            Err(conflict) => return Ok(Err(conflict)),
        }
    }
    for row in fresh {
        row.add(to)?;
    }
    Ok(Ok(()))
}
