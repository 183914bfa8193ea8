//! What lies in the folder and was not brought: it is found without following a link, and is in every
//! later state, too, as a hard link to the same file.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, StatxAttributes, StatxFlags, linkat, mkdirat,
    openat, statat, statx,
};
use rustix::io::Errno;
use walkdir::WalkDir;

use super::acl::Acls;
use crate::cli::output::visible_path;
use crate::cli::pull::fault::{Fault, Pulled};

/// Most files and folders of others that are carried from state to state.
const OWN_MAX: usize = 100_000;
/// How deep folders of others may lie.
const DEPTH_MAX: usize = 128;
/// The rights without which a folder's own user cannot change what is in it.
const WRITABLE: u32 = 0o700;
/// What is escaped in a path that may be no text.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');

/// What was not brought.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::cli::pull) struct Own {
    /// Files, links and whatever else is no folder.
    pub(in crate::cli::pull) files: BTreeSet<PathBuf>,
    /// Folders in which nothing was brought; one comes before what is in it.
    pub(in crate::cli::pull) folders: BTreeSet<PathBuf>,
    /// The inodes of those files that are in the next state, too.
    pub(in crate::cli::pull) carried: BTreeMap<PathBuf, u64>,
}

/// Looks for what is not `known`. Nothing is found in a folder that is absent.
///
/// # Errors
/// [`Fault::Lasting`] where the folder holds a mount, or more than is carried.
pub(in crate::cli::pull) fn survey(dir: &Path, known: &BTreeSet<PathBuf>) -> Pulled<Own> {
    let mut survey = Survey {
        known,
        folders: known
            .iter()
            .flat_map(|path| path.ancestors().skip(1))
            .collect(),
        own: Own::default(),
    };
    match open_folder(CWD, dir.as_os_str()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(survey.own),
        opened => {
            let opened = opened.map_err(Fault::of_file("reading", dir))?;
            survey.folder(&opened, Path::new(""), 0).map_err(|failed| match failed {
                Failed::Io(path, error) => Fault::of_file("reading", &dir.join(path))(error),
                Failed::Mount(path) => mounted(&dir.join(path)),
                Failed::TooMuch => Fault::lasting(format!(
                    "{} holds more than {OWN_MAX} files that were not brought, or folders more than \
                     {DEPTH_MAX} deep: name a folder for the branch alone",
                    visible_path(dir)
                )),
            })?;
            Ok(survey.own)
        }
    }
}

struct Survey<'a> {
    known: &'a BTreeSet<PathBuf>,
    /// The folders in which something known lies.
    folders: BTreeSet<&'a Path>,
    own: Own,
}

enum Failed {
    Io(PathBuf, io::Error),
    Mount(PathBuf),
    TooMuch,
}

impl Survey<'_> {
    fn folder(&mut self, folder: &File, at: &Path, depth: usize) -> Result<(), Failed> {
        let failed = |error: Errno| Failed::Io(at.to_owned(), error.into());
        for entry in Dir::read_from(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let path = at.join(name);
            match statx(folder, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::TYPE) {
                Ok(found) if found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) => {
                    return Err(Failed::Mount(path));
                }
                // Its owner removed it meanwhile.
                Err(Errno::NOENT) => continue,
                found => drop(found.map_err(failed)?),
            }
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
                    FileType::from_raw_mode(stat.st_mode)
                }
                kind => kind,
            };
            if kind == FileType::Directory {
                if depth >= DEPTH_MAX {
                    return Err(Failed::TooMuch);
                }
                if !self.folders.contains(path.as_path()) {
                    self.own.folders.insert(path.clone());
                }
                let inner = match open_folder(folder, name) {
                    // Its owner removed it meanwhile.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    opened => opened.map_err(|e| Failed::Io(path.clone(), e))?,
                };
                self.folder(&inner, &path, depth + 1)?;
            } else if !self.known.contains(&path) {
                self.own.files.insert(path);
            }
            if self.own.files.len() + self.own.folders.len() > OWN_MAX {
                return Err(Failed::TooMuch);
            }
        }
        Ok(())
    }
}

impl Own {
    /// Lays it into the next state, in which what the branch has lies already.
    pub(in crate::cli::pull) fn carry(&mut self, dir: &Path, next: &Path) -> Pulled<()> {
        for path in &self.folders {
            carry_folders(dir, next, Some(path))?;
        }
        for path in &self.files {
            carry_folders(dir, next, path.parent())?;
            match link(dir, next, path) {
                Ok(inode) => drop(self.carried.insert(path.clone(), inode)),
                // Its owner removed it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                    return Err(mounted(&dir.join(path)));
                }
                Err(error) => {
                    return Err(Fault::lasting(format!(
                        "{} was not brought, and cannot be carried into the new state: {error}; move it \
                         elsewhere",
                        visible_path(&dir.join(path))
                    )));
                }
            }
        }
        Ok(())
    }

    /// As it is kept in a state.
    pub(in crate::cli::pull) fn escaped(&self) -> BTreeMap<String, u64> {
        let escaped =
            |path: &PathBuf| percent_encode(path.as_os_str().as_bytes(), ESCAPED).to_string();
        self.carried
            .iter()
            .map(|(path, inode)| (escaped(path), *inode))
            .collect()
    }
}

fn mounted(path: &Path) -> Fault {
    Fault::lasting(format!(
        "{} is a mount, or lies in one: it would be lost when the folder is replaced; unmount it, or name \
         another folder",
        visible_path(path)
    ))
}

/// Makes a folder and those that it lies in, where the next state lacks them.
fn carry_folders(dir: &Path, next: &Path, path: Option<&Path>) -> Pulled<()> {
    let mut above: Vec<_> = path.map_or_else(Vec::new, |path| path.ancestors().collect());
    above.reverse();
    for path in above {
        let target = next.join(path);
        if fs::symlink_metadata(&target).is_err() {
            make_like(&dir.join(path), &target)?;
        }
    }
    Ok(())
}

/// A path as it is kept in a state, read back.
pub(in crate::cli::pull) fn unescaped(text: &str) -> PathBuf {
    OsString::from_vec(percent_decode_str(text).collect()).into()
}

/// Links a file of the folder into the next state, through no link on the way; gives its inode.
pub(in crate::cli::pull) fn link(dir: &Path, next: &Path, path: &Path) -> io::Result<u64> {
    let (from, to) = (open_parent(dir, path)?, open_parent(next, path)?);
    let name = path.file_name().unwrap_or_default();
    linkat(&from, name, &to, name, AtFlags::empty())?;
    Ok(statat(&to, name, AtFlags::SYMLINK_NOFOLLOW)?.st_ino)
}

/// Opens a regular file of a folder, through no link.
pub(in crate::cli::pull) fn open_file(dir: &Path, path: &Path) -> io::Result<File> {
    let parent = open_parent(dir, path)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file: File = openat(
        &parent,
        path.file_name().unwrap_or_default(),
        flags,
        Mode::empty(),
    )?
    .into();
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    Ok(file)
}

/// Opens the folder in which a path of a folder lies, through no link.
pub(super) fn open_parent(dir: &Path, path: &Path) -> io::Result<File> {
    let mut folder = open_folder(CWD, dir.as_os_str())?;
    for name in path.parent().into_iter().flat_map(Path::iter) {
        folder = open_folder(&folder, name)?;
    }
    Ok(folder)
}

/// The same; where folders are missing they are made as they are below `like`.
pub(super) fn open_parent_like(dir: &Path, like: &Path, path: &Path) -> io::Result<File> {
    let mut folder = open_folder(CWD, dir.as_os_str())?;
    let mut like = open_folder(CWD, like.as_os_str())?;
    for name in path.parent().into_iter().flat_map(Path::iter) {
        like = open_folder(&like, name)?;
        folder = match open_folder(&folder, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                mkdirat(&folder, name, Mode::RWXU)?;
                let made = open_folder(&folder, name)?;
                let (acls, like) = (Acls::of(&like)?, like.metadata()?);
                make_alike(&made, &like, &acls, like.mode())?;
                made
            }
            opened => opened?,
        };
    }
    Ok(folder)
}

fn open_folder(at: impl AsFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, name, flags, Mode::empty())?.into())
}

/// Makes a folder with the rights of another, and its owner and group as far as who pulls may give them, if there
/// is that one; its user may write into it until [`give_modes`].
pub(in crate::cli::pull) fn make_like(like: &Path, path: &Path) -> Pulled<()> {
    let made = || -> io::Result<()> {
        let found = fs::symlink_metadata(like).ok().filter(Metadata::is_dir);
        let Some(found) = found else {
            return fs::create_dir(path);
        };
        DirBuilder::new().mode(0o700).create(path)?;
        let (made, acls) = (File::open(path)?, Acls::at(like)?);
        make_alike(&made, &found, &acls, found.mode() | WRITABLE)
    };
    made().map_err(Fault::of_file("making", path))
}

/// Gives the folders in the next state, but not itself, the modes that they have in the present one.
pub(in crate::cli::pull) fn give_modes(dir: &Path, next: &Path) -> Pulled<()> {
    // What is inside a folder comes before it.
    for entry in WalkDir::new(next).min_depth(1).contents_first(true) {
        let entry = entry.map_err(|e| Fault::of_file("reading", next)(e.into()))?;
        let path = entry.path();
        let like = match path.strip_prefix(next) {
            Ok(inside) if entry.file_type().is_dir() => fs::symlink_metadata(dir.join(inside)).ok(),
            _ => None,
        };
        if let Some(like) = like.filter(Metadata::is_dir)
            && like.mode() & WRITABLE != WRITABLE
        {
            fs::set_permissions(path, like.permissions())
                .map_err(Fault::of_file("making", path))?;
        }
    }
    Ok(())
}

/// What the folder that is to take the place of another lacks of its owner and group, in words; `None` where it
/// has both.
pub(super) fn lost(dir: &Path, next: &Path) -> Option<String> {
    let (had, has) = (fs::metadata(dir).ok()?, fs::metadata(next).ok()?);
    let owner = (had.uid() != has.uid()).then(|| format!("owner {}", had.uid()));
    let group = (had.gid() != has.gid()).then(|| format!("group {}", had.gid()));
    let lost: Vec<_> = owner.into_iter().chain(group).collect();
    (!lost.is_empty()).then(|| lost.join(" and "))
}

/// Gives a folder the owner of another, its group and its lists, as far as who pulls may, and a mode.
fn make_alike(folder: &File, like: &Metadata, acls: &Acls, mode: u32) -> io::Result<()> {
    let found = folder.metadata()?;
    if (found.uid(), found.gid()) != (like.uid(), like.gid()) {
        let (uid, gid) = (Some(like.uid()), Some(like.gid()));
        // Only the superuser may give it away, others only to a group of theirs.
        let _given = fchown(folder, uid, gid).or_else(|_| fchown(folder, None, gid));
    }
    acls.give(folder)?;
    folder.set_permissions(fs::Permissions::from_mode(mode & 0o7777))
}
