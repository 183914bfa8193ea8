//! Buffers of one length that whichever thread wants one next uses again.
//!
//! Of what each of hundreds of threads has freed, an allocator keeps a part for that thread.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;

use super::lock;
use super::turns::Turns;

/// Where such buffers come from.
pub struct Buffers {
    length: usize,
    filling: Turns,
    spare_max: usize,
    spare: Mutex<Vec<Box<[u8]>>>,
}

/// A buffer in use, which goes back when it is dropped.
struct Used {
    /// Empty once it went back.
    bytes: Box<[u8]>,
    from: Arc<Buffers>,
}

impl Buffers {
    /// Buffers of so many bytes. So many threads fill one at a time, and so many unused ones are kept.
    pub fn new(length: usize, filled_at_once_max: usize, spare_max: usize) -> Arc<Self> {
        Arc::new(Self {
            length,
            filling: Turns::new(filled_at_once_max),
            spare_max,
            spare: Mutex::default(),
        })
    }

    /// Has a buffer's first bytes filled, as many as are wanted, when it is this thread's turn, and gives
    /// these: fewer than a whole buffer as a copy, which takes no more memory than they need.
    ///
    /// # Errors
    /// Those of `fill`.
    ///
    /// # Panics
    /// If more bytes are wanted than a buffer has.
    pub fn fill<E>(
        self: &Arc<Self>,
        length: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<Bytes, E> {
        let _turn = self.filling.wait();
        let spare = self.spare().pop();
        let mut used = Used {
            bytes: spare.unwrap_or_else(|| vec![0; self.length].into()),
            from: Arc::clone(self),
        };
        fill(&mut used.bytes[..length])?;
        if length < self.length {
            return Ok(Bytes::copy_from_slice(&used.bytes[..length]));
        }
        Ok(Bytes::from_owner(used))
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Box<[u8]>>> {
        lock(&self.spare)
    }
}

impl fmt::Debug for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffers")
            .field("length", &self.length)
            .field("filling", &self.filling)
            .field("spare", &self.spare().len())
            .finish_non_exhaustive()
    }
}

impl AsRef<[u8]> for Used {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        let mut spare = self.from.spare();
        if spare.len() < self.from.spare_max {
            spare.push(std::mem::take(&mut self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(buffers: &Arc<Buffers>, with: u8) -> Bytes {
        let done = buffers.fill::<()>(4, |buffer| {
            buffer.fill(with);
            Ok(())
        });
        done.unwrap()
    }

    #[test]
    fn a_buffer_is_used_again_when_nobody_has_a_part_of_it() {
        let buffers = Buffers::new(4, 1, 1);
        let (first, second) = (filled(&buffers, 1), filled(&buffers, 2));
        let place = first.as_ptr();
        let part = first.slice(1..);
        drop(first);
        assert_ne!(filled(&buffers, 3).as_ptr(), place);
        assert_eq!((&part[..], &second[..]), (&[1; 3][..], &[2; 4][..]));
        drop(buffers.spare().pop());
        drop(part);
        assert_eq!(buffers.spare().len(), 1);
        assert_eq!(filled(&buffers, 4).as_ptr(), place);
        drop(second);
        assert_eq!(buffers.spare().len(), 1);
    }

    #[test]
    fn a_part_of_a_buffer_is_a_copy() {
        let buffers = Buffers::new(4, 1, 1);
        let part = buffers.fill::<()>(1, |buffer| {
            buffer.fill(7);
            Ok(())
        });
        assert_eq!(part.unwrap(), &[7][..]);
        assert_eq!(buffers.spare().len(), 1);
    }

    #[test]
    fn what_fails_gives_its_buffer_and_its_turn_back() {
        let buffers = Buffers::new(4, 1, 1);
        assert_eq!(buffers.fill(4, |_| Err("no")), Err("no"));
        assert_eq!(filled(&buffers, 1), &[1; 4][..]);
    }
}
