//! The body of a request: read with a bound and a patience, or refused unread.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use hyper::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, EXPECT, TRANSFER_ENCODING,
};
use hyper::http::request::Parts;
use tokio::time::{Instant, timeout};

use crate::base::limits::{
    BODY_IN_MEMORY_S_MAX, INLINE_BYTES_MAX, REFUSED_BODY_BYTES_MAX, SLOW_BODY_BYTES,
};
use crate::base::name_error::shortened;
use crate::http::admission::bodies::BodyShare;
use crate::http::admission::patience::Patience;
use crate::http::error::Error;
use crate::http::settings::Limits;

const JSON: &str = "application/json";

/// How long a refused body that is small enough is waited for, so that the connection can go on.
const REFUSED_BODY_WAIT: Duration = Duration::from_secs(1);

/// A body on its way in. hyper asks a client that waits for `100 Continue` to go on with the first
/// read, so whatever can refuse a request comes before it.
#[derive(Debug)]
pub(in crate::http) struct RequestBody {
    incoming: Incoming,
    client_waits: bool,
    state: State,
    patience: Patience,
    /// For a body that is taken as a whole, in seconds.
    whole_s: u64,
    /// For any other, since when it comes, and how long it may.
    since: Instant,
    longest: Duration,
    /// What it holds of the memory for bodies, until the request is answered.
    memory: Option<BodyShare>,
}

/// How far a body was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Coming,
    Ended,
    Failed,
}

impl RequestBody {
    /// Takes the body of a request with this head.
    pub(in crate::http) fn new(incoming: Incoming, head: &Parts, limits: &Limits) -> Self {
        Self {
            patience: Patience::for_steady(limits.upload_grace_s, limits.upload_bytes_s_min),
            whole_s: limits.body_s_max,
            since: Instant::now(),
            longest: Duration::from_secs(limits.upload_s_max),
            memory: None,
            incoming,
            client_waits: head.headers.contains_key(EXPECT),
            state: State::Coming,
        }
    }

    /// Counts what it takes of the memory for bodies from now on.
    pub(in crate::http) fn count(&mut self, memory: BodyShare) {
        self.memory = Some(memory);
    }

    /// Refuses what there is no memory for now, before it comes. None is taken: who sends nothing keeps nobody
    /// out.
    ///
    /// # Errors
    /// As [`BodyShare::grow_to`].
    pub(in crate::http) fn check_room(&self, bytes: u64) -> Result<(), Error> {
        match &self.memory {
            Some(memory) => memory.check(bytes),
            None => Ok(()),
        }
    }

    /// Takes as much memory as so many bytes.
    ///
    /// # Errors
    /// As [`BodyShare::grow_to`].
    pub(in crate::http) fn hold(&mut self, bytes: u64) -> Result<(), Error> {
        match &mut self.memory {
            Some(memory) => memory.grow_to(bytes),
            None => Ok(()),
        }
    }

    /// How many bytes it announces; `None` when it is sent in chunks.
    pub(in crate::http) fn announced(&self) -> Option<u64> {
        self.incoming.size_hint().exact()
    }

    /// True for a body that is here at once or soon: it announces no more bytes than a row of the store
    /// holds, and its client does not wait to be asked for it.
    pub(in crate::http) fn is_short(&self) -> bool {
        let announced = self.announced();
        !self.client_waits && announced.is_some_and(|bytes| bytes <= INLINE_BYTES_MAX as u64)
    }

    /// Refuses a body where none belongs.
    pub(in crate::http) fn refuse(&self) -> Result<(), Error> {
        if self.announced() == Some(0) {
            return Ok(());
        }
        Err(Error::malformed("this request must not have a body"))
    }

    /// Refuses a body that announces more than this many bytes.
    pub(in crate::http) fn refuse_above(&self, limit_bytes: u64) -> Result<(), Error> {
        match self.announced() {
            Some(bytes) if bytes > limit_bytes => Err(Error::TooLarge { limit_bytes }),
            _ => Ok(()),
        }
    }

    /// The next bytes, `None` at the end.
    ///
    /// # Errors
    /// [`Error::SlowBody`] when they do not come in time, [`Error::BrokenBody`] when it ends early.
    pub(in crate::http) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let next = self.next_frame().await;
        match next {
            Ok(Some(_)) => {}
            Ok(None) => self.state = State::Ended,
            Err(_) => self.state = State::Failed,
        }
        next
    }

    async fn next_frame(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let since = Instant::now();
            let longest = self.longest.saturating_sub(since - self.since);
            let left = self.patience.left().min(longest);
            let frame = timeout(left, self.incoming.frame())
                .await
                .map_err(|_| Error::SlowBody)?;
            let Some(frame) = frame else {
                return Ok(None);
            };
            let frame = frame.map_err(|_| Error::BrokenBody)?;
            // Trailers say nothing to this service.
            if let Ok(bytes) = frame.into_data() {
                self.patience.received(bytes.len(), since.elapsed());
                return Ok(Some(bytes));
            }
        }
    }

    /// The whole body, which must be there within one time.
    ///
    /// # Errors
    /// As [`RequestBody::next`], and [`Error::TooLarge`] above this many bytes.
    pub(in crate::http) async fn collect_soon(&mut self, limit_bytes: u64) -> Result<Bytes, Error> {
        self.patience = Patience::for_whole(self.whole_s);
        self.collect(limit_bytes).await
    }

    /// The whole body, which must keep on coming.
    ///
    /// # Errors
    /// As [`RequestBody::next`], and [`Error::TooLarge`] above this many bytes; those of [`RequestBody::hold`].
    ///
    /// # Limits
    /// [`BODY_IN_MEMORY_S_MAX`], and it must come so fast all the time.
    pub(in crate::http) async fn collect(&mut self, limit_bytes: u64) -> Result<Bytes, Error> {
        self.refuse_above(limit_bytes)?;
        let longest = Duration::from_secs(BODY_IN_MEMORY_S_MAX);
        self.longest = self.longest.min(longest);
        let announced = self.announced().unwrap_or_default();
        self.patience.want(announced / BODY_IN_MEMORY_S_MAX);
        self.check_room(announced)?;
        let Some(first) = self.next().await? else {
            return Ok(Bytes::new());
        };
        // What is announced is taken at once, so that it is refused before most of it comes; nothing is for who sends
        // nothing.
        self.hold(announced)?;
        let mut whole = BytesMut::new();
        let mut piece = Some(first);
        while let Some(bytes) = piece {
            if whole.is_empty()
                && self.incoming.is_end_stream()
                && bytes.len() as u64 <= limit_bytes
            {
                self.hold(bytes.len() as u64)?;
                return Ok(bytes);
            }
            let length = (whole.len() + bytes.len()) as u64;
            if length > limit_bytes {
                return Err(Error::TooLarge { limit_bytes });
            }
            self.hold(length)?;
            // Who has sent little and keeps all waiting has little memory, too.
            let room = match length {
                0..SLOW_BODY_BYTES => SLOW_BODY_BYTES,
                _ => announced,
            };
            let room = usize::try_from(room).unwrap_or(0);
            whole.reserve(room.saturating_sub(whole.len()));
            whole.extend_from_slice(&bytes);
            // Not while the rest is waited for: it may be a part of a larger piece of memory.
            drop(bytes);
            piece = self.next().await?;
        }
        Ok(whole.freeze())
    }

    /// Finishes with a body that may not have been read: a short rest is read and dropped.
    ///
    /// Returns true when a rest stays unread, so that the connection cannot carry another request.
    pub(in crate::http) async fn drain(&mut self) -> bool {
        if self.state == State::Ended || self.incoming.is_end_stream() {
            return false;
        }
        let short = self
            .announced()
            .is_some_and(|bytes| bytes <= REFUSED_BODY_BYTES_MAX as u64);
        if self.state == State::Failed || self.client_waits || !short {
            return true;
        }
        let rest = async { while let Ok(Some(_)) = self.next().await {} };
        let in_time = timeout(REFUSED_BODY_WAIT, rest).await.is_ok();
        !in_time || self.state != State::Ended
    }
}

/// Wants a body of JSON in UTF-8, as it stands.
///
/// # Errors
/// [`Error::MediaType`].
pub(in crate::http) fn check_json(head: &Parts) -> Result<(), Error> {
    if !has_type(head, JSON) {
        return Err(Error::MediaType(
            "the body must be JSON, sent as Content-Type: application/json".into(),
        ));
    }
    let line = content_type(head).unwrap_or_default();
    let is_utf_8 = |charset: &&str| {
        ["utf-8", "utf8"]
            .iter()
            .any(|it| charset.eq_ignore_ascii_case(it))
    };
    match charsets(line).find(|charset| !is_utf_8(charset)) {
        None => Ok(()),
        Some(other) => Err(Error::MediaType(
            format!(
                "the body must be JSON in UTF-8, and its Content-Type names the charset \"{}\"",
                shortened(other)
            )
            .into(),
        )),
    }
}

/// Refuses a compressed body: it is stored as it comes.
///
/// # Errors
/// [`Error::MediaType`].
pub(in crate::http) fn check_encoding(head: &Parts) -> Result<(), Error> {
    let plain = head
        .headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if plain {
        return Ok(());
    }
    Err(Error::MediaType(
        "Content-Encoding is not supported on a request".into(),
    ))
}

/// Wants the bytes of a file, all and as they are: a part of one (RFC 9110 section 14.5), or a form around it,
/// would be saved in its place, and an empty file where the body was forgotten.
///
/// # Errors
/// [`Error::Malformed`], [`Error::MediaType`].
pub(in crate::http) fn check_file(head: &Parts) -> Result<(), Error> {
    check_encoding(head)?;
    if !head.headers.contains_key(CONTENT_LENGTH) && !head.headers.contains_key(TRANSFER_ENCODING) {
        return Err(Error::malformed(
            "the body is missing: send the bytes of the file, as \"curl -T FILE\" does; an empty file has \
             \"Content-Length: 0\"",
        ));
    }
    if head.headers.contains_key(CONTENT_RANGE) {
        return Err(Error::malformed(
            "Content-Range is not supported: a file is saved whole",
        ));
    }
    if has_type(head, "multipart/form-data") {
        return Err(Error::MediaType(
            "the body must be the bytes of the file and no form, as \"curl -T FILE\" sends it"
                .into(),
        ));
    }
    Ok(())
}

/// True if the body is announced as this type, whatever charset it names: of a form the escaped text is ASCII in
/// each, and of an archive none says anything.
pub(in crate::http) fn has_type(head: &Parts, wanted: &str) -> bool {
    let kind = content_type(head).and_then(|line| line.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case(wanted))
}

/// The one line that says what the body is.
fn content_type(head: &Parts) -> Option<&str> {
    let mut lines = head.headers.get_all(CONTENT_TYPE).iter();
    match (lines.next(), lines.next()) {
        (Some(line), None) => line.to_str().ok(),
        _ => None,
    }
}

/// The charsets that such a line names.
fn charsets(line: &str) -> impl Iterator<Item = &str> {
    line.split(';').skip(1).filter_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim().trim_matches('"'))
    })
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn head(lines: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder();
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn json_is_json_in_utf_8() {
        for kind in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/json;charset=\"UTF-8\"",
            "application/json; charset=utf8",
            "application/json; charset = UTF8; a=b",
        ] {
            assert!(
                check_json(&head(&[("content-type", kind)])).is_ok(),
                "{kind}"
            );
        }
        for kind in [
            "application/json; charset=utf-16",
            "application/json; charset=utf-8; charset=latin1",
            "text/plain",
            "text/json",
            "application/x-www-form-urlencoded",
            "",
        ] {
            assert!(
                check_json(&head(&[("content-type", kind)])).is_err(),
                "{kind}"
            );
        }
        assert!(check_json(&head(&[])).is_err());
        let other = head(&[("content-type", "application/json; charset=windows-1251")]);
        assert_eq!(
            check_json(&other).unwrap_err().to_string(),
            "the body must be JSON in UTF-8, and its Content-Type names the charset \"windows-1251\""
        );
    }

    #[test]
    fn a_form_is_one_in_any_charset() {
        let form = "application/x-www-form-urlencoded";
        for charset in ["", "; charset=ISO-8859-1", ";charset=utf8", "; charset="] {
            let kind = format!("{form}{charset}");
            let head = head(&[("content-type", kind.as_str())]);
            assert!(has_type(&head, form), "{charset}");
        }
        let twice = head(&[("content-type", form), ("content-type", form)]);
        assert!(!has_type(&twice, form));
    }

    #[test]
    fn a_compressed_body_is_refused() {
        assert!(check_encoding(&head(&[])).is_ok());
        assert!(check_encoding(&head(&[("content-encoding", "identity")])).is_ok());
        assert!(check_encoding(&head(&[("content-encoding", "gzip")])).is_err());
    }
}
