//! Identifiers: one `Copy` type a kind, so that no id can be passed for another.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What an object is; part of its row, so that `debug` can count without decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The bytes of a file.
    Blob,
    /// A run of directory entries.
    Node,
    /// The root of a branch's tree, with its totals.
    Manifest,
}

impl Kind {
    /// All kinds, in the order of their codes.
    pub const ALL: [Self; 3] = [Self::Blob, Self::Node, Self::Manifest];

    /// The kind's code in the store (`objects-layout.md`, "Object rows").
    pub fn code(self) -> u8 {
        match self {
            Self::Blob => 1,
            Self::Node => 2,
            Self::Manifest => 3,
        }
    }

    /// The kind with this code, if there is one.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// The kind's name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blob => "blob",
            Self::Node => "node",
            Self::Manifest => "manifest",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// True if the text has only lower-case hexadecimal digits.
pub fn is_lower_hex(text: &[u8]) -> bool {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.iter().all(is_digit)
}

/// Digits of a commit id: the first of the branch digest.
pub const COMMIT_DIGITS: usize = 40;

/// An abbreviation of a commit id has so many digits at least.
const COMMIT_ABBREVIATION_DIGITS_MIN: usize = 8;

/// True for a whole commit id, in either case.
pub fn is_commit_id(text: &str) -> bool {
    text.len() == COMMIT_DIGITS && is_hex(text)
}

/// True for a commit id in either case, whole or abbreviated.
pub fn is_commit_abbreviation(text: &str) -> bool {
    (COMMIT_ABBREVIATION_DIGITS_MIN..=COMMIT_DIGITS).contains(&text.len()) && is_hex(text)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Says why a text is not an id: not lower-case hexadecimal of the right length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {digits} lower-case hexadecimal digits")]
pub struct IdError {
    /// How many digits an id of this kind has.
    pub digits: usize,
}

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident, $bytes:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name([u8; $bytes]);

        impl $name {
            /// How many bytes an id of this kind has.
            pub const BYTES: usize = $bytes;

            /// Takes the raw bytes of an id.
            pub const fn from_bytes(bytes: [u8; $bytes]) -> Self {
                Self(bytes)
            }

            /// The raw bytes.
            pub const fn as_bytes(&self) -> &[u8; $bytes] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut text = [0; 2 * $bytes];
                hex::encode_to_slice(self.0, &mut text).map_err(|_| fmt::Error)?;
                f.pad(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                let mut bytes = [0; $bytes];
                if text.bytes().any(|byte| byte.is_ascii_uppercase())
                    || hex::decode_to_slice(text, &mut bytes).is_err()
                {
                    return Err(IdError { digits: 2 * $bytes });
                }
                Ok(Self(bytes))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                std::borrow::Cow::<'de, str>::deserialize(from)?
                    .parse()
                    .map_err(D::Error::custom)
            }
        }
    };
}

id_type! {
    /// Names any object in the store, whatever its kind.
    ObjectId, 32
}
id_type! {
    /// Names a blob: the BLAKE3 hash of its bytes.
    BlobId, 32
}
id_type! {
    /// Names a node: the BLAKE3 hash of its encoding under the node's context.
    NodeId, 32
}
id_type! {
    /// Names a manifest: the BLAKE3 hash of its encoding under the manifest's context.
    ManifestId, 32
}
id_type! {
    /// The id git gives the same content (SHA-1 of a blob or tree object).
    GitId, 20
}
id_type! {
    /// The MD5 of a file's bytes: a field of the branch digest, not a protection.
    Md5, 16
}
id_type! {
    /// A SHA-256.
    Sha256, 32
}

impl From<BlobId> for ObjectId {
    fn from(id: BlobId) -> Self {
        Self(id.0)
    }
}

impl From<NodeId> for ObjectId {
    fn from(id: NodeId) -> Self {
        Self(id.0)
    }
}

impl From<ManifestId> for ObjectId {
    fn from(id: ManifestId) -> Self {
        Self(id.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_only_from_its_one_spelling() {
        let id = GitId::from_bytes([0xab; 20]);
        let text = "ab".repeat(20);
        assert_eq!(id.to_string(), text);
        assert_eq!(text.parse(), Ok(id));
        for wrong in [
            "",
            "ab",
            &text.to_uppercase(),
            &format!("{text}ab"),
            &"zz".repeat(20),
        ] {
            assert_eq!(
                wrong.parse::<GitId>(),
                Err(IdError { digits: 40 }),
                "{wrong}"
            );
        }
    }
}
