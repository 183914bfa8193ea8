//! A file's bytes on their way in: hashed while they come, in memory only while they are few.

use bytes::Bytes;

use super::{Error, Repository, Result};
use crate::base::digest::{BodyDigests, BodyHasher, byte_count};
use crate::base::id::{BlobId, Kind};
use crate::base::limits::{INLINE_BYTES_MAX, READ_CHUNK_BYTES};
use crate::object::node::FileEntry;
use crate::store::{NewBody, NewObject, Staging, Store, StoreError};

/// A file's bytes, complete and digested, to be given to a save.
#[derive(Clone, Debug)]
pub struct NewFile {
    pub(super) digests: BodyDigests,
    pub(super) body: NewBody,
}

impl NewFile {
    /// The file as a tree holds it.
    pub(super) fn entry(&self, executable: bool) -> FileEntry {
        let BodyDigests {
            blob,
            size,
            md5,
            git,
            ..
        } = self.digests;
        FileEntry {
            executable,
            size,
            md5,
            git,
            blob,
        }
    }

    /// The object that the save has to put.
    pub(super) fn object(&self) -> NewObject {
        NewObject {
            id: self.digests.blob.into(),
            kind: Kind::Blob,
            size: self.digests.size,
            sha256: Some(self.digests.sha256),
            body: self.body.clone(),
        }
    }

    /// The blob and, if they are few, its bytes.
    pub(super) fn small(&self) -> Option<(BlobId, &Bytes)> {
        match &self.body {
            NewBody::Inline(bytes) => Some((self.digests.blob, bytes)),
            NewBody::Published => None,
        }
    }
}

/// A body that is coming in. Dropped before [`Upload::finish`], it leaves nothing.
#[derive(Debug)]
pub struct Upload {
    store: std::sync::Arc<dyn Store>,
    announced: Option<u64>,
    /// Digests a large body while it comes, where its length is known.
    hasher: Option<BodyHasher>,
    /// The whole body so far, while it is small.
    small: Vec<u8>,
    /// Where it goes from then on.
    large: Option<Box<dyn Staging>>,
    received: u64,
}

impl Repository {
    /// Takes a body that is in memory already.
    pub fn new_file(&self, bytes: Bytes) -> Result<NewFile> {
        let mut upload = self.upload(Some(byte_count(&bytes)));
        if bytes.len() <= INLINE_BYTES_MAX {
            return Ok(NewFile {
                digests: BodyDigests::of(&bytes),
                body: NewBody::Inline(bytes),
            });
        }
        for piece in bytes.chunks(READ_CHUNK_BYTES) {
            upload.write(piece)?;
        }
        upload.finish()
    }

    /// Begins a body of `announced` bytes, or of a length that only its end will tell.
    pub fn upload(&self, announced: Option<u64>) -> Upload {
        Upload {
            store: std::sync::Arc::clone(self.store()),
            announced,
            hasher: announced.map(BodyHasher::new),
            small: Vec::new(),
            large: None,
            received: 0,
        }
    }
}

impl Upload {
    /// Takes the next bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.received += byte_count(bytes);
        if self
            .announced
            .is_some_and(|announced| self.received > announced)
        {
            return Err(Error::invalid("the body is longer than announced"));
        }
        if self.large.is_none() && self.small.len() + bytes.len() <= INLINE_BYTES_MAX {
            self.small.extend_from_slice(bytes);
            return Ok(());
        }
        let large = if let Some(large) = &mut self.large {
            large
        } else {
            let large = self.large.insert(self.store.stage()?);
            let first = std::mem::take(&mut self.small);
            large.write(&first)?;
            if let Some(hasher) = &mut self.hasher {
                hasher.update(&first);
            }
            large
        };
        match &mut self.hasher {
            Some(hasher) => hasher.update_beside(bytes, || large.write(bytes))?,
            None => large.write(bytes)?,
        }
        Ok(())
    }

    /// Bytes received so far.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Ends the body. A large one is durable under its name when this returns.
    ///
    /// # Errors
    /// [`Error::Invalid`] when fewer bytes came than announced; nothing is stored then.
    pub fn finish(mut self) -> Result<NewFile> {
        if self
            .announced
            .is_some_and(|announced| self.received < announced)
        {
            return Err(Error::invalid("the body is shorter than announced"));
        }
        let Some(mut large) = self.large.take() else {
            let bytes = Bytes::from(self.small);
            return Ok(NewFile {
                digests: BodyDigests::of(&bytes),
                body: NewBody::Inline(bytes),
            });
        };
        let digests = match self.hasher {
            Some(hasher) => hasher.finish(),
            // Git hashes the length first, so a body of unknown length is read once more.
            None => digest_spooled(large.as_mut(), self.received)?,
        };
        large.publish(digests.blob)?;
        Ok(NewFile {
            digests,
            body: NewBody::Published,
        })
    }
}

fn digest_spooled(spooled: &mut dyn Staging, size: u64) -> Result<BodyDigests> {
    let mut hasher = BodyHasher::new(size);
    let mut chunk = vec![0; READ_CHUNK_BYTES];
    let mut spooled = spooled.reread()?;
    loop {
        let count = spooled
            .read(&mut chunk)
            .map_err(|e| StoreError::io("reading an upload back", e))?;
        if count == 0 {
            return Ok(hasher.finish());
        }
        hasher.update_beside(&chunk[..count], || ());
    }
}
