//! The server key in a backup: the one file of `secrets/` without which a store does not start again.

use std::fs;

use super::error::{BackupError, Result};
use super::part::{Part, SERVER_KEY};
use super::session::Session;
use crate::base::secret::ServerKey;

/// What is known of the server key of the store that is backed up. Of a store that has none yet nothing is.
#[derive(Clone, Debug, Default)]
pub struct KnownKey {
    /// What is wrong with the key's file, a sentence; `None` where nothing is.
    pub fault: Option<String>,
    /// By what the store knows its key again ([`ServerKey::proof`]).
    pub proof: Option<String>,
}

impl KnownKey {
    /// False for the key of another store.
    fn may_be(&self, key: &ServerKey) -> bool {
        let known = self.proof.as_ref();
        known.is_none_or(|proof| *proof == key.proof())
    }
}

impl Session<'_, '_, '_> {
    /// Refuses to replace a backup that has another key than the store.
    ///
    /// # Errors
    /// [`BackupError::Refused`].
    pub(super) fn refuse_other_key(&self, known: &KnownKey) -> Result<()> {
        let Some(there) = self.place.last_secret(SERVER_KEY).and_then(parsed) else {
            return Ok(());
        };
        // A store that does not know its key yet has it in its file alone.
        let own = self.sound_key(known).and_then(parsed);
        let same_as_own = own.is_none_or(|own| own.proof() == there.proof());
        if known.may_be(&there) && same_as_own {
            return Ok(());
        }
        Err(BackupError::Refused(
            "the backup there has another server key than this store: it is of another store, or of the \
             time before --new-server-key; name another place"
                .to_owned(),
        ))
    }

    /// Puts the key's file. Where it is not sound, that is told, and the one of the last backup stays.
    pub(super) fn put_key(&mut self, known: &KnownKey) -> Result<Option<Part>> {
        if let Some(bytes) = self.sound_key(known) {
            return self.put_key_of(&bytes).map(Some);
        }
        let there = self.place.last_secret(SERVER_KEY);
        let is_own = |bytes: &Vec<u8>| parsed(bytes.clone()).is_some_and(|key| known.may_be(&key));
        let there = there.filter(is_own);
        if let Some(fault) = &known.fault {
            let what = match there {
                Some(_) => "the one in the backup there stays, from which it can be restored",
                None => "the backup has none",
            };
            self.found(format!("{fault}: {what}"))?;
        }
        there.map(|bytes| self.put_key_of(&bytes)).transpose()
    }

    fn put_key_of(&mut self, bytes: &[u8]) -> Result<Part> {
        let part = Part::secret(SERVER_KEY, bytes);
        self.put(part.clone(), bytes)?;
        Ok(part)
    }

    /// The bytes of the store's own key's file, where they are its key.
    fn sound_key(&self, known: &KnownKey) -> Option<Vec<u8>> {
        let path = self.store.data_folder().secrets().join(SERVER_KEY);
        let bytes = fs::read(path).ok().filter(|_| known.fault.is_none())?;
        parsed(bytes.clone()).map(|_| bytes)
    }
}

fn parsed(bytes: Vec<u8>) -> Option<ServerKey> {
    ServerKey::parse(&String::from_utf8(bytes).ok()?)
}
