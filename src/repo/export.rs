//! Exporting a state to a folder.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::{Body, Error, FileView, Result, Revision};
use crate::base::digest::byte_count;
use crate::base::limits::READ_CHUNK_BYTES;
use crate::store::StoreError;

/// Entries of the tree looked up at once.
const ENTRIES_AT_ONCE: u64 = 1000;

/// Lays a state out in a folder, which is made if it is missing and must be empty if not. Gives the
/// number of files.
///
/// # Errors
/// [`Error::Invalid`] when the folder is not empty.
pub fn export(revision: &Revision, dir: &Path, mut progress: impl FnMut(&str)) -> Result<u64> {
    let io = |e| Error::from(StoreError::io("writing the export", e));
    fs::create_dir_all(dir).map_err(io)?;
    if fs::read_dir(dir).map_err(io)?.next().is_some() {
        return Err(Error::invalid(format!(
            "{} is not empty; name an empty folder",
            dir.display()
        )));
    }
    let listing = revision.listing(None, true)?;
    let (mut files, mut laid) = (0, 0);
    loop {
        let entries = listing.opened_part(laid, ENTRIES_AT_ONCE)?;
        if entries.is_empty() {
            return Ok(files);
        }
        laid += ENTRIES_AT_ONCE;
        for (path, file) in entries {
            let target = dir.join(&path);
            let Some(file) = file else {
                fs::create_dir(&target).map_err(io)?;
                continue;
            };
            write_file(&file, &target)?;
            files += 1;
            progress(&path);
        }
    }
}

fn write_file(file: &FileView, target: &Path) -> Result<()> {
    let io = |e: io::Error| Error::from(StoreError::io("writing the export", e));
    let content = file.content()?;
    let mode = if file.is_executable() { 0o777 } else { 0o666 };
    let mut out = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(target)
        .map_err(io)?;
    match &content.body {
        Body::Inline(bytes) => out.write_all(bytes).map_err(io),
        Body::Large(large) => {
            let mut chunk = vec![0; READ_CHUNK_BYTES];
            let mut offset = 0;
            while offset < content.size {
                let left = usize::try_from(content.size - offset).unwrap_or(usize::MAX);
                let take = left.min(chunk.len());
                large
                    .read_exact_at(&mut chunk[..take], offset)
                    .map_err(io)?;
                out.write_all(&chunk[..take]).map_err(io)?;
                offset += byte_count(&chunk[..take]);
            }
            Ok(())
        }
    }
}
