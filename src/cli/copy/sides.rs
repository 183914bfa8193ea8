//! The two sides of a copy: each with the settings by which it is opened.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::settings::Settings;
use crate::cli::{Error, Result};
use crate::store::database_url::DatabaseUrl;
use crate::store::engine::StoreAddress;

/// What is copied, and where.
pub(super) struct Sides {
    pub(super) from: Settings,
    pub(super) to: Settings,
}

impl Sides {
    /// Takes the addresses as they were written. Password, key and bucket are those of the settings, for the one
    /// side that is a database.
    ///
    /// # Errors
    /// [`Error::Usage`] for what is no address, for two databases, and for one place twice.
    pub(super) fn of(from: &OsStr, to: &OsStr, settings: &Settings) -> Result<Self> {
        let sides = Self {
            from: with(settings, address("--from", from)?),
            to: with(settings, address("--to", to)?),
        };
        match (&*sides.from.store, &*sides.to.store) {
            (StoreAddress::Postgres(_), StoreAddress::Postgres(_)) => Err(Error::Usage(
                "--from and --to are both databases: use a base backup, or pg_dump, and keep the key's file \
                 and the bucket with it"
                    .to_owned(),
            )),
            (StoreAddress::Folder(from), StoreAddress::Folder(to)) if touch(from, to) => {
                Err(Error::Usage(
                    "--from and --to are the same folder, or one is within the other".to_owned(),
                ))
            }
            _ => Ok(sides),
        }
    }
}

fn address(flag: &str, text: &OsStr) -> Result<StoreAddress> {
    let Some(url) = text.to_str().filter(|text| DatabaseUrl::is_meant_by(text)) else {
        if text.is_empty() {
            return Err(Error::Usage(format!("{flag} is empty")));
        }
        return Ok(StoreAddress::Folder(PathBuf::from(text)));
    };
    let url = DatabaseUrl::parse(url);
    url.map(StoreAddress::Postgres)
        .map_err(|wrong| Error::Usage(format!("{flag}: {wrong}")))
}

fn with(settings: &Settings, store: StoreAddress) -> Settings {
    let is_folder = matches!(store, StoreAddress::Folder(_));
    Settings {
        store: settings.store.replaced(store),
        blobs: settings.blobs.clone().filter(|_| !is_folder),
        ..settings.clone()
    }
}

/// True if two folders have something in common.
fn touch(one: &Path, other: &Path) -> bool {
    let (one, other) = (whole(one), whole(other));
    one.starts_with(&other) || other.starts_with(&one)
}

/// The path without links, as far as it is there.
fn whole(path: &Path) -> PathBuf {
    if let Ok(whole) = fs::canonicalize(path) {
        return whole;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if parent == Path::new("") => whole(Path::new(".")).join(name),
        (Some(parent), Some(name)) => whole(parent).join(name),
        _ => path.to_owned(),
    }
}
