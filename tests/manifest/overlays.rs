//! One tree laid over another, and directories filled entry by entry, held against the map.

use proptest::prelude::*;

use siteconf::manifest::directory_builder::DirectoryBuilder;
use siteconf::manifest::overlay::overlay;
use siteconf::manifest::{Draft, EditError};
use siteconf::object::manifest::Manifest;
use siteconf::object::node::{DirectoryEntry, Totals, Value};
use siteconf::store::Batch;

use crate::agreement::assert_agrees;
use crate::model::{self, Files, file};
use crate::tree::{Tree, parse};

/// The upper files over the lower ones, `None` where a file meets a folder.
fn laid(under: &Files, over: &Files) -> Option<Files> {
    let mut laid = under.clone();
    for (path, file) in over {
        model::put(&mut laid, path, *file).ok()?;
    }
    Some(laid)
}

/// The manifest of other files, in the store of a tree.
fn beside(tree: &Tree, files: &Files) -> Manifest {
    tree.nodes.manifest(tree.built_at_once(files)).unwrap()
}

/// Lays one tree over another, and makes the result the branch's state.
fn lay(tree: &mut Tree, over: &Manifest) -> Result<(), EditError> {
    let mut draft = Draft::new(&tree.nodes);
    let laid = overlay(&mut draft, tree.manifest.root, over.root)?;
    let manifest = laid.map_or(tree.manifest, |DirectoryEntry { root, totals }| Manifest {
        root,
        totals,
    });
    tree.id = draft.put_manifest(&manifest);
    tree.manifest = manifest;
    draft.spill_all().unwrap();
    Ok(())
}

/// Asserts that the tree of `over` over that of `under` is the tree of both.
#[track_caller]
fn assert_laid(under: &Files, over: &Files) {
    let mut tree = Tree::new();
    tree.save(|editor, draft| {
        for (path, file) in under {
            editor.put_file(draft, &parse(path), *file).unwrap();
        }
    });
    let before = tree.id;
    let upper = beside(&tree, over);
    match (lay(&mut tree, &upper), laid(under, over)) {
        (Ok(()), Some(expected)) => assert_agrees(&tree, &expected),
        (Err(EditError::NotDirectory { path }), None) => {
            assert!(under.contains_key(&path), "{path}");
            assert_ne!(model::below(over, &path), Files::new(), "{path}");
            assert_eq!(tree.id, before);
        }
        (Err(EditError::IsDirectory { path }), None) => {
            assert!(over.contains_key(&path), "{path}");
            assert_ne!(model::below(under, &path), Files::new(), "{path}");
            assert_eq!(tree.id, before);
        }
        (done, expected) => panic!("{done:?} where it should be {expected:?}"),
    }
}

/// Files under few names, which meet in files and folders, and with them whole runs of others.
fn files() -> impl Strategy<Value = Files> {
    let name = prop::sample::select(vec!["a", "b", "a-", "a.b", "ab", "я"]);
    let path = prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"));
    let single = (path.clone(), 0..3_u64).prop_map(|(path, number)| vec![(path, number)]);
    let run =
        (path, 0..3_u64, 0..400_u64, 0..300_u64).prop_map(|(folder, number, start, count)| {
            let names = start..start + count;
            names
                .map(|at| (format!("{folder}/run {at:03}"), number))
                .collect()
        });
    prop::collection::vec(prop_oneof![4 => single, 1 => run], 0..8).prop_map(|all| {
        let mut files = Files::new();
        for (path, number) in all.into_iter().flatten() {
            // What meets a folder is left out: a tree has no such files.
            drop(model::put(&mut files, &path, file(number)));
        }
        files
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 192,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_tree_over_another_is_the_tree_of_both(under in files(), over in files()) {
        assert_laid(&under, &over);
    }
}

fn flat(numbers: impl Iterator<Item = u64>, content: u64) -> Files {
    numbers
        .map(|number| (format!("large/{number:06}"), file(content + number)))
        .collect()
}

#[test]
fn large_directories_are_laid_over_each_other_in_parts() {
    let all = flat(0..6_000, 0);
    assert_laid(&all, &flat((0..6_000).step_by(2), 7));
    assert_laid(&all, &flat(2_000..9_000, 0));
    assert_laid(
        &flat((0..6_000).step_by(3), 0),
        &flat((1..6_000).step_by(3), 0),
    );
    assert_laid(&flat(0..10, 0), &all);
    assert_laid(&all, &flat(5_000..5_001, 7));
    assert_laid(&all, &all);
    assert_laid(&all, &Files::new());
    assert_laid(&Files::new(), &all);
    assert_laid(&Files::new(), &Files::new());
}

#[test]
fn a_change_laid_over_a_large_directory_writes_only_what_is_above_it() {
    let mut tree = Tree::new();
    let (all, mut changed) = (flat(0..20_000, 0), flat(0..20_000, 0));
    changed.insert("large/007000".to_owned(), file(7));
    let under = beside(&tree, &all);
    let over = beside(&tree, &changed);
    tree.manifest = under;
    let mut draft = Draft::new(&tree.nodes);
    let laid = overlay(&mut draft, under.root, over.root).unwrap().unwrap();
    assert_eq!((laid.root, laid.totals), (over.root, over.totals));
    let written = draft.take_objects().len();
    assert!((2..=6).contains(&written), "{written} objects");
}

#[test]
fn a_directory_filled_in_any_order_is_the_directory_of_its_entries() {
    let files = flat(0..5_000, 0);
    let orders: [Vec<_>; 3] = [
        files.iter().collect(),
        files.iter().rev().collect(),
        files.iter().chain(files.iter()).collect(),
    ];
    for order in orders {
        let tree = Tree::new();
        let mut draft = Draft::new(&tree.nodes);
        let mut folder = DirectoryBuilder::new(None);
        for (path, file) in order {
            let name = path.strip_prefix("large/").unwrap();
            folder.put(&mut draft, name, Value::File(*file)).unwrap();
        }
        let folder = folder.finish(&mut draft).unwrap().unwrap();
        let mut root = DirectoryBuilder::new(None);
        root.put(&mut draft, "large", Value::File(file(1))).unwrap();
        root.put(&mut draft, "large", Value::Directory(folder))
            .unwrap();
        let root = root.finish(&mut draft).unwrap().unwrap();
        let id = draft.put_manifest(&Manifest {
            root: root.root,
            totals: root.totals,
        });
        assert_eq!(root.totals, model::totals(&files));
        assert_eq!(id, tree.built_at_once(&files));
    }
    let tree = Tree::new();
    let mut draft = Draft::new(&tree.nodes);
    assert_eq!(
        DirectoryBuilder::new(None).finish(&mut draft).unwrap(),
        None
    );
    assert_eq!(tree.manifest.totals, Totals::default());
}

#[test]
fn a_large_change_is_committed_ahead_in_parts() {
    let tree = Tree::new();
    let count = || {
        let store = tree.nodes.objects().store();
        store.ids_with_prefix(&[], usize::MAX).unwrap().len()
    };
    let mut draft = Draft::new(&tree.nodes);
    let mut folder = DirectoryBuilder::new(None);
    for (path, file) in flat(0..100_000, 0) {
        folder
            .put(&mut draft, &path[6..], Value::File(file))
            .unwrap();
    }
    let before = count();
    assert!(before > 1_000, "{before} objects");
    let _entry = folder.finish(&mut draft).unwrap().unwrap();
    let left = draft.take_objects();
    assert!(left.len() < 1_000, "{} objects", left.len());
    let batch = Batch {
        objects: left,
        ..Batch::default()
    };
    tree.nodes.objects().store().commit(batch).unwrap();
    assert!(count() > before);
}
