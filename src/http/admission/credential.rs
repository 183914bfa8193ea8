//! Who asks, and what each of them may have of what there is.

use std::sync::Arc;

use super::fair_semaphore::Asker;
use super::quota::{Full, Quota, Share};
use crate::access::Account;
use crate::base::limits::{KEPT_FOR_SESSIONS_PART, TOKENS_OF_ACCOUNT_PART};

/// Who asks: an account that is logged in, or a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::http) struct Credential {
    account: u64,
    token: Option<u64>,
}

impl Credential {
    /// The account itself, or its token of this number.
    pub(in crate::http) fn new(account: &Account, token: Option<u64>) -> Self {
        Self {
            account: account.number(),
            token,
        }
    }

    /// True for a token.
    pub(in crate::http) fn is_token(self) -> bool {
        self.token.is_some()
    }

    /// Who asks by it, as places are given out.
    pub(in crate::http) fn asker(self) -> Asker {
        match self.token {
            None => Asker::Session(self.account),
            Some(_) => Asker::Tokens(self.account),
        }
    }
}

/// Something that there is a bounded amount of, and of which tokens leave some to people.
#[derive(Debug)]
pub(in crate::http) struct CredentialQuota {
    of_all: Arc<Quota<Credential>>,
    /// What tokens take of it, by account.
    of_tokens: Arc<Quota<u64>>,
}

/// What a credential holds of it, until this is dropped.
#[derive(Debug)]
pub(in crate::http) struct CredentialShare {
    _of_all: Share<Credential>,
    _of_tokens: Option<Share<u64>>,
}

impl CredentialQuota {
    /// So much in all, and so much for each.
    ///
    /// # Limits
    /// One part in [`KEPT_FOR_SESSIONS_PART`] is for accounts that are logged in alone, and all tokens of an
    /// account have one in [`TOKENS_OF_ACCOUNT_PART`] together. Each has 1 at least.
    pub(in crate::http) fn new(all_max: u64, each_max: u64) -> Self {
        let kept = all_max.div_ceil(KEPT_FOR_SESSIONS_PART);
        Self::with_parts(all_max, each_max, kept, all_max / TOKENS_OF_ACCOUNT_PART)
    }

    /// The same with other parts: so much is kept for accounts that are logged in, and so much is for all tokens
    /// of one account.
    pub(in crate::http) fn with_parts(
        all_max: u64,
        each_max: u64,
        kept: u64,
        account_max: u64,
    ) -> Self {
        Self {
            of_all: Quota::new(all_max, each_max),
            of_tokens: Quota::new((all_max - kept).max(1), account_max.max(1)),
        }
    }

    /// Takes so much for a credential.
    ///
    /// # Errors
    /// The credential, or the tokens of its account, have their part; or there is not that much left for
    /// tokens, or in all.
    pub(in crate::http) fn take(
        &self,
        credential: Credential,
        amount: u64,
    ) -> Result<CredentialShare, Full> {
        let of_all = self.of_all.take(credential, amount)?;
        let of_tokens = if credential.is_token() {
            Some(self.of_tokens.take(credential.account, amount)?)
        } else {
            None
        };
        Ok(CredentialShare {
            _of_all: of_all,
            _of_tokens: of_tokens,
        })
    }

    /// Takes so much for a credential in any case, as [`Quota::take_beyond`].
    pub(in crate::http) fn take_beyond(
        &self,
        credential: Credential,
        amount: u64,
    ) -> CredentialShare {
        let of_tokens = credential
            .is_token()
            .then(|| self.of_tokens.take_beyond(credential.account, amount));
        CredentialShare {
            _of_all: self.of_all.take_beyond(credential, amount),
            _of_tokens: of_tokens,
        }
    }

    /// True if a credential could take 1 once this other one, which is not itself, has given 1 back.
    pub(in crate::http) fn has_room_after(
        &self,
        other: Credential,
        credential: Credential,
    ) -> bool {
        let of_account = other.is_token().then_some(other.account);
        other != credential
            && self.of_all.has_room_after(Some(other), credential)
            && (!credential.is_token()
                || self
                    .of_tokens
                    .has_room_after(of_account, credential.account))
    }
}

#[cfg(test)]
pub(in crate::http) mod tests {
    use super::*;

    pub(in crate::http) fn session(account: u64) -> Credential {
        let token = None;
        Credential { account, token }
    }

    pub(in crate::http) fn token(account: u64, number: u64) -> Credential {
        let token = Some(number);
        Credential { account, token }
    }

    #[test]
    fn tokens_of_an_account_leave_some_to_others_and_all_of_them_to_people() {
        let quota = CredentialQuota::new(8, 3);
        let mut held = vec![quota.take(token(1, 1), 3).unwrap()];
        assert_eq!(quota.take(token(1, 1), 1).unwrap_err(), Full::Holder);
        held.push(quota.take(token(1, 2), 1).unwrap());
        assert_eq!(quota.take(token(1, 3), 1).unwrap_err(), Full::Holder);
        held.push(quota.take(token(2, 1), 2).unwrap());
        assert_eq!(quota.take(token(2, 1), 1).unwrap_err(), Full::All);
        held.push(quota.take(session(1), 1).unwrap());
        held.push(quota.take(session(2), 1).unwrap());
        assert_eq!(quota.take(session(3), 1).unwrap_err(), Full::All);
        drop(held);
        let people = [1, 2].map(|account| quota.take(session(account), 3).unwrap());
        assert_eq!(quota.take(session(3), 3).unwrap_err(), Full::All);
        drop(people);
        assert!(CredentialQuota::new(1, 1).take(token(1, 1), 1).is_ok());
    }
}
