//! Importing a folder as one save, in memory that grows only with its largest single folder: the tree
//! is written folder by folder ahead of the save and laid over the branch outside of the save queue;
//! inside, only what changed in the branch meanwhile is applied to the result.

mod browse;
mod digest;
mod source;
mod tree;

use super::save::Change;
use super::save::rebase::{Content, PreparedImport};
use super::{Error, ProjectWriter, Projects, Result, Revision};
use crate::base::branch_name::BranchName;
use crate::base::limits::COMMIT_ATTEMPTS_MAX;
use crate::base::snapshot_version::SnapshotVersion;
use crate::store::StoreError;
use tree::TreeImport;

pub use browse::LyingKind;
pub use digest::{DigestStep, FolderDigest};
pub use source::ImportFolder;
pub use tree::{ImportStep, ReadFolder};

/// How a folder is laid over a branch.
#[derive(Clone, Copy, Debug)]
pub struct ImportOptions {
    /// True to remove what the folder lacks.
    pub mirror: bool,
    /// True to let a mirror leave a branch empty that has files.
    pub may_empty: bool,
    /// Largest file that is taken, in bytes.
    pub file_bytes_max: u64,
}

impl Default for ImportOptions {
    /// No mirror, and files of any size.
    fn default() -> Self {
        Self {
            mirror: false,
            may_empty: false,
            file_bytes_max: u64::MAX,
        }
    }
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
    /// The snapshot taken just before.
    pub snapshot: SnapshotVersion,
    /// The new state.
    pub revision: Revision,
}

impl Projects {
    /// Reads a folder into the store, ahead of [`ProjectWriter::lay`]. What cannot be read, is no
    /// regular file or has a name that no branch takes is skipped and named to `step`, a folder as a
    /// whole; every file that is taken is named too.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the folder itself cannot be read, or a data folder is found in it.
    ///
    /// # Limits
    /// Memory grows with the entries of the largest single folder; that of a mirror also with the paths
    /// that it keeps.
    pub fn read_folder(
        &self,
        folder: &ImportFolder,
        options: ImportOptions,
        step: impl FnMut(ImportStep<'_>),
    ) -> Result<ReadFolder> {
        TreeImport::new(self, folder, options, step)?.run()
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

    /// Its tree, and what a branch keeps beside it.
    pub(in crate::repo) fn content(&self) -> &Content {
        &self.content
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
        options: ImportOptions,
        step: impl FnMut(ImportStep<'_>),
    ) -> Result<ImportReport> {
        self.branch(branch)?;
        self.lay(branch, &self.projects.read_folder(folder, options, step)?)
    }

    /// Lays a folder that was read over a branch, as one save; in a mirror, what the folder lacks goes,
    /// but what the branch has in the place of what was skipped.
    ///
    /// # Errors
    /// [`super::Missing::Branch`]; [`Error::Invalid`] when a file would take a folder's place or the
    /// reverse, or a mirror of nothing would empty the branch. The branch is as it was then.
    pub fn lay(&self, branch: &BranchName, folder: &ReadFolder) -> Result<ImportReport> {
        let before = self.branch(branch)?.head().totals().files;
        let options = folder.options;
        if options.mirror && !options.may_empty && folder.files == 0 && before > 0 {
            return Err(Error::invalid(format!(
                "nothing was taken from {}, so its mirror would empty the branch, which has {before} \
                 files; --allow-empty lets it",
                folder.path.display()
            )));
        }
        for _ in 0..COMMIT_ATTEMPTS_MAX {
            let head = self.branch(branch)?.head();
            let nodes = self.projects.nodes();
            let prepared =
                PreparedImport::new(nodes, head.manifest(), head.place(), &folder.content)?;
            match self.submit(branch, Change::Import(prepared)) {
                // The branch has changed by too much to be applied while other saves wait.
                Err(error) if error.conflict().is_some() => {}
                Err(error) => return Err(error),
                Ok(done) => {
                    return Ok(ImportReport {
                        files: folder.files,
                        bytes: folder.bytes,
                        skipped: folder.skipped,
                        lost: folder.lost,
                        snapshot: done.snapshot,
                        revision: done.revision,
                    });
                }
            }
        }
        Err(StoreError::Busy.into())
    }
}
