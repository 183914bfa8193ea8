//! Percent-encoding of a path segment, as clients do it.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but RFC 3986's unreserved characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Encodes text so that it is one segment, slashes included.
pub(crate) fn segment(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}
