//! A body as its route takes it.

use bytes::Bytes;

use super::unzip;
use super::unzip::Zip;
use crate::base::digest::byte_count;
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
    /// How many bytes it takes in memory, about, but for those of a file.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::None | Self::File(_) => 0,
            Self::Json(bytes) | Self::Packed(Packed::Tar(bytes)) => byte_count(bytes),
            Self::Packed(Packed::Zip(zip)) => unzip::bytes_in_memory(zip),
            Self::Packed(Packed::Form(files)) => {
                let sizes = files.iter().map(|(name, bytes)| name.len() + bytes.len());
                sizes.sum::<usize>() as u64
            }
        }
    }

    /// The refusal of a route that needs another body.
    pub(super) fn missing() -> Error {
        Error::malformed("the body is missing")
    }
}
