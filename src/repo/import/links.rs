//! Where a symbolic link leads, as long as that lies in the folder that is imported. Each step of the way
//! is read through descriptors, and nothing outside of the folder is looked at.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

use rustix::fs::FileType;

use super::open_folder::OpenFolder;

/// Links that one may lead over, as the system has it.
const LINKS_MAX: usize = 40;
/// Why links are left out that lead nowhere an import goes.
const OUTSIDE: &str = "it is a symbolic link that leads out of the folder";
const DANGLING: &str = "it is a symbolic link to nothing";
const ROUND: &str = "it is a symbolic link that leads round in a circle";
/// Why a link is left out that leads to a folder which it lies in.
pub(super) const TO_ITS_OWN: &str = "it is a symbolic link to a folder that it lies in";
pub(super) const TO_EXCLUDED: &str = "it is a symbolic link to what is excluded";
/// Why something in a linked folder is left out.
pub(super) const BEHIND_LINK: &str = "a symbolic link leads to its folder, in which it is excluded";

/// What a link leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A regular file, at this path below the folder that is imported.
    File(PathBuf),
    /// A folder.
    Folder(PathBuf),
    /// A device, a pipe or a socket.
    Special,
    /// Nothing that an import may go to, and why.
    None(&'static str),
}

/// The folder that is imported, and where it lies.
#[derive(Debug)]
pub(super) struct Top<'a> {
    pub(super) folder: &'a OpenFolder,
    /// Its absolute path as it was named, and without links.
    pub(super) named: &'a Path,
    pub(super) real: &'a Path,
}

impl Top<'_> {
    /// What the link of this name in a folder leads to.
    ///
    /// # Errors
    /// What the system says of a step on the way.
    pub(super) fn target(&self, folder: &OpenFolder, name: &OsStr) -> io::Result<Target> {
        let mut way = Way {
            at: self.real.join(folder.below()),
            left: vec![Step::Name(name.to_owned())],
        };
        let (mut found, mut links) = (FileType::Directory, 0);
        while let Some(step) = way.left.pop() {
            let Step::Name(name) = step else {
                way.at.pop();
                found = FileType::Directory;
                continue;
            };
            if found != FileType::Directory {
                return Ok(Target::None(DANGLING));
            }
            let next = way.at.join(&name);
            if self.real.starts_with(&next) {
                // The way back into the folder, from above it.
                way.at = next;
                continue;
            }
            let Ok(below) = way.at.strip_prefix(self.real) else {
                return Ok(Target::None(OUTSIDE));
            };
            let kind = open_below(self.folder, below).and_then(|parent| {
                let kind = parent.kind_of(&name)?;
                let link = kind == FileType::Symlink;
                Ok((kind, link.then(|| parent.link(&name)).transpose()?))
            });
            match kind {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Target::None(DANGLING));
                }
                Err(error) => return Err(error),
                Ok((_, Some(text))) => {
                    links += 1;
                    if links > LINKS_MAX {
                        return Ok(Target::None(ROUND));
                    }
                    way.follow(&text, self);
                }
                Ok((kind, None)) => (way.at, found) = (next, kind),
            }
        }
        Ok(match (way.at.strip_prefix(self.real), found) {
            (Err(_), _) => Target::None(OUTSIDE),
            (Ok(below), FileType::RegularFile) => Target::File(below.to_owned()),
            (Ok(below), FileType::Directory) => Target::Folder(below.to_owned()),
            (Ok(_), _) => Target::Special,
        })
    }
}

/// Opens the folder at a path below another, never through a link.
pub(super) fn open_below(folder: &OpenFolder, path: &Path) -> io::Result<OpenFolder> {
    let mut names = path.iter();
    let Some(first) = names.next() else {
        return folder.another();
    };
    names.try_fold(folder.enter(first)?, |here, name| here.enter(name))
}

/// A way that is followed.
#[derive(Debug)]
struct Way {
    /// How far it came: an absolute path without links.
    at: PathBuf,
    /// What is left, the next last.
    left: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Up,
    Name(OsString),
}

impl Way {
    /// Goes on where a link says.
    fn follow(&mut self, text: &Path, top: &Top<'_>) {
        let mut rest = text;
        if text.is_absolute() {
            self.at = PathBuf::from("/");
            if let Ok(inside) = text.strip_prefix(top.named) {
                top.real.clone_into(&mut self.at);
                rest = inside;
            }
        }
        let steps = rest
            .components()
            .rev()
            .filter_map(|component| match component {
                Component::ParentDir => Some(Step::Up),
                Component::Normal(name) => Some(Step::Name(name.to_owned())),
                Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
            });
        self.left.extend(steps);
    }
}
