//! The hash of a large blob in pieces: each can be held against the blob's id without the others
//! (`objects-layout.md`, "Outboard").

use blake3::hazmat::{
    ChainingValue, HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root,
};

use super::id::BlobId;

/// Length of a piece in bytes; the last one may be shorter. Part of the format. A download holds two
/// pieces in memory.
pub const PIECE_BYTES: usize = 256 << 10;

/// The BLAKE3 chaining values of a blob's pieces, in their order. Empty for a blob of one piece, whose
/// hash is the id itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outboard(Vec<ChainingValue>);

impl Outboard {
    /// Reads the values of a blob of `size` bytes and this id. `None` if they are not its own.
    pub fn decode(bytes: &[u8], id: BlobId, size: u64) -> Option<Self> {
        let (values, rest) = bytes.as_chunks();
        let outboard = Self(values.to_vec());
        let is_whole = rest.is_empty() && values.len() as u64 == piece_count(size);
        (is_whole && outboard.id() == Some(id)).then_some(outboard)
    }

    /// The values one after another, 32 bytes each.
    pub fn encode(&self) -> Vec<u8> {
        self.0.concat()
    }

    /// True if these bytes are the piece at this place, counted from 0, of the blob with this id.
    pub fn has_piece(&self, id: BlobId, place: u64, bytes: &[u8]) -> bool {
        if bytes.len() > PIECE_BYTES {
            return false;
        }
        if self.0.is_empty() {
            return place == 0 && blake3::hash(bytes) == *id.as_bytes();
        }
        let own = usize::try_from(place).ok().and_then(|at| self.0.get(at));
        let mut hasher = blake3::Hasher::new();
        hasher.set_input_offset(place * PIECE_BYTES as u64);
        hasher.update(bytes);
        own == Some(&hasher.finalize_non_root())
    }

    /// What it takes in memory, in bytes.
    pub fn memory(&self) -> usize {
        self.0.as_flattened().len()
    }

    /// The id of the blob that has these pieces; `None` for less than two.
    fn id(&self) -> Option<BlobId> {
        if self.0.len() < 2 {
            return None;
        }
        let (left, right) = self.0.split_at(left_pieces(self.0.len()));
        let root = merge_subtrees_root(&subtree(left), &subtree(right), Mode::Hash);
        Some(BlobId::from_bytes(*root.as_bytes()))
    }
}

/// How many pieces a blob of this many bytes has, at least one.
fn piece_count(size: u64) -> u64 {
    size.div_ceil(PIECE_BYTES as u64).max(1)
}

/// The chaining value of pieces that lie side by side.
fn subtree(values: &[ChainingValue]) -> ChainingValue {
    if let [value] = values {
        return *value;
    }
    let (left, right) = values.split_at(left_pieces(values.len()));
    merge_subtrees_non_root(&subtree(left), &subtree(right), Mode::Hash)
}

/// How many of two pieces or more are in the left half of their tree: the largest power of two that is
/// less than all.
fn left_pieces(count: usize) -> usize {
    count.div_ceil(2).next_power_of_two()
}

/// Hashes a blob in one pass to its id and its pieces' chaining values.
#[derive(Clone, Debug, Default)]
pub struct PieceHasher {
    whole: Vec<ChainingValue>,
    /// The piece under way, which may be full: the last one is ended in another way if it is the only.
    piece: blake3::Hasher,
    taken: usize,
}

impl PieceHasher {
    /// Takes the next bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.taken == PIECE_BYTES {
                self.whole.push(self.piece.finalize_non_root());
                let start = self.whole.len() as u64 * PIECE_BYTES as u64;
                self.piece = blake3::Hasher::new();
                self.piece.set_input_offset(start);
                self.taken = 0;
            }
            let (now, later) = bytes.split_at(bytes.len().min(PIECE_BYTES - self.taken));
            self.piece.update(now);
            self.taken += now.len();
            bytes = later;
        }
    }

    /// Ends the pass.
    pub fn finish(mut self) -> (BlobId, Outboard) {
        if self.whole.is_empty() {
            let id = BlobId::from_bytes(*self.piece.finalize().as_bytes());
            return (id, Outboard::default());
        }
        self.whole.push(self.piece.finalize_non_root());
        let outboard = Outboard(self.whole);
        let id = outboard.id().expect("it has two pieces or more");
        (id, outboard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(length: usize) -> Vec<u8> {
        (0..=250).cycle().take(length).collect()
    }

    #[test]
    fn the_id_is_that_of_the_whole_and_each_piece_is_told_from_any_other() {
        const P: usize = PIECE_BYTES;
        for length in [
            0,
            1,
            P - 1,
            P,
            P + 1,
            2 * P,
            2 * P + 7,
            3 * P,
            5 * P - 1,
            8 * P,
            9 * P + 1,
        ] {
            let body = body(length);
            let mut hasher = PieceHasher::default();
            for part in body.chunks(100_003) {
                hasher.update(part);
            }
            let (id, outboard) = hasher.finish();
            assert_eq!(blake3::hash(&body), *id.as_bytes(), "{length}");
            let pieces: Vec<_> = if body.is_empty() {
                vec![&body[..]]
            } else {
                body.chunks(P).collect()
            };
            for (place, piece) in (0..).zip(&pieces) {
                assert!(outboard.has_piece(id, place, piece), "{place} of {length}");
                assert!(!outboard.has_piece(id, place + 1, piece));
                let mut damaged = piece.to_vec();
                damaged.push(0);
                assert!(!outboard.has_piece(id, place, &damaged));
                damaged.pop();
                if let Some(last) = damaged.last_mut() {
                    *last ^= 1;
                    assert!(!outboard.has_piece(id, place, &damaged));
                }
            }
            if pieces.len() > 1 {
                let mut encoded = outboard.encode();
                assert_eq!(encoded.len(), 32 * pieces.len());
                let size = length as u64;
                assert_eq!(Outboard::decode(&encoded, id, size), Some(outboard));
                assert_eq!(Outboard::decode(&encoded, id, size + P as u64), None);
                assert_eq!(Outboard::decode(&encoded[1..], id, size), None);
                encoded[40] ^= 1;
                assert_eq!(Outboard::decode(&encoded, id, size), None);
            }
        }
    }
}
