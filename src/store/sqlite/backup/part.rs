//! The files of a backup, by their paths in it.

use std::fmt;

use crate::base::id::{ObjectId, is_lower_hex};

/// A run of a table's rows: those whose numbers lie in it, as they were when it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    /// The first number that could be in it.
    pub(super) first: i64,
    /// The last.
    pub(super) last: i64,
    /// Of the rows in it: two spans of the same digest hold the same rows.
    pub(super) digest: [u8; 16],
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// The format's name and version: in a stream the first.
    Format,
    /// A large blob.
    Blob(ObjectId),
    /// Rows of objects.
    Objects(Span),
    /// Rows of records and tombstones.
    Records(Span),
    /// A file of `secrets/`, and the first digits of its sum.
    Secret { name: String, sum: String },
}

/// The manifest's path.
pub(super) const MANIFEST: &str = "MANIFEST";
/// The name of the server key's file in `secrets/`.
pub(super) const SERVER_KEY: &str = "server-key";
/// Digits of a sum in the name of a secret's file.
const SUM_DIGITS: usize = 16;

impl Part {
    /// The part that lies at this path, `None` where no backup has a file.
    pub(super) fn parse(path: &str) -> Option<Self> {
        if path == "FORMAT" {
            return Some(Self::Format);
        }
        let (folder, name) = path.split_once('/')?;
        match folder {
            "blobs" => {
                let (fan, rest) = name.split_once('/')?;
                let id = format!("{fan}{rest}").parse().ok()?;
                (fan.len() == 2).then_some(Self::Blob(id))
            }
            "objects" => span(name).map(Self::Objects),
            "records" => span(name).map(Self::Records),
            "secrets" => {
                let (name, sum) = name.rsplit_once('.')?;
                let is_sum = sum.len() == SUM_DIGITS && is_lower_hex(sum.as_bytes());
                (is_plain_name(name) && is_sum).then(|| Self::Secret {
                    name: name.to_owned(),
                    sum: sum.to_owned(),
                })
            }
            _ => None,
        }
    }

    /// The file of a secret with these bytes. Its name is a plain one.
    pub(super) fn secret(name: &str, bytes: &[u8]) -> Self {
        let sum = blake3::hash(bytes).to_hex()[..SUM_DIGITS].to_owned();
        let name = name.to_owned();
        Self::Secret { name, sum }
    }
}

/// True for a name that a file of `secrets/` may have in a backup: none by which a folder is left, or a
/// line of the manifest ended. Dot-files are those of editors and file systems.
pub(super) fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && !name.contains(|c: char| c == '/' || c.is_control())
}

impl fmt::Display for Part {
    /// The path.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format => f.write_str("FORMAT"),
            Self::Blob(id) => {
                let text = id.to_string();
                let (fan, name) = text.split_at(2);
                write!(f, "blobs/{fan}/{name}")
            }
            Self::Objects(span) => write!(f, "objects/{span}"),
            Self::Records(span) => write!(f, "records/{span}"),
            Self::Secret { name, sum } => write!(f, "secrets/{name}.{sum}"),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = hex::encode(self.digest);
        write!(f, "{:016x}-{:016x}.{digest}", self.first, self.last)
    }
}

fn span(name: &str) -> Option<Span> {
    let (numbers, digest) = name.split_once('.')?;
    let (first, last) = numbers.split_once('-')?;
    let number = |digits: &str| {
        let whole = digits.len() == 16 && is_lower_hex(digits.as_bytes());
        let number = i64::from_str_radix(digits, 16).ok();
        number.filter(|_| whole)
    };
    let mut bytes = [0; 16];
    let is_lower = is_lower_hex(digest.as_bytes());
    hex::decode_to_slice(digest, &mut bytes).ok()?;
    let (first, last) = (number(first)?, number(last)?);
    (is_lower && first <= last).then_some(Span {
        first,
        last,
        digest: bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_as_it_is_written_and_no_other_is() {
        let parts = [
            Part::Format,
            Part::Blob(ObjectId::from_bytes([7; 32])),
            Part::Objects(Span {
                first: 1,
                last: i64::MAX,
                digest: [9; 16],
            }),
            Part::Records(Span {
                first: 17,
                last: 17,
                digest: [0xab; 16],
            }),
            Part::secret("server-key", b"0"),
            Part::secret("a.b", b"0"),
        ];
        for part in parts {
            let path = part.to_string();
            assert_eq!(Part::parse(&path), Some(part.clone()), "{path}");
            for wrong in [format!("/{path}"), format!("{path}0"), path.to_uppercase()] {
                let other = Part::parse(&wrong);
                assert!(
                    other.is_none() || path == "FORMAT" && wrong == path,
                    "{wrong}"
                );
            }
        }
        let digest = "0".repeat(32);
        for wrong in [
            "",
            "MANIFEST",
            "secrets/../../etc/passwd.0000000000000000",
            "secrets/..0000000000000000",
            "secrets/.0000000000000000",
            "secrets/.server-key.swp.0000000000000000",
            "secrets/a\nb.0000000000000000",
            "secrets/server-key",
            "blobs/0/7",
            &format!("objects/0000000000000002-0000000000000001.{digest}"),
            &format!("objects/-000000000000001-0000000000000001.{digest}"),
            &format!("objects/0000000000000001-ffffffffffffffff.{digest}"),
        ] {
            assert_eq!(Part::parse(wrong), None, "{wrong}");
        }
    }
}
