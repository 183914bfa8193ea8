//! A project's identifier, `<name>.<type>`.

use std::fmt;

use super::limits::{PROJECT_NAME_BYTES_MAX, PROJECT_TYPE_BYTES_MAX};
use serde::{Deserialize, Serialize};

use super::name_error::NameError;

/// The part of the name under which public projects live.
const PUBLIC_PREFIX: &str = "public/";

/// A project's identifier: its name, a dot, its type (contract section 3). Unique in the service.
///
/// # Invariants
/// The last dot separates the name from the type; both passed their rules.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct RepoId(String);

impl TryFrom<String> for RepoId {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        Self::parse(&text)
    }
}

impl RepoId {
    /// Longest identifier, in bytes.
    pub const BYTES_MAX: usize = PROJECT_NAME_BYTES_MAX + 1 + PROJECT_TYPE_BYTES_MAX;

    /// Checks a name and a type and joins them.
    pub fn new(name: &str, kind: &str) -> Result<Self, NameError> {
        check_name(name)?;
        check_type(kind)?;
        Ok(Self(format!("{name}.{kind}")))
    }

    /// Checks a decoded identifier.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let (name, kind) = text.rsplit_once('.').ok_or(NameError {
            what: "project",
            reason: "it must be a name, a dot and a type, as in acme/shop.erp",
        })?;
        Self::new(name, kind)
    }

    /// The whole identifier.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name, without the type.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('.').map_or(&self.0, |(name, _)| name)
    }

    /// The type.
    pub fn kind(&self) -> &str {
        self.0.rsplit_once('.').map_or("", |(_, kind)| kind)
    }

    /// True for a project under `/apps/site-builder/public/`.
    pub fn is_public(&self) -> bool {
        self.0.starts_with(PUBLIC_PREFIX)
    }

    /// True if a role with this prefix covers the project: equal, `<prefix>.<type>`, or below
    /// `<prefix>/` (specification section 5.4). `acme` covers `acme.erp` and `acme/shop.erp`, never
    /// `acme2.erp`.
    pub fn matches_prefix(&self, prefix: &str) -> bool {
        match self.0.strip_prefix(prefix) {
            Some("") => true,
            Some(rest) => rest.starts_with('/') || rest == format!(".{}", self.kind()),
            None => false,
        }
    }
}

/// Checks a project's name: 1 to 100 bytes, segments of letters, digits, `_`, `-`, `.`.
pub fn check_name(name: &str) -> Result<(), NameError> {
    let refuse = |reason| {
        Err(NameError {
            what: "name",
            reason,
        })
    };
    if name.is_empty() || name.len() > PROJECT_NAME_BYTES_MAX {
        return refuse("it must have 1 to 100 bytes");
    }
    if name.ends_with('.') {
        return refuse("it ends in \".\"");
    }
    for segment in name.split('/') {
        if matches!(segment, "" | "." | "..") {
            return refuse("a segment is empty, \".\" or \"..\"");
        }
        if segment.starts_with('-') {
            return refuse("a segment starts with \"-\"");
        }
        if !segment
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
        {
            return refuse("only letters, digits, \"_\", \"-\", \".\" and \"/\" are allowed");
        }
    }
    Ok(())
}

fn check_type(kind: &str) -> Result<(), NameError> {
    let alphabet = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let fine = kind.len() <= PROJECT_TYPE_BYTES_MAX
        && kind.bytes().next().is_some_and(alphabet)
        && kind
            .bytes()
            .all(|b| alphabet(b) || matches!(b, b'_' | b'-'));
    if fine {
        return Ok(());
    }
    Err(NameError {
        what: "type",
        reason: "it must be 1 to 32 of a-z, 0-9, \"_\", \"-\" and start with a letter or digit",
    })
}

impl fmt::Display for RepoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RepoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RepoId({:?})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_splits_at_its_last_dot() {
        let id = RepoId::parse("acme/shop.v2.erp").unwrap();
        assert_eq!(
            (id.name(), id.kind(), id.as_str()),
            ("acme/shop.v2", "erp", "acme/shop.v2.erp")
        );
        assert_eq!(
            RepoId::new("склад", "erp").map(|id| id.to_string()),
            Ok("склад.erp".into())
        );
    }

    #[test]
    fn malformed_names_and_types_are_refused() {
        let long = "x".repeat(101);
        for name in [
            "", "/", "a/", "/a", "a//b", ".", "..", "a/../b", "-a", "a/-b", "a.", "a b", "a:b",
            "a%b", &long,
        ] {
            assert!(RepoId::new(name, "erp").is_err(), "{name:?} was accepted");
        }
        let long = "t".repeat(33);
        for kind in ["", "Erp", "-a", "_a", "a.b", "a/b", "a b", "é", &long] {
            assert!(RepoId::new("acme", kind).is_err(), "{kind:?} was accepted");
        }
        assert!(RepoId::parse("acme").is_err());
    }

    #[test]
    fn a_prefix_covers_equal_typed_and_below_but_not_longer_names() {
        let id = |text| RepoId::parse(text).unwrap();
        for covered in ["acme.erp", "acme/shop.erp", "acme/a/b.web"] {
            assert!(id(covered).matches_prefix("acme"), "{covered}");
        }
        for other in [
            "acmefoo.erp",
            "acme2/shop.erp",
            "acm.erp",
            "x/acme.erp",
            "acme.x.erp",
        ] {
            assert!(!id(other).matches_prefix("acme"), "{other}");
        }
        assert!(id("acme/shop.erp").matches_prefix("acme/shop.erp"));
        assert!(!id("acme/shop.erp2").matches_prefix("acme/shop.erp"));
    }
}
