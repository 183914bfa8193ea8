//! Access control lists (`setfacl`), the rights beyond the mode: what is made in the place of another has its list.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr, lgetxattr};
use rustix::io::Errno;

/// As the system names the list of a file or folder, and that of what is made in a folder.
const NAMES: [&str; 2] = ["system.posix_acl_access", "system.posix_acl_default"];
/// Longest value that a system keeps under such a name, in bytes.
const BYTES_MAX: usize = 64 << 10;

/// The lists of a file or folder, each under its name; `None` where it has none.
#[derive(Debug)]
pub(super) struct Acls([Option<Vec<u8>>; 2]);

impl Acls {
    /// Those of what lies at a path, which is no link.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        Self::read(|name, buffer| lgetxattr(path, name, buffer))
    }

    /// Those of an open file or folder.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        Self::read(|name, buffer| fgetxattr(file, name, buffer))
    }

    fn read(get: impl Fn(&str, &mut [u8]) -> rustix::io::Result<usize>) -> io::Result<Self> {
        let mut lists = [None, None];
        let mut buffer = vec![0; BYTES_MAX];
        for (list, name) in lists.iter_mut().zip(NAMES) {
            match get(name, &mut buffer) {
                Ok(length) => *list = Some(buffer[..length].to_vec()),
                // It has none, or the file system or what lies under it knows of none.
                Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Self(lists))
    }

    /// True if what is made in the folder has a list by that.
    pub(super) fn are_handed_on(&self) -> bool {
        self.0[1].is_some()
    }

    /// Gives another just these lists; its mode is to be set after that.
    pub(super) fn give(&self, to: &File) -> io::Result<()> {
        let failed = |error: io::Error| {
            let why = format!("its access control list cannot be given: {error}");
            io::Error::new(error.kind(), why)
        };
        self.give_each(to).map_err(failed)
    }

    fn give_each(&self, to: &File) -> io::Result<()> {
        let present = Self::of(to)?;
        for ((wanted, found), name) in self.0.iter().zip(&present.0).zip(NAMES) {
            match wanted {
                _ if wanted == found => {}
                Some(list) => fsetxattr(to, name, list, XattrFlags::empty())?,
                None => fremovexattr(to, name)?,
            }
        }
        Ok(())
    }
}
