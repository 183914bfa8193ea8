//! A body on its way in: it may be slow, but has to come.

use std::io::{self, Read};
use std::time::{Duration, Instant};

/// Least bytes a second.
const RATE_LEAST: u64 = 1024;
/// How long a body may take to reach that, at its beginning and each time anew: one that came fast may trickle then.
const SLOW_MAX: Duration = Duration::from_secs(30);

/// A body; reading one that is too slow fails.
pub(in crate::cli::pull) struct Incoming<R> {
    body: R,
    /// How long it was waited for since the rate is taken: what its reader does with it meanwhile is no part of that.
    waited: Duration,
    /// What came in that time.
    bytes: u64,
}

impl<R> Incoming<R> {
    /// A body that began to come at this time.
    pub(super) fn new(body: R, began: Instant) -> Self {
        Self {
            body,
            waited: began.elapsed(),
            bytes: 0,
        }
    }
}

impl<R: Read> Read for Incoming<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let began = Instant::now();
        let count = self.body.read(buffer)?;
        self.bytes = self.bytes.saturating_add(count as u64);
        self.waited += began.elapsed();
        // The end of a body is no slow part of it.
        if count == 0 || self.waited <= SLOW_MAX {
            return Ok(count);
        }
        if self.bytes / self.waited.as_secs() < RATE_LEAST {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("it sends less than {RATE_LEAST} bytes a second"),
            ));
        }
        (self.waited, self.bytes) = (Duration::ZERO, 0);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many seconds ago.
    fn ago(seconds: u64) -> Instant {
        let then = Instant::now().checked_sub(Duration::from_secs(seconds));
        then.expect("the machine has run so long")
    }

    /// Reads so many bytes that began to come so long ago.
    fn read(bytes: u64, seconds: u64) -> io::Result<usize> {
        let body = io::repeat(b'x').take(bytes);
        io::copy(&mut Incoming::new(body, ago(seconds)), &mut io::sink())
            .map(|count| usize::try_from(count).expect("it is small"))
    }

    #[test]
    fn a_body_that_trickles_is_given_up() {
        // A machine that is held up may spend the second that is left: then once more.
        let read_29 = (0..10).find_map(|_| read(1, 29).ok());
        assert_eq!(read_29, Some(1));
        assert_eq!(read(0, 60).unwrap(), 0);
        let slow = read(1, 31).unwrap_err();
        assert_eq!(slow.to_string(), "it sends less than 1024 bytes a second");
    }

    #[test]
    fn a_large_body_may_take_long() {
        let mut body = Incoming::new(io::repeat(b'x'), ago(100));
        let mut buffer = vec![0; 110 * 1024];
        assert_eq!(body.read(&mut buffer).unwrap(), buffer.len());
        assert_eq!(body.read(&mut buffer[..1]).unwrap(), 1);
    }

    #[test]
    fn a_body_that_came_fast_and_trickles_then_is_given_up() {
        let mut body = Incoming::new(io::repeat(b'x'), ago(31));
        let mut buffer = vec![0; 1 << 20];
        for _ in 0..2 {
            assert_eq!(body.read(&mut buffer).unwrap(), buffer.len());
            // As half a minute later.
            body.waited = Duration::from_secs(31);
        }
        let slow = body.read(&mut buffer[..1]).unwrap_err();
        assert_eq!(slow.kind(), io::ErrorKind::TimedOut);
    }
}
