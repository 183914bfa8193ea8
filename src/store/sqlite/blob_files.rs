//! Large blobs as files: staged in `incoming/`, published into `blobs/`.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;

use super::data_folder::{FileLock, Folder, create_locked, private_options};
use super::failure::unopened;
use super::schema::BUSY_WAIT;
use super::writability::Writability;
use crate::base::digest::byte_count;
use crate::base::id::{BlobId, Kind, ObjectId};
use crate::store::buffer::BLOCK_ALIGNMENT;
use crate::store::error::damaged;
use crate::store::{LargeBody, Result, Staging, StoreError};

/// Bytes after which a staged file is written back, so that its final sync has little to do and other
/// syncs do not wait behind it.
const WRITE_BACK_BYTES: u64 = 8 << 20;

/// A body whose first piece has fewer bytes is written through the page cache, which is faster for a
/// small one.
const DIRECT_BYTES_MIN: usize = 128 << 10;

/// How a staged file's bytes reach the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WritePath {
    /// Nothing was written yet.
    Undecided,
    /// Straight from this process's memory (`O_DIRECT`): steadily at the speed of the disk.
    /// Pieces must be aligned in memory, in the file and in length.
    Direct,
    /// Through the page cache: pieces of any alignment, on any file system, with one more copy.
    Buffered,
}

/// The file of a large blob: two digits choose the folder, the rest is the name.
pub(super) fn blob_path(folder: &Folder, id: ObjectId) -> PathBuf {
    let text = id.to_string();
    let (fan, name) = text.split_at(2);
    folder.blobs().join(fan).join(name)
}

/// Opens the file of a large blob: a regular file, through no link, of the size its row says. A pipe in its
/// place is not waited for.
pub(super) fn open_blob(folder: &Folder, id: ObjectId, size: u64) -> io::Result<BlobFile> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or(0))
        .open(blob_path(folder, id))?;
    let found = file.metadata()?;
    if !found.is_file() || found.len() != size {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "not a regular file of the right size",
        ));
    }
    Ok(BlobFile { file })
}

/// What it tells that [`open_blob`] failed: that the blob is damaged, unless the process or the system has too many
/// open files.
pub(super) fn not_opened(kind: Kind, id: ObjectId, error: io::Error) -> StoreError {
    match Errno::from_io_error(&error) {
        Some(Errno::MFILE | Errno::NFILE) => StoreError::io("opening a large file", error),
        _ => damaged(kind, id, &format!("its file cannot be opened: {error}")),
    }
}

/// An open blob file.
#[derive(Debug)]
pub(super) struct BlobFile {
    file: File,
}

impl LargeBody for BlobFile {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}

/// A file in `incoming/`, locked while its upload lives so that a starting daemon can tell it from
/// what a crash left.
#[derive(Debug)]
pub(super) struct StagedFile {
    folder: Folder,
    writability: Arc<Writability>,
    path: PathBuf,
    file: File,
    write_path: WritePath,
    /// Bytes written through the page cache since the last write-back began.
    dirty: u64,
    /// The write-back under way.
    writing_back: Option<JoinHandle<io::Result<()>>>,
    /// True while the file may have bytes that are not on the disk. A new file has its name.
    dirty_since_sync: bool,
    /// Once the blob has its name.
    claim: Option<File>,
    stage: Stage,
}

/// How far a staged file has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It has its random name in `incoming/` alone.
    Staged,
    /// It lies in `blobs/`, and its claim in `incoming/`. The folder may not be synced.
    Named,
    /// The folder is synced, too.
    Published,
    /// A commit names it, and it has no claim.
    Committed,
}

impl StagedFile {
    pub(super) fn create(folder: &Folder, writability: &Arc<Writability>) -> io::Result<Self> {
        let (path, file) = create_locked(&folder.incoming(), "")?;
        Ok(Self {
            folder: folder.clone(),
            writability: Arc::clone(writability),
            path,
            file,
            write_path: WritePath::Undecided,
            dirty: 0,
            writing_back: None,
            dirty_since_sync: true,
            claim: None,
            stage: Stage::Staged,
        })
    }
}

impl StagedFile {
    /// Writes the next bytes, straight to the disk as long as their alignment allows it. Gives true
    /// if they went through the page cache.
    fn append(&mut self, bytes: &[u8]) -> io::Result<bool> {
        let aligned = |number: usize| number.is_multiple_of(BLOCK_ALIGNMENT);
        let direct = aligned(bytes.as_ptr().addr()) && aligned(bytes.len());
        if self.write_path == WritePath::Undecided && direct && bytes.len() >= DIRECT_BYTES_MIN {
            // Not every file system knows direct writes.
            self.write_path = match fcntl_setfl(&self.file, OFlags::DIRECT) {
                Ok(()) => WritePath::Direct,
                Err(_) => WritePath::Buffered,
            };
        }
        if self.write_path == WritePath::Direct && direct {
            let offset = self.file.stream_position()?;
            match self.file.write_all(bytes) {
                // Some file systems refuse only the write itself.
                Err(e) if e.kind() == io::ErrorKind::InvalidInput => {
                    self.file.seek(SeekFrom::Start(offset))?;
                }
                written => return written.map(|()| false),
            }
        }
        self.go_buffered()?;
        self.file.write_all(bytes).map(|()| true)
    }

    /// Moves the file to its name in `blobs/`, and leaves its claim in `incoming/`, an empty file that is locked as
    /// well: as long as there is one, no commit is known to name the blob. It is no second name of the file, whose
    /// bytes would stay when another upload of the same takes its place.
    fn name(&mut self, id: BlobId, target: &Path) -> io::Result<()> {
        let random = self.path.file_name().unwrap_or_default();
        let random = random.to_string_lossy();
        let path = self.folder.incoming().join(format!("{id}.{random}"));
        let _sweep = Sweep::hold_off(&self.folder)?;
        let opened = private_options().create_new(true).open(&path);
        let claim = opened.map_err(unopened)?;
        // A file of that name has the same bytes or is damaged: either way ours may take its place.
        let named = claim.lock().and_then(|()| fs::rename(&self.path, target));
        if let Err(e) = named {
            drop(fs::remove_file(&path));
            return Err(e);
        }
        self.claim = Some(claim);
        self.path = path;
        Ok(())
    }

    /// Removes the name in `incoming/`, if there is one.
    fn remove_entry(&self) {
        if let Err(e) = fs::remove_file(&self.path)
            && e.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(error = %e, "an upload could not be removed");
        }
    }

    fn go_buffered(&mut self) -> io::Result<()> {
        if self.write_path == WritePath::Direct {
            fcntl_setfl(&self.file, OFlags::empty())?;
        }
        self.write_path = WritePath::Buffered;
        Ok(())
    }

    /// Waits for the write-back under way. Its error must not be dropped: the system reports a failed
    /// write once, and a later sync would succeed.
    fn finish_write_back(&mut self) -> Result<()> {
        let ended = self.writing_back.take().map(JoinHandle::join);
        let outcome = ended.unwrap_or(Ok(Ok(())));
        outcome
            .unwrap_or_else(|_| Err(io::Error::other("the write-back ended in a panic")))
            .map_err(|e| self.failed("writing an upload back", e))
    }

    /// The refusal that a failed write or sync leads to: after one of an upload nothing more is written,
    /// as after one of the log. What could not be opened ([`unopened`]) stops nothing, nor does a file that became too
    /// long for this process: no byte was lost.
    fn failed(&self, action: &'static str, error: io::Error) -> StoreError {
        if error.kind() == io::ErrorKind::FileTooLarge {
            tracing::warn!(
                "a file is refused: it is longer than this process may make one: raise its limit (LimitFSIZE= of the \
                 unit, ulimit -f)"
            );
            return StoreError::Full;
        }
        let is_of_disk = !matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
        );
        let error = StoreError::io(action, error);
        if is_of_disk {
            self.writability.judge(action, &error).to_error()
        } else {
            error
        }
    }
}

impl Staging for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.writability.require_room()?;
        self.dirty_since_sync = true;
        let appended = self.append(bytes);
        if appended.map_err(|e| self.failed("writing an upload", e))? {
            self.dirty += byte_count(bytes);
        }
        if self.dirty >= WRITE_BACK_BYTES {
            self.dirty = 0;
            self.finish_write_back()?;
            let file = self.file.try_clone().map_err(unopened);
            let file = file.map_err(|e| StoreError::io("writing an upload back", e))?;
            let begun = std::thread::Builder::new().spawn(move || file.sync_data());
            let begun = begun.map_err(unopened);
            self.writing_back =
                Some(begun.map_err(|e| StoreError::io("writing an upload back", e))?);
        }
        Ok(())
    }

    fn reread(&mut self) -> Result<Box<dyn io::Read + '_>> {
        // The memory that it is read into may have any alignment.
        self.go_buffered()
            .map_err(|e| StoreError::io("reading an upload back", e))?;
        Ok(Box::new(FromStart {
            file: &self.file,
            offset: 0,
        }))
    }

    fn sync(&mut self) -> Result<()> {
        self.finish_write_back()?;
        if self.dirty_since_sync {
            self.file
                .sync_all()
                .map_err(|e| self.failed("syncing an upload", e))?;
            self.dirty_since_sync = false;
        }
        Ok(())
    }

    fn publish(&mut self, id: BlobId) -> Result<()> {
        let target = blob_path(&self.folder, id.into());
        if self.stage == Stage::Staged {
            self.sync()?;
            self.name(id, &target)
                .map_err(|e| self.failed("naming a blob", e))?;
            self.stage = Stage::Named;
        }
        if self.stage == Stage::Named {
            let dir = target.parent().unwrap_or(Path::new("/"));
            let opened = File::open(dir).map_err(unopened);
            let synced = opened.and_then(|dir| dir.sync_all());
            synced.map_err(|e| self.failed("syncing a folder of blobs", e))?;
            self.stage = Stage::Published;
        }
        Ok(())
    }

    fn committed(&mut self) {
        self.stage = Stage::Committed;
        self.remove_entry();
        self.claim = None;
    }
}

/// Reads a file from its start without moving the place where it is written on.
#[derive(Debug)]
struct FromStart<'a> {
    file: &'a File,
    offset: u64,
}

impl io::Read for FromStart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let taken = self.file.read_at(buffer, self.offset)?;
        self.offset += byte_count(&buffer[..taken]);
        Ok(taken)
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        // The space is free only when no thread has the file open; its failure matters no more.
        drop(self.finish_write_back());
        // One that was given up leaves nothing. Of one that was named and not committed the claim stays:
        // another save may use the same bytes, so only the next start can tell.
        if self.stage == Stage::Staged {
            self.remove_entry();
        }
    }
}

/// Held while files of blobs are named, by any number of uploads of any process, or removed, by one
/// sweep alone.
#[derive(Debug)]
pub(super) struct Sweep(#[expect(dead_code, reason = "it is held")] FileLock);

impl Sweep {
    /// Waits for a sweep, but not for one that is suspended: the store is busy then.
    fn hold_off(folder: &Folder) -> io::Result<Self> {
        let incoming = File::open(folder.incoming()).map_err(unopened)?;
        match FileLock::shared_within(incoming, BUSY_WAIT) {
            Ok(held) => Ok(Self(held)),
            Err(TryLockError::WouldBlock) => {
                tracing::warn!("a sweep of abandoned uploads goes on for long, or is suspended");
                Err(io::Error::other(StoreError::Busy))
            }
            Err(TryLockError::Error(e)) => Err(e),
        }
    }

    pub(super) fn begin(folder: &Folder) -> io::Result<Self> {
        let incoming = File::open(folder.incoming())?;
        FileLock::exclusive(incoming).map(Self)
    }
}

/// Removes uploads that a crash left: those that no process holds locked. One that was named goes with
/// its file in `blobs/`, if no row names that and no other upload claims it.
pub(super) fn sweep_incoming(
    folder: &Folder,
    has_row: impl Fn(ObjectId) -> Result<bool>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder.incoming())? {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        let claimed = claimed(&entry.file_name().to_string_lossy());
        // Before the claim is locked: an upload that has just made it waits for it, and would wait for
        // ever while we wait for the upload to have named its blob.
        let _nobody_names = claimed.map(|_| Sweep::begin(folder)).transpose()?;
        let Ok(file) = File::open(entry.path()) else {
            continue;
        };
        // Held until the name is gone: an upload that waits for the lock then sees that it must begin
        // anew. One that was given up meanwhile has removed its name itself.
        if file.try_lock().is_err() {
            continue;
        }
        if let Some(id) = claimed {
            // In this order: an upload of the same bytes gives its claim up after its commit.
            if !is_claimed_by_others(folder, id, &entry.file_name())? {
                match has_row(id) {
                    Ok(true) => {}
                    Ok(false) => remove_if_there(&blob_path(folder, id))?,
                    Err(error) => {
                        tracing::warn!(%error, blob = %id, "an abandoned upload cannot be looked up");
                        continue;
                    }
                }
            }
        }
        remove_if_there(&entry.path())?;
    }
    Ok(())
}

/// True if a blob has another claim than the one of this name.
fn is_claimed_by_others(folder: &Folder, id: ObjectId, own: &OsStr) -> io::Result<bool> {
    for entry in fs::read_dir(folder.incoming())? {
        let name = entry?.file_name();
        if name != own && claimed(&name.to_string_lossy()) == Some(id) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The blobs that are claimed: of which no commit is known to name the file.
pub(super) fn claims(folder: &Folder) -> io::Result<HashSet<ObjectId>> {
    let mut claims = HashSet::new();
    for entry in fs::read_dir(folder.incoming())? {
        claims.extend(claimed(&entry?.file_name().to_string_lossy()));
    }
    Ok(claims)
}

/// The blob that a name in `incoming/` claims, `None` for one that has no name yet.
fn claimed(name: &str) -> Option<ObjectId> {
    let (id, _) = name.split_once('.')?;
    id.parse().ok()
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_open_files_are_no_damage() {
        let id = ObjectId::from_bytes([1; 32]);
        let failed = |errno: Errno| not_opened(Kind::Blob, id, errno.into());
        assert_eq!(
            failed(Errno::MFILE).to_string(),
            "opening a large file: Too many open files (os error 24)"
        );
        assert!(!failed(Errno::NFILE).is_damage());
        assert!(failed(Errno::NOENT).is_damage());
    }
}
