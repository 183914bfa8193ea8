//! Answers as a client reads them, and what holds of each.

use std::io::Read as _;
use std::mem;

use flate2::read::GzDecoder;
use serde_json::Value;

/// Every status that the contract has, but those of a failure: nothing fails here.
const STATUSES: [u16; 22] = [
    200, 201, 204, 206, 303, 304, 400, 401, 403, 404, 405, 408, 412, 413, 414, 415, 416, 417, 421,
    429, 431, 501,
];
/// What is more than any answer here can be.
const BYTES_MAX: u64 = 16 << 20;

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// As it was sent, chunks put together.
    pub(crate) body: Vec<u8>,
    /// True if it says how long a body is, which is not there.
    pub(crate) is_head: bool,
}

impl Answer {
    /// The value of a header, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as it was before it was compressed.
    pub(crate) fn plain(&self) -> Vec<u8> {
        if self.header("content-encoding") != Some("gzip") || self.body.is_empty() {
            return self.body.clone();
        }
        let mut plain = Vec::new();
        let mut inflated = GzDecoder::new(self.body.as_slice()).take(BYTES_MAX);
        inflated.read_to_end(&mut plain).expect("it is gzip");
        plain
    }
}

/// The answers on a connection from its beginning to its end.
pub(crate) fn answers(mut heard: &[u8]) -> Vec<Answer> {
    let mut answers = Vec::new();
    while !heard.is_empty() {
        let answer = answer(&mut heard);
        // That a body is awaited is no answer.
        if answer.status != 100 {
            hold(&answer);
            answers.push(answer);
        }
    }
    answers
}

fn answer(heard: &mut &[u8]) -> Answer {
    let end = find(heard, b"\r\n\r\n").expect("a head has an end");
    let head = std::str::from_utf8(&heard[..end]).expect("a head is text");
    *heard = &heard[end + 4..];
    let mut lines = head.split("\r\n");
    let first = lines.next().expect("a status line");
    let version = first
        .strip_prefix("HTTP/1.1 ")
        .or(first.strip_prefix("HTTP/1.0 "));
    let status = version.expect("a status line").get(..3);
    let status = status.and_then(|digits| digits.parse().ok());
    let header = |line: &str| {
        let (name, value) = line.split_once(": ").expect("a header line");
        (name.to_ascii_lowercase(), value.to_owned())
    };
    let mut answer = Answer {
        status: status.expect("a status"),
        headers: lines.map(header).collect(),
        body: Vec::new(),
        is_head: false,
    };
    let length = answer.header("content-length").map(str::parse);
    let length: Option<usize> = length.map(|length| length.expect("a length"));
    let nothing_follows = heard.is_empty() || heard.starts_with(b"HTTP/1.");
    let is_stream = length.is_none() && !matches!(answer.status, 100 | 204 | 304);
    let length = length.unwrap_or(0);
    if answer.header("transfer-encoding") == Some("chunked") && !nothing_follows {
        answer.body = unchunked(heard);
    } else if is_stream && first.starts_with("HTTP/1.0 ") && !nothing_follows {
        // HTTP/1.0 knows no chunks: what has no length ends with the connection.
        answer.body = mem::take(heard).to_vec();
    } else if length > 0 && nothing_follows {
        answer.is_head = true;
    } else if answer.status != 304 {
        assert!(length <= heard.len(), "an answer breaks off");
        answer.body = heard[..length].to_vec();
        *heard = &heard[length..];
    }
    answer
}

fn unchunked(heard: &mut &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = find(heard, b"\r\n").expect("a chunk's size");
        let size = std::str::from_utf8(&heard[..end]).expect("a chunk's size");
        let size = usize::from_str_radix(size, 16).expect("a chunk's size");
        let chunk = &heard[end + 2..];
        body.extend_from_slice(&chunk[..size]);
        assert_eq!(&chunk[size..size + 2], b"\r\n");
        *heard = &chunk[size + 2..];
        if size == 0 {
            return body;
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// What holds of every answer.
fn hold(answer: &Answer) {
    let status = answer.status;
    assert!(STATUSES.contains(&status), "status {status}");
    if answer.header("x-request-id").is_none() {
        // What hyper refuses has no more than a status.
        assert!(matches!(status, 400 | 414 | 431), "status {status}");
        assert!(answer.body.is_empty());
        return;
    }
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("server"), None);
    if matches!(status, 204 | 304) || answer.is_head {
        return assert!(answer.body.is_empty(), "status {status} has a body");
    }
    let plain = answer.plain();
    if status >= 400 {
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let told: Value = serde_json::from_slice(&plain).expect("it is JSON");
        let told = told.as_object().expect("an object");
        let message = told["message"].as_str().expect("a text");
        assert!(!message.is_empty() && message.len() < 64 << 10);
    } else if answer.header("content-type") == Some("application/json") && status != 206 {
        drop(serde_json::from_slice::<Value>(&plain).expect("it is JSON"));
    }
}
