//! Large blobs as files: staged in `incoming/`, published into `blobs/`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use rustix::fs::{OFlags, fcntl_setfl};

use super::data_folder::{Folder, sync_dir};
use crate::base::digest::byte_count;
use crate::base::id::{BlobId, ObjectId};
use crate::store::buffer::BLOCK_ALIGNMENT;
use crate::store::{LargeBody, Result, Staging, StoreError};

/// After so many bytes a staged file is written back, so that its final sync has little to do and
/// other syncs do not wait behind it.
const WRITE_BACK_BYTES: u64 = 8 << 20;

/// A first piece of fewer bytes goes by way of the system's memory, which answers sooner; so does the
/// rest of the body then.
const DIRECT_BYTES_MIN: usize = 128 << 10;

/// How a staged file's bytes reach the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Nothing was written yet.
    Open,
    /// Straight from our memory (`O_DIRECT`): at the disk's speed, steadily, and at almost no cost.
    /// Pieces must be aligned in memory, in the file and in length.
    Direct,
    /// Through the system's memory: any piece, on any file system, and a copy more.
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
    path: PathBuf,
    file: File,
    way: Way,
    /// Bytes written by way of the system's memory since the last write-back began.
    fresh: u64,
    /// The write-back under way.
    writing_back: Option<JoinHandle<io::Result<()>>>,
}

impl StagedFile {
    pub(super) fn create(folder: &Folder) -> io::Result<Self> {
        loop {
            let path = folder
                .incoming()
                .join(hex::encode(rand::random::<[u8; 16]>()));
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)?;
            file.lock()?;
            // A sweep may have come between creation and lock; then the name is gone, and we begin anew.
            if file.metadata()?.nlink() > 0 {
                return Ok(Self {
                    folder: folder.clone(),
                    path,
                    file,
                    way: Way::Open,
                    fresh: 0,
                    writing_back: None,
                });
            }
        }
    }
}

impl StagedFile {
    /// Writes the next bytes, straight to the disk while they are fit for it. Gives true if they took
    /// the other way.
    fn append(&mut self, bytes: &[u8]) -> io::Result<bool> {
        let aligned = |number: usize| number.is_multiple_of(BLOCK_ALIGNMENT);
        let fit = aligned(bytes.as_ptr().addr()) && aligned(bytes.len());
        if self.way == Way::Open && fit && bytes.len() >= DIRECT_BYTES_MIN {
            // Where the file system knows no such way, there is the other.
            let direct = fcntl_setfl(&self.file, OFlags::DIRECT).is_ok();
            self.way = if direct { Way::Direct } else { Way::Buffered };
        }
        if self.way == Way::Direct && fit {
            let offset = self.file.stream_position()?;
            match self.file.write_all(bytes) {
                // Some file systems refuse only the write.
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
        if self.way == Way::Direct {
            fcntl_setfl(&self.file, OFlags::empty())?;
        }
        self.way = Way::Buffered;
        Ok(())
    }

    /// Waits for the write-back under way. What it says counts: the system reports a failed write
    /// once, and a later sync would succeed.
    fn finish_write_back(&mut self) -> Result<()> {
        let ended = self.writing_back.take().map(JoinHandle::join);
        let outcome = ended.unwrap_or(Ok(Ok(())));
        outcome
            .unwrap_or_else(|_| Err(io::Error::other("the write-back ended in a panic")))
            .map_err(|e| StoreError::io("writing an upload back", e))
    }
}

impl Staging for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let io = |e| StoreError::io("writing an upload", e);
        if self.append(bytes).map_err(io)? {
            self.fresh += byte_count(bytes);
        }
        if self.fresh >= WRITE_BACK_BYTES {
            self.fresh = 0;
            self.finish_write_back()?;
            let file = self.file.try_clone().map_err(io)?;
            self.writing_back = Some(std::thread::spawn(move || file.sync_data()));
        }
        Ok(())
    }

    fn reread(&mut self) -> Result<Box<dyn io::Read + '_>> {
        // Whoever reads has memory of any alignment.
        self.go_buffered()
            .map_err(|e| StoreError::io("reading an upload back", e))?;
        Ok(Box::new(FromStart {
            file: &self.file,
            offset: 0,
        }))
    }

    fn publish(mut self: Box<Self>, id: BlobId) -> Result<()> {
        self.finish_write_back()?;
        let target = blob_path(&self.folder, id.into());
        let dir = target.parent().unwrap_or(Path::new("/"));
        self.file
            .sync_all()
            .map_err(|e| StoreError::io("syncing an upload", e))?;
        // A file of that name has the same bytes or is damaged: either way ours may take its place.
        fs::rename(&self.path, &target).map_err(|e| StoreError::io("naming a blob", e))?;
        sync_dir(dir).map_err(|e| StoreError::io("syncing a folder of blobs", e))
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
        // The room is free only when nobody holds the file any more; that it failed is no news here.
        drop(self.finish_write_back());
        // After publishing the name is gone; otherwise the upload was given up and leaves nothing.
        if let Err(e) = fs::remove_file(&self.path)
            && e.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(error = %e, "an abandoned upload could not be removed");
        }
    }
}

/// Removes uploads that a crash left: those that nobody holds locked.
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
