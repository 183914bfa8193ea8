//! The file of tokens: an object of JSON a line.

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde::Deserialize;
use serde_json::error::Category;

use super::when;
use super::when::When;
use crate::access::{OldToken, check_instance};
use crate::base::clock::Timestamp;
use crate::base::id::Sha256;
use crate::base::secret::{Secret, ServerKey};
use crate::cli::{Error, Result};

/// Longest line, in bytes: an allowlist of 100 projects needs 14 KB.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// Longest name of a field that is told as it was met, in bytes.
const NAME_BYTES_TOLD: usize = 32;

/// Whether the old system lets a token in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    #[default]
    Active,
    Expired,
    Revoked,
}

/// A line.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenLine {
    pub(super) owner: String,
    pub(super) name: String,
    value: Option<String>,
    sha256: Option<String>,
    suffix: Option<String>,
    pub(super) repos: Vec<String>,
    expires_at: Option<When>,
    created_at: Option<When>,
    last_used_at: Option<When>,
    #[serde(default)]
    fingerprint_required: bool,
    pub(super) fingerprint: Option<String>,
    #[serde(default)]
    pub(super) state: State,
}

/// It has secrets.
impl fmt::Debug for TokenLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenLine({})", self.name)
    }
}

impl TokenLine {
    fn read(line: &[u8]) -> std::result::Result<Self, String> {
        serde_json::from_slice(line).map_err(|e| {
            // serde_json tells a line of its own, which is always the first.
            let told = e.to_string().replace(" at line 1 column ", " at column ");
            if is_without_value(&told, e.classify()) {
                return told;
            }
            let column = e.column();
            format!(
                "it must be an object with owner, name, repos and value or sha256, at column {column}"
            )
        })
    }

    /// The token. `key` is what its instance is kept under; it is asked for only where there is one.
    ///
    /// # Errors
    /// What is wrong with it, a sentence that has no secret in it.
    pub(super) fn token(
        &self,
        now: Timestamp,
        key: impl FnOnce() -> std::result::Result<ServerKey, String>,
    ) -> std::result::Result<OldToken, String> {
        let (digest, suffix) = self.secret()?;
        let expires_at = self.expires_at.map(|When(at)| at);
        if self.state == State::Expired && expires_at.is_none_or(|at| at > now) {
            return Err("it is expired, but its expires_at has not come".to_owned());
        }
        if self.fingerprint.is_some() && !self.fingerprint_required {
            return Err("a fingerprint needs \"fingerprint_required\": true".to_owned());
        }
        let instance = match &self.fingerprint {
            Some(instance) => {
                check_instance(instance).map_err(|e| e.to_string())?;
                Some((instance.clone(), key()?))
            }
            None => None,
        };
        Ok(OldToken {
            digest,
            suffix,
            name: self.name.clone(),
            repos: self.repos.clone(),
            expires_at,
            created_at: self.created_at.map(|When(at)| at),
            last_used_at: self.last_used_at.map(|When(at)| at),
            fingerprint_required: self.fingerprint_required,
            instance,
        })
    }

    /// The digest of its value, and the last digits as far as they are known.
    pub(super) fn secret(&self) -> std::result::Result<(Sha256, String), String> {
        match (&self.value, &self.sha256) {
            (Some(value), None) => {
                if self.suffix.is_some() {
                    return Err("suffix stands beside sha256, not beside value".to_owned());
                }
                let secret = Secret::parse(value.as_bytes());
                let secret = secret.ok_or("value must have 64 lower-case hexadecimal digits")?;
                Ok((secret.digest(), secret.suffix().to_owned()))
            }
            (None, Some(sha256)) => {
                let digest = sha256.parse();
                let digest =
                    digest.map_err(|_| "sha256 must have 64 lower-case hexadecimal digits")?;
                let suffix = self.suffix.clone().unwrap_or_default();
                let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
                if !matches!(suffix.len(), 0 | 6) || !suffix.bytes().all(is_digit) {
                    return Err("suffix must have 6 lower-case hexadecimal digits".to_owned());
                }
                Ok((digest, suffix))
            }
            _ => Err("it needs either value or sha256".to_owned()),
        }
    }
}

/// True if what is told of a line cannot have a part of it that is a secret.
fn is_without_value(told: &str, category: Category) -> bool {
    if category != Category::Data {
        // Only of data serde_json tells what it met.
        return true;
    }
    let quoted = ["unknown field `", "unknown variant `"];
    let quoted = quoted.iter().find_map(|begin| told.strip_prefix(begin));
    if let Some((name, _)) = quoted.and_then(|rest| rest.split_once("`, expected ")) {
        // The digits of a value are never letters alone.
        let is_letter = |b: u8| b.is_ascii_lowercase() || b == b'_';
        return name.len() <= NAME_BYTES_TOLD && name.bytes().all(is_letter);
    }
    [when::RULE, "missing field `", "duplicate field `"]
        .iter()
        .any(|begin| told.starts_with(begin))
}

/// Calls `take` with each line that is not empty: its number, and the token or what is wrong with it.
///
/// # Errors
/// [`Error::File`], and those of `take`.
///
/// # Limits
/// A line has at most [`LINE_BYTES_MAX`] bytes; memory does not grow with the file.
pub(super) fn each(
    path: &Path,
    mut take: impl FnMut(u64, std::result::Result<TokenLine, String>) -> Result<()>,
) -> Result<()> {
    let reading = || Error::file("reading", path);
    let mut file = BufReader::new(File::open(path).map_err(reading())?);
    let (mut line, mut number) = (Vec::new(), 0);
    loop {
        line.clear();
        let mut limited = file.by_ref().take(LINE_BYTES_MAX + 1);
        if limited.read_until(b'\n', &mut line).map_err(reading())? == 0 {
            return Ok(());
        }
        number += 1;
        let text = line.trim_ascii();
        let is_long = !line.ends_with(b"\n")
            && u64::try_from(line.len()).is_ok_and(|length| length > LINE_BYTES_MAX);
        if is_long {
            file.skip_until(b'\n').map_err(reading())?;
            take(
                number,
                Err(format!("it has more than {LINE_BYTES_MAX} bytes")),
            )?;
        } else if !text.is_empty() {
            take(number, TokenLine::read(text))?;
        }
    }
}
