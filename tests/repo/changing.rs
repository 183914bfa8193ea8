//! Histories that come back to what they were, on several branches.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;
use siteconf::repo::{Condition, ImportFolder, ImportOptions};

use crate::fixture::{Scene, branch, path, version};
use crate::imports::folder;

/// A change of a branch, which is chosen by its number among those that are there.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// A file with one of a few contents of the same length, so that many states come back.
    Save {
        at: &'static str,
        text: &'static str,
    },
    Delete {
        at: &'static str,
    },
    /// Back to a snapshot, chosen among those that are there.
    RollBack(usize),
    /// Another branch, from a snapshot or the head.
    BranchFrom(usize),
    /// A file as executable or not: another state with the same commit id.
    Import {
        executable: bool,
    },
}

pub(crate) fn change() -> impl Strategy<Value = (usize, Change)> {
    let at = || prop::sample::select(vec!["a", "b"]);
    let text = prop::sample::select(vec!["0", "1"]);
    let change = prop_oneof![
        4 => (at(), text).prop_map(|(at, text)| Change::Save { at, text }),
        1 => at().prop_map(|at| Change::Delete { at }),
        2 => (0..20_usize).prop_map(Change::RollBack),
        1 => (0..20_usize).prop_map(Change::BranchFrom),
        1 => any::<bool>().prop_map(|executable| Change::Import { executable }),
    ];
    (0..4_usize, change)
}

/// Does a change in one of so many branches, and answers how many there are then. What cannot be done, such as deleting
/// what is not there, changes nothing.
pub(crate) fn apply(scene: &Scene, branches: usize, on: usize, change: &Change) -> usize {
    let name = branch(&branch_name(on % branches));
    let now = scene.project.branch(&name).unwrap();
    let snapshots = usize::try_from(now.snapshot_count()).unwrap();
    match change {
        Change::Save { at, text } => {
            let saved = scene
                .project
                .save(&name, &path(at), scene.file(text), Condition::None);
            saved.unwrap();
        }
        Change::Delete { at } => drop(scene.project.delete(&name, &path(at), Condition::None)),
        Change::RollBack(to) if snapshots > 0 => {
            let to = version((to % snapshots) as u64 + 1);
            scene
                .project
                .rollback(&name, to, &[], &Condition::None)
                .unwrap();
        }
        Change::RollBack(_) => {}
        Change::BranchFrom(at) => {
            let from = match at % (snapshots + 1) {
                0 => name.to_string(),
                number => format!("{name}@{}", version(number as u64)),
            };
            let made = branch(&branch_name(branches));
            scene.project.create_branch(&made, Some(&from)).unwrap();
            return branches + 1;
        }
        Change::Import { executable } => {
            let folder = folder(&[("run", "x")]);
            let mode = if *executable { 0o755 } else { 0o644 };
            let file = folder.path().join("run");
            fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
            scene
                .project
                .import(
                    &name,
                    &ImportFolder::open(folder.path(), None).unwrap(),
                    &ImportOptions::default(),
                    |_| {},
                )
                .unwrap();
        }
    }
    branches
}

pub(crate) fn branch_name(number: usize) -> String {
    match number {
        0 => "main".to_owned(),
        number => format!("side{number}"),
    }
}
