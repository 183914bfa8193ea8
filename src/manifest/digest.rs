//! The branch digest: SHA-256 over a line a file (specification section 9). No blob is touched.

use std::fmt::Write;
use std::ops::ControlFlow;

use sha2::Digest;

use super::load::NodeSource;
use super::walk;
use crate::base::id::{NodeId, Sha256};
use crate::object::node::Value;
use crate::store::Result;

/// Lines are handed to the hash in pieces of about this many bytes.
const PIECE_BYTES: usize = 32 << 10;

/// Calls with one or more whole lines `<path>|<size>|<md5>` at a time, in the byte order of the paths.
pub fn lines(source: &impl NodeSource, root: NodeId, mut take: impl FnMut(&str)) -> Result<()> {
    let mut piece = String::with_capacity(PIECE_BYTES + 8192);
    let _whole = walk::recursive(source, root, &mut String::new(), &mut |path, value| {
        if let Value::File(file) = value {
            writeln!(piece, "{path}|{}|{}", file.size, file.md5)
                .expect("a string takes everything");
            if piece.len() >= PIECE_BYTES {
                take(&piece);
                piece.clear();
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    take(&piece);
    Ok(())
}

/// The digest of the tree with this root.
pub fn digest(source: &impl NodeSource, root: NodeId) -> Result<Sha256> {
    let mut hasher = sha2::Sha256::new();
    lines(source, root, |piece| hasher.update(piece))?;
    Ok(Sha256::from_bytes(hasher.finalize().into()))
}
