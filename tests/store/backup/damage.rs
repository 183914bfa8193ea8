//! Backups of a damaged store: the damage is told, the rest is there, and what an earlier backup has is
//! kept.

use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use siteconf::store::Batch;

use super::*;

/// Restores what is in the backup, and gives the store.
fn restored(scene: &Scene, name: &str) -> (TempDir, SqliteStore) {
    let room = tempfile::tempdir().unwrap();
    let root = room.path().join("new");
    restore_from(&scene.path(name), &root).unwrap();
    let store = SqliteStore::open_locked(&root).unwrap();
    (room, store)
}

#[test]
fn damaged_rows_and_files_are_told_and_left_out() {
    let scene = Scene::new();
    let (victim, node) = (blob("a").id, object(Kind::Node, b"some node").id);
    let large = put_large(&scene.store, &noise(2, 600_000));
    let lost = put_large(&scene.store, &noise(3, 600_000));
    let path = |id: ObjectId| {
        let text = id.to_string();
        scene.path("data/blobs").join(&text[..2]).join(&text[2..])
    };
    let mut bytes = fs::read(path(large)).unwrap();
    bytes[300_000] ^= 1;
    fs::write(path(large), bytes).unwrap();
    fs::remove_file(path(lost)).unwrap();
    scene.sql(&format!(
        "UPDATE object SET bytes = CAST('z' AS BLOB) WHERE id = x'{victim}';
         UPDATE object SET kind = 9 WHERE id = x'{node}';
         UPDATE record SET value = CAST('7' AS BLOB) WHERE key = 'one';"
    ));
    let mut expected = vec![
        format!("blob {victim} is damaged: its row holds other bytes"),
        format!("blob {node} is damaged: its row names kind 9, which does not exist"),
        "record \"one\" is damaged: its checksum is that of another value".to_owned(),
        format!("blob {large} is damaged: its file holds other bytes"),
        format!(
            "blob {lost} is damaged: its file cannot be opened: No such file or directory (os error 2)"
        ),
    ];
    expected.sort();
    for name in ["backup", "backup.tar", "backup"] {
        let mut target = match name {
            "backup" => scene.folder(),
            _ => scene.file(),
        };
        let (made, mut told) = scene.back_up_damaged(&mut target);
        drop(target);
        told.sort();
        assert_eq!(told, expected);
        assert_eq!(made.damaged, 5);
        let (verified, told) = verified_with_remarks(&scene.path(name));
        assert_eq!(verified.faults, 0);
        assert_eq!(
            told,
            [
                "5 things were damaged in the store when it was backed up, and are not in the backup, \
                 but for what an earlier backup had put into the same folder"
            ]
        );
        let (_room, store) = restored(&scene, name);
        assert_eq!(value(&store, "two").as_deref(), Some("2"));
        assert_eq!(value(&store, "one"), None);
        assert!(store.object(blob("b").id).unwrap().is_some());
        assert!(store.object(victim).unwrap().is_none());
        assert_eq!(
            store.last_version().unwrap(),
            scene.store.last_version().unwrap()
        );
    }
}

fn verified_with_remarks(source: &Path) -> (Verified, Vec<String>) {
    let mut told = Vec::new();
    let source = Source::open(source).unwrap();
    let verified = verify(source, &mut |step| collect(step, &mut told));
    (verified.unwrap(), told)
}

#[test]
fn what_an_earlier_backup_has_is_kept_when_it_can_no_longer_be_read() {
    let scene = Scene::new();
    for number in 0..40_u64 {
        let mut batch = of_objects(vec![object(Kind::Blob, &noise(number, 3_000))]);
        push(
            &mut batch,
            &format!("key/{number}"),
            Expect::Absent,
            Some("1"),
        );
        scene.store.commit(batch).unwrap();
    }
    scene
        .store
        .commit(writes("more", 0..300, Some("1")))
        .unwrap();
    scene.back_up(scene.folder());
    // One that comes later into the file of the others, so that it is written again.
    scene.store.commit(writes("late", 0..1, Some("1"))).unwrap();
    let before = contents(&scene.store);
    drop(scene.store);
    // Leaves of the tables become noise, and ids and keys in rows something else.
    {
        let db = Connection::open(scene.room.path().join("data/store.db")).unwrap();
        db.execute_batch(
            "PRAGMA wal_checkpoint(TRUNCATE);
             UPDATE object SET id = x'00' WHERE seq = 3;
             UPDATE record SET checksum = x'00' WHERE key = 'key/7';
             PRAGMA wal_checkpoint(TRUNCATE);",
        )
        .unwrap();
    }
    let path = scene.room.path().join("data/store.db");
    let mut bytes = fs::read(&path).unwrap();
    let needle = noise(20, 3_000);
    let place = bytes
        .windows(64)
        .position(|window| *window == needle[..64])
        .unwrap();
    let page = place / 4096 * 4096;
    bytes[page..page + 64].fill(0xff);
    fs::write(&path, bytes).unwrap();
    damage_leaf(&path, "record", "min");

    let store = SqliteStore::open_read_only(&scene.room.path().join("data")).unwrap();
    let scene = Scene { store, ..scene };
    let (made, told) = scene.back_up_damaged(&mut scene.folder());
    assert!(made.damaged >= 3, "{told:?}");
    let (_room, after) = restored(&scene, "backup");
    assert_eq!(contents(&after), before);
}

/// A batch that writes a key for each of these numbers.
fn writes(prefix: &str, numbers: Range<u64>, value: Option<&str>) -> Batch {
    let mut batch = of_objects(Vec::new());
    for number in numbers {
        let key = format!("{prefix}/{number}");
        push(&mut batch, &key, Expect::Anything, value);
    }
    batch
}

/// Makes noise of the first or the last page of rows of a table.
fn damage_leaf(database: &Path, table: &str, which: &str) {
    let db = Connection::open(database).unwrap();
    let page: u64 = db
        .query_one(
            &format!(
                "SELECT pageno FROM dbstat WHERE name = ?1 AND pagetype = 'leaf' AND path = (
                     SELECT {which}(path) FROM dbstat WHERE name = ?1 AND pagetype = 'leaf')"
            ),
            [table],
            |row| row.get(0),
        )
        .unwrap();
    drop(db);
    let file = fs::File::options().write(true).open(database).unwrap();
    file.write_all_at(&[0xff; 4096], (page - 1) * 4096).unwrap();
}

/// The newest rows are in the page that is written most, and tell the last write.
#[test]
fn a_damaged_last_page_of_records_or_tombstones_leaves_the_rest() {
    for table in ["record", "tombstone"] {
        let scene = Scene::new();
        let commit = |batch| assert!(scene.store.commit(batch).is_ok());
        commit(writes("old", 0..400, Some("1")));
        commit(writes("old", 0..400, None));
        commit(writes("new", 0..400, Some("1")));
        commit(writes("new", 399..400, None));
        let before = contents(&scene.store);
        scene.back_up(scene.folder());
        drop(scene.store);
        let path = scene.room.path().join("data/store.db");
        let db = Connection::open(&path).unwrap();
        db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        drop(db);
        damage_leaf(&path, table, "max");
        let store = SqliteStore::open_read_only(&scene.room.path().join("data")).unwrap();
        store.last_version().unwrap_err();
        let scene = Scene { store, ..scene };

        // Where there was none before, what is sound is there.
        let (made, told) = scene.back_up_damaged(&mut scene.file());
        assert_eq!(made.damaged, 1, "{told:?}");
        // Which of the rows this one has is not known.
        assert_kept(&scene, 1);
        let (_room, alone) = restored(&scene, "backup.tar");
        let is_new = |number: &u64| value(&alone, &format!("new/{number}")).is_some();
        let new = (0..400).filter(is_new).count();
        match table {
            // With the trace of it, the last write is known.
            "record" => {
                assert!((200..399).contains(&new), "{new}");
                assert_eq!(made.version, before.0);
                assert_eq!(alone.last_version().unwrap(), before.0);
            }
            _ => assert_eq!(new, 399, "{told:?}"),
        }
        // Where there was one, all is.
        let (made, told) = scene.back_up_damaged(&mut scene.folder());
        assert!(made.damaged > 0, "{told:?}");
        assert_eq!(made.version, before.0);
        let (_room, after) = restored(&scene, "backup");
        assert_eq!(contents(&after), before, "{table}");
    }
}

/// Also when it is so long ago that no trace of the deletion is left.
#[test]
fn what_was_deleted_since_does_not_come_back_beside_damage() {
    for page in [false, true] {
        let scene = Scene::new();
        scene
            .store
            .commit(writes("token", 0..400, Some("1")))
            .unwrap();
        scene.back_up(scene.folder());
        scene.store.commit(writes("token", 3..4, None)).unwrap();
        scene
            .store
            .commit(writes("token", 5..6, Some("2")))
            .unwrap();
        let before = contents(&scene.store);
        drop(scene.store);
        let path = scene.room.path().join("data/store.db");
        let db = Connection::open(&path).unwrap();
        db.execute_batch(
            "DELETE FROM tombstone;
             UPDATE record SET checksum = x'00' WHERE key = 'token/7';
             PRAGMA wal_checkpoint(TRUNCATE)",
        )
        .unwrap();
        drop(db);
        if page {
            damage_leaf(&path, "record", "min");
        }
        let store = SqliteStore::open_read_only(&scene.room.path().join("data")).unwrap();
        let scene = Scene { store, ..scene };
        let (made, told) = scene.back_up_damaged(&mut scene.folder());
        assert!(made.damaged > 0, "{told:?}");
        let (_room, after) = restored(&scene, "backup");
        assert_eq!(contents(&after).1, before.1, "{page}");
    }
}

#[test]
fn what_was_damaged_and_is_mended_is_backed_up_again() {
    let scene = Scene::new();
    let wrong = put_large(&scene.store, &noise(2, 600_000));
    let bare = put_large(&scene.store, &noise(3, 600_000));
    let row = |id: ObjectId| {
        let db = Connection::open(scene.path("data/store.db")).unwrap();
        db.query_one(
            "SELECT hex(sha256), hex(pieces) FROM object JOIN outboard USING (seq) WHERE id = ?1",
            [id.as_bytes()],
            |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)),
        )
        .unwrap()
    };
    let (sha256, pieces) = (row(wrong).0, row(bare).1);
    let of = |id: ObjectId| format!("(SELECT seq FROM object WHERE id = x'{id}')");
    scene.sql(&format!(
        "UPDATE object SET sha256 = zeroblob(32) WHERE id = x'{wrong}';
         DELETE FROM outboard WHERE seq = {};",
        of(bare)
    ));
    let (made, told) = scene.back_up_damaged(&mut scene.folder());
    assert_eq!(made.damaged, 1, "{told:?}");
    scene.sql(&format!(
        "UPDATE object SET sha256 = x'{sha256}' WHERE id = x'{wrong}';
         INSERT INTO outboard (seq, pieces) VALUES ({}, x'{pieces}');",
        of(bare)
    ));
    scene.back_up(scene.folder());
    // With the outboards.
    scene.assert_restored("backup");
    let (_room, store) = restored(&scene, "backup");
    assert_eq!(
        store.object(wrong).unwrap().unwrap().sha256,
        scene.store.object(wrong).unwrap().unwrap().sha256
    );
}

/// It may be the last whole one: of a folder what is there stays, of a file nothing would.
#[test]
fn a_file_is_not_replaced_by_a_backup_that_lacks_what_it_has() {
    let scene = Scene::new();
    let path = |id: ObjectId| {
        let text = id.to_string();
        scene.path("data/blobs").join(&text[..2]).join(&text[2..])
    };
    let large = [2, 3].map(|number| path(put_large(&scene.store, &noise(number, 600_000))));
    let hide = |path: &Path| fs::rename(path, path.with_extension("hidden")).unwrap();
    let show = |path: &Path| fs::rename(path.with_extension("hidden"), path).unwrap();
    let file = scene.path("backup.tar");
    scene.back_up(scene.file());
    for path in &large {
        hide(path);
    }
    assert_kept(&scene, 2);
    // One that was made of what is left is replaced as long as it lacks the same.
    fs::remove_file(&file).unwrap();
    show(&large[0]);
    for _ in 0..2 {
        let (made, told) = scene.back_up_damaged(&mut scene.file());
        assert_eq!((made.damaged, told.len()), (1, 1), "{told:?}");
    }
    hide(&large[0]);
    assert_kept(&scene, 2);
    // As many are missing, and another one.
    show(&large[1]);
    assert_kept(&scene, 1);
    show(&large[0]);
    scene.back_up(scene.file());
    scene.assert_restored("backup.tar");
    // Of this nothing is missing in the backup.
    fs::write(scene.path("data/high-water"), "noise").unwrap();
    let (made, told) = scene.back_up_damaged(&mut scene.file());
    assert_eq!(made.damaged, 1, "{told:?}");
    assert_eq!(told, ["the high-water mark is damaged"]);
}

/// Asserts that a backup finds so many things damaged, and leaves the file as it is.
#[track_caller]
fn assert_kept(scene: &Scene, damaged: usize) {
    let file = scene.path("backup.tar");
    let before = fs::read(&file).unwrap();
    let clock = ManualClock::new(Timestamp::parse(AT).unwrap());
    let mut told = Vec::new();
    let refused = create(
        &scene.store,
        &mut scene.file(),
        &KnownKey::default(),
        &clock,
        &mut |step| collect(step, &mut told),
    );
    assert_eq!(told.len(), damaged, "{told:?}");
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the store is damaged, and the backup there may have what is missing: it stays as it is; name another \
         file for what is sound, and see \"siteconf debug check --deep\""
    );
    assert!(fs::read(&file).unwrap() == before);
    assert!(!scene.path("backup.tar.new").exists());
}
