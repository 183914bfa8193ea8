//! The branch digest of a folder, computed from its files alone: nothing is written, and nothing that
//! was written before is believed.

use std::fs::{File, Metadata};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use sha2::{Digest as _, Sha256 as Sha256Hasher};

use super::exclude::Exclude;
use super::file_limit::FileLimit;
use super::open_folder::Skip;
use super::source::ImportFolder;
use super::walk::{Flow, Visitor, Walk};
use crate::base::digest::{Md5Hasher, StreamHasher, byte_count};
use crate::base::file_path::FilePath;
use crate::base::id::{Md5, Sha256};
#[cfg(doc)]
use crate::repo::Error;
use crate::repo::{BranchDigest, Chunks, Result};

/// What was met on the way to a folder's digest.
#[derive(Clone, Copy, Debug)]
pub enum DigestStep<'a> {
    /// A file.
    File {
        /// Its path in the branch.
        path: &'a FilePath,
        /// Length in bytes.
        size: u64,
        /// MD5 of the bytes.
        md5: Md5,
    },
    /// Something that no import takes either.
    Skipped {
        /// Where it lies.
        path: &'a Path,
        /// What kept it out.
        skip: Skip,
        /// Why, as a sentence.
        reason: &'a str,
    },
}

/// The digest that a branch has with just the files of a folder.
#[derive(Clone, Copy, Debug)]
pub struct FolderDigest {
    /// The digest (specification section 9).
    pub digest: BranchDigest,
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl ImportFolder {
    /// Reads every file of the folder and digests it as a branch with these files. What an import skips
    /// is skipped and told, too. `None` when a step asked to end.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the folder itself cannot be read, or a data folder is found in it.
    ///
    /// # Limits
    /// Memory grows with the entries of the largest single folder.
    pub fn digest(
        &self,
        limit: FileLimit,
        step: impl FnMut(DigestStep<'_>) -> ControlFlow<()>,
    ) -> Result<Option<FolderDigest>> {
        let mut digesting = Digesting {
            limit,
            step,
            lines: Sha256Hasher::new(),
            files: 0,
            bytes: 0,
        };
        // The order of the entries is that of the full paths.
        let ended = Walk::new(self, &Exclude::default(), u64::MAX, &mut digesting).run()?;
        let sha256 = Sha256::from_bytes(digesting.lines.finalize().into());
        Ok(ended.is_continue().then(|| FolderDigest {
            digest: BranchDigest::new(sha256),
            files: digesting.files,
            bytes: digesting.bytes,
        }))
    }
}

/// A folder that is being digested.
struct Digesting<S> {
    limit: FileLimit,
    step: S,
    lines: Sha256Hasher,
    files: u64,
    bytes: u64,
}

impl<S: FnMut(DigestStep<'_>) -> ControlFlow<()>> Visitor for Digesting<S> {
    fn file(
        &mut self,
        at: &Path,
        path: &FilePath,
        file: File,
        _metadata: &Metadata,
    ) -> Result<Flow> {
        Ok(match self.md5_of(file) {
            Ok((size, md5)) => {
                let line = format!("{path}|{size}|{md5}\n");
                self.lines.update(line.as_bytes());
                self.files += 1;
                self.bytes += size;
                (self.step)(DigestStep::File { path, size, md5 })
            }
            Err((skip, why)) => self.leave_out(at, Some(path), skip, &why),
        })
    }

    fn leave_out(&mut self, at: &Path, _path: Option<&FilePath>, skip: Skip, why: &str) -> Flow {
        (self.step)(DigestStep::Skipped {
            path: at,
            skip,
            reason: why,
        })
    }
}

impl<S> Digesting<S> {
    fn md5_of(&self, file: File) -> std::result::Result<(u64, Md5), (Skip, String)> {
        let (mut hasher, mut size) = (Md5Hasher::default(), 0);
        let mut chunks = Chunks::of(file);
        let unreadable = |error: io::Error| (Skip::Unreadable, error.to_string());
        while let Some(chunk) = chunks.next_chunk().map_err(unreadable)? {
            size += byte_count(chunk);
            if let Some(why) = self.limit.refuse(size) {
                return Err((Skip::TooLarge, why));
            }
            hasher.update(chunk);
        }
        Ok((size, hasher.finish()))
    }
}
