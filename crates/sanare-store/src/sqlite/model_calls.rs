//! Calls to models: what was spent in the windows, looked at and added to in one transaction.

use rusqlite::{Transaction, params};
use sanare_core::model::budget::{Cost, DAY, HOUR, Limits, Spent, broken};
use sanare_core::port::store::{Leave, ModelCall};

use super::{Trouble, number, stored};

/// How long a call is counted at most: an incident may wait a month for a person.
const KEEP: u64 = 40 * DAY;

/// Enters a call if no budget is broken by it. A clock that was set back finds the calls of the future counted.
pub(super) fn begin(transaction: &Transaction<'_>, call: &ModelCall, limits: &Limits) -> Result<Leave, Trouble> {
    let spent = transaction.prepare_cached(include_str!("../../sql/sqlite/model_calls_spent.sql"))?.query_row(
        params![call.incident, stored(call.at.saturating_sub(HOUR))?, stored(call.at.saturating_sub(DAY))?],
        |row| {
            Ok(Spent {
                incident_calls: number(row, 0)?,
                incident_tokens: number(row, 1)?,
                hour_calls: number(row, 2)?,
                day_tokens: number(row, 3)?,
                day_money: number(row, 4)?,
            })
        },
    )?;
    if let Some(key) = broken(limits, &spent, &call.most) {
        return Ok(Leave::Spent(key.to_owned()));
    }
    transaction
        .prepare_cached(include_str!("../../sql/sqlite/model_calls_forget_old.sql"))?
        .execute(params![stored(call.at.saturating_sub(KEEP))?])?;
    let entered = transaction
        .prepare_cached(include_str!("../../sql/sqlite/model_call_enter.sql"))?
        .insert(params![call.incident, stored(call.at)?, stored(call.most.tokens)?, stored(call.most.money)?,])?;
    Ok(Leave::Granted(u64::try_from(entered).unwrap_or(0)))
}

/// What a call did cost.
pub(super) fn settle(transaction: &Transaction<'_>, call: u64, cost: Cost) -> Result<(), Trouble> {
    transaction.prepare_cached(include_str!("../../sql/sqlite/model_call_settle.sql"))?.execute(params![
        stored(call)?,
        stored(cost.tokens)?,
        stored(cost.money)?
    ])?;
    Ok(())
}
