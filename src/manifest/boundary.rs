//! Where a node ends (`objects-layout.md`, "Boundaries"): the one place that decides.

use crate::object::node::Key;

/// What an item is accounted beside its name, in bytes: the longest fixed part. A constant, so that
/// a change of content never moves a boundary.
const ITEM_BYTES: usize = 78;
/// Below this a node does not end.
const RUN_BYTES_MIN: usize = 1024;
/// From here on a node ends eight times as often.
const RUN_BYTES_TARGET: usize = 4096;
/// From here on a node always ends.
const RUN_BYTES_MAX: usize = 16 << 10;
/// Low bits that must be zero below the target.
const MASK_BEFORE: u64 = (1 << 7) - 1;
/// Low bits that must be zero from the target on.
const MASK_AFTER: u64 = (1 << 3) - 1;

/// The accounted size of the run that is being collected at one level.
#[derive(Clone, Debug)]
pub struct Run {
    level: u8,
    bytes: usize,
}

impl Run {
    /// An empty run at this level.
    pub fn new(level: u8) -> Self {
        Self { level, bytes: 0 }
    }

    /// Adds an item; true if the node ends with it, and then the run is empty again.
    pub fn ends_with(&mut self, key: &Key) -> bool {
        self.bytes += key.name.len() + ITEM_BYTES;
        let ends = match self.bytes {
            ..RUN_BYTES_MIN => false,
            RUN_BYTES_MAX.. => true,
            RUN_BYTES_TARGET.. => self.draw(key) & MASK_AFTER == 0,
            _ => self.draw(key) & MASK_BEFORE == 0,
        };
        if ends {
            self.bytes = 0;
        }
        ends
    }

    /// 64 bits that depend on the level and the name alone.
    fn draw(&self, key: &Key) -> u64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[self.level]);
        hasher.update(key.name.as_bytes());
        let first = hasher.finalize().as_bytes()[..8]
            .try_into()
            .expect("a hash has 32 bytes");
        u64::from_le_bytes(first)
    }
}
