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
    /// How many entries of trees name a file that is lost.
    pub(super) lost: u64,
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
        let (mut marked, mut lost) = (0, 0);
        let mut mark = |all: &mut Marks, states: &[ManifestId]| -> Result<()> {
            states.iter().try_for_each(|state| {
                progress(marked);
                marked += 1;
                lost += mark_new(store, nodes, all, *state, &mut |_| Ok(()))?;
                Ok(())
            })
        };
        mark(&mut all, &roots.heads)?;
        let live = all.clone();
        mark(&mut all, &roots.old)?;
        Ok(Self { live, all, lost })
    }
}

/// Marks everything below a manifest, and the manifest itself. What is marked already is passed; `new`
/// is called with each object that was not. Gives how many entries name a file that is lost: that keeps
/// nothing else from being collected.
///
/// # Errors
/// [`StoreError::Missing`] and [`StoreError::Damaged`] for what cannot be followed.
pub(super) fn mark_new(
    store: &SqliteStore,
    nodes: &Nodes,
    marks: &mut Marks,
    manifest: ManifestId,
    new: &mut dyn FnMut(ObjectId) -> Result<()>,
) -> Result<u64> {
    let mut mark = |id: ObjectId| {
        let is_new = marks.mark(store, id)?;
        if is_new {
            new(id)?;
        }
        Ok(is_new)
    };
    if !mark(manifest.into())? {
        return Ok(0);
    }
    let mut lost = 0;
    let mut below = vec![nodes.manifest(manifest)?.root];
    while let Some(id) = below.pop() {
        if !mark(id.into())? {
            continue;
        }
        for item in &nodes.node(id)?.items {
            match &item.value {
                Value::File(file) => match mark(file.blob.into()) {
                    Ok(_) => {}
                    Err(StoreError::Missing { .. }) => lost += 1,
                    Err(error) => return Err(error),
                },
                Value::Directory(directory) => below.push(directory.root),
                Value::Subtree(subtree) => below.push(subtree.node),
            }
        }
    }
    Ok(lost)
}
