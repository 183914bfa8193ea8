//! Importing a folder as one save.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::change::{Base, Change};
use super::upload::NewFile;
use super::{Error, ProjectWriter, Result, Revision};
use crate::base::branch_name::BranchName;
use crate::base::file_path::FilePath;
use crate::base::limits::READ_CHUNK_BYTES;
use crate::base::snapshot_version::SnapshotVersion;
use crate::object::node::FileEntry;
use crate::store::{Batch, StoreError};

/// Objects that are committed together before the save: so many, or so many bytes.
const OBJECTS_PER_COMMIT: usize = 1000;
/// See [`OBJECTS_PER_COMMIT`].
const BYTES_PER_COMMIT: u64 = 8 << 20;

/// A file that was taken.
#[derive(Clone, Debug)]
pub struct ImportedFile<'a> {
    /// Its path in the branch.
    pub path: &'a FilePath,
    /// Length in bytes.
    pub size: u64,
}

/// What an import did.
#[derive(Clone, Debug)]
pub struct ImportReport {
    /// Files taken.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What was left out, and why.
    pub skipped: Vec<(PathBuf, String)>,
    /// The snapshot taken just before.
    pub snapshot: SnapshotVersion,
    /// The new state.
    pub revision: Revision,
}

impl ProjectWriter {
    /// Lays a folder over a branch as one save; with `mirror`, what the folder lacks goes. What
    /// cannot be read, is no regular file or has a name that no branch takes is skipped and named; a
    /// mirror keeps what the branch has in its place.
    ///
    /// # Errors
    /// [`super::Missing::Branch`]; [`super::Error::Invalid`] when the folder itself cannot be read, or
    /// a file would take a folder's place or the reverse. The branch is as it was then.
    pub fn import(
        &self,
        branch: &BranchName,
        dir: &Path,
        mirror: bool,
        mut progress: impl FnMut(&ImportedFile<'_>),
    ) -> Result<ImportReport> {
        self.branch(branch)?;
        let mut intake = Intake {
            writer: self,
            batch: Batch::default(),
            bytes: 0,
        };
        let (mut files, mut skipped, mut bytes) = (Vec::new(), Vec::new(), 0);
        for found in WalkDir::new(dir).min_depth(1).sort_by_file_name() {
            let found = match found {
                Ok(found) => found,
                Err(error) => {
                    let reason = error
                        .io_error()
                        .map_or_else(|| error.to_string(), ToString::to_string);
                    match error.path() {
                        Some(path) if path != dir => skipped.push((path.to_owned(), reason)),
                        // Where something is missing that has no name, nothing can be spared.
                        _ => {
                            return Err(Error::invalid(format!(
                                "the folder cannot be read: {reason}"
                            )));
                        }
                    }
                    continue;
                }
            };
            if found.file_type().is_dir() {
                continue;
            }
            let path = match path_in(dir, found.path()) {
                Ok(path) if found.file_type().is_file() => path,
                Ok(_) => {
                    skipped.push((found.into_path(), "it is no regular file".to_owned()));
                    continue;
                }
                Err(reason) => {
                    skipped.push((found.into_path(), reason));
                    continue;
                }
            };
            match intake.take(found.path())? {
                Ok(entry) => {
                    progress(&ImportedFile {
                        path: &path,
                        size: entry.size,
                    });
                    bytes += entry.size;
                    files.push((path, entry));
                }
                Err(error) => skipped.push((found.into_path(), error.to_string())),
            }
        }
        intake.flush()?;
        let count = u64::try_from(files.len()).unwrap_or(u64::MAX);
        let base = if mirror {
            // A name that no branch takes has nothing in the branch to keep.
            let paths = skipped.iter().map(|(path, _)| path_in(dir, path));
            Base::Spared(paths.filter_map(std::result::Result::ok).collect())
        } else {
            Base::Head
        };
        let done = self.submit(branch, Change::Import { files, base })?;
        Ok(ImportReport {
            files: count,
            bytes,
            skipped,
            snapshot: done.snapshot,
            revision: done.revision,
        })
    }
}

/// A path below the folder as a path of a branch.
fn path_in(dir: &Path, path: &Path) -> std::result::Result<FilePath, String> {
    let relative = path.strip_prefix(dir).unwrap_or(path);
    let text = relative.to_str().ok_or("its name is not UTF-8")?;
    FilePath::parse(text).map_err(|e| e.to_string())
}

/// Puts blobs into the store ahead of the save that names them.
struct Intake<'a> {
    writer: &'a ProjectWriter,
    batch: Batch,
    bytes: u64,
}

impl Intake<'_> {
    /// Takes a file. The inner error is of the file, the outer one of the store.
    fn take(&mut self, path: &Path) -> Result<io::Result<FileEntry>> {
        let (file, executable) = match self.read(path)? {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        self.bytes += file.small().map_or(0, |_| file.digests.size);
        self.batch.objects.push(file.object());
        if self.batch.objects.len() >= OBJECTS_PER_COMMIT || self.bytes >= BYTES_PER_COMMIT {
            self.flush()?;
        }
        Ok(Ok(file.entry(executable)))
    }

    fn read(&self, path: &Path) -> Result<io::Result<(NewFile, bool)>> {
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        let (metadata, mut file) = match opened {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(error)),
        };
        // The length is not announced: a file that grows meanwhile is taken as it is read.
        let mut upload = self.writer.repository.upload(None);
        let mut chunk =
            vec![0; READ_CHUNK_BYTES.min(usize::try_from(metadata.len()).unwrap_or(0) + 1)];
        loop {
            match file.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => upload.write(&chunk[..count])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok((
            upload.finish()?,
            metadata.permissions().mode() & 0o111 != 0,
        )))
    }

    fn flush(&mut self) -> Result<()> {
        self.bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        loop {
            match self.writer.repository.store().commit(batch.clone()) {
                Ok(_) => return Ok(()),
                // Nothing is lost by waiting our turn: the store bounds its queue, not us.
                Err(StoreError::Busy) => std::thread::yield_now(),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
