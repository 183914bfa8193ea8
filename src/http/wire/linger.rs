//! The end of a connection whose client still sends: it shall read the answer first.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{Instant, sleep};

use crate::base::limits::REFUSED_BODY_BYTES_MAX;

/// How long a connection stays after what it sent was refused.
const LINGER: Duration = Duration::from_secs(2);
/// Pause between reads beyond what is readily dropped, each time that so many bytes more have come.
const LINGER_PAUSE: Duration = Duration::from_millis(20);
const BYTES_PER_PAUSE: usize = 64 << 10;
/// Bytes that are read at once: each connection may end so, all at the same time.
const CHUNK_BYTES: usize = 4 << 10;

/// Reads and drops what still comes. Closing at once would send a reset, which may destroy the
/// answer before the client has read it.
pub(super) async fn linger<S: AsyncRead + Unpin>(stream: &mut S) {
    let end = Instant::now() + LINGER;
    let mut chunk = vec![0; CHUNK_BYTES];
    let (mut dropped, mut pause_at) = (0, REFUSED_BODY_BYTES_MAX);
    // A read that is ready at once does not look at the clock.
    while Instant::now() < end {
        if dropped > pause_at {
            sleep(LINGER_PAUSE).await;
            pause_at = dropped + BYTES_PER_PAUSE;
        }
        match tokio::time::timeout_at(end, stream.read(&mut chunk)).await {
            Ok(Ok(read)) if read > 0 => dropped += read,
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_always_sends_more_is_left_in_time() {
        let began = Instant::now();
        linger(&mut tokio::io::repeat(0)).await;
        let took = began.elapsed();
        assert!(
            (LINGER..LINGER + 2 * LINGER_PAUSE).contains(&took),
            "{took:?}"
        );
    }
}
