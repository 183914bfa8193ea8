//! The head of a request, byte for byte as the client sent it.

use std::borrow::Borrow;
use std::fmt;

use hyper::Uri;

/// What an answer is kept under. Whatever an answer depends on that the client says is in these bytes,
/// so equal heads have equal answers, and nothing needs to be parsed to tell. Holds the client's
/// secrets, so its debugging text is its length.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct RequestHead(Box<[u8]>);

impl RequestHead {
    /// Length of the head that these bytes begin with, up to and with its empty line; `None` where it
    /// does not end yet.
    ///
    /// Only lines that end as they should count, in `\r\n`: hyper takes a bare line feed too, and then
    /// two heads could pass for one.
    pub(super) fn length_in(bytes: &[u8]) -> Option<usize> {
        let mut length = 0;
        for line in bytes.split_inclusive(|&b| b == b'\n') {
            let text = line.strip_suffix(b"\r\n")?;
            if text.contains(&b'\r') {
                return None;
            }
            length += line.len();
            if text.is_empty() {
                return Some(length);
            }
        }
        None
    }

    /// The head that these bytes are.
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }

    /// Length in bytes.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// The target of the request that a head begins, for the log.
pub(super) fn target(head: &[u8]) -> Option<Uri> {
    let target = head.split(|&b| b == b' ').nth(1)?;
    Uri::try_from(target).ok()
}

impl Borrow<[u8]> for RequestHead {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for RequestHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestHead({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_ends_with_its_empty_line() {
        let whole = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        for (bytes, expected) in [
            (whole.to_owned(), Some(whole.len())),
            (format!("{whole}rest"), Some(whole.len())),
            (format!("{whole}{whole}"), Some(whole.len())),
            (whole[..whole.len() - 1].to_owned(), None),
            (whole[..whole.len() - 2].to_owned(), None),
            (String::new(), None),
            // hyper would find two requests here.
            (format!("GET / HTTP/1.1\nHost: a\n\n{whole}"), None),
            (format!("GET / HTTP/1.1\r\nHost: a\n\r\n{whole}"), None),
            (format!("GET / HTTP/1.1\r\nHost: a\r\n\n{whole}"), None),
            (format!("GET / HTTP/1.1\r\nHost: a\r\r\n\r\n{whole}"), None),
            // It skips empty lines before a request.
            (format!("\r\n{whole}"), Some(2)),
        ] {
            assert_eq!(
                RequestHead::length_in(bytes.as_bytes()),
                expected,
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn what_it_holds_is_not_shown() {
        let head = RequestHead::new(b"GET / HTTP/1.1\r\nPRIVATE-TOKEN: secret\r\n\r\n".to_vec());
        assert_eq!(format!("{head:?}"), "RequestHead(41 bytes)");
    }
}
