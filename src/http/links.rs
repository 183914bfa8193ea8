//! Links to further pages: the request's own address with other parameters (contract section 5).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::call::Call;
use crate::base::secret::Secret;

/// What a segment of a path and a value of a query hold unescaped.
pub(super) const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Parameters that say which page; a link sets them itself.
const PAGE_KEYS: [&str; 3] = ["page", "per_page", "page_token"];

/// Parameters under which clients of GitLab may send a token. This service does not read them, and
/// shows them to nobody.
const TOKEN_KEYS: [&str; 4] = ["private_token", "access_token", "job_token", "token"];

/// The absolute address of the same list, in the same spelling of its path and with all its
/// parameters, also those of a form, but with these for the page.
pub(super) fn page_url(call: &Call, page: &[(&str, &str)]) -> String {
    let mut url = call.base_url();
    // Clients split the header at these before they look for the brackets.
    for c in call.head.uri.path().chars() {
        match c {
            ',' => url.push_str("%2C"),
            ';' => url.push_str("%3B"),
            '<' => url.push_str("%3C"),
            '>' => url.push_str("%3E"),
            '"' => url.push_str("%22"),
            c if c.is_ascii_graphic() => url.push(c),
            c => url.extend(utf8_percent_encode(c.encode_utf8(&mut [0; 4]), UNRESERVED)),
        }
    }
    let kept = call.query.merged().filter(|(key, value)| {
        !PAGE_KEYS.contains(key)
            && !TOKEN_KEYS.contains(key)
            && Secret::parse(value.as_bytes()).is_none()
    });
    let mut separator = '?';
    for (key, value) in kept.chain(page.iter().copied()) {
        url.push(separator);
        url.extend(utf8_percent_encode(key, UNRESERVED));
        url.push('=');
        url.extend(utf8_percent_encode(value, UNRESERVED));
        separator = '&';
    }
    url
}
