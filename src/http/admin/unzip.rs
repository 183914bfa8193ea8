//! A zip in a body, opened.

use std::fmt::Display;
use std::io::Cursor;

use bytes::Bytes;
use zip::ZipArchive;
use zip::unstable::read::ZipIterable;

use crate::base::limits::ZIP_ENTRY_BYTES;
use crate::base::name_error::shortened;
use crate::http::error::Error;
use crate::http::settings::Limits;

/// An opened zip.
pub(super) type Zip = ZipArchive<Cursor<Bytes>>;

/// Opens a zip, and tells how many bytes it says that it unpacks to.
///
/// # Errors
/// [`Error::Malformed`] for what is no zip or has too many entries, [`Error::TooLarge`] above
/// [`Limits::batch_bytes_max`].
pub(super) fn open(body: Bytes, limits: &Limits) -> Result<(Zip, u64), Error> {
    // The count comes first: to open a zip takes memory for each of its entries, folders among them. It is that of the
    // entries that are opened where all of them can be read: else another end of the directory is looked for.
    let entries = ZipIterable::try_new(Cursor::new(&body), zip::read::Config::default());
    let mut entries = entries.map_err(damaged)?;
    if entries.len() as u64 > 2 * limits.batch_actions_max {
        return Err(Error::many_actions(limits.batch_actions_max));
    }
    for entry in entries.files().map_err(damaged)? {
        entry.map_err(damaged)?;
    }
    let zip = ZipArchive::new(Cursor::new(body)).map_err(damaged)?;
    let mut bytes = 0_u64;
    for index in 0..zip.len() {
        let entry = zip.by_index_data(index).map_err(damaged)?;
        bytes = bytes.saturating_add(entry.size());
    }
    let limit_bytes = limits.batch_bytes_max;
    if bytes > limit_bytes {
        return Err(Error::TooLarge { limit_bytes });
    }
    Ok((zip, bytes))
}

/// How many bytes an opened zip takes in memory, about, and what it unpacks to.
pub(super) fn bytes_in_memory(zip: &Zip) -> u64 {
    let unpacked = zip.decompressed_size().unwrap_or(u128::MAX);
    let unpacked = u64::try_from(unpacked).unwrap_or(u64::MAX);
    unpacked.saturating_add(zip.len() as u64 * ZIP_ENTRY_BYTES)
}

/// The refusal of an archive that cannot be read.
pub(super) fn damaged(error: impl Display) -> Error {
    let reason = error.to_string();
    Error::Malformed(format!("malformed archive: {}", shortened(&reason)))
}
