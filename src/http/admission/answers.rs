//! Memory for answers that are made as a whole and not taken by their clients yet.

use std::sync::Arc;

use bytes::Bytes;

use super::long::Credential;
use super::quota::{Full, Quota, Share};
use crate::access::{Account, Refusal};
use crate::base::limits::{
    ANSWER_BYTES_COUNTED_MAX, ANSWER_BYTES_COUNTED_MIN, ANSWERS_BYTES_CREDENTIAL_MAX,
    ANSWERS_BYTES_MAX,
};
use crate::http::error::Error;

/// The memory.
#[derive(Debug)]
pub(in crate::http) struct AnswerMemory {
    quota: Arc<Quota<Credential>>,
}

/// The bytes of an answer, and what they take of the memory.
struct Counted {
    bytes: Box<[u8]>,
    _share: Share<Credential>,
}

impl AnswerMemory {
    /// Nothing is taken.
    pub(in crate::http) fn new() -> Self {
        Self {
            quota: Quota::new(ANSWERS_BYTES_MAX, ANSWERS_BYTES_CREDENTIAL_MAX),
        }
    }

    /// Counts bytes for this account, or for its token of this number. They count once, however many
    /// answers share what is given, until the last of these is dropped.
    ///
    /// # Errors
    /// [`Error::TooMany`] for a credential that has its part already, [`Error::NoRoom`].
    ///
    /// # Limits
    /// Fewer than [`ANSWER_BYTES_COUNTED_MIN`] bytes are not counted, more than
    /// [`ANSWER_BYTES_COUNTED_MAX`] count as so many.
    pub(in crate::http) fn count(
        &self,
        account: &Account,
        token: Option<u64>,
        bytes: Bytes,
    ) -> Result<Bytes, Error> {
        let length = bytes.len() as u64;
        if length < ANSWER_BYTES_COUNTED_MIN {
            return Ok(bytes);
        }
        let counted = length.min(ANSWER_BYTES_COUNTED_MAX);
        let share = self.quota.take(Credential::new(account, token), counted);
        let share = share.map_err(|full| match full {
            Full::Holder => Error::TooMany {
                refusal: Refusal::of(account.name(), "too many bytes of answers at once"),
                retry_after_s: 1,
            },
            Full::All => Error::NoRoom("too many bytes of answers at once"),
        })?;
        Ok(Bytes::from_owner(Counted {
            // What they were written to may be twice as large.
            bytes: Box::from(&bytes[..]),
            _share: share,
        }))
    }
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
