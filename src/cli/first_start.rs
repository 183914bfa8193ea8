//! What a store must have before it is served: the server's key, and an account that may do all.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::open_store::OpenStore;
use super::output::visible_path;
use super::password::NewPassword;
use super::settings::Settings;
use super::{Error, Result, Streams, open_store};
use crate::access;
use crate::access::{Accounts, Role};
use crate::base::secret::ServerKey;
use crate::repo::Projects;
use crate::repo::audit;
use crate::repo::audit::{Action, AuditRecord};
use crate::store::inspection::{Inspectable, Service};
use crate::store::sqlite::backup::KnownKey;
use crate::store::sqlite::{Folder, write_durably};
use crate::store::{Batch, Expect, Store, Versioned};

/// The account that a first start makes.
const FIRST_ACCOUNT: &str = "admin";

/// The file of the password that a first start made.
const FIRST_PASSWORD: &str = "initial-password";

/// The record by which a store knows its key again.
const KEY_RECORD: &str = "server-key";

/// The value of [`KEY_RECORD`].
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KeyRecord {
    proof: String,
}

impl KeyRecord {
    fn of(key: &ServerKey) -> Self {
        Self { proof: key.proof() }
    }
}

/// What the key's file holds.
enum KeyFile {
    Absent,
    Damaged,
    Holds(ServerKey),
}

/// The key's file, and what the store knows of the key.
pub(super) struct KeyState {
    path: PathBuf,
    file: KeyFile,
    known: Option<Versioned<KeyRecord>>,
    /// True where there is an account: then a key has been in use.
    in_use: bool,
}

impl KeyState {
    /// Reads both.
    ///
    /// # Errors
    /// [`Error::File`] for a file that cannot be read, and those of the store.
    pub(super) fn read(path: PathBuf, store: &dyn Store, accounts: &Accounts) -> Result<Self> {
        let file = match fs::read(&path) {
            Ok(bytes) => std::str::from_utf8(&bytes)
                .ok()
                .and_then(ServerKey::parse)
                .map_or(KeyFile::Damaged, KeyFile::Holds),
            Err(e) if e.kind() == ErrorKind::NotFound => KeyFile::Absent,
            Err(e) => return Err(Error::file("reading", path)(e)),
        };
        Ok(Self {
            path,
            file,
            known: store.value(KEY_RECORD)?,
            in_use: !accounts.is_empty()?,
        })
    }

    /// The store's key.
    ///
    /// # Errors
    /// What is wrong with it, a sentence.
    pub(super) fn into_key(self) -> std::result::Result<ServerKey, String> {
        match (self.fault(), self.file) {
            (Some(fault), _) => Err(fault),
            (None, KeyFile::Holds(key)) => Ok(key),
            (None, _) => Err("the store has no server key yet: start the service once".to_owned()),
        }
    }

    /// What is wrong with the key, a sentence; `None` where it is the store's, or the store has none
    /// yet.
    pub(super) fn fault(&self) -> Option<String> {
        let shown = self.path.display();
        match (&self.file, &self.known) {
            (KeyFile::Absent, known) if self.in_use || known.is_some() => {
                Some(format!("{shown} is missing, and the store has been in use"))
            }
            (KeyFile::Damaged, _) => Some(format!("{shown} is damaged")),
            (KeyFile::Holds(key), Some(known)) if *known.value != KeyRecord::of(key) => {
                Some(format!("{shown} is not the key of this store"))
            }
            _ => None,
        }
    }
}

/// What is wrong with the server's key, a sentence. Of a store in a database nothing is where no setting names the
/// key's file.
pub(super) fn key_fault(opened: &OpenStore, settings: &Settings) -> Option<String> {
    let path = opened.key_file(settings).ok()?;
    let state = KeyState::read(path, opened.store.as_ref(), &opened.accounts);
    state.map_or_else(|error| Some(error.to_string()), |state| state.fault())
}

/// What a backup goes by: the fault of the key's file, and the proof that the store has of its key. What damage hides
/// of the latter the backup finds by itself.
pub(super) fn known_key(opened: &OpenStore, path: PathBuf) -> KnownKey {
    match KeyState::read(path, opened.store.as_ref(), &opened.accounts) {
        Ok(state) => KnownKey {
            fault: state.fault(),
            proof: state.known.map(|known| known.value.proof.clone()),
        },
        Err(error @ Error::File { .. }) => KnownKey {
            fault: Some(error.to_string()),
            proof: None,
        },
        Err(_) => KnownKey::default(),
    }
}

/// The server's key; made and kept durably when there is none yet, and made known to the store. With
/// `renew`, the same store, another key than its own becomes the store's, and one takes the place of what is none.
///
/// # Errors
/// [`Error::Failed`] without `renew` when the key is not the store's, or lost: with another one no
/// token that is bound to an instance would be accepted. With it, while daemons serve the store.
pub(super) fn server_key(
    path: PathBuf,
    projects: &Projects,
    accounts: &Accounts,
    renew: Option<&dyn Inspectable>,
) -> Result<ServerKey> {
    let store = projects.store().as_ref();
    if let Some(store) = renew {
        require_alone(store)?;
    }
    let state = KeyState::read(path, store, accounts)?;
    match state.fault() {
        Some(fault) if renew.is_none() => {
            return Err(Error::Failed(format!(
                "{fault}: with another key, tokens that are bound to an instance would be refused. \
                 {}; where it is lost for good, start once with \
                 --new-server-key, and reset the instance of those tokens",
                if store.is_remote() {
                    "Copy the file from another daemon's machine, or restore it from a backup"
                } else {
                    "Restore the file from a backup"
                }
            )));
        }
        Some(fault) => tracing::warn!(
            "{fault}; it has another one now, and tokens that are bound to an instance are refused \
             until they are reset"
        ),
        None => {}
    }
    let key = if let KeyFile::Holds(key) = state.file {
        key
    } else {
        let key = ServerKey::generate();
        keep(&state.path, &key.reveal())?;
        key
    };
    let record = KeyRecord::of(&key);
    let known = state.known.as_ref();
    if known.is_none_or(|known| *known.value != record) {
        let mut batch = Batch::default();
        // Of two that begin over one database at once, one is refused: else its key would be none.
        let expect = known.map_or(Expect::Absent, Versioned::expect);
        batch.write(KEY_RECORD.to_owned(), expect, &record);
        let now = projects.clock().now();
        let noted = AuditRecord::new(now, &open_store::actor(), Action::ServerKeySet);
        audit::add(&mut batch, &noted);
        store.commit(batch)?;
    }
    Ok(key)
}

/// Refuses to give a store another key beside daemons, which go on with the one that it has: each would refuse the
/// tokens that were bound at the others.
///
/// # Errors
/// [`Error::Failed`] while there are any.
fn require_alone(store: &dyn Inspectable) -> Result<()> {
    match store.service()? {
        Service::Daemons(seen) if !seen.is_empty() => {
            let hosts: Vec<_> = seen.iter().map(|daemon| daemon.host.as_str()).collect();
            Err(Error::Failed(format!(
                "--new-server-key: daemons serve the store with the key that it has (seen in the last 10 seconds: \
                 {}); copy the key's file from one of them, or stop them all first",
                hosts.join(", ")
            )))
        }
        Service::Daemons(_) | Service::Process(_) => Ok(()),
    }
}

/// Makes the account `admin` where there is no account, and says its password, once and to a person
/// alone, and where it is kept.
///
/// # Durability
/// The password is kept before the account is there: a crash between leaves no account that nobody
/// can enter, and the next start makes both again.
pub(super) fn first_account(
    folder: &Folder,
    accounts: &Accounts,
    streams: &mut Streams<'_>,
) -> Result<()> {
    if !accounts.is_empty()? {
        return Ok(());
    }
    let NewPassword { text, .. } = NewPassword::random();
    let path = folder.secrets().join(FIRST_PASSWORD);
    keep(&path, &text)?;
    accounts.create(FIRST_ACCOUNT, &text, &[Role::Root])?;
    let path = path.display();
    // What is no terminal keeps it, as a journal does for good.
    let password = if streams.out_is_terminal {
        format!("password {text}, also in {path}")
    } else {
        format!("password in {path}")
    };
    // The file has it: somebody who cannot be told ends no service.
    let _said = writeln!(streams.out, "first start: user {FIRST_ACCOUNT}, {password}")
        .and_then(|()| streams.out.flush());
    Ok(())
}

/// Makes the account `admin` of a store in a database, where several daemons would each have a file of its
/// password, and prints the password, once.
///
/// # Errors
/// [`Error::Failed`] also where it could not be printed: the account is there then, and that says what to do.
pub(super) fn first_account_of_fleet(accounts: &Accounts, streams: &mut Streams<'_>) -> Result<()> {
    let NewPassword { text, .. } = NewPassword::random();
    accounts.create(FIRST_ACCOUNT, &text, &[Role::Root])?;
    let shown = writeln!(streams.out, "user {FIRST_ACCOUNT}, password {text}");
    shown.and_then(|()| streams.out.flush()).map_err(|e| {
        Error::Failed(format!(
            "writing the password: {e}; the store and its user {FIRST_ACCOUNT} are made, and nobody has seen \
             the password: set another with \"siteconf user passwd {FIRST_ACCOUNT}\" and the same settings"
        ))
    })
}

/// Refuses a store in a database that was made by halves: of several daemons that made its first account, all
/// but one would print a password that is none.
///
/// # Errors
/// [`Error::Failed`] where it has no account.
pub(super) fn require_account(accounts: &Accounts, settings: &Settings) -> Result<()> {
    if !accounts.is_empty()? {
        return Ok(());
    }
    Err(Error::Failed(format!(
        "{}: the store has no account yet: \"siteconf init\" makes the first",
        settings.store
    )))
}

/// The file of the first password, for the service.
#[derive(Debug)]
pub(super) struct FirstPasswordFile(PathBuf);

impl FirstPasswordFile {
    /// Of this folder.
    pub(super) fn of(folder: &Folder) -> Self {
        Self(folder.secrets().join(FIRST_PASSWORD))
    }
}

impl access::FirstPassword for FirstPasswordFile {
    fn read(&self) -> Option<String> {
        // Absent, or not to be read: nobody is kept from a new password by that.
        let text = fs::read_to_string(&self.0).ok()?;
        Some(text.trim_end().to_owned())
    }

    fn remove(&self) {
        if let Err(error) = fs::remove_file(&self.0) {
            let file = self.0.display();
            tracing::warn!(%error, %file, "the first password, which is no longer one, stays there");
        }
    }
}

/// The file of the first password, where it holds that of an account which is about to have another.
pub(super) struct FirstPassword(Option<FirstPasswordFile>);

impl FirstPassword {
    /// Looks whether the file holds this account's password.
    pub(super) fn of(name: &str, opened: &OpenStore) -> Result<Self> {
        let Some(folder) = opened.data_folder() else {
            return Ok(Self(None));
        };
        let file = FirstPasswordFile::of(folder);
        let holds = match access::FirstPassword::read(&file) {
            Some(text) => opened.accounts.has_password(name, &text)?,
            None => false,
        };
        Ok(Self(holds.then_some(file)))
    }

    /// Removes it: what it holds opens nothing any more. What else was to be done is done, and a file that
    /// stays is no failure of that: it is told.
    pub(super) fn remove(self, streams: &mut Streams<'_>) -> Result<()> {
        let Some(FirstPasswordFile(path)) = self.0 else {
            return Ok(());
        };
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => streams.note(format_args!(
                "siteconf: {} stays, and holds a password that opens nothing any more: {error}",
                visible_path(&path)
            )),
            _ => Ok(()),
        }
    }
}

/// Keeps a line in a file of its own.
pub(super) fn keep(path: &Path, text: &str) -> Result<()> {
    write_durably(path, format!("{text}\n").as_bytes()).map_err(Error::file("writing", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_password_that_stays_is_told_and_fails_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let said_of = |path: PathBuf| {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let streams = &mut Streams::unseen(&mut out, &mut err);
            let first = FirstPassword(Some(FirstPasswordFile(path)));
            first.remove(streams).unwrap();
            String::from_utf8(err).unwrap()
        };
        // No folder is removed as a file is.
        let said = said_of(folder.path().to_owned());
        assert!(
            said.contains(" stays, and holds a password that opens nothing any more: "),
            "{said}"
        );
        assert_eq!(said_of(folder.path().join("gone")), "");
    }
}
