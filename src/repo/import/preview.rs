//! What an import would do, told without writing anything.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::ops::{Bound, ControlFlow};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::open_folder::Skip;
use super::source::ImportFolder;
use super::walk::{Flow, Visitor, Walk};
use super::{ImportChanges, ImportOptions, ImportStep, refuse_to_empty};
use crate::base::digest::{ContentHasher, StreamHasher, byte_count};
use crate::base::file_path::FilePath;
use crate::base::id::NodeId;
use crate::manifest::lookup::{Found, Place};
use crate::manifest::{EditError, Nodes, lookup};
use crate::object::node::FileEntry;
use crate::repo::save::rebase::lies_in;
use crate::repo::{Chunks, Result, Revision};
#[cfg(doc)]
use crate::repo::{Error, Projects};

/// What an import would do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportPreview {
    /// Files that would be taken.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What would be left out although a branch takes its like: it cannot be read, or is too large.
    pub lost: u64,
    /// What that would change.
    pub changes: ImportChanges,
}

impl ImportFolder {
    /// Tells what an import of the folder would do to a state of a branch, or to nothing. `step` is
    /// called as by [`Projects::read_folder`]. `None` when a step asked to end.
    ///
    /// Of the files only those are read of which the state has one of the same size.
    ///
    /// # Errors
    /// Those of [`Projects::read_folder`]; [`Error::Invalid`] when a file would take a folder's place or
    /// the reverse; [`Error::WouldEmpty`].
    ///
    /// # Limits
    /// Memory grows with the entries of the largest single folder; that of a mirror also with the paths
    /// that it keeps.
    pub fn preview(
        &self,
        onto: Option<&Revision>,
        options: &ImportOptions,
        step: impl FnMut(ImportStep<'_>) -> ControlFlow<()>,
    ) -> Result<Option<ImportPreview>> {
        let onto = onto.map(|head| Onto::new(head, options)).transpose()?;
        let mut previewing = Previewing {
            onto,
            options,
            step,
            preview: ImportPreview::default(),
        };
        let ImportOptions {
            exclude,
            linked_max,
            ..
        } = options;
        let walk = Walk::new(self, exclude, *linked_max, &mut previewing);
        if walk.run()?.is_break() {
            return Ok(None);
        }
        let Previewing {
            onto, mut preview, ..
        } = previewing;
        if let Some(onto) = onto {
            refuse_to_empty(onto.head, options, preview.files, self.path())?;
            preview.changes.removed = onto.removed()?;
        }
        Ok(Some(preview))
    }
}

/// A state that a folder would be laid over.
struct Onto<'a> {
    head: &'a Revision,
    root: NodeId,
    /// Its files that the folder has, too.
    met: u64,
    /// What a mirror keeps; `None` where everything is kept.
    kept: Option<BTreeSet<FilePath>>,
}

impl<'a> Onto<'a> {
    fn new(head: &'a Revision, options: &ImportOptions) -> Result<Self> {
        let root = head.root()?;
        let kept = if options.mirror {
            let excluded = options.exclude.found_in(head.nodes(), root)?;
            Some(excluded.into_iter().collect())
        } else {
            None
        };
        Ok(Self {
            head,
            root,
            met: 0,
            kept,
        })
    }

    fn nodes(&self) -> &Nodes {
        self.head.nodes()
    }

    /// The file that one at this path would replace, if there is one.
    fn replaced(&mut self, path: &FilePath) -> Result<Option<FileEntry>> {
        let place = lookup::place(self.nodes(), self.root, path)?;
        if let Place::File(file) = place {
            self.met += 1;
            return Ok(Some(file));
        }
        match (place, &self.kept) {
            (Place::BelowFile(path), None) => return Err(EditError::NotDirectory { path }.into()),
            (Place::Directory, None) => {
                let path = path.to_string();
                return Err(EditError::IsDirectory { path }.into());
            }
            // What is kept below it has no room.
            (Place::Directory, Some(kept)) if has_below(kept, path) => {
                let path = path.to_string();
                return Err(EditError::NotDirectory { path }.into());
            }
            _ => {}
        }
        Ok(None)
    }

    /// How many of its files would go.
    fn removed(&self) -> Result<u64> {
        let Some(kept) = &self.kept else {
            return Ok(0);
        };
        let mut stays = self.met;
        for path in kept.iter().filter(|path| !lies_in(path, kept)) {
            stays += match lookup::path(self.nodes(), self.root, path)? {
                Some(Found::File(_)) => 1,
                Some(Found::Directory(folder)) => folder.totals.files,
                None => 0,
            };
        }
        Ok(self.head.totals().files.saturating_sub(stays))
    }
}

/// True if one of these paths lies in the folder at this path.
fn has_below(paths: &BTreeSet<FilePath>, path: &FilePath) -> bool {
    let prefix = format!("{path}/");
    let mut after = paths.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
    after
        .next()
        .is_some_and(|other| other.as_str().starts_with(&prefix))
}

/// A folder that is being looked at.
struct Previewing<'a, S> {
    onto: Option<Onto<'a>>,
    options: &'a ImportOptions,
    step: S,
    preview: ImportPreview,
}

impl<S: FnMut(ImportStep<'_>) -> Flow> Previewing<'_, S> {
    /// Whether the bytes of a file are those of the one that it would replace; what else came of reading
    /// it.
    fn is_same(&mut self, file: File, old: &FileEntry) -> io::Result<ControlFlow<(), bool>> {
        let mut chunks = Chunks::of(file.take(old.size.saturating_add(1)));
        let (mut hasher, mut size) = (ContentHasher::default(), 0);
        while let Some(chunk) = chunks.next_chunk()? {
            let bytes = byte_count(chunk);
            size += bytes;
            hasher.update(chunk);
            if (self.step)(ImportStep::Reading { bytes }).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        let (blob, ..) = hasher.finish();
        Ok(ControlFlow::Continue(size == old.size && blob == old.blob))
    }
}

impl<S: FnMut(ImportStep<'_>) -> Flow> Visitor for Previewing<'_, S> {
    fn file(
        &mut self,
        at: &Path,
        path: &FilePath,
        file: File,
        metadata: &Metadata,
    ) -> Result<Flow> {
        let size = metadata.len();
        if let Some(why) = self.options.file_limit.refuse(size) {
            return Ok(self.leave_out(at, Some(path), Skip::TooLarge, &why));
        }
        let old = match &mut self.onto {
            Some(onto) => onto.replaced(path)?,
            None => None,
        };
        let changes = &mut self.preview.changes;
        match old {
            None => changes.added += 1,
            Some(old) => {
                let executable = metadata.permissions().mode() & 0o111 != 0;
                let is_same = if old.size == size && old.executable == executable {
                    self.is_same(file, &old)
                } else {
                    Ok(ControlFlow::Continue(false))
                };
                match is_same {
                    Ok(ControlFlow::Continue(true)) => {}
                    Ok(ControlFlow::Continue(false)) => self.preview.changes.changed += 1,
                    Ok(ControlFlow::Break(())) => return Ok(Flow::Break(())),
                    Err(error) => {
                        let why = error.to_string();
                        if let Some(onto) = &mut self.onto {
                            // A mirror keeps it as what is left out.
                            onto.met -= 1;
                        }
                        return Ok(self.leave_out(at, Some(path), Skip::Unreadable, &why));
                    }
                }
            }
        }
        self.preview.files += 1;
        self.preview.bytes += size;
        Ok((self.step)(ImportStep::Taken { path, size }))
    }

    fn exclude(&mut self, at: &Path) -> Flow {
        (self.step)(ImportStep::Excluded { path: at })
    }

    fn leave_out(&mut self, at: &Path, path: Option<&FilePath>, skip: Skip, why: &str) -> Flow {
        self.preview.lost += u64::from(skip.is_loss());
        if let Some(Onto {
            kept: Some(kept), ..
        }) = &mut self.onto
        {
            kept.extend(path.cloned());
        }
        (self.step)(ImportStep::Skipped {
            path: at,
            skip,
            reason: why,
        })
    }
}
