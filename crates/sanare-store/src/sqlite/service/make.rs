//! A change: everything that it expects is looked at, then everything is written; the transaction keeps it whole.

use rusqlite::{OptionalExtension as _, Transaction, params};
use sanare_core::ledger::Record;
use sanare_core::service::word::{ApprovalState, ReceiptState, Status};
use sanare_core::service::{Change, NotMade, Observation};

use super::super::{Trouble, leases, ledger, stored};
use super::intake::Row;
use super::{figure, rows, text};

/// Why a change was not made.
pub(super) enum Stopped {
    /// The store failed.
    Trouble(Trouble),
    /// Something is not as the change expects.
    Refused(NotMade),
}

impl From<Trouble> for Stopped {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

impl From<rusqlite::Error> for Stopped {
    fn from(error: rusqlite::Error) -> Self {
        Self::Trouble(error.into())
    }
}

fn refuse<T>(not_made: NotMade) -> Result<T, Stopped> {
    Err(Stopped::Refused(not_made))
}

/// Makes a change within a transaction.
pub(super) fn make(to: &Transaction<'_>, change: &Change) -> Result<Vec<Record>, Stopped> {
    expected(to, change)?;
    for seen in &change.observations {
        observe(to, seen)?;
    }
    for incident in &change.incidents {
        let closed = incident.status() == Status::Closed;
        to.prepare_cached(include_str!("../../../sql/sqlite/service_incident_set.sql"))?.execute(params![
            incident.id.as_str(),
            incident.fingerprint.as_str(),
            closed,
            text(incident)?,
        ])?;
    }
    for (run, _) in &change.runs {
        let due = run.due.map(|due| stored(due.micros())).transpose()?;
        to.prepare_cached(include_str!("../../../sql/sqlite/service_run_set.sql"))?.execute(params![
            run.incident.as_str(),
            stored(run.revision)?,
            due,
            run.target.as_ref().map(|target| target.as_str()),
            text(run)?,
        ])?;
    }
    for context in &change.snapshots {
        to.prepare_cached(include_str!("../../../sql/sqlite/service_snapshot_add.sql"))?
            .execute(params![context.digest().as_str(), text(context)?])?;
    }
    for (receipt, _) in &change.receipts {
        to.prepare_cached(include_str!("../../../sql/sqlite/service_receipt_set.sql"))?.execute(params![
            receipt.id.as_str(),
            receipt.key.incident.as_str(),
            receipt.target.as_str(),
            receipt.state.word(),
            text(receipt)?,
        ])?;
    }
    for (approval, _) in &change.approvals {
        to.prepare_cached(include_str!("../../../sql/sqlite/service_approval_set.sql"))?.execute(params![
            approval.id.as_str(),
            approval.state.word(),
            text(approval)?,
        ])?;
    }
    counted(to, change)?;
    let mut records = Vec::with_capacity(change.entries.len());
    for entry in &change.entries {
        records.push(ledger::chain_entry(to, entry)?);
    }
    Ok(records)
}

/// Acts, figures, messages, silences, and what detection remembers.
fn counted(to: &Transaction<'_>, change: &Change) -> Result<(), Stopped> {
    for act in &change.acts {
        to.prepare_cached(include_str!("../../../sql/sqlite/service_act_set.sql"))?.execute(params![
            act.receipt.as_str(),
            stored(act.at.micros())?,
            text(act)?,
        ])?;
    }
    for (receipt, measured) in &change.measured {
        to.prepare_cached(include_str!("../../../sql/sqlite/service_measured_set.sql"))?.execute(params![
            receipt.as_str(),
            figure(&measured.key)?,
            text(measured)?,
        ])?;
    }
    for message in &change.messages {
        to.prepare_cached(include_str!("../../../sql/sqlite/service_message_add.sql"))?.execute(params![
            message.key,
            message.kind.word(),
            message.incident.as_str(),
            stored(message.at.micros())?,
            text(&message.body)?,
        ])?;
    }
    for silence in &change.silences {
        to.prepare_cached(include_str!("../../../sql/sqlite/service_silence_set.sql"))?.execute(params![
            silence.id.as_str(),
            stored(silence.end.micros())?,
            text(silence)?,
        ])?;
    }
    for (key, state) in &change.states {
        match state {
            Some(state) => to
                .prepare_cached(include_str!("../../../sql/sqlite/service_state_set.sql"))?
                .execute(params![key, state])?,
            None => {
                to.prepare_cached(include_str!("../../../sql/sqlite/service_state_drop.sql"))?.execute(params![key])?
            }
        };
    }
    Ok(())
}

/// A reading that is there already with the same content is left alone.
fn observe(to: &Transaction<'_>, seen: &Observation) -> Result<(), Stopped> {
    let row = Row::of(seen)?;
    match row.is_there(to)? {
        Ok(true) => Ok(()),
        Ok(false) => Ok(row.add(to)?),
        Err(conflict) => refuse(conflict),
    }
}

/// Whether everything is as the change expects.
fn expected(to: &Transaction<'_>, change: &Change) -> Result<(), Stopped> {
    for lease in &change.under {
        if !leases::holds(to, lease, change.now)? {
            return refuse(NotMade::LeaseLost(lease.key.clone()));
        }
    }
    let runs: Vec<_> = change.runs.iter().map(|(run, _)| &run.incident).collect();
    let settling: Vec<_> = change.receipts.iter().map(|(receipt, _)| &receipt.id).collect();
    for target in &change.free {
        if rows::in_use(to, target, &runs, &settling)? {
            return refuse(NotMade::InUse(target.to_string()));
        }
    }
    if let Some((since, seen)) = change.acts_seen
        && rows::acts_since(to, since)? != seen
    {
        return refuse(NotMade::Moved("the limits".to_owned()));
    }
    for incident in change.incidents.iter().filter(|incident| incident.status() != Status::Closed) {
        let mut statement = to.prepare_cached(include_str!("../../../sql/sqlite/service_incident_open_of.sql"))?;
        let other = params![incident.fingerprint.as_str(), incident.id.as_str()];
        if let Some(open) = statement.query_row(other, |row| row.get::<_, String>(0)).optional()? {
            return refuse(NotMade::Open(open));
        }
    }
    for (run, made_from) in &change.runs {
        if rows::revision(to, &run.incident)? != *made_from {
            return refuse(NotMade::Moved(format!("the run of {}", run.incident)));
        }
    }
    for (receipt, from) in &change.receipts {
        let known = rows::word(to, include_str!("../../../sql/sqlite/service_receipt_state.sql"), receipt.id.as_str())?;
        let legal = from.is_none_or(|from| from.may_become(receipt.state));
        if !legal || known.as_deref() != from.map(ReceiptState::word) {
            return refuse(NotMade::Moved(format!("receipt {}", receipt.id)));
        }
    }
    for (approval, from) in &change.approvals {
        let known =
            rows::word(to, include_str!("../../../sql/sqlite/service_approval_state.sql"), approval.id.as_str())?;
        if known.as_deref() != from.map(ApprovalState::word) {
            return refuse(NotMade::Moved(format!("approval {}", approval.id)));
        }
    }
    Ok(())
}
