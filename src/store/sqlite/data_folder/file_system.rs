//! What is known of a file system by its kind.

use std::io;
use std::path::Path;

/// Those on which neither locks nor the log can be trusted.
const NETWORK: [(i64, &str); 6] = [
    (0x6969, "NFS"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB"),
    (0x0102_1997, "9P"),
    (0x5346_414f, "AFS"),
    (0x00c3_6400, "Ceph"),
];
/// Those that write over a block where it is: ext2 to ext4, XFS, and those in memory.
const IN_PLACE: [i64; 3] = [0xef53, 0x5846_5342, 0x0102_1994];
const BTRFS: i64 = 0x9123_683e;

/// The kind of a file system, by its magic number.
#[derive(Clone, Copy, Debug)]
pub(in crate::store::sqlite) struct FileSystem(i64);

impl FileSystem {
    /// That of a path.
    ///
    /// # Errors
    /// What the system says.
    pub(in crate::store::sqlite) fn of(path: &Path) -> io::Result<Self> {
        let found = rustix::fs::statfs(path)?.f_type;
        // Some architectures sign-extend the 32-bit magic number.
        Ok(Self(found & 0xffff_ffff))
    }

    /// What it is called, if it lies on another machine.
    pub(in crate::store::sqlite) fn network_name(self) -> Option<&'static str> {
        let (_, name) = NETWORK.iter().find(|(magic, _)| *magic == self.0)?;
        Some(name)
    }

    /// True for btrfs, which writes those files in place that are told so while they are empty.
    pub(in crate::store::sqlite) fn is_btrfs(self) -> bool {
        self.0 == BTRFS
    }

    /// True if what is written over bytes that a file has takes no more room. Others, such as btrfs and ZFS,
    /// may write it elsewhere first.
    pub(in crate::store::sqlite) fn writes_in_place(self) -> bool {
        IN_PLACE.contains(&self.0)
    }
}
