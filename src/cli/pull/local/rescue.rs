//! What somebody made or replaced in the folder just before it was exchanged, or while holding the old one
//! open: it is moved into the present one, and where another has its name there, put aside.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, RenameFlags, renameat_with, statat};
use rustix::io::Errno;

use super::own;
use crate::cli::output::visible_path;
use crate::cli::pull::fault::{Fault, Pulled};

/// The state before and the present one.
pub(super) struct Rescue<'a> {
    pub(super) old: &'a Path,
    pub(super) dir: &'a Path,
    /// Where that is put which finds its name taken.
    pub(super) kept: &'a Path,
    /// The inodes of what was not brought, and was linked from the old state into the present one.
    pub(super) carried: &'a BTreeMap<PathBuf, u64>,
}

impl Rescue<'_> {
    /// Moves what is neither `brought` nor carried; says of what it puts aside where it lies.
    ///
    /// # Errors
    /// [`Fault::Lasting`] where not all of the old state can be accounted for.
    pub(super) fn run(&self, brought: &BTreeSet<PathBuf>, notes: &mut Vec<String>) -> Pulled<()> {
        for path in own::survey(self.old, brought)?.files {
            let place = self.file(&path);
            if let Some(place) = place.map_err(Fault::of_file("keeping", &self.old.join(&path)))? {
                notes.push(format!(
                    "{} was made while the folder was replaced, and another has its name: it lies in {}",
                    visible_path(&self.dir.join(&path)),
                    visible_path(&place)
                ));
            }
        }
        Ok(())
    }

    /// Moves one file, if it has to be; gives the place where it was put aside.
    fn file(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let name = path.file_name().unwrap_or_default();
        let from = own::open_parent(self.old, path)?;
        let carried = self.carried.get(path).copied();
        let is_settled = |found: Option<u64>| found.is_none() || found == carried;
        let found = inode(&from, name)?;
        if is_settled(found) {
            return Ok(None);
        }
        if let Ok(to) = own::open_parent_like(self.dir, self.old, path) {
            let there = inode(&to, name)?;
            if there == found {
                return Ok(None);
            }
            let moved = match there {
                None => renameat_with(&from, name, &to, name, RenameFlags::NOREPLACE),
                // Rather than to remove it, as it may be replaced at this moment.
                _ if there == carried => {
                    renameat_with(&from, name, &to, name, RenameFlags::EXCHANGE)
                }
                _ => Err(Errno::EXIST),
            };
            if moved.is_ok() && is_settled(inode(&from, name)?) {
                return Ok(None);
            }
        }
        put_aside(&from, name, self.kept).map(Some)
    }
}

/// Moves a file or a folder to a free place, and gives that.
pub(super) fn put_aside(from: &File, name: &OsStr, kept: &Path) -> io::Result<PathBuf> {
    let mut private = DirBuilder::new();
    private.mode(0o700);
    private.recursive(true).create(kept)?;
    private.recursive(false);
    let mut number = fs::read_dir(kept)?.count() + 1;
    let place = loop {
        let place = kept.join(number.to_string());
        match private.create(&place) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            made => break made.map(|()| place)?,
        }
    };
    let to = place.join(name);
    renameat_with(from, name, CWD, &to, RenameFlags::NOREPLACE)?;
    Ok(to)
}

fn inode(folder: impl AsFd, name: &OsStr) -> io::Result<Option<u64>> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(found.st_ino)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
