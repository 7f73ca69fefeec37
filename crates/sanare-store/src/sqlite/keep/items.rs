//! What is kept of services, a page at a time (S119).

use rusqlite::{Connection, Row, params};
use sanare_core::port::{Item, Sort};
use sanare_core::service::Moment;
use sanare_core::service::moment::MINUTE;
use serde_json::{Value as Json, json};

use super::super::{Trouble, number, service};

/// The next ones of a sort.
pub(super) fn items(
    from: &Connection,
    sort: Sort,
    of: Option<&str>,
    after: &str,
    most: usize,
) -> Result<Vec<Item>, Trouble> {
    let statement = match sort {
        Sort::Observation => include_str!("../../../sql/sqlite/items_observation.sql"),
        Sort::Minute => include_str!("../../../sql/sqlite/items_minute.sql"),
        Sort::Incident => include_str!("../../../sql/sqlite/items_incident.sql"),
        Sort::Snapshot => include_str!("../../../sql/sqlite/items_snapshot.sql"),
        Sort::Receipt => include_str!("../../../sql/sqlite/items_receipt.sql"),
        Sort::Approval => include_str!("../../../sql/sqlite/items_approval.sql"),
    };
    let mut statement = from.prepare_cached(statement)?;
    let mut rows = statement.query(params![of, after, i64::try_from(most).unwrap_or(i64::MAX)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let value = if sort == Sort::Minute { minute(row)? } else { service::value(&row.get::<_, String>(2)?)? };
        found.push(Item { place: row.get(0)?, application: row.get(1)?, value });
    }
    Ok(found)
}

fn minute(row: &Row<'_>) -> Result<Json, Trouble> {
    let series: Json = service::value(&row.get::<_, String>(2)?)?;
    let at = Moment::from_micros(number(row, 3)?.saturating_mul(MINUTE));
    let (sum, least, most): (f64, f64, f64) = (row.get(5)?, row.get(6)?, row.get(7)?);
    let mut value = json!({ "at": at, "count": number(row, 4)?, "sum": sum, "least": least, "most": most });
    if let (Some(value), Json::Object(series)) = (value.as_object_mut(), series) {
        value.extend(series);
    }
    Ok(value)
}
