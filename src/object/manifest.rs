//! A manifest: the root of a branch's tree with its totals (`objects-layout.md`, "Manifest").

use super::codec::{DecodeError, Reader};
use super::node::{Totals, decode_totals, encode_totals};
use crate::base::id::NodeId;

/// The format's version, a manifest's first byte.
pub const MANIFEST_VERSION: u8 = 1;

/// The state of a branch. Equal content has an equal manifest, whatever its history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The root directory's root node.
    pub root: NodeId,
    /// What is in the branch.
    pub totals: Totals,
}

impl Manifest {
    /// The manifest's encoding.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(57);
        out.push(MANIFEST_VERSION);
        out.extend_from_slice(self.root.as_bytes());
        encode_totals(&self.totals, &mut out);
        out
    }

    /// Reads an encoding, trusting nothing of it.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        if reader.u8()? != MANIFEST_VERSION {
            return reader.fail("its version is not 1");
        }
        let manifest = Self {
            root: NodeId::from_bytes(reader.array()?),
            totals: decode_totals(&mut reader)?,
        };
        reader.end()?;
        Ok(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_encoding_is_read() {
        let totals = Totals {
            files: 1,
            directories: 2,
            bytes: 3,
        };
        let manifest = Manifest {
            root: NodeId::from_bytes([9; 32]),
            totals,
        };
        let bytes = manifest.encode();
        assert_eq!(bytes.len(), 57);
        assert_eq!(Manifest::decode(&bytes), Ok(manifest));
        assert!(Manifest::decode(&bytes[..56]).is_err());
        assert!(Manifest::decode(&[bytes.as_slice(), &[0]].concat()).is_err());
        assert!(Manifest::decode(&[&[2], &bytes[1..]].concat()).is_err());
    }
}
