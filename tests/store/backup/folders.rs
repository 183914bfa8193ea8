//! What lies beside a backup's files, or beside those of the store, and harms neither.

use std::sync::Barrier;
use std::thread;

use super::*;

#[test]
fn a_file_in_secrets_that_no_backup_can_name_is_left_out_and_told() {
    let scene = Scene::new();
    let secrets = scene.path("data/secrets");
    for name in [".server-key.swp", "a\nb", "tab\there"] {
        fs::write(secrets.join(name), "x").unwrap();
    }
    let remarks = [
        "secrets: \".server-key.swp\" is not in the backup: its name begins with a dot, or has a character \
         that cannot be printed",
        "secrets: \"a\nb\" is not in the backup: its name begins with a dot, or has a character that \
         cannot be printed",
        "secrets: \"tab\there\" is not in the backup: its name begins with a dot, or has a character that \
         cannot be printed",
    ];
    for (name, mut target) in [("backup", scene.folder()), ("backup.tar", scene.file())] {
        let (made, mut told) = scene.back_up_damaged(&mut target);
        drop(target);
        told.sort();
        assert_eq!(told, remarks);
        assert_eq!(made.damaged, 0);
        assert!(is_sound(&scene.path(name)));
        scene.assert_restored(name);
    }
    scene.back_up_damaged(&mut scene.folder());
    assert!(is_sound(&scene.path("backup")));
}

#[test]
fn a_backup_lies_at_the_root_of_a_disk() {
    let scene = Scene::new();
    let found = scene.path("backup/lost+found");
    fs::create_dir_all(&found).unwrap();
    fs::write(found.join("#12"), "a piece").unwrap();
    fs::set_permissions(&found, fs::Permissions::from_mode(0o000)).unwrap();
    for _ in 0..2 {
        scene.back_up(scene.folder());
        assert!(!scene.path("backup/UNFINISHED").exists());
        assert!(is_sound(&scene.path("backup")));
    }
    scene.assert_restored("backup");
    fs::set_permissions(&found, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(fs::read_to_string(found.join("#12")).unwrap(), "a piece");
    // Elsewhere the name is that of any other file.
    fs::create_dir_all(scene.path("backup/blobs/lost+found")).unwrap();
    fs::write(scene.path("backup/blobs/lost+found/x"), "x").unwrap();
    verified(&scene.path("backup")).unwrap_err();
}

/// As on NFS, where a file that is removed while it is open has such a name until it is closed.
#[test]
fn a_name_with_a_dot_is_passed_over_and_a_temporary_file_of_a_killed_backup_removed() {
    let scene = Scene::new();
    let backup = scene.path("backup");
    scene.back_up(scene.folder());
    let whole = files(&backup);
    fs::create_dir(backup.join(".snapshot")).unwrap();
    let temporary = format!(".siteconf-{}", "0".repeat(32));
    let others = [
        ".nfs000000000001",
        ".snapshot/MANIFEST",
        "secrets/.nfs000000000002",
    ];
    for name in others.into_iter().chain([temporary.as_str()]) {
        fs::write(backup.join(name), "x").unwrap();
    }
    assert!(is_sound(&backup));
    scene.assert_restored("backup");
    scene.back_up(scene.folder());
    let mut left = whole;
    left.extend(others.map(str::to_owned));
    left.sort();
    assert_eq!(files(&backup), left);

    // Of the first backup, which left nothing else.
    let empty = scene.path("empty");
    fs::create_dir(&empty).unwrap();
    fs::write(empty.join(&temporary), "x").unwrap();
    let data = scene.store.data_folder();
    scene.back_up(Target::folder(&empty, data).unwrap());
    assert!(is_sound(&empty) && !empty.join(&temporary).exists());
    let home = scene.path("home");
    fs::create_dir(&home).unwrap();
    fs::write(home.join(".profile"), "x").unwrap();
    let refused = Target::folder(&home, data).unwrap_err().to_string();
    assert!(refused.contains("holds no backup"), "{refused}");
}

#[test]
fn what_a_backup_without_its_manifest_has_is_left_alone() {
    let scene = Scene::new();
    scene.back_up(scene.folder());
    let backup = scene.path("backup");
    fs::remove_file(backup.join("MANIFEST")).unwrap();
    let before = files(&backup);
    let refused = Target::folder(&backup, scene.store.data_folder()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "{}: files of a backup are there without its MANIFEST; put that back, or name another folder",
            backup.display()
        )
    );
    assert_eq!(files(&backup), before);
}

#[test]
fn what_a_backup_left_before_it_had_a_format_is_its_own() {
    let scene = Scene::new();
    let backup = scene.path("backup");
    fs::create_dir(&backup).unwrap();
    for name in ["FORMAT.new", "MANIFEST.new", "UNFINISHED", "UNFINISHED.new"] {
        fs::write(backup.join(name), "half").unwrap();
    }
    scene.back_up(scene.folder());
    let (_, told) = verified(&backup).unwrap();
    assert_eq!(told, [""; 0]);
    let other = |name: &&String| name.contains(".new") || *name == "UNFINISHED";
    let left = files(&backup);
    assert_eq!(left.iter().filter(other).count(), 0, "{left:?}");
    // A manifest is somebody's.
    fs::remove_file(backup.join("FORMAT")).unwrap();
    let refused = Target::folder(&backup, scene.store.data_folder());
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("holds no backup"), "{refused}");
    assert!(backup.join("MANIFEST").exists());
}

#[test]
fn who_reads_a_backup_while_a_later_one_ends_is_told_to_begin_again() {
    let scene = Scene::new();
    scene.back_up(scene.folder());
    let backup = scene.path("backup");
    let read = |work: &mut dyn FnMut(Source<'_>, &mut dyn FnMut()) -> String| {
        let mut later = false;
        let mut back_up = || {
            if !std::mem::replace(&mut later, true) {
                scene
                    .store
                    .commit(of_write("one", Expect::Anything, Some("later")))
                    .unwrap();
                scene.back_up(scene.folder());
            }
        };
        work(Source::open(&backup).unwrap(), &mut back_up)
    };
    let reason = format!(
        "{}: a later backup into it has ended while it was read; begin again",
        backup.display()
    );
    let said = read(&mut |source, back_up| {
        let verified = verify(source, &mut |_| {
            back_up();
            ControlFlow::Continue(())
        });
        verified.unwrap_err().to_string()
    });
    assert_eq!(said, reason);
    let said = read(&mut |source, back_up| {
        let restored = restore(source, &scene.path("new"), Extent::Whole, &mut |_| {
            back_up();
            ControlFlow::Continue(())
        });
        restored.unwrap_err().to_string()
    });
    assert_eq!(said, reason);
    assert!(!scene.path("new").exists());
    assert!(is_sound(&backup));
}

#[test]
fn of_a_restore_and_a_service_that_begin_at_once_one_is_refused_and_harms_nothing() {
    let scene = Scene::new();
    scene.back_up(scene.folder());
    for round in 0..40 {
        let root = scene.path(&format!("new {round}"));
        fs::create_dir(&root).unwrap();
        let both = Barrier::new(2);
        let (served, restored) = thread::scope(|scope| {
            let serving = scope.spawn(|| {
                both.wait();
                SqliteStore::open_locked(&root)
            });
            both.wait();
            let restored = restore_from(&scene.path("backup"), &root);
            (serving.join().unwrap(), restored)
        });
        assert!(
            served.is_ok() || restored.is_ok(),
            "{served:?} {restored:?}"
        );
        let store = served.or_else(|_| SqliteStore::open_locked(&root)).unwrap();
        if restored.is_ok() {
            assert_eq!(contents(&store), contents(&scene.store));
        }
        let write = of_write("new", Expect::Anything, Some("1"));
        store.commit(write).unwrap();
        drop(store);
        SqliteStore::open_read_only(&root).unwrap();
    }
}
