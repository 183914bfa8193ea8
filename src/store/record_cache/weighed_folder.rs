//! Folders of records with what they take in memory.

use std::sync::Arc;

use crate::store::Record;
use crate::store::records::{Folder, find_in, put_into};

/// A folder with what its records take in memory. A cache asks for that under its lock, where all who want a folder
/// would wait until thousands of records were gone through.
///
/// # Invariants
/// The bytes are those of the records.
#[derive(Clone, Debug)]
pub(super) struct WeighedFolder {
    records: Folder,
    bytes: usize,
}

impl WeighedFolder {
    /// Weighs a folder, which takes as long as it is large.
    pub(super) fn of(records: &Folder) -> Self {
        Self {
            records: Arc::clone(records),
            bytes: records.iter().map(record_bytes).sum(),
        }
    }

    /// The folder.
    pub(super) fn records(&self) -> &Folder {
        &self.records
    }

    /// The folder, for who does not ask what it weighs.
    pub(super) fn into_records(self) -> Folder {
        self.records
    }

    /// What its records take in memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Puts a record in, in place of its older version.
    pub(super) fn put(&mut self, record: &Arc<Record>) {
        self.bytes -= self.bytes_of(&record.key);
        put_into(Arc::make_mut(&mut self.records), record);
        self.bytes += self.bytes_of(&record.key);
    }

    /// What the record of this key takes, 0 without one.
    fn bytes_of(&self, key: &str) -> usize {
        find_in(&self.records, key).map_or(0, record_bytes)
    }
}

/// What a record takes in memory: its value counts twice, for it is kept decoded, too.
pub(super) fn record_bytes(record: &Arc<Record>) -> usize {
    200 + record.key.len() + 2 * record.value.len()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::store::Version;

    fn record(key: &str, version: Version, bytes: usize) -> Arc<Record> {
        let value = Bytes::from(vec![b'1'; bytes]);
        Arc::new(Record::new(key.to_owned(), version, value))
    }

    #[test]
    fn a_folder_weighs_what_its_records_do_whatever_was_put_in() {
        let mut folder = WeighedFolder::of(&Folder::default());
        assert_eq!(folder.bytes(), 0);
        let shared = Arc::clone(folder.records());
        for (key, version, bytes) in [
            ("a/b", 2, 10),
            ("a/c", 3, 20),
            ("a/a", 1, 0),
            // Renewed, by one that is older, and by itself.
            ("a/b", 4, 3),
            ("a/b", 3, 50),
            ("a/b", 4, 3),
            ("a/c", 5, 1000),
        ] {
            folder.put(&record(key, version, bytes));
            let anew = WeighedFolder::of(folder.records());
            assert_eq!(folder.bytes(), anew.bytes(), "{key} {version}");
        }
        assert_eq!(folder.bytes(), 3 * (200 + "a/b".len()) + 2 * 1003);
        assert!(shared.is_empty());
    }
}
