//! The connections that read.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::data_folder::{Folder, Format, Identity};
use super::schema;
use super::upgrade::earlier::show_as_current;
use crate::base::limits::{READERS_AT_ONCE_MAX, READERS_IDLE_MAX};
use crate::base::threads::turns::Turns;
use crate::store::{Result, StoreError};

/// How long a connection is kept that nobody uses.
const IDLE_MAX: Duration = Duration::from_mins(1);

/// Connections that read, opened when all others are in use, up to [`READERS_AT_ONCE_MAX`]; who finds all of
/// them in use waits for one. At most [`READERS_IDLE_MAX`] are kept for the next reader; the one used last is
/// used first, because its page cache is warm, and the others are closed when they were not needed for a
/// minute.
#[derive(Debug)]
pub(super) struct Readers {
    identity: Identity,
    database: PathBuf,
    format: Format,
    /// With the time of their last use, which rises.
    idle: Mutex<VecDeque<(Connection, Instant)>>,
    lent: Turns,
}

impl Readers {
    pub(super) fn new(folder: &Folder) -> Self {
        Self {
            identity: Identity::of(folder.root()),
            database: folder.database(),
            format: folder.format(),
            idle: Mutex::default(),
            lent: Turns::new(READERS_AT_ONCE_MAX),
        }
    }

    /// Lends a connection to `work`, which may borrow another one only where few do. A connection that met
    /// an error is closed.
    pub(super) fn lend<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let _turn = self.lent.wait();
        let idle = self.idle.lock().expect("no panic while held").pop_back();
        let db = match idle {
            Some((db, _)) => db,
            None => self.open()?,
        };
        let outcome = work(&db)?;
        self.keep(db, Instant::now());
        Ok(outcome)
    }

    /// Opens another connection, unless the folder is not at its place any more: what has its name then may be another
    /// store.
    fn open(&self) -> Result<Connection> {
        let opened = schema::open_reader(&self.database);
        self.require_folder()?;
        let db = opened?;
        show_as_current(&db, self.format)?;
        Ok(db)
    }

    /// # Errors
    /// [`StoreError::Moved`] while another folder, or none, has the name of this one.
    pub(super) fn require_folder(&self) -> Result<()> {
        if self.identity.has_its_name() {
            Ok(())
        } else {
            Err(StoreError::Moved)
        }
    }

    /// Keeps a connection that was used until now, and closes one that was not for long.
    fn keep(&self, db: Connection, now: Instant) {
        let mut idle = self.idle.lock().expect("no panic while held");
        let is_stale = |(_, used): &(Connection, Instant)| now.duration_since(*used) > IDLE_MAX;
        let stale = if idle.front().is_some_and(is_stale) {
            idle.pop_front()
        } else {
            None
        };
        if idle.len() < READERS_IDLE_MAX {
            idle.push_back((db, now));
        }
        drop(idle);
        // Closed here, where nobody waits for the lock.
        drop(stale);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::SqliteStore;

    #[test]
    fn few_connections_stay_open_after_many_read_at_once() {
        let root = tempfile::tempdir().unwrap();
        let store = SqliteStore::open_locked(root.path()).unwrap();
        let readers = Readers::new(store.data_folder());
        lend_nested(&readers, READERS_IDLE_MAX + 5);
        assert_eq!(readers.idle.lock().unwrap().len(), READERS_IDLE_MAX);
    }

    #[test]
    fn a_connection_that_nobody_needs_for_a_minute_is_closed() {
        let root = tempfile::tempdir().unwrap();
        let store = SqliteStore::open_locked(root.path()).unwrap();
        let readers = Readers::new(store.data_folder());
        lend_nested(&readers, 5);
        let later = |readers: &Readers, seconds: u64| {
            let (db, used) = readers.idle.lock().unwrap().pop_back().unwrap();
            readers.keep(db, used + Duration::from_secs(seconds));
            readers.idle.lock().unwrap().len()
        };
        assert_eq!(later(&readers, 59), 5);
        let left: Vec<_> = (0..5).map(|_| later(&readers, 2)).collect();
        assert_eq!(left, [4, 3, 2, 1, 1]);
    }

    /// Has so many connections lent at once.
    fn lend_nested(readers: &Readers, count: usize) {
        if count > 0 {
            let lent = readers.lend(|_| {
                lend_nested(readers, count - 1);
                Ok(())
            });
            lent.unwrap();
        }
    }
}
