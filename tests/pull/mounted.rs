//! Mounts, where a test may make them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::left_out::leave_out;

/// A mount. Dropped, it is none any more.
pub(crate) struct Mounted {
    at: PathBuf,
    /// What it lies in.
    folder: Option<tempfile::TempDir>,
}

impl Mounted {
    /// A disk of so many megabytes.
    pub(crate) fn disk(megabytes: u32) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("size={megabytes}m");
        let at = folder.path().to_owned();
        let mut mounted = Self::mount(&["-t", "tmpfs", "-o", &options, "tmpfs"], &at)?;
        mounted.folder = Some(folder);
        Some(mounted)
    }

    /// Nothing can be written there any more.
    pub(crate) fn make_read_only(&self) {
        let remounted = Command::new("mount")
            .args(["-o", "remount,ro"])
            .arg(&self.at)
            .status();
        assert!(remounted.unwrap().success());
    }

    /// What lies in one place, in another one, too.
    pub(crate) fn again(from: &Path, at: &Path) -> Option<Self> {
        Self::mount(&["--bind", from.to_str().unwrap()], at)
    }

    /// What lies in `lower`, with what changes written into `upper`, as in a container.
    pub(crate) fn overlay(lower: &Path, upper: &Path, work: &Path, at: &Path) -> Option<Self> {
        let options = format!(
            "lowerdir={},upperdir={},workdir={},redirect_dir=off",
            lower.display(),
            upper.display(),
            work.display()
        );
        Self::mount(&["-t", "overlay", "-o", &options, "overlay"], at)
    }

    fn mount(what: &[&str], at: &Path) -> Option<Self> {
        let mounted = Command::new("mount").args(what).arg(at).output();
        if mounted.is_ok_and(|mounted| mounted.status.success()) {
            return Some(Self {
                at: at.to_owned(),
                folder: None,
            });
        }
        leave_out("what needs a mount, for want of the right to make one");
        None
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.at
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _gone = Command::new("umount").arg("-l").arg(&self.at).status();
        drop(self.folder.take());
    }
}
