//! Memory for bodies on their way in: blocks of one size that are reused.

use std::fmt;
use std::ops::Deref;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::base::limits::BLOCK_BYTES;

/// Disks that take bytes straight from memory want them to begin at a multiple of this many bytes, in
/// memory and in the file, and to be such a multiple long.
pub const BLOCK_ALIGNMENT: usize = 4096;

/// At most [`BLOCK_BYTES`] of a body, in memory from which a disk takes them without a copy. Dropped,
/// the memory goes back to the [`Blocks`] that made it.
pub struct Block {
    memory: Memory,
    length: usize,
    pool: Sender<Memory>,
}

/// Memory of one block. It is longer than that, and what is used of it begins at an aligned address.
#[derive(Default)]
struct Memory(Vec<u8>);

impl Memory {
    fn new() -> Self {
        Self(vec![0; BLOCK_BYTES + BLOCK_ALIGNMENT])
    }

    fn start(&self) -> usize {
        // Memory whose alignment is unknown serves as well, with one more copy.
        let start = self.0.as_ptr().align_offset(BLOCK_ALIGNMENT);
        if start < BLOCK_ALIGNMENT { start } else { 0 }
    }
}

impl Block {
    /// Takes bytes from the front of these until they end or the block is full, and gives the rest.
    pub fn fill<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (taken, rest) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.length));
        let start = self.memory.start() + self.length;
        self.memory.0[start..start + taken.len()].copy_from_slice(taken);
        self.length += taken.len();
        rest
    }

    /// True when no more bytes fit.
    pub fn is_full(&self) -> bool {
        self.length == BLOCK_BYTES
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let start = self.memory.start();
        &self.memory.0[start..start + self.length]
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block of {} bytes", self.length)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // When the pool is gone, nobody needs the memory any more.
        self.pool.send(std::mem::take(&mut self.memory)).ok();
    }
}

/// The blocks of one body: at most a fixed number, made when they are first needed.
pub struct Blocks {
    pool: Sender<Memory>,
    empty: Receiver<Memory>,
    unmade: usize,
}

impl Blocks {
    /// At most this many blocks at once.
    pub fn new(most: usize) -> Self {
        let (pool, empty) = channel();
        Self {
            pool,
            empty,
            unmade: most,
        }
    }

    /// An empty block. Waits for one to be dropped when all are in use, so a caller must not hold all
    /// of them.
    pub fn take(&mut self) -> Block {
        let memory = match self.empty.try_recv() {
            Ok(memory) => memory,
            Err(_) if self.unmade > 0 => {
                self.unmade -= 1;
                Memory::new()
            }
            Err(_) => self.empty.recv().expect("the sender is in self, too"),
        };
        Block {
            memory,
            length: 0,
            pool: self.pool.clone(),
        }
    }
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks")
            .field("unmade", &self.unmade)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_takes_what_fits_and_lies_where_a_disk_can_take_it() {
        let mut blocks = Blocks::new(1);
        let bytes: Vec<u8> = (0..=250).cycle().take(BLOCK_BYTES + 5).collect();
        let mut block = blocks.take();
        assert!(block.fill(&bytes[..3]).is_empty() && !block.is_full());
        assert_eq!(block.fill(&bytes[3..]).len(), 5);
        assert!(block.is_full() && *block == bytes[..BLOCK_BYTES]);
        assert_eq!(block.as_ptr().addr() % BLOCK_ALIGNMENT, 0);
        assert_eq!(block.fill(b"more"), b"more");
    }

    #[test]
    fn dropped_blocks_are_used_again_and_there_are_never_more() {
        let mut blocks = Blocks::new(2);
        let mut first = blocks.take();
        first.fill(b"left from before");
        let (place, second) = (first.memory.0.as_ptr(), blocks.take());
        let dropped = std::thread::spawn(move || drop(first));
        let again = blocks.take();
        dropped.join().unwrap();
        assert_eq!(again.memory.0.as_ptr(), place);
        assert!(again.is_empty() && second.is_empty());
    }
}
