//! Backups onto a disk that fills.

use super::*;
use crate::disk_full::small_disk;

#[test]
fn a_full_disk_leaves_the_last_backup_and_nothing_that_stops_the_next() {
    let Some(disk) = small_disk() else { return };
    let scene = small();
    let clock = ManualClock::new(Timestamp::parse(AT).unwrap());
    for name in ["backup", "backup.tar"] {
        let path = disk.path(name);
        for round in 0..2 {
            let objects = (0..4).map(|n| object(Kind::Blob, &noise(10 * round + n, 3_000)));
            let mut batch = of_objects(objects.collect());
            push(
                &mut batch,
                "round",
                Expect::Anything,
                Some(&round.to_string()),
            );
            scene.store.commit(batch).unwrap();
            put_large(&scene.store, &noise(100 + round, 70_000));
            let before = left_in(&path);
            let mut refused = 0;
            loop {
                disk.leave(refused);
                let data = scene.store.data_folder();
                let made = match name {
                    "backup" => Target::folder(&path, data),
                    _ => Target::file(&path, data),
                }
                .and_then(|mut target| {
                    create(
                        &scene.store,
                        &mut target,
                        &KnownKey::default(),
                        &clock,
                        &mut |_| ControlFlow::Continue(()),
                    )
                });
                let Err(error) = made else { break };
                let error = error.to_string();
                assert!(error.ends_with("no space left on the disk"), "{error}");
                assert_eq!(
                    left_in(&path),
                    before,
                    "{name}, {refused} pages free: {error}"
                );
                refused += 1;
            }
            assert!(refused > 20, "{refused}");
            assert!(is_sound(&path));
            let elsewhere = scene.room.path().join(format!("{name} {round}"));
            restore_from(&path, &elsewhere).unwrap();
            let restored = SqliteStore::open_locked(&elsewhere).unwrap();
            assert_eq!(contents(&restored), contents(&scene.store));
        }
    }
}

/// A store of few bytes, so that each page of the disk can be the last.
fn small() -> Scene {
    let room = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_locked(&room.path().join("data")).unwrap();
    fs::write(room.path().join("data/secrets/server-key"), "0".repeat(64)).unwrap();
    Scene { room, store }
}

/// The files of a backup, or that there is none.
fn left_in(path: &Path) -> Option<Vec<String>> {
    let beside = path.with_extension("tar.new");
    assert!(!beside.exists());
    path.exists().then(|| files(path))
}

/// Where what waits is written, the disk fills, too: for a stream that is the folder for temporary files.
#[test]
fn a_full_folder_for_temporary_files_is_named() {
    let Some(disk) = small_disk() else { return };
    let scene = Scene::new();
    let mut batch = of_objects(Vec::new());
    push(
        &mut batch,
        "long",
        Expect::Absent,
        Some(&"x".repeat(100_000)),
    );
    scene.store.commit(batch).unwrap();
    let scratch = disk.path("tmp");
    fs::create_dir(&scratch).unwrap();
    disk.leave(2);
    let clock = ManualClock::new(Timestamp::parse(AT).unwrap());
    let mut sink = std::io::sink();
    let mut target = Target::stream(&mut sink, "a stream", &scratch);
    let refused = create(
        &scene.store,
        &mut target,
        &KnownKey::default(),
        &clock,
        &mut |_| ControlFlow::Continue(()),
    );
    assert_eq!(
        refused.unwrap_err().to_string(),
        format!(
            "writing a temporary file in {}: no space left on the disk",
            scratch.display()
        )
    );
}

#[test]
fn a_restore_onto_a_full_disk_leaves_nothing() {
    let Some(disk) = small_disk() else { return };
    let scene = small();
    scene
        .store
        .commit(of_write("one", Expect::Absent, Some("1")))
        .unwrap();
    put_large(&scene.store, &noise(1, 70_000));
    scene.back_up(scene.folder());
    for is_made in [true, false] {
        let root = disk.path(&format!("made {is_made}"));
        if !is_made {
            fs::create_dir(&root).unwrap();
        }
        let mut refused = 0;
        loop {
            disk.leave(refused);
            let Err(error) = restore_from(&scene.path("backup"), &root) else {
                break;
            };
            let error = error.to_string();
            assert!(error.ends_with("no space left on the disk"), "{error}");
            assert_eq!(root.exists(), !is_made, "{refused} pages free: {error}");
            let left = fs::read_dir(&root).map_or(0, Iterator::count);
            assert_eq!(left, 0, "{refused} pages free: {error}");
            refused += 1;
        }
        assert!(refused > 20, "{refused}");
        disk.leave(1_000);
        let restored = SqliteStore::open_locked(&root).unwrap();
        assert_eq!(contents(&restored), contents(&scene.store));
        drop(restored);
        fs::remove_dir_all(&root).unwrap();
    }
}
