//! Who keeps whom out while the folder is copied or collected.

use siteconf::base::clock::Timestamp;
use siteconf::store::sqlite::{CollectionLock, Folder, SqliteStore};
use siteconf::store::{Result, StoreError};

fn refusal(outcome: Result<CollectionLock>) -> String {
    let refused = outcome.unwrap_err();
    assert!(matches!(refused, StoreError::Underway { .. }));
    refused.to_string()
}

#[test]
fn a_collection_runs_alone_and_backups_run_beside_each_other() {
    let root = tempfile::tempdir().unwrap();
    let _daemon = SqliteStore::open_locked(root.path()).unwrap();
    let (one, other) = (
        Folder::open(root.path()).unwrap(),
        Folder::open(root.path()).unwrap(),
    );
    let collection = one.lock_for_collection().unwrap();
    let during = "a collection is running; try again when it has ended";
    assert_eq!(refusal(other.lock_for_collection()), during);
    assert_eq!(refusal(other.lock_for_backup()), during);
    drop(collection);

    let backups = [one.lock_for_backup(), other.lock_for_backup()].map(Result::unwrap);
    let during = "a backup is running; try again when it has ended";
    assert_eq!(refusal(other.lock_for_collection()), during);
    drop(backups);
    drop(other.lock_for_collection().unwrap());
}

#[test]
fn the_last_backup_is_noted() {
    let root = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_locked(root.path()).unwrap();
    let folder = store.data_folder();
    assert_eq!(folder.last_backup().unwrap(), None);
    for text in ["2026-11-21T22:30:00.000Z", "2026-11-22T22:30:00.123Z"] {
        let at = Timestamp::parse(text).unwrap();
        folder.note_backup(at).unwrap();
        assert_eq!(folder.last_backup().unwrap(), Some(at));
    }
    for wrong in [&b"soon\n"[..], b"\xff\xff", b""] {
        std::fs::write(root.path().join("last-backup"), wrong).unwrap();
        assert_eq!(folder.last_backup().unwrap(), None);
    }
}
