//! Taking over a folder of an earlier format: the records of format 1 have no checksums, and who writes
//! format 2 knows of no collection, so nobody may write in it when one begins.

use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, Row, TransactionBehavior, params};

use super::data_folder::Folder;
use super::salvage::{Readable, Table, next_readable, read_page};
use crate::base::digest::record_checksum;
use crate::store::Result;

const RECORDS: Table = Table {
    holds: "records",
    rows: "SELECT version, key, value FROM record WHERE version >= ?1 ORDER BY version LIMIT ?2",
};

/// Gives every record its checksum where it has none, and the folder the format of today. What cannot be
/// read gets none, and is damaged as before. Interrupted, it begins anew: until the end the folder has its old format,
/// and an older version may write in it.
pub(super) fn take_over(db: &mut Connection, folder: &Folder) -> Result<()> {
    if folder.is_current()? {
        return Ok(());
    }
    tracing::info!("the data folder gets format 3");
    if !folder.has_checksums()? {
        if !db.column_exists(None::<&str>, "record", "checksum")? {
            db.execute_batch("ALTER TABLE record ADD COLUMN checksum BLOB")?;
        }
        let mut from = 0;
        // In the order of the versions: what somebody writes meanwhile comes last.
        while let Some(last) = give_checksums(db, from)? {
            // So that the log starts again.
            db.wal_checkpoint_v2(None::<&str>, CheckpointMode::PASSIVE)?;
            from = last + 1;
        }
    }
    folder.set_current()
}

/// Gives the records of a page, from a version on, their checksums. The version of the last of them,
/// `None` behind the last record.
fn give_checksums(db: &mut Connection, from: i64) -> rusqlite::Result<Option<i64>> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut rows = Vec::new();
    let page = read_page(&tx, &RECORDS, from, version_and_checksum, &mut rows);
    let mut last = None;
    let mut give = tx.prepare_cached("UPDATE record SET checksum = ?2 WHERE version = ?1")?;
    for (version, checksum) in rows {
        match checksum {
            Ok(checksum) => drop(give.execute(params![version, checksum])?),
            Err(fault) => tracing::error!(fault, "a record gets no checksum"),
        }
        last = last.max(Some(version));
    }
    drop(give);
    if let Err(error) = page
        && last.is_none()
    {
        tracing::error!(%error, from, "records get no checksums");
        last = next_readable(&tx, &RECORDS, from).map(|next| next - 1);
    }
    tx.commit()?;
    Ok(last)
}

fn version_and_checksum(row: &Row<'_>) -> rusqlite::Result<Readable<[u8; 8]>> {
    let (version, key): (u64, String) = (row.get(0)?, row.get(1)?);
    let value: Vec<u8> = row.get(2)?;
    Ok(Ok(record_checksum(&key, version, &value)))
}
