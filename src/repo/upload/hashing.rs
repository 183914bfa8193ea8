//! A large body's way into the store: hashed and written at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::{fmt, io, thread};

use super::chunks::Chunks;
use crate::base::digest::{BodyDigests, ContentHasher, GitHasher, Md5Hasher, StreamHasher};
use crate::base::id::BlobId;
use crate::base::limits::HASH_THREADS_BYTES_MIN;
use crate::base::outboard::PieceHasher;
use crate::repo::Result;
use crate::store::buffer::Block;
use crate::store::{StagedBody, Staging, StoreError};

/// The pipeline of one large body. Each block of it is written to its staged file by the caller, and
/// hashed three times: MD5, which takes longest, the content (BLAKE3 and SHA-256), and git's SHA-1.
/// A body of [`HASH_THREADS_BYTES_MIN`] and more that gets a [`HashSlot`] has a thread for each of the
/// three until it ends, and all share the block without a copy: the whole takes as long as MD5 alone.
/// The body has a fixed number of blocks, which bounds its memory and holds a fast client back: a block
/// is free again when all three have hashed it. Without a slot the caller hashes, too.
///
/// Dropped before [`LargeUpload::finish`], it leaves no file, and its threads end after the blocks that
/// they were given.
#[derive(Debug)]
pub(in crate::repo) struct LargeUpload {
    staging: Box<dyn Staging>,
    md5: Hashing<Md5Hasher>,
    content: Hashing<ContentHasher>,
    /// Git hashes the length first: `None` in a body of unknown length, which is read once more.
    git: Option<Hashing<GitHasher>>,
    slots: HashSlots,
    threaded: bool,
}

impl LargeUpload {
    /// Begins a body of `announced` bytes.
    pub(in crate::repo) fn new(
        mut staging: Box<dyn Staging>,
        announced: Option<u64>,
        slots: HashSlots,
    ) -> Self {
        if let Some(bytes) = announced {
            staging.announce(bytes);
        }
        Self {
            staging,
            md5: Hashing::Inline(Md5Hasher::default()),
            content: Hashing::Inline(ContentHasher::default()),
            git: announced.map(|size| Hashing::Inline(GitHasher::new(size))),
            slots,
            threaded: false,
        }
    }

    /// Takes the next block of a body that has at least `size_min` bytes.
    pub(in crate::repo) fn write(&mut self, block: Block, size_min: u64) -> Result<()> {
        if !self.threaded && size_min >= HASH_THREADS_BYTES_MIN {
            self.start_threads();
        }
        let block = Arc::new(block);
        self.md5.update(&block)?;
        self.content.update(&block)?;
        if let Some(git) = &mut self.git {
            git.update(&block)?;
        }
        Ok(self.staging.write(&block)?)
    }

    /// Gives each hasher its thread, if there is a free slot.
    fn start_threads(&mut self) {
        let Some(slot) = self.slots.take() else {
            return;
        };
        self.threaded = true;
        self.md5.start_thread("md5", &slot);
        self.content.start_thread("content", &slot);
        if let Some(git) = &mut self.git {
            git.start_thread("git id", &slot);
        }
    }

    /// Ends a body of this size. It is on the disk when this returns, and a commit gives it its name.
    pub(in crate::repo) fn finish(mut self, size: u64) -> Result<(BodyDigests, StagedBody)> {
        let (blob, outboard, sha256) = self.content.finish()?.finish();
        let git = match self.git {
            Some(git) => git.finish()?,
            None => read_again(self.staging.as_mut(), size, blob)?,
        };
        let digests = BodyDigests {
            blob,
            size,
            md5: self.md5.finish()?.finish(),
            git: git.finish(),
            sha256,
        };
        self.staging.sync()?;
        let body = StagedBody::new(self.staging, outboard.encode().into());
        Ok((digests, body))
    }
}

/// Reads a body back for git's hash. It may have gone over a network: others than its bytes have another id.
fn read_again(staging: &mut dyn Staging, size: u64, blob: BlobId) -> Result<GitHasher> {
    let mut hasher = GitHasher::new(size);
    let mut content = PieceHasher::default();
    let failed = |error| StoreError::io("reading an upload back", error);
    let mut written = Chunks::of(staging.reread()?);
    while let Some(chunk) = written.next_chunk().map_err(failed)? {
        hasher.update(chunk);
        content.update(chunk);
    }
    if content.finish().0 != blob {
        return Err(failed(io::ErrorKind::InvalidData.into()).into());
    }
    Ok(hasher)
}

/// A hash of a body under way: computed here, or on a thread of its own that ends when no more blocks
/// can come.
#[derive(Debug)]
enum Hashing<H> {
    Inline(H),
    Threaded {
        blocks: Sender<Arc<Block>>,
        thread: JoinHandle<H>,
    },
}

impl<H: StreamHasher + Clone + fmt::Debug + Send + 'static> Hashing<H> {
    /// Moves to a thread, or stays where it is if the system has none left.
    fn start_thread(&mut self, name: &str, slot: &Arc<HashSlot>) {
        let Self::Inline(hasher) = self else { return };
        let (mut hasher, slot) = (hasher.clone(), Arc::clone(slot));
        let (blocks, coming) = channel::<Arc<Block>>();
        let spawned = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _slot = slot;
            for block in coming {
                hasher.update(&block);
            }
            hasher
        });
        if let Ok(thread) = spawned {
            *self = Self::Threaded { blocks, thread };
        }
    }

    fn update(&mut self, block: &Arc<Block>) -> Result<()> {
        match self {
            Self::Inline(hasher) => hasher.update(block),
            Self::Threaded { blocks, .. } => {
                blocks.send(Arc::clone(block)).map_err(|_| ended_early())?;
            }
        }
        Ok(())
    }

    /// The hasher, when it has had all blocks.
    fn finish(self) -> Result<H> {
        match self {
            Self::Inline(hasher) => Ok(hasher),
            Self::Threaded { blocks, thread } => {
                drop(blocks);
                thread.join().map_err(|_| ended_early())
            }
        }
    }
}

fn ended_early() -> super::Error {
    StoreError::io(
        "hashing an upload",
        io::Error::other("a thread ended in a panic"),
    )
    .into()
}

/// Slots for bodies that are hashed on threads.
#[derive(Clone, Debug)]
pub(in crate::repo) struct HashSlots(Arc<AtomicUsize>);

/// A body's slot. Free again when the last of the body's threads has ended.
#[derive(Debug)]
struct HashSlot(Arc<AtomicUsize>);

impl HashSlots {
    /// As many slots as this.
    pub(in crate::repo) fn new(count: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(count)))
    }

    fn take(&self) -> Option<Arc<HashSlot>> {
        let less = |free: usize| free.checked_sub(1);
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        taken.ok().map(|_| Arc::new(HashSlot(Arc::clone(&self.0))))
    }
}

impl Drop for HashSlot {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::limits::BLOCK_BYTES;
    use crate::store::Store;
    use crate::store::buffer::Blocks;
    use crate::store::memory::MemoryStore;

    #[derive(Clone, Debug)]
    struct Panicking;

    impl StreamHasher for Panicking {
        fn update(&mut self, _: &[u8]) {
            panic!("on purpose");
        }
    }

    #[test]
    fn a_thread_that_panics_is_an_error_and_its_blocks_come_back() {
        let mut blocks = Blocks::new(2);
        let slot = HashSlots::new(1).take().unwrap();
        let mut hashing = Hashing::Inline(Panicking);
        hashing.start_thread("panicking", &slot);
        // More blocks than there are: those that the thread does not take come back all the same.
        let refused = (0..5).find_map(|_| hashing.update(&Arc::new(blocks.take())).err());
        let refused = refused.or_else(|| hashing.finish().err()).unwrap();
        assert!(
            matches!(refused, super::super::Error::Store(_)),
            "{refused}"
        );
    }

    #[test]
    fn a_body_has_threads_while_there_is_a_slot_and_gives_it_back() {
        let slots = HashSlots::new(1);
        let (mut blocks, store) = (Blocks::new(4), MemoryStore::default());
        let size = HASH_THREADS_BYTES_MIN;
        let mut upload = |slots: &HashSlots, size| {
            let mut upload = LargeUpload::new(store.stage().unwrap(), Some(size), slots.clone());
            let mut block = blocks.take();
            block.fill(&vec![7; BLOCK_BYTES.min(usize::try_from(size).unwrap())]);
            upload.write(block, size).unwrap();
            upload
        };
        assert!(!upload(&slots, size - 1).threaded, "too small");
        let first = upload(&slots, size);
        let second = upload(&slots, size);
        assert_eq!((first.threaded, second.threaded), (true, false));
        assert_eq!(
            first.finish(size).unwrap().0,
            second.finish(size).unwrap().0
        );
        let given_up = upload(&slots, size);
        assert!(given_up.threaded);
        drop(given_up);
        while slots.0.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
    }
}
