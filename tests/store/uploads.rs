//! Uploads under way as files: what a crash leaves is swept, what lives is kept.

use std::fs::{self, File};
use std::path::Path;

use siteconf::store::Store;
use siteconf::store::sqlite::SqliteStore;

use crate::fixture::{blob_id, noise};

fn incoming(root: &Path) -> usize {
    fs::read_dir(root.join("incoming")).unwrap().count()
}

fn blob_files(root: &Path) -> usize {
    walkdir::WalkDir::new(root.join("blobs"))
        .into_iter()
        .filter(|entry| entry.as_ref().unwrap().file_type().is_file())
        .count()
}

#[test]
fn a_given_up_upload_leaves_no_file_and_a_published_one_moves() {
    let root = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_locked(root.path()).unwrap();
    let bytes = noise(1, 100_000);
    let mut staging = store.stage().unwrap();
    staging.write(&bytes).unwrap();
    assert_eq!((incoming(root.path()), blob_files(root.path())), (1, 0));
    drop(staging);
    assert_eq!((incoming(root.path()), blob_files(root.path())), (0, 0));

    let mut staging = store.stage().unwrap();
    staging.write(&bytes).unwrap();
    staging.publish(blob_id(&bytes)).unwrap();
    assert_eq!((incoming(root.path()), blob_files(root.path())), (0, 1));
    let text = blob_id(&bytes).to_string();
    let file = root.path().join("blobs").join(&text[..2]).join(&text[2..]);
    assert!(fs::read(file).unwrap() == bytes);
}

#[test]
fn a_start_sweeps_what_a_crash_left_and_keeps_what_lives() {
    let root = tempfile::tempdir().unwrap();
    drop(SqliteStore::open_locked(root.path()).unwrap());
    let beside = SqliteStore::open_beside(root.path()).unwrap();
    let bytes = noise(1, 100_000);
    let mut staging = beside.stage().unwrap();
    staging.write(&bytes).unwrap();
    for name in ["left", "left too"] {
        fs::write(root.path().join("incoming").join(name), "half a bo").unwrap();
    }
    assert_eq!(incoming(root.path()), 3);

    let daemon = SqliteStore::open_locked(root.path()).unwrap();
    assert_eq!(incoming(root.path()), 1);
    staging.publish(blob_id(&bytes)).unwrap();
    assert_eq!((incoming(root.path()), blob_files(root.path())), (0, 1));
    drop(daemon);
}

#[test]
fn what_is_no_upload_does_not_stop_a_start() {
    let root = tempfile::tempdir().unwrap();
    drop(SqliteStore::open_locked(root.path()).unwrap());
    fs::create_dir(root.path().join("incoming/folder")).unwrap();
    drop(SqliteStore::open_locked(root.path()).unwrap());
    assert_eq!(incoming(root.path()), 1);
}

#[test]
fn a_start_does_not_remove_an_upload_that_locks_its_file_while_it_sweeps() {
    let root = tempfile::tempdir().unwrap();
    drop(SqliteStore::open_locked(root.path()).unwrap());
    let mut number = 0;
    // What an upload does between making its file and being sure of it, again and again beside starts.
    for _ in 0..50 {
        std::thread::scope(|scope| {
            let start = scope.spawn(|| drop(SqliteStore::open_locked(root.path()).unwrap()));
            while !start.is_finished() {
                number += 1;
                let path = root.path().join(format!("incoming/{number}"));
                let file = File::create_new(&path).unwrap();
                file.lock().unwrap();
                let kept = std::os::unix::fs::MetadataExt::nlink(&file.metadata().unwrap()) > 0;
                std::thread::yield_now();
                assert_eq!(path.exists(), kept, "swept while it was locked");
                if kept {
                    fs::remove_file(&path).unwrap();
                }
            }
        });
    }
}
