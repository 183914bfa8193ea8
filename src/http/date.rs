//! The date of an answer.

use std::time::{Duration, SystemTime};

use httpdate::HttpDate;

use crate::base::clock::Timestamp;

/// Length of a date in a header, in bytes (RFC 9110 section 5.6.7).
pub(super) const DATE_BYTES: usize = 29;

/// The text of the present second, made once a second.
#[derive(Debug, Default)]
pub(super) struct DateText {
    second: Option<u64>,
    text: [u8; DATE_BYTES],
}

impl DateText {
    /// The text of this time.
    pub(super) fn at(&mut self, now: Timestamp) -> &[u8; DATE_BYTES] {
        // No year beyond 9999 has a text of this length, and none before 1970 has one at all.
        let second = u64::try_from(now.ms() / 1000).unwrap_or(0).min(LAST_SECOND);
        if self.second != Some(second) {
            let point = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
            let text = HttpDate::from(point).to_string();
            self.text.copy_from_slice(text.as_bytes());
            self.second = Some(second);
        }
        &self.text
    }
}

/// The last second of the year 9999.
const LAST_SECOND: u64 = 253_402_300_799;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_follows_the_second() {
        let mut date = DateText::default();
        for (ms, expected) in [
            (784_111_777_000, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (784_111_777_999, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (784_111_778_000, "Sun, 06 Nov 1994 08:49:38 GMT"),
            (-1, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (i64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            let text = date.at(Timestamp::from_ms(ms));
            assert_eq!(text, expected.as_bytes(), "{ms}");
        }
    }
}
