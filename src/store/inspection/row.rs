//! The values in an object's row, looked at.

use crate::base::id::{Kind, ObjectId};
use crate::store::error::damaged;
use crate::store::{ObjectRow, Result};

/// The kind with this code.
///
/// # Errors
/// [`crate::store::StoreError::Damaged`], as all of them.
pub(in crate::store) fn kind_of(code: i64, id: ObjectId) -> Result<Kind> {
    let kind = u8::try_from(code).ok().and_then(Kind::from_code);
    kind.ok_or_else(|| {
        let reason = format!("its row names kind {code}, which does not exist");
        damaged(Kind::Blob, id, &reason)
    })
}

/// The size of an object.
pub(in crate::store) fn size_of(size: i64, kind: Kind, id: ObjectId) -> Result<u64> {
    u64::try_from(size).map_err(|_| damaged(kind, id, "its row says a negative size"))
}

/// The row of an object, its lengths compared: those of its SHA-256 and of the bytes that it has itself.
pub(in crate::store) fn sound_row(
    id: ObjectId,
    kind: i64,
    size: i64,
    sha256: Option<i64>,
    inline: Option<i64>,
) -> Result<ObjectRow> {
    let kind = kind_of(kind, id)?;
    let row = ObjectRow {
        id,
        kind,
        size: size_of(size, kind, id)?,
        inline: inline.is_some(),
    };
    let fault = match (kind, sha256) {
        _ if inline.is_some_and(|inline| inline != size) => "its row says another size",
        (Kind::Blob, None) => "its row has no SHA-256",
        (Kind::Blob, Some(length)) if length != 32 => "its row's SHA-256 has another length",
        (Kind::Node | Kind::Manifest, _) if inline.is_none() => "it lies in a file",
        _ => return Ok(row),
    };
    Err(damaged(kind, id, fault))
}
