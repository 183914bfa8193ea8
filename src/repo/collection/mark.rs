//! What states lead to.

use std::ops::ControlFlow;

use super::roots::Roots;
use crate::base::id::{ManifestId, ObjectId};
use crate::manifest::{NodeSource, Nodes};
use crate::object::node::{DirectoryEntry, Subtree, Value};
use crate::store::collection::{Collectable, Need};
use crate::store::{Result, StoreError};

/// What states lead to.
#[derive(Debug)]
pub(super) struct Marked<M> {
    /// What heads and older states lead to.
    pub(super) marks: M,
    /// How many states they are, each counted once.
    pub(super) states: usize,
    /// How many entries of trees name a file that is lost, as far as marking tells.
    pub(super) lost: u64,
}

impl<M: Default> Marked<M> {
    /// Marks what these states lead to, and calls `progress` before each, with how many of [`Roots::count`] are
    /// marked. `None` when that asked to end.
    ///
    /// # Errors
    /// [`StoreError::Missing`] and [`StoreError::Damaged`] for what cannot be followed.
    pub(super) fn mark<S: Collectable<Marks = M>>(
        store: &S,
        nodes: &Nodes,
        roots: &Roots,
        mut progress: impl FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Option<Self>> {
        let mut marks = M::default();
        let (mut marked, mut states, mut lost) = (0, 0, 0);
        for (named, need) in [(&roots.heads, Need::Live), (&roots.old, Need::Old)] {
            for state in named {
                if progress(marked).is_break() {
                    return Ok(None);
                }
                marked += 1;
                let new = mark_new(store, nodes, &mut marks, *state, need, &mut |_| Ok(()))?;
                states += usize::from(new.is_some());
                lost += new.unwrap_or(0);
            }
        }
        Ok(Some(Self {
            marks,
            states,
            lost,
        }))
    }
}

/// Marks everything below a manifest, and the manifest itself. What is marked already is passed; `new`
/// is called with each object that was not. Gives how many entries name a file that is lost, which keeps
/// nothing else from being collected; `None` where the manifest was marked already.
///
/// # Errors
/// [`StoreError::Missing`] and [`StoreError::Damaged`] for what cannot be followed.
pub(super) fn mark_new<S: Collectable>(
    store: &S,
    nodes: &Nodes,
    marks: &mut S::Marks,
    manifest: ManifestId,
    need: Need,
    new: &mut dyn FnMut(ObjectId) -> Result<()>,
) -> Result<Option<u64>> {
    let mut mark = |id: ObjectId| {
        let is_new = store.mark(marks, id, need)?;
        if is_new {
            new(id)?;
        }
        Ok(is_new)
    };
    if !mark(manifest.into())? {
        return Ok(None);
    }
    let mut lost = 0;
    let root = nodes.manifest(manifest)?.root;
    let mut below = Vec::new();
    if mark(root.into())? {
        below.push(root);
    }
    while let Some(id) = below.pop() {
        let known = below.len();
        for item in &nodes.node(id)?.items {
            match &item.value {
                Value::File(file) => match mark(file.blob.into()) {
                    Ok(_) => {}
                    Err(StoreError::Missing { .. }) => lost += 1,
                    Err(error) => return Err(error),
                },
                Value::Directory(DirectoryEntry { root: id, .. })
                | Value::Subtree(Subtree { node: id, .. }) => {
                    if mark((*id).into())? {
                        below.push(*id);
                    }
                }
            }
        }
        nodes.read_ahead(&mut below[known..].iter().copied());
    }
    Ok(Some(lost))
}
