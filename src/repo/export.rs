//! Exporting a state to a folder.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::{Body, Error, FileView, Listing, Result, Revision};
use crate::base::digest::byte_count;
use crate::base::limits::READ_CHUNK_BYTES;
use crate::store::StoreError;

/// Entries of the tree looked up at once.
const ENTRIES_AT_ONCE: u64 = 1000;

/// Lays a state out in a folder, which is made if it is missing and must be empty if not. Gives the
/// number of files; `None` when `go_on`, which is asked with the path of each file that was written,
/// ended it: then nothing is left of it.
///
/// # Errors
/// [`Error::Invalid`] when the folder is not empty. After another error what could be written stays: of
/// a damaged state it may be all that there is.
pub fn export(
    revision: &Revision,
    dir: &Path,
    mut go_on: impl FnMut(&str) -> ControlFlow<()>,
) -> Result<Option<u64>> {
    let io = |e| Error::from(StoreError::io("writing the export", e));
    let is_new = !fs::exists(dir).map_err(io)?;
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
            return Ok(Some(files));
        }
        for (path, file) in entries {
            laid += 1;
            let target = dir.join(&path);
            let Some(file) = file else {
                fs::create_dir(&target).map_err(io)?;
                continue;
            };
            write_file(&file, &target)?;
            files += 1;
            if go_on(&path).is_break() {
                remove(&listing, laid, dir)?;
                if is_new {
                    fs::remove_dir(dir).map_err(io)?;
                }
                return Ok(None);
            }
        }
    }
}

/// Removes the first so many entries again.
fn remove(listing: &Listing, count: u64, dir: &Path) -> Result<()> {
    let io = |e| Error::from(StoreError::io("removing the export", e));
    let mut folders = Vec::new();
    let mut passed = 0;
    while passed < count {
        let most = ENTRIES_AT_ONCE.min(count - passed);
        for (path, file) in listing.opened_part(passed, most)? {
            let target = dir.join(path);
            match file {
                Some(_) => fs::remove_file(target).map_err(io)?,
                None => folders.push(target),
            }
        }
        passed += most;
    }
    // A folder comes before what is in it.
    for folder in folders.iter().rev() {
        fs::remove_dir(folder).map_err(io)?;
    }
    Ok(())
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
