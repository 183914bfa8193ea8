//! Backups of a store that is written on the way.

use super::*;

#[test]
fn what_is_written_meanwhile_is_there_whole_or_not_at_all() {
    let scene = Scene::new();
    for round in 0..40_u64 {
        let objects = (0..10).map(|n| object(Kind::Blob, &noise(100 * round + n, 40_000)));
        scene.store.commit(of_objects(objects.collect())).unwrap();
    }
    let mut written = 0_u64;
    let clock = ManualClock::new(Timestamp::parse(AT).unwrap());
    // At every step another save: the state that is copied changes all the time.
    let made = create(
        &scene.store,
        &mut scene.folder(),
        &KnownKey::default(),
        &clock,
        &mut |_| {
            written += 1;
            let text = written.to_string();
            put_large(&scene.store, &noise(10_000 + written, 70_000));
            let mut batch = of_objects(vec![blob(&text)]);
            push(&mut batch, "last", Expect::Anything, Some(&text));
            push(
                &mut batch,
                &format!("save/{text}"),
                Expect::Absent,
                Some(&text),
            );
            scene.store.commit(batch).unwrap();
            ControlFlow::Continue(())
        },
    );
    let made = made.unwrap();
    assert!(written > 5, "{written}");
    let room = tempfile::tempdir().unwrap();
    let root = room.path().join("new");
    restore_from(&scene.path("backup"), &root).unwrap();
    let store = SqliteStore::open_locked(&root).unwrap();
    assert_eq!(store.last_version().unwrap(), made.version);
    let last: u64 = value(&store, "last").unwrap().parse().unwrap();
    assert!(last < written, "the test saves too late");
    for save in 1..=written {
        let is_there = value(&store, &format!("save/{save}")).is_some();
        assert_eq!(is_there, save <= last, "{save} of {last}");
        if save <= last {
            let large = object(Kind::Blob, &noise(10_000 + save, 70_000));
            for id in [blob(&save.to_string()).id, large.id] {
                assert!(store.object(id).unwrap().is_some(), "{save} of {last}");
            }
        }
    }
    assert_eq!(store.examine().unwrap(), [""; 0]);
}

/// What a collection leaves free at the end of the rows is given again after a restore, and lies in what
/// an earlier backup's file is named for.
#[test]
fn rows_that_come_meanwhile_under_numbers_of_the_last_file_are_there() {
    let scene = Scene::new();
    let objects = (0..60).map(|n| object(Kind::Blob, &noise(100 + n, 40_000)));
    scene.store.commit(of_objects(objects.collect())).unwrap();
    scene.back_up(scene.folder());
    // As a collection does.
    scene.sql(
        "DELETE FROM object_index WHERE seq > 45;
         DELETE FROM object WHERE seq > 45;",
    );
    drop(scene.store);
    let store = SqliteStore::open_locked(&scene.room.path().join("data")).unwrap();
    let scene = Scene { store, ..scene };
    scene.back_up(scene.folder());
    let elsewhere = scene.assert_restored("backup");

    let store = SqliteStore::open_locked(&elsewhere.path().join("new")).unwrap();
    let clock = ManualClock::new(Timestamp::parse(AT).unwrap());
    let mut written = 0_u64;
    create(
        &store,
        &mut scene.folder(),
        &KnownKey::default(),
        &clock,
        &mut |_| {
            written += 1;
            let text = format!("meanwhile {written}");
            let mut batch = of_objects(vec![blob(&text)]);
            push(&mut batch, &text, Expect::Absent, Some("1"));
            store.commit(batch).unwrap();
            ControlFlow::Continue(())
        },
    )
    .unwrap();
    assert!((3..20).contains(&written), "{written}");
    let again = tempfile::tempdir().unwrap();
    let again = again.path().join("again");
    restore_from(&scene.path("backup"), &again).unwrap();
    let again = SqliteStore::open_locked(&again).unwrap();
    assert!(value(&again, "meanwhile 2").is_some());
    for save in 1..=written {
        let text = format!("meanwhile {save}");
        if value(&again, &text).is_some() {
            assert!(again.object(blob(&text).id).unwrap().is_some(), "{text}");
        }
    }
    assert_eq!(again.examine().unwrap(), [""; 0]);
}
