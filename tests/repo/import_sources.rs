//! What an import reads: never what lies outside of its folder, and never a data folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use siteconf::repo::{FileLimit, ImportFolder, ImportOptions, ImportStep};
use siteconf::store::memory::MemoryStore;
use siteconf::store::sqlite::SqliteStore;

use crate::fixture::{Scene, branch};
use crate::imports::folder;

/// Imports into an empty `main`; `meddle` is called after the first file was taken. What was skipped,
/// each with the reason.
fn import_beside(scene: &Scene, dir: &Path, meddle: impl Fn()) -> Vec<String> {
    let mut taken = 0;
    let mut skipped = Vec::new();
    let source = ImportFolder::open(dir, None).expect("the folder can be read");
    let report = scene.project.import(
        &branch("main"),
        &source,
        &ImportOptions::default(),
        |step| match step {
            ImportStep::Taken { .. } => {
                if taken == 0 {
                    meddle();
                }
                taken += 1;
            }
            ImportStep::Skipped { path, reason, .. } => {
                let path = path.strip_prefix(dir).expect("it is in the folder");
                skipped.push(format!("{}: {reason}", path.display()));
            }
            ImportStep::Reading { .. } | ImportStep::Excluded { .. } => {}
        },
    );
    assert_eq!(report.expect("it is imported").files, taken);
    skipped
}

#[test]
fn a_link_or_a_pipe_that_is_swapped_in_is_skipped() {
    let scene = Scene::on(MemoryStore::default());
    let outside = folder(&[("secret", "secret"), ("room/x", "secret")]);
    let folder = folder(&[
        ("0", "first"),
        ("file", "ours"),
        ("folder to file/x", "ours"),
        ("pipe", "ours"),
        ("room/x", "ours"),
        ("to folder", "ours"),
        ("z", "last"),
    ]);
    let at = |name: &str| folder.path().join(name);
    let skipped = import_beside(&scene, folder.path(), || {
        for name in ["file", "pipe", "to folder"] {
            fs::remove_file(at(name)).unwrap();
        }
        symlink(outside.path().join("secret"), at("file")).unwrap();
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        fs::create_dir(at("to folder")).unwrap();
        for name in ["room", "folder to file"] {
            fs::remove_dir_all(at(name)).unwrap();
        }
        symlink(outside.path().join("room"), at("room")).unwrap();
        fs::write(at("folder to file"), "ours").unwrap();
    });
    assert_eq!(
        skipped,
        [
            "file: it is a symbolic link",
            "folder to file: Not a directory (os error 20)",
            "pipe: it is no regular file",
            "room: Not a directory (os error 20)",
            "to folder: it is no regular file",
        ]
    );
    assert_eq!(scene.files(), ["0=first", "z=last"]);
}

#[test]
fn a_folder_that_was_entered_is_read_whatever_takes_its_name() {
    let scene = Scene::on(MemoryStore::default());
    let outside = folder(&[("b", "secret"), ("c/d", "secret")]);
    let parent = folder(&[("in/room/a", "1"), ("in/room/b", "2"), ("in/room/c/d", "3")]);
    let (room, away) = (parent.path().join("in/room"), parent.path().join("away"));
    let skipped = import_beside(&scene, &parent.path().join("in"), || {
        fs::rename(&room, &away).unwrap();
        symlink(outside.path(), &room).unwrap();
    });
    assert_eq!(skipped, [""; 0]);
    assert_eq!(scene.files(), ["room/a=1", "room/b=2", "room/c/d=3"]);
}

#[test]
fn what_could_not_be_taken_is_counted_apart_and_a_mirror_of_nothing_is_refused() {
    let scene = Scene::on(MemoryStore::default());
    scene.save("a", "old");
    let folder = folder(&[("a", "four"), ("b", "five!"), ("link@", "a")]);
    let source = ImportFolder::open(folder.path(), None).unwrap();
    let import = |bytes_max, may_empty| {
        let mut skipped = Vec::new();
        let options = ImportOptions {
            mirror: true,
            may_empty,
            file_limit: FileLimit {
                bytes_max,
                hint: " (as set)",
            },
            ..ImportOptions::default()
        };
        let main = branch("main");
        let report = scene.project.import(&main, &source, &options, |step| {
            if let ImportStep::Skipped { path, reason, .. } = step {
                let path = path.strip_prefix(folder.path()).unwrap();
                skipped.push(format!("{}: {reason}", path.display()));
            }
        });
        let report = report.map_err(|e| e.to_string());
        (
            report.map(|done| (done.files, done.skipped, done.lost)),
            skipped,
        )
    };
    let link = "link: it is a symbolic link".to_owned();
    let (report, skipped) = import(4, false);
    assert_eq!(report, Ok((1, 2, 1)));
    let large = "b: it is larger than 4 bytes (as set)".to_owned();
    assert_eq!(skipped, [large, link.clone()]);
    assert_eq!(scene.files(), ["a=four"]);

    for name in ["a", "b"] {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    let (report, _) = import(4, false);
    assert_eq!(
        report,
        Err(format!(
            "nothing was taken from {}, so its mirror would empty the branch, which has 1 files",
            folder.path().display()
        ))
    );
    assert_eq!(scene.files(), ["a=four"]);
    assert_eq!(import(4, true), (Ok((0, 1, 0)), vec![link]));
    assert_eq!(scene.files(), [""; 0]);
    // There is nothing to lose.
    assert_eq!(import(4, false).0, Ok((0, 1, 0)));
}

#[test]
fn what_is_too_deep_for_a_path_is_skipped_as_a_whole() {
    let scene = Scene::on(MemoryStore::default());
    let deep = |levels: usize| vec!["d"; levels].join("/");
    let folder = folder(&[
        (&format!("{}/fits", deep(63)), "1"),
        (&format!("{}/too deep", deep(64)), "2"),
        (&format!("{}/far too deep", deep(70)), "3"),
    ]);
    let skipped = import_beside(&scene, folder.path(), || {});
    let reason = "malformed path: it has more than 64 segments";
    let expected = ["d", "too deep"].map(|name| format!("{}/{name}: {reason}", deep(64)));
    assert_eq!(skipped, expected);
    assert_eq!(scene.files(), [format!("{}/fits=1", deep(63))]);
}

#[test]
fn a_folder_that_is_holds_or_lies_in_the_data_folder_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    let at = |name: &str| outside.path().join(name);
    drop(SqliteStore::open_locked(&at("apps/data")).unwrap());
    fs::write(at("apps/data/secrets/server-key"), "secret").unwrap();
    fs::create_dir(at("beside")).unwrap();
    symlink(at("apps/data"), at("beside/link")).unwrap();
    let refusal = |path: &Path| {
        format!(
            "{} is, holds or lies in a data folder of siteconf: whoever may read the branch would \
             read the service's secrets; import a folder apart from it",
            path.display()
        )
    };
    for name in [
        "",
        "apps",
        "apps/data",
        "apps/data/secrets",
        "apps/data/blobs/00",
        "beside/link",
        "beside/link/incoming",
        "beside/../apps/./data/",
    ] {
        let path = at(name);
        let refused = ImportFolder::open(&path, Some(&at("apps/data"))).unwrap_err();
        assert_eq!(refused.to_string(), refusal(&path));
        // However the data folder is named.
        ImportFolder::open(&path, Some(&at("beside/link"))).unwrap_err();
    }
    ImportFolder::open(&at("beside"), Some(&at("apps/data"))).unwrap();

    // Another data folder, or a copy of one, is known by what it holds.
    let scene = Scene::on(MemoryStore::default());
    fs::write(at("a"), "first").unwrap();
    let source = ImportFolder::open(outside.path(), None).unwrap();
    let refused = scene
        .project
        .import(&branch("main"), &source, &ImportOptions::default(), |_| {})
        .unwrap_err();
    assert_eq!(refused.to_string(), refusal(&at("apps/data")));
    assert_eq!(scene.files(), [""; 0]);
}

#[test]
fn a_file_that_is_written_while_it_is_read_is_taken_whole_or_not_at_all() {
    for is_once in [true, false] {
        let scene = Scene::on(MemoryStore::default());
        let folder = folder(&[("at rest", "1"), ("written", "aaaa")]);
        let file = folder.path().join("written");
        let (mut pieces, mut skipped) = (0, Vec::new());
        let source = ImportFolder::open(folder.path(), None).unwrap();
        let options = ImportOptions::default();
        let report = scene
            .project
            .import(&branch("main"), &source, &options, |step| match step {
                // The first piece is of the other file, the second the first of this one, and so is the
                // fourth, when it is read again.
                ImportStep::Reading { .. } => {
                    pieces += 1;
                    if pieces == 2 || (pieces == 4 && !is_once) {
                        fs::write(&file, "b".repeat(4 + pieces)).unwrap();
                    }
                }
                ImportStep::Skipped { reason, .. } => skipped.push(reason.to_owned()),
                ImportStep::Taken { .. } | ImportStep::Excluded { .. } => {}
            });
        report.unwrap();
        let (taken, left_out) = if is_once {
            (vec!["at rest=1", "written=bbbbbb"], vec![])
        } else {
            (vec!["at rest=1"], vec!["it was changed while it was read"])
        };
        assert_eq!(scene.files(), taken);
        assert_eq!(skipped, left_out);
    }
}
