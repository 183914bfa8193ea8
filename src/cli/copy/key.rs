//! The server key of what is copied, which the copy needs too.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::base::secret::ServerKey;
use crate::cli::first_start::{KeyState, keep};
use crate::cli::open_store::OpenStore;
use crate::cli::output::visible_path;
use crate::cli::settings::Settings;
use crate::cli::{Error, Result, engine};
use crate::store::engine::StoreAddress;

/// The key, and where the copy will have it.
pub(super) struct KeyFile {
    key: ServerKey,
    proof: String,
    path: PathBuf,
}

impl KeyFile {
    /// Reads it, and looks whether its place for the copy is free or holds it already.
    ///
    /// # Errors
    /// [`Error::Failed`] where the key is not the store's, another one is in its place, or its place has no folder.
    pub(super) fn of(source: &OpenStore, from: &Settings, to: &Settings) -> Result<Self> {
        let state = KeyState::read(
            source.key_file(from)?,
            source.store.as_ref(),
            &source.accounts,
        )?;
        let key = state.into_key().map_err(Error::Failed)?;
        let path = match &*to.store {
            StoreAddress::Folder(root) => engine::key_file_below(root),
            StoreAddress::Postgres(_) => {
                let path = engine::key_file(None, to)?;
                require_folder_of(&path)?;
                path
            }
        };
        let proof = key.proof();
        let key = Self { key, proof, path };
        key.is_there()?;
        Ok(key)
    }

    /// What tells the store from every other, without a secret.
    pub(super) fn proof(&self) -> &str {
        &self.proof
    }

    /// The file of the copy's key.
    pub(super) fn shown(&self) -> String {
        visible_path(&self.path)
    }

    /// Writes it, unless it is there.
    pub(super) fn keep(&self) -> Result<()> {
        if self.is_there()? {
            return Ok(());
        }
        keep(&self.path, &self.key.reveal())
    }

    fn is_there(&self) -> Result<bool> {
        match fs::read_to_string(&self.path) {
            Ok(text) => match ServerKey::parse(&text) {
                Some(there) if there.proof() == self.proof => Ok(true),
                _ => Err(Error::Failed(format!(
                    "{} is not the server key of what is copied; move it away, or name another file",
                    self.shown()
                ))),
            },
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
            Err(e) => Err(Error::file("reading", &self.path)(e)),
        }
    }
}

/// Refuses what would fail when all is copied.
fn require_folder_of(path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    Err(Error::Failed(format!(
        "{}: there is no folder for the file of the server key; make it first",
        visible_path(folder)
    )))
}
