//! Who makes a change, judged again when it is made.

use std::sync::Arc;

use super::account::Account;
use super::keys;
use crate::store::{Expect, Store, StoreError};

/// True of an account that may make a change.
pub(super) type May = fn(&Account) -> bool;

/// The account that makes a change, as it was judged when the change began. Until the commit it may take long: a body
/// comes, a password is hashed, much is read. Who loses the right meanwhile changes nothing any more.
#[derive(Clone, Debug)]
pub(super) struct Maker(Arc<Account>);

impl Maker {
    pub(super) fn new(account: &Arc<Account>) -> Self {
        Self(Arc::clone(account))
    }

    pub(super) fn name(&self) -> &str {
        &self.0.name
    }

    /// Judges the account as it is now: gives its record, which the commit of the change expects; `None` where it may
    /// not make the change any more, or is disabled or removed.
    pub(super) fn judged(
        &self,
        store: &dyn Store,
        may: impl Fn(&Account) -> bool,
    ) -> Result<Option<(String, Expect)>, StoreError> {
        let key = keys::account(self.0.number);
        let kept = store.value::<Account>(&key)?;
        let kept = kept.filter(|kept| kept.value.enabled && may(&kept.value));
        Ok(kept.map(|kept| (key, kept.expect())))
    }
}
