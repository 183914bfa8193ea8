//! Reading the file of a large blob while it is held against its row.

use std::io::{self, Read};

use super::error::{BackupError, Result, Step, Tell};
use super::table::LargeBlob;
use crate::base::digest::{ContentHasher, StreamHasher as _};
use crate::store::LargeBody as _;
use crate::store::sqlite::blob_files::BlobFile;

/// Reads as many bytes as the row says: zeros behind a place that cannot be read. So who takes them gets
/// what was announced, and [`BlobReader::verdict`] tells what they are.
pub(super) struct BlobReader<'a, 't> {
    file: &'a BlobFile,
    blob: &'a LargeBlob,
    offset: u64,
    hasher: ContentHasher,
    failure: Option<io::Error>,
    /// Files and bytes that were written before.
    written: (u64, u64),
    tell: &'a mut Tell<'t>,
    interrupted: bool,
}

impl<'a, 't> BlobReader<'a, 't> {
    pub(super) fn new(
        file: &'a BlobFile,
        blob: &'a LargeBlob,
        written: (u64, u64),
        tell: &'a mut Tell<'t>,
    ) -> Self {
        Self {
            file,
            blob,
            offset: 0,
            hasher: ContentHasher::default(),
            failure: None,
            written,
            tell,
            interrupted: false,
        }
    }

    /// What is wrong with the blob, once all was read; `None` of a sound one. `read` is how reading it,
    /// or taking it, went.
    ///
    /// # Errors
    /// That of who took it, and [`BackupError::Interrupted`].
    pub(super) fn verdict(self, read: Result<()>) -> Result<Option<String>> {
        if self.interrupted {
            return Err(BackupError::Interrupted);
        }
        read?;
        if let Some(failure) = self.failure {
            return Ok(Some(format!("its bytes cannot be read: {failure}")));
        }
        let (id, _, sha256) = self.hasher.finish();
        let wrong = if id.as_bytes() != self.blob.id.as_bytes() {
            Some("its file holds other bytes")
        } else if self.blob.sha256 != Some(*sha256.as_bytes()) {
            Some("its row's SHA-256 is that of other bytes")
        } else {
            None
        };
        Ok(wrong.map(str::to_owned))
    }
}

impl Read for BlobReader<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.blob.size - self.offset).unwrap_or(usize::MAX);
        let piece = left.min(buffer.len());
        let piece = &mut buffer[..piece];
        let (files, bytes) = self.written;
        let step = Step::At {
            files,
            bytes: bytes + self.offset,
        };
        if (self.tell)(step).is_break() {
            self.interrupted = true;
            return Err(io::Error::other("interrupted"));
        }
        match &self.failure {
            Some(_) => piece.fill(0),
            None => match self.file.read_exact_at(piece, self.offset) {
                Ok(()) => self.hasher.update(piece),
                Err(e) => self.failure = Some(e),
            },
        }
        self.offset += piece.len() as u64;
        Ok(piece.len())
    }
}
