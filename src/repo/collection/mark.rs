//! What states lead to.

use crate::base::id::{ManifestId, ObjectId};
use crate::manifest::{NodeSource, Nodes};
use crate::object::node::Value;
use crate::store::sqlite::{Marks, SqliteStore};
use crate::store::{Result, StoreError};

/// Marks everything below a manifest, and the manifest itself. What is marked already is passed.
///
/// # Errors
/// [`StoreError::Missing`] and [`StoreError::Damaged`] for what cannot be followed.
pub(super) fn mark(
    store: &SqliteStore,
    nodes: &Nodes,
    marks: &mut Marks,
    manifest: ManifestId,
) -> Result<()> {
    mark_new(store, nodes, marks, manifest, &mut |_| Ok(()))
}

/// As [`mark`], and calls `new` with each object that was not marked before.
pub(super) fn mark_new(
    store: &SqliteStore,
    nodes: &Nodes,
    marks: &mut Marks,
    manifest: ManifestId,
    new: &mut dyn FnMut(ObjectId) -> Result<()>,
) -> Result<()> {
    let mut mark = |id: ObjectId| {
        let is_new = marks.mark(store, id)?;
        if is_new {
            new(id)?;
        }
        Ok(is_new)
    };
    if !mark(manifest.into())? {
        return Ok(());
    }
    let mut below = vec![nodes.manifest(manifest)?.root];
    while let Some(id) = below.pop() {
        if !mark(id.into())? {
            continue;
        }
        for item in &nodes.node(id)?.items {
            match &item.value {
                Value::File(file) => match mark(file.blob.into()) {
                    // A file that is lost keeps nothing else from being collected; "debug check" tells.
                    Ok(_) | Err(StoreError::Missing { .. }) => {}
                    Err(error) => return Err(error),
                },
                Value::Directory(directory) => below.push(directory.root),
                Value::Subtree(subtree) => below.push(subtree.node),
            }
        }
    }
    Ok(())
}
