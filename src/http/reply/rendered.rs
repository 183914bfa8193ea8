//! An answer that is the same for every client, made once.

use bytes::Bytes;
use hyper::header::HeaderValue;
use hyper::{HeaderMap, StatusCode};

use super::Reply;
use crate::http::error::Error;
use crate::http::request::conditions::ETag;
use crate::repo::{Past, Project};

/// The bytes and the headers of an answer, and those that say that a client has it.
#[derive(Clone, Debug)]
pub(in crate::http) struct Rendered {
    /// `None` where they are too many to be held: they are made for each client, while they are sent.
    bytes: Option<Bytes>,
    tag: ETag,
    headers: HeaderMap,
    unchanged: HeaderMap,
    /// What it tells of beside the state that it shows.
    past: Option<Past>,
    /// True if the next one may tell more.
    is_for_once: bool,
}

impl Rendered {
    /// Of an answer of status 200 with these bytes and this tag, and the answer of status 304.
    pub(super) fn new(whole: &Reply, bytes: Option<Bytes>, tag: ETag, unchanged: &Reply) -> Self {
        Self {
            bytes,
            tag,
            headers: side_by_side(whole.headers()),
            unchanged: side_by_side(unchanged.headers()),
            past: None,
            is_for_once: false,
        }
    }

    /// The same as an answer that is made anew for who asks next.
    pub(in crate::http) fn for_once(self) -> Self {
        Self {
            is_for_once: true,
            ..self
        }
    }

    /// The same as an answer that tells of this past, too.
    pub(in crate::http) fn telling_of(self, past: Past) -> Self {
        Self {
            past: Some(past),
            ..self
        }
    }

    /// True as long as all that it tells beside the state that it shows is as it was in this project.
    pub(in crate::http) fn holds_in(&self, project: &Project) -> Result<bool, Error> {
        match &self.past {
            _ if self.is_for_once => Ok(false),
            Some(past) => Ok(project.is_still(past)?),
            None => Ok(true),
        }
    }

    /// The same, with its bytes as `count` gives them.
    ///
    /// # Errors
    /// Those of `count`.
    pub(super) fn counted(
        mut self,
        count: impl FnOnce(Bytes) -> Result<Bytes, Error>,
    ) -> Result<Self, Error> {
        self.bytes = self.bytes.map(count).transpose()?;
        Ok(self)
    }

    /// Length in memory, in bytes.
    pub(super) fn memory(&self) -> usize {
        let lines = || self.headers.iter().chain(&self.unchanged);
        let values = lines().map(|(_, value)| value.len()).sum::<usize>();
        let bytes = self.bytes.as_ref().map_or(0, Bytes::len);
        1024 + 160 * lines().count() + values + bytes
    }

    /// The answer to a request with these headers: 304 when the client has it. Else it lacks its body where that is not
    /// held.
    pub(in crate::http) fn reply(&self, request: &HeaderMap) -> Reply {
        if self.tag.is_known_to(request) {
            return Reply::prepared(StatusCode::NOT_MODIFIED, self.unchanged.clone(), None);
        }
        Reply::prepared(StatusCode::OK, self.headers.clone(), self.bytes.clone())
    }

    /// The same, `None` for one that lacks its body.
    pub(in crate::http) fn whole_reply(&self, request: &HeaderMap) -> Option<Reply> {
        let reply = self.reply(request);
        let is_whole = self.bytes.is_some() || reply.status == StatusCode::NOT_MODIFIED;
        is_whole.then_some(reply)
    }
}

/// The same lines with their values in one run of memory, so that who sends them reads one place and
/// not twenty.
fn side_by_side(headers: &HeaderMap) -> HeaderMap {
    let values: Vec<u8> = headers
        .values()
        .flat_map(HeaderValue::as_bytes)
        .copied()
        .collect();
    let mut rest = Bytes::from(values);
    let lines = headers.iter().map(|(name, value)| {
        let value = HeaderValue::from_maybe_shared(rest.split_to(value.len()));
        (name.clone(), value.expect("it was a value before"))
    });
    // Room for the two lines that each answer gets of its own.
    let mut lines_side_by_side = HeaderMap::with_capacity(headers.len() + 2);
    lines_side_by_side.extend(lines);
    lines_side_by_side
}
