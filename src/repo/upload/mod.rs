//! A file's bytes on their way in: hashed while they come, in memory only while they are few.

pub(super) mod chunks;
pub(super) mod hashing;

use std::sync::Arc;

use bytes::Bytes;

use super::{Error, Result};
use crate::base::digest::{BodyDigests, byte_count};
use crate::base::id::{BlobId, GitId, Kind, Md5};
use crate::base::limits::{BLOCKS_PER_UPLOAD_MAX, INLINE_BYTES_MAX};
use crate::object::node::FileEntry;
use crate::store::buffer::{Block, Blocks};
use crate::store::{NewBody, NewObject, Store};
use hashing::{HashSlots, LargeUpload};

/// A file's bytes, complete and digested, to be given to a save. Dropped without one it leaves nothing.
#[derive(Clone, Debug)]
pub struct NewFile {
    pub(super) digests: BodyDigests,
    pub(super) body: NewBody,
}

impl NewFile {
    /// Length in bytes.
    pub fn size(&self) -> u64 {
        self.digests.size
    }

    /// MD5 of the bytes.
    pub fn md5(&self) -> Md5 {
        self.digests.md5
    }

    /// The id git gives the bytes.
    pub fn git_id(&self) -> GitId {
        self.digests.git
    }

    /// The bytes' own id: the file's entity tag.
    pub fn blob(&self) -> BlobId {
        self.digests.blob
    }

    /// A small body that is all there.
    pub(super) fn inline(bytes: Bytes) -> Self {
        Self {
            digests: BodyDigests::of(&bytes),
            body: NewBody::Inline(bytes),
        }
    }

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

    /// The bytes, read back where they are many; `None` where they are in the store already.
    pub(super) fn bytes(&self) -> Result<Option<Bytes>> {
        match &self.body {
            NewBody::Inline(bytes) => Ok(Some(bytes.clone())),
            NewBody::Staged(body) => Ok(Some(body.read_back()?.into())),
            NewBody::Published(_) => Ok(None),
        }
    }

    /// The blob and, if they are few, its bytes.
    pub(super) fn small(&self) -> Option<(BlobId, &Bytes)> {
        match &self.body {
            NewBody::Inline(bytes) => Some((self.digests.blob, bytes)),
            NewBody::Staged(_) | NewBody::Published(_) => None,
        }
    }
}

/// A body that is coming in. Dropped before [`Upload::finish`], it leaves nothing.
#[derive(Debug)]
pub struct Upload {
    store: Arc<dyn Store>,
    slots: HashSlots,
    announced: Option<u64>,
    received: u64,
    /// The whole body so far, while it is small.
    small: Vec<u8>,
    /// Where it goes from then on.
    large: Option<LargeUpload>,
    blocks: Blocks,
    /// Bytes for the next block.
    block: Option<Block>,
}

impl Upload {
    /// Begins a body of `announced` bytes, or of unknown length.
    pub(super) fn new(store: &Arc<dyn Store>, slots: &HashSlots, announced: Option<u64>) -> Self {
        Self {
            store: Arc::clone(store),
            slots: slots.clone(),
            announced,
            received: 0,
            small: Vec::new(),
            large: None,
            blocks: Blocks::new(BLOCKS_PER_UPLOAD_MAX),
            block: None,
        }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// [`Error::Invalid`] when more came than announced.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.count(bytes)?;
        self.collect(bytes)
    }

    /// An empty block, to be filled with the next bytes and given to [`Upload::write_block`]. Waits
    /// until one is free, which the first two always are.
    pub fn block(&mut self) -> Block {
        self.blocks.take()
    }

    /// Takes the next bytes without a copy, if all blocks but the last come full. It returns when they
    /// are written, which may be before they are hashed.
    ///
    /// # Errors
    /// As [`Upload::write`].
    pub fn write_block(&mut self, block: Block) -> Result<()> {
        self.count(&block)?;
        let first = self.received == byte_count(&block) && block.len() > INLINE_BYTES_MAX;
        let next = self.large.is_some() && self.block.is_none() && !block.is_empty();
        if first || next {
            return self.pass_on(block);
        }
        self.collect(&block)
    }

    fn count(&mut self, bytes: &[u8]) -> Result<()> {
        self.received += byte_count(bytes);
        match self.announced {
            Some(announced) if self.received > announced => {
                Err(Error::invalid("the body is longer than announced"))
            }
            _ => Ok(()),
        }
    }

    fn collect(&mut self, mut bytes: &[u8]) -> Result<()> {
        let fits = self.small.len() + bytes.len() <= INLINE_BYTES_MAX;
        if fits && self.large.is_none() && self.block.is_none() {
            self.small.extend_from_slice(bytes);
            return Ok(());
        }
        let small = std::mem::take(&mut self.small);
        if !small.is_empty() {
            self.block
                .get_or_insert_with(|| self.blocks.take())
                .fill(&small);
        }
        while !bytes.is_empty() {
            let block = self.block.get_or_insert_with(|| self.blocks.take());
            bytes = block.fill(bytes);
            if block.is_full()
                && let Some(full) = self.block.take()
            {
                self.pass_on(full)?;
            }
        }
        Ok(())
    }

    fn pass_on(&mut self, block: Block) -> Result<()> {
        let large = match &mut self.large {
            Some(large) => large,
            None => self.large.insert(LargeUpload::new(
                self.store.stage()?,
                self.announced,
                self.slots.clone(),
            )),
        };
        large.write(block, self.announced.unwrap_or(self.received))
    }

    /// Ends the body. A large one is on the disk when this returns; the save gives it its name.
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
        if let Some(last) = self.block.take() {
            self.pass_on(last)?;
        }
        match self.large {
            Some(large) => {
                let (digests, body) = large.finish(self.received)?;
                Ok(NewFile {
                    digests,
                    body: NewBody::Staged(Arc::new(body)),
                })
            }
            None => Ok(NewFile::inline(self.small.into())),
        }
    }
}
