//! An imported tree on its way into a branch.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::base::file_path::FilePath;
use crate::base::id::{ManifestId, NodeId};
use crate::base::limits::CHANGES_FOLLOWED_MAX;
use crate::manifest::diff::{FileChange, diff_at_most};
use crate::manifest::lookup;
use crate::manifest::lookup::Found;
use crate::manifest::overlay::overlay;
use crate::manifest::{Draft, EditError, Editor, NodeSource, Nodes};
use crate::object::manifest::Manifest;
use crate::object::node::{Node, Totals};
use crate::repo::Result;

/// What an import brings, and what it leaves.
#[derive(Clone, Debug)]
pub(in crate::repo) struct Content {
    /// The root of its own tree, which is in the store; `None` if that is empty.
    pub(in crate::repo) root: Option<NodeId>,
    pub(in crate::repo) stays: Stays,
}

/// What an import leaves of a branch.
#[derive(Clone, Debug)]
pub(in crate::repo) enum Stays {
    /// Everything.
    All,
    /// What is at these paths, files and folders.
    Spared(Arc<BTreeSet<FilePath>>),
}

/// An import laid over a state of a branch. All its objects are in the store.
#[derive(Clone, Debug)]
pub(in crate::repo) struct Landing {
    content: Content,
    /// The state that it was laid over, and its root.
    base: (ManifestId, NodeId),
    result: (ManifestId, Manifest),
}

impl Landing {
    /// Lays an import over a state and puts what that makes into the store.
    ///
    /// # Errors
    /// [`crate::repo::Error::Invalid`] where a file would take a folder's place or the reverse.
    pub(in crate::repo) fn on(nodes: &Nodes, base: ManifestId, content: &Content) -> Result<Self> {
        let mut draft = Draft::new(nodes);
        let root = nodes.manifest(base)?.root;
        let result = match &content.stays {
            Stays::All => laid_over(&mut draft, root, content.root)?,
            Stays::Spared(paths) => spare(&mut draft, root, content.root, paths)?,
        };
        draft.spill_all()?;
        Ok(Self {
            content: content.clone(),
            base: (base, root),
            result,
        })
    }

    /// The state that the import makes of this head: what has changed in the branch since the state
    /// that it was laid over is brought over, where the import leaves it.
    ///
    /// # Errors
    /// As [`Landing::on`]; `None` when the branch has changed by too much for that.
    pub(in crate::repo) fn followed(
        &self,
        draft: &mut Draft<'_>,
        id: ManifestId,
        head: &Manifest,
    ) -> Result<Option<(ManifestId, Manifest)>> {
        if id == self.base.0 {
            return Ok(Some(self.result));
        }
        let changes = diff_at_most(draft, self.base.1, head.root, CHANGES_FOLLOWED_MAX + 1)?;
        if changes.len() > CHANGES_FOLLOWED_MAX {
            return Ok(None);
        }
        let mut followed = Vec::new();
        for change in changes {
            let path = FilePath::parse(&change.path)?;
            if self.leaves(draft, &path, &change)? {
                followed.push((path, change.new));
            }
        }
        if followed.is_empty() {
            return Ok(Some(self.result));
        }
        let mut editor = Editor::new(&self.result.1);
        // Removals first: a folder may have made room for a file, or the reverse.
        for (path, _) in followed.iter().filter(|(_, new)| new.is_none()) {
            editor.remove(draft, path)?;
        }
        for (path, new) in followed {
            if let Some(file) = new {
                editor.put_file(draft, &path, file)?;
            }
        }
        Ok(Some(editor.finish(draft)?))
    }

    /// True if the import leaves this path as the branch has it.
    fn leaves(
        &self,
        source: &impl NodeSource,
        path: &FilePath,
        change: &FileChange,
    ) -> Result<bool> {
        match (&self.content.stays, self.content.root) {
            (Stays::Spared(paths), _) => Ok(covers(paths, path)),
            (Stays::All, None) => Ok(true),
            (Stays::All, Some(root)) if change.new.is_none() => Ok(!matches!(
                lookup::path(source, root, path)?,
                Some(Found::File(_))
            )),
            (Stays::All, Some(root)) => Ok(is_free(source, root, path)?),
        }
    }
}

/// True if one of these paths is this one, or a folder that it lies in.
fn covers(paths: &BTreeSet<FilePath>, path: &FilePath) -> bool {
    let text = path.as_str();
    let above = text.match_indices('/').map(|(at, _)| &text[..at]);
    above.chain([text]).any(|path| paths.contains(path))
}

/// False if the tree with this root has a file at this path.
///
/// # Errors
/// A file in place of a folder that the path needs, or a folder at the path itself.
fn is_free(
    source: &impl NodeSource,
    root: NodeId,
    path: &FilePath,
) -> std::result::Result<bool, EditError> {
    let text = path.as_str();
    let mut here = root;
    let mut end = 0;
    for name in path.segments() {
        end += name.len();
        match lookup::entry(source, here, name)? {
            None => return Ok(true),
            Some(Found::File(_)) if end == text.len() => return Ok(false),
            // As it is said where the import's file is laid over the branch's folder.
            Some(Found::File(_)) => {
                let path = text[..end].to_owned();
                return Err(EditError::IsDirectory { path });
            }
            Some(Found::Directory(directory)) => here = directory.root,
        }
        end += 1;
    }
    let path = text.to_owned();
    Err(EditError::NotDirectory { path })
}

fn laid_over(
    draft: &mut Draft<'_>,
    under: NodeId,
    over: Option<NodeId>,
) -> Result<(ManifestId, Manifest)> {
    let laid = overlay(draft, under, over.unwrap_or(under))?;
    let (root, totals) = match laid {
        Some(entry) => (entry.root, entry.totals),
        None => (draft.put_node(Node::empty()), Totals::default()),
    };
    let manifest = Manifest { root, totals };
    Ok((draft.put_manifest(&manifest), manifest))
}

/// The imported tree, and what the state has at these paths.
fn spare(
    draft: &mut Draft<'_>,
    state: NodeId,
    imported: Option<NodeId>,
    paths: &BTreeSet<FilePath>,
) -> Result<(ManifestId, Manifest)> {
    let mut editor = match imported {
        Some(root) => {
            let totals = draft.node(root)?.summary(root).totals;
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
