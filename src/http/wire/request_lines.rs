//! The lines with which requests begin, as the client wrote them: hyper drops a `#` and what follows it from a
//! target, and nothing it hands over tells that there was any.

use std::collections::VecDeque;
use std::{io, mem};

use crate::base::limits::REQUEST_HEAD_BYTES_MAX;

/// Longest line that is kept until its end comes. hyper has refused a head before it has taken so much.
const LINE_BYTES_MAX: usize = 2 * REQUEST_HEAD_BYTES_MAX;
/// More than the name of a header that counts has.
const NAME_BYTES_MAX: usize = 64;
/// Most requests that are known ahead of hyper: more than there can be in what it takes at once.
const AHEAD_MAX: usize = REQUEST_HEAD_BYTES_MAX;

/// Follows the bytes of a connection from one request to the next, by the rules by which hyper does. Where hyper
/// would not go on, what is made of the rest does not matter.
#[derive(Debug, Default)]
pub(super) struct RequestLines {
    /// Bytes of a body that come before the next line.
    skip: u64,
    /// What the next line is.
    next: Line,
    /// The beginning of a line whose end is to come, as far as it counts.
    begun: Vec<u8>,
    /// The length that the head announces for its body.
    length: u64,
    is_chunked: bool,
    /// For each request whose line has come and which hyper has not handed over: whether its target has a `#`.
    ahead: VecDeque<bool>,
    /// True behind a body of which hyper may make something else: no line that follows is known.
    is_lost: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum Line {
    /// The first of a request, or an empty one before it.
    #[default]
    Request,
    /// One of a head, or the empty one behind it.
    Header,
    /// The one before a chunk, with its size.
    ChunkSize,
    /// One behind the last chunk, or the empty one at the end of the body.
    Trailer,
}

impl RequestLines {
    /// Takes the next bytes of the connection.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] for what is no HTTP and would take much memory.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !self.is_lost {
            let skipped = usize::try_from(self.skip).map_or(bytes.len(), |n| n.min(bytes.len()));
            self.skip -= skipped as u64;
            bytes = &bytes[skipped..];
            let Some(end) = bytes.iter().position(|&b| b == b'\n') else {
                self.begin_line(bytes);
                break;
            };
            if self.begun.is_empty() {
                self.end_line(&bytes[..end]);
            } else {
                let mut line = mem::take(&mut self.begun);
                line.extend_from_slice(&bytes[..end]);
                self.end_line(&line);
            }
            bytes = &bytes[end + 1..];
        }
        if self.begun.len() > LINE_BYTES_MAX || self.ahead.len() > AHEAD_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(())
    }

    /// True if the target of the request that hyper hands over now has a `#`, or may have one. To be asked once for
    /// each.
    pub(super) fn next_has_fragment(&mut self) -> bool {
        self.ahead.pop_front().unwrap_or(self.is_lost)
    }

    /// Keeps the beginning of a line, as far as it counts: hyper keeps it, too, and a client may take its time.
    fn begin_line(&mut self, bytes: &[u8]) {
        self.begun.extend_from_slice(bytes);
        let find = |wanted| self.begun.iter().position(|&b| b == wanted);
        match self.next {
            Line::Request => {
                if let Some(space) = find(b' ') {
                    let has_fragment = self.begun[space..].contains(&b'#');
                    self.begun = if has_fragment { b" #" } else { &b" "[..] }.to_vec();
                }
            }
            Line::Header if self.begun.len() > NAME_BYTES_MAX => {
                let name = &self.begun[..find(b':').unwrap_or(self.begun.len())];
                if !tells_length(name) {
                    self.begun.truncate(NAME_BYTES_MAX);
                    self.begun.shrink_to_fit();
                }
            }
            _ => {}
        }
    }

    fn end_line(&mut self, line: &[u8]) {
        let stripped = line.strip_suffix(b"\r");
        // hyper takes such an LF for a part of the line, or refuses it.
        self.is_lost = stripped.is_none() && matches!(self.next, Line::ChunkSize | Line::Trailer);
        let line = stripped.unwrap_or(line);
        match self.next {
            Line::Request if line.is_empty() => {}
            Line::Request => {
                // A method may have one, too.
                let mut target = line.iter().skip_while(|&&b| b != b' ');
                self.ahead.push_back(target.any(|&b| b == b'#'));
                (self.length, self.is_chunked) = (0, false);
                self.next = Line::Header;
            }
            Line::Header if !line.is_empty() => self.note_header(line),
            Line::Header if self.is_chunked => self.next = Line::ChunkSize,
            Line::Header => {
                self.skip = self.length;
                self.next = Line::Request;
            }
            Line::ChunkSize => match chunk_size(line) {
                0 => self.next = Line::Trailer,
                // The end of the line behind it, too.
                size => self.skip = size.saturating_add(2),
            },
            Line::Trailer if line.is_empty() => self.next = Line::Request,
            Line::Trailer => {}
        }
    }

    /// Notes what a header says of the length of the body. Chunks count before a length.
    fn note_header(&mut self, line: &[u8]) {
        let Some(colon) = line.iter().position(|&b| b == b':') else {
            return;
        };
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.is_chunked = true;
        } else if name.eq_ignore_ascii_case(b"content-length") {
            let digits = std::str::from_utf8(value.trim_ascii()).unwrap_or_default();
            self.length = digits.parse().unwrap_or_default();
        }
    }
}

/// True for the name of a header that tells where the body ends.
fn tells_length(name: &[u8]) -> bool {
    [&b"transfer-encoding"[..], b"content-length"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// The size that begins the line before a chunk.
fn chunk_size(line: &[u8]) -> u64 {
    let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let digits = std::str::from_utf8(&line[..digits]).unwrap_or_default();
    u64::from_str_radix(digits, 16).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of each request in these bytes, which come so many at a time.
    fn fragments(bytes: &str, at_a_time: usize) -> Vec<bool> {
        let mut lines = RequestLines::default();
        for piece in bytes.as_bytes().chunks(at_a_time) {
            lines.read(piece).unwrap();
        }
        lines.ahead.into()
    }

    #[test]
    fn each_request_line_is_seen_and_nothing_else() {
        for (bytes, expected) in [
            ("GET /a HTTP/1.1\r\n\r\n", &[false][..]),
            ("GET /a#b HTTP/1.1\r\n\r\n", &[true]),
            (
                "GET /a?b#c HTTP/1.1\n\n\r\n\nGET / HTTP/1.1\n\n",
                &[true, false],
            ),
            ("GET / HTTP/1.1\r\nX: #\r\n\r\nGET /#", &[false]),
            ("G#T / HTTP/1.1\r\n\r\n", &[false]),
            (
                "PUT / HTTP/1.1\r\ncontent-LENGTH:  12 \r\n\r\nGET /# HTTP\nGET /# HTTP/1.1\r\n\r\n",
                &[false, true],
            ),
            (
                "PUT /# HTTP/1.1\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n\
                 0000B;x=#\r\nA /# HTTP\n\n\r\n1\r\n#\r\n0\r\nA: #\r\nB /#: c\r\n\r\nGET / HTTP/1.1\r\n\r\n",
                &[true, false],
            ),
        ] {
            for at_a_time in [1, 2, 7, bytes.len()] {
                assert_eq!(
                    fragments(bytes, at_a_time),
                    expected,
                    "{bytes:?} {at_a_time}"
                );
            }
        }
    }

    /// hyper reads on to the end of the line in CR and LF, and may take another part of it for the next request.
    #[test]
    fn what_follows_a_body_in_chunks_with_lf_alone_is_taken_for_a_fragment() {
        let head = "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n";
        for rest in ["0\n", "0\r\n\n", "0\r\nX: y\n\nGET / HTTP/1.1\r\n\r\n"] {
            let mut lines = RequestLines::default();
            lines.read(head.as_bytes()).unwrap();
            lines.read(rest.as_bytes()).unwrap();
            lines.read(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            let told = [(); 3].map(|()| lines.next_has_fragment());
            assert_eq!(told, [false, true, true], "{rest:?}");
        }
    }

    #[test]
    fn a_line_that_takes_its_time_takes_no_memory() {
        let long = "x".repeat(1000);
        for (begin, end, expected) in [
            ("GET /", "#y HTTP/1.1\r\n\r\n", &[true][..]),
            ("GET /#", "y HTTP/1.1\r\n\r\n", &[true]),
            ("GET / HTTP/1.1\r\nX: ", "#\r\n\r\nGET /# HTTP", &[false]),
            (
                "GET / HTTP/1.1\r\nX",
                ": #\r\n\r\nGET /# HTTP/1.1\r\n",
                &[false, true],
            ),
        ] {
            let mut lines = RequestLines::default();
            lines.read(begin.as_bytes()).unwrap();
            for _ in 0..1000 {
                lines.read(long.as_bytes()).unwrap();
                assert!(lines.begun.capacity() <= 2 * NAME_BYTES_MAX + long.len());
            }
            assert!(lines.begun.len() <= NAME_BYTES_MAX);
            lines.read(end.as_bytes()).unwrap();
            assert_eq!(Vec::from(lines.ahead), expected, "{begin}");
        }
    }

    #[test]
    fn what_is_no_http_takes_no_memory() {
        let mut lines = RequestLines::default();
        lines.read(&b"x".repeat(LINE_BYTES_MAX)).unwrap();
        lines.read(b"x").unwrap_err();
        let mut lines = RequestLines::default();
        let request = b"GET / HTTP/1.1\n\n";
        lines.read(&request.repeat(AHEAD_MAX)).unwrap();
        lines.read(request).unwrap_err();
    }
}
