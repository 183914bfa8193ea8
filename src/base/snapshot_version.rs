//! The version of a snapshot: `v0001`, `v0002`, … a branch.

use std::fmt;

use serde::{Serialize, Serializer};

use super::name_error::NameError;

/// A snapshot's number in its branch, starting at 1 and never used twice (specification section 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SnapshotVersion(u64);

impl SnapshotVersion {
    /// The version with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Reads the one spelling: `v`, then at least four digits, zero-padded to exactly four.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let refused = NameError {
            what: "snapshot version",
            reason: "it must be \"v\" and a number, with zeros up to four digits, as in v0001",
        };
        let digits = text.strip_prefix('v').ok_or(refused)?;
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(refused);
        }
        let version = Self(digits.parse().map_err(|_| refused)?);
        if version.to_string() == text {
            Ok(version)
        } else {
            Err(refused)
        }
    }

    /// The number.
    pub const fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for SnapshotVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{:04}", self.0)
    }
}

impl Serialize for SnapshotVersion {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_spelling_a_version() {
        for (text, number) in [
            ("v0001", 1),
            ("v9999", 9999),
            ("v10000", 10000),
            ("v0000", 0),
        ] {
            let version = SnapshotVersion::parse(text).unwrap();
            assert_eq!(
                (version.number(), version.to_string().as_str()),
                (number, text)
            );
        }
        for text in [
            "",
            "v",
            "v1",
            "v001",
            "v00001",
            "V0001",
            "0001",
            "v+001",
            "v000a",
            "v0001 ",
            "v99999999999999999999999",
        ] {
            assert!(
                SnapshotVersion::parse(text).is_err(),
                "{text:?} was accepted"
            );
        }
    }
}
