//! The head of an answer as hyper wrote it, for sending it again.

use super::date::DATE_BYTES;
use super::request_id::RequestId;

/// What the line of the date begins with.
const DATE: &[u8] = b"Date: ";

/// The head of an answer that leaves its connection open. Two of its values are another's each time:
/// the request's id and the date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AnswerHead {
    bytes: Box<[u8]>,
    id_at: usize,
    date_at: usize,
}

impl AnswerHead {
    /// Takes what was written for the request with this id; `None` if it is no whole head of HTTP/1.1,
    /// or says something about the connection, which is no matter of the answer.
    pub(super) fn new(written: &[u8], id: RequestId) -> Option<Self> {
        let (mut id_at, mut date_at) = (None, None);
        let mut start = 0;
        for line in written.split_inclusive(|&b| b == b'\n') {
            let text = line.strip_suffix(b"\r\n")?;
            let end = start + text.len();
            if text.is_empty() {
                break;
            } else if text.starts_with(b"Connection: ") {
                return None;
            } else if text.strip_prefix(b"X-Request-Id: ") == Some(&id.digits()) {
                id_at = Some(end - RequestId::DIGITS);
            } else if text.starts_with(DATE) && text.len() == DATE.len() + DATE_BYTES {
                date_at = Some(end - DATE_BYTES);
            }
            start += line.len();
        }
        let whole = written.starts_with(b"HTTP/1.1 ") && &written[start..] == b"\r\n";
        Some(Self {
            bytes: whole.then(|| written.into())?,
            id_at: id_at?,
            date_at: date_at?,
        })
    }

    /// The head for another request, at another time.
    pub(super) fn with(&self, id: RequestId, date: &[u8; DATE_BYTES]) -> Vec<u8> {
        let mut bytes = self.bytes.to_vec();
        bytes[self.id_at..][..RequestId::DIGITS].copy_from_slice(&id.digits());
        bytes[self.date_at..][..DATE_BYTES].copy_from_slice(date);
        bytes
    }

    /// Length in bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request_id::RequestIds;

    #[test]
    fn only_the_id_and_the_date_change() {
        let ids = RequestIds::new();
        let (first, second) = (ids.next(), ids.next());
        let text = |id: RequestId, date: &str| {
            format!("HTTP/1.1 304 Not Modified\r\nX-Request-Id: {id}\r\nDate: {date}\r\n\r\n")
        };
        let dates = [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Mon, 07 Nov 1994 18:59:00 GMT",
        ];
        let head = AnswerHead::new(text(first, dates[0]).as_bytes(), first).unwrap();
        let date = dates[1].as_bytes().try_into().unwrap();
        let sent = String::from_utf8(head.with(second, date)).unwrap();
        assert_eq!(sent, text(second, dates[1]));
    }

    #[test]
    fn what_is_no_lasting_head_is_not_taken() {
        let id = RequestIds::new().next();
        let lines = format!("X-Request-Id: {id}\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
        let taken = |text: String| AnswerHead::new(text.as_bytes(), id).is_some();
        assert!(taken(format!("HTTP/1.1 200 OK\r\n{lines}\r\n")));
        for text in [
            format!("HTTP/1.0 200 OK\r\n{lines}\r\n"),
            format!("HTTP/1.1 200 OK\r\n{lines}"),
            format!("HTTP/1.1 200 OK\r\n{lines}\r\nbody"),
            format!("HTTP/1.1 200 OK\r\nConnection: close\r\n{lines}\r\n"),
            format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n{lines}\r\n"),
            format!("HTTP/1.1 200 OK\r\nX-Request-Id: {id}\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n".to_owned(),
        ] {
            assert!(!taken(text.clone()), "{text}");
        }
    }
}
