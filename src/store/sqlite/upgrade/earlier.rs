//! Reading a store of an earlier format as if it had today's: what its tables lack is put before them, in
//! the connection alone.

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};

use super::Format;
use crate::base::digest::record_checksum;

/// Tables that came later, and what one of today holds at first.
const LATER_TABLES: [(&str, &str); 3] = [
    ("outboard", "SELECT 0 AS seq, x'' AS pieces WHERE 0"),
    ("collection", "SELECT 0 AS epoch, 0 AS scope, 0 AS last"),
    ("touched", "SELECT 0 AS seq, 0 AS epoch WHERE 0"),
];
/// A record that has no checksum is taken as it is: nothing says what it was.
const RECORDS: &str = "CREATE TEMP VIEW record AS
    SELECT version, key, value, record_checksum(key, version, value) AS checksum FROM main.record";

/// Lets a connection that reads see a store of this format as one of today's.
pub(in crate::store::sqlite) fn show_as_current(
    db: &Connection,
    format: Format,
) -> rusqlite::Result<()> {
    if !format.is_older() {
        return Ok(());
    }
    db.pragma_update(None, "temp_store", "memory")?;
    for (table, rows) in LATER_TABLES {
        if !db.table_exists(Some("main"), table)? {
            db.execute_batch(&format!("CREATE TEMP VIEW {table} AS {rows}"))?;
        }
    }
    if !format.has_checksums() {
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
        db.create_scalar_function("record_checksum", 3, flags, |row| Ok(checksum(row)))?;
        db.execute_batch(RECORDS)?;
    }
    Ok(())
}

/// The checksum of a row, none of one that holds no record.
fn checksum(row: &Context<'_>) -> Option<Vec<u8>> {
    let (key, value) = (row.get_raw(0).as_str(), row.get_raw(2).as_blob());
    let (Ok(key), Ok(version), Ok(value)) = (key, row.get(1), value) else {
        return None;
    };
    Some(record_checksum(key, version, value).to_vec())
}
