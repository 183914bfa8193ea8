//! Giving the pages that a collection has freed back to the file system.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::Collection;
use crate::store::collection::{STEP, Space};
use crate::store::sqlite::{SqliteStore, schema};
use crate::store::{Result, StoreError};

/// Most pages that are left free while objects are removed. For each page that is given back, the engine reads the
/// list of free pages from its head until it finds one that it can use: of 400,000 that takes 1.5 ms for a page and
/// 600 s for all; given back from so many on, all take 13 s.
const FREE_PAGES_MAX: u64 = 16_384;
/// How long giving back a single page may take, and how often in a row it may take longer until the rest is kept:
/// others that save wait for it.
const PAGE_TIME_MAX: Duration = Duration::from_millis(4);
const SLOW_PAGES_MAX: u32 = 8;

/// How often the log is copied until nobody reads what is older than its end, and the pause between.
const COPIES_MAX: u32 = 20;
const COPY_PAUSE: Duration = Duration::from_millis(50);

/// What a collection gives back.
#[derive(Debug)]
pub(super) struct GivingBack {
    /// False in a database that keeps its free pages.
    shrinks: bool,
    page_bytes: u64,
    /// So many pages were free before.
    free_before: u64,
    /// How many pages were given back.
    pages: Cell<u64>,
    /// How many of them, one behind the other and up to the last, took too long.
    slow: Cell<u32>,
}

impl GivingBack {
    /// Looks whether the database gives any back.
    pub(super) fn begin(store: &SqliteStore) -> Result<Self> {
        store.read(|db| {
            Ok(Self {
                shrinks: number(db, "PRAGMA auto_vacuum")? == 2,
                page_bytes: number(db, "PRAGMA page_size")?,
                free_before: number(db, "PRAGMA freelist_count")?,
                pages: Cell::new(0),
                slow: Cell::new(0),
            })
        })
    }

    /// True while pages are given back, and quickly enough.
    fn goes_on(&self) -> bool {
        self.shrinks && self.slow.get() < SLOW_PAGES_MAX
    }

    fn bytes(&self) -> u64 {
        self.pages.get() * self.page_bytes
    }

    /// Counts the pages of a step that took so long.
    fn note(&self, pages: u64, taken: Duration) {
        self.pages.set(self.pages.get() + pages);
        let is_slow = pages == 1 && taken > PAGE_TIME_MAX;
        self.slow.set(if is_slow { self.slow.get() + 1 } else { 0 });
    }
}

fn number(db: &Connection, pragma: &str) -> rusqlite::Result<u64> {
    db.query_one(pragma, [], |row| row.get(0))
}

fn free_pages(store: &SqliteStore) -> Result<u64> {
    store.read(|db| Ok(number(db, "PRAGMA freelist_count")?))
}

/// How many instructions of the engine lie between two looks whether it is to end.
const INSTRUCTIONS_A_LOOK: i32 = 1000;

/// Bytes of all pages of the database, also of those that its log has yet.
pub(super) fn size_bytes(store: &SqliteStore) -> Result<u64> {
    store.read(|db| Ok(number(db, "PRAGMA page_count")? * number(db, "PRAGMA page_size")?))
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

/// Gives pages back while more than [`FREE_PAGES_MAX`] are free, and more than before: of a long list they are slow to
/// give back, and objects are removed first. Breaks where `go_on`, which is asked before each step, has ended it.
pub(super) fn give_back_excess(
    collection: &Collection<'_>,
    mut go_on: impl FnMut() -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let kept = FREE_PAGES_MAX.max(collection.giving_back.free_before);
    match give_back_to(collection, kept, |_| go_on()) {
        // What is removed makes room, and at the end it is tried again.
        Err(StoreError::Full) => Ok(ControlFlow::Continue(())),
        outcome => outcome,
    }
}

/// Gives all of them back, and tells what the whole collection has given back.
pub(super) fn give_back(
    collection: &Collection<'_>,
    progress: impl FnMut(u64) -> ControlFlow<()>,
) -> Result<Space> {
    let giving_back = &collection.giving_back;
    // What was slow before had a longer list, or a disk that stood still for a moment.
    giving_back.slow.set(0);
    let flow = give_back_to(collection, 0, progress)?;
    Ok(Space {
        given_back: giving_back.bytes(),
        kept: free_pages(collection.store)? * giving_back.page_bytes,
        shrinks: giving_back.shrinks,
        stopped: flow.is_break(),
    })
}

/// Gives pages back in small transactions until no more than `kept` are free.
fn give_back_to(
    collection: &Collection<'_>,
    kept: u64,
    mut progress: impl FnMut(u64) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let giving_back = &collection.giving_back;
    while giving_back.goes_on() {
        let excess = free_pages(collection.store)?.saturating_sub(kept);
        if excess == 0 {
            break;
        }
        if progress(giving_back.bytes()).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let (pages, taken) =
            collection.step(|db, _, size| give_back_some(db, excess.min(size as u64)))?;
        if pages == 0 {
            // Others have taken them.
            break;
        }
        giving_back.note(pages, taken);
    }
    Ok(ControlFlow::Continue(()))
}

/// Gives so many pages back, or fewer where the time of a step is over before: one at least, if one is free. Gives how
/// many, and how long it took without the commit, which takes as long for one as for many.
fn give_back_some(db: &mut Connection, most: u64) -> rusqlite::Result<(u64, Duration)> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let began = Instant::now();
    let mut pages = 0;
    let mut vacuum = tx.prepare(&format!("PRAGMA incremental_vacuum({most})"))?;
    let mut rows = vacuum.query([])?;
    // A page is given back for each row that is asked for.
    while rows.next()?.is_some() {
        pages += 1;
        if began.elapsed() > STEP {
            break;
        }
    }
    let taken = began.elapsed();
    drop(rows);
    drop(vacuum);
    tx.commit()?;
    Ok((pages, taken))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn giving_back_ends_where_one_page_after_another_is_slow() {
        let giving_back = GivingBack {
            shrinks: true,
            page_bytes: 4096,
            free_before: 0,
            pages: Cell::new(0),
            slow: Cell::new(0),
        };
        let slow = PAGE_TIME_MAX + Duration::from_millis(1);
        let some_slow = || (1..SLOW_PAGES_MAX).for_each(|_| giving_back.note(1, slow));
        some_slow();
        giving_back.note(1, PAGE_TIME_MAX);
        some_slow();
        giving_back.note(2, slow);
        some_slow();
        assert!(giving_back.goes_on());
        giving_back.note(1, slow);
        assert!(!giving_back.goes_on());
        let pages = 3 * u64::from(SLOW_PAGES_MAX - 1) + 4;
        assert_eq!(giving_back.bytes(), 4096 * pages);
    }
}
