//! A backup in a folder.
//!
//! Files are added under names of their own, and the manifest is replaced at the end: until then the
//! last whole backup is the one of the old manifest. While `UNFINISHED` is there, files may lie in the
//! folder that the manifest does not name.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use super::Place;
use crate::base::limits::BLOCK_BYTES;
use crate::store::sqlite::backup::error::{BackupError, Result};
use crate::store::sqlite::backup::manifest::{FORMAT, Manifest, require_format};
use crate::store::sqlite::backup::part::{MANIFEST, Part};
use crate::store::sqlite::backup::spool::TEMPORARY;
use crate::store::sqlite::data_folder::{FileLock, make_root, private_options, sync_dir};
use crate::store::sqlite::write_durably;

/// The file that is there while a backup is added.
const UNFINISHED: &str = "UNFINISHED";
/// Files that a backup leaves beside the one that they were to replace, where it is killed or finds no
/// room.
const STAGED_NAMES: [&str; 3] = ["MANIFEST.new", "FORMAT.new", "UNFINISHED.new"];
/// What every disk has at its root.
const LOST_AND_FOUND: &str = "lost+found";
/// Bytes after which a large file is written back, so that the syncs of others do not wait behind it.
const WRITE_BACK_BYTES: usize = 8 << 20;

/// What lies in a folder that may be a backup.
#[derive(Debug, Default)]
pub(in crate::store::sqlite::backup) struct Content {
    /// The last whole backup, `None` where none was finished.
    pub(in crate::store::sqlite::backup) manifest: Option<Manifest>,
    /// The files that a backup may have, whether or not the manifest names them.
    pub(in crate::store::sqlite::backup) parts: BTreeSet<Part>,
    /// True if a later backup was not finished.
    pub(in crate::store::sqlite::backup) unfinished: bool,
}

impl Content {
    /// Reads what lies in a folder.
    ///
    /// # Errors
    /// [`BackupError::Refused`] when it is no backup, one of another format, or holds a file that no
    /// backup has.
    pub(in crate::store::sqlite::backup) fn read(root: &Path) -> Result<Self> {
        let refuse = |reason: String| BackupError::Refused(format!("{}: {reason}", root.display()));
        match fs::read(root.join("FORMAT")) {
            Ok(text) => require_format(&text).map_err(refuse)?,
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Err(refuse("this is no backup of siteconf".to_owned()));
            }
            Err(e) => return Err(BackupError::file("reading", root.join("FORMAT"))(e)),
        }
        let manifest = manifest_of(root)?;
        let is_unfinished = || root.join(UNFINISHED).exists();
        // Before, too: a backup that ends meanwhile leaves what was seen of it unnamed.
        let unfinished = is_unfinished();
        let mut parts = BTreeSet::new();
        let entries = WalkDir::new(root).min_depth(1).into_iter();
        for entry in entries.filter_entry(|entry| !is_of_others(entry)) {
            let entry = entry.map_err(|e| refuse(format!("it cannot be listed: {e}")))?;
            if entry.file_type().is_dir() {
                continue;
            }
            let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
            let name = path.to_str().unwrap_or_default();
            match Part::parse(name).filter(|_| entry.file_type().is_file()) {
                Some(part) => drop(parts.insert(part)),
                None if name == MANIFEST || is_own(name) => {}
                None => {
                    return Err(refuse(format!(
                        "\"{}\" is in it, which is no file of a backup; remove it",
                        path.display()
                    )));
                }
            }
        }
        Ok(Self {
            manifest,
            parts,
            unfinished: unfinished || is_unfinished(),
        })
    }
}

/// The manifest of the last whole backup, `None` where none was finished.
pub(in crate::store::sqlite::backup) fn manifest_of(root: &Path) -> Result<Option<Manifest>> {
    let refuse = |reason: String| BackupError::Refused(format!("{}: {reason}", root.display()));
    let path = root.join(MANIFEST);
    match fs::read(&path) {
        Ok(text) => Manifest::parse(&text).map(Some).map_err(refuse),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(BackupError::file("reading", path)(e)),
    }
}

/// True for what no backup makes: what every disk has at its root, and names with a dot, as a network's file system
/// gives to a file that is removed while it is open.
fn is_of_others(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    entry.depth() > 0 && name.as_bytes().starts_with(b".")
        || entry.depth() == 1 && name == LOST_AND_FOUND
}

/// A folder that takes a backup.
#[derive(Debug)]
pub(in crate::store::sqlite::backup) struct FolderPlace {
    root: PathBuf,
    /// True if it was not there.
    made: bool,
    _lock: FileLock,
    last: Option<Manifest>,
    /// Files that were put.
    added: BTreeSet<Part>,
    /// True once the manifest may name them.
    may_be_named: bool,
}

impl FolderPlace {
    pub(in crate::store::sqlite::backup) fn open(root: &Path) -> Result<Self> {
        let refuse = |reason: &str| BackupError::Refused(format!("{}: {reason}", root.display()));
        let made = !root.exists();
        make_root(root).map_err(BackupError::file("making", root))?;
        let folder = File::open(root).map_err(BackupError::file("opening", root))?;
        let lock = FileLock::try_exclusive(folder).map_err(|error| match error {
            TryLockError::WouldBlock => refuse("another backup into it is running"),
            TryLockError::Error(e) => BackupError::file("locking", root)(e),
        })?;
        let format = root.join("FORMAT");
        let content = if format.exists() {
            Content::read(root)?
        } else {
            refuse_other_content(root)?;
            Content::default()
        };
        let has_parts = content.parts.iter().any(|part| *part != Part::Format);
        // A first backup that was not finished has the mark of that.
        if content.manifest.is_none() && !content.unfinished && has_parts {
            return Err(refuse(
                "files of a backup are there without its MANIFEST; put that back, or name another folder",
            ));
        }
        // What was there is known from here on: an unfinished backup leaves it.
        let mut place = Self {
            root: root.to_owned(),
            made,
            _lock: lock,
            last: content.manifest,
            added: BTreeSet::new(),
            may_be_named: false,
        };
        if !format.exists() {
            write_durably(&format, FORMAT.as_bytes())
                .map_err(BackupError::file("writing", format))?;
        }
        let mark = root.join(UNFINISHED);
        write_durably(&mark, b"a backup is added, or was not finished\n")
            .map_err(BackupError::file("writing", mark))?;
        place.sweep(&content.parts)?;
        remove_temporary(root)?;
        place.forget_cut()?;
        Ok(place)
    }

    /// Forgets files that are gone or have another length: they were damaged, and are put again. One that cannot be
    /// looked at now may be whole, and would be overwritten.
    fn forget_cut(&mut self) -> Result<()> {
        let Some(last) = &mut self.last else {
            return Ok(());
        };
        let mut cut = Vec::new();
        for (part, file) in &last.files {
            let path = self.root.join(part.to_string());
            match fs::symlink_metadata(&path) {
                Ok(found) if found.len() == file.bytes => {}
                Err(e) if e.kind() != ErrorKind::NotFound => {
                    return Err(BackupError::file("looking at", path)(e));
                }
                _ => cut.push(part.clone()),
            }
        }
        for part in cut {
            last.files.remove(&part);
        }
        Ok(())
    }

    /// Removes the files that the last whole backup does not name, for good: who finds one of them without
    /// `UNFINISHED` takes it for a fault.
    fn sweep(&self, parts: &BTreeSet<Part>) -> Result<()> {
        let mut dirs = BTreeSet::new();
        for part in parts {
            let is_named = |last: &Manifest| last.files.contains_key(part);
            if *part != Part::Format && !self.last.as_ref().is_some_and(is_named) {
                let path = self.path(part);
                remove(&path)?;
                dirs.extend(path.parent().map(Path::to_owned));
            }
        }
        for dir in dirs {
            // Of a file that was not even begun there may be none.
            match sync_dir(&dir) {
                Err(e) if e.kind() != ErrorKind::NotFound => {
                    return Err(BackupError::file("syncing", dir)(e));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn path(&self, part: &Part) -> PathBuf {
        self.root.join(part.to_string())
    }

    /// Removes what was added, and the rest where there was nothing before.
    fn clean(&self) -> Result<()> {
        self.sweep(&self.added)?;
        for name in STAGED_NAMES.into_iter().chain([UNFINISHED]) {
            remove(&self.root.join(name))?;
        }
        if self.last.is_none() {
            for folder in ["blobs", "objects", "records", "secrets"] {
                drop(fs::remove_dir_all(self.root.join(folder)));
            }
            // At last: as long as something is left, it says whose that is.
            remove(&self.root.join("FORMAT"))?;
        }
        if self.made {
            fs::remove_dir(&self.root).map_err(BackupError::file("removing", &self.root))?;
        }
        Ok(())
    }
}

impl Place for FolderPlace {
    fn last(&self) -> Option<&Manifest> {
        self.last.as_ref()
    }

    fn scratch(&self) -> &Path {
        &self.root
    }

    fn put(&mut self, part: &Part, bytes: u64, body: &mut dyn Read) -> Result<()> {
        if *part == Part::Format {
            return Ok(());
        }
        let path = self.path(part);
        if let Some(dir) = path.parent() {
            make_dirs(dir)?;
        }
        self.added.insert(part.clone());
        let failed = |e| BackupError::file("writing", &path)(e);
        // What is there was cut off, or is somebody's who could read it then.
        match fs::remove_file(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(failed(e)),
            _ => {}
        }
        let made = private_options().create_new(true).open(&path);
        let mut file = made.map_err(failed)?;
        let mut buffer = vec![0; BLOCK_BYTES.min(usize::try_from(bytes).unwrap_or(BLOCK_BYTES))];
        let (mut left, mut dirty) = (bytes, 0);
        while left > 0 {
            let piece = buffer
                .len()
                .min(usize::try_from(left).unwrap_or(usize::MAX));
            let piece = &mut buffer[..piece];
            body.read_exact(piece).map_err(failed)?;
            file.write_all(piece).map_err(failed)?;
            left -= piece.len() as u64;
            dirty += piece.len();
            if dirty >= WRITE_BACK_BYTES {
                dirty = 0;
                file.sync_data().map_err(failed)?;
            }
        }
        file.sync_all().map_err(failed)
    }

    fn takes_back(&self) -> bool {
        true
    }

    fn take_back(&mut self, part: &Part) -> Result<()> {
        let path = self.path(part);
        fs::remove_file(&path).map_err(BackupError::file("removing", path))?;
        self.added.remove(part);
        Ok(())
    }

    fn read(&self, part: &Part) -> Option<Vec<u8>> {
        let listed = self.last.as_ref()?.files.get(part)?;
        let bytes = fs::read(self.path(part)).ok()?;
        (blake3::hash(&bytes) == listed.sum).then_some(bytes)
    }

    fn last_secret(&self, name: &str) -> Option<Vec<u8>> {
        let mut parts = self.last.as_ref()?.files.keys();
        let is_it =
            |part: &&Part| matches!(part, Part::Secret { name: found, .. } if found == name);
        self.read(parts.find(is_it)?)
    }

    fn refuse_long_manifest(&self, _bytes: u64) -> Result<()> {
        Ok(())
    }

    fn finish(&mut self, manifest: &Manifest) -> Result<()> {
        let mut dirs = BTreeSet::from([self.root.clone()]);
        for part in &self.added {
            let path = self.path(part);
            let above = path.ancestors().skip(1);
            dirs.extend(
                above
                    .take_while(|dir| *dir != self.root)
                    .map(Path::to_owned),
            );
        }
        for dir in dirs {
            sync_dir(&dir).map_err(BackupError::file("syncing", dir))?;
        }
        let path = self.root.join(MANIFEST);
        let written = write_durably(&path, manifest.to_text().as_bytes());
        // Where only its sync failed, it has its name, and after a crash the one before may have it again:
        // what both name stays, for the next backup to sort out.
        let is_as_before = || manifest_of(&self.root).is_ok_and(|it| it.as_ref() != Some(manifest));
        self.may_be_named = written.is_ok() || !is_as_before();
        written.map_err(BackupError::file("writing", path))?;
        self.last = Some(manifest.clone());
        let tidied = Content::read(&self.root)
            .and_then(|content| self.sweep(&content.parts))
            .and_then(|()| {
                let mark = self.root.join(UNFINISHED);
                fs::remove_file(&mark).map_err(BackupError::file("removing", mark))
            });
        if let Err(error) = tidied {
            tracing::warn!(%error, "files of earlier backups are left to the next");
        }
        Ok(())
    }
}

impl Drop for FolderPlace {
    fn drop(&mut self) {
        if !self.may_be_named
            && let Err(error) = self.clean()
        {
            tracing::warn!(%error, "files of an unfinished backup are left to the next");
        }
    }
}

/// True for the files that a backup can leave before there is any that can be read.
fn is_own(name: &str) -> bool {
    name == UNFINISHED || STAGED_NAMES.contains(&name) || name.starts_with(TEMPORARY)
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(BackupError::file("removing", path)(e)),
        _ => Ok(()),
    }
}

/// Removes what a backup left that was killed before it had removed the name of a temporary file.
fn remove_temporary(root: &Path) -> Result<()> {
    for entry in fs::read_dir(root).map_err(BackupError::file("reading", root))? {
        let entry = entry.map_err(BackupError::file("reading", root))?;
        if entry
            .file_name()
            .as_bytes()
            .starts_with(TEMPORARY.as_bytes())
        {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

fn refuse_other_content(root: &Path) -> Result<()> {
    for entry in fs::read_dir(root).map_err(BackupError::file("reading", root))? {
        let name = entry
            .map_err(BackupError::file("reading", root))?
            .file_name();
        if name != LOST_AND_FOUND && !name.to_str().is_some_and(is_own) {
            return Err(BackupError::Refused(format!(
                "{}: the folder is not empty and holds no backup (\"{}\" is in it); name an empty folder",
                root.display(),
                name.display()
            )));
        }
    }
    Ok(())
}

/// Makes a folder that is its owner's alone, and those it lies in, where they are missing.
fn make_dirs(dir: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    builder.mode(0o700).recursive(true);
    builder
        .create(dir)
        .map_err(BackupError::file("making", dir))
}
