//! Decoding records of this layer to see whether they make sense.

use serde::de::DeserializeOwned;

use super::account::Account;
use super::session_records::{Session, SessionOfAccount};
use super::token::{Token, TokenOfDigest};
use crate::store::{Record, Result};

/// Decodes a record of accounts, sessions or tokens. `None` where its key is none of theirs.
pub fn decode_record(record: &Record) -> Option<Result<()>> {
    let (kind, _) = record.key.split_once('/')?;
    Some(match kind {
        "account" => decode::<Account>(record),
        "account-name" => decode::<u64>(record),
        "session" => decode::<Session>(record),
        "account-session" => decode::<SessionOfAccount>(record),
        "token" => decode::<Token>(record),
        "token-digest" => decode::<TokenOfDigest>(record),
        _ => return None,
    })
}

fn decode<T: DeserializeOwned + Send + Sync + 'static>(record: &Record) -> Result<()> {
    record.decode::<T>().map(drop)
}
