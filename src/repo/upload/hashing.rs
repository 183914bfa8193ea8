//! A large body's way into the store: hashed and written at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::{fmt, io, thread};

use crate::base::digest::{BodyDigests, ContentHasher, GitHasher, Md5Hasher, StreamHasher};
use crate::base::limits::{HASH_THREADS_BYTES_MIN, READ_CHUNK_BYTES};
use crate::repo::Result;
use crate::store::buffer::Block;
use crate::store::{Staging, StoreError};

/// The pipeline of one large body. Each block of it is written to its staged file by the caller, and
/// hashed three times: MD5, which takes longest, the content (BLAKE3 and SHA-256), and git's SHA-1.
/// In a body of [`HASH_THREADS_BYTES_MIN`] and more that has a [`Seat`], each of the three has a thread
/// for as long as the body comes, and all share the block without a copy; MD5 then never waits, and the
/// whole takes as long as it. What bounds the memory and holds a fast client back is that the body has
/// only so many blocks: the next is there when all three have done with an old one. Without a seat the
/// caller hashes, too.
///
/// Dropped before [`Ingest::finish`], it leaves no file, and its threads end with the blocks they have.
#[derive(Debug)]
pub(in crate::repo) struct Ingest {
    staging: Box<dyn Staging>,
    md5: Hashing<Md5Hasher>,
    content: Hashing<ContentHasher>,
    /// Git hashes the length first: `None` in a body of unknown length, which is read once more.
    git: Option<Hashing<GitHasher>>,
    seats: Seats,
    seated: bool,
}

impl Ingest {
    /// Begins a body of `announced` bytes.
    pub(in crate::repo) fn new(
        staging: Box<dyn Staging>,
        announced: Option<u64>,
        seats: Seats,
    ) -> Self {
        Self {
            staging,
            md5: Hashing::Here(Md5Hasher::default()),
            content: Hashing::Here(ContentHasher::default()),
            git: announced.map(|size| Hashing::Here(GitHasher::new(size))),
            seats,
            seated: false,
        }
    }

    /// Takes the next block of a body that has so many bytes at least.
    pub(in crate::repo) fn take(&mut self, block: Block, size_min: u64) -> Result<()> {
        if !self.seated && size_min >= HASH_THREADS_BYTES_MIN {
            self.sit_down();
        }
        let block = Arc::new(block);
        self.md5.update(&block)?;
        self.content.update(&block)?;
        if let Some(git) = &mut self.git {
            git.update(&block)?;
        }
        Ok(self.staging.write(&block)?)
    }

    /// Gives each hasher its thread, if there is a seat.
    fn sit_down(&mut self) {
        let Some(seat) = self.seats.take() else {
            return;
        };
        self.seated = true;
        self.md5.go_beside("md5", &seat);
        self.content.go_beside("content", &seat);
        if let Some(git) = &mut self.git {
            git.go_beside("git id", &seat);
        }
    }

    /// Ends a body of this size. It is durable under its name when this returns.
    pub(in crate::repo) fn finish(mut self, size: u64) -> Result<BodyDigests> {
        let git = match self.git {
            Some(git) => git.finish()?,
            None => read_again(self.staging.as_mut(), GitHasher::new(size))?,
        };
        let (blob, sha256) = self.content.finish()?.finish();
        let digests = BodyDigests {
            blob,
            size,
            md5: self.md5.finish()?.finish(),
            git: git.finish(),
            sha256,
        };
        self.staging.publish(blob)?;
        Ok(digests)
    }
}

fn read_again(staging: &mut dyn Staging, mut hasher: GitHasher) -> Result<GitHasher> {
    let mut chunk = vec![0; READ_CHUNK_BYTES];
    let mut written = staging.reread()?;
    loop {
        match written.read(&mut chunk) {
            Ok(0) => return Ok(hasher),
            Ok(count) => hasher.update(&chunk[..count]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(StoreError::io("reading an upload back", e).into()),
        }
    }
}

/// A hash of a body under way: computed here, or on a thread of its own that ends when no more blocks
/// can come.
#[derive(Debug)]
enum Hashing<H> {
    Here(H),
    Beside {
        blocks: Sender<Arc<Block>>,
        thread: JoinHandle<H>,
    },
}

impl<H: StreamHasher + Clone + fmt::Debug + Send + 'static> Hashing<H> {
    /// Goes on on a thread, or here where the system has none left.
    fn go_beside(&mut self, name: &str, seat: &Arc<Seat>) {
        let Self::Here(hasher) = self else { return };
        let (mut hasher, seat) = (hasher.clone(), Arc::clone(seat));
        let (blocks, coming) = channel::<Arc<Block>>();
        let spawned = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _seat = seat;
            for block in coming {
                hasher.update(&block);
            }
            hasher
        });
        if let Ok(thread) = spawned {
            *self = Self::Beside { blocks, thread };
        }
    }

    fn update(&mut self, block: &Arc<Block>) -> Result<()> {
        match self {
            Self::Here(hasher) => hasher.update(block),
            Self::Beside { blocks, .. } => {
                blocks.send(Arc::clone(block)).map_err(|_| ended_early())?;
            }
        }
        Ok(())
    }

    /// The hasher, when it has had all blocks.
    fn finish(self) -> Result<H> {
        match self {
            Self::Here(hasher) => Ok(hasher),
            Self::Beside { blocks, thread } => {
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

/// How many more bodies may have threads.
#[derive(Clone, Debug)]
pub(in crate::repo) struct Seats(Arc<AtomicUsize>);

/// A body's right to threads. Given back when the last of them has ended.
#[derive(Debug)]
struct Seat(Arc<AtomicUsize>);

impl Seats {
    /// So many bodies at once.
    pub(in crate::repo) fn new(count: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(count)))
    }

    fn take(&self) -> Option<Arc<Seat>> {
        let less = |free: usize| free.checked_sub(1);
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        taken.ok().map(|_| Arc::new(Seat(Arc::clone(&self.0))))
    }
}

impl Drop for Seat {
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
        let seat = Seats::new(1).take().unwrap();
        let mut hashing = Hashing::Here(Panicking);
        hashing.go_beside("panicking", &seat);
        // More blocks than there are: those that the thread does not take come back all the same.
        let refused = (0..5).find_map(|_| hashing.update(&Arc::new(blocks.take())).err());
        let refused = refused.or_else(|| hashing.finish().err()).unwrap();
        assert!(
            matches!(refused, super::super::Error::Store(_)),
            "{refused}"
        );
    }

    #[test]
    fn a_body_has_threads_while_there_is_a_seat_and_gives_it_back() {
        let seats = Seats::new(1);
        let (mut blocks, store) = (Blocks::new(4), MemoryStore::default());
        let size = HASH_THREADS_BYTES_MIN;
        let mut ingest = |seats: &Seats, size| {
            let mut ingest = Ingest::new(store.stage().unwrap(), Some(size), seats.clone());
            let mut block = blocks.take();
            block.fill(&vec![7; BLOCK_BYTES.min(usize::try_from(size).unwrap())]);
            ingest.take(block, size).unwrap();
            ingest
        };
        assert!(!ingest(&seats, size - 1).seated, "too small");
        let first = ingest(&seats, size);
        let second = ingest(&seats, size);
        assert_eq!((first.seated, second.seated), (true, false));
        assert_eq!(first.finish(size).unwrap(), second.finish(size).unwrap());
        let given_up = ingest(&seats, size);
        assert!(given_up.seated);
        drop(given_up);
        while seats.0.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
    }
}
