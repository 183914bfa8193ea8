//! What a store must have before it is served: the server's key, and an account that may do all.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::password::NewPassword;
use super::{Error, Result, Streams};
use crate::access::{Accounts, Role};
use crate::base::secret::ServerKey;
use crate::store::sqlite::{Folder, write_durably};

/// The account that a first start makes.
const FIRST_ACCOUNT: &str = "admin";

/// The server's key; made and kept durably when there is none yet.
///
/// # Errors
/// [`Error::Failed`] for a file that holds something else: a new key would forget every instance
/// that a token is bound to.
pub(super) fn server_key(folder: &Folder) -> Result<ServerKey> {
    let path = folder.secrets().join("server-key");
    match fs::read_to_string(&path) {
        Ok(text) => ServerKey::parse(&text).ok_or_else(|| {
            let shown = path.display();
            Error::Failed(format!("{shown} is damaged; restore it from a backup"))
        }),
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let key = ServerKey::generate();
            keep(&path, &key.reveal())?;
            Ok(key)
        }
        Err(e) => Err(Error::file("reading", path)(e)),
    }
}

/// Makes the account `admin` where there is no account, and says its password once.
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
    let path = folder.secrets().join("initial-password");
    keep(&path, &text)?;
    accounts.create(FIRST_ACCOUNT, &text, &[Role::Root])?;
    writeln!(
        streams.out,
        "first start: user {FIRST_ACCOUNT}, password {text}, also in {}",
        path.display()
    )?;
    streams.out.flush()?;
    Ok(())
}

fn keep(path: &Path, text: &str) -> Result<()> {
    write_durably(path, format!("{text}\n").as_bytes()).map_err(Error::file("writing", path))
}
