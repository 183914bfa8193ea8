//! What somebody made or replaced in the folder just before it was exchanged, or while holding the old one
//! open: it is moved into the present one, and where another has its name there, put aside.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, RenameFlags, renameat_with, statat};
use rustix::io::Errno;

use super::own;
use super::state::State;
use crate::cli::output::visible_path;
use crate::cli::pull::fault::{Fault, Pulled};

/// The state before and the present one.
pub(super) struct Rescue<'a> {
    pub(super) old: &'a Path,
    pub(super) dir: &'a Path,
    /// Where that is put which finds its name taken.
    pub(super) kept: &'a Path,
}

impl Rescue<'_> {
    /// Moves what was made in the old folder and is in neither state; says of what it puts aside where it
    /// lies. `state` is known of the present folder, which has this inode, and `before` of the old one.
    ///
    /// Of a copy of both folders, and of a folder that another one took the place of, the inodes tell
    /// nothing: there a file that lay in the old one when it was replaced is never taken for a new one.
    ///
    /// # Errors
    /// [`Fault::Lasting`] where not all of the old state can be accounted for.
    pub(super) fn run(
        &self,
        state: Option<State>,
        before: Option<State>,
        inode: Option<u64>,
        notes: &mut Vec<String>,
    ) -> Pulled<()> {
        let old_inode = match fs::symlink_metadata(self.old) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found.map_err(Fault::of_file("looking at", self.old))?.ino(),
        };
        let Some(state) = state else {
            return Err(Fault::lasting(
                "what is known of the folder is gone, or cannot be read",
            ));
        };
        if inode.is_none() {
            // Somebody removed the folder with all that was theirs.
            return Ok(());
        }
        let carried = state.carried.iter();
        let mut carried: BTreeMap<_, _> = carried
            .map(|(path, inode)| (own::unescaped(path), *inode))
            .collect();
        let brought = before.map_or_else(BTreeMap::new, |before| before.files);
        let mut known: BTreeSet<_> = brought.into_keys().map(PathBuf::from).collect();
        let are_same =
            inode == Some(state.inode) && state.old_inode.is_none_or(|inode| inode == old_inode);
        if are_same {
            known.retain(|path| !carried.contains_key(path));
        } else {
            known.extend(std::mem::take(&mut carried).into_keys());
        }
        for path in own::survey(self.old, &known)?.files {
            let place = self.file(&path, carried.get(&path).copied());
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

    /// Moves one file, if it has to be; gives the place where it was put aside. One that was linked from the
    /// old state into the present one had the inode `carried`.
    fn file(&self, path: &Path, carried: Option<u64>) -> io::Result<Option<PathBuf>> {
        let name = path.file_name().unwrap_or_default();
        let from = own::open_parent(self.old, path)?;
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
