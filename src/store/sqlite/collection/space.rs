//! Giving the pages that a collection has freed back to the file system.

use std::thread;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use super::Collection;
use crate::store::collection::Space;
use crate::store::sqlite::{SqliteStore, schema};
use crate::store::{Result, StoreError};

/// How often the log is copied until nobody reads what is older than its end, and the pause between.
const COPIES_MAX: u32 = 20;
const COPY_PAUSE: Duration = Duration::from_millis(50);

/// The size and the free part of a database, in pages.
struct Pages {
    free: u64,
    bytes: u64,
    shrinks: bool,
}

impl Pages {
    fn read(db: &Connection) -> rusqlite::Result<Self> {
        let number = |pragma: &str| db.query_one(pragma, [], |row| row.get::<_, u64>(0));
        Ok(Self {
            free: number("PRAGMA freelist_count")?,
            bytes: number("PRAGMA page_size")?,
            shrinks: number("PRAGMA auto_vacuum")? == 2,
        })
    }
}

/// How many instructions of the engine lie between two looks whether it is to end.
const INSTRUCTIONS_A_LOOK: i32 = 1000;

/// Bytes of all pages of the database, also of those that its log has yet.
pub(super) fn size_bytes(store: &SqliteStore) -> Result<u64> {
    store.read(|db| {
        let number = |pragma: &str| db.query_one(pragma, [], |row| row.get::<_, u64>(0));
        Ok(number("PRAGMA page_count")? * number("PRAGMA page_size")?)
    })
}

/// Writes the database anew without free pages, so that it gives later ones back by itself. False when it
/// was asked to end, and nothing was changed. Others wait for as long as it takes, and its log grows to the
/// size of what is left.
pub(super) fn compact(
    store: &SqliteStore,
    is_ended: impl Fn() -> bool + Clone + Send + 'static,
) -> Result<bool> {
    store.write(|db, _| {
        schema::let_pages_go(db)?;
        db.progress_handler(INSTRUCTIONS_A_LOOK, Some(is_ended.clone()))?;
        let written = db.execute_batch("VACUUM");
        db.progress_handler(0, None::<fn() -> bool>)?;
        match written {
            Err(e) if e.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => Ok(false),
            written => written.map(|()| true),
        }
    })
}

/// Gives them back in small transactions.
pub(super) fn give_back(collection: &Collection<'_>) -> Result<Space> {
    let read = || collection.store.read(|db| Ok(Pages::read(db)?));
    let mut pages = read()?;
    let mut space = Space {
        shrinks: pages.shrinks,
        ..Space::default()
    };
    while pages.shrinks && pages.free > 0 {
        collection.step(|db, _, size| {
            let mut some = db.prepare(&format!("PRAGMA incremental_vacuum({size})"))?;
            // A page is given back for each row that is asked for.
            let mut pages = some.query([])?;
            while pages.next()?.is_some() {}
            Ok(())
        })?;
        let before = std::mem::replace(&mut pages, read()?);
        space.given_back += before.free.saturating_sub(pages.free) * pages.bytes;
        // Others take free pages, too, or free some.
        if pages.free >= before.free {
            break;
        }
    }
    space.kept = pages.free * pages.bytes;
    Ok(space)
}

/// Copies the whole log into the database: only then is the file cut off behind its last page, and on a
/// quiet service that might be long. Who reads on keeps it from that; the next collection does it then.
pub(super) fn shorten_file(store: &SqliteStore) -> Result<()> {
    let writer = store.writer.as_ref().ok_or(StoreError::ReadOnly)?;
    for _ in 0..COPIES_MAX {
        if writer.copy_log()? {
            return Ok(());
        }
        thread::sleep(COPY_PAUSE);
    }
    tracing::warn!("somebody reads the store for long; its file gets smaller later");
    Ok(())
}
