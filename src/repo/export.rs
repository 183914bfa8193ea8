//! Exporting a state to a folder.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{fstatfs, syncfs};

use super::{Content, Error, FileView, Listing, Revision};

/// Entries of the tree looked up at once.
const ENTRIES_AT_ONCE: u64 = 1000;
/// Files that are synced together, and after how many bytes in any case: who interrupts waits for no more. They are
/// open until then.
const FILES_SYNCED_AT_ONCE: usize = 128;
const BYTES_SYNCED_AT_ONCE: u64 = 64 << 20;

/// Why an export came to no end. Its text is for whoever runs it.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The folder cannot take a state; a sentence that says why.
    #[error("{0}")]
    Refused(String),
    /// A file or folder of the target failed.
    #[error("{action} {}: {source}", path.display())]
    Target {
        /// What was being done, as in "writing".
        action: &'static str,
        /// With which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The content of a file of the state cannot be had.
    #[error("reading \"{path}\": {reason}")]
    Content {
        /// Its path in the tree.
        path: String,
        /// Why.
        reason: String,
    },
    /// The state cannot be listed.
    #[error(transparent)]
    State(#[from] Error),
}

impl ExportError {
    fn target(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Target {
            action,
            path,
            source,
        }
    }
}

type Result<T> = std::result::Result<T, ExportError>;

/// Lays a state out in a folder, which is made if it is missing and must be empty if not. Gives the
/// number of files; `None` when `go_on`, which is asked with the path of each file that was written,
/// ended it: then nothing is left of it.
///
/// # Errors
/// [`ExportError::Refused`] when the folder is none or not empty. After another error what was written before stays:
/// of a damaged state it may be all that there is.
///
/// # Durability
/// A file counts as written once it is synced.
pub fn export(
    revision: &Revision,
    dir: &Path,
    go_on: impl FnMut(&str) -> ControlFlow<()>,
) -> Result<Option<u64>> {
    let failed = ExportError::target;
    let refused = |why: &str| {
        let shown = dir.display();
        Err(ExportError::Refused(format!(
            "{shown} is {why}; name an empty folder"
        )))
    };
    let is_new = !fs::exists(dir).map_err(failed("looking at", dir))?;
    if !is_new && !dir.is_dir() {
        return refused("no folder");
    }
    fs::create_dir_all(dir).map_err(failed("making", dir))?;
    let mut there = fs::read_dir(dir).map_err(failed("reading", dir))?;
    if there.next().is_some() {
        return refused("not empty");
    }
    let listing = revision.listing(None, true)?;
    let mut files = Files {
        folder: File::open(dir).map_err(failed("reading", dir))?,
        unsynced: Vec::new(),
        unsynced_bytes: 0,
        synced: 0,
        go_on,
    };
    let mut laid = 0;
    let outcome = lay(&listing, &mut laid, dir, &mut files);
    let of_rest = files.sync();
    if outcome?.is_break() || of_rest?.is_break() {
        remove(&listing, laid, dir)?;
        if is_new {
            fs::remove_dir(dir).map_err(failed("removing", dir))?;
        }
        return Ok(None);
    }
    Ok(Some(files.synced))
}

/// Makes the folders and writes the files. `laid` is the number of entries that were begun.
fn lay(
    listing: &Listing,
    laid: &mut u64,
    dir: &Path,
    files: &mut Files<impl FnMut(&str) -> ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    loop {
        let entries = listing.opened_part(*laid, ENTRIES_AT_ONCE)?;
        if entries.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        for (path, file) in entries {
            *laid += 1;
            let target = dir.join(&path);
            let Some(file) = file else {
                fs::create_dir(&target).map_err(ExportError::target("making", &target))?;
                continue;
            };
            let out = write_file(&path, &file, &target)?;
            if files.add(path, target, out, file.size())?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }
}

/// Files that were written. Some file systems tell only when a file is synced that there was no room for it, as NFS
/// does of a quota.
struct Files<F> {
    /// The folder that they are in.
    folder: File,
    /// With the path in the tree, and the place.
    unsynced: Vec<(String, PathBuf, File)>,
    unsynced_bytes: u64,
    synced: u64,
    go_on: F,
}

/// True for the file systems of other machines and of programs, of which Linux may tell what was lost only to who syncs
/// the file itself.
fn is_told_by_file(folder: &File) -> bool {
    const NFS: u64 = 0x6969;
    const CIFS: u64 = 0xff53_4d42;
    const SMB2: u64 = 0xfe53_4d42;
    const FUSE: u64 = 0x6573_5546;
    // As of an unsigned word of 32 bits.
    let kind =
        fstatfs(folder).map(|about| u64::try_from(about.f_type).unwrap_or_default() & 0xffff_ffff);
    kind.is_ok_and(|kind| [NFS, CIFS, SMB2, FUSE].contains(&kind))
}

impl<F: FnMut(&str) -> ControlFlow<()>> Files<F> {
    fn add(
        &mut self,
        path: String,
        target: PathBuf,
        out: File,
        bytes: u64,
    ) -> Result<ControlFlow<()>> {
        self.unsynced.push((path, target, out));
        self.unsynced_bytes += bytes;
        if self.unsynced.len() < FILES_SYNCED_AT_ONCE && self.unsynced_bytes < BYTES_SYNCED_AT_ONCE
        {
            return Ok(ControlFlow::Continue(()));
        }
        self.sync()
    }

    /// Syncs all that are not yet, and asks with each of them whether to go on. Of one that fails nothing is left.
    ///
    /// # Errors
    /// The first. The others are synced all the same.
    fn sync(&mut self) -> Result<ControlFlow<()>> {
        let (mut flow, mut failed) = (ControlFlow::Continue(()), None);
        self.unsynced_bytes = 0;
        // One sync for all of them: one for each takes as long as half a minute for ten thousand. It fails since Linux
        // 5.8 if anything did that was written to the file system meanwhile, and only a file's own tells which.
        let is_one_enough = !is_told_by_file(&self.folder);
        let all_synced = self.unsynced.is_empty() || is_one_enough && syncfs(&self.folder).is_ok();
        for (path, target, out) in self.unsynced.drain(..) {
            if !all_synced && let Err(error) = out.sync_all() {
                let _stays_if_it_must = fs::remove_file(&target);
                failed.get_or_insert(ExportError::target("writing", &target)(error));
                continue;
            }
            self.synced += 1;
            if (self.go_on)(&path).is_break() {
                flow = ControlFlow::Break(());
            }
        }
        failed.map_or(Ok(flow), Err)
    }
}

/// Removes the first so many entries again.
fn remove(listing: &Listing, count: u64, dir: &Path) -> Result<()> {
    let failed = |path: &Path| ExportError::target("removing", path);
    let mut folders = Vec::new();
    let mut passed = 0;
    while passed < count {
        let most = ENTRIES_AT_ONCE.min(count - passed);
        for (path, file) in listing.opened_part(passed, most)? {
            let target = dir.join(path);
            match file {
                Some(_) => fs::remove_file(&target).map_err(failed(&target))?,
                None => folders.push(target),
            }
        }
        passed += most;
    }
    // A folder comes before what is in it.
    for folder in folders.iter().rev() {
        fs::remove_dir(folder).map_err(failed(folder))?;
    }
    Ok(())
}

/// Writes the file of this path in the tree. Of one that fails nothing is left: half of it could pass for all.
fn write_file(path: &str, file: &FileView, target: &Path) -> Result<File> {
    let content = file.content().map_err(|e| unread(path, e.to_string()))?;
    let mode = if file.is_executable() { 0o777 } else { 0o666 };
    let mut out = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(target)
        .map_err(ExportError::target("writing", target))?;
    write_content(path, &content, &mut out, target).inspect_err(|_| {
        let _stays_if_it_must = fs::remove_file(target);
    })?;
    Ok(out)
}

fn write_content(path: &str, content: &Content, out: &mut File, target: &Path) -> Result<()> {
    let unreadable = |e: io::Error| unread(path, e.to_string());
    content.body.each_piece(content.size, unreadable, |piece| {
        let writing = ExportError::target("writing", target);
        out.write_all(piece).map_err(writing)
    })
}

fn unread(path: &str, reason: String) -> ExportError {
    ExportError::Content {
        path: path.to_owned(),
        reason,
    }
}
