//! The content coding of an answer: compressed for clients that take it.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::HeaderMap;
use hyper::header::ACCEPT_ENCODING;

use crate::base::limits::COMPRESS_BYTES_MIN;

/// How the bytes of an answer stand for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::http) enum Coding {
    /// They are the answer.
    Identity,
    /// They are the answer compressed.
    Gzip,
}

impl Coding {
    /// The coding for a client that sent these headers.
    pub(in crate::http) fn accepted(headers: &HeaderMap) -> Self {
        if takes_gzip(headers) {
            Self::Gzip
        } else {
            Self::Identity
        }
    }

    /// The coding for an answer of so many bytes: what is short is not worth compressing.
    pub(in crate::http) fn worth_it(self, bytes: usize) -> Self {
        if bytes < COMPRESS_BYTES_MIN {
            Self::Identity
        } else {
            self
        }
    }

    /// Its name, in headers and in tags; that of the identity is not told.
    pub(in crate::http) fn name(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Gzip => Some("gzip"),
        }
    }

    /// The bytes as they are sent. The same bytes always give the same.
    pub(in crate::http) fn encode(self, bytes: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Identity => bytes,
            Self::Gzip => compressed(&bytes),
        }
    }
}

/// True if the request takes gzip (RFC 9110 section 12.5.3). Without a word about it, it does not.
fn takes_gzip(headers: &HeaderMap) -> bool {
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

fn compressed(bytes: &[u8]) -> Vec<u8> {
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
                takes_gzip(&headers.into_iter().collect()),
                expected,
                "{line}"
            );
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
