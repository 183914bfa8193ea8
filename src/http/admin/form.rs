//! The files of a form (`multipart/form-data`, RFC 7578), as browsers send them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::stream;
use hyper::header::CONTENT_TYPE;
use hyper::http::request::Parts;
use multer::Multipart;

use crate::base::limits::FORM_HEAD_BYTES_MAX;
use crate::base::name_error::shortened;
use crate::http::error::Error;
use crate::http::settings::Limits;

/// What is looked at before others have their turn.
const PIECE_BYTES: usize = 64 << 10;

/// Why a form is read no further.
#[derive(Debug, thiserror::Error)]
#[error("malformed form: the head of a part is longer than {FORM_HEAD_BYTES_MAX} bytes")]
struct LongHead;

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
/// One file more than [`Limits::batch_actions_max`] is read, so that it is refused. [`FORM_HEAD_BYTES_MAX`].
pub(super) async fn files(
    body: Bytes,
    boundary: String,
    limits: &Limits,
) -> Result<Vec<(String, Bytes)>, Error> {
    let damaged = |error: multer::Error| match error {
        multer::Error::StreamReadFailed(reason) => Error::Malformed(reason.to_string()),
        error => Error::Malformed(format!("malformed form: {}", shortened(&error.to_string()))),
    };
    // How much more may be read. With each piece the library looks for the end of a head from its beginning, or for
    // that of what stands before the first part.
    let left = Arc::new(AtomicUsize::new(0));
    let of_pieces = Arc::clone(&left);
    // Of a stream that is always ready it would copy the whole body first.
    let pieces = stream::unfold(body, move |mut rest| {
        let left = Arc::clone(&of_pieces);
        async move {
            tokio::task::yield_now().await;
            let piece = rest.split_to(rest.len().min(PIECE_BYTES));
            if piece.is_empty() {
                return None;
            }
            let before = left.load(Ordering::Relaxed);
            left.store(before.saturating_sub(piece.len()), Ordering::Relaxed);
            let piece = if before == 0 {
                Err(LongHead)
            } else {
                Ok(piece)
            };
            Some((piece, rest))
        }
    });
    let mut form = Multipart::new(pieces, boundary);
    let mut files = Vec::new();
    loop {
        left.store(FORM_HEAD_BYTES_MAX, Ordering::Relaxed);
        let Some(field) = form.next_field().await.map_err(damaged)? else {
            break;
        };
        left.store(usize::MAX, Ordering::Relaxed);
        let Some(name) = field.file_name() else {
            let name = shortened(field.name().unwrap_or_default());
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
