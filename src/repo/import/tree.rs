//! Writing the files of a folder and their tree into the store.

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use walkdir::WalkDir;

use crate::base::file_path::FilePath;
use crate::base::limits::READ_CHUNK_BYTES;
use crate::manifest::{DirectoryBuilder, Draft};
use crate::object::node::{DirectoryEntry, FileEntry, Value};
use crate::repo::save::rebase::{Content, Keep};
use crate::repo::upload::NewFile;
use crate::repo::{Error, Projects, Result};

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

/// The tree of a folder, which is in the store, and what was counted on the way.
#[derive(Debug)]
pub(super) struct ImportedTree {
    pub(super) content: Content,
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) skipped: u64,
}

/// A folder that is being imported. Blobs and nodes go into the store ahead of the save that names them.
pub(super) struct TreeImport<'a, S> {
    projects: &'a Projects,
    dir: &'a Path,
    draft: Draft<'a>,
    step: S,
    files: u64,
    bytes: u64,
    skipped: u64,
    /// What a mirror must not remove.
    kept: Option<Vec<FilePath>>,
}

impl<'a, S: FnMut(ImportStep<'_>)> TreeImport<'a, S> {
    pub(super) fn new(projects: &'a Projects, dir: &'a Path, mirror: bool, step: S) -> Self {
        Self {
            projects,
            dir,
            draft: Draft::new(projects.nodes()),
            step,
            files: 0,
            bytes: 0,
            skipped: 0,
            kept: mirror.then(Vec::new),
        }
    }

    /// Imports the whole folder. When this returns, its tree is durable.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the folder itself cannot be read.
    pub(super) fn run(mut self) -> Result<ImportedTree> {
        fs::read_dir(self.dir).map_err(unreadable)?;
        let root = self.walk()?;
        self.draft.spill_all()?;
        let keep = match self.kept {
            None => Keep::All,
            Some(paths) => Keep::Only(Arc::new(paths.into_iter().collect())),
        };
        Ok(ImportedTree {
            content: Content {
                root: root.map(|entry| entry.root),
                keep,
            },
            files: self.files,
            bytes: self.bytes,
            skipped: self.skipped,
        })
    }

    /// Imports everything below the folder; `None` if nothing of it was taken.
    fn walk(&mut self) -> Result<Option<DirectoryEntry>> {
        let walk = WalkDir::new(self.dir).min_depth(1).sort_by(in_tree_order);
        // The folders that the walk is in, from the imported one down.
        let mut open = vec![OpenFolder::default()];
        for entry in walk {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.skip_unread(error)?;
                    continue;
                }
            };
            self.close(&mut open, entry.depth())?;
            let (path, kind) = (entry.path(), entry.file_type());
            if kind.is_dir() {
                open.push(OpenFolder::new(entry.file_name()));
            } else if !kind.is_file() {
                self.skip(path, "it is no regular file");
            } else if let (Some(file), Some(folder)) = (self.file(path)?, open.last_mut()) {
                folder.put(&mut self.draft, entry.file_name(), Value::File(file))?;
            }
        }
        self.close(&mut open, 1)?;
        let root = open.pop().unwrap_or_default();
        Ok(root.builder.finish(&mut self.draft)?)
    }

    /// Finishes the folders below the first `depth` ones.
    fn close(&mut self, open: &mut Vec<OpenFolder>, depth: usize) -> Result<()> {
        while open.len() > depth
            && let Some(OpenFolder { name, builder }) = open.pop()
        {
            let entry = builder.finish(&mut self.draft)?;
            if let (Some(entry), Some(parent)) = (entry, open.last_mut()) {
                parent.put(&mut self.draft, &name, Value::Directory(entry))?;
            }
        }
        Ok(())
    }

    /// Leaves out what the walk could not read. What is missing and has no name cannot be kept in a
    /// mirror, so it ends the import.
    fn skip_unread(&mut self, error: walkdir::Error) -> Result<()> {
        let path = error.path().map(Path::to_owned);
        let error = error.into_io_error().unwrap_or(io::ErrorKind::Other.into());
        match path {
            Some(path) if path != self.dir => self.skip(&path, &error.to_string()),
            _ => return Err(unreadable(error)),
        }
        Ok(())
    }

    /// Imports a file; `None` if it was skipped.
    fn file(&mut self, path: &Path) -> Result<Option<FileEntry>> {
        let inside = match path_in(self.dir, path) {
            Ok(inside) => inside,
            Err(reason) => {
                self.skip_as(path, None, &reason);
                return Ok(None);
            }
        };
        let (file, executable) = match self.read(path)? {
            Ok(read) => read,
            Err(error) => {
                self.skip_as(path, Some(inside), &error.to_string());
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
    fn read(&self, path: &Path) -> Result<io::Result<(NewFile, bool)>> {
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        let (metadata, mut file) = match opened {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(error)),
        };
        // The length is not announced: a file that grows meanwhile is taken as it is read.
        let mut upload = self.projects.upload(None);
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

    /// Leaves something out. If its name is not allowed in a branch, that is the reason given.
    fn skip(&mut self, path: &Path, reason: &str) {
        match path_in(self.dir, path) {
            Ok(inside) => self.skip_as(path, Some(inside), reason),
            Err(reason) => self.skip_as(path, None, &reason),
        }
    }

    /// `inside` is its path in the branch; for a name that is not allowed there is nothing to keep.
    fn skip_as(&mut self, path: &Path, inside: Option<FilePath>, reason: &str) {
        self.skipped += 1;
        if let Some(kept) = &mut self.kept {
            kept.extend(inside);
        }
        (self.step)(ImportStep::Skipped { path, reason });
    }
}

/// A folder that the walk is in.
#[derive(Debug, Default)]
struct OpenFolder {
    name: OsString,
    builder: DirectoryBuilder,
}

impl OpenFolder {
    fn new(name: &OsStr) -> Self {
        Self {
            name: name.to_owned(),
            builder: DirectoryBuilder::default(),
        }
    }

    /// Puts what was taken under this name.
    fn put(&mut self, draft: &mut Draft<'_>, name: &OsStr, value: Value) -> Result<()> {
        let name = name.to_str().expect("a branch takes only UTF-8");
        Ok(self.builder.put(draft, name, value)?)
    }
}

/// The order of a directory's keys, in which a builder writes each node once: a folder compares as its
/// name and a slash.
fn in_tree_order(a: &walkdir::DirEntry, b: &walkdir::DirEntry) -> Ordering {
    fn key(entry: &walkdir::DirEntry) -> impl Iterator<Item = &u8> {
        let slash: &[u8] = if entry.file_type().is_dir() {
            b"/"
        } else {
            b""
        };
        entry.file_name().as_bytes().iter().chain(slash)
    }
    key(a).cmp(key(b))
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to map_err")]
fn unreadable(error: io::Error) -> Error {
    Error::invalid(format!("the folder cannot be read: {error}"))
}

/// A path below the folder as a path of a branch.
fn path_in(dir: &Path, path: &Path) -> std::result::Result<FilePath, String> {
    let relative = path.strip_prefix(dir).unwrap_or(path);
    let text = relative.to_str().ok_or("its name is not UTF-8")?;
    FilePath::parse(text).map_err(|e| e.to_string())
}
