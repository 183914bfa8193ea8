//! The path of a request: split first, decoded after, so that an encoded slash stays in its segment.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use crate::http::error::Error;

/// Room for so many segments is taken at once: few paths have more.
const SEGMENTS_USUAL: usize = 16;

/// The decoded segments of an undecoded path. Runs of `/` and one at the end make no segment; `+` is
/// a plus (contract section 1).
///
/// # Errors
/// A bad escape, or bytes that are not UTF-8.
pub(in crate::http) fn segments(path: &str) -> Result<Vec<Cow<'_, str>>, Error> {
    let parts = path.split('/').filter(|segment| !segment.is_empty());
    let mut segments = Vec::with_capacity(SEGMENTS_USUAL);
    for part in parts {
        segments.push(decode(part)?);
    }
    Ok(segments)
}

/// Decodes percent escapes once.
///
/// # Errors
/// A bad escape, or bytes that are not UTF-8.
pub(in crate::http) fn decode(text: &str) -> Result<Cow<'_, str>, Error> {
    if !text.contains('%') {
        return Ok(Cow::Borrowed(text));
    }
    let escapes_fine = text
        .split('%')
        .skip(1)
        .all(|rest| rest.len() >= 2 && rest.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit));
    if !escapes_fine {
        return Err(Error::malformed(
            "malformed percent escape: \"%\" must be followed by two hexadecimal digits",
        ));
    }
    percent_decode_str(text)
        .decode_utf8()
        .map_err(|_| Error::malformed("malformed percent escape: the decoded bytes are not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_separate_only_where_they_are_not_encoded() {
        for (path, expected) in [
            ("", vec![]),
            ("/", vec![]),
            ("/a/b", vec!["a", "b"]),
            ("//a//b/", vec!["a", "b"]),
            ("/a%2Fb/c", vec!["a/b", "c"]),
            ("/a%2fb%252Fc", vec!["a/b%2Fc"]),
            ("/a+b%2Bc%20d", vec!["a+b+c d"]),
            ("/%D1%8F/я", vec!["я", "я"]),
            ("/%2E%2e/.", vec!["..", "."]),
        ] {
            assert_eq!(segments(path).unwrap(), expected, "{path}");
        }
    }

    #[test]
    fn bad_escapes_and_bytes_are_refused() {
        for path in [
            "/%",
            "/%z",
            "/%zz",
            "/%2",
            "/a%",
            "/%u002e",
            "/%c0%ae",
            "/%ff",
            "/%ed%a0%80",
            "/%e2%82",
            "/a/%д0",
        ] {
            assert!(segments(path).is_err(), "{path} was accepted");
        }
    }
}
