//! The connections that read.

use std::path::PathBuf;
use std::sync::Mutex;

use rusqlite::Connection;

use super::data_folder::Folder;
use super::schema;
use crate::base::limits::READERS_IDLE_MAX;
use crate::store::Result;

/// Connections that read, opened when all others are in use. At most [`READERS_IDLE_MAX`] are kept
/// for the next reader; the one used last is used first, because its page cache is warm.
#[derive(Debug)]
pub(super) struct Readers {
    database: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(folder: &Folder) -> Self {
        Self {
            database: folder.database(),
            idle: Mutex::default(),
        }
    }

    /// Lends a connection to `work`. A connection that met an error is closed.
    pub(super) fn lend<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let idle = self.idle.lock().expect("no panic while held").pop();
        let db = match idle {
            Some(db) => db,
            None => schema::open_reader(&self.database)?,
        };
        let outcome = work(&db)?;
        let mut idle = self.idle.lock().expect("no panic while held");
        if idle.len() < READERS_IDLE_MAX {
            idle.push(db);
        }
        Ok(outcome)
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
