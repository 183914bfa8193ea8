//! The version of a folder's format, and what to do about one that is not today's.

use std::fmt;
use std::path::Path;

use crate::store::StoreError;

/// What `FORMAT` holds before the number.
const NAME: &str = "siteconf ";

/// The version of the format of a data folder. It is shown as its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Format(u32);

impl Format {
    /// That of records without checksums.
    const FIRST: Self = Self(1);
    /// The one in which this version writes.
    pub const CURRENT: Self = Self(3);

    /// Reads what `FORMAT` holds, also of a version that is not known yet; `None` for something else.
    pub(in crate::store::sqlite) fn parse(text: &str) -> Option<Self> {
        let number = text.strip_prefix(NAME)?.strip_suffix('\n')?;
        let format = Self(number.parse().ok()?);
        (format >= Self::FIRST && format.to_text() == text).then_some(format)
    }

    /// What `FORMAT` holds.
    pub(in crate::store::sqlite) fn to_text(self) -> String {
        format!("{NAME}{self}\n")
    }

    /// True unless records have no checksums.
    pub(in crate::store::sqlite) fn has_checksums(self) -> bool {
        self > Self::FIRST
    }

    /// True if it must be upgraded before it is written.
    pub fn is_older(self) -> bool {
        self < Self::CURRENT
    }

    /// True if only a later version knows it.
    pub fn is_newer(self) -> bool {
        self > Self::CURRENT
    }

    /// The refusal to write in a folder of this older format.
    pub(super) fn refuse_writes(self, root: &Path) -> StoreError {
        StoreError::folder(root, self.advice(root))
    }

    /// What to do about a folder of this older format: a sentence without its end.
    pub fn advice(self, root: &Path) -> String {
        format!(
            "the folder has format {self}, and this version writes format {}; make a backup, then run \
             \"siteconf upgrade --data {}\"",
            Self::CURRENT,
            root.display()
        )
    }

    /// The refusal of a folder of this newer format.
    pub(super) fn refuse_newer(self, root: &Path) -> StoreError {
        let reason = format!(
            "the folder has format {self}, and this version knows none after {}; use the version that \
             wrote it or a later one, or restore a backup of before its upgrade",
            Self::CURRENT
        );
        StoreError::folder(root, reason)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_read_as_it_was_written_and_nothing_else_is() {
        for number in [1, 3, 10] {
            let format = Format(number);
            assert_eq!(Format::parse(&format.to_text()), Some(format));
        }
        for other in [
            "",
            "siteconf \n",
            "siteconf 0\n",
            "siteconf 3",
            "siteconf 03\n",
            "siteconf +3\n",
            "siteconf 3\n\n",
            "siteconf -1\n",
            "siteconf 4294967296\n",
            "siteconf-backup 1\n",
        ] {
            assert_eq!(Format::parse(other), None, "{other}");
        }
    }
}
