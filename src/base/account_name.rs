//! The name of an account.

use std::fmt;

use super::limits::ACCOUNT_NAME_BYTES_MAX;
use super::name_error::NameError;

/// The name a user logs in with: 1 to 64 of ASCII letters, digits, `.`, `_`, `-`, `@`, starting with
/// a letter or digit. It is a segment of the virtual file system's paths.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountName(String);

impl AccountName {
    /// Checks a name.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let fine = text.len() <= ACCOUNT_NAME_BYTES_MAX
            && text
                .bytes()
                .next()
                .is_some_and(|b| b.is_ascii_alphanumeric())
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"._-@".contains(&b));
        if fine {
            return Ok(Self(text.to_owned()));
        }
        Err(NameError {
            what: "user name",
            reason: "it must be 1 to 64 letters, digits, \".\", \"_\", \"-\", \"@\" and start with a letter or digit",
        })
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccountName({:?})", self.0)
    }
}
