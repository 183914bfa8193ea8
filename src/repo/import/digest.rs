//! The branch digest of a folder, computed from its files alone: nothing is written, and nothing that
//! was written before is believed.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use sha2::{Digest as _, Sha256 as Sha256Hasher};

use super::source::{Entry, EntryKind, ImportFolder, LINK, NO_FILE, OpenFolder, unreadable};
use super::tree::{path_in, too_large};
use crate::base::digest::{Md5Hasher, StreamHasher, byte_count};
use crate::base::file_path::FilePath;
use crate::base::id::{Md5, Sha256};
use crate::base::limits::READ_CHUNK_BYTES;
#[cfg(doc)]
use crate::repo::Error;
use crate::repo::{BranchDigest, Result};

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
        /// Why.
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
        file_bytes_max: u64,
        step: impl FnMut(DigestStep<'_>) -> ControlFlow<()>,
    ) -> Result<Option<FolderDigest>> {
        let mut digesting = Digesting {
            source: self,
            file_bytes_max,
            step,
            lines: Sha256Hasher::new(),
            files: 0,
            bytes: 0,
        };
        let entries = self.list(self.folder(), self.path())?;
        let entries = entries.map_err(|e| unreadable(self.path(), &e))?;
        let ended = digesting.folder(self.folder(), entries, self.path())?;
        let sha256 = Sha256::from_bytes(digesting.lines.finalize().into());
        Ok(ended.is_continue().then(|| FolderDigest {
            digest: BranchDigest::new(sha256),
            files: digesting.files,
            bytes: digesting.bytes,
        }))
    }
}

/// A folder that is being digested.
struct Digesting<'a, S> {
    source: &'a ImportFolder,
    file_bytes_max: u64,
    step: S,
    lines: Sha256Hasher,
    files: u64,
    bytes: u64,
}

impl<S: FnMut(DigestStep<'_>) -> ControlFlow<()>> Digesting<'_, S> {
    /// Digests what lies in a folder: the order of its entries is that of the full paths.
    fn folder(
        &mut self,
        folder: &OpenFolder,
        entries: Vec<Entry>,
        path: &Path,
    ) -> Result<ControlFlow<()>> {
        for Entry { name, kind } in entries {
            let path = path.join(&name);
            let inside = match path_in(self.source, &path) {
                Ok(inside) => inside,
                Err(reason) => {
                    let reason = reason.as_str();
                    if self.skip(&path, reason).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                    continue;
                }
            };
            let flow = match kind {
                EntryKind::File => self.file(folder, &name, &path, &inside),
                EntryKind::Link => self.skip(&path, LINK),
                EntryKind::Other => self.skip(&path, NO_FILE),
                EntryKind::Folder => match self.enter(folder, &name, &path)? {
                    Ok((entered, entries)) => self.folder(&entered, entries, &path)?,
                    Err(error) => self.skip(&path, &error.to_string()),
                },
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn enter(
        &self,
        folder: &OpenFolder,
        name: &OsStr,
        path: &Path,
    ) -> Result<io::Result<(OpenFolder, Vec<Entry>)>> {
        let entered = match folder.enter(name) {
            Ok(entered) => entered,
            Err(error) => return Ok(Err(error)),
        };
        let entries = self.source.list(&entered, path)?;
        Ok(entries.map(|entries| (entered, entries)))
    }

    fn file(
        &mut self,
        folder: &OpenFolder,
        name: &OsStr,
        path: &Path,
        inside: &FilePath,
    ) -> ControlFlow<()> {
        let opened = folder.open_file(name);
        match opened.and_then(|(file, _)| self.md5_of(file)) {
            Ok((size, md5)) => {
                let line = format!("{inside}|{size}|{md5}\n");
                self.lines.update(line.as_bytes());
                self.files += 1;
                self.bytes += size;
                let path = inside;
                (self.step)(DigestStep::File { path, size, md5 })
            }
            Err(error) => self.skip(path, &error.to_string()),
        }
    }

    fn md5_of(&self, mut file: File) -> io::Result<(u64, Md5)> {
        let (mut hasher, mut size) = (Md5Hasher::default(), 0);
        let mut chunk = vec![0; READ_CHUNK_BYTES];
        loop {
            let count = match file.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if count == 0 {
                return Ok((size, hasher.finish()));
            }
            size += byte_count(&chunk[..count]);
            if let Some(error) = too_large(size, self.file_bytes_max) {
                return Err(error);
            }
            hasher.update(&chunk[..count]);
        }
    }

    fn skip(&mut self, path: &Path, reason: &str) -> ControlFlow<()> {
        (self.step)(DigestStep::Skipped { path, reason })
    }
}
