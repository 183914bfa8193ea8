//! The end of a connection whose client still sends: it shall read the answer first.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{Instant, sleep};

use crate::base::limits::REFUSED_BODY_BYTES_MAX;

/// How long a connection stays after what it sent was refused.
const LINGER: Duration = Duration::from_secs(2);
/// Pause between reads beyond what is readily dropped.
const LINGER_PAUSE: Duration = Duration::from_millis(20);

/// Reads and drops what still comes. Closing at once would send a reset, which may destroy the
/// answer before the client has read it.
pub(super) async fn linger<S: AsyncRead + Unpin>(stream: &mut S) {
    let end = Instant::now() + LINGER;
    let mut chunk = vec![0; 64 << 10];
    let mut dropped = 0;
    loop {
        if dropped > REFUSED_BODY_BYTES_MAX {
            sleep(LINGER_PAUSE).await;
        }
        match tokio::time::timeout_at(end, stream.read(&mut chunk)).await {
            Ok(Ok(read)) if read > 0 => dropped += read,
            _ => return,
        }
    }
}
