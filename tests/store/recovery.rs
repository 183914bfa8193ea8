//! What a start does with what an earlier process left: a log, the high-water mark, the word that
//! nothing more is written.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use siteconf::base::id::Kind;
use siteconf::store::inspection::Inspectable as _;
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Expect, Store, StoreError, Writes};

use crate::fixture::{
    blob_id, contents, copy, noise, object, of_objects, of_write, put_large, value,
};

fn daemon(root: &Path) -> SqliteStore {
    SqliteStore::open_locked(root).unwrap()
}

/// Commits records `k/1` to `k/<count>`.
fn commit_many(store: &dyn Store, count: u32) {
    for number in 1..=count {
        store
            .commit(of_write(&format!("k/{number}"), Expect::Absent, Some("1")))
            .unwrap();
    }
}

fn log_length(root: &Path) -> u64 {
    fs::metadata(root.join("store.db-wal")).map_or(0, |log| log.len())
}

/// Why nobody opens the folder to write.
#[track_caller]
fn refusal(root: &Path) -> String {
    let [locked, beside] = [SqliteStore::open_locked, SqliteStore::open_beside].map(|open| {
        let Err(StoreError::Folder { reason, .. }) = open(root) else {
            panic!("it was opened");
        };
        reason
    });
    assert_eq!(locked, beside);
    locked
}

#[test]
fn nothing_is_written_behind_what_an_earlier_process_left_in_the_log() {
    type Open = fn(&Path) -> Result<SqliteStore, StoreError>;
    let opens: [(&str, Open); 2] = [
        ("daemon", SqliteStore::open_locked),
        ("command without a daemon", SqliteStore::open_beside),
    ];
    for (who, open) in opens {
        let (root, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = daemon(root.path());
        commit_many(&store, 50);
        let before = contents(&store);
        copy(root.path(), killed.path());
        assert!(log_length(killed.path()) > 0);

        let next = open(killed.path()).unwrap();
        assert_eq!(log_length(killed.path()), 0, "{who}");
        // Alone, without any log, the database holds all of it.
        let alone = tempfile::tempdir().unwrap();
        copy(killed.path(), alone.path());
        fs::remove_file(alone.path().join("store.db-wal")).unwrap();
        assert_eq!(contents(&daemon(alone.path())), before, "{who}");
        next.commit(of_write("k/51", Expect::Absent, Some("1")))
            .unwrap();
    }
}

#[test]
fn a_command_beside_a_daemon_leaves_its_log_alone() {
    let root = tempfile::tempdir().unwrap();
    let serving = daemon(root.path());
    commit_many(&serving, 50);
    let before = log_length(root.path());
    let beside = SqliteStore::open_beside(root.path()).unwrap();
    assert!(log_length(root.path()) >= before);
    drop(beside);
    assert_eq!(value(&serving, "k/50").as_deref(), Some("1"));
}

#[test]
fn an_older_copy_of_the_database_is_refused_to_who_writes() {
    let root = tempfile::tempdir().unwrap();
    commit_many(&daemon(root.path()), 3);
    let older = fs::read(root.path().join("store.db")).unwrap();
    let store = daemon(root.path());
    store
        .commit(of_write("later", Expect::Absent, Some("1")))
        .unwrap();
    drop(store);
    fs::write(root.path().join("store.db"), older).unwrap();
    let told = "the database ends at version 3, but version 4 was acknowledged: its log was cut or \
                damaged, or an older copy took its place";
    assert_eq!(
        refusal(root.path()),
        format!(
            "{told}; restore a backup, or remove the file \"high-water\" to go on without what is lost"
        )
    );
    let reader = SqliteStore::open_read_only(root.path()).unwrap();
    assert_eq!(reader.lost_commits().unwrap().as_deref(), Some(told));
    assert_eq!(value(&reader, "k/3").as_deref(), Some("1"));
    drop(reader);

    fs::remove_file(root.path().join("high-water")).unwrap();
    let store = daemon(root.path());
    assert_eq!(value(&store, "later"), None);
    assert_eq!(store.lost_commits().unwrap(), None);
}

#[test]
fn a_log_that_was_cut_is_refused() {
    let (root, cut) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = daemon(root.path());
    commit_many(&store, 50);
    let begun = Instant::now();
    let raised = || fs::read_to_string(root.path().join("high-water")).unwrap();
    while !raised().starts_with("0000000000000032 ") {
        assert!(begun.elapsed() < Duration::from_mins(1), "{}", raised());
        std::thread::yield_now();
    }
    copy(root.path(), cut.path());
    let log = cut.path().join("store.db-wal");
    let file = fs::OpenOptions::new().write(true).open(&log).unwrap();
    // Behind each frame, also where the tables were being made: a header and a page of 4 KiB each, after
    // the header of the log.
    let frames = (log_length(cut.path()) - 32) / (24 + 4096);
    for left in (1..frames).rev() {
        file.set_len(32 + left * (24 + 4096)).unwrap();
        let cut_log = fs::read(&log).unwrap();
        let reason = refusal(cut.path());
        assert!(
            reason.contains("but version 50 was acknowledged"),
            "{left} frames: {reason}"
        );
        assert!(
            fs::read(&log).unwrap() == cut_log,
            "what is left of it is left"
        );
        let reader = SqliteStore::open_read_only(cut.path()).unwrap();
        let told = reader.lost_commits().unwrap().unwrap_or_default();
        assert!(told.contains("but version 50"), "{left} frames: {told}");
    }
}

#[test]
fn a_daemon_leaves_the_mark_where_a_command_has_raised_it() {
    let root = tempfile::tempdir().unwrap();
    let mark = root.path().join("high-water");
    let serving = daemon(root.path());
    commit_many(&serving, 3);
    let beside = SqliteStore::open_beside(root.path()).unwrap();
    beside
        .commit(of_write("beside", Expect::Absent, Some("1")))
        .unwrap();
    drop(beside);
    let raised = fs::read_to_string(&mark).unwrap();
    assert!(raised.starts_with("0000000000000004 "), "{raised}");
    // It has not looked since, and raises it once more at its end.
    drop(serving);
    assert_eq!(fs::read_to_string(&mark).unwrap(), raised);
}

#[test]
fn a_damaged_mark_is_told_and_made_anew() {
    let root = tempfile::tempdir().unwrap();
    commit_many(&daemon(root.path()), 3);
    let mark = root.path().join("high-water");
    let sound = fs::read_to_string(&mark).unwrap();
    for damaged in ["", "000000000000000", &sound.replace('3', "2"), "\u{fffd}"] {
        fs::write(&mark, damaged).unwrap();
        let reader = SqliteStore::open_read_only(root.path()).unwrap();
        let told = reader.lost_commits().unwrap();
        assert_eq!(told.as_deref(), Some("the high-water mark is damaged"));
        drop(reader);
        let store = daemon(root.path());
        assert_eq!(value(&store, "k/3").as_deref(), Some("1"));
        drop(store);
        assert_eq!(fs::read_to_string(&mark).unwrap(), sound, "{damaged:?}");
    }
}

#[test]
fn a_failed_upload_stops_all_writing_and_is_told_to_other_processes() {
    let root = tempfile::tempdir().unwrap();
    let store = daemon(root.path());
    let beside = SqliteStore::open_beside(root.path()).unwrap();
    let body = noise(1, 100_000);
    let mut staging = store.stage().unwrap();
    staging.write(&body).unwrap();
    // A folder of blobs that has become something else.
    let fan = &blob_id(&body).to_string()[..2];
    let fan = root.path().join("blobs").join(fan);
    fs::remove_dir(&fan).unwrap();
    fs::write(&fan, "").unwrap();
    assert!(matches!(
        staging.publish(blob_id(&body)),
        Err(StoreError::Stopped)
    ));
    for (store, who) in [(&store, "itself"), (&beside, "a process beside it")] {
        assert_eq!(store.writes(), Writes::Stopped, "{who}");
        let refused = store.commit(of_write("k", Expect::Absent, Some("1")));
        assert!(matches!(refused, Err(StoreError::Stopped)), "{who}");
        assert!(matches!(store.stage(), Err(StoreError::Stopped)), "{who}");
    }
    let told = fs::read_to_string(root.path().join("STOPPED")).unwrap();
    assert!(told.starts_with("naming a blob failed: "), "{told}");
    drop((store, beside));

    fs::remove_file(&fan).unwrap();
    let store = daemon(root.path());
    commit_many(&store, 1);
    put_large(&store, &body);
}

#[test]
fn folders_that_a_copy_has_lost_are_made_again() {
    let root = tempfile::tempdir().unwrap();
    drop(daemon(root.path()));
    for lost in ["incoming", "blobs"] {
        fs::remove_dir_all(root.path().join(lost)).unwrap();
    }
    let store = daemon(root.path());
    for seed in 0..3 {
        put_large(&store, &noise(seed, 100_000));
    }
}

#[test]
fn what_a_reader_has_held_of_the_log_is_copied_when_it_has_ended() {
    let root = tempfile::tempdir().unwrap();
    let store = daemon(root.path());
    let reader = Connection::open(root.path().join("store.db")).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let read = reader.query_one("SELECT count(*) FROM record", [], |row| row.get(0));
    assert_eq!(read, Ok(0));
    for seed in 0..1000 {
        let objects = vec![object(Kind::Blob, &noise(seed, 48 << 10))];
        store.commit(of_objects(objects)).unwrap();
    }
    let length = || fs::metadata(root.path().join("store.db")).unwrap().len();
    assert!(log_length(root.path()) > 40 << 20 && length() < 1 << 20);

    // Nothing else is written.
    reader.execute_batch("COMMIT").unwrap();
    let begun = Instant::now();
    while length() < 40 << 20 {
        assert!(begun.elapsed() < Duration::from_mins(1), "{}", length());
        std::thread::yield_now();
    }
}

/// A connection to the database of another program, which leaves the log when it closes.
fn another_program(root: &Path) -> Connection {
    let db = Connection::open(root.join("store.db")).unwrap();
    let keeps_log = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    db.set_db_config(keeps_log, true).unwrap();
    db
}

/// What SQLite has copied of the log it does not copy again while anybody has the database open, and after a failed
/// sync it may not be on the disk.
#[test]
fn what_was_copied_of_the_log_before_a_failure_is_not_trusted_while_a_process_has_it_open() {
    let root = tempfile::tempdir().unwrap();
    let store = daemon(root.path());
    commit_many(&store, 50);
    let before = contents(&store);
    let other = another_program(root.path());
    other
        .query_one("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
        .unwrap();
    fs::write(
        root.path().join("STOPPED"),
        "a commit failed: disk I/O error\n",
    )
    .unwrap();
    drop(store);
    let length = log_length(root.path());
    assert!(length > 0);
    assert_eq!(
        refusal(root.path()),
        "a process, such as a backup, has had the store open since a write failed, and the log cannot be read anew \
         beside it; end it, and start again"
    );
    assert_eq!(log_length(root.path()), length);
    drop(other);
    let store = daemon(root.path());
    assert_eq!((log_length(root.path()), contents(&store)), (0, before));
    assert_eq!(store.writes(), Writes::Taken);
}

#[test]
fn a_log_that_another_process_reads_is_told_as_held_and_settled_when_that_has_ended() {
    let (root, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = daemon(root.path());
    commit_many(&store, 50);
    copy(root.path(), killed.path());
    let other = another_program(killed.path());
    other.execute_batch("BEGIN").unwrap();
    let read = other.query_one("SELECT count(*) FROM record", [], |row| row.get(0));
    assert_eq!(read, Ok(50));

    let store = daemon(killed.path());
    let beside = SqliteStore::open_beside(killed.path()).unwrap();
    let begun = Instant::now();
    for process in [&store, &beside] {
        assert_eq!(process.writes(), Writes::Busy);
        let refused = process.commit(of_write("refused", Expect::Absent, Some("1")));
        assert!(matches!(refused, Err(StoreError::Busy)), "{refused:?}");
    }
    // A change does not settle the log itself, which would wait for the other.
    assert!(begun.elapsed() < Duration::from_secs(8));
    let told = beside.overview().writes_refused.unwrap().unwrap();
    assert_eq!(
        (told.until, told.why.as_str()),
        (
            "others that use the store have ended",
            "what an earlier run left in the log is not in the database yet"
        )
    );
    other.execute_batch("COMMIT").unwrap();
    let patience = Instant::now() + Duration::from_mins(2);
    while store.writes() != Writes::Taken {
        assert!(Instant::now() < patience, "it is not healed");
        std::thread::yield_now();
    }
    assert_eq!(log_length(killed.path()), 0);
    for (process, key) in [(&store, "own"), (&beside, "beside")] {
        process
            .commit(of_write(key, Expect::Absent, Some("1")))
            .unwrap();
    }
}
