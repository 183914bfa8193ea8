//! The id under which a request is answered and logged.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::header::HeaderValue;

/// Sixteen hexadecimal digits: eight of the process, eight of the request. Never a client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct RequestId(u64);

/// Makes the ids of one process.
#[derive(Debug)]
pub(in crate::http) struct RequestIds {
    process: u64,
    last: AtomicU64,
}

impl RequestIds {
    /// Starts counting; another process counts elsewhere.
    pub(in crate::http) fn new() -> Self {
        Self {
            process: u64::from(rand::random::<u32>()) << 32,
            last: AtomicU64::new(0),
        }
    }

    /// The next id.
    pub(in crate::http) fn next(&self) -> RequestId {
        let count = self.last.fetch_add(1, Ordering::Relaxed) & u64::from(u32::MAX);
        RequestId(self.process | count)
    }
}

impl RequestId {
    /// Length of its text.
    pub(in crate::http) const DIGITS: usize = 16;

    /// Its text.
    pub(in crate::http) fn digits(self) -> [u8; Self::DIGITS] {
        let mut digits = [0; Self::DIGITS];
        hex::encode_to_slice(self.0.to_be_bytes(), &mut digits).expect("16 digits for 8 bytes");
        digits
    }

    /// The value of `X-Request-Id`.
    pub(in crate::http) fn header(self) -> HeaderValue {
        HeaderValue::from_bytes(&self.digits()).expect("hexadecimal digits are visible")
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
