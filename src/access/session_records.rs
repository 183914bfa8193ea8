//! The records of sessions, and their deletion.

use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::Result;
use super::keys;
use super::records::Records;
use crate::base::clock::Timestamp;
use crate::base::id::Sha256;
use crate::repo::Projects;
use crate::store::{Batch, Expect, Versioned};

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

/// Has the sessions of an account removed soon that were opened before this generation. The commit that began it has
/// removed those that were there when it was prepared; a login that came between has left another, which counts no
/// more. That commit is made: what fails here is told in the log alone.
pub(super) fn forget_earlier(projects: &Projects, account: u64, generation: u64) {
    let earlier = opened_before(&Records::new(projects), account, generation);
    let earlier = earlier.inspect_err(|error| tracing::warn!(%error, "a session may be left"));
    for digest in earlier.unwrap_or_default() {
        let mut batch = Batch::with_reserve();
        forget(account, digest, &mut batch);
        projects.background().put(keys::session(digest), batch);
    }
}

/// The digests of the sessions of an account that were opened before this generation.
fn opened_before(records: &Records, account: u64, generation: u64) -> Result<Vec<Sha256>> {
    let mut all = Vec::new();
    let note = |session: Arc<SessionOfAccount>| all.push(session.digest);
    records.each(&keys::account_sessions(account), note)?;
    let mut earlier = Vec::new();
    for digest in all {
        let session: Option<Versioned<Session>> = records.get(&keys::session(digest))?;
        if session.is_some_and(|session| session.value.generation < generation) {
            earlier.push(digest);
        }
    }
    Ok(earlier)
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
