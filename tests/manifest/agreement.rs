//! Every way of reading a tree, held against the map.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use sha2::Digest;

use siteconf::base::id::{NodeId, Sha256};
use siteconf::manifest::check::Checker;
use siteconf::manifest::diff::{FileChange, Start, diff, each};
use siteconf::manifest::digest::digest;
use siteconf::manifest::lookup;
use siteconf::manifest::lookup::Found;
use siteconf::manifest::walk;
use siteconf::object::manifest::Manifest;
use siteconf::object::node::Value;

use crate::model::{self, Files};
use crate::pages::assert_pages;
use crate::shape::assert_shape;
use crate::tree::{Tree, parse};

/// Asserts that the tree is that of these files in every respect.
pub(crate) fn assert_agrees(tree: &Tree, files: &Files) {
    assert_eq!(tree.built_at_once(files), tree.id, "in order");
    assert_eq!(tree.built_at_once(files.iter().rev()), tree.id, "backwards");
    let totals = model::totals(files);
    assert_eq!(tree.manifest.totals, totals);
    assert_eq!(assert_shape(&tree.nodes, tree.manifest.root), totals);
    assert_walk(tree, files);
    assert_listings(tree, files);
    assert_digest(tree, files);
    assert_pages(tree);

    let mut checker = Checker::new(&tree.nodes);
    checker.manifest(tree.id);
    assert_eq!(checker.findings, [""; 0]);
    let blobs: BTreeSet<_> = files.values().map(|file| file.blob).collect();
    assert_eq!(checker.blobs.into_keys().collect::<BTreeSet<_>>(), blobs);
}

/// Asserts that a walk meets each folder before what is in it, and files in the order of their paths.
fn assert_walk(tree: &Tree, files: &Files) {
    let (mut visited, mut in_order) = (Vec::new(), Vec::new());
    let mut prefix = String::new();
    let _whole = walk::recursive(
        &tree.nodes,
        tree.manifest.root,
        &mut prefix,
        &mut |path, value| {
            match value {
                Value::File(file) => {
                    visited.push(path.to_owned());
                    in_order.push((path.to_owned(), *file));
                }
                Value::Directory(_) => visited.push(format!("{path}/")),
                Value::Subtree(_) => panic!("a walk shows no nodes"),
            }
            Ok(ControlFlow::Continue(()))
        },
    )
    .unwrap();
    assert_eq!(prefix, "");
    assert!(in_order.iter().map(|(path, file)| (path, file)).eq(files));
    let folders = model::folders(files);
    let folders = folders.into_iter().map(|folder| format!("{folder}/"));
    let expected: BTreeSet<String> = folders.chain(files.keys().cloned()).collect();
    assert!(visited.iter().eq(&expected), "{visited:?}");
}

/// Asserts what each folder lists, and that each path leads to what it names and to nothing else.
fn assert_listings(tree: &Tree, files: &Files) {
    let root = tree.manifest.root;
    let find = |path: &str| lookup::path(&tree.nodes, root, &parse(path)).unwrap();
    for (path, file) in files {
        assert_eq!(find(path), Some(Found::File(*file)), "{path}");
    }
    for absent in ["nothing", "a/nothing", "nothing/a", "~", "!"] {
        assert_eq!(find(absent), None);
    }
    for folder in std::iter::once("").chain(model::folders(files)) {
        let inside = model::below(files, folder);
        let directory = if folder.is_empty() {
            root
        } else {
            match find(folder) {
                Some(Found::Directory(entry)) => {
                    assert_eq!(entry.totals, model::totals(&inside), "{folder}");
                    entry.root
                }
                other => panic!("{folder}: {other:?}"),
            }
        };
        let mut listed = Vec::new();
        let _whole = walk::directory(&tree.nodes, directory, &mut |key, value| {
            assert_eq!(key.directory, matches!(value, Value::Directory(_)));
            listed.push(format!(
                "{}{}",
                key.name,
                if key.directory { "/" } else { "" }
            ));
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        let names = inside.keys().map(|path| match path.find('/') {
            Some(at) => path[..=at].to_owned(),
            None => path.clone(),
        });
        assert!(
            listed.into_iter().eq(names.collect::<BTreeSet<_>>()),
            "{folder}"
        );
    }
}

fn assert_digest(tree: &Tree, files: &Files) {
    let mut hasher = sha2::Sha256::new();
    for (path, file) in files {
        hasher.update(format!("{path}|{}|{}\n", file.size, file.md5));
    }
    assert_eq!(
        digest(&tree.nodes, tree.manifest.root).unwrap(),
        Sha256::from_bytes(hasher.finalize().into())
    );
}

/// Asserts that a comparison can begin at, or after, what differs and what does not.
fn assert_starts(tree: &Tree, [old, new]: [NodeId; 2], whole: &[FileChange]) {
    let from = |start: Start<'_>| {
        let mut changes = Vec::new();
        let flow = each(&tree.nodes, old, new, Some(start), &mut |change| {
            changes.push(change);
            ControlFlow::Continue(())
        });
        assert!(flow.unwrap().is_continue());
        changes
    };
    let step = (whole.len() / 5).max(1);
    for change in whole.iter().step_by(step) {
        let path = &change.path;
        let folder = path.rsplit_once('/').map_or(path.as_str(), |(it, _)| it);
        let cut: String = path.chars().take(path.chars().count() / 2).collect();
        for text in [
            path.clone(),
            folder.to_owned(),
            format!("{path}/below"),
            format!("{path}0"),
            format!("{folder}/~"),
            cut,
        ] {
            let at = whole.partition_point(|it| it.path < text);
            let after = whole.partition_point(|it| it.path <= text);
            assert!(from(Start::At(&text)) == whole[at..], "at {text:?}");
            assert!(
                from(Start::After(&text)) == whole[after..],
                "after {text:?}"
            );
        }
    }
}

/// Asserts that what changed between an older state and the tree is what changed in the map, both ways.
pub(crate) fn assert_diff(tree: &Tree, old: &Manifest, old_files: &Files, files: &Files) {
    let paths: BTreeSet<_> = old_files.keys().chain(files.keys()).collect();
    let expected: BTreeMap<_, _> = paths
        .into_iter()
        .map(|path| (path, (old_files.get(path), files.get(path))))
        .filter(|(_, (old, new))| old != new)
        .collect();
    let forth = expected.iter().map(|(path, (old, new))| FileChange {
        path: (*path).clone(),
        old: old.copied(),
        new: new.copied(),
    });
    let back = forth.clone().map(|change| FileChange {
        path: change.path,
        old: change.new,
        new: change.old,
    });
    let (old, new) = (old.root, tree.manifest.root);
    assert_starts(tree, [old, new], &forth.clone().collect::<Vec<_>>());
    assert!(diff(&tree.nodes, old, new).unwrap().into_iter().eq(forth));
    assert!(diff(&tree.nodes, new, old).unwrap().into_iter().eq(back));
    assert_eq!(diff(&tree.nodes, new, new).unwrap(), []);
}
