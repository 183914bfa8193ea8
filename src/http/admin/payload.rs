//! A body as its route takes it.

use bytes::Bytes;

use super::unzip::Zip;
use crate::http::error::Error;
use crate::repo::NewFile;

/// A body as its route takes it.
#[derive(Debug)]
pub(super) enum Payload {
    None,
    Json(Bytes),
    Packed(Packed),
    File(NewFile),
}

/// Many files in one body.
#[derive(Debug)]
pub(super) enum Packed {
    Tar(Bytes),
    Zip(Box<Zip>),
    /// The names and bytes of the files of a form.
    Form(Vec<(String, Bytes)>),
}

impl Payload {
    /// The refusal of a route that needs another body.
    pub(super) fn missing() -> Error {
        Error::malformed("the body is missing")
    }
}
