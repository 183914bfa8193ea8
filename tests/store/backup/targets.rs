//! What is refused as a target or a source, and what an end on the way leaves.

use super::*;

fn said<T: std::fmt::Debug>(outcome: Result<T, BackupError>, scene: &Scene) -> String {
    let room = scene.room.path().display().to_string();
    outcome.unwrap_err().to_string().replace(&room, "ROOM")
}

#[test]
fn targets_that_hold_something_else_or_lie_in_the_data_folder_are_refused() {
    let scene = Scene::new();
    let data = scene.store.data_folder();
    fs::create_dir(scene.path("home")).unwrap();
    fs::write(scene.path("home/thesis.tex"), "ten years").unwrap();
    std::os::unix::fs::symlink(scene.path("data"), scene.path("link")).unwrap();
    for (path, reason) in [
        (
            "home",
            "ROOM/home: the folder is not empty and holds no backup (\"thesis.tex\" is in it); name \
                  an empty folder",
        ),
        (
            "data",
            "ROOM/data lies in the data folder; name another place for the backup, best on another \
                  disk",
        ),
        (
            "data/a/b",
            "ROOM/data/a/b lies in the data folder; name another place for the backup, best on \
                      another disk",
        ),
        (
            "link/b",
            "ROOM/link/b lies in the data folder; name another place for the backup, best on \
                    another disk",
        ),
    ] {
        let refused = Target::folder(&scene.path(path), data);
        assert_eq!(said(refused, &scene), reason);
    }
    let thesis = Target::file(&scene.path("home/thesis.tex"), data);
    assert_eq!(
        said(thesis, &scene),
        "ROOM/home/thesis.tex: it is there and is no backup of siteconf; name another file"
    );
    let inside = Target::file(&scene.path("data/b.tar"), data);
    assert!(said(inside, &scene).contains("lies in the data folder"));
    assert_eq!(files(&scene.path("home")), ["thesis.tex"]);

    let running = [scene.folder(), scene.file()];
    let second = Target::folder(&scene.path("backup"), data);
    assert_eq!(
        said(second, &scene),
        "ROOM/backup: another backup into it is running"
    );
    let second = Target::file(&scene.path("backup.tar"), data);
    assert_eq!(
        said(second, &scene),
        "ROOM/backup.tar: another backup into it is running"
    );
    drop(running);
    assert!(!scene.path("backup").exists() && !scene.path("backup.tar.new").exists());
}

#[test]
fn a_backup_is_not_replaced_by_an_older_state_or_another_store() {
    let targets = [
        ("backup.tar", Scene::file as fn(&Scene) -> Target<'static>),
        ("backup", Scene::folder),
    ];
    for (name, target) in targets {
        let scene = Scene::new();
        let backup = scene.path(name);
        let back_up = |store: &SqliteStore| {
            let clock = ManualClock::new(Timestamp::parse(AT).unwrap());
            let go_on = &mut |_: Step<'_>| ControlFlow::Continue(());
            let before = read(&backup);
            let made = create(
                store,
                &mut target(&scene),
                &KnownKey::default(),
                &clock,
                go_on,
            );
            assert!(made.is_ok() || read(&backup) == before, "{name}");
            made
        };
        let save = |store: &SqliteStore, text: &str| {
            store
                .commit(of_write("one", Expect::Anything, Some(text)))
                .unwrap();
        };
        back_up(&scene.store).unwrap();
        let room = scene.assert_restored(name);
        save(&scene.store, "later");
        back_up(&scene.store).unwrap();
        let older = SqliteStore::open_locked(&room.path().join("new")).unwrap();
        assert_eq!(
            said(back_up(&older), &scene),
            "the backup there holds write 5, and the store ends at write 4: it has lost some, or was restored \
             from an older backup; name another place for this state"
        );
        // Nor where it has gone on by itself: the later writes there would be lost.
        for number in 0..3 {
            save(&older, &number.to_string());
        }
        let other_course = "the backup there is not of this store: this one was restored from an older backup, or \
                            from what was sound of one, or is a copy of another store, and what the backup holds may \
                            be nowhere else; name another place for this state";
        assert_eq!(said(back_up(&older), &scene), other_course);
        // The one that was restored from the last state there goes on with it, and then no other does.
        drop(older);
        let again = tempfile::tempdir().unwrap();
        let again = again.path().join("again");
        restore_from(&backup, &again).unwrap();
        let restored = SqliteStore::open_locked(&again).unwrap();
        assert_eq!(contents(&restored), contents(&scene.store));
        for store in [&restored, &scene.store] {
            save(store, "of one of the two");
        }
        back_up(&restored).unwrap();
        assert_eq!(said(back_up(&scene.store), &scene), other_course);
        back_up(&restored).unwrap();

        fs::write(scene.path("data/secrets/server-key"), "1".repeat(64)).unwrap();
        for _ in 0..5 {
            save(&scene.store, "x");
        }
        assert_eq!(
            said(back_up(&scene.store), &scene),
            "the backup there has another server key than this store: it is of another store, or of the time before \
             --new-server-key; name another place"
        );
        assert!(is_sound(&backup));
    }
}

/// The files at or below a path, and what they hold.
fn read(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = walkdir::WalkDir::new(path).sort_by_file_name().into_iter();
    entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| (entry.path().to_owned(), fs::read(entry.path()).unwrap()))
        .collect()
}

#[test]
fn a_file_with_a_backup_that_cannot_be_read_is_not_replaced_and_an_empty_one_is() {
    let scene = Scene::new();
    let file = scene.path("backup.tar");
    fs::write(&file, "").unwrap();
    scene.back_up(scene.file());
    scene.assert_restored("backup.tar");
    let whole = fs::read(&file).unwrap();
    let format = b"siteconf-backup 1";
    let manifest = whole.windows(format.len()).rposition(|text| text == format);
    let with = |place: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[manifest.unwrap() + place] = byte;
        bytes
    };
    let (changed, newer) = (with(100, b' '), with(format.len() - 1, b'2'));
    for (bytes, reason) in [
        (
            whole[..whole.len() / 2].to_vec(),
            "it ends before its manifest",
        ),
        (changed, "the manifest is damaged"),
        (
            newer,
            "the backup has format \"siteconf-backup 2\", this version reads \"siteconf-backup 1\"; use \
             the version that wrote it",
        ),
    ] {
        fs::write(&file, &bytes).unwrap();
        let refused = Target::file(&file, scene.store.data_folder());
        assert_eq!(
            said(refused, &scene),
            format!(
                "ROOM/backup.tar: the backup in it cannot be read, and is not replaced: {reason}. Move it \
                 away, or name another file"
            )
        );
        assert_eq!(fs::read(&file).unwrap(), bytes);
        assert!(!scene.path("backup.tar.new").exists());
    }
}

#[test]
fn a_restore_refuses_a_folder_that_is_not_empty_and_what_is_no_backup() {
    let scene = Scene::new();
    scene.back_up(scene.folder());
    scene.back_up(scene.file());
    fs::create_dir(scene.path("home")).unwrap();
    fs::write(scene.path("home/thesis.tex"), "ten years").unwrap();
    let backup = scene.path("backup");
    for (source, root, reason) in [
        (
            "backup",
            "home",
            "ROOM/home: the folder is not empty (\"thesis.tex\" is in it); a store is \
                            restored into an empty folder, or one that is not there",
        ),
        (
            "backup",
            "backup",
            "ROOM/backup is the backup itself; name another data folder",
        ),
        (
            "backup",
            "backup/new",
            "ROOM/backup/new lies in the backup; name a data folder elsewhere",
        ),
        ("data", "new", "ROOM/data: this is no backup of siteconf"),
        ("home", "new", "ROOM/home: this is no backup of siteconf"),
        (
            "home/thesis.tex",
            "new",
            "ROOM/home/thesis.tex: this is no backup of siteconf",
        ),
    ] {
        let refused = restore_from(&scene.path(source), &scene.path(root));
        assert_eq!(said(refused, &scene), reason);
        assert!(!scene.path("new").exists(), "{source}");
    }
    assert_eq!(files(&scene.path("home")), ["thesis.tex"]);

    // A newer format, in a folder and in a stream.
    let newer = "the backup has format \"siteconf-backup 2\", this version reads \"siteconf-backup 1\"; \
                 use the version that wrote it";
    fs::write(backup.join("FORMAT"), "siteconf-backup 2\n").unwrap();
    let mut stream = fs::read(scene.path("backup.tar")).unwrap();
    stream[528] = b'2';
    fs::write(scene.path("backup.tar"), stream).unwrap();
    for source in ["backup", "backup.tar"] {
        let refused = restore_from(&scene.path(source), &scene.path("new"));
        assert_eq!(said(refused, &scene), format!("ROOM/{source}: {newer}"));
        assert!(!scene.path("new").exists());
    }
    let served = SqliteStore::open_locked(&backup).unwrap_err().to_string();
    assert!(
        served.ends_with("it is a backup; \"siteconf restore\" makes a store of it"),
        "{served}"
    );
}

#[test]
fn changed_missing_and_surplus_files_are_found_and_nothing_is_restored() {
    let scene = Scene::new();
    scene.back_up(scene.folder());
    let backup = scene.path("backup");
    let refused = |reason: &str| {
        let (_, told) = verified(&backup).unwrap();
        assert_eq!(told, [reason]);
        let refused = restore_from(&backup, &scene.path("new"));
        assert_eq!(
            said(refused, &scene),
            format!(
                "the backup is not what was written: {reason}; nothing is restored of it. Is there no other, \
                 \"siteconf restore --what-is-sound\" leaves out files that were changed"
            )
        );
        assert!(!scene.path("new").exists());
    };
    for name in files(&backup)
        .iter()
        .filter(|name| *name != "MANIFEST" && *name != "FORMAT")
    {
        let path = backup.join(name);
        let bytes = fs::read(&path).unwrap();
        let mut changed = bytes.clone();
        changed[bytes.len() / 2] ^= 1;
        fs::write(&path, changed).unwrap();
        refused(&format!("{name} was changed since it was written"));
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        refused(&format!("{name} was changed since it was written"));
        fs::remove_file(&path).unwrap();
        refused(&format!("{name} is missing"));
        // What is missing or cut is put again.
        let made = scene.back_up(scene.folder());
        assert_eq!(made.new_files, 1);
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    let surplus = format!("blobs/00/{}", "0".repeat(62));
    fs::create_dir_all(backup.join("blobs/00")).unwrap();
    fs::write(backup.join(&surplus), "x").unwrap();
    refused(&format!(
        "{surplus} is there, and the manifest does not name it"
    ));
    fs::remove_file(backup.join(&surplus)).unwrap();
    fs::write(backup.join("notes.txt"), "x").unwrap();
    assert_eq!(
        said(verified(&backup), &scene),
        "ROOM/backup: \"notes.txt\" is in it, which is no file of a backup; remove it"
    );
    fs::remove_file(backup.join("notes.txt")).unwrap();
    let manifest = fs::read(backup.join("MANIFEST")).unwrap();
    for end in [0, 10, manifest.len() - 1] {
        fs::write(backup.join("MANIFEST"), &manifest[..end]).unwrap();
        said(verified(&backup), &scene);
        said(restore_from(&backup, &scene.path("new")), &scene);
        assert!(!scene.path("new").exists());
    }
}

#[test]
fn a_stream_that_is_cut_or_changed_anywhere_is_refused() {
    let scene = Scene::new();
    scene.back_up(scene.file());
    let whole = fs::read(scene.path("backup.tar")).unwrap();
    let restored = |bytes: &[u8]| {
        let source = Source::stream(Box::new(bytes), "it");
        restore(source, &scene.path("new"), Extent::Whole, &mut |_| {
            ControlFlow::Continue(())
        })
    };
    // Behind the manifest come two blocks of zeros.
    for cut in [
        0,
        100,
        512,
        1024,
        5_000,
        whole.len() / 2,
        whole.len() - 2_048,
    ] {
        restored(&whole[..cut]).unwrap_err();
        assert!(!scene.path("new").exists(), "{cut}");
    }
    for place in (0..whole.len() - 1_100).step_by(49_999) {
        let mut changed = whole.clone();
        changed[place] ^= 0x10;
        // What fills a block behind a file says nothing.
        if restored(&changed).is_ok() {
            assert!(whole[place] == 0, "{place}");
            fs::remove_dir_all(scene.path("new")).unwrap();
        }
        assert!(!scene.path("new").exists(), "{place}");
    }
    restored(&whole).unwrap();
}

#[test]
fn an_end_at_any_step_leaves_the_last_backup_and_nothing_else() {
    let scene = Scene::new();
    let clock = ManualClock::new(Timestamp::parse(AT).unwrap());
    let until = |target: &mut Target<'_>, last: usize| {
        let mut steps = 0;
        create(
            &scene.store,
            target,
            &KnownKey::default(),
            &clock,
            &mut |_| {
                steps += 1;
                if steps > last {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            },
        )
    };
    let mut ended = 0;
    for last in 0.. {
        let made = until(&mut scene.folder(), last);
        if made.is_ok() {
            break;
        }
        assert!(matches!(made, Err(BackupError::Interrupted)));
        assert!(!scene.path("backup").exists(), "{last}");
        ended += 1;
    }
    assert!(ended > 5, "{ended}");
    for last in 0..ended {
        let made = until(&mut scene.file(), last);
        assert!(made.is_ok() || !scene.path("backup.tar").exists());
        assert!(!scene.path("backup.tar.new").exists(), "{last}");
        drop(fs::remove_file(scene.path("backup.tar")));
    }
    let before = files(&scene.path("backup"));
    put_large(&scene.store, &noise(2, 600_000));
    for last in 0..3 {
        until(&mut scene.folder(), last).unwrap_err();
        assert_eq!(files(&scene.path("backup")), before);
        assert!(is_sound(&scene.path("backup")));
    }
    for last in 0.. {
        let mut steps = 0;
        let source = Source::open(&scene.path("backup")).unwrap();
        let restored = restore(source, &scene.path("new"), Extent::Whole, &mut |_| {
            steps += 1;
            if steps > last {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        if restored.is_ok() {
            assert!(last > 3, "{last}");
            break;
        }
        assert!(matches!(restored, Err(BackupError::Interrupted)));
        assert!(!scene.path("new").exists(), "{last}");
    }
}

#[test]
fn what_a_killed_backup_or_restore_left_is_passed_over_or_refused() {
    let scene = Scene::new();
    scene.back_up(scene.folder());
    let backup = scene.path("backup");
    let whole = files(&backup);
    // As a kill leaves it: files of the next backup, half of one among them.
    let left = format!("blobs/00/{}", "0".repeat(62));
    fs::write(backup.join("UNFINISHED"), "").unwrap();
    fs::create_dir_all(backup.join("blobs/00")).unwrap();
    fs::write(backup.join(&left), "half").unwrap();
    let (verified, told) = verified(&backup).unwrap();
    assert_eq!(verified.faults, 0);
    let remark = "a later backup was not finished; what it left is passed over";
    assert_eq!(told, [remark]);
    scene.assert_restored("backup");
    scene.back_up(scene.folder());
    assert_eq!(files(&backup), whole);

    let killed = scene.path("killed");
    fs::create_dir(&killed).unwrap();
    fs::create_dir(killed.join("blobs")).unwrap();
    for name in ["RESTORING", "LOCK", "store.db"] {
        fs::write(killed.join(name), "").unwrap();
    }
    let reason = "a restore into it is running, or was interrupted; in that case remove the folder, and \
                  restore again";
    for open in [
        SqliteStore::open_locked,
        SqliteStore::open_beside,
        SqliteStore::open_read_only,
    ] {
        let refused = open(&killed).unwrap_err().to_string();
        assert!(refused.ends_with(reason), "{refused}");
    }
    let refused = restore_from(&backup, &killed).unwrap_err().to_string();
    assert!(refused.ends_with(reason), "{refused}");
}

/// Else who made it could read what comes into it: the server's key for one.
#[test]
fn a_file_that_somebody_has_made_beside_a_backup_does_not_become_it() {
    let scene = Scene::new();
    let staged = scene.path("backup.tar.new");
    let part = {
        scene.back_up(scene.folder());
        let names = files(&scene.path("backup"));
        let name = names.iter().find(|name| name.starts_with("secrets/"));
        scene.path("backup").join(name.unwrap())
    };
    let made = |path: &Path, bytes: &[u8]| {
        fs::write(path, bytes).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
        fs::File::open(path).unwrap()
    };
    let is_private = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777 == 0o600;
    for bytes in [&b""[..], b"what a killed one left"] {
        let file = made(&staged, bytes);
        scene.back_up(scene.file());
        assert!(is_private(&scene.path("backup.tar")));
        assert_eq!(file.metadata().unwrap().len(), bytes.len() as u64);
        let file = made(&part, bytes);
        scene.back_up(scene.folder());
        assert!(is_private(&part));
        assert_eq!(file.metadata().unwrap().len(), bytes.len() as u64);
    }
    // Nor one that has another name.
    let other = scene.path("other");
    fs::write(&other, "").unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o600)).unwrap();
    fs::hard_link(&other, &staged).unwrap();
    scene.back_up(scene.file());
    assert_eq!(fs::metadata(&other).unwrap().len(), 0);
    scene.assert_restored("backup.tar");
}
