//! A branch in a store of its own, changed save by save.

use std::sync::Arc;

use siteconf::base::file_path::FilePath;
use siteconf::base::id::ManifestId;
use siteconf::manifest::{Draft, Editor, Nodes};
use siteconf::object::manifest::Manifest;
use siteconf::object::node::FileEntry;
use siteconf::store::memory::MemoryStore;
use siteconf::store::objects::Objects;
use siteconf::store::{Batch, Store};

/// The state of a branch.
pub(crate) struct Tree {
    pub(crate) nodes: Nodes,
    pub(crate) id: ManifestId,
    pub(crate) manifest: Manifest,
}

impl Tree {
    /// An empty branch.
    pub(crate) fn new() -> Self {
        let store = Arc::new(MemoryStore::default()) as Arc<dyn Store>;
        let nodes = Nodes::new(Arc::new(Objects::new(store)));
        let (id, manifest) = write(&nodes, Editor::empty(), |_, _| {});
        Self {
            nodes,
            id,
            manifest,
        }
    }

    /// Changes the branch in one save.
    pub(crate) fn save(&mut self, change: impl FnOnce(&mut Editor, &Draft<'_>)) {
        let editor = Editor::new(&self.manifest);
        (self.id, self.manifest) = write(&self.nodes, editor, change);
    }

    /// The manifest that these files have when they are put into nothing, in this order.
    pub(crate) fn built_at_once<'f>(
        &self,
        files: impl IntoIterator<Item = (&'f String, &'f FileEntry)>,
    ) -> ManifestId {
        let put_all = |editor: &mut Editor, draft: &Draft<'_>| {
            for (path, file) in files {
                editor.put_file(draft, &parse(path), *file).unwrap();
            }
        };
        write(&self.nodes, Editor::empty(), put_all).0
    }
}

fn write(
    nodes: &Nodes,
    mut editor: Editor,
    change: impl FnOnce(&mut Editor, &Draft<'_>),
) -> (ManifestId, Manifest) {
    let mut draft = Draft::new(nodes);
    change(&mut editor, &draft);
    let written = editor.finish(&mut draft).unwrap();
    let objects = draft.take_objects();
    let batch = Batch {
        objects,
        ..Batch::default()
    };
    nodes.objects().store().commit(batch).unwrap();
    assert_eq!(nodes.manifest(written.0).unwrap(), written.1);
    written
}

pub(crate) fn parse(path: &str) -> FilePath {
    FilePath::parse(path).unwrap()
}
