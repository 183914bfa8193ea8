//! What states lead to.

use crate::base::id::ManifestId;
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
    if !marks.mark(store, manifest.into())? {
        return Ok(());
    }
    let mut below = vec![nodes.manifest(manifest)?.root];
    while let Some(id) = below.pop() {
        if !marks.mark(store, id.into())? {
            continue;
        }
        for item in &nodes.node(id)?.items {
            match &item.value {
                Value::File(file) => match marks.mark(store, file.blob.into()) {
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
