//! Parts of listings are what a whole walk has at the same places.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;

use siteconf::base::id::NodeId;
use siteconf::manifest::diff::{Start, each};
use siteconf::manifest::lookup;
use siteconf::manifest::page;
use siteconf::manifest::page::Window;
use siteconf::manifest::walk;
use siteconf::manifest::{NodeSource, Nodes};
use siteconf::object::node::{Key, Node, Value};
use siteconf::store::Result;

use crate::model::file;
use crate::tree::{Tree, parse};

/// Asserts that every window shows its part of the walk, below the root and below every folder in it.
pub(crate) fn assert_pages(tree: &Tree) {
    let root = tree.manifest.root;
    assert_recursive(tree, root, "");
    for (key, folder) in own_entries(tree, root).1 {
        if let Value::Directory(folder) = folder {
            assert_recursive(tree, folder.root, &format!("{}/", key.name));
            assert_own(tree, folder.root);
        }
    }
    assert_own(tree, root);
}

/// Windows of every kind on a list of this length.
fn windows(length: usize) -> Vec<(usize, usize)> {
    let mut windows = vec![(0, 0), (0, usize::MAX), (length, 1), (length + 7, 3)];
    for take in [1, 2, 7, 100] {
        let mut skip = 0;
        while skip < length {
            windows.push((skip, take));
            skip += take.max(length / 11 + 1);
        }
    }
    windows
}

fn window(skip: usize, take: usize) -> Window {
    Window {
        skip: skip as u64,
        take: take as u64,
    }
}

fn cut<T: Clone>(list: &[T], skip: usize, take: usize) -> Vec<T> {
    list.iter().skip(skip).take(take).cloned().collect()
}

fn assert_recursive(tree: &Tree, root: NodeId, prefix: &str) {
    let mut all = Vec::new();
    let _whole = walk::recursive(
        &tree.nodes,
        root,
        &mut prefix.to_owned(),
        &mut |path, value| {
            all.push((path.to_owned(), *value));
            Ok(ControlFlow::Continue(()))
        },
    )
    .unwrap();
    assert_eq!(
        page::count_recursive(&tree.nodes, root).unwrap(),
        all.len() as u64
    );
    for (skip, take) in windows(all.len()) {
        let mut part = Vec::new();
        let mut path = prefix.to_owned();
        page::recursive(
            &tree.nodes,
            root,
            &mut path,
            &mut window(skip, take),
            &mut |path, value| {
                part.push((path.to_owned(), *value));
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(path, prefix, "the prefix is left as it was");
        assert!(part == cut(&all, skip, take), "{take} after {skip}");
    }
}

type Entries = Vec<(Key, Value)>;

/// A directory's own files and directories, in the order of their keys.
fn own_entries(tree: &Tree, root: NodeId) -> (Entries, Entries) {
    let (mut files, mut directories) = (Vec::new(), Vec::new());
    let _whole = walk::directory(&tree.nodes, root, &mut |key, value| {
        let list = if key.directory {
            &mut directories
        } else {
            &mut files
        };
        list.push((key.clone(), *value));
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    (files, directories)
}

fn assert_own(tree: &Tree, root: NodeId) {
    let (files, directories) = own_entries(tree, root);
    assert_eq!(
        page::count(&tree.nodes, root).unwrap(),
        (directories.len() as u64, files.len() as u64)
    );
    let mut visited = Vec::new();
    page::directories(&tree.nodes, root, &mut |key, value| {
        visited.push((key.clone(), *value));
        Ok(())
    })
    .unwrap();
    assert!(visited == directories);
    for (skip, take) in windows(files.len()) {
        let mut part = Vec::new();
        let mut window = window(skip, take);
        let flow = page::files(&tree.nodes, root, &mut window, &mut |key, value| {
            part.push((key.clone(), *value));
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        assert!(flow.is_continue());
        assert!(part == cut(&files, skip, take), "{take} after {skip}");
    }
}

/// Counts the nodes that are asked for.
struct Counting<'a> {
    nodes: &'a Nodes,
    asked: Cell<usize>,
}

impl NodeSource for Counting<'_> {
    fn node(&self, id: NodeId) -> Result<Arc<Node>> {
        self.asked.set(self.asked.get() + 1);
        self.nodes.node(id)
    }
}

#[test]
fn a_page_far_behind_reads_no_more_than_the_first() {
    let mut tree = Tree::new();
    tree.save(|editor, draft| {
        for number in 0..50_000 {
            let path = format!("folder{}/file{number:05}", number % 3);
            editor.put_file(draft, &parse(&path), file(number)).unwrap();
        }
    });
    for skip in [0, 25_000, 49_900] {
        let counting = Counting {
            nodes: &tree.nodes,
            asked: Cell::new(0),
        };
        let mut taken = 0;
        page::recursive(
            &counting,
            tree.manifest.root,
            &mut String::new(),
            &mut window(skip, 100),
            &mut |_, _| {
                taken += 1;
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(taken, 100);
        let asked = counting.asked.get();
        assert!(asked < 20, "{asked} nodes for a page after {skip}");
    }
}

/// What a visit reads that takes ten files, of those that differ between the trees or of all in a folder.
#[test]
fn a_comparison_and_a_walk_read_no_further_than_they_are_followed() {
    let mut tree = Tree::new();
    tree.save(|editor, draft| {
        for number in 0..50_000 {
            let path = parse(&format!("folder/file{number:05}"));
            editor.put_file(draft, &path, file(number)).unwrap();
        }
    });
    let old = tree.manifest.root;
    tree.save(|editor, draft| {
        for number in 0..50_000 {
            let path = parse(&format!("folder/file{number:05}"));
            editor.put_file(draft, &path, file(number + 1)).unwrap();
        }
    });
    let new = tree.manifest.root;
    let counting = Counting {
        nodes: &tree.nodes,
        asked: Cell::new(0),
    };
    for start in ["", "folder/file25000", "folder/file49900"] {
        counting.asked.set(0);
        let mut taken = 0;
        let start = Some(Start::After(start)).filter(|_| !start.is_empty());
        let flow = each(&counting, old, new, start, &mut |_| {
            taken += 1;
            next(taken)
        });
        assert!(flow.unwrap().is_break());
        let asked = counting.asked.get();
        assert!(asked < 20, "{asked} nodes to compare from {start:?}");
    }
    let folder = lookup::path(&tree.nodes, new, &parse("folder"));
    let Some(lookup::Found::Directory(folder)) = folder.unwrap() else {
        panic!("there is a folder");
    };
    counting.asked.set(0);
    let mut taken = 0;
    let mut all = window(0, usize::MAX);
    let flow = page::files(&counting, folder.root, &mut all, &mut |_, _| {
        taken += 1;
        Ok(next(taken))
    });
    assert!(flow.unwrap().is_break());
    let asked = counting.asked.get();
    assert!(asked < 10, "{asked} nodes for ten files");
}

/// Breaks at the tenth.
fn next(taken: usize) -> ControlFlow<()> {
    if taken < 10 {
        ControlFlow::Continue(())
    } else {
        ControlFlow::Break(())
    }
}
