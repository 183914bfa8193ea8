//! How large a file may be that is taken from a folder.

/// The largest file that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLimit {
    /// As the settings say, in bytes.
    pub set_bytes_max: u64,
    /// As the store has a place for, in bytes.
    pub store_bytes_max: u64,
}

impl FileLimit {
    /// Files of any size.
    pub const NONE: Self = Self::set(u64::MAX);

    /// So many bytes, as the settings say, for a store that takes files of any size or is not asked.
    pub const fn set(bytes_max: u64) -> Self {
        Self {
            set_bytes_max: bytes_max,
            store_bytes_max: u64::MAX,
        }
    }

    /// Why a file of this size is not taken, if it is too large.
    pub(super) fn refuse(self, size: u64) -> Option<String> {
        let (set, store) = (self.set_bytes_max, self.store_bytes_max);
        if size <= set.min(store) {
            return None;
        }
        Some(if set <= store {
            format!("it is larger than {set} bytes (file_bytes_max)")
        } else {
            format!(
                "it is larger than {store} bytes, and the store has no bucket for such files (blobs)"
            )
        })
    }
}
