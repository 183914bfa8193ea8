//! The next state, laid out file by file: what is the same and what came is linked, and what the branch then
//! has on the disk is digested.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::Path;

use super::acl::Acls;
use super::own::{self, Own};
use super::state::{Brought, Mark};
use crate::cli::output::{visible, visible_path};
use crate::cli::pull::fault::{Fault, Pulled};
use crate::cli::pull::plan::Plan;
use crate::cli::pull::remote::fetch::git_id;
use crate::cli::pull::remote::tree::{TreeFile, folders_of};
use crate::cli::running::stop::Stop;
use crate::repo::{BranchDigest, DigestStep, FileLimit, ImportFolder};

/// The next state while it is laid out.
pub(in crate::cli::pull) struct Laying<'a> {
    pub(in crate::cli::pull) dir: &'a Path,
    pub(in crate::cli::pull) next: &'a Path,
    pub(in crate::cli::pull) fetched: &'a Path,
    pub(in crate::cli::pull) plan: &'a Plan,
    /// What is known of the files in `dir`.
    pub(in crate::cli::pull) brought: &'a BTreeMap<String, Brought>,
    pub(in crate::cli::pull) bytes_max: u64,
    pub(in crate::cli::pull) stop: &'a Stop,
}

impl Laying<'_> {
    /// Lays the files of a tree out, and tells by what they will be known again.
    pub(in crate::cli::pull) fn lay(
        &self,
        tree: &BTreeMap<String, TreeFile>,
    ) -> Pulled<BTreeMap<String, Brought>> {
        let mut laid = BTreeMap::new();
        let mut bytes: u64 = 0;
        for (path, file) in tree {
            self.stop.go_on()?;
            self.make_folders(path)?;
            let target = self.next.join(path);
            let found = if self.plan.carried.contains(path) {
                self.carry(path, file)?
            } else if self.plan.copied.contains(path) {
                let from = own::open_file(self.dir, Path::new(path))
                    .map_err(Fault::of_file("reading", &self.dir.join(path)))?;
                let copied = copy(from, &target, file)?;
                self.give_rights(path, file, &copied)?
            } else {
                let from = self.fetched.join(file.id.to_string());
                let taken = if hands_on(&target)? {
                    let from = File::open(&from).map_err(Fault::of_file("reading", &from))?;
                    copy(from, &target, file)?
                } else {
                    take(&from, &target, file)?
                };
                self.give_rights(path, file, &taken)?
            };
            bytes = bytes.saturating_add(found.len());
            if bytes > self.bytes_max {
                return Err(Fault::lasting(format!(
                    "the branch has more than {} bytes (--bytes-max)",
                    self.bytes_max
                )));
            }
            let brought = Brought {
                id: file.id,
                is_executable: file.is_executable,
                mark: Mark::of(&found),
                is_gone: false,
            };
            laid.insert(path.clone(), brought);
        }
        Ok(laid)
    }

    /// Lays out what was brought, is gone from the branch and stays; gives what is known of it.
    pub(in crate::cli::pull) fn lay_gone(&self, own: &mut Own) -> Pulled<Vec<(String, Brought)>> {
        let mut laid = Vec::new();
        for path in &self.plan.gone {
            self.make_folders(path)?;
            match own::link(self.dir, self.next, Path::new(path)) {
                Ok(inode) => drop(own.carried.insert(path.into(), inode)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(Fault::of_file("keeping", &self.dir.join(path))(error)),
            }
            if let Some(known) = self.brought.get(path) {
                let known = Brought {
                    is_gone: true,
                    ..*known
                };
                laid.push((path.clone(), known));
            }
        }
        Ok(laid)
    }

    fn make_folders(&self, path: &str) -> Pulled<()> {
        for folder in folders_of(path) {
            let target = self.next.join(folder);
            if !fs::exists(&target).unwrap_or(false) {
                own::make_like(&self.dir.join(folder), &target)?;
            }
        }
        Ok(())
    }

    /// Gives a file the rights, the group and the owner of the one that it replaces, with the bit to execute of
    /// the branch; a new one has the group of its folder, where that one hands it on.
    fn give_rights(&self, path: &str, file: &TreeFile, found: &Metadata) -> Pulled<Metadata> {
        let target = self.next.join(path);
        let replaced = fs::symlink_metadata(self.dir.join(path)).ok();
        let replaced = replaced.filter(|like| like.is_file() && self.brought.contains_key(path));
        let (uid, gid, mode) = if let Some(like) = replaced {
            match Acls::at(&self.dir.join(path)) {
                // It is removed just now: then it is no pattern any more.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                acls => acls.and_then(|acls| acls.give(&File::open(&target)?)),
            }
            .map_err(Fault::of_file("writing", &target))?;
            // Who pulls reads it again.
            (like.uid(), like.gid(), like.mode() & 0o777 | 0o400)
        } else {
            let folder = metadata(target.parent().unwrap_or(self.next))?;
            let is_handed_on = folder.mode() & 0o2000 != 0;
            let gid = if is_handed_on {
                folder.gid()
            } else {
                found.gid()
            };
            (found.uid(), gid, found.mode() & 0o7777)
        };
        let mode = executable(mode, file.is_executable);
        let found = metadata(&target)?;
        if (uid, gid, mode) == (found.uid(), found.gid(), found.mode() & 0o7777) {
            return Ok(found);
        }
        if (uid, gid) != (found.uid(), found.gid()) {
            // Only the superuser may give it away, others only to a group of theirs.
            let _given =
                chown(&target, Some(uid), Some(gid)).or_else(|_| chown(&target, None, Some(gid)));
        }
        fs::set_permissions(&target, fs::Permissions::from_mode(mode))
            .map_err(Fault::of_file("writing", &target))?;
        metadata(&target)
    }

    /// Links a file that is to stay as it is.
    fn carry(&self, path: &str, file: &TreeFile) -> Pulled<Metadata> {
        let target = self.next.join(path);
        match own::link(self.dir, self.next, Path::new(path)) {
            Ok(_) => {}
            // As where the system lets nobody link the files of others.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let from = own::open_file(self.dir, Path::new(path))
                    .map_err(Fault::of_file("reading", &self.dir.join(path)))?;
                let copied = copy(from, &target, file)?;
                return self.give_rights(path, file, &copied);
            }
            Err(_) => return Err(changed_meanwhile(&self.dir.join(path))),
        }
        let found = metadata(&target)?;
        let known = self.brought.get(path).map(|known| known.mark);
        if !found.is_file() || known.is_some_and(|known| known != Mark::of(&found)) {
            return Err(changed_meanwhile(&self.dir.join(path)));
        }
        Ok(found)
    }
}

/// The digest that a branch with just the files of this folder has, read from the disk.
pub(in crate::cli::pull) fn digest(
    next: &Path,
    bytes_max: u64,
    stop: &Stop,
) -> Pulled<BranchDigest> {
    let failed = |what: String| Fault::lasting(format!("reading {}: {what}", visible_path(next)));
    let folder = ImportFolder::of_branch(next).map_err(|e| failed(e.to_string()))?;
    let limit = FileLimit {
        bytes_max,
        hint: " (--bytes-max)",
    };
    let mut lost = None;
    let digest = folder.digest(limit, |step| {
        if let DigestStep::Skipped { path, reason, .. } = step {
            lost = Some(format!("\"{}\": {reason}", visible_path(path)));
            return ControlFlow::Break(());
        }
        stop.flow()
    });
    let digest = digest.map_err(|e| failed(e.to_string()))?;
    match (lost, digest) {
        (Some(lost), _) => Err(failed(lost)),
        (None, None) => Err(Fault::Stopped),
        (None, Some(digest)) => Ok(digest.digest),
    }
}

fn changed_meanwhile(path: &Path) -> Fault {
    Fault::Moved(format!(
        "{} was changed while the next state was laid out",
        visible_path(path)
    ))
}

/// True if a file has a list of rights where it is made, by its folder, as none has that is linked in.
fn hands_on(target: &Path) -> Pulled<bool> {
    let folder = target.parent().unwrap_or(target);
    let acls = Acls::at(folder).map_err(Fault::of_file("reading", folder))?;
    Ok(acls.are_handed_on())
}

/// Links a file in that has come, or copies it where it is wanted once more. It stays where it came to, so
/// that it need not come again if the folder is not replaced.
fn take(from: &Path, to: &Path, file: &TreeFile) -> Pulled<Metadata> {
    let is_unused = metadata(from)?.nlink() == 1;
    if !is_unused || fs::hard_link(from, to).is_err() {
        let from = File::open(from).map_err(Fault::of_file("reading", from))?;
        return copy(from, to, file);
    }
    let found = metadata(to)?;
    let mode = executable(found.mode(), file.is_executable);
    if mode == found.mode() {
        return Ok(found);
    }
    fs::set_permissions(to, fs::Permissions::from_mode(mode & 0o7777))
        .map_err(Fault::of_file("writing", to))?;
    metadata(to)
}

/// A mode with this bit to execute: as far as others may read a file they may run it, unless that was set
/// otherwise.
fn executable(mode: u32, is_executable: bool) -> u32 {
    match (is_executable, mode & 0o100 != 0) {
        (true, true) => mode,
        (true, false) => mode | (mode & 0o444) >> 2,
        (false, _) => mode & !0o111,
    }
}

/// Copies a file whose bytes must be those of the tree's.
fn copy(mut from: File, to: &Path, file: &TreeFile) -> Pulled<Metadata> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create_new(true);
    let mut target = match options
        .mode(if file.is_executable { 0o777 } else { 0o666 })
        .open(to)
    {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(spelled_twice(to));
        }
        opened => opened.map_err(Fault::of_file("writing", to))?,
    };
    io::copy(&mut from, &mut target).map_err(Fault::of_file("writing", to))?;
    let found = target.metadata().map_err(Fault::of_file("writing", to))?;
    if git_id(target).map_err(Fault::of_file("reading", to))? != file.id {
        return Err(changed_meanwhile(to));
    }
    Ok(found)
}

fn spelled_twice(path: &Path) -> Fault {
    Fault::lasting(format!(
        "two files of the branch are one on this file system: \"{}\"",
        visible(&path.to_string_lossy())
    ))
}

fn metadata(path: &Path) -> Pulled<Metadata> {
    fs::symlink_metadata(path).map_err(Fault::of_file("looking at", path))
}
