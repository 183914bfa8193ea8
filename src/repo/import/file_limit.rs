//! How large a file may be that is taken from a folder.

/// The largest file that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLimit {
    /// In bytes.
    pub bytes_max: u64,
    /// What a refusal says behind the number of bytes: where the limit comes from.
    pub hint: &'static str,
}

impl FileLimit {
    /// Files of any size.
    pub const NONE: Self = Self {
        bytes_max: u64::MAX,
        hint: "",
    };

    /// Why a file of this size is not taken, if it is too large.
    pub(super) fn refuse(self, size: u64) -> Option<String> {
        let Self { bytes_max, hint } = self;
        (size > bytes_max).then(|| format!("it is larger than {bytes_max} bytes{hint}"))
    }
}
