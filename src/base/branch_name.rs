//! The name of a branch.

use std::fmt;
use std::sync::Arc;

use super::limits::BRANCH_BYTES_MAX;
use serde::{Deserialize, Serialize, Serializer};

use super::name_error::{NameError, is_deceptive};
use super::snapshot_version::SnapshotVersion;

/// A branch name: git's rules for references, and nothing that a revision could be mistaken for
/// (contract section 3). Slashes are allowed. Clones share the text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct BranchName(Arc<str>);

impl Serialize for BranchName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl TryFrom<String> for BranchName {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        Self::parse(&text)
    }
}

impl BranchName {
    /// Checks a decoded name.
    ///
    /// # Limits
    /// 1 to 255 bytes.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if text.is_empty() || text.len() > BRANCH_BYTES_MAX {
            return Err(refuse("it must have 1 to 255 bytes"));
        }
        if text.contains(['\\', ' ', '~', '^', ':', '?', '*', '[']) {
            return Err(refuse("it holds a space or one of \\ ~ ^ : ? * ["));
        }
        if text.chars().any(is_deceptive) {
            return Err(refuse(
                "it holds a control, bidirectional or zero-width character",
            ));
        }
        if text.starts_with('-') {
            return Err(refuse("it starts with \"-\""));
        }
        if text.contains("..") || text.contains("@{") || text.ends_with('.') {
            return Err(refuse("it holds \"..\" or \"@{\", or ends with \".\""));
        }
        for part in text.split('/') {
            if part.is_empty() {
                return Err(refuse("a part between slashes is empty"));
            }
            if part.starts_with('.') || part.strip_suffix(".lock").is_some() {
                return Err(refuse("a part starts with \".\" or ends with \".lock\""));
            }
        }
        if matches!(text, "HEAD" | "@" | "refs") || text.starts_with("refs/") {
            return Err(refuse("the name is reserved"));
        }
        if matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(refuse("it looks like a commit id"));
        }
        if ends_like_a_snapshot(text) {
            return Err(refuse(
                "it ends like a snapshot, in \"@v\" and digits; one is written behind the name of its \
                 branch, with zeros up to four digits, as in main@v0002",
            ));
        }
        Ok(Self(text.into()))
    }

    /// Splits `<branch>@v0007` into its parts, if the text has that form.
    pub fn split_snapshot(text: &str) -> Option<(Self, SnapshotVersion)> {
        let (branch, version) = text.rsplit_once('@')?;
        Some((
            Self::parse(branch).ok()?,
            SnapshotVersion::parse(version).ok()?,
        ))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn ends_like_a_snapshot(text: &str) -> bool {
    let head = text.trim_end_matches(|c: char| c.is_ascii_digit());
    head.len() < text.len() && head.ends_with("@v")
}

fn refuse(reason: &'static str) -> NameError {
    NameError {
        what: "branch name",
        reason,
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BranchName({:?})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_git_takes_are_taken() {
        for name in [
            "main",
            "feature/x",
            "a+b",
            "v1.0",
            "ветка",
            "a@b",
            "release-2026",
            "x#1",
            "0123abcd",
        ] {
            assert_eq!(
                BranchName::parse(name).map(|n| n.to_string()),
                Ok(name.to_owned())
            );
        }
    }

    #[test]
    fn malformed_and_ambiguous_names_are_refused() {
        let (hex40, hex64, long) = ("a".repeat(40), "0F".repeat(32), "x".repeat(256));
        for name in [
            "",
            ".git",
            "a/../b",
            "refs/heads/x",
            "refs",
            "HEAD",
            "@",
            "a@{1}",
            "-x",
            "--help",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.",
            "a.lock",
            "a/b.lock",
            "a.lock/b",
            "a..b",
            "a b",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[",
            "a\\b",
            "a\tb",
            "a\u{200b}",
            "main@v0001",
            "x@v1",
            &hex40,
            &hex64,
            &long,
        ] {
            assert!(BranchName::parse(name).is_err(), "{name:?} was accepted");
        }
    }

    #[test]
    fn a_snapshot_reference_splits_at_its_last_at() {
        let (branch, version) = BranchName::split_snapshot("a@b@v0007").unwrap();
        assert_eq!((branch.as_str(), version.number()), ("a@b", 7));
        assert!(BranchName::split_snapshot("main@v7").is_none());
        assert!(BranchName::split_snapshot("main").is_none());
    }
}
