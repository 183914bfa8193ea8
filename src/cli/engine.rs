//! The engine that the settings choose, opened, and what is not offered over each.

use std::path::{Path, PathBuf};

use super::settings::{Settings, text_of};
use super::{Error, Result, bucket};
use crate::store::StoreError;
use crate::store::bucket_url::BucketUrl;
use crate::store::database_url::{DatabaseUrl, password_in};
use crate::store::engine::{Engine, Purpose, StoreAddress};
use crate::store::sqlite::Folder;

/// The name of the key's file in a folder.
const SERVER_KEY: &str = "server-key";

/// Opens the store that the settings name.
///
/// # Errors
/// [`Error::Usage`] for a password or keys that cannot be read, and those of [`Engine::open`].
pub(super) fn open(settings: &Settings, purpose: Purpose) -> Result<Engine> {
    let address = address(settings)?;
    let bucket = bucket::access(settings)?;
    Engine::open(&address, bucket.as_ref(), purpose).map_err(|error| of_store(error, settings))
}

/// Where the store lies that the settings name, with the password that is kept in a file.
///
/// # Errors
/// As [`complete`].
pub(super) fn address(settings: &Settings) -> Result<StoreAddress> {
    Ok(match &*settings.store {
        StoreAddress::Folder(root) => StoreAddress::Folder(root.clone()),
        StoreAddress::Postgres(url) => StoreAddress::Postgres(complete(url, settings)?),
    })
}

/// The URL with the password that is kept in a file, where one is. Nothing is asked of the database.
///
/// # Errors
/// [`Error::Usage`] for a password that cannot be read, and for certificates.
pub(super) fn complete(url: &DatabaseUrl, settings: &Settings) -> Result<DatabaseUrl> {
    let url = with_password(url, settings)?;
    Engine::check(&url).map_err(|error| match error {
        StoreError::Unfit { reason } => settings.store.refuse(reason),
        other => of_store(other, settings),
    })?;
    Ok(url)
}

fn with_password(url: &DatabaseUrl, settings: &Settings) -> Result<DatabaseUrl> {
    let file = &settings.postgres_password_file;
    if file.as_os_str().is_empty() {
        return Ok(url.clone());
    }
    if url.has_password() {
        return Err(file.refuse("the URL in store has a password, too; give one of the two"));
    }
    let text = text_of(file)?;
    let password = password_in(&text).map_err(|fault| file.refuse(fault))?;
    Ok(url.clone().with_password_of(file, password))
}

/// An error of the store that the settings name, with where it lies if the error does not say.
pub(super) fn of_store(error: StoreError, settings: &Settings) -> Error {
    located(error.into(), settings)
}

/// The same of whatever a command has failed with: what is no error of the store stays as it is.
pub(super) fn located(error: Error, settings: &Settings) -> Error {
    let place = match error.of_store() {
        None | Some(StoreError::Folder { .. } | StoreError::Locked { .. }) => return error,
        Some(of_store) if of_store.is_of_bucket() => {
            settings.blobs.as_ref().map(BucketUrl::to_string)
        }
        Some(_) => None,
    };
    let place = place.unwrap_or_else(|| settings.store.to_string());
    Error::Failed(format!("{place}: {error}"))
}

/// The file of the server's key: a folder has its own.
///
/// # Errors
/// [`Error::Usage`] where the store lies in a database and no file is named.
pub(super) fn key_file(folder: Option<&Folder>, settings: &Settings) -> Result<PathBuf> {
    match folder {
        Some(folder) => Ok(key_file_in(folder)),
        None if settings.server_key_file.as_os_str().is_empty() => Err(Error::Usage(
            "server_key_file is not set: a store in PostgreSQL needs a file of its server key, which \
             \"siteconf init\" makes, and each daemon the same one"
                .to_owned(),
        )),
        None => Ok(settings.server_key_file.to_path_buf()),
    }
}

/// The file of the server's key in a folder.
pub(super) fn key_file_in(folder: &Folder) -> PathBuf {
    folder.secrets().join(SERVER_KEY)
}

/// The same of a folder that is yet to be made.
pub(super) fn key_file_below(root: &Path) -> PathBuf {
    root.join("secrets").join(SERVER_KEY)
}
