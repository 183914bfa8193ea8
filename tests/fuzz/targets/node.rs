//! Nodes of trees: only what an encoder writes is taken, and takes no more memory than it says.

use siteconf::object::node::{LEVEL_MAX, NODE_BYTES_MAX, Node};

pub(crate) fn hold(input: &[u8]) {
    let node = match Node::decode(input) {
        Ok(node) => node,
        Err(refused) => return assert!(refused.offset <= input.len()),
    };
    assert_eq!(node.encode(), input, "one node, two encodings");
    assert!(input.len() <= NODE_BYTES_MAX && node.level <= LEVEL_MAX);
    assert!(node.items.len() <= input.len() / 59);
    let keys: Vec<_> = node.items.iter().map(|item| &item.key).collect();
    assert!(keys.is_sorted_by(|a, b| a < b));
    for item in &node.items {
        assert_eq!(node.get(&item.key), Some(item));
    }
    // Totals of a damaged node may be anything; adding them up ends nobody.
    let counts = node.counts();
    assert!(counts.entries >= counts.directories || node.level > 0);
}
