//! Nodes that are read at once: over a network each request takes as long as the reading of many.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use siteconf::base::id::ObjectId;
use siteconf::manifest::{Nodes, digest};
use siteconf::store::objects::Objects;
use siteconf::store::{Batch, Result, Staging, Store, StoredObject, Version};

use crate::forwarded::forward_reads;
use crate::model::file;
use crate::tree::{Tree, parse};

/// A store that counts the requests for objects, and the objects.
#[derive(Debug)]
struct Far {
    store: Arc<dyn Store>,
    requests: AtomicUsize,
    objects: AtomicUsize,
}

impl Store for Far {
    forward_reads!();

    fn objects(&self, ids: &[ObjectId]) -> Result<Vec<Option<StoredObject>>> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.objects.fetch_add(ids.len(), Ordering::Relaxed);
        self.store.objects(ids)
    }
    fn is_remote(&self) -> bool {
        true
    }
    fn commit(&self, batch: Batch) -> Result<Version> {
        self.store.commit(batch)
    }
    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

#[test]
fn a_digest_asks_for_the_nodes_below_one_together() {
    let mut tree = Tree::new();
    tree.save(|editor, draft| {
        for number in 0..10_000 {
            let path = format!("folder{}/file{number:05}", number % 3);
            editor.put_file(draft, &parse(&path), file(number)).unwrap();
        }
    });
    let far = Arc::new(Far {
        store: Arc::clone(tree.nodes.objects().store()),
        requests: AtomicUsize::new(0),
        objects: AtomicUsize::new(0),
    });
    let nodes = Nodes::new(Arc::new(Objects::new(far.clone())));
    let root = tree.manifest.root;
    assert_eq!(
        digest::digest(&nodes, root).unwrap(),
        digest::digest(&tree.nodes, root).unwrap()
    );
    let requests = far.requests.load(Ordering::Relaxed);
    let objects = far.objects.load(Ordering::Relaxed);
    // All but the root, two manifests and the root of the empty one.
    let all = far.ids_with_prefix(&[], usize::MAX).unwrap().len();
    assert!(objects >= all - 4, "{objects} of {all}");
    assert!(
        requests <= objects / 10,
        "{requests} requests for {objects}"
    );
}
