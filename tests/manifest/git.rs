//! The ids that git gives directories, where there are more of these than are kept in memory.

use std::cell::Cell;
use std::sync::Arc;

use siteconf::base::id::NodeId;
use siteconf::base::limits::DIGEST_CACHE_ENTRIES;
use siteconf::manifest::git::TreeIds;
use siteconf::manifest::{NodeSource, Nodes};
use siteconf::object::node::{Node, Value};
use siteconf::store::Result;

use crate::model::file;
use crate::tree::{Tree, parse};

/// Nodes that are counted as they are asked for.
struct Counted<'a> {
    nodes: &'a Nodes,
    asked: Cell<usize>,
}

impl NodeSource for Counted<'_> {
    fn node(&self, id: NodeId) -> Result<Arc<Node>> {
        self.asked.set(self.asked.get() + 1);
        self.nodes.node(id)
    }
}

#[test]
fn the_folders_of_a_root_above_more_folders_than_are_kept_are_computed_once() {
    const LISTED: usize = 8;
    let below = DIGEST_CACHE_ENTRIES * 2 / LISTED;
    let mut tree = Tree::new();
    for listed in 0..LISTED {
        tree.save(|editor, draft| {
            for number in 0..below {
                let path = parse(&format!("{listed}/{number:05}/x"));
                let number = u64::try_from(listed * below + number).unwrap();
                editor.put_file(draft, &path, file(number)).unwrap();
            }
        });
    }
    let source = Counted {
        nodes: &tree.nodes,
        asked: Cell::new(0),
    };
    let root = source.node(tree.manifest.root).unwrap();
    let listed: Vec<_> = root
        .items
        .iter()
        .map(|item| match item.value {
            Value::Directory(directory) => directory.root,
            _ => panic!("{item:?}"),
        })
        .collect();
    let ids = TreeIds::default();
    let page = || -> Vec<_> {
        let each = listed.iter().map(|root| ids.of(&source, *root).unwrap());
        each.collect()
    };
    let first = page();
    assert!(source.asked.get() > LISTED * below);
    source.asked.set(0);
    assert_eq!(page(), first);
    assert_eq!(source.asked.get(), 0);
}
