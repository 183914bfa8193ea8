//! What one collection removes, and what it leaves.

use std::ops::ControlFlow;
use std::path::Path;
use std::thread;

use siteconf::base::id::{Kind, ObjectId};
use siteconf::repo::{CollectionStep, Condition, Error, ProjectWriter};
use siteconf::store::collection::{Collectable, Pace};
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Batch, NewBody, NewObject, Store, StoreError};

use crate::scene::{
    Process, assert_nothing_left, assert_sound, branch, files, forget_deleted, number, path,
};

#[test]
fn what_nothing_leads_to_is_removed_with_all_that_belongs_to_it() {
    let root = tempfile::tempdir().unwrap();
    let daemon = Process::daemon(root.path());
    let project = daemon.create();
    let large = |letter: &str| letter.repeat(300_000).into_bytes();
    daemon
        .save(&project, "main", "a/kept.xml", b"kept")
        .unwrap();
    daemon.save(&project, "main", "large", &large("k")).unwrap();
    project
        .create_branch(&branch("other"), Some("main"))
        .unwrap();
    daemon
        .save(&project, "other", "a/gone.xml", b"gone")
        .unwrap();
    daemon
        .save(&project, "other", "large", &large("g"))
        .unwrap();
    let gone = project
        .branch(&branch("other"))
        .unwrap()
        .head()
        .digest()
        .unwrap();
    let kept = project
        .branch(&branch("main"))
        .unwrap()
        .head()
        .digest()
        .unwrap();
    // Until both ids are in the index.
    daemon.flush_commit_ids();
    for id in [gone.commit_id(), kept.commit_id()] {
        project.resolve(Some(id)).unwrap();
    }

    let nothing = daemon.collect();
    assert_eq!(
        (nothing.removed.objects, nothing.files, nothing.records),
        (0, 0, 0)
    );
    assert_eq!(files(root.path()), 2);

    project
        .delete_branch(&branch("other"), &Condition::None)
        .unwrap();
    forget_deleted(&daemon);
    let weights = daemon.projects.weigh(daemon.store(), |_| {}).unwrap();
    let done = daemon.collect();
    assert_eq!(done.removed, weights.unreachable);
    // Two blobs, and the nodes and the manifest of either save: the root, and first the folder, too.
    assert_eq!((done.removed.objects, done.files, done.records), (7, 1, 2));
    assert_eq!(files(root.path()), 1);
    let looked = SqliteStore::open_read_only(root.path()).unwrap();
    let kept = looked.data_folder().last_collection().unwrap().unwrap();
    let stored = number(root.path(), "SELECT sum(size) FROM object");
    assert!(kept.live_bytes > 0 && kept.old_bytes > 0, "{kept:?}");
    assert_eq!(kept.live_bytes + kept.old_bytes, stored);
    assert_nothing_left(&daemon, root.path());

    // What was removed comes again with the next save of it.
    daemon
        .save(&project, "main", "a/gone.xml", b"gone")
        .unwrap();
    daemon.save(&project, "main", "large", &large("g")).unwrap();
    assert_sound(root.path());
    assert_nothing_left(&daemon, root.path());
}

/// A store with an empty branch `main`, and 200 saves of a branch that was forgotten.
fn forgotten_saves(root: &Path) -> (Process, ProjectWriter) {
    let daemon = Process::daemon(root);
    let project = daemon.create();
    project.create_branch(&branch("other"), None).unwrap();
    for number in 0..200_u32 {
        let content = blake3::hash(&number.to_le_bytes()).to_hex().repeat(100);
        daemon
            .save(&project, "other", "a.xml", content.as_bytes())
            .unwrap();
    }
    project
        .delete_branch(&branch("other"), &Condition::None)
        .unwrap();
    forget_deleted(&daemon);
    (daemon, project)
}

#[test]
fn room_is_given_back_and_row_numbers_are_not_given_again() {
    let root = tempfile::tempdir().unwrap();
    let (daemon, project) = forgotten_saves(root.path());
    let last = number(root.path(), "SELECT max(seq) FROM object");
    let done = daemon.collect();
    let space = done.space.unwrap();
    assert!(space.shrinks && space.given_back > 200 * 4096, "{space:?}");
    assert_eq!(space.kept, 0);
    assert_eq!(number(root.path(), "PRAGMA freelist_count"), 0);
    assert_eq!(number(root.path(), "SELECT last FROM collection"), last);
    daemon.save(&project, "main", "b.xml", b"b").unwrap();
    let first = "SELECT min(seq) FROM object WHERE seq > (SELECT last FROM collection)";
    assert_eq!(number(root.path(), first), last + 1);
    assert_nothing_left(&daemon, root.path());
}

#[test]
fn giving_room_back_ends_when_it_is_to_and_the_next_collection_does_the_rest() {
    let root = tempfile::tempdir().unwrap();
    let (daemon, _project) = forgotten_saves(root.path());
    let ended = daemon
        .collect_by(|step| match step {
            CollectionStep::GivenBack(_) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
        .unwrap();
    let space = ended.space.unwrap();
    assert!(ended.stopped && space.stopped, "{ended:?}");
    assert!(ended.removed.objects > 200, "{ended:?}");
    assert_eq!(space.given_back, 0);
    assert!(space.kept > 200 * 4096, "{space:?}");
    let next = daemon.collect();
    assert!(!next.stopped && next.removed.objects == 0, "{next:?}");
    let space = next.space.unwrap();
    assert!(space.given_back > 200 * 4096, "{space:?}");
    assert_eq!(space.kept, 0);
}

/// Where very many are free, each that is given back takes long.
#[test]
fn pages_are_given_back_already_while_objects_are_removed() {
    const OBJECTS: u64 = 20_000;
    let root = tempfile::tempdir().unwrap();
    let daemon = Process::daemon(root.path());
    daemon.create();
    // Of a page each, as an import would have left them that was given up.
    let content = bytes::Bytes::from(vec![b'x'; 3000]);
    let object = |number: u64| NewObject {
        id: ObjectId::from_bytes(*blake3::hash(&number.to_le_bytes()).as_bytes()),
        kind: Kind::Node,
        size: content.len() as u64,
        sha256: None,
        body: NewBody::Inline(content.clone()),
    };
    for first in (0..OBJECTS).step_by(1000) {
        let batch = Batch {
            objects: (first..first + 1000).map(object).collect(),
            ..Batch::default()
        };
        daemon.store().commit(batch).unwrap();
    }
    let mut sizes = Vec::new();
    let done = daemon
        .collect_by(|step| {
            if let CollectionStep::Removed(_) = step {
                sizes.push(daemon.store().size_bytes().unwrap());
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(done.removed.objects, OBJECTS);
    let (first, last) = (sizes[0], sizes[sizes.len() - 1]);
    assert!(last < first, "{first} bytes, and {last} at the end");
    let space = done.space.unwrap();
    assert!(space.given_back >= OBJECTS * 4096, "{space:?}");
    assert_eq!(space.kept, 0);
    assert_nothing_left(&daemon, root.path());
}

#[test]
fn the_file_of_the_database_gets_smaller_while_a_service_has_it_open() {
    let root = tempfile::tempdir().unwrap();
    let (daemon, project) = forgotten_saves(root.path());
    let beside = Process::beside(root.path());
    let length = || root.path().join("store.db").metadata().unwrap().len();
    // All that is in the log.
    let before = number(root.path(), "PRAGMA page_count") * 4096;
    let given_back = beside.collect().space.unwrap().given_back;
    assert!(given_back > 200 * 4096, "{given_back}");
    assert!(length() <= before - given_back, "{} of {before}", length());
    assert_eq!(length(), number(root.path(), "PRAGMA page_count") * 4096);

    // Who reads what is older keeps the file as it is, and no collection from its end.
    for text in ["one", "two"] {
        daemon
            .save(&project, "main", "b.xml", text.repeat(30_000).as_bytes())
            .unwrap();
    }
    let reading = rusqlite::Connection::open(root.path().join("store.db")).unwrap();
    let reads = reading.unchecked_transaction().unwrap();
    reads
        .query_one("SELECT count(*) FROM object", [], |row| {
            row.get::<_, u64>(0)
        })
        .unwrap();
    beside.collect();
    drop(reads);
    beside.collect();
    assert_eq!(length(), number(root.path(), "PRAGMA page_count") * 4096);
}

#[test]
fn a_state_that_several_keep_is_counted_once() {
    let root = tempfile::tempdir().unwrap();
    let daemon = Process::daemon(root.path());
    let project = daemon.create();
    for text in ["one", "two", "one", "two"] {
        daemon
            .save(&project, "main", "a.xml", text.as_bytes())
            .unwrap();
    }
    project
        .create_branch(&branch("other"), Some("main"))
        .unwrap();
    // The two, and the one without files.
    assert_eq!(daemon.collect().states, 3);
    assert_nothing_left(&daemon, root.path());
}

#[test]
fn a_process_that_knows_what_was_removed_puts_it_again() {
    let root = tempfile::tempdir().unwrap();
    let daemon = Process::daemon(root.path());
    let project = daemon.create();
    let beside = Process::beside(root.path());
    let theirs = beside.project();
    project.create_branch(&branch("other"), None).unwrap();
    for text in ["one", "two"] {
        daemon
            .save(&project, "other", "a.xml", text.as_bytes())
            .unwrap();
        // Both have the rows in memory.
        beside
            .save(&theirs, "other", "b.xml", text.as_bytes())
            .unwrap();
    }
    project
        .delete_branch(&branch("other"), &Condition::None)
        .unwrap();
    forget_deleted(&daemon);
    assert!(beside.collect().removed.objects > 0);
    // The one puts it in a new row, the other finds that.
    beside.save(&theirs, "main", "a.xml", b"one").unwrap();
    daemon.save(&project, "main", "b.xml", b"one").unwrap();
    daemon.save(&project, "main", "c.xml", b"two").unwrap();
    beside.save(&theirs, "main", "d.xml", b"two").unwrap();
    for process in [&daemon, &beside] {
        let head = || process.project().branch(&branch("main")).unwrap().head();
        // What another process has written is seen a little later.
        let newest = beside.project().branch(&branch("main")).unwrap().head();
        while head().manifest() != newest.manifest() {
            thread::yield_now();
        }
        let head = head();
        for (at, text) in [
            ("a.xml", "one"),
            ("b.xml", "one"),
            ("c.xml", "two"),
            ("d.xml", "two"),
        ] {
            let content = head.file(&path(at)).unwrap().content().unwrap();
            let siteconf::repo::Body::Inline(bytes) = content.body else {
                panic!("it is small");
            };
            assert_eq!(bytes, text.as_bytes(), "{at}");
        }
    }
    assert_nothing_left(&daemon, root.path());
}

#[test]
fn an_import_under_way_keeps_what_it_put() {
    let root = tempfile::tempdir().unwrap();
    let daemon = Process::daemon(root.path());
    let project = daemon.create();
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("new.xml", "new"), ("again.xml", "again")] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    // One of the two blobs is there already, and nothing leads to it.
    project.create_branch(&branch("other"), None).unwrap();
    daemon
        .save(&project, "other", "again.xml", b"again")
        .unwrap();
    project
        .delete_branch(&branch("other"), &Condition::None)
        .unwrap();
    forget_deleted(&daemon);
    let folder = siteconf::repo::ImportFolder::open(folder.path(), None).unwrap();
    let options = siteconf::repo::ImportOptions::default();
    let importing = Process::beside(root.path());
    let read = importing
        .projects
        .read_folder(&folder, &options, |_| ControlFlow::Continue(()))
        .unwrap()
        .unwrap();
    daemon.collect();
    daemon.collect();
    importing.project().lay(&branch("main"), &read).unwrap();
    assert_sound(root.path());
    drop(read);
    assert_nothing_left(&daemon, root.path());
    assert_eq!(number(root.path(), "SELECT count(*) FROM touched"), 0);

    // One that was given up leaves what the next collection removes.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("given-up.xml"), "given up").unwrap();
    let folder = siteconf::repo::ImportFolder::open(folder.path(), None).unwrap();
    drop(
        importing
            .projects
            .read_folder(&folder, &options, |_| ControlFlow::Continue(()))
            .unwrap(),
    );
    assert_eq!(daemon.collect().removed.objects, 2);
}

#[test]
fn one_runs_at_a_time_and_one_that_was_interrupted_is_taken_up() {
    let root = tempfile::tempdir().unwrap();
    let daemon = Process::daemon(root.path());
    let project = daemon.create();
    let beside = Process::beside(root.path());
    let first = daemon.store().begin_collection(Pace::new(1)).unwrap();
    let refused = beside.try_collect().unwrap_err();
    assert!(
        matches!(
            refused,
            StoreError::Underway {
                what: "a collection"
            }
        ),
        "{refused}"
    );
    drop(first);
    assert_ne!(number(root.path(), "SELECT scope FROM collection"), 0);
    // Saves go on, and touch what they reuse.
    daemon.save(&project, "main", "a.xml", b"a").unwrap();
    daemon.save(&project, "main", "b.xml", b"a").unwrap();
    let copy = daemon.store().data_folder().lock_for_backup().unwrap();
    assert!(beside.try_collect().is_err());
    drop(copy);
    assert_nothing_left(&beside, root.path());
    assert_eq!(number(root.path(), "SELECT scope FROM collection"), 0);
}

#[test]
fn a_state_that_is_no_longer_kept_does_not_come_back() {
    let root = tempfile::tempdir().unwrap();
    let daemon = Process::daemon(root.path());
    let project = daemon.create();
    for text in ["one", "two", "three"] {
        daemon
            .save(&project, "main", "a.xml", text.as_bytes())
            .unwrap();
    }
    // Known to the daemon's memory, and pruned by another process.
    let second = siteconf::base::snapshot_version::SnapshotVersion::new(2);
    let known =
        project
            .branch(&branch("main"))
            .unwrap()
            .preview_rollback(second, &[], &Condition::None);
    let known = known.unwrap().part(None, usize::MAX);
    assert_eq!(known.unwrap().len(), 1);
    let beside = Process::beside(root.path());
    let mut batch = Batch::default();
    for version in [1, 2] {
        let key = format!("snapshot/00000001/{version:08x}");
        batch.delete(key, siteconf::store::Expect::Anything);
    }
    beside.projects.store().commit(batch).unwrap();
    let refused = project
        .rollback(&branch("main"), second, &[], &Condition::None)
        .unwrap_err();
    assert!(matches!(refused, Error::NotFound { .. }), "{refused}");
    beside.collect();
    let refused = project
        .rollback(&branch("main"), second, &[], &Condition::None)
        .unwrap_err();
    assert!(matches!(refused, Error::NotFound { .. }), "{refused}");
    let refused = project
        .create_branch(&branch("next"), Some("main@v0002"))
        .unwrap_err();
    assert!(matches!(refused, Error::NotFound { .. }), "{refused}");
    assert_nothing_left(&daemon, root.path());
}
