//! How two folders change places in one step, and why some cannot.

use std::fs;
use std::path::Path;

use rustix::fs::{
    CWD, FsWord, Mode, OFlags, RenameFlags, fchmod, open, rename, renameat_with, stat, statfs,
};
use rustix::io::Errno;

use super::remove::remove_tree;
use crate::cli::Error;
use crate::cli::output::visible_path;
use crate::cli::pull::fault::{Fault, Pulled};

/// The number by which the kernel knows an overlay.
const OVERLAY: FsWord = 0x794c_7630;

/// Looks whether the file system can exchange two folders.
pub(super) fn check(dir: &Path, side: &Path) -> Pulled<()> {
    let [a, b] = ["a", "b"].map(|name| side.join(name));
    for path in [&a, &b] {
        remove_tree(path)?;
        fs::create_dir(path).map_err(Fault::of_file("making", path))?;
    }
    let exchanged = exchange(&a, &b);
    remove_tree(&a)?;
    remove_tree(&b)?;
    exchanged.map_err(|errno| fault(dir, errno))
}

/// Looks whether the folder can be moved at all: an overlay moves none of a lower layer.
pub(super) fn check_movable(dir: &Path, side: &Path) -> Pulled<()> {
    if !is_overlay(dir) {
        return Ok(());
    }
    let taken = side.join("a");
    remove_tree(&taken)?;
    fs::create_dir_all(taken.join("a")).map_err(Fault::of_file("making", &taken))?;
    // Onto a folder in which something lies nothing is moved: only the reason is wanted.
    let moved = rename(dir, &taken);
    if moved.is_ok() {
        return rename(&taken, dir).map_err(|errno| fault(dir, errno));
    }
    remove_tree(&taken)?;
    match moved {
        Err(Errno::XDEV) => Err(fault(dir, Errno::XDEV)),
        _ => Ok(()),
    }
}

/// Exchanges the folder with the next one, which gets its mode. A folder that its user may not write into
/// cannot be moved out of the one that it lies in either: that right is given for the exchange.
pub(super) fn replace(dir: &Path, next: &Path) -> rustix::io::Result<()> {
    let mode = Mode::from_raw_mode(stat(dir)?.st_mode);
    if mode.contains(Mode::RWXU) {
        return exchange(next, dir);
    }
    let opened = |path: &Path| open(path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let folders = [opened(dir)?, opened(next)?];
    fchmod(&folders[0], mode | Mode::RWXU)?;
    let exchanged = exchange(next, dir);
    // The exchange is what counts.
    let _given = fchmod(&folders[usize::from(exchanged.is_ok())], mode);
    exchanged
}

/// Why two folders were not exchanged.
pub(super) fn fault(dir: &Path, errno: Errno) -> Fault {
    match errno {
        Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP => Fault::lasting(format!(
            "the file system of {} cannot exchange two folders in one step, as network file \
                 systems cannot: name a folder on a local disk",
            visible_path(dir)
        )),
        Errno::XDEV if is_overlay(dir) => Fault::lasting(format!(
            "{} lies in a lower layer of an overlay, as what came with a container's image, and cannot be \
                 replaced there: name a folder in a volume or a new one, or remove this one, with what is \
                 yours in it",
            visible_path(dir)
        )),
        Errno::BUSY | Errno::XDEV => Fault::lasting(mounted(dir).to_string()),
        errno => Fault::of_file("replacing", dir)(errno.into()),
    }
}

fn is_overlay(dir: &Path) -> bool {
    statfs(dir).is_ok_and(|found| found.f_type == OVERLAY)
}

fn exchange(a: &Path, b: &Path) -> rustix::io::Result<()> {
    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)
}

/// What is said of a folder that is a mount of its own.
pub(super) fn mounted(dir: &Path) -> Error {
    Error::Usage(format!(
        "{} is a mount, which cannot be replaced: name a folder in it",
        visible_path(dir)
    ))
}
