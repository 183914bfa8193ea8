//! The index of the objects follows them at a distance: whatever it has reached, every object is
//! found, by every process, and put once.

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use siteconf::base::id::{Kind, ObjectId};
use siteconf::base::limits::OBJECTS_UNINDEXED;
use siteconf::store::inspection::Inspectable as _;
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Batch, NewObject, Store};

use crate::fixture::{blob, bytes_of, contains, of_objects};

fn numbered(range: std::ops::Range<usize>) -> Vec<NewObject> {
    range
        .map(|number| blob(&format!("number {number}")))
        .collect()
}

/// Reads one number from the database.
fn number(root: &Path, sql: &str) -> i64 {
    let db = Connection::open(root.join("store.db")).unwrap();
    db.query_one(sql, [], |row| row.get(0)).unwrap()
}

/// So many objects are entered in the index for good.
fn entered(root: &Path) -> i64 {
    number(root, "SELECT seq FROM indexed")
}

/// A few objects of each part of the range, and one that is not there.
fn assert_found(store: &dyn Store, range: std::ops::Range<usize>, how: &str) {
    for number in range.step_by(997) {
        let text = format!("number {number}");
        let new = blob(&text);
        let stored = store.object(new.id).unwrap();
        let stored = stored.unwrap_or_else(|| panic!("{how}: {text} is missing"));
        assert_eq!(stored.kind, Kind::Blob);
        assert_eq!(bytes_of(&stored), text.as_bytes(), "{how}");
        assert!(contains(store, new.id));
        let prefix = &new.id.as_bytes()[..31];
        assert_eq!(store.ids_with_prefix(prefix, 9).unwrap(), [new.id], "{how}");
    }
    assert!(!contains(store, blob("not there").id), "{how}");
}

#[test]
fn objects_are_found_before_while_and_after_they_are_entered() {
    let root = tempfile::tempdir().unwrap();
    let all = 0..OBJECTS_UNINDEXED + 10;
    let store = SqliteStore::open_locked(root.path()).unwrap();
    store.commit(of_objects(numbered(0..10))).unwrap();
    assert_eq!(entered(root.path()), 0);
    assert_found(&store, 0..10, "few");

    let beside = SqliteStore::open_beside(root.path()).unwrap();
    assert_found(&beside, 0..10, "few, from beside");
    store.commit(of_objects(numbered(all.clone()))).unwrap();
    assert_found(&store, all.clone(), "on their way");
    assert_found(&beside, all.clone(), "on their way, from beside");
    // Ended on the way: what was entered is entered again.
    drop(store);
    let store = SqliteStore::open_locked(root.path()).unwrap();
    assert_found(&store, all.clone(), "started again");

    // The writer goes on by itself, at the latest after each commit.
    store.commit(of_objects(numbered(0..1))).unwrap();
    let mut turns = 0;
    while entered(root.path()) == 0 {
        assert!(turns < 10_000, "the index does not come on");
        store.commit(Batch::default()).unwrap();
        turns += 1;
    }
    let count = i64::try_from(all.len()).unwrap();
    assert_eq!(entered(root.path()), count);
    assert_eq!(
        number(root.path(), "SELECT count(*) FROM object_index"),
        count
    );
    assert_found(&store, all.clone(), "entered");
    assert_found(&beside, all.clone(), "entered, from beside");
    let reading = SqliteStore::open_read_only(root.path()).unwrap();
    assert_found(&reading, all.clone(), "entered, read only");
    assert_eq!(store.examine().unwrap(), [""; 0]);

    // Each object has one row, whoever puts it again.
    let again = || of_objects(numbered(all.start..all.end + 1));
    beside.commit(again()).unwrap();
    store.commit(again()).unwrap();
    assert_eq!(
        number(root.path(), "SELECT count(*) FROM object"),
        count + 1
    );
    assert_found(&store, all.start..all.end + 1, "put again");
}

#[test]
fn what_one_process_puts_another_requires_and_does_not_put_again() {
    let root = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_locked(root.path()).unwrap();
    let beside = SqliteStore::open_beside(root.path()).unwrap();
    for turn in 0..20 {
        let (putting, requiring): (&dyn Store, &dyn Store) = if turn % 2 == 0 {
            (&store, &beside)
        } else {
            (&beside, &store)
        };
        let objects = numbered(turn..turn + 2);
        let required = objects.iter().map(|new| new.id).collect();
        putting.commit(of_objects(objects.clone())).unwrap();
        let batch = Batch {
            objects,
            required,
            ..Batch::default()
        };
        requiring.commit(batch).unwrap();
    }
    assert_eq!(number(root.path(), "SELECT count(*) FROM object"), 21);
}

#[test]
fn readers_find_every_object_while_others_are_entered() {
    let root = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open_locked(root.path()).unwrap());
    let all = numbered(0..OBJECTS_UNINDEXED);
    let ids: Vec<ObjectId> = all.iter().map(|new| new.id).collect();
    store.commit(of_objects(all)).unwrap();
    std::thread::scope(|scope| {
        for reader in 0..2 {
            let (store, ids, root) = (&store, &ids, root.path());
            scope.spawn(move || {
                let mut at = reader;
                // On until the last was entered, and once around at least.
                while at < ids.len() || entered(root) == 0 {
                    for _ in 0..1000 {
                        assert!(contains(store.as_ref(), ids[at % ids.len()]), "{at}");
                        at += 1;
                    }
                }
            });
        }
        while entered(root.path()) == 0 {
            store.commit(Batch::default()).unwrap();
        }
    });
}

#[test]
fn an_index_that_does_not_agree_with_the_objects_is_told() {
    let fault_of = |change: &str| {
        let root = tempfile::tempdir().unwrap();
        let store = SqliteStore::open_locked(root.path()).unwrap();
        store
            .commit(of_objects(vec![blob("a"), blob("b")]))
            .unwrap();
        drop(store);
        let db = Connection::open(root.path().join("store.db")).unwrap();
        let all = "INSERT INTO object_index SELECT id, seq FROM object; UPDATE indexed SET seq = 2";
        db.execute_batch(all).unwrap();
        assert_eq!(
            SqliteStore::open_read_only(root.path())
                .unwrap()
                .examine()
                .unwrap(),
            [""; 0]
        );
        assert_eq!(db.execute(change, [blob("a").id.as_bytes()]).unwrap(), 1);
        SqliteStore::open_read_only(root.path())
            .unwrap()
            .examine()
            .unwrap()
    };
    let id = blob("a").id;
    assert_eq!(
        fault_of("DELETE FROM object_index WHERE id = ?1"),
        [format!("database: object {id} is not in the index")]
    );
    for change in ["seq = 3 - seq", "seq = 77"] {
        assert_eq!(
            fault_of(&format!("UPDATE object_index SET {change} WHERE id = ?1")),
            [format!("database: object {id} is not where the index says")]
        );
    }
}
