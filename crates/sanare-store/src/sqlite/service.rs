//! The service half on disk: one transaction a change, durable against a power cut when it returns.

mod intake;
mod make;
mod rows;

use rusqlite::{Connection, OptionalExtension as _, ToSql, params};
use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::ledger::{ChainBreak, Record, v1::canonical};
use sanare_core::port::store::{Lease, Store};
use sanare_core::port::{StoreFault, store};
use sanare_core::redact::Redacted;
use sanare_core::service::approval::Approval;
use sanare_core::service::confidence::{FigureKey, Measured};
use sanare_core::service::limits::PastAct;
use sanare_core::service::run::MessageKind;
use sanare_core::service::{
    Application, Change, Context, Delivery, Incident, Message, Moment, NotMade, Observation, Receipt, Run,
    ServiceStore, Silence, Source, TargetKey,
};
use serde::de::DeserializeOwned;

pub(super) use intake::Queue;

use super::{Sqlite, Trouble, ledger, number, stored};

/// A value as a row keeps it.
pub(super) fn text<T: serde::Serialize>(value: &T) -> Result<String, Trouble> {
    serde_json::to_string(value).map_err(|error| StoreFault::Unusable(error.to_string()).into())
}

/// A value read back; a row that is none is damage.
pub(super) fn value<T: DeserializeOwned>(text: &str) -> Result<T, Trouble> {
    serde_json::from_str(text).map_err(|error| StoreFault::Corrupt(format!("a row cannot be read: {error}")).into())
}

/// The value of the one row that a statement finds.
fn one<T: DeserializeOwned>(connection: &Connection, statement: &str, by: &str) -> Result<Option<T>, Trouble> {
    let mut statement = connection.prepare_cached(statement)?;
    let found = statement.query_row(params![by], |row| row.get::<_, String>(0)).optional()?;
    found.map(|text| value(&text)).transpose()
}

/// The values of all rows that a statement finds.
pub(super) fn all<T: DeserializeOwned>(
    connection: &Connection,
    statement: &str,
    by: &[&dyn ToSql],
) -> Result<Vec<T>, Trouble> {
    let mut statement = connection.prepare_cached(statement)?;
    let rows = statement.query_map(by, |row| row.get::<_, String>(0))?;
    rows.map(|text| value(&text?)).collect()
}

fn observation(connection: &Connection, id: &Id) -> Result<Option<Observation>, Trouble> {
    let mut statement = connection.prepare_cached(include_str!("../../sql/sqlite/service_observation_of_id.sql"))?;
    let found =
        statement.query_row(params![id.as_str()], |row| Ok((row.get::<_, String>(0)?, number(row, 1)?))).optional()?;
    found.map(|(text, sequence)| Ok(Observation { sequence, ..value(&text)? })).transpose()
}

/// Observations that a statement finds, with their places.
fn numbered(connection: &Connection, statement: &str, by: &[&dyn ToSql]) -> Result<Vec<Observation>, Trouble> {
    let mut statement = connection.prepare_cached(statement)?;
    let rows = statement.query_map(by, |row| Ok((row.get::<_, String>(0)?, number(row, 1)?)))?;
    rows.map(|row| {
        let (text, sequence) = row?;
        Ok(Observation { sequence, ..value(&text)? })
    })
    .collect()
}

/// The messages that a statement finds.
fn messages(connection: &Connection, statement: &str, most: usize) -> Result<Vec<Message>, Trouble> {
    let mut statement = connection.prepare_cached(statement)?;
    let rows = statement.query_map(params![limit(most)], |row| {
        let texts = (row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?);
        Ok((texts, number(row, 3)?, row.get::<_, String>(4)?))
    })?;
    rows.map(|row| {
        let ((key, kind, incident), at, body) = row?;
        let kind = MessageKind::parse(&kind).map_err(|error| StoreFault::Corrupt(error.to_string()))?;
        let body = Redacted::<serde_json::Value>::from_record(&value(&body)?);
        Ok(Message { key, kind, incident: Id::from_text(incident), body, at: Moment::from_micros(at) })
    })
    .collect()
}

fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Figures are found by the canonical text of their key.
fn figure(key: &FigureKey) -> Result<String, Trouble> {
    let json = serde_json::to_value(key).map_err(|error| StoreFault::Unusable(error.to_string()))?;
    Ok(canonical(&json))
}

impl ServiceStore for Sqlite {
    fn whole(&self) -> Option<&dyn Store> {
        Some(self)
    }

    fn commit(&self, change: &Change) -> Result<Vec<Record>, NotMade> {
        if intake::is_only_readings(change) {
            return intake::store(self, change).map(|()| Vec::new());
        }
        // What the change itself refuses is no fault of the store: it is carried out of the transaction beside it.
        let mut refused = None;
        let made = self.write(true, |transaction| match make::make(transaction, change) {
            Ok(records) => Ok(records),
            Err(make::Stopped::Trouble(trouble)) => Err(trouble),
            Err(make::Stopped::Refused(not_made)) => {
                refused = Some(not_made);
                Err(StoreFault::Busy.into())
            }
        });
        match (made, refused) {
            (_, Some(not_made)) => Err(not_made),
            (made, None) => Ok(made?),
        }
    }

    fn incident(&self, id: &Id) -> Result<Option<Incident>, StoreFault> {
        self.read(|to| one(to, include_str!("../../sql/sqlite/service_incident_of_id.sql"), id.as_str()))
    }

    fn newest_of(&self, fingerprint: &Digest) -> Result<Option<Incident>, StoreFault> {
        self.read(|to| one(to, include_str!("../../sql/sqlite/service_incident_newest_of.sql"), fingerprint.as_str()))
    }

    fn newest_incidents(&self, most: usize) -> Result<Vec<Incident>, StoreFault> {
        self.read(|to| all(to, include_str!("../../sql/sqlite/service_incidents_newest.sql"), &[&limit(most)]))
    }

    fn open_incidents(&self, most: usize) -> Result<Vec<Incident>, StoreFault> {
        self.read(|to| all(to, include_str!("../../sql/sqlite/service_incidents_open.sql"), &[&limit(most)]))
    }

    fn run(&self, incident: &Id) -> Result<Option<Run>, StoreFault> {
        self.read(|to| one(to, include_str!("../../sql/sqlite/service_run_of_incident.sql"), incident.as_str()))
    }

    fn due(&self, now: Moment, most: usize) -> Result<Vec<Run>, StoreFault> {
        self.read(|to| {
            all(to, include_str!("../../sql/sqlite/service_runs_due.sql"), &[&stored(now.micros())?, &limit(most)])
        })
    }

    fn observations(&self, ids: &[Id]) -> Result<Vec<Observation>, StoreFault> {
        self.read(|to| ids.iter().filter_map(|id| observation(to, id).transpose()).collect())
    }

    fn recent(&self, application: &Application, most: usize) -> Result<Vec<Observation>, StoreFault> {
        let statement = include_str!("../../sql/sqlite/service_observations_recent.sql");
        let mut recent = self.read(|to| numbered(to, statement, params![application.as_str(), limit(most)]))?;
        recent.reverse();
        Ok(recent)
    }

    fn observations_after(&self, sequence: u64, most: usize) -> Result<Vec<Observation>, StoreFault> {
        let statement = include_str!("../../sql/sqlite/service_observations_after.sql");
        self.read(|to| numbered(to, statement, params![stored(sequence)?, limit(most)]))
    }

    fn known(&self, observations: &[Observation]) -> Result<Vec<Option<bool>>, StoreFault> {
        self.read(|to| {
            let mut known = to.prepare_cached(include_str!("../../sql/sqlite/service_observation_content.sql"))?;
            let mut answers = Vec::with_capacity(observations.len());
            for seen in observations {
                let by = params![seen.application.as_str(), seen.source.as_str(), seen.source_id];
                let content: Option<String> = known.query_row(by, |row| row.get(0)).optional()?;
                answers.push(content.map(|content| content == seen.content().as_str()));
            }
            Ok(answers)
        })
    }

    fn newest_sequence(&self) -> Result<u64, StoreFault> {
        self.read(|to| {
            let mut statement = to.prepare_cached(include_str!("../../sql/sqlite/service_observations_newest.sql"))?;
            Ok(statement.query_row([], |row| number(row, 0))?)
        })
    }

    fn silences(&self, since: Moment) -> Result<Vec<Silence>, StoreFault> {
        let statement = include_str!("../../sql/sqlite/service_silences_after.sql");
        self.read(|to| all(to, statement, &[&stored(since.micros())?]))
    }

    fn states(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, StoreFault> {
        self.read(|to| {
            let mut statement = to.prepare_cached(include_str!("../../sql/sqlite/service_states_from.sql"))?;
            let mut rows = statement.query(params![prefix])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let key: String = row.get(0)?;
                if !key.starts_with(prefix) {
                    break;
                }
                found.push((key, row.get(1)?));
            }
            Ok(found)
        })
    }

    fn observed_after(&self, source: &Source, after: u64) -> Result<(Vec<Observation>, u64), StoreFault> {
        self.read(|to| {
            let last = include_str!("../../sql/sqlite/service_observations_newest.sql");
            let last = to.prepare_cached(last)?.query_row([], |row| number(row, 0))?;
            if last <= after {
                return Ok((Vec::new(), last));
            }
            let mut statement =
                to.prepare_cached(include_str!("../../sql/sqlite/service_observations_of_source.sql"))?;
            let rows = statement.query_map(params![stored(after)?, source.as_str()], |row| {
                Ok((row.get::<_, String>(0)?, number(row, 1)?))
            })?;
            let mut found = Vec::new();
            for row in rows {
                let (text, sequence) = row?;
                found.push(Observation { sequence, ..value(&text)? });
            }
            // What came while this was read is looked at next time.
            found.retain(|one| one.sequence <= last);
            Ok((found, last))
        })
    }

    fn snapshot(&self, digest: &Digest) -> Result<Option<Context>, StoreFault> {
        self.read(|to| one(to, include_str!("../../sql/sqlite/service_snapshot_of_digest.sql"), digest.as_str()))
    }

    fn service_receipt(&self, id: &Id) -> Result<Option<Receipt>, StoreFault> {
        self.read(|to| one(to, include_str!("../../sql/sqlite/service_receipt_of_id.sql"), id.as_str()))
    }

    fn receipts_of(&self, incident: &Id) -> Result<Vec<Receipt>, StoreFault> {
        self.read(|to| {
            all(to, include_str!("../../sql/sqlite/service_receipts_of_incident.sql"), &[&incident.as_str()])
        })
    }

    fn unsettled(&self) -> Result<Vec<Receipt>, StoreFault> {
        self.read(|to| all(to, include_str!("../../sql/sqlite/service_receipts_unsettled.sql"), &[]))
    }

    fn approval(&self, id: &Id) -> Result<Option<Approval>, StoreFault> {
        self.read(|to| one(to, include_str!("../../sql/sqlite/service_approval_of_id.sql"), id.as_str()))
    }

    fn waiting_approvals(&self) -> Result<Vec<Approval>, StoreFault> {
        self.read(|to| all(to, include_str!("../../sql/sqlite/service_approvals_waiting.sql"), &[]))
    }

    fn open_approvals(&self) -> Result<Vec<Approval>, StoreFault> {
        self.read(|to| all(to, include_str!("../../sql/sqlite/service_approvals_open.sql"), &[]))
    }

    fn acts(&self, since: Moment) -> Result<Vec<PastAct>, StoreFault> {
        self.read(|to| all(to, include_str!("../../sql/sqlite/service_acts_since.sql"), &[&stored(since.micros())?]))
    }

    fn measured(&self, key: &FigureKey) -> Result<Vec<Measured>, StoreFault> {
        self.read(|to| all(to, include_str!("../../sql/sqlite/service_measured_of_figure.sql"), &[&figure(key)?]))
    }

    fn measured_of(&self, receipt: &Id) -> Result<Option<Measured>, StoreFault> {
        self.read(|to| one(to, include_str!("../../sql/sqlite/service_measured_of_receipt.sql"), receipt.as_str()))
    }

    fn target_in_use(&self, target: &TargetKey, besides: &Id) -> Result<bool, StoreFault> {
        self.read(|to| rows::in_use(to, target, &[besides], &[]))
    }

    fn outbox(&self, most: usize) -> Result<Vec<Message>, StoreFault> {
        self.read(|to| messages(to, include_str!("../../sql/sqlite/service_messages_open.sql"), most))
    }

    fn delivered(&self, key: &str) -> Result<(), StoreFault> {
        self.write(true, |transaction| {
            transaction
                .prepare_cached(include_str!("../../sql/sqlite/service_message_delivered.sql"))?
                .execute(params![key])?;
            Ok(())
        })
    }

    fn note_delivery(&self, key: &str, delivery: &Delivery) -> Result<(), StoreFault> {
        self.write(true, |transaction| {
            let (route, state) = (&delivery.route, delivery.state.word());
            transaction.prepare_cached(include_str!("../../sql/sqlite/service_delivery_set.sql"))?.execute(params![
                key,
                route,
                state,
                text(delivery)?
            ])?;
            Ok(())
        })
    }

    fn deliveries(&self, key: &str) -> Result<Vec<Delivery>, StoreFault> {
        self.read(|to| all(to, include_str!("../../sql/sqlite/service_deliveries_of_message.sql"), &[&key]))
    }

    fn undelivered(&self, most: usize) -> Result<Vec<(Message, Vec<Delivery>)>, StoreFault> {
        self.read(|to| {
            let found = messages(to, include_str!("../../sql/sqlite/service_messages_undelivered.sql"), most)?;
            let of = include_str!("../../sql/sqlite/service_deliveries_of_message.sql");
            found.into_iter().map(|message| Ok((message.clone(), all(to, of, &[&message.key])?))).collect()
        })
    }

    fn lease(&self, key: &str, holder: &str, now: u64, millis: u64) -> Result<Option<Lease>, StoreFault> {
        store::Store::take_lease(self, key, holder, now, millis)
    }

    fn release(&self, lease: &Lease) -> Result<(), StoreFault> {
        self.give_back(lease)
    }

    fn records_of(&self, incident: &Id) -> Result<Vec<Record>, StoreFault> {
        self.read(|to| ledger::of_incident(to, incident))
    }

    fn verify_chain(&self) -> Result<Result<u64, ChainBreak>, StoreFault> {
        Store::verify(self)
    }
}
