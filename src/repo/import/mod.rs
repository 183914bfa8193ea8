//! Importing a folder as one save, in memory that does not grow with it: its tree is written folder by
//! folder ahead of the save, laid over the branch outside of the branch's lane, and only what changed
//! meanwhile is brought over inside.

mod names;
mod tree;

use std::path::Path;

use super::save::Change;
use super::save::rebase::Landing;
use super::{Error, ProjectWriter, Result, Revision};
use crate::base::branch_name::BranchName;
use crate::base::file_path::FilePath;
use crate::base::snapshot_version::SnapshotVersion;
use crate::store::StoreError;
use tree::Intake;

/// What became of something in the folder.
#[derive(Clone, Copy, Debug)]
pub enum ImportStep<'a> {
    /// A file was taken.
    Taken {
        /// Its path in the branch.
        path: &'a FilePath,
        /// Length in bytes.
        size: u64,
    },
    /// Something was left out.
    Skipped {
        /// Where it lies.
        path: &'a Path,
        /// Why.
        reason: &'a str,
    },
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
    /// The snapshot taken just before.
    pub snapshot: SnapshotVersion,
    /// The new state.
    pub revision: Revision,
}

impl ProjectWriter {
    /// Lays a folder over a branch as one save; with `mirror`, what the folder lacks goes. What
    /// cannot be read, is no regular file or has a name that no branch takes is skipped and named to
    /// `step`, as is every file that is taken; a mirror keeps what the branch has in its place.
    ///
    /// # Errors
    /// [`super::Missing::Branch`]; [`super::Error::Invalid`] when the folder itself cannot be read, or
    /// a file would take a folder's place or the reverse. The branch is as it was then.
    ///
    /// # Limits
    /// Memory grows with neither the files nor their sizes; that of a mirror with the paths it keeps.
    pub fn import(
        &self,
        branch: &BranchName,
        dir: &Path,
        mirror: bool,
        step: impl FnMut(ImportStep<'_>),
    ) -> Result<ImportReport> {
        self.branch(branch)?;
        let intake = Intake::new(&self.projects, dir, mirror, step);
        let taken = intake.take_all()?;
        loop {
            let head = self.branch(branch)?.record.manifest;
            let landing = Landing::on(self.projects.nodes(), head, &taken.content)?;
            match self.submit(branch, Change::Import(landing)) {
                // The branch has moved so far that following it would hold up its lane.
                Err(Error::Store(error)) if matches!(*error, StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error),
                Ok(done) => {
                    return Ok(ImportReport {
                        files: taken.files,
                        bytes: taken.bytes,
                        skipped: taken.skipped,
                        snapshot: done.snapshot,
                        revision: done.revision,
                    });
                }
            }
        }
    }
}
