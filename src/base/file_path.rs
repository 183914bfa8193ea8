//! The path of a file or folder inside a branch.

use std::borrow::Borrow;
use std::fmt;

use super::limits::{PATH_BYTES_MAX, PATH_SEGMENTS_MAX, SEGMENT_BYTES_MAX};
use super::name_error::{NameError, is_deceptive};

/// A path that passed every rule of contract section 3: what a git checkout and every client can
/// lay on a disk. Byte-exact: no case folding, no normalisation.
///
/// # Invariants
/// At least one segment; segments joined by single `/`; nothing to decode.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FilePath(String);

impl FilePath {
    /// Checks a decoded path.
    ///
    /// # Limits
    /// 4,096 bytes, 64 segments, 255 bytes a segment.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if text.len() > PATH_BYTES_MAX {
            return Err(refuse("it is longer than 4096 bytes"));
        }
        if text.split('/').count() > PATH_SEGMENTS_MAX {
            return Err(refuse("it has more than 64 segments"));
        }
        text.split('/').try_for_each(check_segment)?;
        Ok(Self(text.to_owned()))
    }

    /// Checks a folder's path as a query gives it: absent, empty and `/` are the root (`None`), and
    /// one trailing `/` is ignored.
    pub fn parse_folder(text: &str) -> Result<Option<Self>, NameError> {
        let text = text.strip_suffix('/').unwrap_or(text);
        if text.is_empty() {
            return Ok(None);
        }
        Self::parse(text).map(Some)
    }

    /// The whole path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True for this path itself, and for what lies below it.
    pub fn is_or_holds(&self, path: &str) -> bool {
        let below = path.strip_prefix(self.as_str());
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The segments, first to last; never empty.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// The last segment.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The path of `name` inside this folder.
    pub fn join(&self, name: &Self) -> Result<Self, NameError> {
        Self::parse(&format!("{}/{}", self.0, name.0))
    }
}

/// Checks one segment by the rules of contract section 3.
fn check_segment(segment: &str) -> Result<(), NameError> {
    if segment.is_empty() {
        return Err(refuse("a segment is empty"));
    }
    if segment == "." || segment == ".." {
        return Err(refuse("a segment is \".\" or \"..\""));
    }
    if segment.len() > SEGMENT_BYTES_MAX {
        return Err(refuse("a segment is longer than 255 bytes"));
    }
    if segment.contains('\\') {
        return Err(refuse("it holds a backslash"));
    }
    if segment.chars().any(is_deceptive) {
        return Err(refuse(
            "it holds a control, bidirectional or zero-width character",
        ));
    }
    if is_git_directory(segment) {
        return Err(refuse("a segment is git's own folder or an alias of it"));
    }
    Ok(())
}

/// True for `.git` under any name that some file system takes for it: other case, trailing dots and
/// spaces, an NTFS stream, the 8.3 name.
fn is_git_directory(segment: &str) -> bool {
    let base = segment.split(':').next().unwrap_or(segment);
    let base = base.trim_end_matches(['.', ' ']);
    base.eq_ignore_ascii_case(".git") || base.eq_ignore_ascii_case("git~1")
}

fn refuse(reason: &'static str) -> NameError {
    NameError {
        what: "path",
        reason,
    }
}

impl Borrow<str> for FilePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FilePath({:?})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_are_kept_to_the_byte() {
        let long = "я".repeat(127);
        for path in [
            "a.xml",
            "config/a b.xml",
            "Справочники/Контр агенты/a+b%c#d?e&f=g;h.xml",
            ".hidden",
            ".gitignore",
            ".gitmodules",
            ".github/x",
            "a.",
            "a ",
            "...",
            "C:/x",
            "%2e%2e%2f",
            "CON",
            "HEAD",
            "caf\u{65}\u{301}",
            &long,
        ] {
            assert_eq!(
                FilePath::parse(path).map(|p| p.to_string()),
                Ok(path.to_owned())
            );
        }
    }

    #[test]
    fn malformed_names_are_refused() {
        let segment = "a".repeat(256);
        let deep = vec!["a"; 65].join("/");
        let long = vec!["a".repeat(255); 17].join("/");
        for path in [
            "",
            "/",
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "../x",
            "a/../b",
            "./a",
            "a/.",
            "a\\b",
            "a\0.txt",
            "a\r\nb",
            "a\u{7f}",
            "a\u{85}",
            "a\u{2028}",
            "a\u{202e}txt.exe",
            ".g\u{200c}it",
            ".g\u{206a}it",
            "a\u{2061}b",
            ".git",
            ".GIT",
            ".git/config",
            "a/.git/hooks",
            "git~1",
            ".git.",
            ".git ",
            ".git::$INDEX_ALLOCATION",
            &segment,
            &deep,
            &long,
        ] {
            assert!(FilePath::parse(path).is_err(), "{path:?} was accepted");
        }
    }

    #[test]
    fn a_folder_may_be_the_root_and_end_in_a_slash() {
        assert_eq!(FilePath::parse_folder(""), Ok(None));
        assert_eq!(FilePath::parse_folder("/"), Ok(None));
        assert_eq!(
            FilePath::parse_folder("a/b/"),
            FilePath::parse("a/b").map(Some)
        );
        assert!(FilePath::parse_folder("a//").is_err());
    }
}
