//! Memory for answers that are made as a whole and not taken by their clients yet.

use bytes::Bytes;

use super::credential::{Credential, CredentialQuota, CredentialShare};
use super::quota::Full;
use crate::access::Account;
use crate::base::digest::byte_count;
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

/// Memory that was taken for an answer before it is made.
#[derive(Debug)]
pub(in crate::http) struct AnswerRoom(CredentialShare);

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
        let counted = self.counted(Credential::new(account, token), bytes);
        counted.map_err(|full| refused(account, full))
    }

    /// The same for an answer that is given in any case, for it may tell of a change that was made: others are refused
    /// in its place. Nothing bounds these: what may be long takes its [`AnswerRoom`] before the change.
    pub(in crate::http) fn count_given(
        &self,
        account: &Account,
        token: Option<u64>,
        bytes: Bytes,
    ) -> Bytes {
        self.counted_beyond(Credential::new(account, token), bytes)
    }

    /// Takes memory for an answer of about so many bytes that is made later; `None` for one that is not counted.
    ///
    /// # Errors
    /// As [`AnswerMemory::count`].
    ///
    /// # Limits
    /// It counts whole, up to [`ANSWERS_BYTES_CREDENTIAL_MAX`]: whoever has none untaken gets any.
    pub(in crate::http) fn room(
        &self,
        account: &Account,
        token: Option<u64>,
        bytes: u64,
    ) -> Result<Option<AnswerRoom>, Error> {
        let room = self.room_of(Credential::new(account, token), bytes);
        room.map_err(|full| refused(account, full))
    }

    fn counted(&self, credential: Credential, bytes: Bytes) -> Result<Bytes, Full> {
        let Some(amount) = counted_amount(&bytes) else {
            return Ok(bytes);
        };
        let share = self.quota.take(credential, amount)?;
        Ok(Counted::holding(share, bytes))
    }

    fn counted_beyond(&self, credential: Credential, bytes: Bytes) -> Bytes {
        match counted_amount(&bytes) {
            Some(amount) => Counted::holding(self.quota.take_beyond(credential, amount), bytes),
            None => bytes,
        }
    }

    fn room_of(&self, credential: Credential, bytes: u64) -> Result<Option<AnswerRoom>, Full> {
        if bytes < ANSWER_BYTES_COUNTED_MIN {
            return Ok(None);
        }
        let amount = bytes.min(ANSWERS_BYTES_CREDENTIAL_MAX);
        let share = self.quota.take(credential, amount)?;
        Ok(Some(AnswerRoom(share)))
    }
}

impl AnswerRoom {
    /// The bytes of the answer, which hold the memory from now on.
    pub(in crate::http) fn hold(self, bytes: Bytes) -> Bytes {
        Counted::holding(self.0, bytes)
    }
}

impl Counted {
    fn holding(share: CredentialShare, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Self {
            // What they were written to may be twice as large; the rest of it is given back.
            bytes: Vec::from(bytes).into_boxed_slice(),
            _share: share,
        })
    }
}

/// As how many bytes an answer counts, if it does.
fn counted_amount(bytes: &Bytes) -> Option<u64> {
    let length = byte_count(bytes);
    (length >= ANSWER_BYTES_COUNTED_MIN).then_some(length.min(ANSWER_BYTES_COUNTED_MAX))
}

fn refused(account: &Account, full: Full) -> Error {
    let too_many = "too many bytes of answers at once";
    full.refused(account.name(), too_many, too_many, 1)
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
    fn room_is_taken_before_an_answer_is_made_and_what_is_given_in_any_case_counts() {
        let memory = AnswerMemory::new();
        let text = |bytes: u64| Bytes::from(vec![b'x'; usize::try_from(bytes).unwrap()]);
        let (ann, least) = (session(1), ANSWER_BYTES_COUNTED_MIN);
        assert!(memory.room_of(ann, least - 1).unwrap().is_none());
        let room = memory.room_of(ann, ANSWERS_BYTES_CREDENTIAL_MAX + 1);
        let room = room.unwrap().unwrap();
        assert_eq!(memory.room_of(ann, least).unwrap_err(), Full::Holder);
        let made = room.hold(text(least));
        assert_eq!(made.len() as u64, least);
        assert_eq!(memory.room_of(ann, least).unwrap_err(), Full::Holder);
        let given = memory.counted_beyond(ann, text(least));
        drop(made);
        let most = ANSWERS_BYTES_CREDENTIAL_MAX;
        assert_eq!(memory.room_of(ann, most).unwrap_err(), Full::Holder);
        drop(given);
        assert!(memory.room_of(ann, most).is_ok());
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
