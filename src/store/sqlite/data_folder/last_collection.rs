//! What the last collection kept (`objects-layout.md`, "Data folder").

use std::fs;
use std::io;
use std::path::PathBuf;

use super::{Folder, write_durably};
use crate::base::clock::Timestamp;
use crate::store::collection::KeptByCollection;
use crate::store::{Result, StoreError};

impl Folder {
    /// What the last collection that came to its end kept; `None` where there was none, or the note of
    /// it makes no sense.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the note cannot be read.
    pub fn last_collection(&self) -> Result<Option<KeptByCollection>> {
        match fs::read_to_string(self.collection_note()) {
            Ok(text) => Ok(parse(&text)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) if e.kind() == io::ErrorKind::InvalidData => Ok(None),
            Err(e) => Err(StoreError::io("reading what the last collection kept", e)),
        }
    }

    /// Notes what a collection kept: the bytes of [`KeptByCollection`].
    pub fn note_collection(&self, at: Timestamp, live_bytes: u64, old_bytes: u64) -> Result<()> {
        let note = format!("{at} {live_bytes} {old_bytes}\n");
        write_durably(&self.collection_note(), note.as_bytes())
            .map_err(|e| StoreError::io("noting what the collection kept", e))
    }

    fn collection_note(&self) -> PathBuf {
        self.root.join("last-collection")
    }
}

fn parse(text: &str) -> Option<KeptByCollection> {
    let mut words = text.split_whitespace();
    Some(KeptByCollection {
        at: Timestamp::parse(words.next()?)?,
        live_bytes: words.next()?.parse().ok()?,
        old_bytes: words.next()?.parse().ok()?,
    })
}
