//! The records of sessions, and their deletion.

use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::Result;
use super::keys;
use super::records::Records;
use crate::base::clock::Timestamp;
use crate::base::id::Sha256;
use crate::store::{Batch, Expect};

/// A session, as its record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Session {
    pub(super) digest: Sha256,
    pub(super) account: u64,
    /// The account's at the login; see [`crate::access::Account`].
    pub(super) generation: u64,
    pub(super) created_at: Timestamp,
    pub(super) last_seen: Timestamp,
    /// The address that it was opened from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<IpAddr>,
}

/// What is kept for an account about one of its sessions.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct SessionOfAccount {
    pub(super) digest: Sha256,
    pub(super) created_at: Timestamp,
}

/// Adds the deletion of all sessions of an account to a batch, and says how many there are.
pub(super) fn forget_all(records: &Records, account: u64, batch: &mut Batch) -> Result<u64> {
    let sessions = sessions_of(records, account)?;
    for session in &sessions {
        forget(account, session.digest, batch);
    }
    Ok(u64::try_from(sessions.len()).unwrap_or(u64::MAX))
}

/// Adds the deletion of one session to a batch.
pub(super) fn forget(account: u64, digest: Sha256, batch: &mut Batch) {
    batch.delete(keys::session(digest), Expect::Anything);
    batch.delete(keys::account_session(account, digest), Expect::Anything);
}

/// The sessions of an account, in no order.
pub(super) fn sessions_of(records: &Records, account: u64) -> Result<Vec<Arc<SessionOfAccount>>> {
    let kept = records.under(&keys::account_sessions(account))?;
    Ok(kept.into_iter().map(|kept| kept.value).collect())
}
