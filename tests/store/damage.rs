//! Damage: one object is refused with its id, the others are read on, and never a wrong byte.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use siteconf::base::id::{BlobId, Kind, ObjectId};
use siteconf::base::outboard::PIECE_BYTES;
use siteconf::store::inspection::Inspectable as _;
use siteconf::store::objects::{Blob, Objects};
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Body, Result, Store, StoreError};

use crate::fixture::{blob, noise, object, of_objects, put_large};

/// A store with two small blobs, a node and two large blobs.
struct Scene {
    root: tempfile::TempDir,
    victim: BlobId,
    other: BlobId,
    node: ObjectId,
    large: BlobId,
    other_large: BlobId,
}

fn scene() -> Scene {
    let root = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_locked(root.path()).unwrap();
    let (victim, other) = (blob("victim"), blob("other"));
    let node = object(Kind::Node, b"some node");
    let scene = Scene {
        root,
        victim: as_blob(victim.id),
        other: as_blob(other.id),
        node: node.id,
        large: as_blob(put_large(&store, &noise(1, 600_000))),
        other_large: as_blob(put_large(&store, &noise(2, 600_000))),
    };
    store.commit(of_objects(vec![victim, other, node])).unwrap();
    scene
}

fn as_blob(id: ObjectId) -> BlobId {
    BlobId::from_bytes(*id.as_bytes())
}

impl Scene {
    fn objects(&self) -> Objects {
        let store = SqliteStore::open_locked(self.root.path()).unwrap();
        Objects::new(Arc::new(store) as Arc<dyn Store>)
    }

    fn read_only(&self) -> Objects {
        let store = SqliteStore::open_read_only(self.root.path()).unwrap();
        Objects::new(Arc::new(store) as Arc<dyn Store>)
    }

    fn sql(&self, change: &str) {
        let db = Connection::open(self.root.path().join("store.db")).unwrap();
        db.execute_batch(change).unwrap();
    }

    /// Does to the row of an object what the software would not.
    fn tamper(&self, id: ObjectId, change: &str) {
        let db = Connection::open(self.root.path().join("store.db")).unwrap();
        let sql = format!("UPDATE object SET {change} WHERE id = ?1");
        assert_eq!(db.execute(&sql, [id.as_bytes()]).unwrap(), 1, "{change}");
    }

    fn file(&self, id: BlobId) -> PathBuf {
        let text = id.to_string();
        self.root
            .path()
            .join("blobs")
            .join(&text[..2])
            .join(&text[2..])
    }
}

/// Asserts that reading said that this object is damaged.
#[track_caller]
fn assert_damaged<T: std::fmt::Debug>(outcome: Result<T>, damaged: impl Into<ObjectId>, how: &str) {
    match outcome {
        Err(StoreError::Damaged { id, .. }) => assert_eq!(id, damaged.into(), "{how}"),
        other => panic!("{how}: {other:?}"),
    }
}

#[track_caller]
fn assert_sound(outcome: Result<Blob>, bytes: &[u8], how: &str) {
    let blob = outcome.unwrap();
    assert_eq!(blob.size, bytes.len() as u64, "{how}");
    let found = match &blob.body {
        Body::Inline(found) => found.to_vec(),
        Body::Large(large) => {
            let mut found = vec![0; bytes.len()];
            large.read_exact_at(&mut found, 0).unwrap();
            found
        }
    };
    assert!(found == bytes, "{how}");
}

#[test]
fn a_damaged_row_is_refused_and_the_others_are_read() {
    for change in [
        "bytes = x'76696374696D00'",
        "bytes = x'56696374696d'",
        "bytes = x''",
        "bytes = NULL",
        "kind = 2",
        "kind = 3",
        "kind = 0",
        "kind = 4711",
        "kind = -1",
        "size = 5",
        "size = 7",
        "size = -6",
        "sha256 = NULL",
        "sha256 = x'00'",
    ] {
        let scene = scene();
        scene.tamper(scene.victim.into(), change);
        let objects = scene.objects();
        for _ in 0..2 {
            assert_damaged(objects.blob(scene.victim), scene.victim, change);
        }
        assert_sound(objects.blob(scene.other), b"other", change);
        assert_sound(objects.blob(scene.large), &noise(1, 600_000), change);
        let node = objects.structure(Kind::Node, scene.node).unwrap();
        assert_eq!(node.as_ref(), b"some node");
    }
}

#[test]
fn a_damaged_structure_is_refused() {
    for change in [
        "bytes = x'736f6d65206e6f646500'",
        "bytes = x'536f6d65206e6f6465'",
        "bytes = NULL",
        "kind = 1",
        "size = 8",
    ] {
        let scene = scene();
        scene.tamper(scene.node, change);
        let objects = scene.objects();
        assert_damaged(
            objects.structure(Kind::Node, scene.node),
            scene.node,
            change,
        );
        assert_sound(objects.blob(scene.victim), b"victim", change);
    }
}

#[test]
fn an_object_of_one_kind_is_not_read_as_another() {
    let scene = scene();
    let objects = scene.objects();
    let as_manifest = objects.structure(Kind::Manifest, scene.node);
    assert_damaged(as_manifest, scene.node, "a node as a manifest");
    assert_damaged(
        objects.blob(as_blob(scene.node)),
        scene.node,
        "a node as a blob",
    );
    let as_node = objects.structure(Kind::Node, scene.victim.into());
    assert_damaged(as_node, scene.victim, "a blob as a node");
    assert_eq!(
        objects.structure(Kind::Node, scene.node).unwrap().as_ref(),
        b"some node"
    );
}

#[test]
fn an_absent_object_is_missing_not_damaged() {
    let scene = scene();
    let objects = scene.objects();
    let absent = as_blob(blob("absent").id);
    assert!(matches!(
        objects.blob(absent),
        Err(StoreError::Missing { id }) if id == absent.into()
    ));
}

/// Where the two large blobs lie, to be changed.
type Change = fn(&Path, &Path);

/// What `open` sees; what only the bytes tell, with the first piece that has others.
const CHANGES: [(&str, Change, Option<usize>); 9] = [
    ("truncated", |file, _| truncate(file, 599_999), None),
    ("emptied", |file, _| truncate(file, 0), None),
    ("longer", |file, _| truncate(file, 600_001), None),
    ("the last bit", |file, _| flip(file, 599_999), Some(2)),
    (
        "a bit in the middle",
        |file, _| flip(file, 300_000),
        Some(1),
    ),
    (
        "swapped",
        |file, other| assert_eq!(fs::copy(other, file).unwrap(), 600_000),
        Some(0),
    ),
    ("gone", |file, _| fs::remove_file(file).unwrap(), None),
    (
        "a link",
        |file, _| {
            let moved = file.with_extension("moved");
            fs::rename(file, &moved).unwrap();
            std::os::unix::fs::symlink(&moved, file).unwrap();
        },
        None,
    ),
    (
        "a folder",
        |file, _| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        },
        None,
    ),
];

fn flip(file: &Path, at: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at] ^= 1;
    fs::write(file, bytes).unwrap();
}

/// Asserts that of a damaged large body the pieces before the damage are given, whole and in parts,
/// and nothing of the piece itself.
#[track_caller]
fn assert_given_up_to(blob: &Blob, damaged: usize, bytes: &[u8], how: &str) {
    let Body::Large(large) = &blob.body else {
        panic!("{how}: {blob:?}");
    };
    let read = |from: usize, to: usize| {
        let mut found = vec![0; to - from];
        let outcome = large.read_exact_at(&mut found, from as u64);
        outcome.map(|()| found).map_err(|error| error.kind())
    };
    let (begin, end) = (
        damaged * PIECE_BYTES,
        bytes.len().min((damaged + 1) * PIECE_BYTES),
    );
    assert_eq!(read(0, begin), Ok(bytes[..begin].to_vec()), "{how}");
    if begin > 0 {
        assert_eq!(
            read(7, begin - 5),
            Ok(bytes[7..begin - 5].to_vec()),
            "{how}"
        );
    }
    let refused = Err(std::io::ErrorKind::InvalidData);
    for (from, to) in [
        (begin, end),
        (begin, begin + 1),
        (end - 1, end),
        (0, bytes.len()),
    ] {
        assert_eq!(read(from, to), refused, "{how}: {from} to {to}");
    }
}

#[test]
fn a_damaged_file_is_refused_and_the_others_are_read() {
    for (how, change, piece) in CHANGES {
        let scene = scene();
        change(&scene.file(scene.large), &scene.file(scene.other_large));
        let objects = scene.objects();
        for _ in 0..2 {
            match piece {
                Some(piece) => {
                    let blob = objects.blob(scene.large).unwrap();
                    assert_given_up_to(&blob, piece, &noise(1, 600_000), how);
                }
                None => assert_damaged(objects.blob(scene.large), scene.large, how),
            }
        }
        assert_sound(objects.blob(scene.other_large), &noise(2, 600_000), how);
        assert_sound(objects.blob(scene.victim), b"victim", how);
    }
}

/// A file that was right when a part of it was first read, and is damaged then. What was read of it
/// may be given again from memory.
#[test]
fn a_file_that_is_damaged_after_its_first_read_is_never_given_with_other_bytes() {
    for (how, change, piece) in CHANGES {
        for without_outboard in [false, true] {
            let scene = scene();
            if without_outboard {
                scene.sql("DELETE FROM outboard");
            }
            let (objects, bytes) = (scene.objects(), noise(1, 600_000));
            let read_first = (piece.unwrap_or(0) + 1) % 3 * PIECE_BYTES;
            let mut found = vec![0; 10];
            let Body::Large(large) = objects.blob(scene.large).unwrap().body else {
                panic!("{how}: it is large");
            };
            large.read_exact_at(&mut found, read_first as u64).unwrap();
            assert_eq!(found, bytes[read_first..][..10], "{how}");
            change(&scene.file(scene.large), &scene.file(scene.other_large));
            match piece {
                Some(piece) => {
                    let blob = objects.blob(scene.large).unwrap();
                    assert_given_up_to(&blob, piece, &bytes, how);
                    large.read_exact_at(&mut found, read_first as u64).unwrap();
                    assert_eq!(found, bytes[read_first..][..10], "{how}");
                }
                None => assert_damaged(objects.blob(scene.large), scene.large, how),
            }
        }
    }
}

/// As every blob of a service that stored no hashes of pieces; and with hashes that are not its own.
#[test]
fn a_blob_without_an_outboard_of_its_own_is_read_whole_first() {
    for change in [
        "DELETE FROM outboard",
        "UPDATE outboard SET pieces = x'00'",
        "UPDATE outboard SET pieces = zeroblob(96)",
        "UPDATE outboard SET pieces = zeroblob(64)",
        "UPDATE outboard SET pieces = x''",
    ] {
        let scene = scene();
        scene.sql(change);
        let objects = scene.read_only();
        assert_sound(objects.blob(scene.large), &noise(1, 600_000), change);
        flip(&scene.file(scene.other_large), 599_999);
        assert_damaged(objects.blob(scene.other_large), scene.other_large, change);
    }
}

fn truncate(file: &Path, length: u64) {
    let file = fs::OpenOptions::new().write(true).open(file).unwrap();
    file.set_len(length).unwrap();
}

#[test]
fn a_damaged_file_heals_when_its_bytes_come_again() {
    let scene = scene();
    truncate(&scene.file(scene.large), 10);
    let store = SqliteStore::open_locked(scene.root.path()).unwrap();
    put_large(&store, &noise(1, 600_000));
    drop(store);
    assert_sound(
        scene.objects().blob(scene.large),
        &noise(1, 600_000),
        "healed",
    );
}

/// Writes another number over that of the row of an object, which the database file is searched for.
/// SQLite keeps it in one byte below 128, in two below 16,384, before the record that begins with
/// the lengths of its columns.
fn renumber(root: &Path, id: ObjectId, from: &[u8], to: &[u8]) {
    let path = root.join("store.db");
    let mut file = fs::read(&path).unwrap();
    let places: Vec<_> = (0..file.len() - 32)
        .filter(|at| file[*at..at + 32] == *id.as_bytes())
        .collect();
    let [place] = places[..] else {
        panic!("{} rows with this id", places.len());
    };
    // Its length, and the types of seq, id, kind, size, sha256 and bytes, one byte each.
    let number = place - 7 - from.len()..place - 7;
    assert_eq!(file[number.clone()], *from);
    file[number].copy_from_slice(to);
    fs::write(&path, file).unwrap();
}

#[test]
fn a_damaged_row_number_hides_no_object_on_another_page() {
    let texts: Vec<String> = (1..=1500)
        .map(|number| format!("number {number}"))
        .collect();
    let objects: Vec<_> = texts.iter().map(|text| blob(text)).collect();
    // The last row of a page of a survey; back to a row before, and ahead beyond the last.
    for to in [[0x80, 5], [0xff, 0x7f]] {
        let root = tempfile::tempdir().unwrap();
        let store = SqliteStore::open_locked(root.path()).unwrap();
        store.commit(of_objects(objects.clone())).unwrap();
        drop(store);
        renumber(root.path(), objects[999].id, &[0x87, 0x68], &to);
        let store = SqliteStore::open_locked(root.path()).unwrap();
        let objects = objects.iter().enumerate();
        for (at, object) in objects.filter(|(at, _)| at % 200 == 100) {
            assert!(store.object(object.id).unwrap().is_some(), "{to:?}: {at}");
        }
        let mut rows = 0;
        let survey = store.survey_objects(&mut |_| {
            rows += 1;
            assert!(rows <= 2000, "{to:?}: it does not end");
        });
        survey.unwrap();
        assert!(rows >= 1000, "{to:?}: {rows}");
    }
}

#[test]
fn a_damaged_row_is_replaced_when_its_object_comes_again() {
    for change in [
        "bytes = x'56696374696d'",
        "bytes = NULL",
        "kind = 2",
        "size = 5",
        "size = -6",
        "sha256 = NULL",
        "sha256 = x'00'",
        "id = x'00'",
    ] {
        let scene = scene();
        scene.tamper(scene.victim.into(), change);
        let store = SqliteStore::open_locked(scene.root.path()).unwrap();
        for _ in 0..2 {
            store
                .commit(of_objects(vec![blob("victim"), blob("other")]))
                .unwrap();
        }
        drop(store);
        assert_sound(scene.objects().blob(scene.victim), b"victim", change);
        assert_sound(scene.objects().blob(scene.other), b"other", change);
        assert_sound(
            scene.objects().blob(scene.large),
            &noise(1, 600_000),
            change,
        );
        let db = Connection::open(scene.root.path().join("store.db")).unwrap();
        let count = |id: ObjectId| -> u64 {
            let sql = "SELECT count(*) FROM object WHERE id = ?1";
            db.query_one(sql, [id.as_bytes()], |row| row.get(0))
                .unwrap()
        };
        for id in [scene.victim, scene.other] {
            assert_eq!(count(id.into()), 1, "{change}");
        }
    }
}

#[test]
fn a_damaged_row_of_a_large_blob_is_replaced_when_its_bytes_come_again() {
    for change in ["size = 5", "sha256 = NULL", "bytes = x'00'", "kind = 3"] {
        let scene = scene();
        scene.tamper(scene.large.into(), change);
        let store = SqliteStore::open_locked(scene.root.path()).unwrap();
        put_large(&store, &noise(1, 600_000));
        drop(store);
        let objects = scene.objects();
        assert_sound(objects.blob(scene.large), &noise(1, 600_000), change);
    }
}
