//! Rows of the tables as what the store gives.

use std::sync::Arc;

use bytes::Bytes;
use tokio_postgres::Row;

use super::group::{id_of, unsigned};
use super::{PostgresStore, large};
use crate::base::id::{Kind, ObjectId, Sha256};
use crate::store::bucket::BucketBody;
use crate::store::error::damaged;
use crate::store::inspection::row::kind_of;
use crate::store::{Body, Record, Result, StoredObject};

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

/// The record of a row.
pub(super) fn record(row: &Row, keys_only: bool) -> Result<Arc<Record>> {
    let key = String::from_utf8_lossy(row.try_get(0)?).into_owned();
    let value = if keys_only {
        Bytes::new()
    } else {
        Bytes::copy_from_slice(row.try_get(2)?)
    };
    Ok(Arc::new(Record::new(key, unsigned(row.try_get(1)?), value)))
}
