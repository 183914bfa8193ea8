//! A full disk: refused, nothing changed, healed when there is room.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use siteconf::base::id::Kind;
use siteconf::base::limits::RESERVE_BYTES;
use siteconf::store::collection::{Collectable as _, Collection as _, Pace};
use siteconf::store::inspection::Inspectable as _;
use siteconf::store::sqlite::{Marks, SqliteStore};
use siteconf::store::{Batch, Expect, Store, StoreError, Writes};

use crate::fixture::{contents, copy, noise, object, of_objects, of_write, put_large, value};
use crate::left_out::leave_out;

/// A file system of a few megabytes in memory. One at a time: while a command is begun, its process has
/// the open files of this one, with their locks and their room.
pub(crate) struct SmallDisk {
    at: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

static ALONE: Mutex<()> = Mutex::new(());

impl SmallDisk {
    /// Mounts one, or says why there is none: that needs the rights of root.
    fn mount(megabytes: u32) -> Result<Self, String> {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let at = tempfile::tempdir().unwrap();
        let options = format!("size={megabytes}m");
        let outcome = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(at.path())
            .output();
        match outcome {
            Ok(done) if done.status.success() => Ok(Self { at, _alone: alone }),
            Ok(done) => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.at.path().join(name)
    }

    fn data(&self) -> PathBuf {
        self.path("data")
    }

    fn ballast(&self) -> PathBuf {
        self.path("ballast")
    }

    /// Leaves so many pages free.
    pub(crate) fn leave(&self, pages: u64) {
        drop(fs::remove_file(self.ballast()));
        self.fill();
        let ballast = fs::File::options().write(true).open(self.ballast());
        let ballast = ballast.unwrap();
        let length = ballast.metadata().unwrap().len();
        // The last of them may have been written in part.
        ballast
            .set_len(length / 4096 * 4096 - pages * 4096)
            .unwrap();
    }

    /// Leaves not a byte free.
    fn fill(&self) {
        let refused = fs::write(self.ballast(), vec![0; 128 << 20]).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::StorageFull);
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let done = Command::new("umount").arg(self.at.path()).status().unwrap();
        assert!(done.success(), "the small disk is still mounted");
    }
}

/// The disk, or `None` where none can be mounted and nobody asked for all tests to run.
pub(crate) fn small_disk() -> Option<SmallDisk> {
    small_disk_of(40)
}

fn small_disk_of(megabytes: u32) -> Option<SmallDisk> {
    match SmallDisk::mount(megabytes) {
        Ok(disk) => Some(disk),
        Err(why) => {
            leave_out(&format!(
                "a full disk, for a tmpfs cannot be mounted: {why}"
            ));
            None
        }
    }
}

fn daemon(root: &Path) -> SqliteStore {
    SqliteStore::open_locked(root).unwrap()
}

/// A batch of 2 MiB in objects and a record, each time the same objects.
fn big_batch(key: &str) -> Batch {
    big_batch_of(key, 0)
}

/// The same with objects of its own.
fn big_batch_of(key: &str, number: u64) -> Batch {
    let mut batch = of_write(key, Expect::Absent, Some("1"));
    for seed in 32 * number..32 * (number + 1) {
        batch
            .objects
            .push(object(Kind::Blob, &noise(seed, 64 << 10)));
    }
    batch
}

#[test]
fn a_full_disk_refuses_a_commit_and_heals() {
    let Some(disk) = small_disk() else { return };
    let store = daemon(&disk.data());
    store
        .commit(of_write("before", Expect::Absent, Some("1")))
        .unwrap();
    let before = contents(&store);
    disk.fill();
    for _ in 0..3 {
        assert!(matches!(
            store.commit(big_batch("refused")),
            Err(StoreError::Full)
        ));
        assert_eq!(contents(&store), before, "reads go on, and nothing changed");
        assert_eq!(store.writes(), Writes::Full);
    }

    fs::remove_file(disk.ballast()).unwrap();
    store.commit(big_batch("after")).unwrap();
    assert_eq!(value(&store, "after").as_deref(), Some("1"));
    let after = contents(&store);
    drop(store);
    assert_eq!(contents(&daemon(&disk.data())), after);
}

#[test]
fn small_commits_go_on_until_the_disk_is_full_and_all_that_were_acknowledged_stay() {
    let Some(disk) = small_disk() else { return };
    let store = daemon(&disk.data());
    let mut acknowledged = Vec::new();
    for round in 0..10_000 {
        let mut batch = of_write(&format!("k/{round}"), Expect::Absent, Some("x"));
        batch.objects.push(object(Kind::Blob, &noise(round, 4000)));
        match store.commit(batch) {
            Ok(version) => acknowledged.push(version),
            Err(StoreError::Full) => break,
            Err(other) => panic!("after {} commits: {other}", acknowledged.len()),
        }
    }
    assert!(
        (100..9999).contains(&acknowledged.len()),
        "{}",
        acknowledged.len()
    );
    let full = contents(&store);
    assert_eq!(full.1.len(), acknowledged.len());
    drop(store);
    assert_eq!(
        contents(&SqliteStore::open_read_only(&disk.data()).unwrap()),
        full
    );
}

/// A change that frees or protects.
fn protecting(key: &str, value: Option<&str>) -> Batch {
    Batch {
        uses_reserve: true,
        ..of_write(key, Expect::Anything, value)
    }
}

#[test]
fn changes_that_free_or_protect_go_on_on_a_full_disk() {
    let Some(disk) = small_disk() else { return };
    let store = daemon(&disk.data());
    for number in 0..300 {
        let key = format!("old/{number}");
        store
            .commit(of_write(&key, Expect::Absent, Some("1")))
            .unwrap();
    }
    let reserve = disk.data().join("reserve");
    let length = || fs::metadata(&reserve).map_or(0, |file| file.len());
    assert!(length() >= RESERVE_BYTES);
    disk.fill();
    let refused = |store: &SqliteStore| {
        let outcome = store.commit(big_batch("refused"));
        assert!(matches!(outcome, Err(StoreError::Full)), "{outcome:?}");
    };
    refused(&store);
    assert!(length() >= RESERVE_BYTES, "a save does not take it");
    for number in 0..300 {
        store
            .commit(protecting(&format!("old/{number}"), None))
            .unwrap();
        store
            .commit(protecting("session/1", Some(&number.to_string())))
            .unwrap();
        if number % 50 == 0 {
            refused(&store);
            let small = store.commit(of_write("small", Expect::Absent, Some("1")));
            assert!(length() >= RESERVE_BYTES || matches!(small, Err(StoreError::Full)));
        }
    }
    let before = contents(&store);
    assert_eq!(value(&store, "session/1").as_deref(), Some("299"));
    assert_eq!(value(&store, "old/299"), None);
    drop(store);

    // Nor does a start need room.
    let store = daemon(&disk.data());
    assert_eq!(contents(&store), before);
    store
        .commit(protecting("session/1", Some("\"after\"")))
        .unwrap();
    assert_ne!(store.writes(), Writes::Stopped);
    fs::remove_file(disk.ballast()).unwrap();
    store.commit(big_batch("after")).unwrap();
    assert!(
        length() >= RESERVE_BYTES,
        "there is room, and it is kept again"
    );
    assert_eq!(value(&store, "after").as_deref(), Some("1"));
}

#[test]
fn of_several_changes_at_once_on_a_full_disk_those_that_may_are_made() {
    let Some(disk) = small_disk() else { return };
    let store = daemon(&disk.data());
    disk.fill();
    thread::scope(|scope| {
        for writer in 0..8 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..20 {
                    let key = format!("k/{writer}/{number}");
                    if writer % 2 == 0 {
                        store.commit(protecting(&key, Some("1"))).unwrap();
                    } else {
                        let outcome = store.commit(big_batch(&key));
                        assert!(matches!(outcome, Err(StoreError::Full)), "{outcome:?}");
                    }
                }
            });
        }
    });
    assert_eq!(contents(&store).1.len(), 4 * 20);
}

#[test]
fn a_start_on_a_full_disk_uses_the_room_that_is_kept() {
    let Some(disk) = small_disk() else { return };
    let store = daemon(&disk.data());
    store
        .commit(of_write("before", Expect::Absent, Some("1")))
        .unwrap();
    drop(store);
    // Not even the index of the log has room.
    disk.fill();
    let store = daemon(&disk.data());
    assert_eq!(value(&store, "before").as_deref(), Some("1"));
    store.commit(protecting("session/1", Some("1"))).unwrap();
    assert!(matches!(
        store.commit(of_write("refused", Expect::Absent, Some("1"))),
        Err(StoreError::Full)
    ));
    fs::remove_file(disk.ballast()).unwrap();
    store
        .commit(of_write("after", Expect::Absent, Some("1")))
        .unwrap();
}

#[test]
fn a_start_on_a_full_disk_has_room_for_a_log_of_pages_that_are_there() {
    let Some(disk) = small_disk() else { return };
    let root = tempfile::tempdir().unwrap();
    let store = daemon(root.path());
    // Less than what makes the log be copied, and more than what is kept for a full disk.
    for round in 0..1300 {
        let value = format!("\"{round}\"");
        store.commit(protecting("k", Some(&value))).unwrap();
    }
    let before = contents(&store);
    copy(root.path(), &disk.data());
    let log = disk.data().join("store.db-wal");
    let log = || fs::metadata(&log).unwrap().len();
    assert!(log() > RESERVE_BYTES + (1 << 20), "{}", log());
    disk.fill();

    let store = daemon(&disk.data());
    assert_eq!((log(), store.writes()), (0, Writes::Taken));
    assert_eq!(contents(&store), before);
    store.commit(protecting("session/1", Some("1"))).unwrap();
}

#[test]
fn what_the_database_grows_by_when_its_log_is_copied_is_kept_for_a_full_disk() {
    let Some(disk) = small_disk() else { return };
    let store = daemon(&disk.data());
    // Less than what makes the log be copied.
    for number in 0..4 {
        let key = format!("old/{number}");
        store.commit(big_batch_of(&key, number)).unwrap();
    }
    disk.fill();
    for number in 0..300 {
        store
            .commit(protecting("session/1", Some(&number.to_string())))
            .unwrap();
    }
    let before = contents(&store);
    drop(store);

    let store = daemon(&disk.data());
    assert_eq!(contents(&store), before);
    for number in 0..4 {
        store
            .commit(protecting(&format!("old/{number}"), None))
            .unwrap();
    }
}

#[test]
fn what_another_process_has_left_in_the_log_is_kept_room_for_too() {
    let Some(disk) = small_disk() else { return };
    let store = daemon(&disk.data());
    let beside = SqliteStore::open_beside(&disk.data()).unwrap();
    for number in 0..4 {
        let key = format!("old/{number}");
        beside.commit(big_batch_of(&key, number)).unwrap();
    }
    drop(SqliteStore::open_beside(&disk.data()).unwrap());
    for number in 0..20 {
        // What was given up and not used others take at once.
        disk.leave(0);
        for process in [&store, &beside] {
            process
                .commit(protecting("session/1", Some(&number.to_string())))
                .unwrap();
        }
    }
}

#[test]
fn what_a_copy_needs_stays_kept_while_a_reader_holds_the_log() {
    let Some(disk) = small_disk() else { return };
    let store = daemon(&disk.data());
    let reader = Connection::open(disk.data().join("store.db")).unwrap();
    let reading = reader.unchecked_transaction().unwrap();
    let count = || {
        reading.query_one("SELECT count(*) FROM record", [], |row| {
            row.get::<_, i64>(0)
        })
    };
    assert_eq!(count().unwrap(), 0);
    for number in 0..4 {
        let key = format!("old/{number}");
        store.commit(big_batch_of(&key, number)).unwrap();
    }
    let mut done = 0;
    loop {
        disk.leave(0);
        match store.commit(protecting("session/1", Some(&done.to_string()))) {
            Ok(_) => done += 1,
            Err(StoreError::Full) => break,
            Err(other) => panic!("after {done}: {other}"),
        }
    }
    assert!(done > 0);
    drop(reading);
    for number in 0..20 {
        disk.leave(0);
        store
            .commit(protecting("session/1", Some(&number.to_string())))
            .unwrap();
    }
}

#[test]
fn a_collection_on_a_full_disk_removes_all_that_nothing_needs() {
    let Some(disk) = small_disk_of(96) else {
        return;
    };
    let store = daemon(&disk.data());
    let mut seeds = 0..12_000;
    while !seeds.is_empty() {
        let some = seeds.by_ref().take(1000);
        let objects = some.map(|seed| object(Kind::Blob, &noise(seed, 1000)));
        store.commit(of_objects(objects.collect())).unwrap();
    }
    drop(store);
    // A log without blocks of its own.
    let store = daemon(&disk.data());
    disk.fill();
    let database = || fs::metadata(disk.data().join("store.db")).unwrap().len();
    let before = database();
    let collection = store.begin_collection(Pace::new(0)).unwrap();
    let swept = collection.sweep(&Marks::default(), |_, _| (), |_| ControlFlow::Continue(()));
    assert!(swept.failed.is_none(), "{swept:?}");
    assert_eq!(swept.removed.objects, 12_000);
    let space = collection.give_back(|_| ControlFlow::Continue(())).unwrap();
    assert_eq!(space.kept, 0);
    collection.finish().unwrap();
    assert!(database() + 12_000_000 < before);
    store.commit(big_batch("after")).unwrap();
}

#[test]
fn a_start_without_any_room_is_healed_by_room_alone_and_others_are_told() {
    let Some(disk) = small_disk() else { return };
    let root = tempfile::tempdir().unwrap();
    let store = daemon(root.path());
    store.commit(big_batch("before")).unwrap();
    let before = contents(&store);
    copy(root.path(), &disk.data());
    fs::remove_file(disk.data().join("reserve")).unwrap();
    disk.leave(0);
    let refused = SqliteStore::open_locked(&disk.data());
    assert!(matches!(refused, Err(StoreError::Full)), "{refused:?}");
    // There is room for the index of the log, and then for the file that tells others, too.
    for (pages, why) in [
        (8, "there was none even to note why"),
        (
            40,
            "what an earlier run left in the log is not in the database yet",
        ),
    ] {
        disk.leave(pages);
        let store = daemon(&disk.data());
        assert_eq!(contents(&store), before);
        let beside = SqliteStore::open_beside(&disk.data()).unwrap();
        for process in [&store, &beside] {
            assert_eq!(process.writes(), Writes::Full);
            let refused = process.commit(protecting("refused", Some("1")));
            assert!(matches!(refused, Err(StoreError::Full)), "{refused:?}");
        }
        let told = beside.overview().writes_refused.unwrap().unwrap();
        let told = (told.until, told.why.as_str());
        assert_eq!(told, ("there is room on the disk", why));
        if pages == 8 {
            continue;
        }
        fs::remove_file(disk.ballast()).unwrap();
        // Nobody asks the daemon for a change.
        let patience = Instant::now() + Duration::from_secs(30);
        while store.writes() != Writes::Taken {
            assert!(Instant::now() < patience, "it is not healed");
            thread::yield_now();
        }
        beside
            .commit(of_write("beside", Expect::Absent, Some("1")))
            .unwrap();
    }
}

#[test]
fn a_full_disk_refuses_an_upload_and_leaves_nothing_of_it() {
    let Some(disk) = small_disk() else { return };
    let store = daemon(&disk.data());
    let mut staging = store.stage().unwrap();
    let body = noise(1, 1 << 20);
    let refused = (0..64).find_map(|_| staging.write(&body).err());
    assert!(matches!(refused, Some(StoreError::Full)), "{refused:?}");
    drop(staging);
    assert_eq!(
        fs::read_dir(disk.data().join("incoming")).unwrap().count(),
        0
    );
    put_large(&store, &body);
}
