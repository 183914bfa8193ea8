//! Importing a folder as one save, in memory that grows only with its largest single folder: the tree
//! is written folder by folder ahead of the save and laid over the branch outside of the save queue;
//! inside, only what changed in the branch meanwhile is applied to the result.

mod browse;
mod digest;
pub(in crate::repo) mod exclude;
mod file_limit;
mod links;
mod open_folder;
mod preview;
mod source;
mod tree;
mod walk;

use std::ops::ControlFlow;
use std::path::Path;

use super::save::date::in_order;
use super::save::rebase::{ImportedTree, PreparedImport};
use super::save::{Change, prove};
use super::{Branch, Error, ProjectWriter, Projects, Result, Revision};
use crate::base::branch_name::BranchName;
use crate::base::clock::Timestamp;
use crate::base::file_path::FilePath;
use crate::base::id::NodeId;
use crate::base::limits::{COMMIT_ATTEMPTS_MAX, LINKED_ENTRIES_MAX};
use crate::base::snapshot_version::SnapshotVersion;
use crate::manifest::diff;
use crate::repo::Message;
use crate::store::StoreError;
use tree::TreeImport;

pub use browse::LyingKind;
pub use digest::{DigestStep, FolderDigest};
pub use exclude::Exclude;
pub use file_limit::FileLimit;
pub use open_folder::Skip;
pub use preview::ImportPreview;
pub use source::{DATA_FOLDER_NAMES, ImportFolder};
pub use tree::ReadFolder;

/// How a folder is laid over a branch.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// True to remove what the folder lacks.
    pub mirror: bool,
    /// True to let a mirror leave a branch empty that has files.
    pub may_empty: bool,
    /// Largest file that is taken.
    pub file_limit: FileLimit,
    /// What is left out of the folder; a mirror keeps what the branch has at such paths.
    pub exclude: Exclude,
    /// Most files and folders behind links to folders, each counted as often as it is reached.
    pub linked_max: u64,
    /// What the history says of it.
    pub message: Option<Message>,
    /// When it counts as made; without it, when it is.
    pub date: Option<Timestamp>,
}

impl Default for ImportOptions {
    /// No mirror, and files of any size.
    fn default() -> Self {
        Self {
            mirror: false,
            may_empty: false,
            file_limit: FileLimit::NONE,
            exclude: Exclude::default(),
            linked_max: LINKED_ENTRIES_MAX,
            message: None,
            date: None,
        }
    }
}

impl ImportOptions {
    /// Says whether a branch may be imported to with these options now, before the folder is read.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the date is before the last change of the branch.
    pub fn check(&self, branch: &Branch) -> Result<()> {
        in_order(self.date, branch.record.updated_at)
    }
}

/// What the import did with an entry of the folder.
#[derive(Clone, Copy, Debug)]
pub enum ImportStep<'a> {
    /// More of a file was read.
    Reading {
        /// So many bytes.
        bytes: u64,
    },
    /// A file was taken.
    Taken {
        /// Its path in the branch.
        path: &'a FilePath,
        /// Length in bytes.
        size: u64,
    },
    /// Something was left out as the options say.
    Excluded {
        /// Where it lies.
        path: &'a Path,
    },
    /// Something was left out because it cannot be taken.
    Skipped {
        /// Where it lies.
        path: &'a Path,
        /// What kept it out.
        skip: Skip,
        /// Why, as a sentence.
        reason: &'a str,
    },
}

/// How many files of a branch an import changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportChanges {
    /// Files that the branch did not have.
    pub added: u64,
    /// Files that it had otherwise: other bytes, or executable or not.
    pub changed: u64,
    /// Files that it had, and has no longer.
    pub removed: u64,
}

/// What an import did.
#[derive(Clone, Debug)]
pub struct ImportReport {
    /// Files taken.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What was left out.
    pub skipped: u64,
    /// What was left out of that although a branch takes its like: it could not be read, or was too
    /// large.
    pub lost: u64,
    /// What that changed.
    pub changes: ImportChanges,
    /// The snapshot taken just before; `None` where nothing had to be changed.
    pub snapshot: Option<SnapshotVersion>,
    /// The new state.
    pub revision: Revision,
}

impl Projects {
    /// Reads a folder into the store, ahead of [`ProjectWriter::lay`]. What cannot be read, is no
    /// regular file or has a name that no branch takes is skipped and named to `step`, a folder as a
    /// whole; every file that is taken is named too. `None` when a step asked to end.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the folder itself cannot be read, a data folder is found in it, or its
    /// links lead to too much.
    ///
    /// # Limits
    /// Memory grows with the entries of the largest single folder; that of a mirror also with the paths
    /// that it keeps.
    pub fn read_folder(
        &self,
        folder: &ImportFolder,
        options: &ImportOptions,
        step: impl FnMut(ImportStep<'_>) -> ControlFlow<()>,
    ) -> Result<Option<ReadFolder>> {
        TreeImport::run(self, folder, options, step)
    }
}

impl ReadFolder {
    /// Files taken.
    pub fn files(&self) -> u64 {
        self.files
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What was left out although a branch takes its like: it could not be read, or was too large.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Its tree, and what a branch keeps beside it.
    pub(in crate::repo) fn tree(&self) -> &ImportedTree {
        &self.tree
    }
}

impl ProjectWriter {
    /// Reads a folder, as [`Projects::read_folder`], and lays it over a branch.
    ///
    /// # Errors
    /// Of both. The branch is as it was then.
    pub fn import(
        &self,
        branch: &BranchName,
        folder: &ImportFolder,
        options: &ImportOptions,
        mut step: impl FnMut(ImportStep<'_>),
    ) -> Result<ImportReport> {
        self.branch(branch)?;
        let read = self.projects.read_folder(folder, options, |met| {
            step(met);
            ControlFlow::Continue(())
        })?;
        // No step ends it.
        let read = read.ok_or_else(|| Error::invalid("the import was ended"))?;
        self.lay(branch, &read)
    }

    /// Lays a folder that was read over a branch, as one save; in a mirror, what the folder lacks goes,
    /// but what the branch has in the place of what was skipped or excluded. A folder that changes
    /// nothing takes no snapshot.
    ///
    /// # Errors
    /// [`super::Missing::Branch`]; [`Error::Invalid`] when a file would take a folder's place or the
    /// reverse, or the date is before the branch's last change; [`Error::WouldEmpty`]. The branch is as it was
    /// then.
    pub fn lay(&self, branch: &BranchName, folder: &ReadFolder) -> Result<ImportReport> {
        let options = &folder.options;
        let nodes = self.projects.nodes();
        let writer = self.clone().saying(options.message.clone());
        for _ in 0..COMMIT_ATTEMPTS_MAX {
            let head = self.branch(branch)?.head();
            refuse_to_empty(&head, options, folder.files, &folder.path)?;
            let import = PreparedImport::new(nodes, head.manifest(), head.place(), &folder.tree)?;
            let (id, result) = import.result();
            let report = |changes, snapshot, revision| ImportReport {
                files: folder.files,
                bytes: folder.bytes,
                skipped: folder.skipped,
                lost: folder.lost,
                changes,
                snapshot,
                revision,
            };
            if id == head.manifest() {
                // It may have been changed while the import was laid over it.
                if self.branch(branch)?.head().manifest() == id {
                    return Ok(report(ImportChanges::default(), None, head));
                }
                continue;
            }
            let changes = self.changes(head.root()?, result.root)?;
            let date = options.date;
            match writer.submit(branch, Change::Import { import, date }) {
                // The branch has changed by too much to be applied while other saves wait, or has come
                // to be what the import makes of it.
                Err(error) if error.conflict().is_some() => {}
                Err(error) => return Err(error),
                Ok(done) => {
                    let before = self.branch(branch);
                    let before = before.and_then(|branch| branch.snapshot(done.snapshot));
                    let changes = match before {
                        Ok(before) if before.manifest() != head.manifest() => {
                            let (before, after) = (before.root(), done.revision.root());
                            let counted = before.and_then(|old| self.changes(old, after?));
                            counted.map_err(Error::after_change)?
                        }
                        // Or the branch is gone by now.
                        _ => changes,
                    };
                    return Ok(report(changes, Some(done.snapshot), done.revision));
                }
            }
        }
        Err(StoreError::Busy.into())
    }

    /// Refuses a folder that breaks rules of the project as the first content of a branch, before there is
    /// one.
    ///
    /// # Errors
    /// [`Error::Invalid`] names the files.
    pub fn check_first_import(&self, folder: &ReadFolder) -> Result<()> {
        match folder.tree.root {
            Some(root) => prove::first(self, root),
            None => Ok(()),
        }
    }

    /// How many files differ between two trees.
    fn changes(&self, old: NodeId, new: NodeId) -> Result<ImportChanges> {
        let counts = diff::counts(self.projects.nodes().as_ref(), old, new, u64::MAX)?;
        // However many they are, all are counted.
        let counts = counts.unwrap_or_default();
        Ok(ImportChanges {
            added: counts.added,
            changed: counts.modified,
            removed: counts.deleted,
        })
    }
}

/// Refuses to lay a mirror of nothing over a state that has files.
fn refuse_to_empty(
    head: &Revision,
    options: &ImportOptions,
    files: u64,
    folder: &Path,
) -> Result<()> {
    let before = head.totals().files;
    if options.mirror && !options.may_empty && files == 0 && before > 0 {
        return Err(Error::WouldEmpty {
            folder: folder.to_owned(),
            files: before,
        });
    }
    Ok(())
}
