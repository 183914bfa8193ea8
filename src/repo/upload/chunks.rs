//! Bytes that are read to their end.

use std::io::{self, Read};

use crate::base::limits::READ_CHUNK_BYTES;

/// Reads all that a source has, in chunks of at most [`READ_CHUNK_BYTES`], one of which is in memory.
#[derive(Debug)]
pub struct Chunks<R> {
    source: R,
    chunk: Vec<u8>,
}

impl<R: Read> Chunks<R> {
    /// Reads this source.
    pub fn of(source: R) -> Self {
        Self {
            source,
            chunk: vec![0; READ_CHUNK_BYTES],
        }
    }

    /// The same, with no more memory than a source of about so many bytes needs.
    pub fn of_about(source: R, bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        Self {
            source,
            // One more: into no memory nothing could be read, which would seem to be the end.
            chunk: vec![0; bytes.saturating_add(1).min(READ_CHUNK_BYTES)],
        }
    }

    /// The next bytes; `None` at the end. A signal that interrupts a read does not end it.
    ///
    /// # Errors
    /// Those of the source.
    pub fn next_chunk(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            match self.source.read(&mut self.chunk) {
                Ok(0) => return Ok(None),
                Ok(count) => return Ok(Some(&self.chunk[..count])),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time, and is interrupted before each.
    struct Interrupted<'a> {
        bytes: &'a [u8],
        is_next: bool,
    }

    impl Read for Interrupted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.is_next = !self.is_next;
            if self.is_next {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let few = buffer.len().min(3);
            self.bytes.read(&mut buffer[..few])
        }
    }

    #[test]
    fn what_is_interrupted_is_read_to_its_end() {
        for about in [0, 4, 100] {
            let source = Interrupted {
                bytes: b"ten bytes.",
                is_next: false,
            };
            let mut chunks = Chunks::of_about(source, about);
            let mut read = Vec::new();
            while let Some(chunk) = chunks.next_chunk().unwrap() {
                read.extend_from_slice(chunk);
            }
            assert_eq!(read, b"ten bytes.", "about {about}");
        }
    }
}
