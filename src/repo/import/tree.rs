//! Writing the files of a folder and their tree into the store.

use std::fs::{File, Metadata};
use std::io::Seek;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::open_folder::Skip;
use super::source::ImportFolder;
use super::walk::{Flow, Visitor, Walk};
use super::{ImportOptions, ImportStep};
use crate::base::digest::byte_count;
use crate::base::file_path::FilePath;
use crate::manifest::{DirectoryBuilder, Draft};
use crate::object::node::{DirectoryEntry, Value};
use crate::repo::save::rebase::{ImportedTree, Keep};
use crate::repo::upload::NewFile;
use crate::repo::{Chunks, Projects, Result};
use crate::store::Pin;

/// A folder that was read: its tree, which is in the store, and what was counted on the way.
#[derive(Debug)]
pub struct ReadFolder {
    pub(super) path: PathBuf,
    pub(super) options: ImportOptions,
    pub(super) tree: ImportedTree,
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
    options: &'a ImportOptions,
    draft: Draft<'a>,
    /// The folders that are being filled, the innermost last.
    builders: Vec<DirectoryBuilder>,
    step: S,
    files: u64,
    bytes: u64,
    skipped: u64,
    lost: u64,
    /// What a mirror must not remove.
    kept: Option<Vec<FilePath>>,
}

/// How often a file is read that is changed meanwhile.
const READS_MAX: u32 = 2;

/// What differs when a file was written: its size, and the times of its last changes.
fn mark(metadata: &Metadata) -> [i64; 5] {
    [
        metadata.size().cast_signed(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    ]
}

/// What came of reading a file.
enum Outcome {
    File(NewFile),
    /// It was left out.
    Lost(Skip, String),
    /// The step wants no more.
    Ended,
}

impl<'a, S: FnMut(ImportStep<'_>) -> Flow> TreeImport<'a, S> {
    /// Imports a whole folder; `None` when a step wanted no more. When this returns, its tree is durable.
    ///
    /// # Errors
    /// Those of [`Walk::run`].
    pub(super) fn run(
        projects: &'a Projects,
        source: &'a ImportFolder,
        options: &'a ImportOptions,
        step: S,
    ) -> Result<Option<ReadFolder>> {
        let pin = projects.store().pin()?;
        let mut import = Self {
            projects,
            options,
            draft: Draft::new(projects.nodes()),
            builders: vec![DirectoryBuilder::default()],
            step,
            files: 0,
            bytes: 0,
            skipped: 0,
            lost: 0,
            kept: options.mirror.then(Vec::new),
        };
        let ImportOptions {
            exclude,
            linked_max,
            ..
        } = options;
        let walk = Walk::new(source, exclude, *linked_max, &mut import);
        if walk.run()?.is_break() {
            return Ok(None);
        }
        let root = import.finish_folder()?;
        import.draft.spill_all()?;
        let keep = match import.kept {
            None => Keep::All,
            Some(paths) => Keep::Only {
                paths: Arc::new(paths.into_iter().collect()),
                exclude: exclude.clone(),
            },
        };
        Ok(Some(ReadFolder {
            path: source.path().to_owned(),
            options: options.clone(),
            tree: ImportedTree {
                root: root.map(|entry| entry.root),
                keep,
                pin: pin.name(),
            },
            files: import.files,
            bytes: import.bytes,
            skipped: import.skipped,
            lost: import.lost,
            pin,
        }))
    }

    /// The innermost folder with all that was put into it; `None` if that is nothing.
    fn finish_folder(&mut self) -> Result<Option<DirectoryEntry>> {
        match self.builders.pop() {
            Some(builder) => Ok(builder.finish(&mut self.draft)?),
            None => Ok(None),
        }
    }

    fn put(&mut self, name: &str, value: Value) -> Result<()> {
        if let Some(builder) = self.builders.last_mut() {
            builder.put(&mut self.draft, name, value)?;
        }
        Ok(())
    }

    /// Reads a file; once more where it was changed meanwhile, because what was read is a mixture then.
    fn read(&mut self, mut file: File, metadata: &Metadata) -> Result<Outcome> {
        let mut before = mark(metadata);
        for _ in 0..READS_MAX {
            let outcome = self.read_once(&mut file, metadata)?;
            if !matches!(outcome, Outcome::File(_)) {
                return Ok(outcome);
            }
            let rewound = file.metadata().and_then(|now| {
                file.rewind()?;
                Ok(now)
            });
            match rewound {
                Ok(now) if mark(&now) == before => return Ok(outcome),
                Ok(now) => before = mark(&now),
                Err(error) => return Ok(Outcome::Lost(Skip::Unreadable, error.to_string())),
            }
        }
        let why = "it was changed while it was read".to_owned();
        Ok(Outcome::Lost(Skip::Unreadable, why))
    }

    fn read_once(&mut self, file: &mut File, metadata: &Metadata) -> Result<Outcome> {
        let limit = self.options.file_limit;
        if let Some(why) = limit.refuse(metadata.len()) {
            return Ok(Outcome::Lost(Skip::TooLarge, why));
        }
        // The length is not announced: it may have changed since.
        let mut upload = self.projects.upload(None);
        let mut size = 0;
        let mut chunks = Chunks::of_about(file, metadata.len());
        loop {
            let chunk = match chunks.next_chunk() {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Ok(Outcome::File(upload.finish()?)),
                Err(error) => return Ok(Outcome::Lost(Skip::Unreadable, error.to_string())),
            };
            let bytes = byte_count(chunk);
            size += bytes;
            if let Some(why) = limit.refuse(size) {
                return Ok(Outcome::Lost(Skip::TooLarge, why));
            }
            upload.write(chunk)?;
            if (self.step)(ImportStep::Reading { bytes }).is_break() {
                return Ok(Outcome::Ended);
            }
        }
    }
}

impl<S: FnMut(ImportStep<'_>) -> Flow> Visitor for TreeImport<'_, S> {
    fn file(
        &mut self,
        at: &Path,
        path: &FilePath,
        file: File,
        metadata: &Metadata,
    ) -> Result<Flow> {
        let file = match self.read(file, metadata)? {
            Outcome::File(file) => file,
            Outcome::Lost(skip, why) => return Ok(self.leave_out(at, Some(path), skip, &why)),
            Outcome::Ended => return Ok(Flow::Break(())),
        };
        let entry = file.entry(metadata.permissions().mode() & 0o111 != 0);
        self.draft.put_object(file.object());
        self.draft.spill()?;
        self.put(path.name(), Value::File(entry))?;
        self.files += 1;
        self.bytes += entry.size;
        let size = entry.size;
        Ok((self.step)(ImportStep::Taken { path, size }))
    }

    fn enter(&mut self) {
        self.builders.push(DirectoryBuilder::default());
    }

    fn leave(&mut self, name: &str) -> Result<()> {
        match self.finish_folder()? {
            Some(entry) => self.put(name, Value::Directory(entry)),
            None => Ok(()),
        }
    }

    fn exclude(&mut self, at: &Path) -> Flow {
        (self.step)(ImportStep::Excluded { path: at })
    }

    fn leave_out(&mut self, at: &Path, path: Option<&FilePath>, skip: Skip, why: &str) -> Flow {
        self.skipped += 1;
        self.lost += u64::from(skip.is_loss());
        if let Some(kept) = &mut self.kept {
            kept.extend(path.cloned());
        }
        (self.step)(ImportStep::Skipped {
            path: at,
            skip,
            reason: why,
        })
    }
}
