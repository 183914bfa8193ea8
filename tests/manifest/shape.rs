//! The shape of nodes by the rules of `objects-layout.md`, written down a second time: bounds, levels,
//! boundaries, keys and sums.

use siteconf::base::digest::node_id;
use siteconf::base::id::NodeId;
use siteconf::manifest::{NodeSource, Nodes};
use siteconf::object::node::{Counts, Key, NODE_BYTES_MAX, Node, Totals, Value};

/// Asserts that the nodes of the directory with this root, and of all below it, are shaped by the
/// rules; gives what is below it.
pub(crate) fn assert_shape(nodes: &Nodes, root: NodeId) -> Totals {
    let load = |id: NodeId| {
        let node = nodes.node(id).unwrap();
        let bytes = node.encode();
        assert_eq!(node_id(&bytes), id);
        assert!(bytes.len() <= NODE_BYTES_MAX, "{} bytes", bytes.len());
        node
    };
    let mut row = vec![load(root)];
    assert!(
        row[0].level == 0 || row[0].items.len() > 1,
        "a lower node holds everything"
    );
    while row[0].level > 0 {
        let level = row[0].level;
        assert_boundaries(level, &row.iter().map(|node| &**node).collect::<Vec<_>>());
        let mut below = Vec::new();
        for item in row.iter().flat_map(|node| &node.items) {
            let Value::Subtree(subtree) = item.value else {
                panic!("an entry above the leaves");
            };
            let node = load(subtree.node);
            assert_eq!(node.level, level - 1);
            assert_eq!(node.items.last().unwrap().key, item.key);
            assert_eq!(sums(&node), subtree.counts);
            below.push(node);
        }
        row = below;
    }
    assert_boundaries(0, &row.iter().map(|node| &**node).collect::<Vec<_>>());
    let mut totals = Totals::default();
    for item in row.iter().flat_map(|node| &node.items) {
        match item.value {
            Value::File(file) => {
                totals += Totals {
                    files: 1,
                    directories: 0,
                    bytes: file.size,
                };
            }
            Value::Directory(entry) => {
                let inside = assert_shape(nodes, entry.root);
                assert!(inside.files > 0, "an empty directory");
                assert_eq!(entry.totals, inside);
                totals += inside;
                totals.directories += 1;
            }
            Value::Subtree(_) => panic!("a subtree in a leaf"),
        }
    }
    totals
}

/// What a node's parent must say of it.
fn sums(node: &Node) -> Counts {
    let mut sums = Counts::default();
    for item in &node.items {
        match item.value {
            Value::File(file) => {
                sums.entries += 1;
                sums.totals.files += 1;
                sums.totals.bytes += file.size;
            }
            Value::Directory(entry) => {
                sums.entries += 1;
                sums.directories += 1;
                sums.totals.files += entry.totals.files;
                sums.totals.directories += 1 + entry.totals.directories;
                sums.totals.bytes += entry.totals.bytes;
            }
            Value::Subtree(below) => {
                sums.entries += below.counts.entries;
                sums.directories += below.counts.directories;
                sums.totals += below.counts.totals;
            }
        }
    }
    sums
}

/// Asserts that a level's nodes end exactly where the rule says, the last one apart.
fn assert_boundaries(level: u8, nodes: &[&Node]) {
    let keys: Vec<&Key> = nodes
        .iter()
        .flat_map(|node| node.items.iter().map(|item| &item.key))
        .collect();
    assert!(
        keys.is_sorted_by(|a, b| text(a) < text(b)),
        "keys do not rise"
    );
    let mut expected = Vec::new();
    let (mut accounted, mut count) = (0, 0);
    for key in keys {
        accounted += 78 + key.name.len();
        count += 1;
        if ends(level, accounted, &key.name) {
            expected.push(count);
            (accounted, count) = (0, 0);
        }
    }
    if count > 0 || expected.is_empty() {
        expected.push(count);
    }
    let found: Vec<_> = nodes.iter().map(|node| node.items.len()).collect();
    assert_eq!(found, expected, "boundaries of level {level}");
}

fn ends(level: u8, accounted: usize, name: &str) -> bool {
    let zero_bits = match accounted {
        ..1024 => return false,
        1024..4096 => 7,
        4096..16384 => 3,
        _ => return true,
    };
    let hash = blake3::hash(&[&[level], name.as_bytes()].concat());
    let draw = u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap());
    draw.trailing_zeros() >= zero_bits
}

fn text(key: &Key) -> String {
    format!("{}{}", key.name, if key.directory { "/" } else { "" })
}
