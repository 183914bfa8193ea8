//! Folders laid over a branch.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use siteconf::repo::{
    Error, ImportChanges, ImportFolder, ImportOptions, ImportReport, ImportStep, Operation, Result,
};
use tempfile::TempDir;

use crate::fixture::{Scene, branch, path, version};
use crate::on_every_engine;

on_every_engine!(
    what_the_folder_lacks_stays_but_in_a_mirror,
    a_mirror_keeps_what_is_in_the_place_of_what_was_skipped,
    a_file_in_a_folders_place_changes_nothing,
    a_mirror_puts_files_in_the_place_of_folders_and_the_reverse,
    an_empty_folder_changes_nothing_and_mirrored_everything,
    a_folder_that_cannot_be_read_changes_nothing,
    the_same_folder_again_takes_no_snapshot,
);

mod with_large_blobs {
    use super::*;

    crate::on_engines_with_large_blobs!(an_import_is_the_same_content_saved_one_by_one);
}

/// A folder of these files; a path that ends in `@` is a link, which no branch takes.
pub(crate) fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (at, text) in files {
        let place = folder.path().join(at.trim_end_matches('@'));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        if at.ends_with('@') {
            symlink(text, place).unwrap();
        } else {
            fs::write(place, text).unwrap();
        }
    }
    folder
}

/// The options of a mirror, or of none; the branch may become empty.
pub(crate) fn laid(mirror: bool) -> ImportOptions {
    ImportOptions {
        mirror,
        may_empty: true,
        ..ImportOptions::default()
    }
}

pub(crate) fn opened(folder: &TempDir) -> ImportFolder {
    ImportFolder::open(folder.path(), None).unwrap()
}

pub(crate) fn try_import(scene: &Scene, dir: &Path, mirror: bool) -> Result<ImportReport> {
    let dir = ImportFolder::open(dir, None)?;
    scene
        .project
        .import(&branch("main"), &dir, &laid(mirror), |_| {})
}

#[track_caller]
fn import(scene: &Scene, files: &[(&str, &str)], mirror: bool) -> ImportReport {
    try_import(scene, folder(files).path(), mirror).unwrap()
}

pub(crate) fn counts(added: u64, changed: u64, removed: u64) -> ImportChanges {
    ImportChanges {
        added,
        changed,
        removed,
    }
}

/// How many snapshots the branch has.
pub(crate) fn snapshots(scene: &Scene) -> u64 {
    scene
        .project
        .branch(&branch("main"))
        .unwrap()
        .snapshot_count()
}

/// Asserts that an import is refused with this reason, and that the branch stays as it is.
#[track_caller]
fn assert_refused(scene: &Scene, files: &[(&str, &str)], expected: &str) {
    let before = (scene.head().id(), snapshots(scene));
    let refused = try_import(scene, folder(files).path(), false).unwrap_err();
    assert!(
        matches!(&refused, Error::Invalid { reason } if reason == expected),
        "{refused}"
    );
    assert_eq!((scene.head().id(), snapshots(scene)), before);
}

fn an_import_is_the_same_content_saved_one_by_one(scene: &Scene) {
    let folder = tempfile::tempdir().unwrap();
    scene.project.create_branch(&branch("saved"), None).unwrap();
    for number in 0..300_u32 {
        let at = match number % 6 {
            0 => format!("flat/file {number}"),
            1 => format!("deep/a/b/c/d-{number}"),
            2 => format!("deep/a.{}/x", number % 3),
            3 => format!("deep/a{number}"),
            4 => format!("deep/a-b/{number}"),
            _ => format!("Ж/{}/{number}", number % 7),
        };
        let place = folder.path().join(&at);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(&place, &at).unwrap();
        scene.try_save("saved", &at, &at).unwrap();
    }
    fs::create_dir(folder.path().join("empty")).unwrap();
    fs::write(folder.path().join("large"), vec![7; 100_000]).unwrap();
    scene
        .try_save("saved", "large", &"\u{7}".repeat(100_000))
        .unwrap();

    let mut taken = Vec::new();
    let report =
        scene.project.import(
            &branch("main"),
            &opened(&folder),
            &laid(false),
            |step| match step {
                ImportStep::Taken { path, size } => taken.push((path.clone(), size)),
                ImportStep::Skipped { path, reason, .. } => panic!("{}: {reason}", path.display()),
                _ => {}
            },
        );
    let report = report.unwrap();
    let saved = scene.project.branch(&branch("saved")).unwrap().head();
    assert_eq!(report.revision.id(), saved.id());
    assert_eq!(report.revision.digest().unwrap(), saved.digest().unwrap());
    assert_eq!(scene.head().id(), saved.id());
    let totals = saved.totals();
    assert_eq!((report.files, report.bytes), (totals.files, totals.bytes));
    assert_eq!((report.skipped, report.snapshot), (0, Some(version(1))));
    let listed = taken.iter().map(|(path, _)| path.as_str().to_owned());
    let files = saved.list(None, true).unwrap().into_iter();
    let files = files.filter(|entry| saved.file(&path(&entry.path)).is_ok());
    assert!(
        listed.eq(files.map(|entry| entry.path)),
        "in the order of the tree"
    );
    assert_eq!(
        taken.iter().map(|(_, size)| size).sum::<u64>(),
        totals.bytes
    );
}

fn what_the_folder_lacks_stays_but_in_a_mirror(scene: &Scene) {
    for (at, text) in [
        ("a/old", "1"),
        ("a/both", "2"),
        ("b/c/old", "3"),
        ("top", "4"),
    ] {
        scene.save(at, text);
    }
    let files = [("a/both", "new"), ("a/new", "5"), ("b/d/new", "6")];
    let report = import(scene, &files, false);
    assert_eq!(report.snapshot, Some(version(5)));
    let overlaid = [
        "a/both=new",
        "a/new=5",
        "a/old=1",
        "b/c/old=3",
        "b/d/new=6",
        "top=4",
    ];
    assert_eq!(scene.files(), overlaid);
    let report = import(scene, &files, true);
    assert_eq!(scene.files(), ["a/both=new", "a/new=5", "b/d/new=6"]);
    assert_eq!(report.revision.totals().directories, 3);

    let history = scene.project.branch(&branch("main")).unwrap();
    let history = history.history(None, None).unwrap();
    let newest: Vec<_> = history[..2]
        .iter()
        .map(|s| (s.operation, s.version.number()))
        .collect();
    assert_eq!(newest, [(Operation::Import, 6), (Operation::Import, 5)]);
}

fn a_mirror_keeps_what_is_in_the_place_of_what_was_skipped(scene: &Scene) {
    for at in [
        "a/link",
        "a/gone",
        "linked/x/y",
        "linked/z",
        "gone/x",
        ".hidden",
    ] {
        scene.save(at, "kept");
    }
    let files = [
        ("a/link@", "nowhere"),
        ("linked@", "a"),
        ("nothing there@", "a"),
        (".git/config", "never taken"),
        ("a/new", "new"),
    ];
    let mut skipped = Vec::new();
    let folder = folder(&files);
    let report = scene
        .project
        .import(&branch("main"), &opened(&folder), &laid(true), |step| {
            if let ImportStep::Skipped { path, reason, .. } = step {
                let path = path.strip_prefix(folder.path()).unwrap();
                skipped.push(format!("{}: {reason}", path.display()));
            }
        });
    assert_eq!(
        skipped,
        [
            ".git: malformed path: a segment is git's own folder or an alias of it",
            "a/link: it is a symbolic link",
            "linked: it is a symbolic link",
            "nothing there: it is a symbolic link",
        ]
    );
    let report = report.unwrap();
    assert_eq!((report.files, report.skipped), (1, 4));
    assert_eq!(
        scene.files(),
        [
            "a/link=kept",
            "a/new=new",
            "linked/x/y=kept",
            "linked/z=kept"
        ]
    );
}

fn a_file_in_a_folders_place_changes_nothing(scene: &Scene) {
    scene.save("a/b/c/file", "x");
    scene.save("a/b/c/d/file", "x");
    let deep = "\"a/b/c/file\" is a file, not a folder";
    assert_refused(scene, &[("0", "x"), ("a/b/c/file/below", "x")], deep);
    assert_refused(scene, &[("a/b/c/file/e/below", "x"), ("z", "x")], deep);
    let deep = "\"a/b/c/d\" is a folder, not a file";
    assert_refused(scene, &[("a/a", "x"), ("a/b/c/d", "x")], deep);
    assert_refused(scene, &[("a", "x")], "\"a\" is a folder, not a file");
    assert_eq!(scene.files(), ["a/b/c/d/file=x", "a/b/c/file=x"]);
}

fn a_mirror_puts_files_in_the_place_of_folders_and_the_reverse(scene: &Scene) {
    scene.save("a/b", "x");
    scene.save("c", "x");
    import(scene, &[("a", "file"), ("c/d", "file")], true);
    assert_eq!(scene.files(), ["a=file", "c/d=file"]);
}

fn an_empty_folder_changes_nothing_and_mirrored_everything(scene: &Scene) {
    let empty = scene.head().id();
    import(scene, &[], false);
    assert_eq!((scene.head().id(), snapshots(scene)), (empty, 0));
    scene.save("a/b", "x");
    let before = scene.head().id();
    let report = import(scene, &[("link@", "nowhere")], false);
    assert_eq!((report.files, report.bytes, report.skipped), (0, 0, 1));
    assert_eq!((scene.head().id(), snapshots(scene)), (before, 1));
    let report = import(scene, &[], true);
    assert_eq!((scene.head().id(), snapshots(scene)), (empty, 2));
    assert_eq!(report.revision.totals().files, 0);
    assert_eq!(report.changes, counts(0, 0, 1));
}

fn a_folder_that_cannot_be_read_changes_nothing(scene: &Scene) {
    scene.save("a", "x");
    let before = (scene.head().id(), snapshots(scene));
    let file = folder(&[("file", "x")]);
    for (dir, reason) in [
        ("nothing", "No such file or directory (os error 2)"),
        ("file", "Not a directory (os error 20)"),
    ] {
        let dir = file.path().join(dir);
        let refused = try_import(scene, &dir, true).unwrap_err();
        let expected = format!("reading {}: {reason}", dir.display());
        assert_eq!(refused.to_string(), expected);
    }
    assert_eq!((scene.head().id(), snapshots(scene)), before);
    let refused = scene
        .project
        .import(&branch("none"), &opened(&file), &laid(false), |_| {});
    assert_eq!(refused.unwrap_err().to_string(), "Branch not found");
}

fn the_same_folder_again_takes_no_snapshot(scene: &Scene) {
    let folder = folder(&[("a/b", "x"), ("run", "x")]);
    let script = folder.path().join("run");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let first = try_import(scene, folder.path(), false).unwrap();
    assert!(first.revision.file(&path("run")).unwrap().is_executable());
    for mirror in [false, true] {
        let again = try_import(scene, folder.path(), mirror).unwrap();
        assert_eq!(again.revision.id(), first.revision.id());
        assert_eq!((again.snapshot, again.changes), (None, counts(0, 0, 0)));
    }
    assert_eq!(snapshots(scene), 1);
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
    let plain = try_import(scene, folder.path(), false).unwrap();
    assert!(!plain.revision.file(&path("run")).unwrap().is_executable());
    assert_eq!(
        (plain.snapshot, plain.changes),
        (Some(version(2)), counts(0, 1, 0))
    );
}
