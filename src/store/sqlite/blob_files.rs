//! Large blobs as files: staged in `incoming/`, published into `blobs/`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustix::fs::{OFlags, fcntl_setfl};

use super::data_folder::{Folder, private_options, sync_dir};
use super::writability::Writability;
use crate::base::digest::byte_count;
use crate::base::id::{BlobId, ObjectId};
use crate::store::buffer::BLOCK_ALIGNMENT;
use crate::store::{LargeBody, Result, Staging, StoreError};

/// Bytes after which a staged file is written back, so that its final sync has little to do and other
/// syncs do not wait behind it.
const WRITE_BACK_BYTES: u64 = 8 << 20;

/// A body whose first piece has fewer bytes is written through the page cache, which is faster for a
/// small one.
const DIRECT_BYTES_MIN: usize = 128 << 10;

/// Names tried for a new file: a sweep happens once a start, so the second stays.
const NAMES_TRIED_MAX: usize = 16;

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

/// Opens the file of a large blob: a regular file, through no link, of the size its row says.
pub(super) fn open_blob(folder: &Folder, id: ObjectId, size: u64) -> io::Result<BlobFile> {
    let nofollow = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or(0);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(nofollow)
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
    /// True once it has its name.
    published: bool,
}

impl StagedFile {
    pub(super) fn create(folder: &Folder, writability: &Arc<Writability>) -> io::Result<Self> {
        for _ in 0..NAMES_TRIED_MAX {
            let path = folder
                .incoming()
                .join(hex::encode(rand::random::<[u8; 16]>()));
            let file = private_options().create_new(true).open(&path)?;
            file.lock()?;
            // A sweep may have come between creation and lock; then the name is gone, and we begin anew.
            if file.metadata()?.nlink() > 0 {
                return Ok(Self {
                    folder: folder.clone(),
                    writability: Arc::clone(writability),
                    path,
                    file,
                    write_path: WritePath::Undecided,
                    dirty: 0,
                    writing_back: None,
                    dirty_since_sync: true,
                    published: false,
                });
            }
        }
        Err(io::Error::other("every new file was swept"))
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
    /// as after one of the log.
    fn failed(&self, action: &'static str, error: io::Error) -> StoreError {
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
        self.dirty_since_sync = true;
        let appended = self.append(bytes);
        if appended.map_err(|e| self.failed("writing an upload", e))? {
            self.dirty += byte_count(bytes);
        }
        if self.dirty >= WRITE_BACK_BYTES {
            self.dirty = 0;
            self.finish_write_back()?;
            let file = self.file.try_clone();
            let file = file.map_err(|e| StoreError::io("writing an upload back", e))?;
            self.writing_back = Some(std::thread::spawn(move || file.sync_data()));
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
        if self.published {
            return Ok(());
        }
        self.sync()?;
        let target = blob_path(&self.folder, id.into());
        let dir = target.parent().unwrap_or(Path::new("/"));
        // A file of that name has the same bytes or is damaged: either way ours may take its place.
        fs::rename(&self.path, &target).map_err(|e| self.failed("naming a blob", e))?;
        sync_dir(dir).map_err(|e| self.failed("syncing a folder of blobs", e))?;
        self.published = true;
        Ok(())
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
        // After publishing there is no such name; otherwise the upload was given up and leaves nothing.
        if self.published {
            return;
        }
        if let Err(e) = fs::remove_file(&self.path)
            && e.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(error = %e, "an abandoned upload could not be removed");
        }
    }
}

/// Removes uploads that a crash left: those that no process holds locked.
pub(super) fn sweep_incoming(folder: &Folder) -> io::Result<()> {
    for entry in fs::read_dir(folder.incoming())? {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        let Ok(file) = File::open(entry.path()) else {
            continue;
        };
        // Held until the name is gone: an upload that waits for the lock then sees that it must begin
        // anew. One that was given up meanwhile has removed its name itself.
        if file.try_lock().is_ok()
            && let Err(e) = fs::remove_file(entry.path())
            && e.kind() != io::ErrorKind::NotFound
        {
            return Err(e);
        }
    }
    Ok(())
}
