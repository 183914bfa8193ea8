//! Files with secrets that everybody on the machine may read: told, and used all the same. A group that may read one is
//! usual, as that of a unit, or of several services with one certificate.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::Settings;
use crate::store::engine::StoreAddress;

/// Others than the owner and the group may read.
const READABLE_BY_OTHERS: u32 = 0o004;

/// A file with a secret that everybody may read.
pub(in crate::cli) struct Exposed {
    file: PathBuf,
    secret: &'static str,
}

impl Exposed {
    /// Looks whether everybody may read this file, which holds this secret.
    pub(in crate::cli) fn find(file: &Path, secret: &'static str) -> Option<Self> {
        let found = fs::metadata(file).ok()?;
        (found.mode() & READABLE_BY_OTHERS != 0).then(|| Self {
            file: file.to_owned(),
            secret,
        })
    }

    /// Tells the log.
    pub(in crate::cli) fn warn(&self) {
        tracing::warn!(file = %self.file.display(), "{self}");
    }

    /// The file.
    pub(in crate::cli) fn file(&self) -> &Path {
        &self.file
    }
}

impl fmt::Display for Exposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secret = self.secret;
        write!(
            f,
            "everybody on this machine may read {secret}: chmod o= it"
        )
    }
}

/// Those of the files with secrets for the store that the settings name.
pub(in crate::cli) fn exposed_for_store(settings: &Settings) -> Vec<Exposed> {
    let StoreAddress::Postgres(url) = &*settings.store else {
        // A folder has its own, and is its owner's alone.
        return Vec::new();
    };
    let given = settings.store.file().filter(|_| url.has_password());
    let own = url.certificate().map(|certificate| &*certificate.key);
    let files = [
        (given, "the password in store"),
        (
            Some(&*settings.postgres_password_file),
            "the password for the database",
        ),
        (own, "the key for the database (sslkey)"),
        (Some(&*settings.server_key_file), "the server key"),
        (
            Some(&*settings.s3_credentials_file),
            "the keys for the bucket",
        ),
    ];
    let files = files.into_iter();
    files
        .filter_map(|(file, secret)| Exposed::find(file?, secret))
        .collect()
}
