//! What states lead to.

use super::roots::Roots;
use crate::base::id::{ManifestId, ObjectId};
use crate::manifest::{NodeSource, Nodes};
use crate::object::node::Value;
use crate::store::sqlite::{Marks, SqliteStore};
use crate::store::{Result, StoreError};

/// What states lead to, as marks of rows.
#[derive(Debug)]
pub(super) struct Kept {
    /// What heads lead to.
    pub(super) live: Marks,
    /// What heads and older states lead to.
    pub(super) all: Marks,
}

impl Kept {
    /// Marks what these states lead to, and calls `progress` before each, with how many are marked.
    ///
    /// # Errors
    /// [`StoreError::Missing`] and [`StoreError::Damaged`] for what cannot be followed.
    pub(super) fn mark(
        store: &SqliteStore,
        nodes: &Nodes,
        roots: &Roots,
        mut progress: impl FnMut(usize),
    ) -> Result<Self> {
        let mut all = Marks::default();
        let mut marked = 0;
        let mut mark = |all: &mut Marks, states: &[ManifestId]| {
            states.iter().try_for_each(|state| {
                progress(marked);
                marked += 1;
                mark_new(store, nodes, all, *state, &mut |_| Ok(()))
            })
        };
        mark(&mut all, &roots.heads)?;
        let live = all.clone();
        mark(&mut all, &roots.old)?;
        Ok(Self { live, all })
    }
}

/// Marks everything below a manifest, and the manifest itself. What is marked already is passed; `new`
/// is called with each object that was not.
///
/// # Errors
/// [`StoreError::Missing`] and [`StoreError::Damaged`] for what cannot be followed.
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
