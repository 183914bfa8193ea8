//! What a connection's socket and its service tell each other about the request between them. hyper,
//! which stands between the two, shows the one no request and the other no bytes.

use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::StatusCode;
use hyper::body::{Body, Frame, SizeHint};

use super::answer_head::AnswerHead;
use super::kept_body::KeptBody;
use super::reply::ReplyBody;
use super::request_head::RequestHead;
use super::request_id::RequestId;
use super::warm::{Kept, Standing};
use crate::base::limits::WARM_HEAD_BYTES_MAX;

/// The request that a connection is busy with; both sides hold it.
///
/// hyper *rests* when it has no request and no bytes of one. It tells nobody, but it cannot be
/// otherwise when (1) the bytes it was given since its last rest are, to the byte, the head of one
/// request and the body that it announced; (2) that request's answer has no body any more, for hyper
/// drops it when it has taken the last of it; and (3) it flushes, which it does only with nothing left
/// to write. Where (1) does not hold at such a moment, as after requests sent without waiting for
/// answers, the connection never counts as resting again, and hyper does all.
#[derive(Clone, Debug, Default)]
pub(super) struct Exchange(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    given: Given,
    asked: Option<Asked>,
}

/// The bytes that hyper was given since it rested.
#[derive(Debug, Default)]
struct Given {
    /// The first of them.
    start: Vec<u8>,
    count: u64,
}

/// A request that the service has seen.
#[derive(Debug)]
struct Asked {
    /// Length of its body in bytes, `None` when it comes in chunks.
    body: Option<u64>,
    /// True when hyper has all of the answer.
    answered: bool,
    lasting: Option<Lasting>,
    /// The answer's head as hyper wrote it, only where the answer lasts.
    head: Option<AnswerHead>,
}

/// What the service knows of an answer that may be kept.
#[derive(Debug)]
pub(super) struct Lasting {
    pub(super) id: RequestId,
    pub(super) standing: Standing,
    pub(super) status: StatusCode,
    pub(super) body: KeptBody,
}

/// How far a connection is when hyper has nothing left to write.
#[derive(Debug)]
pub(super) enum Progress {
    /// A request is being answered.
    Answering,
    /// One was answered just now; the answer, where it may be kept.
    Answered(Option<(RequestHead, Kept)>),
    /// The next request is awaited.
    Waiting,
}

impl Exchange {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic while held")
    }

    /// True if hyper has no request and no bytes of one.
    pub(super) fn is_at_rest(&self) -> bool {
        let state = self.state();
        state.asked.is_none() && state.given.count == 0
    }

    /// Takes note of bytes that hyper is given.
    pub(super) fn give(&self, bytes: &[u8]) {
        let given = &mut self.state().given;
        let room = WARM_HEAD_BYTES_MAX - given.start.len();
        let noted = bytes.len().min(room);
        given.start.extend_from_slice(&bytes[..noted]);
        given.count += bytes.len() as u64;
    }

    /// Takes note of a request that the service begins to answer, with a body of this many bytes;
    /// `None` when it comes in chunks.
    pub(super) fn begin(&self, body: Option<u64>) {
        self.state().asked = Some(Asked {
            body,
            answered: false,
            lasting: None,
            head: None,
        });
    }

    /// Offers the answer to the request begun for being kept.
    pub(super) fn offer(&self, lasting: Lasting) {
        if let Some(asked) = &mut self.state().asked {
            asked.lasting = Some(lasting);
        }
    }

    /// The answer's body, watched for its end.
    pub(super) fn watched(&self, body: ReplyBody) -> WatchedBody {
        WatchedBody {
            body,
            exchange: self.clone(),
        }
    }

    /// Takes note of what hyper writes. The first write of an answer begins with its whole head.
    pub(super) fn written(&self, bytes: &[u8]) {
        if let Some(asked) = &mut self.state().asked
            && asked.head.is_none()
            && let Some(lasting) = &asked.lasting
        {
            asked.head = AnswerHead::new(bytes, lasting.id);
            if asked.head.is_none() {
                asked.lasting = None;
            }
        }
    }

    /// Takes note that hyper has nothing left to write.
    pub(super) fn flushed(&self) -> Progress {
        let mut state = self.state();
        let Some(asked) = state.asked.take_if(|asked| asked.answered) else {
            return match state.asked {
                Some(_) => Progress::Answering,
                None => Progress::Waiting,
            };
        };
        if !state.given.is_one_request(asked.body) {
            return Progress::Answered(None);
        }
        let given = mem::take(&mut state.given);
        Progress::Answered(asked.kept(given))
    }
}

impl Given {
    /// True if the bytes are one request with a body of this length, and nothing more.
    fn is_one_request(&self, body: Option<u64>) -> bool {
        let head = RequestHead::length_in(&self.start);
        head.zip(body)
            .is_some_and(|(head, body)| self.count == (head as u64).saturating_add(body))
    }
}

impl Asked {
    /// The answer to the request that these bytes are, where it may be kept. A body is not part of
    /// what an answer is kept under.
    fn kept(self, given: Given) -> Option<(RequestHead, Kept)> {
        let Lasting {
            standing,
            status,
            body,
            ..
        } = self.lasting?;
        let kept = Kept {
            standing,
            status,
            head: self.head?,
            body,
        };
        (self.body == Some(0)).then(|| (RequestHead::new(given.start), kept))
    }
}

/// A body whose end the exchange learns.
#[derive(Debug)]
pub(super) struct WatchedBody {
    body: ReplyBody,
    exchange: Exchange,
}

impl Drop for WatchedBody {
    fn drop(&mut self) {
        if let Some(asked) = &mut self.exchange.state().asked {
            asked.answered = true;
        }
    }
}

impl Body for WatchedBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<std::io::Result<Frame<Bytes>>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Timestamp;
    use crate::http::reply::Reply;
    use crate::http::request_id::RequestIds;

    const HEAD: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    /// Answers a request whose bytes were given; what the flush after it tells.
    fn answered(exchange: &Exchange, body: Option<u64>) -> Progress {
        exchange.begin(body);
        assert!(!exchange.is_at_rest());
        assert!(matches!(exchange.flushed(), Progress::Answering));
        let id = RequestIds::new().next();
        let response = Reply::empty(StatusCode::OK).into_response(id, false, false);
        drop(response.map(|body| exchange.watched(body)));
        exchange.flushed()
    }

    #[test]
    fn a_connection_rests_after_whole_requests() {
        let exchange = Exchange::default();
        assert!(exchange.is_at_rest());
        for (pieces, body) in [
            (&[HEAD][..], 0),
            (&[&HEAD[..5], &HEAD[5..]], 0),
            (&[HEAD, b"abc"], 3),
            (&[HEAD, &[b'x'; 5000], &[b'y'; 5000]], 10_000),
        ] {
            for piece in pieces {
                exchange.give(piece);
                assert!(!exchange.is_at_rest());
                assert!(matches!(exchange.flushed(), Progress::Waiting));
            }
            assert!(matches!(
                answered(&exchange, Some(body)),
                Progress::Answered(None)
            ));
            assert!(exchange.is_at_rest(), "{body}");
        }
    }

    #[test]
    fn it_never_rests_again_after_anything_else() {
        let long = [&b"GET / HTTP/1.1\r\nA: "[..], &[b'a'; 4000], b"\r\n\r\n"].concat();
        for (given, body) in [
            ([HEAD, HEAD].concat(), Some(0)),
            ([HEAD, b"abcd"].concat(), Some(3)),
            ([HEAD, b"0\r\n\r\n"].concat(), None),
            (long, Some(0)),
        ] {
            let exchange = Exchange::default();
            exchange.give(&given);
            for _ in 0..2 {
                assert!(matches!(
                    answered(&exchange, body),
                    Progress::Answered(None)
                ));
                assert!(!exchange.is_at_rest());
            }
        }
    }

    #[test]
    fn what_is_kept_is_what_came_and_what_went() {
        let exchange = Exchange::default();
        let id = RequestIds::new().next();
        let written = format!(
            "HTTP/1.1 200 OK\r\nX-Request-Id: {id}\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n"
        );
        let answer = |offered: bool, written: &[u8]| {
            exchange.give(HEAD);
            exchange.begin(Some(0));
            if offered {
                exchange.offer(Lasting {
                    id,
                    standing: Standing {
                        generation: 1,
                        until: Timestamp::from_ms(1),
                        trusted: false,
                    },
                    status: StatusCode::OK,
                    body: KeptBody::Bytes(Bytes::from_static(b"body")),
                });
            }
            exchange.written(written);
            exchange.written(b"body");
            exchange.state().asked.as_mut().unwrap().answered = true;
            match exchange.flushed() {
                Progress::Answered(answer) => answer,
                other => panic!("{other:?}"),
            }
        };
        let (head, kept) = answer(true, written.as_bytes()).unwrap();
        assert_eq!(head, RequestHead::new(HEAD.to_vec()));
        assert_eq!(Some(kept.head), AnswerHead::new(written.as_bytes(), id));
        assert_eq!(kept.body.len(), 4);
        assert!(answer(false, written.as_bytes()).is_none());
        assert!(answer(true, &written.as_bytes()[1..]).is_none());
    }
}
