//! Compression of JSON answers for clients that take it.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::HeaderMap;
use hyper::header::ACCEPT_ENCODING;

/// True if the request takes gzip (RFC 9110 section 12.5.3). Without a word about it, it does not.
pub(in crate::http) fn is_accepted(headers: &HeaderMap) -> bool {
    let mut named = None;
    let mut any = None;
    let members = headers
        .get_all(ACCEPT_ENCODING)
        .into_iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','));
    for member in members {
        let mut parts = member.split(';').map(str::trim);
        let coding = parts.next().unwrap_or_default();
        let wanted = parts.all(|weight| !is_zero(weight));
        if coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip") {
            named = Some(wanted);
        } else if coding == "*" {
            any = Some(wanted);
        }
    }
    named.or(any).unwrap_or(false)
}

/// True for a weight of nothing: `q=0`, `q=0.000`.
fn is_zero(weight: &str) -> bool {
    let value = weight
        .strip_prefix("q=")
        .or_else(|| weight.strip_prefix("Q="));
    value.is_some_and(|value| value.parse::<f32>().is_ok_and(|value| value <= 0.0))
}

/// What compresses bytes into a buffer.
pub(in crate::http) fn encoder(into: Vec<u8>) -> GzEncoder<Vec<u8>> {
    // Listings are ids and paths: a higher level costs several times as much for a few per cent.
    GzEncoder::new(into, Compression::new(3))
}

/// Compresses bytes. The same bytes always give the same.
pub(in crate::http) fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = encoder(Vec::with_capacity(bytes.len() / 3));
    encoder
        .write_all(bytes)
        .and_then(|()| encoder.finish())
        .expect("a vector takes everything")
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn gzip_is_taken_by_who_says_so() {
        for (line, expected) in [
            ("gzip", true),
            ("GZIP", true),
            ("gzip, deflate, br", true),
            ("br;q=1.0, gzip;q=0.5", true),
            ("*", true),
            ("x-gzip", true),
            ("gzip;q=0", false),
            ("gzip; q=0.00, *", false),
            ("*;q=0", false),
            ("deflate", false),
            ("identity", false),
            ("", false),
        ] {
            let headers = [(ACCEPT_ENCODING, HeaderValue::from_static(line))];
            assert_eq!(
                is_accepted(&headers.into_iter().collect()),
                expected,
                "{line}"
            );
        }
        assert!(!is_accepted(&HeaderMap::new()));
    }
}
