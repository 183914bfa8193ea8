//! The check of a tree: each way in which one can be wrong is planted alone and found alone.

use bytes::Bytes;

use siteconf::base::digest::{BodyDigests, byte_count, manifest_id, node_id};
use siteconf::base::id::{BlobId, Kind, Md5, NodeId, ObjectId};
use siteconf::manifest::check::Checker;
use siteconf::manifest::{Draft, Editor, NodeSource};
use siteconf::object::manifest::Manifest;
use siteconf::object::node::{DirectoryEntry, FileEntry, Item, Key, Node, Subtree, Totals, Value};
use siteconf::store::{Batch, NewBody, NewObject};

use crate::tree::{Tree, parse};

fn entry(text: &str) -> FileEntry {
    let BodyDigests {
        blob,
        size,
        md5,
        git,
        ..
    } = BodyDigests::of(text.as_bytes());
    FileEntry {
        executable: false,
        size,
        md5,
        git,
        blob,
    }
}

/// A directory of some hundred files whose nodes are taken apart, changed and put together again.
struct Parts {
    tree: Tree,
    leaves: Vec<Node>,
}

impl Parts {
    fn new() -> Self {
        let mut tree = Tree::new();
        tree.save(|editor, draft| {
            for number in 0..700 {
                let path = parse(&format!("file-{number:04}.xml"));
                editor.put_file(draft, &path, entry("same")).unwrap();
            }
        });
        let root = tree.nodes.node(tree.manifest.root).unwrap();
        assert_eq!(root.level, 1);
        let leaves = root.items.iter().map(|item| match item.value {
            Value::Subtree(below) => Node::clone(&tree.nodes.node(below.node).unwrap()),
            _ => panic!("an entry above the leaves"),
        });
        let leaves: Vec<_> = leaves.collect();
        assert!(leaves.len() > 4);
        Self { tree, leaves }
    }

    fn put(&self, kind: Kind, id: impl Into<ObjectId>, bytes: Vec<u8>) {
        let new = NewObject {
            id: id.into(),
            kind,
            size: byte_count(&bytes),
            sha256: None,
            body: NewBody::Inline(Bytes::from(bytes)),
        };
        let batch = Batch {
            objects: vec![new],
            ..Batch::default()
        };
        self.tree.nodes.objects().store().commit(batch).unwrap();
    }

    fn put_node(&self, node: &Node) -> NodeId {
        let id = node_id(&node.encode());
        self.put(Kind::Node, id, node.encode());
        id
    }

    /// The item that stands for a node.
    fn item(&self, node: &Node) -> Item {
        let below = Subtree {
            node: self.put_node(node),
            counts: node.counts(),
        };
        Item {
            key: node.items.last().unwrap().key.clone(),
            value: Value::Subtree(below),
        }
    }

    fn root(&self) -> Node {
        Node {
            level: 1,
            items: self.leaves.iter().map(|leaf| self.item(leaf)).collect(),
        }
    }

    /// What is found wrong with the tree that has this root, the ids left out.
    fn faults_of(&self, root: &Node) -> Vec<String> {
        let id = self.put_node(root);
        self.faults_below(id, root.counts().totals)
    }

    fn faults_below(&self, root: NodeId, totals: Totals) -> Vec<String> {
        let manifest = Manifest { root, totals };
        let id = manifest_id(&manifest.encode());
        self.put(Kind::Manifest, id, manifest.encode());
        let mut checker = Checker::new(&self.tree.nodes);
        checker.manifest(id);
        // Whatever was seen: a second look finds what is wrong with it as a whole again.
        let first = checker.findings.clone();
        checker.findings.clear();
        checker.manifest(id);
        assert!(checker.findings.iter().all(|again| first.contains(again)));
        let plain = |finding: String| match finding.split_once(": ") {
            Some((_, what)) => what.to_owned(),
            None => finding,
        };
        first.into_iter().map(plain).collect()
    }
}

/// Changes the leaves and says what is found then.
fn faults(change: impl FnOnce(&mut Vec<Node>)) -> Vec<String> {
    let mut parts = Parts::new();
    change(&mut parts.leaves);
    parts.faults_of(&parts.root())
}

/// Changes the root above sound leaves and says what is found then.
fn faults_above(change: impl FnOnce(&mut Node)) -> Vec<String> {
    let parts = Parts::new();
    let mut root = parts.root();
    change(&mut root);
    parts.faults_of(&root)
}

fn subtree(item: &mut Item) -> &mut Subtree {
    match &mut item.value {
        Value::Subtree(below) => below,
        _ => panic!("an entry above the leaves"),
    }
}

#[test]
fn a_tree_that_is_as_it_must_be_has_no_fault() {
    assert_eq!(faults(|_| {}), [""; 0]);
}

#[test]
fn a_node_that_ends_too_early_is_found_unless_it_is_the_last() {
    // What is split off the last node is the last node.
    let split = |leaves: &mut Vec<Node>| {
        let rest = leaves.last_mut().unwrap().items.split_off(3);
        leaves.push(Node {
            level: 0,
            items: rest,
        });
    };
    assert_eq!(
        faults(split),
        ["it ends before a boundary, and others follow"]
    );
    assert_eq!(
        faults(|leaves| leaves.last_mut().unwrap().items.truncate(1)),
        [""; 0]
    );
}

#[test]
fn a_last_node_of_one_directory_is_not_one_where_others_follow() {
    // The last leaf is sound where it is last; the same leaf before others is not.
    let parts = Parts::new();
    let sound = parts.root();
    let mut wrong = sound.clone();
    let last = wrong.items.len() - 1;
    let mut tail = parts.leaves[last].clone();
    for item in &mut tail.items {
        item.key = Key::file(&format!("{}z", item.key.name));
    }
    wrong.items.push(parts.item(&tail));
    let totals = sound.counts().totals;
    let mut checker = Checker::new(&parts.tree.nodes);
    for (root, totals, faults) in [
        (&sound, totals, 0),
        (&wrong, wrong.counts().totals, 1),
        (&sound, totals, 0),
    ] {
        let manifest = Manifest {
            root: parts.put_node(root),
            totals,
        };
        let id = manifest_id(&manifest.encode());
        parts.put(Kind::Manifest, id, manifest.encode());
        checker.manifest(id);
        let found: Vec<_> = checker.findings.drain(..).collect();
        let early = found.iter().filter(|f| f.ends_with("and others follow"));
        assert_eq!(early.count(), faults, "{found:?}");
    }
}

#[test]
fn a_node_that_goes_on_too_long_is_found() {
    assert_eq!(
        faults(|leaves| {
            let next = leaves.remove(2);
            leaves[1].items.extend(next.items);
        }),
        ["it goes on behind a boundary"]
    );
}

#[test]
fn siblings_out_of_order_are_found() {
    assert_eq!(
        faults(|leaves| leaves[2].items[0].key = Key::file("file-0000.aaa")),
        ["its keys are not behind those before it"]
    );
    // The same key on both sides of a border, too.
    assert_eq!(
        faults(|leaves| {
            let key = leaves[1].items.last().unwrap().key.clone();
            leaves[2].items[0].key = key;
        }),
        ["its keys are not behind those before it"]
    );
}

#[test]
fn what_a_parent_says_otherwise_is_found() {
    assert_eq!(
        faults_above(|root| {
            let name = root.items[1].key.name.replace(".xml", ".xmm");
            root.items[1].key = Key::file(&name);
        }),
        ["its parent's key is not the last of its own"]
    );
    assert_eq!(
        faults_above(|root| subtree(&mut root.items[1]).counts.entries += 1),
        ["its parent's totals are not the sum of its items"]
    );
    assert_eq!(
        faults_above(|root| root.level = 2)
            .into_iter()
            .collect::<std::collections::BTreeSet<_>>(),
        ["its level is not the one below its parent's".to_owned()].into()
    );
}

#[test]
fn totals_of_a_whole_directory_are_checked() {
    let parts = Parts::new();
    let root = parts.put_node(&parts.root());
    let mut totals = parts.root().counts().totals;
    totals.bytes += 1;
    assert_eq!(
        parts.faults_below(root, totals),
        ["its directory's totals are not the sum of its entries"]
    );
}

#[test]
fn a_root_above_a_single_node_is_found() {
    let single = |leaves: &mut Vec<Node>| leaves.truncate(1);
    assert_eq!(faults(single), ["it is a root above a single node"]);
}

#[test]
fn an_empty_directory_is_found() {
    let empty = DirectoryEntry {
        root: node_id(&Node::empty().encode()),
        totals: Totals::default(),
    };
    assert_eq!(
        faults(|leaves| leaves[0].items.insert(
            0,
            Item {
                key: Key::directory("empty"),
                value: Value::Directory(empty)
            }
        ))
        .first()
        .map(String::as_str),
        Some("it holds an empty directory")
    );
}

#[test]
fn a_file_and_a_directory_of_one_name_are_found() {
    let parts = Parts::new();
    let inside = Node {
        level: 0,
        items: vec![Item {
            key: Key::file("x"),
            value: Value::File(entry("x")),
        }],
    };
    let root = parts.put_node(&inside);
    let directory = Value::Directory(DirectoryEntry {
        root,
        totals: inside.counts().totals,
    });
    let file = Value::File(entry("a"));
    let directory_of = |names: [(&str, Value); 4]| {
        let items = names.map(|(name, value)| Item {
            key: match value {
                Value::Directory(_) => Key::directory(name),
                _ => Key::file(name),
            },
            value,
        });
        parts.faults_of(&Node {
            level: 0,
            items: items.into(),
        })
    };
    assert_eq!(
        directory_of([("a", file), ("a-b", file), ("a", directory), ("b", file)]),
        ["its directory has a file and a directory of one name"]
    );
    assert_eq!(
        directory_of([
            ("a", file),
            ("a-b", directory),
            ("aa", directory),
            ("b", file)
        ]),
        [""; 0]
    );
}

#[test]
fn two_trees_that_say_otherwise_of_a_blob_are_found() {
    assert_eq!(
        faults(|leaves| {
            let Value::File(file) = &mut leaves[1].items[1].value else {
                panic!("a file");
            };
            file.md5 = Md5::from_bytes([0; 16]);
        }),
        ["it says another length or digest of a blob than another node"]
    );
}

#[test]
fn a_missing_node_hides_no_other() {
    let parts = Parts::new();
    let mut root = parts.root();
    let absent = NodeId::from_bytes([7; 32]);
    subtree(&mut root.items[1]).node = absent;
    let id = parts.put_node(&root);
    let manifest = Manifest {
        root: id,
        totals: root.counts().totals,
    };
    let id = manifest_id(&manifest.encode());
    parts.put(Kind::Manifest, id, manifest.encode());
    let mut checker = Checker::new(&parts.tree.nodes);
    assert_eq!(checker.manifest(id), Some(manifest.totals));
    assert_eq!(checker.findings, [format!("object {absent} is missing")]);
    let blob: BlobId = entry("same").blob;
    assert_eq!(checker.blobs.keys().copied().collect::<Vec<_>>(), [blob]);
}

#[test]
fn an_empty_directory_that_is_put_removes_what_is_there() {
    let mut tree = Tree::new();
    tree.save(|editor, draft| {
        for path in ["a/x", "b/c/y", "z"] {
            editor.put_file(draft, &parse(path), entry(path)).unwrap();
        }
    });
    let mut expected = Tree::new();
    expected.save(|editor, draft| {
        editor.put_file(draft, &parse("z"), entry("z")).unwrap();
    });
    tree.save(|editor: &mut Editor, draft: &Draft<'_>| {
        let empty = DirectoryEntry {
            root: node_id(&Node::empty().encode()),
            totals: Totals::default(),
        };
        for path in ["a", "b/c", "new/one"] {
            editor.put_directory(draft, &parse(path), empty).unwrap();
        }
        assert!(editor.file(draft, &parse("a/x")).unwrap().is_none());
    });
    assert_eq!(tree.manifest, expected.manifest);
}
