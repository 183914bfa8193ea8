//! The data folder: who holds it, what it may hold, what is in it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Batch, Expect, Store, StoreError, Writes};

use crate::fixture::{
    blob, bytes_of, contains, contents, noise, of_objects, of_write, put_large, value,
};

fn daemon(root: &Path) -> SqliteStore {
    SqliteStore::open_locked(root).unwrap()
}

/// Why the folder was refused.
fn refusal(outcome: Result<SqliteStore, StoreError>) -> String {
    match outcome {
        Err(StoreError::Folder { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_second_daemon_is_refused_and_told_who_holds_the_folder() {
    let root = tempfile::tempdir().unwrap();
    let first = daemon(root.path());
    let refused = SqliteStore::open_locked(root.path()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "{} is in use by siteconf with process id {}",
            root.path().display(),
            std::process::id()
        )
    );
    assert!(matches!(refused, StoreError::Locked { .. }));
    first
        .commit(of_write("k", Expect::Absent, Some("1")))
        .unwrap();
    drop(first);
    assert_eq!(value(&daemon(root.path()), "k").as_deref(), Some("1"));
}

#[test]
fn what_was_committed_is_there_after_reopening() {
    let root = tempfile::tempdir().unwrap();
    let store = daemon(root.path());
    let large = noise(1, 200_000);
    let id = put_large(&store, &large);
    let mut batch = of_write("k", Expect::Absent, Some("1"));
    batch.objects.push(blob("small"));
    store.commit(batch).unwrap();
    store
        .commit(of_write("gone", Expect::Absent, Some("1")))
        .unwrap();
    let version = store
        .commit(of_write("gone", Expect::Anything, None))
        .unwrap();
    let before = contents(&store);
    drop(store);

    for _ in 0..2 {
        let store = daemon(root.path());
        assert_eq!(contents(&store), before);
        assert_eq!(
            store.last_version().unwrap(),
            version,
            "a number came twice"
        );
        assert!(bytes_of(&store.object(id).unwrap().unwrap()) == large);
    }
}

#[test]
fn a_folder_with_something_else_in_it_is_refused_and_left_alone() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("thesis.tex"), "ten years").unwrap();
    fs::create_dir(root.path().join("blobs")).unwrap();
    assert_eq!(
        refusal(SqliteStore::open_locked(root.path())),
        "the folder is not empty and holds no store (\"thesis.tex\" is in it); name an empty folder"
    );
    assert_eq!(names(root.path()), ["blobs", "thesis.tex"]);
}

#[test]
fn a_folder_of_another_format_is_refused_and_left_alone() {
    let root = tempfile::tempdir().unwrap();
    drop(daemon(root.path()));
    let open = [
        SqliteStore::open_locked,
        SqliteStore::open_beside,
        SqliteStore::open_read_only,
    ];
    let none = "FORMAT does not name a format of siteconf; if a store is here, put it back with the number that it \
                had, from a copy of the folder or as objects-layout.md (\"Data folder\") shows it, or restore the \
                store from a backup";
    for (format, reason) in [
        (
            "siteconf 4\n",
            "the folder has format 4, and this version knows none after 3; use the version that wrote it or \
             a later one, or restore a backup of before its upgrade",
        ),
        ("siteconf 1.5", none),
        ("", none),
        ("PG_VERSION 15\n", none),
    ] {
        fs::write(root.path().join("FORMAT"), format).unwrap();
        for open in open {
            assert_eq!(refusal(open(root.path())), reason);
        }
        assert_eq!(
            fs::read_to_string(root.path().join("FORMAT")).unwrap(),
            format
        );
    }
}

#[test]
fn only_a_daemon_makes_a_store() {
    let root = tempfile::tempdir().unwrap();
    let absent = root.path().join("absent");
    for (dir, found) in [
        (root.path(), "the folder is empty"),
        (&absent, "there is no such folder"),
    ] {
        for open in [SqliteStore::open_beside, SqliteStore::open_read_only] {
            assert_eq!(
                refusal(open(dir)),
                format!(
                    "{found}; name the folder of the store with --data or SITECONF_DATA, or, if there is \
                     none yet, have it made with \"siteconf init --data {}\"",
                    dir.display()
                )
            );
        }
    }
    assert_eq!(names(root.path()), [""; 0]);
    drop(daemon(&absent.join("deep")));
    assert_eq!(names(&absent), ["deep"]);
}

#[test]
fn a_lost_database_is_refused_and_no_empty_one_takes_its_place() {
    let root = tempfile::tempdir().unwrap();
    let store = daemon(root.path());
    store
        .commit(of_write("k", Expect::Absent, Some("1")))
        .unwrap();
    drop(store);
    fs::remove_file(root.path().join("store.db")).unwrap();
    for open in [
        SqliteStore::open_locked,
        SqliteStore::open_beside,
        SqliteStore::open_read_only,
    ] {
        assert_eq!(
            refusal(open(root.path())),
            "store.db is missing although FORMAT says that a store is here; restore it from a backup"
        );
    }
    assert!(!root.path().join("store.db").exists());
}

#[test]
fn a_command_works_beside_the_daemon_in_both_directions() {
    let root = tempfile::tempdir().unwrap();
    let serving = daemon(root.path());
    let beside = SqliteStore::open_beside(root.path()).unwrap();
    let mut version = 0;
    for round in 0..20 {
        let (from, to) = if round % 2 == 0 {
            (&serving, &beside)
        } else {
            (&beside, &serving)
        };
        let expect = match version {
            0 => Expect::Absent,
            version => Expect::Version(version),
        };
        let mut batch = of_write("k", expect, Some(&round.to_string()));
        batch.objects.push(blob(&round.to_string()));
        version = from.commit(batch).unwrap();
        assert_eq!(to.record("k").unwrap().unwrap().version, version);
        assert!(contains(to, blob(&round.to_string()).id));
        assert!(matches!(
            to.commit(of_write("k", expect, Some("late"))),
            Err(StoreError::Conflict { .. })
        ));
    }
    let large = noise(1, 100_000);
    let id = put_large(&beside, &large);
    assert!(bytes_of(&serving.object(id).unwrap().unwrap()) == large);

    // The daemon may leave and come back meanwhile.
    drop(serving);
    beside
        .commit(of_write("alone", Expect::Absent, Some("1")))
        .unwrap();
    let serving = daemon(root.path());
    assert_eq!(value(&serving, "alone").as_deref(), Some("1"));
    drop(beside);
    serving
        .commit(of_write("after", Expect::Absent, Some("1")))
        .unwrap();
}

#[test]
fn a_store_opened_for_reading_only_reads_and_refuses_to_write() {
    let root = tempfile::tempdir().unwrap();
    let serving = daemon(root.path());
    serving
        .commit(of_write("k", Expect::Absent, Some("1")))
        .unwrap();
    serving.commit(of_objects(vec![blob("x")])).unwrap();
    assert_eq!(serving.writes(), Writes::Taken);
    let check = |reader: &SqliteStore, value_now: &str| {
        assert_eq!(reader.writes(), Writes::Stopped);
        assert_eq!(value(reader, "k").as_deref(), Some(value_now));
        assert!(contains(reader, blob("x").id));
        assert!(matches!(
            reader.commit(Batch::default()),
            Err(StoreError::ReadOnly)
        ));
        assert!(matches!(reader.stage(), Err(StoreError::ReadOnly)));
    };
    let reader = SqliteStore::open_read_only(root.path()).unwrap();
    check(&reader, "1");
    serving
        .commit(of_write("k", Expect::Anything, Some("2")))
        .unwrap();
    check(&reader, "2");
    drop((serving, reader));
    check(&SqliteStore::open_read_only(root.path()).unwrap(), "2");
}

#[test]
fn an_interrupted_creation_goes_on_where_it_stopped() {
    let steps: [&dyn Fn(&Path); 5] = [
        &|root| fs::write(root.join("LOCK"), "siteconf with process id 1\n").unwrap(),
        &|root| fs::create_dir_all(root.join("blobs/00")).unwrap(),
        &|root| fs::create_dir(root.join("secrets")).unwrap(),
        &|root| fs::write(root.join("store.db"), "").unwrap(),
        &|root| fs::write(root.join("FORMAT.new"), "sitec").unwrap(),
    ];
    for done in 0..=steps.len() {
        let root = tempfile::tempdir().unwrap();
        for step in &steps[..done] {
            step(root.path());
        }
        let store = daemon(root.path());
        store
            .commit(of_write("k", Expect::Absent, Some("1")))
            .unwrap();
        put_large(&store, &noise(1, 100_000));
        drop(store);
        assert_eq!(
            fs::read_to_string(root.path().join("FORMAT")).unwrap(),
            "siteconf 3\n"
        );
        assert_eq!(
            names(root.path()),
            [
                "FORMAT",
                "LOCK",
                "blobs",
                "high-water",
                "incoming",
                "reserve",
                "secrets",
                "store.db"
            ]
        );
        assert_eq!(names(&root.path().join("blobs")).len(), 256);
    }
}

#[test]
fn nobody_but_the_owner_can_read_what_the_store_makes() {
    let parent = tempfile::tempdir().unwrap();
    let root = parent.path().join("data");
    let store = daemon(&root);
    store
        .commit(of_write("k", Expect::Absent, Some("1")))
        .unwrap();
    put_large(&store, &noise(1, 100_000));
    let mut staging = store.stage().unwrap();
    staging.write(b"under way").unwrap();
    let mut seen = 0;
    for entry in walkdir::WalkDir::new(&root) {
        let entry = entry.unwrap();
        let expected = if entry.file_type().is_dir() {
            0o700
        } else {
            0o600
        };
        let mode = entry.metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, expected, "{}", entry.path().display());
        seen += 1;
    }
    // The root, FORMAT, LOCK, high-water, reserve, three of the database, three folders, 256 folders, a
    // blob, an upload.
    assert_eq!(seen, 1 + 4 + 3 + 3 + 256 + 2);
}

/// The refusal of a path, whole.
fn told(outcome: Result<SqliteStore, StoreError>) -> String {
    outcome.unwrap_err().to_string()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_link_in_the_place_of_a_part_is_refused_and_not_followed() {
    let parent = tempfile::tempdir().unwrap();
    let (root, target) = (parent.path().join("data"), parent.path().join("target"));
    let store = daemon(&root);
    put_large(&store, &noise(1, 100_000));
    drop(store);
    for part in ["FORMAT", "LOCK", "store.db", "blobs", "incoming", "secrets"] {
        let place = root.join(part);
        fs::rename(&place, &target).unwrap();
        symlink(&target, &place).unwrap();
        for open in [
            SqliteStore::open_locked,
            SqliteStore::open_beside,
            SqliteStore::open_read_only,
        ] {
            assert_eq!(
                told(open(&root)),
                format!(
                    "{}: it is a symbolic link; put what it leads to in its place, or mount it there",
                    place.display()
                )
            );
        }
        fs::remove_file(&place).unwrap();
        fs::rename(&target, &place).unwrap();
    }
    // Where a store is to be made.
    let empty = parent.path().join("empty");
    fs::create_dir_all(&target).unwrap();
    fs::create_dir(&empty).unwrap();
    symlink(&target, empty.join("blobs")).unwrap();
    assert!(told(SqliteStore::open_locked(&empty)).contains("it is a symbolic link"));
    assert_eq!(names(&target), [""; 0]);
    // One of the 256 folders.
    fs::rename(root.join("blobs/00"), parent.path().join("00")).unwrap();
    symlink(parent.path().join("00"), root.join("blobs/00")).unwrap();
    assert_eq!(
        told(SqliteStore::open_locked(&root)),
        format!(
            "creating the data folder: {} is no folder",
            root.join("blobs/00").display()
        )
    );
    // A link to the whole folder is the operator's own way to name it.
    fs::remove_file(root.join("blobs/00")).unwrap();
    let link = parent.path().join("link");
    symlink(&root, &link).unwrap();
    drop(daemon(&link));
}

#[test]
fn a_folder_that_others_may_write_into_is_only_read() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    drop(daemon(root));
    for (part, mode, sound) in [
        ("", 0o777, 0o755),
        ("", 0o1770, 0o1700),
        ("blobs", 0o702, 0o700),
        ("incoming", 0o720, 0o700),
        ("secrets", 0o2770, 0o2750),
        ("store.db", 0o660, 0o640),
        ("FORMAT", 0o602, 0o600),
    ] {
        let path = root.join(part);
        set_mode(&path, mode);
        let shown = path.display().to_string();
        for open in [SqliteStore::open_locked, SqliteStore::open_beside] {
            assert_eq!(
                told(open(root)),
                format!(
                    "{}: others than its owner may write here (mode {mode:o}): look what they wrote, \
                     then take the right from them: chmod -R go-w '{}'",
                    shown.trim_end_matches('/'),
                    root.display()
                )
            );
        }
        drop(SqliteStore::open_read_only(root).unwrap());
        set_mode(&path, sound);
        drop(daemon(root));
    }
    let empty = tempfile::tempdir().unwrap();
    set_mode(empty.path(), 0o777);
    assert!(told(SqliteStore::open_locked(empty.path())).contains("(mode 777)"));
    assert_eq!(names(empty.path()), [""; 0]);
}

#[test]
fn empty_folders_that_a_copy_has_lost_are_made_again() {
    let root = tempfile::tempdir().unwrap();
    drop(daemon(root.path()));
    let lost = ["incoming", "secrets", "blobs/00", "blobs/a7", "blobs"];
    for part in lost {
        fs::remove_dir_all(root.path().join(part)).unwrap();
        let store = daemon(root.path());
        assert_eq!(names(&root.path().join("blobs")).len(), 256, "{part}");
        for name in ["incoming", "secrets", "blobs", part] {
            let mode = fs::metadata(root.path().join(name))
                .unwrap()
                .permissions()
                .mode();
            assert_eq!(mode & 0o7777, 0o700, "{name}");
        }
        drop(store);
    }
    let store = daemon(root.path());
    // Every folder takes a file.
    let large: Vec<_> = (0..40).map(|seed| noise(seed, 70_000)).collect();
    for bytes in &large {
        let id = put_large(&store, bytes);
        assert!(bytes_of(&store.object(id).unwrap().unwrap()) == *bytes);
    }
    drop(store);

    let (blobs, away) = (root.path().join("blobs"), root.path().join("secrets/away"));
    fs::rename(&blobs, &away).unwrap();
    assert_eq!(
        told(SqliteStore::open_locked(root.path())),
        format!(
            "{}: it is missing although the store has large files; restore it from a backup",
            blobs.display()
        )
    );
    assert!(!blobs.exists());
    fs::rename(&away, &blobs).unwrap();
    drop(daemon(root.path()));
}

#[test]
fn a_file_in_the_folders_place_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for open in [
        SqliteStore::open_locked,
        SqliteStore::open_beside,
        SqliteStore::open_read_only,
    ] {
        assert_eq!(
            refusal(open(file.path())),
            "it is no folder; name the folder of the store with --data or SITECONF_DATA"
        );
    }
}
