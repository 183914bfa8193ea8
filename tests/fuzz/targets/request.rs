//! Whole connections: any bytes, in which `@TOKEN@` and `@COOKIE@` stand for credentials that count. Whatever is
//! asked is answered, with success or with one JSON object that says why not, and never with a failure.

use super::answer::Answer;
use super::scene::{cookie, tell, token};

/// What begins so is HTTP/2, which is not spoken: the connection ends without an answer.
const HTTP_2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) fn hold(input: &[u8]) {
    let said = with(input, b"@TOKEN@", token().as_bytes());
    let said = with(&said, b"@COOKIE@", cookie().as_bytes());
    let told = tell(&said);
    // A whole head is answered, by hyper if by nobody else.
    let is_whole = said.windows(4).any(|window| window == b"\r\n\r\n");
    let has_begun = said.first().is_some_and(u8::is_ascii_alphabetic) && !said.starts_with(HTTP_2);
    assert!(
        !is_whole || !has_begun || !told.answers.is_empty(),
        "no answer"
    );
    let is_taken = |answer: &Answer| matches!(answer.status, 200..=299);
    assert!(
        !told.changed || told.answers.iter().any(is_taken),
        "a refusal changed something"
    );
}

fn with(text: &[u8], mark: &[u8], value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.windows(mark.len()).position(|window| window == mark) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(value);
        rest = &rest[at + mark.len()..];
    }
    out.extend_from_slice(rest);
    out
}
