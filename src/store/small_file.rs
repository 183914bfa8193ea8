//! Small files that a setting names, such as those of settings, passwords and certificates: any of them may hold
//! something else later.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// The most bytes of a file of certificates. A chain has some kilobytes, all that a system trusts some hundred; what
/// is longer is another file.
pub const CERTIFICATE_BYTES_MAX: u64 = 1 << 20;

/// The most bytes of a file of settings, a password or keys, which has some ten lines.
const TEXT_BYTES_MAX: u64 = 64 << 10;

/// What differs when a file has been written again, another one was put in its place, or other users may read it:
/// device, number, size and time of the last change of it or of its owner and rights. `None` for one that cannot be
/// looked at.
pub type Mark = Option<(u64, u64, u64, i64, i64)>;

/// The mark of a file as it is now.
pub fn mark(path: &Path) -> Mark {
    let found = fs::metadata(path).ok()?;
    Some((
        found.dev(),
        found.ino(),
        found.size(),
        found.ctime(),
        found.ctime_nsec(),
    ))
}

/// Why a file gives no bytes.
#[derive(Debug)]
pub enum Unusable {
    /// The system says so.
    Unreadable(io::Error),
    /// It is a folder, a pipe, a device.
    Irregular,
    /// It has more bytes than these.
    TooLong(u64),
    /// It is to be text, and is not UTF-8.
    NoText,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "it cannot be read: {error}"),
            Self::Irregular => f.write_str("it must be a regular file"),
            Self::TooLong(bytes_max) => write!(f, "it is longer than {bytes_max} bytes"),
            Self::NoText => f.write_str("it must be UTF-8"),
        }
    }
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error)
    }
}

/// The bytes of a file, of which there may be so many. Nothing is waited for: a pipe would, for somebody who writes
/// into it.
pub fn read(path: &Path, bytes_max: u64) -> Result<Vec<u8>, Unusable> {
    let nonblock = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(nonblock)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(Unusable::Irregular);
    }
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(Unusable::TooLong(bytes_max));
    }
    Ok(bytes)
}

/// The text of a file, of at most 64 KiB, as [`read`] reads it.
pub fn read_text(path: &Path) -> Result<String, Unusable> {
    let bytes = read(path, TEXT_BYTES_MAX)?;
    String::from_utf8(bytes).map_err(|_| Unusable::NoText)
}
