//! Rows of the tables, and what stands in them, as what the store gives.

use std::sync::Arc;

use bytes::Bytes;
use tokio_postgres::Row;

use super::{PostgresStore, large};
use crate::base::id::{Kind, ObjectId, Sha256};
use crate::store::bucket::BucketBody;
use crate::store::error::damaged;
use crate::store::inspection::row::kind_of;
use crate::store::{Body, Record, Result, StoreError, StoredObject, Values};

impl PostgresStore {
    /// The object of a row, with its id.
    pub(super) fn stored(&self, row: &Row) -> Result<(ObjectId, StoredObject)> {
        let id = id_of(row.try_get(0)?)?;
        let kind: i16 = row.try_get(1)?;
        let kind = kind_of(kind.into(), id)?;
        let sha256: Option<&[u8]> = row.try_get(3)?;
        let sha256 = sha256
            .map(|bytes| bytes.try_into().map(Sha256::from_bytes))
            .transpose();
        let object = StoredObject {
            kind,
            size: unsigned(row.try_get(2)?),
            sha256: sha256
                .map_err(|_| damaged(kind, id, "its row's SHA-256 has another length"))?,
            body: self.body(row, kind, id)?,
        };
        Ok((id, object))
    }

    /// The bytes that a row has, or names the place of.
    fn body(&self, row: &Row, kind: Kind, id: ObjectId) -> Result<Body> {
        let bytes: Option<&[u8]> = row.try_get(4)?;
        if let Some(bytes) = bytes {
            return Ok(Body::Inline(Bytes::copy_from_slice(bytes)));
        }
        let place: Option<String> = row.try_get(5)?;
        let place =
            place.ok_or_else(|| damaged(kind, id, "its row has neither bytes nor a place"))?;
        let bucket = self.bucket.as_ref().ok_or_else(large::without_bucket)?;
        Ok(Body::Large(Arc::new(BucketBody::new(bucket, place, id))))
    }
}

/// The record of a row, whose value is read or left empty.
pub(super) fn record(row: &Row, values: Values) -> Result<Arc<Record>> {
    let key = String::from_utf8_lossy(row.try_get(0)?).into_owned();
    let value = match values {
        Values::Unread => Bytes::new(),
        Values::All | Values::Sound => Bytes::copy_from_slice(row.try_get(2)?),
    };
    Ok(Arc::new(Record::new(key, unsigned(row.try_get(1)?), value)))
}

/// The id that a row holds.
pub(super) fn id_of(bytes: &[u8]) -> Result<ObjectId> {
    let id = bytes.try_into().map(ObjectId::from_bytes);
    id.map_err(|_| StoreError::Engine("the id of an object has another length".into()))
}

/// A number as the database keeps it. What is too large is beyond all that it has.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number that the database keeps.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
