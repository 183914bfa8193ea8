//! A backup as one tar stream, into a file or elsewhere.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use tar::{Builder, EntryType, Header};

use super::Place;
use crate::store::sqlite::backup::error::{BackupError, Result};
use crate::store::sqlite::backup::manifest::{FORMAT_NAME, Manifest, require_streamable};
use crate::store::sqlite::backup::part::{MANIFEST, Part};
use crate::store::sqlite::data_folder::{private_options, sync_dir};

/// The bytes of a head of tar, behind which the first file's begin.
const TAR_HEAD_BYTES: u64 = 512;

/// A stream that takes a backup.
pub(in crate::store::sqlite::backup) struct StreamPlace<W: Write> {
    /// `None` once it is finished.
    tar: Option<Builder<W>>,
    /// For messages.
    name: PathBuf,
    scratch: PathBuf,
}

impl<W: Write> std::fmt::Debug for StreamPlace<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamPlace")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl<W: Write> StreamPlace<W> {
    pub(in crate::store::sqlite::backup) fn new(
        to: W,
        name: impl Into<PathBuf>,
        scratch: impl Into<PathBuf>,
    ) -> Self {
        Self {
            tar: Some(Builder::new(to)),
            name: name.into(),
            scratch: scratch.into(),
        }
    }

    fn append(&mut self, path: &str, bytes: u64, body: &mut dyn Read) -> Result<()> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o600);
        header.set_size(bytes);
        let tar = self.tar.as_mut();
        let appended = tar.map_or(Ok(()), |tar| tar.append_data(&mut header, path, body));
        appended.map_err(BackupError::file("writing", &self.name))
    }

    /// Ends the stream, and gives what took it.
    fn end(&mut self, manifest: &Manifest) -> Result<Option<W>> {
        let text = manifest.to_text();
        self.refuse_long_manifest(text.len() as u64)?;
        self.append(MANIFEST, text.len() as u64, &mut text.as_bytes())?;
        let failed = BackupError::file("writing", &self.name);
        let ended = self.tar.take().map(Builder::into_inner).transpose();
        let flushed = ended.and_then(|to| to.map(|mut to| to.flush().map(|()| to)).transpose());
        flushed.map_err(failed)
    }
}

impl<W: Write> Place for StreamPlace<W> {
    fn scratch(&self) -> &Path {
        &self.scratch
    }

    fn put(&mut self, part: &Part, bytes: u64, body: &mut dyn Read) -> Result<()> {
        self.append(&part.to_string(), bytes, body)
    }

    fn finish(&mut self, manifest: &Manifest) -> Result<()> {
        self.end(manifest).map(drop)
    }
}

/// A file that takes a backup: written beside its name, and renamed at the end.
#[derive(Debug)]
pub(in crate::store::sqlite::backup) struct FilePlace {
    path: PathBuf,
    staged: PathBuf,
    stream: StreamPlace<File>,
    /// The backup that is there.
    replaced: Option<Manifest>,
    finished: bool,
}

impl FilePlace {
    pub(in crate::store::sqlite::backup) fn open(path: &Path) -> Result<Self> {
        let refuse = |reason: &str| BackupError::Refused(format!("{}: {reason}", path.display()));
        match fs::metadata(path) {
            // Not opened: a FIFO would be waited for.
            Ok(found) if !found.is_file() || found.len() > 0 && !is_backup(path) => {
                return Err(refuse(
                    "it is there and is no backup of siteconf; name another file",
                ));
            }
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(BackupError::file("reading", path)(e)),
        }
        let mut staged = path.as_os_str().to_owned();
        staged.push(".new");
        let staged = PathBuf::from(staged);
        let lock = |options: &mut OpenOptions| {
            let opened = options.truncate(false).open(&staged);
            let file = opened.map_err(BackupError::file("writing", &staged))?;
            let is_ours = match file.try_lock() {
                // One that ended meanwhile has given this file its name.
                Ok(()) => is_named(&file, &staged),
                Err(TryLockError::WouldBlock) => false,
                Err(TryLockError::Error(e)) => {
                    return Err(BackupError::file("locking", &staged)(e));
                }
            };
            is_ours
                .then_some(file)
                .ok_or_else(|| refuse("another backup into it is running"))
        };
        let mut file = lock(private_options().create(true))?;
        let found = file
            .metadata()
            .map_err(BackupError::file("writing", &staged))?;
        // What a killed one left, or what somebody made who could read it then.
        if found.len() > 0 || !is_private(&found) {
            fs::remove_file(&staged).map_err(BackupError::file("removing", &staged))?;
            file = lock(private_options().create_new(true))?;
        }
        let dir = match path.parent() {
            Some(dir) if dir != Path::new("") => dir,
            _ => Path::new("."),
        };
        let mut place = Self {
            path: path.to_owned(),
            stream: StreamPlace::new(file, &staged, dir),
            staged,
            replaced: None,
            finished: false,
        };
        // By now no other backup replaces it.
        place.replaced = manifest_in(path)?;
        Ok(place)
    }
}

impl Place for FilePlace {
    fn replaces(&self) -> Option<&Manifest> {
        self.replaced.as_ref()
    }

    fn scratch(&self) -> &Path {
        self.stream.scratch()
    }

    fn put(&mut self, part: &Part, bytes: u64, body: &mut dyn Read) -> Result<()> {
        self.stream.put(part, bytes, body)
    }

    fn last_secret(&self, name: &str) -> Option<Vec<u8>> {
        secret_in(&self.path, name)
    }

    fn finish(&mut self, manifest: &Manifest) -> Result<()> {
        let file = self.stream.end(manifest)?;
        let synced = file.map_or(Ok(()), |file| file.sync_all());
        synced
            .and_then(|()| fs::rename(&self.staged, &self.path))
            .and_then(|()| sync_dir(self.stream.scratch()))
            .map_err(BackupError::file("writing", &self.path))?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for FilePlace {
    fn drop(&mut self) {
        if !self.finished
            && let Err(error) = fs::remove_file(&self.staged)
            && error.kind() != ErrorKind::NotFound
        {
            tracing::warn!(%error, "an unfinished backup could not be removed");
        }
    }
}

/// The manifest of the backup in a file, `None` where there is none, or an empty file. It lies at the end:
/// what is before it is passed over unread.
///
/// # Errors
/// [`BackupError::Refused`] for a backup that is not whole, or that this version cannot read.
fn manifest_in(path: &Path) -> Result<Option<Manifest>> {
    let refuse = |reason: String| {
        BackupError::Refused(format!(
            "{}: the backup in it cannot be read, and is not replaced: {reason}. Move it away, or name \
             another file",
            path.display()
        ))
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(BackupError::file("reading", path)(e)),
    };
    if file.metadata().is_ok_and(|found| found.len() == 0) {
        return Ok(None);
    }
    let mut archive = tar::Archive::new(file);
    let text = archive
        .entries_with_seek()
        .and_then(|mut entries| manifest_among(&mut entries))
        .map_err(|e| refuse(e.to_string()))?;
    let text = text.ok_or_else(|| refuse("it ends before its manifest".to_owned()))?;
    Manifest::parse(&text).map(Some).map_err(refuse)
}

fn manifest_among(entries: &mut tar::Entries<'_, File>) -> io::Result<Option<Vec<u8>>> {
    for entry in entries {
        let mut entry = entry?;
        if *entry.path_bytes() == *MANIFEST.as_bytes() {
            require_streamable(entry.size()).map_err(io::Error::other)?;
            let mut text = Vec::new();
            entry.read_to_end(&mut text)?;
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// A file of `secrets/` in a backup that is a file. They lie at its beginning.
fn secret_in(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut archive = tar::Archive::new(File::open(path).ok()?);
    for entry in archive.entries().ok()? {
        let mut entry = entry.ok()?;
        let part = Part::parse(&String::from_utf8_lossy(&entry.path_bytes()))?;
        match &part {
            Part::Secret { name: found, .. } if found == name => {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).ok()?;
                return (Part::secret(name, &bytes) == part).then_some(bytes);
            }
            Part::Secret { .. } | Part::Format => {}
            _ => return None,
        }
    }
    None
}

fn is_named(file: &File, path: &Path) -> bool {
    let of = |found: fs::Metadata| (found.dev(), found.ino());
    let own = file.metadata().map(of).ok();
    own.is_some() && own == fs::symlink_metadata(path).map(of).ok()
}

/// True for a file that nobody else can read, by this name or another.
fn is_private(file: &fs::Metadata) -> bool {
    let of_others = file.mode() & 0o077;
    file.uid() == geteuid().as_raw() && file.nlink() == 1 && of_others == 0
}

/// True for a file that begins as a backup does, of any version.
fn is_backup(path: &Path) -> bool {
    let begins = || -> io::Result<bool> {
        let file = File::open(path)?;
        let (mut name, mut format) = ([0; 7], [0; FORMAT_NAME.len()]);
        file.read_exact_at(&mut name, 0)?;
        file.read_exact_at(&mut format, TAR_HEAD_BYTES)?;
        Ok(name == *b"FORMAT\0" && format == *FORMAT_NAME.as_bytes())
    };
    begins().unwrap_or(false)
}
