//! The files of a form (`multipart/form-data`, RFC 7578), as browsers send them.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::stream;
use hyper::header::CONTENT_TYPE;
use hyper::http::request::Parts;
use multer::Multipart;

use crate::http::error::Error;
use crate::http::settings::Limits;

/// What is looked at before others have their turn.
const PIECE_BYTES: usize = 64 << 10;

/// What stands between the parts of a form, if the body is one.
pub(super) fn boundary(head: &Parts) -> Option<String> {
    let kind = head.headers.get(CONTENT_TYPE)?.to_str().ok()?;
    multer::parse_boundary(kind).ok()
}

/// The name and the bytes of each file, in their order.
///
/// # Errors
/// A form that is malformed or cut, and a field that is no file.
///
/// # Limits
/// One file more than [`Limits::batch_actions_max`] is read, so that it is refused.
pub(super) async fn files(
    body: Bytes,
    boundary: String,
    limits: &Limits,
) -> Result<Vec<(String, Bytes)>, Error> {
    let damaged = |error: multer::Error| Error::Malformed(format!("malformed form: {error}"));
    // Of a stream that is always ready it would copy the whole body first.
    let pieces = stream::unfold(body, |mut rest| async move {
        tokio::task::yield_now().await;
        let piece = rest.split_to(rest.len().min(PIECE_BYTES));
        (!piece.is_empty()).then_some((Ok::<_, Infallible>(piece), rest))
    });
    let mut form = Multipart::new(pieces, boundary);
    let mut files = Vec::new();
    while let Some(field) = form.next_field().await.map_err(damaged)? {
        let Some(name) = field.file_name() else {
            let name = field.name().unwrap_or_default();
            return Err(Error::Malformed(format!(
                "field \"{name}\" is no file: it has no filename"
            )));
        };
        // Browsers write a quotation mark so.
        let name = name.replace("%22", "\"");
        let bytes = field.bytes().await.map_err(damaged)?;
        files.push((name, bytes));
        if files.len() as u64 > limits.batch_actions_max {
            break;
        }
    }
    Ok(files)
}
