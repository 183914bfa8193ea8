//! Hashing: every digest of a body in one pass, and the ids of structured objects.

use sha1::Sha1;
use sha2::Digest as _;

use super::id::{BlobId, GitId, Kind, ManifestId, Md5, NodeId, ObjectId, Sha256};
use super::outboard::{Outboard, PieceHasher};

/// The key-derivation context of node ids (`objects-layout.md`, "Ids").
pub const NODE_CONTEXT: &str = "siteconf 2026-11 node v1";
/// The key-derivation context of manifest ids (`objects-layout.md`, "Ids").
pub const MANIFEST_CONTEXT: &str = "siteconf 2026-11 manifest v1";

/// Everything that is known of a body once it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyDigests {
    /// The blob's id.
    pub blob: BlobId,
    /// Length in bytes.
    pub size: u64,
    /// MD5, a field of the branch digest.
    pub md5: Md5,
    /// The id git gives the blob.
    pub git: GitId,
    /// SHA-256, answered as a header.
    pub sha256: Sha256,
}

impl BodyDigests {
    /// Digests a body that is in memory.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = BodyHasher::new(byte_count(bytes));
        hasher.update(bytes);
        hasher.finish()
    }
}

/// The checksum of a record: the first 8 bytes of BLAKE3 over the length of the key as a `u32`, the key,
/// the version as a `u64`, and the value (`objects-layout.md`, "Record rows").
pub fn record_checksum(key: &str, version: u64, value: &[u8]) -> [u8; 8] {
    let length = u32::try_from(key.len()).unwrap_or(u32::MAX);
    let mut hasher = blake3::Hasher::new();
    hasher.update(&length.to_le_bytes());
    hasher.update(key.as_bytes());
    hasher.update(&version.to_le_bytes());
    hasher.update(value);
    let hash = hasher.finalize();
    let mut checksum = [0; 8];
    checksum.copy_from_slice(&hash.as_bytes()[..8]);
    checksum
}

/// A hash that is given a body in pieces.
pub trait StreamHasher {
    /// Takes the next bytes.
    fn update(&mut self, bytes: &[u8]);
}

/// Computes the MD5 of a body: as long as everything else together.
#[derive(Clone, Debug, Default)]
pub struct Md5Hasher(md5::Md5);

impl Md5Hasher {
    /// Ends the pass.
    pub fn finish(self) -> Md5 {
        Md5::from_bytes(self.0.finalize().into())
    }
}

impl StreamHasher for Md5Hasher {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

/// Computes what a blob is known by here: its id with the hashes of its pieces, and its SHA-256.
#[derive(Clone, Debug, Default)]
pub struct ContentHasher {
    pieces: PieceHasher,
    sha256: sha2::Sha256,
}

impl ContentHasher {
    /// Ends the pass.
    pub fn finish(self) -> (BlobId, Outboard, Sha256) {
        let (blob, outboard) = self.pieces.finish();
        (
            blob,
            outboard,
            Sha256::from_bytes(self.sha256.finalize().into()),
        )
    }
}

impl StreamHasher for ContentHasher {
    fn update(&mut self, bytes: &[u8]) {
        self.pieces.update(bytes);
        self.sha256.update(bytes);
    }
}

/// Computes the id that git gives a blob.
#[derive(Clone, Debug)]
pub struct GitHasher(Sha1);

impl GitHasher {
    /// Starts on a body of `size` bytes. Git hashes the length first, so it must be known.
    pub fn new(size: u64) -> Self {
        let mut sha1 = Sha1::new();
        sha1.update(format!("blob {size}\0"));
        Self(sha1)
    }

    /// Ends the pass. The id is right only if the size announced to [`GitHasher::new`] came.
    pub fn finish(self) -> GitId {
        GitId::from_bytes(self.0.finalize().into())
    }
}

impl StreamHasher for GitHasher {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

/// Computes every digest of a body of known size in one streaming pass.
#[derive(Clone, Debug)]
pub struct BodyHasher {
    content: ContentHasher,
    md5: Md5Hasher,
    git: GitHasher,
    size: u64,
}

impl BodyHasher {
    /// Starts on a body of `size` bytes.
    pub fn new(size: u64) -> Self {
        Self {
            content: ContentHasher::default(),
            md5: Md5Hasher::default(),
            git: GitHasher::new(size),
            size: 0,
        }
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.content.update(bytes);
        self.md5.update(bytes);
        self.git.update(bytes);
        self.size += byte_count(bytes);
    }

    /// Ends the pass. The git id is right only if the size announced to [`BodyHasher::new`] came.
    pub fn finish(self) -> BodyDigests {
        let (blob, _, sha256) = self.content.finish();
        BodyDigests {
            blob,
            size: self.size,
            md5: self.md5.finish(),
            git: self.git.finish(),
            sha256,
        }
    }
}

/// Names a node by its encoding.
pub fn node_id(encoded: &[u8]) -> NodeId {
    NodeId::from_bytes(blake3::derive_key(NODE_CONTEXT, encoded))
}

/// Names a manifest by its encoding.
pub fn manifest_id(encoded: &[u8]) -> ManifestId {
    ManifestId::from_bytes(blake3::derive_key(MANIFEST_CONTEXT, encoded))
}

/// The id that an object of this kind with these bytes must have.
pub fn object_id(kind: Kind, bytes: &[u8]) -> ObjectId {
    match kind {
        Kind::Blob => BlobId::from_bytes(*blake3::hash(bytes).as_bytes()).into(),
        Kind::Node => node_id(bytes).into(),
        Kind::Manifest => manifest_id(bytes).into(),
    }
}

/// SHA-256 of bytes in memory.
pub fn sha256(bytes: &[u8]) -> Sha256 {
    Sha256::from_bytes(sha2::Sha256::digest(bytes).into())
}

/// Length of a slice as the integer every size is kept in.
pub fn byte_count(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).expect("a slice is shorter than 2^64 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_of_a_known_body_are_those_of_the_usual_tools() {
        let digests = BodyDigests::of(b"hello\n");
        assert_eq!(digests.size, 6);
        assert_eq!(digests.md5.to_string(), "b1946ac92492d2347c6235b4d2611184");
        assert_eq!(
            digests.git.to_string(),
            "ce013625030ba8dba906f756967f9e9ca394464a"
        );
        assert_eq!(
            digests.sha256.to_string(),
            "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
        );
        assert_eq!(
            digests.blob.to_string(),
            blake3::hash(b"hello\n").to_hex().to_string()
        );
    }

    #[test]
    fn the_same_bytes_have_another_id_in_each_kind() {
        let ids = Kind::ALL.map(|kind| object_id(kind, b"same"));
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
    }
}
