//! Random histories of random changes.

use proptest::prelude::*;

use siteconf::base::file_path::FilePath;
use siteconf::manifest::lookup;
use siteconf::manifest::lookup::Found;
use siteconf::manifest::{Draft, Editor};

use crate::agreement::{assert_agrees, assert_diff};
use crate::model::{self, Files, file};
use crate::tree::{Tree, parse};

/// A change of the branch.
#[derive(Clone, Debug)]
enum Change {
    Put(String, u64),
    Remove(String),
    /// Puts what a folder held after the last save in the place of another.
    Graft {
        from: String,
        to: String,
    },
    /// Puts many files into a folder.
    Fill {
        folder: String,
        start: u64,
        count: u64,
    },
    /// Removes many files of a folder.
    Thin {
        folder: String,
        start: u64,
        count: u64,
    },
}

/// Few names, so that changes meet: prefixes of each other, around the slash, long, not ASCII.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(vec!["a", "b", "a-", "a.b", "a0", "ab", "a b", "я", "ы"])
            .prop_map(str::to_owned),
        1 => (0..6_u8).prop_map(|n| format!("{n}{}", "x".repeat(254))),
    ]
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..4).prop_map(|names| names.join("/"))
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => (path(), 0..50_u64).prop_map(|(path, number)| Change::Put(path, number)),
        4 => path().prop_map(Change::Remove),
        2 => (path(), path()).prop_map(|(from, to)| Change::Graft { from, to }),
        2 => (path(), 0..400_u64, 0..300_u64)
            .prop_map(|(folder, start, count)| Change::Fill { folder, start, count }),
        1 => (path(), 0..400_u64, 0..300_u64)
            .prop_map(|(folder, start, count)| Change::Thin { folder, start, count }),
    ]
}

/// Saves of some changes each.
fn history() -> impl Strategy<Value = Vec<Vec<Change>>> {
    prop::collection::vec(prop::collection::vec(change(), 0..8), 1..8)
}

fn filler(folder: &str, number: u64) -> String {
    format!("{folder}/file {number:04}.xml")
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_tree_agrees_with_its_map_after_every_save(history in history()) {
        let mut tree = Tree::new();
        let mut files = Files::new();
        for changes in history {
            let (old, old_files) = (tree.manifest, files.clone());
            save(&mut tree, &mut files, &changes);
            assert_agrees(&tree, &files);
            assert_diff(&tree, &old, &old_files, &files);
        }
    }
}

/// Makes the changes in the tree and in the map; each must answer as the other.
fn save(tree: &mut Tree, files: &mut Files, changes: &[Change]) {
    let (root, before) = (tree.manifest.root, files.clone());
    tree.save(|editor, draft| {
        for change in changes {
            match change {
                Change::Put(path, number) => put(editor, draft, files, path, *number),
                Change::Remove(path) => remove(editor, draft, files, path),
                Change::Graft { from, to } => {
                    let found = lookup::path(draft, root, &parse(from)).unwrap();
                    let content = model::below(&before, from);
                    let Some(Found::Directory(entry)) = found else {
                        assert_eq!(content, Files::new());
                        continue;
                    };
                    if content
                        .keys()
                        .any(|inside| FilePath::parse(&format!("{to}/{inside}")).is_err())
                    {
                        continue;
                    }
                    let outcome = editor.put_directory(draft, &parse(to), entry);
                    let outcome = outcome.map_err(|e| e.to_string());
                    assert_eq!(outcome, model::graft(files, to, &content), "{from} to {to}");
                }
                Change::Fill {
                    folder,
                    start,
                    count,
                } => {
                    for number in *start..start + count {
                        put(editor, draft, files, &filler(folder, number), number);
                    }
                }
                Change::Thin {
                    folder,
                    start,
                    count,
                } => {
                    for number in *start..start + count {
                        remove(editor, draft, files, &filler(folder, number));
                    }
                }
            }
        }
    });
}

fn put(editor: &mut Editor, draft: &Draft<'_>, files: &mut Files, path: &str, number: u64) {
    let outcome = editor.put_file(draft, &parse(path), file(number));
    let outcome = outcome.map_err(|e| e.to_string());
    assert_eq!(outcome, model::put(files, path, file(number)), "{path}");
    let found = editor.file(draft, &parse(path)).unwrap();
    assert_eq!(found, files.get(path).copied(), "{path}");
}

fn remove(editor: &mut Editor, draft: &Draft<'_>, files: &mut Files, path: &str) {
    let removed = editor.remove(draft, &parse(path)).unwrap();
    assert_eq!(removed, model::remove(files, path), "{path}");
    assert_eq!(editor.file(draft, &parse(path)).unwrap(), None, "{path}");
}
