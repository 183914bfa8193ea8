//! What is to be done so that a folder holds a tree: pure, from what the tree has, what was brought, and
//! what lies in the folder.

use std::collections::{BTreeMap, BTreeSet};

use super::local::state::{Brought, Change};
use super::remote::tree::{TreeFile, folders_of};

/// How a file that was brought lies in the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// As it was brought.
    AsBrought,
    /// Changed or replaced by somebody else.
    Otherwise,
    /// Removed by somebody else.
    Absent,
}

/// The work that is to be done.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Files of the new state that lie in the folder as they are to be.
    pub(super) carried: BTreeSet<String>,
    /// Files of the new state whose bytes lie in the folder under the same path, with the other mode.
    pub(super) copied: BTreeSet<String>,
    /// Files of the new state whose bytes must come.
    pub(super) fetched: BTreeSet<String>,
    /// Files that were brought, are gone from the branch, and stay.
    pub(super) gone: BTreeSet<String>,
    /// The like, which somebody changed or removed: they stay as what was not brought.
    pub(super) left: BTreeSet<String>,
    /// What the new state changes of the one that was brought.
    pub(super) changes: BTreeMap<String, Change>,
    /// Files that somebody else changed in the folder, and that become again what the tree has there, brought or
    /// removed, whether the tree changed them, too, or not.
    pub(super) mended: BTreeSet<String>,
}

impl Plan {
    /// Compares. `adopted` are files that were not brought, and have the bytes and the mode of the tree's.
    pub(super) fn new(
        tree: &BTreeMap<String, TreeFile>,
        brought: &BTreeMap<String, Brought>,
        adopted: &BTreeSet<String>,
        keeps: bool,
        mut found: impl FnMut(&str, &Brought) -> Found,
    ) -> Self {
        let mut plan = Self::default();
        for (path, file) in tree {
            let Some(known) = brought.get(path) else {
                let list = if adopted.contains(path) {
                    &mut plan.carried
                } else {
                    plan.changes.insert(path.clone(), Change::Added);
                    &mut plan.fetched
                };
                list.insert(path.clone());
                continue;
            };
            let is_same = (known.id, known.is_executable) == (file.id, file.is_executable);
            let lies = found(path, known);
            if known.is_gone {
                plan.changes.insert(path.clone(), Change::Added);
            } else if !is_same {
                plan.changes.insert(path.clone(), Change::Changed);
            }
            // One that had gone from the branch somebody may have cleared away.
            if lies != Found::AsBrought && !(known.is_gone && lies == Found::Absent) {
                plan.mended.insert(path.clone());
            }
            let list = match lies {
                Found::AsBrought if is_same => &mut plan.carried,
                Found::AsBrought if known.id == file.id => &mut plan.copied,
                _ => &mut plan.fetched,
            };
            list.insert(path.clone());
        }
        for (path, known) in brought.iter().filter(|(path, _)| !tree.contains_key(*path)) {
            let lies = found(path, known);
            if keeps {
                let list = match lies {
                    Found::AsBrought => &mut plan.gone,
                    Found::Otherwise | Found::Absent => &mut plan.left,
                };
                list.insert(path.clone());
                continue;
            }
            plan.changes.insert(path.clone(), Change::Removed);
            // One that somebody else had removed already is as in the branch.
            if lies == Found::Otherwise {
                plan.mended.insert(path.clone());
            }
        }
        plan
    }

    /// A file that stays and stands in the way of the tree: at the place of a folder, or in a folder at
    /// the place of a file.
    pub(super) fn in_the_way<'a>(&'a self, tree: &BTreeMap<String, TreeFile>) -> Option<&'a str> {
        let folders: BTreeSet<&str> = tree.keys().flat_map(|path| folders_of(path)).collect();
        let mut stays = self.gone.union(&self.left).map(String::as_str);
        stays.find(|path| {
            folders.contains(path) || folders_of(path).any(|above| tree.contains_key(above))
        })
    }

    /// True if the folder holds the tree already, and of what is gone from it only what had gone before.
    pub(super) fn is_done(&self, brought: &BTreeMap<String, Brought>) -> bool {
        let lists = [&self.copied, &self.fetched, &self.left];
        let had_gone = |path| brought.get(path).is_some_and(|known| known.is_gone);
        lists.iter().all(|list| list.is_empty())
            && self.changes.is_empty()
            && self.gone.iter().all(had_gone)
    }

    /// How many files were changed in this way.
    pub(super) fn count(&self, change: Change) -> u64 {
        let count = self
            .changes
            .values()
            .filter(|made| **made == change)
            .count();
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::GitId;
    use crate::cli::pull::local::state::Mark;

    fn file(id: u8, is_executable: bool) -> TreeFile {
        TreeFile {
            id: GitId::from_bytes([id; 20]),
            is_executable,
        }
    }

    fn known(id: u8, is_executable: bool, is_gone: bool) -> Brought {
        let mark = std::fs::metadata("/")
            .map(|found| Mark::of(&found))
            .unwrap();
        Brought {
            id: GitId::from_bytes([id; 20]),
            is_executable,
            mark,
            is_gone,
        }
    }

    fn set(paths: &[&str]) -> BTreeSet<String> {
        paths.iter().map(|path| (*path).to_owned()).collect()
    }

    #[test]
    fn only_what_differs_is_fetched() {
        let tree = BTreeMap::from([
            ("adopted".to_owned(), file(9, false)),
            ("back".to_owned(), file(1, false)),
            ("both".to_owned(), file(2, false)),
            ("both-mode".to_owned(), file(4, true)),
            ("changed".to_owned(), file(2, false)),
            ("edited".to_owned(), file(3, false)),
            ("lost".to_owned(), file(3, false)),
            ("mode".to_owned(), file(4, true)),
            ("new".to_owned(), file(5, false)),
            ("same".to_owned(), file(6, true)),
        ]);
        let brought = BTreeMap::from([
            ("back".to_owned(), known(1, false, true)),
            ("both".to_owned(), known(1, false, false)),
            ("both-gone".to_owned(), known(7, false, false)),
            ("both-lost".to_owned(), known(7, false, false)),
            ("both-mode".to_owned(), known(4, false, false)),
            ("changed".to_owned(), known(1, false, false)),
            ("edited".to_owned(), known(3, false, false)),
            ("lost".to_owned(), known(3, false, false)),
            ("mode".to_owned(), known(4, false, false)),
            ("removed".to_owned(), known(7, false, false)),
            ("same".to_owned(), known(6, true, false)),
        ]);
        let found = |path: &str, _: &Brought| match path {
            "both" | "both-gone" | "both-mode" | "edited" => Found::Otherwise,
            "both-lost" | "lost" => Found::Absent,
            _ => Found::AsBrought,
        };
        let adopted = set(&["adopted"]);
        let plan = Plan::new(&tree, &brought, &adopted, false, found);
        assert_eq!(
            plan,
            Plan {
                carried: set(&["adopted", "back", "same"]),
                copied: set(&["mode"]),
                fetched: set(&["both", "both-mode", "changed", "edited", "lost", "new"]),
                gone: set(&[]),
                left: set(&[]),
                changes: BTreeMap::from([
                    ("back".to_owned(), Change::Added),
                    ("both".to_owned(), Change::Changed),
                    ("both-gone".to_owned(), Change::Removed),
                    ("both-lost".to_owned(), Change::Removed),
                    ("both-mode".to_owned(), Change::Changed),
                    ("changed".to_owned(), Change::Changed),
                    ("mode".to_owned(), Change::Changed),
                    ("new".to_owned(), Change::Added),
                    ("removed".to_owned(), Change::Removed),
                ]),
                mended: set(&["both", "both-gone", "both-mode", "edited", "lost"]),
            }
        );
        assert!(!plan.is_done(&brought));
        let plan = Plan::new(&tree, &brought, &adopted, true, found);
        assert_eq!(plan.gone, set(&["removed"]));
        assert_eq!(plan.left, set(&["both-gone", "both-lost"]));
        assert_eq!(plan.count(Change::Removed), 0);
        assert_eq!(plan.in_the_way(&tree), None);
        let tree = BTreeMap::from([("removed/x".to_owned(), file(1, false))]);
        assert_eq!(plan.in_the_way(&tree), Some("removed"));
    }

    #[test]
    fn an_unchanged_folder_is_done() {
        let tree = BTreeMap::from([("a".to_owned(), file(1, false))]);
        let brought = BTreeMap::from([("a".to_owned(), known(1, false, false))]);
        let plan = |found| Plan::new(&tree, &brought, &BTreeSet::new(), false, |_, _| found);
        assert!(plan(Found::AsBrought).is_done(&brought));
        assert!(!plan(Found::Otherwise).is_done(&brought));
        assert!(!plan(Found::Absent).is_done(&brought));
    }

    #[test]
    fn what_had_gone_before_and_stays_is_no_change() {
        let (tree, adopted) = (BTreeMap::new(), BTreeSet::new());
        for had_gone in [true, false] {
            let brought = BTreeMap::from([("a".to_owned(), known(1, false, had_gone))]);
            let plan = Plan::new(&tree, &brought, &adopted, true, |_, _| Found::AsBrought);
            assert_eq!(plan.is_done(&brought), had_gone);
        }
    }
}
