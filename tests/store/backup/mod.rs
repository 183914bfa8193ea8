//! Backups: what is in them, what a later one adds, and what they refuse.

mod damage;
mod folders;
mod full;
mod layout;
mod meanwhile;
mod sound;
mod targets;

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;

use siteconf::base::clock::{ManualClock, Timestamp};
use siteconf::base::id::{Kind, ObjectId};
use siteconf::store::inspection::Inspectable as _;
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::sqlite::backup::{
    BackupError, Extent, KnownKey, Made, Restored, Source, Step, Target, Verified, create, restore,
    verify,
};
use siteconf::store::{Expect, Store};

use crate::fixture::{
    blob, contents, copy, noise, object, of_objects, of_write, push, put_large, value,
};

const AT: &str = "2026-11-21T22:30:00.000Z";

/// A store, and room beside it.
struct Scene {
    room: TempDir,
    store: SqliteStore,
}

impl Scene {
    /// A store with objects of each kind, a large blob, records, a deleted record and a key.
    fn new() -> Self {
        let room = tempfile::tempdir().unwrap();
        let root = room.path().join("data");
        let store = SqliteStore::open_locked(&root).unwrap();
        put_large(&store, &noise(1, 600_000));
        let node = object(Kind::Node, b"some node");
        let mut batch = of_objects(vec![blob("a"), blob("b"), blob(""), node]);
        push(&mut batch, "one", Expect::Absent, Some("1"));
        push(&mut batch, "two", Expect::Absent, Some("2"));
        push(&mut batch, "gone", Expect::Absent, Some("3"));
        store.commit(batch).unwrap();
        store
            .commit(of_write("gone", Expect::Anything, None))
            .unwrap();
        fs::write(root.join("secrets/server-key"), "0".repeat(64)).unwrap();
        Self { room, store }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.room.path().join(name)
    }

    fn folder(&self) -> Target<'static> {
        Target::folder(&self.path("backup"), self.store.data_folder()).unwrap()
    }

    fn file(&self) -> Target<'static> {
        Target::file(&self.path("backup.tar"), self.store.data_folder()).unwrap()
    }

    /// Backs up, and asserts that nothing was found.
    #[track_caller]
    fn back_up(&self, mut target: Target<'_>) -> Made {
        let (made, told) = self.back_up_damaged(&mut target);
        assert_eq!(told, [""; 0]);
        assert_eq!(made.damaged, 0);
        made
    }

    /// Backs up, and gives what was told.
    #[track_caller]
    fn back_up_damaged(&self, target: &mut Target<'_>) -> (Made, Vec<String>) {
        let clock = ManualClock::new(Timestamp::parse(AT).unwrap());
        let mut told = Vec::new();
        let made = create(
            &self.store,
            target,
            &KnownKey::default(),
            &clock,
            &mut |step| collect(step, &mut told),
        );
        (made.unwrap(), told)
    }

    /// Restores, and asserts that what is there is what the store holds.
    #[track_caller]
    fn assert_restored(&self, from: &str) -> TempDir {
        let room = tempfile::tempdir().unwrap();
        let root = room.path().join("new");
        let restored = restore_from(&self.path(from), &root).unwrap();
        assert_eq!(restored.version, self.store.last_version().unwrap());
        assert_eq!(restored.at.to_string(), AT);
        let key = fs::read_to_string(root.join("secrets/server-key")).unwrap();
        assert_eq!(key, "0".repeat(64));
        let entries = walkdir::WalkDir::new(&root).into_iter().map(Result::unwrap);
        for entry in entries {
            let mode = entry.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{}", entry.path().display());
        }
        for open in [SqliteStore::open_read_only, SqliteStore::open_locked] {
            let store = open(&root).unwrap();
            assert_eq!(contents(&store), contents(&self.store));
            assert_eq!(store.examine().unwrap(), [""; 0]);
            assert_eq!(store.lost_commits().unwrap(), None);
            let large = ids_of(&store, Kind::Blob);
            for id in large {
                let id = siteconf::base::id::BlobId::from_bytes(*id.as_bytes());
                assert_eq!(
                    store.outboard(id).unwrap(),
                    self.store.outboard(id).unwrap()
                );
            }
        }
        room
    }

    /// Changes the database behind the store.
    fn sql(&self, change: &str) {
        let db = Connection::open(self.path("data/store.db")).unwrap();
        db.execute_batch(change).unwrap();
    }
}

fn ids_of(store: &dyn Store, kind: Kind) -> Vec<ObjectId> {
    let ids = store.ids_with_prefix(&[], usize::MAX).unwrap();
    let of_kind = |id: &ObjectId| store.object(*id).unwrap().unwrap().kind == kind;
    ids.into_iter().filter(of_kind).collect()
}

fn collect(step: Step<'_>, told: &mut Vec<String>) -> ControlFlow<()> {
    match step {
        Step::At { .. } => {}
        Step::Damage(text) | Step::Remark(text) => told.push(text.to_owned()),
    }
    ControlFlow::Continue(())
}

fn restore_from(source: &Path, root: &Path) -> Result<Restored, BackupError> {
    let source = Source::open(source).unwrap();
    restore(source, root, Extent::Whole, &mut |_| {
        ControlFlow::Continue(())
    })
}

/// Looks through a backup; what was told, too.
fn verified(source: &Path) -> Result<(Verified, Vec<String>), BackupError> {
    let mut told = Vec::new();
    let source = Source::open(source).unwrap();
    let verified = verify(source, &mut |step| collect(step, &mut told))?;
    assert_eq!(
        usize::try_from(verified.faults).unwrap(),
        told.iter()
            .filter(|told| !told.contains("later backup"))
            .count()
    );
    Ok((verified, told))
}

fn is_sound(source: &Path) -> bool {
    let (verified, _) = verified(source).unwrap();
    verified.faults == 0
}

/// The files below a folder, by their paths in it.
fn files(root: &Path) -> Vec<String> {
    let mut files: Vec<_> = walkdir::WalkDir::new(root)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let inside = entry.path().strip_prefix(root).unwrap();
            inside.to_str().unwrap().to_owned()
        })
        .collect();
    files.sort();
    files
}

#[test]
fn what_is_restored_is_what_was_backed_up() {
    let scene = Scene::new();
    scene.back_up(scene.folder());
    scene.back_up(scene.file());
    let mut stream = Vec::new();
    scene.back_up(Target::stream(&mut stream, "a stream", scene.room.path()));
    fs::write(scene.path("stream"), stream).unwrap();
    for from in ["backup", "backup.tar", "stream"] {
        assert!(is_sound(&scene.path(from)), "{from}");
        scene.assert_restored(from);
    }
    // What is restored is written on as what was backed up.
    let room = scene.assert_restored("backup");
    let store = SqliteStore::open_locked(&room.path().join("new")).unwrap();
    let version = store
        .commit(of_write("one", Expect::Anything, Some("new")))
        .unwrap();
    assert_eq!(version, scene.store.last_version().unwrap() + 1);
    assert_eq!(value(&store, "one").as_deref(), Some("new"));
}

#[test]
fn an_empty_store_is_backed_up() {
    let room = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_locked(&room.path().join("data")).unwrap();
    let scene = Scene { room, store };
    fs::write(scene.path("data/secrets/server-key"), "0".repeat(64)).unwrap();
    scene.back_up(scene.folder());
    scene.assert_restored("backup");
}

#[test]
fn a_later_backup_writes_what_is_new_and_forgets_what_is_gone() {
    let scene = Scene::new();
    let first = scene.back_up(scene.folder());
    let same = scene.back_up(scene.folder());
    assert_eq!((same.new_files, same.new_bytes), (0, 0));
    assert_eq!(same.bytes, first.bytes);

    // Files of rows of which small ones are joined and large ones are not.
    for round in 0..4 {
        let objects = (0..60).map(|n| object(Kind::Blob, &noise(100 * round + n, 40_000)));
        let mut batch = of_objects(objects.collect());
        let key = format!("round/{round}");
        push(&mut batch, &key, Expect::Absent, Some("1"));
        push(&mut batch, "one", Expect::Anything, Some("1"));
        scene.store.commit(batch).unwrap();
        let before = files(&scene.path("backup"));
        let made = scene.back_up(scene.folder());
        assert!(made.new_bytes < 4_000_000 + 60 * 42_000, "{made:?}");
        assert!(is_sound(&scene.path("backup")));
        scene.assert_restored("backup");
        let large = |name: &&String| name.starts_with("blobs/");
        assert!(
            before
                .iter()
                .filter(large)
                .all(|name| scene.path("backup").join(name).exists())
        );
    }
    // A record that is gone, and objects that a collection has removed, the last among them.
    let mut batch = of_objects(Vec::new());
    push(&mut batch, "round/0", Expect::Anything, None);
    scene.store.commit(batch).unwrap();
    let removed = "DELETE FROM object_index WHERE seq NOT BETWEEN 100 AND 200;
                   DELETE FROM outboard;
                   DELETE FROM object WHERE seq NOT BETWEEN 100 AND 200;";
    scene.sql(removed);
    drop(scene.store);
    let store = SqliteStore::open_locked(&scene.room.path().join("data")).unwrap();
    let scene = Scene { store, ..scene };
    let made = scene.back_up(scene.folder());
    assert!(made.bytes < 101 * 42_000, "{made:?}");
    scene.assert_restored("backup");
    assert!(
        !files(&scene.path("backup"))
            .iter()
            .any(|name| name.starts_with("blobs/"))
    );
    // Numbers that come a second time, with other objects.
    let objects = (0..60).map(|n| object(Kind::Blob, &noise(9_000 + n, 40_000)));
    scene.store.commit(of_objects(objects.collect())).unwrap();
    scene.back_up(scene.folder());
    scene.assert_restored("backup");
}
