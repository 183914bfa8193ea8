//! Writing the files of a folder and their tree into the store.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ImportOptions;
use super::source::{Entry, EntryKind, ImportFolder, LINK, NO_FILE, OpenFolder, unreadable};
use crate::base::digest::byte_count;
use crate::base::file_path::FilePath;
use crate::base::limits::READ_CHUNK_BYTES;
use crate::manifest::{DirectoryBuilder, Draft};
use crate::object::node::{DirectoryEntry, FileEntry, Value};
use crate::repo::save::rebase::{Content, Keep};
use crate::repo::upload::NewFile;
use crate::repo::{Projects, Result};
use crate::store::Pin;

/// What the import did with an entry of the folder.
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

/// A folder that was read: its tree, which is in the store, and what was counted on the way.
#[derive(Debug)]
pub struct ReadFolder {
    pub(super) path: PathBuf,
    pub(super) options: ImportOptions,
    pub(super) content: Content,
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) skipped: u64,
    pub(super) lost: u64,
    /// Keeps the tree until it is laid over a branch.
    #[expect(dead_code, reason = "held")]
    pub(super) pin: Box<dyn Pin>,
}

/// A folder that is being imported. Blobs and nodes go into the store ahead of the save that names them.
pub(super) struct TreeImport<'a, S> {
    projects: &'a Projects,
    source: &'a ImportFolder,
    draft: Draft<'a>,
    options: ImportOptions,
    step: S,
    pin: Box<dyn Pin>,
    files: u64,
    bytes: u64,
    skipped: u64,
    lost: u64,
    /// What a mirror must not remove.
    kept: Option<Vec<FilePath>>,
}

impl<'a, S: FnMut(ImportStep<'_>)> TreeImport<'a, S> {
    pub(super) fn new(
        projects: &'a Projects,
        source: &'a ImportFolder,
        options: ImportOptions,
        step: S,
    ) -> Result<Self> {
        Ok(Self {
            projects,
            source,
            draft: Draft::new(projects.nodes()),
            options,
            step,
            pin: projects.store().pin()?,
            files: 0,
            bytes: 0,
            skipped: 0,
            lost: 0,
            kept: options.mirror.then(Vec::new),
        })
    }

    /// Imports the whole folder. When this returns, its tree is durable.
    ///
    /// # Errors
    /// [`crate::repo::Error::Invalid`] when the folder itself cannot be read, or a data folder is in it.
    pub(super) fn run(mut self) -> Result<ReadFolder> {
        let (folder, path) = (self.source.folder(), self.source.path());
        let entries = self.source.list(folder, path)?;
        let entries = entries.map_err(|e| unreadable(path, &e))?;
        let root = self.fill(folder, entries, path)?;
        self.draft.spill_all()?;
        let keep = match self.kept {
            None => Keep::All,
            Some(paths) => Keep::Only(Arc::new(paths.into_iter().collect())),
        };
        Ok(ReadFolder {
            path: path.to_owned(),
            options: self.options,
            content: Content {
                root: root.map(|entry| entry.root),
                keep,
            },
            files: self.files,
            bytes: self.bytes,
            skipped: self.skipped,
            lost: self.lost,
            pin: self.pin,
        })
    }

    /// Imports what lies in a folder, in the order in which a builder writes each node once; `None` if
    /// nothing of it was taken.
    ///
    /// # Limits
    /// It calls itself for each folder in the folder, which stays open meanwhile: as deep as a path may
    /// be, because what is deeper is left out.
    fn fill(
        &mut self,
        folder: &OpenFolder,
        entries: Vec<Entry>,
        path: &Path,
    ) -> Result<Option<DirectoryEntry>> {
        let mut builder = DirectoryBuilder::default();
        for Entry { name, kind } in entries {
            let path = path.join(&name);
            let inside = match path_in(self.source, &path) {
                Ok(inside) => inside,
                Err(reason) => {
                    self.skip(&path, None, &reason);
                    continue;
                }
            };
            let taken = match kind {
                EntryKind::File => self.file(folder, &name, &path, inside)?.map(Value::File),
                EntryKind::Folder => {
                    let entered = self.enter(folder, &name, &path, inside)?;
                    entered.map(Value::Directory)
                }
                EntryKind::Link => {
                    self.skip(&path, Some(inside), LINK);
                    None
                }
                EntryKind::Other => {
                    self.skip(&path, Some(inside), NO_FILE);
                    None
                }
            };
            if let (Some(value), Some(name)) = (taken, name.to_str()) {
                builder.put(&mut self.draft, name, value)?;
            }
        }
        Ok(builder.finish(&mut self.draft)?)
    }

    /// Imports a folder in a folder; `None` if nothing of it was taken.
    fn enter(
        &mut self,
        folder: &OpenFolder,
        name: &OsStr,
        path: &Path,
        inside: FilePath,
    ) -> Result<Option<DirectoryEntry>> {
        let listed = match folder.enter(name) {
            Ok(entered) => {
                let listed = self.source.list(&entered, path)?;
                listed.map(|entries| (entered, entries))
            }
            Err(error) => Err(error),
        };
        match listed {
            Ok((entered, entries)) => self.fill(&entered, entries, path),
            Err(error) => {
                self.lose(path, inside, &error);
                Ok(None)
            }
        }
    }

    /// Imports a file; `None` if it was skipped.
    fn file(
        &mut self,
        folder: &OpenFolder,
        name: &OsStr,
        path: &Path,
        inside: FilePath,
    ) -> Result<Option<FileEntry>> {
        let read = match folder.open_file(name) {
            Ok((file, metadata)) => self.read(file, &metadata)?,
            Err(error) => Err(error),
        };
        let (file, executable) = match read {
            Ok(read) => read,
            Err(error) => {
                self.lose(path, inside, &error);
                return Ok(None);
            }
        };
        let entry = file.entry(executable);
        self.draft.put_object(file.object());
        self.draft.spill()?;
        self.files += 1;
        self.bytes += entry.size;
        (self.step)(ImportStep::Taken {
            path: &inside,
            size: entry.size,
        });
        Ok(Some(entry))
    }

    /// Reads a file. The inner error is of the file, the outer one of the store.
    fn read(&self, mut file: File, metadata: &Metadata) -> Result<io::Result<(NewFile, bool)>> {
        let too_large = |size: u64| too_large(size, self.options.file_bytes_max);
        if let Some(error) = too_large(metadata.len()) {
            return Ok(Err(error));
        }
        // The length is not announced: a file that grows meanwhile is taken as it is read.
        let mut upload = self.projects.upload(None);
        let mut size = 0;
        let mut chunk =
            vec![0; READ_CHUNK_BYTES.min(usize::try_from(metadata.len()).unwrap_or(0) + 1)];
        loop {
            match file.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => {
                    size += byte_count(&chunk[..count]);
                    if let Some(error) = too_large(size) {
                        return Ok(Err(error));
                    }
                    upload.write(&chunk[..count])?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok((
            upload.finish()?,
            metadata.permissions().mode() & 0o111 != 0,
        )))
    }

    /// Leaves out what a branch takes, because of an error.
    fn lose(&mut self, path: &Path, inside: FilePath, error: &io::Error) {
        self.lost += 1;
        self.skip(path, Some(inside), &error.to_string());
    }

    /// Leaves something out. `inside` is its path in the branch; for a name that is not allowed there
    /// is nothing to keep.
    fn skip(&mut self, path: &Path, inside: Option<FilePath>, reason: &str) {
        self.skipped += 1;
        if let Some(kept) = &mut self.kept {
            kept.extend(inside);
        }
        (self.step)(ImportStep::Skipped { path, reason });
    }
}

/// A path below a folder as a path of a branch, or why it cannot be one.
pub(super) fn path_in(source: &ImportFolder, path: &Path) -> std::result::Result<FilePath, String> {
    let relative = path.strip_prefix(source.path()).unwrap_or(path);
    let text = relative.to_str().ok_or("its name is not UTF-8")?;
    FilePath::parse(text).map_err(|e| e.to_string())
}

/// Why a file of this size is not taken, if it is too large.
pub(super) fn too_large(size: u64, max: u64) -> Option<io::Error> {
    (size > max)
        .then(|| io::Error::other(format!("it is larger than {max} bytes (file_bytes_max)")))
}
