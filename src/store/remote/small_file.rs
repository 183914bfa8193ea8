//! Small files that hold what a network is used with, and may hold another one later.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Certificates have some kilobytes, or some hundred for all that a system trusts; what is longer is another file.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What differs when a file has been written again, or another one was put in its place: device, number, size and time
/// of the last change. `None` for one that cannot be looked at.
pub(in crate::store) type Mark = Option<(u64, u64, u64, i64, i64)>;

/// The mark of a file as it is now.
pub(in crate::store) fn mark(path: &Path) -> Mark {
    let found = fs::metadata(path).ok()?;
    Some((
        found.dev(),
        found.ino(),
        found.size(),
        found.ctime(),
        found.ctime_nsec(),
    ))
}

/// The bytes of a file. Nothing is waited for: a pipe would, for somebody who writes into it.
///
/// # Errors
/// Also for what is no regular file, or has more than 1 MiB.
pub(in crate::store) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let nonblock = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(nonblock)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it must be a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other("it is longer than 1 MiB"));
    }
    Ok(bytes)
}
