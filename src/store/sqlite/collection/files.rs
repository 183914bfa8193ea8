//! Removing files of blobs that no row names.
//!
//! Files go after their rows. Whoever puts a blob gives its file the name first, and leaves a claim in
//! `incoming/` until its commit is done; so while nobody may give names, a file without a row and
//! without a claim is needed by nobody, and nobody comes to need it.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use crate::base::id::ObjectId;
use crate::base::secret::random_hex;
use crate::store::sqlite::SqliteStore;
use crate::store::sqlite::blob_files::{self, Sweep, blob_path};
use crate::store::{Result, StoreError};

/// Files that are moved away while uploads wait for it.
const FILES_AT_ONCE: usize = 64;

/// Removes them; gives how many.
pub(super) fn remove_unnamed(store: &SqliteStore) -> Result<u64> {
    let io = |e| StoreError::io("removing files of blobs", e);
    let has_row = |id| store.has_row(id);
    // Claims of uploads that have ended keep nothing.
    blob_files::sweep_incoming(&store.folder, has_row).map_err(io)?;
    let mut unnamed = Vec::new();
    let mut failed = None;
    store.each_file(&mut |file| {
        // A file of another name is none of ours; "debug check" tells of it.
        let Ok(id) = file else { return };
        match has_row(id) {
            Ok(true) => {}
            Ok(false) => unnamed.push(id),
            Err(error) => failed = Some(error),
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let mut removed = 0;
    for some in unnamed.chunks(FILES_AT_ONCE) {
        for moved in move_away(store, some, has_row)? {
            // Whoever has it open reads on. After a kill the next start removes it.
            match fs::remove_file(moved) {
                // A service that has just started may have been faster.
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(io(e)),
                _ => removed += 1,
            }
        }
    }
    Ok(removed)
}

/// Moves files away that have neither a row nor a claim, to names that no other file gets.
fn move_away(
    store: &SqliteStore,
    some: &[ObjectId],
    has_row: impl Fn(ObjectId) -> Result<bool>,
) -> Result<Vec<PathBuf>> {
    let io = |e| StoreError::io("removing files of blobs", e);
    let _nobody_names = Sweep::begin(&store.folder).map_err(io)?;
    let claimed = blob_files::claims(&store.folder).map_err(io)?;
    let mut moved = Vec::new();
    for id in some {
        if claimed.contains(id) || has_row(*id)? {
            continue;
        }
        let away = store.folder.incoming().join(random_hex());
        match fs::rename(blob_path(&store.folder, *id), &away) {
            Ok(()) => moved.push(away),
            // It was an abandoned upload, and a start has swept it.
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(io(e)),
        }
    }
    Ok(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_gone_already_is_passed() {
        let root = tempfile::tempdir().unwrap();
        let store = SqliteStore::open_locked(root.path()).unwrap();
        let [gone, unnamed] = [1, 2].map(|byte| ObjectId::from_bytes([byte; ObjectId::BYTES]));
        fs::write(blob_path(&store.folder, unnamed), "unnamed").unwrap();
        let has_row = |id| store.has_row(id);
        let moved = move_away(&store, &[gone, unnamed], has_row).unwrap();
        assert_eq!(moved.len(), 1);
        assert_eq!(fs::read_to_string(&moved[0]).unwrap(), "unnamed");
    }
}
