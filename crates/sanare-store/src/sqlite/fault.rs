//! What SQLite complains of, in the store's own words.

use rusqlite::ErrorCode;
use sanare_core::port::StoreFault;

/// Sorts an error of SQLite into the faults of the port.
pub(super) fn fault(error: rusqlite::Error) -> StoreFault {
    let Some(code) = error.sqlite_error_code() else {
        return StoreFault::Corrupt(error.to_string());
    };
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreFault::Busy,
        ErrorCode::DiskFull => StoreFault::DiskFull,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreFault::Corrupt(error.to_string()),
        _ => StoreFault::Unusable(error.to_string()),
    }
}
