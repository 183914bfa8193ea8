//! Uploads under way as files: what a crash leaves is swept, what lives is kept.

use std::fs::{self, File};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Expect, NewBody, NewObject, StagedBody, Store, StoreError, Writes};

use crate::fixture::{
    blob_id, bytes_of, contains, noise, of_objects, of_write, published, push, put_large, value,
};

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
    staging.publish(blob_id(&bytes)).unwrap();
    assert_eq!((incoming(root.path()), blob_files(root.path())), (1, 1));
    staging.committed();
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
    assert_eq!((incoming(root.path()), blob_files(root.path())), (1, 1));
    staging.committed();
    assert_eq!((incoming(root.path()), blob_files(root.path())), (0, 1));
    drop(daemon);
}

/// A body that was named, and then no more is heard of it.
fn named(store: &SqliteStore, bytes: &[u8]) {
    let mut staging = store.stage().unwrap();
    staging.write(bytes).unwrap();
    staging.publish(blob_id(bytes)).unwrap();
}

#[test]
fn a_start_removes_what_was_named_and_never_committed_and_nothing_that_a_row_names() {
    let root = tempfile::tempdir().unwrap();
    let left = || (incoming(root.path()), blob_files(root.path()));
    let [lost, kept, again] = [1, 2, 3].map(|seed| noise(seed, 100_000));
    let store = SqliteStore::open_locked(root.path()).unwrap();
    named(&store, &lost);
    // Before and after a commit of the same bytes.
    named(&store, &kept);
    let kept = put_large(&store, &kept);
    named(&store, &noise(2, 100_000));
    named(&store, &again);
    named(&store, &again);
    assert_eq!(left(), (5, 3));
    drop(store);
    let store = SqliteStore::open_locked(root.path()).unwrap();
    assert_eq!(left(), (0, 1));
    assert!(bytes_of(&store.object(kept).unwrap().unwrap()) == noise(2, 100_000));
    assert!(!contains(&store, blob_id(&lost).into()));
}

#[test]
fn uploads_of_the_same_bytes_that_are_never_committed_keep_them_once() {
    let root = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_locked(root.path()).unwrap();
    let bytes = noise(1, 100_000);
    for _ in 0..3 {
        named(&store, &bytes);
    }
    assert_eq!((incoming(root.path()), blob_files(root.path())), (3, 1));
    let claims = fs::read_dir(root.path().join("incoming")).unwrap();
    let lengths = claims.map(|entry| entry.unwrap().metadata().unwrap().len());
    assert_eq!(lengths.sum::<u64>(), 0);
}

#[test]
fn a_start_leaves_the_file_of_an_upload_that_lives_beside_it() {
    let root = tempfile::tempdir().unwrap();
    let bytes = noise(1, 100_000);
    // The daemon is killed after it has named the same bytes that a command brings then.
    named(&SqliteStore::open_locked(root.path()).unwrap(), &bytes);
    let beside = SqliteStore::open_beside(root.path()).unwrap();
    let mut staging = beside.stage().unwrap();
    staging.write(&bytes).unwrap();
    staging.publish(blob_id(&bytes)).unwrap();
    let daemon = SqliteStore::open_locked(root.path()).unwrap();
    assert_eq!((incoming(root.path()), blob_files(root.path())), (1, 1));
    let object = published(&bytes);
    let id = object.id;
    beside.commit(of_objects(vec![object])).unwrap();
    staging.committed();
    assert!(bytes_of(&daemon.object(id).unwrap().unwrap()) == bytes);
}

/// A commit that is given the staged body names it, and clears up behind it.
#[test]
fn a_commit_publishes_what_is_staged() {
    let root = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_locked(root.path()).unwrap();
    let left = || (incoming(root.path()), blob_files(root.path()));
    let bytes = noise(1, 300_000);
    let staged = || {
        let mut staging = store.stage().unwrap();
        staging.write(&bytes).unwrap();
        let NewBody::Published(outboard) = published(&bytes).body else {
            panic!("it is published");
        };
        NewObject {
            body: NewBody::Staged(Arc::new(StagedBody::new(staging, outboard))),
            ..published(&bytes)
        }
    };
    let mut refused = of_objects(vec![staged()]);
    assert_eq!(left(), (1, 0));
    push(&mut refused, "a", Expect::Version(7), Some("1"));
    store.commit(refused).unwrap_err();
    let object = staged();
    let id = object.id;
    store.commit(of_objects(vec![object])).unwrap();
    assert!(bytes_of(&store.object(id).unwrap().unwrap()) == bytes);
    drop(store);
    drop(SqliteStore::open_locked(root.path()).unwrap());
    assert_eq!(left(), (0, 1));
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
        thread::scope(|scope| {
            let start = scope.spawn(|| drop(SqliteStore::open_locked(root.path()).unwrap()));
            while !start.is_finished() {
                number += 1;
                let path = root.path().join(format!("incoming/{number}"));
                let file = File::create_new(&path).unwrap();
                file.lock().unwrap();
                let kept = std::os::unix::fs::MetadataExt::nlink(&file.metadata().unwrap()) > 0;
                thread::yield_now();
                assert_eq!(path.exists(), kept, "swept while it was locked");
                if kept {
                    fs::remove_file(&path).unwrap();
                }
            }
        });
    }
}

/// What an upload does: it makes its claim while nobody sweeps, and locks it then.
#[test]
fn a_start_and_an_upload_that_claims_its_blob_do_not_wait_for_each_other() {
    let root = tempfile::tempdir().unwrap();
    let data = root.path().to_owned();
    drop(SqliteStore::open_locked(&data).unwrap());
    let (done, ended) = mpsc::channel();
    // Not in a scope: it would wait for the two for ever.
    thread::spawn(move || {
        let mut number = 0;
        for _ in 0..50 {
            thread::scope(|scope| {
                let start = scope.spawn(|| drop(SqliteStore::open_locked(&data).unwrap()));
                while !start.is_finished() {
                    number += 1;
                    let nobody_sweeps = File::open(data.join("incoming")).unwrap();
                    nobody_sweeps.lock_shared().unwrap();
                    let path = data.join(format!("incoming/{}.{number}", blob_id(b"claimed")));
                    let claim = File::create_new(&path).unwrap();
                    thread::yield_now();
                    claim.lock().unwrap();
                    fs::remove_file(&path).unwrap();
                }
            });
        }
        done.send(()).unwrap();
    });
    let waited = ended.recv_timeout(Duration::from_mins(2));
    waited.expect("neither waits for the other");
}

#[test]
fn nothing_is_written_while_another_folder_has_the_name_of_this_one() {
    let parent = tempfile::tempdir().unwrap();
    let (root, away) = (parent.path().join("data"), parent.path().join("away"));
    let other = parent.path().join("other");
    drop(SqliteStore::open_locked(&other).unwrap());
    let store = SqliteStore::open_locked(&root).unwrap();
    let first = noise(1, 100_000);
    put_large(&store, &first);
    fs::rename(&root, &away).unwrap();
    for taken in [false, true] {
        if taken {
            fs::rename(&other, &root).unwrap();
        }
        assert_eq!(store.writes(), Writes::Moved);
        let refused = store.commit(of_write("k", Expect::Absent, Some("1")));
        assert!(matches!(refused, Err(StoreError::Moved)));
        assert!(matches!(store.stage(), Err(StoreError::Moved)));
    }
    assert_eq!((incoming(&root), blob_files(&root)), (0, 0));
    // It goes on where its own folder is back.
    fs::rename(&root, &other).unwrap();
    fs::rename(&away, &root).unwrap();
    assert_eq!(store.writes(), Writes::Taken);
    store
        .commit(of_write("k", Expect::Absent, Some("1")))
        .unwrap();
    assert_eq!(value(&store, "k").as_deref(), Some("1"));
    assert!(contains(&store, blob_id(&first).into()));
}
