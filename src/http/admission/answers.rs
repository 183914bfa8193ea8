//! Memory for answers that are made as a whole and not taken by their clients yet.

use bytes::Bytes;

use super::credential::{Credential, CredentialQuota, CredentialShare};
use super::quota::Full;
use crate::access::Account;
use crate::base::limits::{
    ANSWER_BYTES_COUNTED_MAX, ANSWER_BYTES_COUNTED_MIN, ANSWERS_BYTES_CREDENTIAL_MAX,
    ANSWERS_BYTES_MAX,
};
use crate::http::error::Error;

/// The memory.
#[derive(Debug)]
pub(in crate::http) struct AnswerMemory {
    quota: CredentialQuota,
}

/// The bytes of an answer, and what they take of the memory.
struct Counted {
    bytes: Box<[u8]>,
    _share: CredentialShare,
}

impl AnswerMemory {
    /// Nothing is taken.
    pub(in crate::http) fn new() -> Self {
        Self {
            quota: CredentialQuota::new(ANSWERS_BYTES_MAX, ANSWERS_BYTES_CREDENTIAL_MAX),
        }
    }

    /// Counts bytes for this account, or for its token of this number. They count once, however many
    /// answers share what is given, until the last of these is dropped.
    ///
    /// # Errors
    /// [`Error::TooMany`] for a credential that has its part already, or a token whose account's tokens have
    /// theirs; [`Error::Overloaded`].
    ///
    /// # Limits
    /// Fewer than [`ANSWER_BYTES_COUNTED_MIN`] bytes are not counted, more than
    /// [`ANSWER_BYTES_COUNTED_MAX`] count as so many. An account with all its tokens leaves room for one answer of
    /// any length to others, however slowly it takes its own.
    pub(in crate::http) fn count(
        &self,
        account: &Account,
        token: Option<u64>,
        bytes: Bytes,
    ) -> Result<Bytes, Error> {
        let too_many = "too many bytes of answers at once";
        let counted = self.counted(Credential::new(account, token), bytes);
        counted.map_err(|full| full.refused(account.name(), too_many, too_many, 1))
    }

    fn counted(&self, credential: Credential, bytes: Bytes) -> Result<Bytes, Full> {
        let length = bytes.len() as u64;
        if length < ANSWER_BYTES_COUNTED_MIN {
            return Ok(bytes);
        }
        let share = self
            .quota
            .take(credential, length.min(ANSWER_BYTES_COUNTED_MAX))?;
        Ok(Bytes::from_owner(Counted {
            // What they were written to may be twice as large; the rest of it is given back.
            bytes: Vec::from(bytes).into_boxed_slice(),
            _share: share,
        }))
    }
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;
    use crate::http::admission::credential::tests::{session, token};

    #[test]
    fn bytes_count_until_the_last_who_shares_them_is_done() {
        let memory = AnswerMemory::new();
        let count = |bytes: u64| {
            let bytes = vec![b'x'; usize::try_from(bytes).unwrap()];
            memory.counted(session(1), bytes.into())
        };
        // Longer than all that it may have: who holds nothing gets it.
        let longest = count(ANSWERS_BYTES_CREDENTIAL_MAX + 1).unwrap();
        assert_eq!(longest.len() as u64, ANSWERS_BYTES_CREDENTIAL_MAX + 1);
        let rest = ANSWERS_BYTES_CREDENTIAL_MAX - ANSWER_BYTES_COUNTED_MAX;
        let mut held = Vec::new();
        for _ in 0..rest / ANSWER_BYTES_COUNTED_MAX {
            held.push(count(ANSWER_BYTES_COUNTED_MAX).unwrap());
        }
        assert_eq!(count(ANSWER_BYTES_COUNTED_MIN).unwrap_err(), Full::Holder);
        assert!(count(ANSWER_BYTES_COUNTED_MIN - 1).is_ok());
        let shared = longest.clone();
        drop(longest);
        assert_eq!(count(ANSWER_BYTES_COUNTED_MIN).unwrap_err(), Full::Holder);
        drop(shared);
        assert!(count(ANSWER_BYTES_COUNTED_MIN).is_ok());
    }

    #[test]
    fn an_account_with_all_its_tokens_leaves_room_for_an_answer_of_any_length() {
        let memory = AnswerMemory::new();
        let count = |credential: Credential, bytes: u64| {
            let bytes = vec![b'x'; usize::try_from(bytes).unwrap()];
            memory.counted(credential, bytes.into())
        };
        let mut held = Vec::new();
        let tokens = (0..8).map(|number| token(1, number));
        for credential in tokens.chain([session(1)]) {
            for bytes in [ANSWER_BYTES_COUNTED_MAX, ANSWER_BYTES_COUNTED_MIN] {
                held.extend(iter::from_fn(|| count(credential, bytes).ok()));
            }
        }
        let bytes: usize = held.iter().map(Bytes::len).sum();
        assert_eq!(
            bytes as u64,
            ANSWERS_BYTES_MAX / 2 + ANSWERS_BYTES_CREDENTIAL_MAX
        );
        for other in [session(2), token(2, 1)] {
            assert!(count(other, ANSWER_BYTES_COUNTED_MAX).is_ok());
        }
    }
}
