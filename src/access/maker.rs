//! Who makes a change, judged again when it is made.

use std::sync::Arc;

use super::account::Account;
use super::keys;
use crate::base::id::Sha256;
use crate::store::{Expect, Store, StoreError};

/// True of an account that may make a change.
pub(super) type May = fn(&Account) -> bool;

/// The session that makes a change, and its account, as they were judged when the change began. Until the commit it may
/// take long: a body comes, a password is hashed, much is read. Whose session ends meanwhile, and who loses the right,
/// changes nothing any more.
#[derive(Clone, Debug)]
pub(super) struct Maker {
    account: Arc<Account>,
    /// The digest of the session's secret.
    session: Sha256,
}

/// Whether a change may be made now.
#[derive(Debug)]
pub(super) enum Judged {
    /// It may, as long as these records are as they are now: its commit expects them.
    May([(String, Expect); 2]),
    /// The session has ended.
    SessionEnded,
    /// The account has not the right any more.
    MayNot,
}

impl Maker {
    pub(super) fn new(account: &Arc<Account>, session: Sha256) -> Self {
        Self {
            account: Arc::clone(account),
            session,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.account.name
    }

    /// Judges the session and the account as they are now. A session ends with the generation of its account in which
    /// it was opened, and with its own record.
    pub(super) fn judged(
        &self,
        store: &dyn Store,
        may: impl Fn(&Account) -> bool,
    ) -> Result<Judged, StoreError> {
        let account_key = keys::account(self.account.number);
        let session_key = keys::session(self.session);
        let account = store
            .value::<Account>(&account_key)?
            .filter(|kept| kept.value.enabled && kept.value.generation == self.account.generation);
        let session = store.record(&session_key)?;
        let (Some(account), Some(session)) = (account, session) else {
            return Ok(Judged::SessionEnded);
        };
        if !may(&account.value) {
            return Ok(Judged::MayNot);
        }
        Ok(Judged::May([
            (account_key, account.expect()),
            (session_key, Expect::Version(session.version)),
        ]))
    }
}
