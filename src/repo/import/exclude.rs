//! Which paths of a folder an import leaves out, by patterns.

use std::ops::ControlFlow;
use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::base::file_path::FilePath;
use crate::base::id::NodeId;
use crate::manifest::{NodeSource, walk};
use crate::object::node::Value;
use crate::repo::{Error, Result};

/// Patterns of what is left out. `*` and `?` stand for no slash, `**` for any number of folders. A
/// pattern without a slash is held against names wherever they are, one with a slash against the path
/// from the top. What is in a folder that is left out is left out, too.
#[derive(Clone, Debug, Default)]
pub struct Exclude {
    globs: GlobSet,
}

impl Exclude {
    /// Takes patterns as a person writes them: with or without a slash at their beginning and end.
    ///
    /// # Errors
    /// [`Error::Invalid`] names the pattern that is none.
    pub fn new(patterns: &[String]) -> Result<Self> {
        let mut globs = GlobSetBuilder::new();
        for pattern in patterns {
            let wrong = |reason: &dyn std::fmt::Display| {
                Error::invalid(format!("\"{pattern}\" is no pattern: {reason}"))
            };
            let path = pattern.strip_suffix('/').unwrap_or(pattern);
            if path.trim_matches('/').is_empty() {
                return Err(wrong(&"it names nothing"));
            }
            let whole = if path.contains('/') {
                path.trim_start_matches("./").trim_start_matches('/').into()
            } else {
                format!("**/{path}")
            };
            let glob = GlobBuilder::new(&whole).literal_separator(true).build();
            globs.add(glob.map_err(|e| wrong(e.kind()))?);
        }
        let globs = globs
            .build()
            .map_err(|e| Error::invalid(format!("the patterns: {}", e.kind())))?;
        Ok(Self { globs })
    }

    /// True without patterns.
    pub(in crate::repo) fn is_empty(&self) -> bool {
        self.globs.is_empty()
    }

    /// True if a pattern is that of this path below the top itself.
    pub(in crate::repo) fn matches(&self, path: &Path) -> bool {
        self.globs.is_match(path)
    }

    /// True if the path, or a folder that it lies in, is left out.
    pub(in crate::repo) fn covers(&self, path: &FilePath) -> bool {
        let mut parts = Path::new(path.as_str()).ancestors();
        !self.is_empty() && parts.any(|part| self.matches(part))
    }

    /// What is left out of a tree: files and whole folders.
    ///
    /// # Limits
    /// Time grows with the tree, memory with what is found.
    pub(in crate::repo) fn found_in(
        &self,
        source: &impl NodeSource,
        root: NodeId,
    ) -> Result<Vec<FilePath>> {
        let mut found = Vec::new();
        if !self.is_empty() {
            self.find(source, root, "", &mut found)?;
        }
        let parsed = found.iter().map(|path| FilePath::parse(path));
        Ok(parsed.collect::<std::result::Result<_, _>>()?)
    }

    fn find(
        &self,
        source: &impl NodeSource,
        root: NodeId,
        prefix: &str,
        found: &mut Vec<String>,
    ) -> crate::store::Result<()> {
        let _flow = walk::directory(source, root, &mut |key, value| {
            let path = format!("{prefix}{}", key.name);
            match value {
                _ if self.matches(Path::new(&path)) => found.push(path),
                Value::Directory(folder) => {
                    self.find(source, folder.root, &format!("{path}/"), found)?;
                }
                Value::File(_) | Value::Subtree(_) => {}
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_held_against_names_or_against_the_path() {
        let covered = |pattern: &str, path: &str| {
            let exclude = Exclude::new(&[pattern.to_owned()]).unwrap();
            exclude.covers(&FilePath::parse(path).unwrap())
        };
        for (pattern, path) in [
            ("*.bak", "a.bak"),
            ("*.bak", "a/b/c.bak"),
            ("*.bak", "old.bak/x"),
            ("logs", "a/logs/b/c"),
            ("logs/", "a/logs/b/c"),
            ("conf/*.xml", "conf/a.xml"),
            ("/conf", "conf/a/b"),
            ("./conf/", "conf/a/b"),
            ("a/**/z", "a/b/c/z"),
            ("a/**", "a/b"),
            ("{x,y}.[ab]", "q/y.b"),
        ] {
            assert!(covered(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("*.bak", "a.bak.xml"),
            ("conf/*.xml", "sub/conf/a.xml"),
            ("conf/*.xml", "conf/sub/a.xml"),
            ("/conf", "sub/conf"),
            ("a/**", "a"),
            ("A", "a"),
        ] {
            assert!(!covered(pattern, path), "{pattern} {path}");
        }
        let refused = |pattern: &str| Exclude::new(&[pattern.to_owned()]).unwrap_err().to_string();
        assert_eq!(
            refused("a[b"),
            "\"a[b\" is no pattern: unclosed character class; missing ']'"
        );
        for nothing in ["", "/", "//"] {
            assert_eq!(
                refused(nothing),
                format!("\"{nothing}\" is no pattern: it names nothing")
            );
        }
    }
}
