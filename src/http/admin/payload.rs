//! A body as its route takes it.

use bytes::Bytes;

use crate::http::error::Error;
use crate::repo::NewFile;

/// A body as its route takes it.
#[derive(Debug)]
pub(super) enum Payload {
    None,
    Json(Bytes),
    Tar(Bytes),
    File(NewFile),
}

impl Payload {
    /// The refusal of a route that needs another body.
    pub(super) fn missing() -> Error {
        Error::malformed("the body is missing")
    }
}
