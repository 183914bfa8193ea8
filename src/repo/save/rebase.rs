//! An import prepared outside of the save queue, and brought up to date with the branch inside.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::base::file_path::FilePath;
use crate::base::id::{ManifestId, NodeId};
use crate::base::limits::REBASED_FILES_MAX;
use crate::manifest::diff::{FileChange, diff_at_most};
use crate::manifest::lookup;
use crate::manifest::lookup::{Found, Place};
use crate::manifest::overlay::overlay;
use crate::manifest::{Draft, EditError, Editor, NodeSource, Nodes};
use crate::object::manifest::Manifest;
use crate::repo::Result;
use crate::repo::import::exclude::Exclude;
use crate::store::PinName;

/// An imported tree, and what the branch keeps beside it.
#[derive(Clone, Debug)]
pub(in crate::repo) struct ImportedTree {
    /// The root of its own tree, which is in the store; `None` if that is empty.
    pub(in crate::repo) root: Option<NodeId>,
    pub(in crate::repo) keep: Keep,
    /// The pin that keeps it, where the save has to name it.
    pub(in crate::repo) pin: Option<PinName>,
}

/// What a branch keeps when an import is laid over it.
#[derive(Clone, Debug)]
pub(in crate::repo) enum Keep {
    /// Everything.
    All,
    /// What is at some paths, files and folders.
    Only {
        /// At these.
        paths: Arc<BTreeSet<FilePath>>,
        /// And where these patterns say.
        exclude: Exclude,
    },
}

/// An import laid over a state of a branch. All its objects are in the store.
#[derive(Clone, Debug)]
pub(in crate::repo) struct PreparedImport {
    tree: ImportedTree,
    /// The state that it was laid over, and its root.
    base: (ManifestId, NodeId),
    /// The version of the snapshot that holds that state, once the branch has another.
    place: Option<u64>,
    result: (ManifestId, Manifest),
}

impl PreparedImport {
    /// Lays an import over a state and puts what that makes into the store. `place` is the version of the
    /// snapshot that holds the state, once the branch has another.
    ///
    /// # Errors
    /// [`crate::repo::Error::Invalid`] where a file would take a folder's place or the reverse.
    pub(in crate::repo) fn new(
        nodes: &Nodes,
        base: ManifestId,
        place: Option<u64>,
        tree: &ImportedTree,
    ) -> Result<Self> {
        let mut draft = Draft::new(nodes);
        let root = nodes.manifest(base)?.root;
        let result = match &tree.keep {
            Keep::All => laid_over(&mut draft, root, tree.root)?,
            Keep::Only { paths, exclude } => {
                let excluded = exclude.found_in(&draft, root)?;
                let kept = paths.iter().chain(&excluded);
                with_kept(&mut draft, root, tree.root, kept)?
            }
        };
        draft.spill_all()?;
        Ok(Self {
            tree: tree.clone(),
            base: (base, root),
            place,
            result,
        })
    }

    /// The state that the import makes of the one that it was laid over.
    pub(in crate::repo) fn result(&self) -> (ManifestId, Manifest) {
        self.result
    }

    /// The pin that has kept all of it.
    pub(in crate::repo) fn pin(&self) -> Option<PinName> {
        self.tree.pin
    }

    /// The state that it was laid over, of which the result has parts, and the version of the snapshot
    /// that holds it once the branch has another.
    pub(in crate::repo) fn base(&self) -> (ManifestId, Option<u64>) {
        (self.base.0, self.place)
    }

    /// The state that the import makes of this head: what has changed in the branch since the state
    /// that the import was laid over is applied to the result, where the branch keeps its own.
    ///
    /// # Errors
    /// As [`PreparedImport::new`]; `None` when more than [`REBASED_FILES_MAX`] files of the branch have
    /// changed.
    pub(in crate::repo) fn rebase_onto(
        &self,
        draft: &mut Draft<'_>,
        id: ManifestId,
        head: &Manifest,
    ) -> Result<Option<(ManifestId, Manifest)>> {
        if id == self.base.0 {
            return Ok(Some(self.result));
        }
        let changes = diff_at_most(draft, self.base.1, head.root, REBASED_FILES_MAX + 1)?;
        if changes.len() > REBASED_FILES_MAX {
            return Ok(None);
        }
        let mut kept = Vec::new();
        for change in changes {
            let path = FilePath::parse(&change.path)?;
            if self.keeps_ours(draft, &path, &change)? {
                kept.push((path, change.new));
            }
        }
        if kept.is_empty() {
            return Ok(Some(self.result));
        }
        let mut editor = Editor::new(&self.result.1);
        // Removals first: a folder may have made room for a file, or the reverse.
        for (path, _) in kept.iter().filter(|(_, new)| new.is_none()) {
            editor.remove(draft, path)?;
        }
        for (path, new) in kept {
            if let Some(file) = new {
                editor.put_file(draft, &path, file)?;
            }
        }
        Ok(Some(editor.finish(draft)?))
    }

    /// True if the branch keeps its own at this path.
    fn keeps_ours(
        &self,
        source: &impl NodeSource,
        path: &FilePath,
        change: &FileChange,
    ) -> Result<bool> {
        match (&self.tree.keep, self.tree.root) {
            (Keep::Only { paths, exclude }, _) => {
                let kept = paths.contains(path) || lies_in(path, paths) || exclude.covers(path);
                Ok(kept)
            }
            (Keep::All, None) => Ok(true),
            (Keep::All, Some(root)) if change.new.is_none() => Ok(!matches!(
                lookup::path(source, root, path)?,
                Some(Found::File(_))
            )),
            (Keep::All, Some(root)) => Ok(is_free(source, root, path)?),
        }
    }
}

/// True if a path lies in a folder at one of these paths.
pub(in crate::repo) fn lies_in(path: &FilePath, paths: &BTreeSet<FilePath>) -> bool {
    let text = path.as_str();
    let mut above = text.match_indices('/').map(|(at, _)| &text[..at]);
    above.any(|above| paths.contains(above))
}

/// False if the tree with this root has a file at this path.
///
/// # Errors
/// A file in place of a folder that the path needs, or a folder at the path itself: said of the
/// import's file or folder, as where it is laid over the branch's.
fn is_free(
    source: &impl NodeSource,
    root: NodeId,
    path: &FilePath,
) -> std::result::Result<bool, EditError> {
    match lookup::place(source, root, path)? {
        Place::Free => Ok(true),
        Place::File(_) => Ok(false),
        Place::BelowFile(path) => Err(EditError::IsDirectory { path }),
        Place::Directory => Err(EditError::NotDirectory {
            path: path.to_string(),
        }),
    }
}

fn laid_over(
    draft: &mut Draft<'_>,
    under: NodeId,
    over: Option<NodeId>,
) -> Result<(ManifestId, Manifest)> {
    let laid = overlay(draft, under, over.unwrap_or(under))?;
    Ok(draft.put_root(laid))
}

/// The imported tree with what the state has at these paths.
fn with_kept<'p>(
    draft: &mut Draft<'_>,
    state: NodeId,
    imported: Option<NodeId>,
    paths: impl Iterator<Item = &'p FilePath>,
) -> Result<(ManifestId, Manifest)> {
    let mut editor = match imported {
        Some(root) => {
            let totals = draft.node(root)?.counts().totals;
            Editor::new(&Manifest { root, totals })
        }
        None => Editor::empty(),
    };
    for path in paths {
        match lookup::path(draft, state, path)? {
            Some(Found::File(file)) => editor.put_file(draft, path, file)?,
            Some(Found::Directory(directory)) => editor.put_directory(draft, path, directory)?,
            None => {}
        }
    }
    Ok(editor.finish(draft)?)
}
