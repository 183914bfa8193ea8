//! The changes of a branch, those of a path among them, and what each changed, against a comparison of
//! whole states.

use std::collections::BTreeMap;

use proptest::prelude::*;
use siteconf::base::id::BlobId;
use siteconf::base::snapshot_version::SnapshotVersion;
use siteconf::repo::{
    BatchAction, Change, ChangeCounts, Condition, Execution, ImportFolder, ImportOptions,
};
use siteconf::repo::{EntryKind, Retention, Revision, changed_files};
use siteconf::store::memory::MemoryStore;

use crate::changing::{apply, branch_name, change};
use crate::fixture::{Scene, branch, path, version};
use crate::imports::folder;
use crate::on_every_engine;

on_every_engine!(
    a_folder_changes_with_what_is_in_it,
    whatever_changed_a_path_is_found,
    a_long_history_is_searched_to_its_end,
    what_has_its_folder_alone_is_counted_by_its_totals,
);

type Files = BTreeMap<String, (BlobId, bool)>;

/// What lies at a path or below it.
fn files(state: &Revision, below: &str) -> Files {
    let entries = state.list(None, true).unwrap().into_iter();
    let files = entries.filter(|entry| matches!(entry.kind, EntryKind::File { .. }));
    let within = files.filter(|entry| below.is_empty() || path(below).is_or_holds(&entry.path));
    within
        .map(|entry| {
            let file = state.file(&path(&entry.path)).unwrap();
            (entry.path, (file.blob(), file.is_executable()))
        })
        .collect()
}

/// How many files differ, one by one.
fn counted(old: &Files, new: &Files) -> ChangeCounts {
    let mut counts = ChangeCounts::default();
    for (path, file) in new {
        match old.get(path) {
            None => counts.added += 1,
            Some(before) if before != file => counts.modified += 1,
            Some(_) => {}
        }
    }
    counts.deleted = old.keys().filter(|path| !new.contains_key(*path)).count() as u64;
    counts
}

/// Every change of a branch, newest first.
fn all(scene: &Scene, name: &str) -> Vec<Change> {
    let branch = scene.project.branch(&branch(name)).unwrap();
    branch.changes(None, None).unwrap()
}

/// The versions of the changes of a path, in pages of so many.
fn versions(scene: &Scene, name: &str, at: &str, limit: usize) -> Vec<u64> {
    versions_before(scene, name, at, limit, None)
}

/// The same before a snapshot.
fn versions_before(
    scene: &Scene,
    name: &str,
    at: &str,
    limit: usize,
    mut before: Option<SnapshotVersion>,
) -> Vec<u64> {
    let branch = scene.project.branch(&branch(name)).unwrap();
    let mut found = Vec::new();
    loop {
        let page = branch.changes_of(&path(at), before, limit).unwrap();
        assert!(page.changes.len() <= limit);
        let versions = page.changes.iter();
        found.extend(versions.map(|change| change.snapshot.version.number()));
        match page.next {
            None => return found,
            next => before = next,
        }
    }
}

/// Holds the changes of a branch and of these paths against its states.
fn assert_changes(scene: &Scene, name: &str, paths: &[&str]) {
    let changes = all(scene, name);
    for change in &changes {
        let (old, new) = (
            files(&change.snapshot.revision, ""),
            files(&change.after, ""),
        );
        let expected = Some(counted(&old, &new));
        assert_eq!(change.counts().unwrap(), expected, "{change:?}");
        assert_eq!(change.known_counts(), expected);
        let compared = changed_files(&change.snapshot.revision, &change.after);
        assert_eq!(compared.unwrap(), expected, "what was told is so");
    }
    for at in paths {
        let touched =
            |change: &&Change| files(&change.snapshot.revision, at) != files(&change.after, at);
        let expected: Vec<_> = changes.iter().filter(touched).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|it| it.snapshot.version.number())
            .collect();
        for limit in [1, 2, 100] {
            assert_eq!(
                versions(scene, name, at, limit),
                expected,
                "{at} by {limit}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn changes_are_those_between_the_states(
        history in prop::collection::vec((change(), any::<bool>()), 1..30),
    ) {
        let scene = Scene::on(MemoryStore::default());
        let mut branches = 1;
        for ((on, change), asked) in &history {
            branches = apply(&scene, branches, *on, change);
            if *asked {
                // What is known goes on with the branch.
                assert_changes(&scene, "main", &["a", "run"]);
            }
        }
        for number in 0..branches {
            assert_changes(&scene, &branch_name(number), &["a", "b", "run", "none"]);
        }
    }
}

fn a_folder_changes_with_what_is_in_it(scene: &Scene) {
    scene.save("dir/a", "1");
    scene.save("dir/sub/b", "1");
    scene.save("dir2/c", "1");
    scene.save("dir/a", "1");
    scene.delete("dir/sub/b").unwrap();
    assert_changes(
        scene,
        "main",
        &["dir", "dir/sub", "dir/sub/b", "dir2", "dir/a", "d"],
    );
    assert_eq!(versions(scene, "main", "dir", 100), [5, 2, 1]);
    assert_eq!(versions(scene, "main", "d", 100), [0; 0]);
}

fn whatever_changed_a_path_is_found(scene: &Scene) {
    let put = |at: &str, text: &str| BatchAction::Put(path(at), scene.file(text), None);
    let batch = |actions| {
        scene
            .project
            .batch(&branch("main"), actions, &Condition::None)
            .unwrap()
    };
    scene.save("a", "1");
    batch(vec![put("b", "1"), put("x/a", "1")]);
    batch(vec![put("b", "2"), put("a", "2")]);
    let to = |number, at: &[&str]| {
        let at: Vec<_> = at.iter().map(|at| path(at)).collect();
        scene
            .project
            .rollback(&branch("main"), version(number), &at, &Condition::None)
            .unwrap()
    };
    to(2, &[]);
    to(4, &["b"]);
    let imported = folder(&[("a", "3"), ("c", "3")]);
    let imported = ImportFolder::open(imported.path(), None).unwrap();
    let options = ImportOptions::default();
    scene
        .project
        .import(&branch("main"), &imported, &options, |_| {})
        .unwrap();
    batch(vec![BatchAction::Move {
        from: path("a"),
        to: path("moved"),
        file: None,
        condition: Condition::None,
    }]);
    assert_changes(scene, "main", &["a", "b", "c", "x", "x/a", "moved"]);
    assert_eq!(versions(scene, "main", "a", 100), [7, 6, 4, 3, 1]);
}

/// More snapshots than are held in memory in one run.
fn a_long_history_is_searched_to_its_end(scene: &Scene) {
    for number in 1..=2100 {
        match number {
            1 | 1024 | 1025 | 2050 => drop(scene.save("asked", &number.to_string())),
            _ => drop(scene.save("other", &number.to_string())),
        }
    }
    assert_eq!(versions(scene, "main", "asked", 100), [2050, 1025, 1024, 1]);
    assert_eq!(versions(scene, "main", "asked", 1), [2050, 1025, 1024, 1]);
    scene.save("asked", "more");
    assert_eq!(
        versions(scene, "main", "asked", 100),
        [2101, 2050, 1025, 1024, 1]
    );
    let before = Some(version(1025));
    let found = versions_before(scene, "main", "asked", 100, before);
    assert_eq!(found, [1024, 1]);
}

fn what_has_its_folder_alone_is_counted_by_its_totals(scene: &Scene) {
    let put =
        |number: usize| BatchAction::Put(path(&format!("in/f{number}")), scene.file("1"), None);
    let many = (0..10_100).map(put).collect();
    scene
        .project
        .batch(&branch("main"), many, &Condition::None)
        .unwrap();
    let again =
        |number: usize| BatchAction::Put(path(&format!("in/f{number}")), scene.file("2"), None);
    scene
        .project
        .batch(
            &branch("main"),
            (0..10_001).map(again).collect(),
            &Condition::None,
        )
        .unwrap();
    scene
        .project
        .rollback(&branch("main"), version(1), &[], &Condition::None)
        .unwrap();
    let counts: Vec<_> = all(scene, "main")
        .iter()
        .map(|it| it.counts().unwrap())
        .collect();
    let none = ChangeCounts::default();
    let deleted = ChangeCounts {
        deleted: 10_100,
        ..none
    };
    let added = ChangeCounts {
        added: 10_100,
        ..none
    };
    assert_eq!(counts, [Some(deleted), None, Some(added)]);
}

#[test]
fn snapshots_that_were_pruned_are_searched_no_more() {
    let root = tempfile::tempdir().unwrap();
    let store = siteconf::store::sqlite::SqliteStore::open_locked(root.path()).unwrap();
    let store = std::sync::Arc::new(store);
    let scene = Scene::over(std::sync::Arc::clone(&store) as _);
    for number in 0..10 {
        scene.save("a", &number.to_string());
    }
    assert_eq!(versions(&scene, "main", "a", 100).len(), 10);
    let keep = Retention {
        snapshots: 3,
        days: 0,
    };
    let actor = "alice".into();
    scene
        .projects
        .prune(store.as_ref(), keep, Execution::Apply, &actor, |_| {})
        .unwrap();
    assert_eq!(versions(&scene, "main", "a", 100), [10, 9, 8]);
    let last = all(&scene, "main").pop().unwrap();
    assert_eq!(last.counts().unwrap().unwrap().modified, 1);
}
