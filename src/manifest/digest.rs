//! The branch digest: SHA-256 over one line per file (specification section 9). No blob is read.

use std::ops::ControlFlow;
use std::sync::Arc;

use sha2::Digest as _;

use super::nodes::NodeSource;
use super::{diff, walk};
use crate::base::id::{NodeId, Sha256};
use crate::object::node::{FileEntry, Value};
use crate::store::Result;

/// Lines are handed to the hash in pieces of about this many bytes, and its state is kept there.
const PIECE_BYTES: usize = 32 << 10;

/// Adds a file's line `<path>|<size>|<md5>`.
fn push_line(piece: &mut Vec<u8>, path: &str, file: &FileEntry) {
    piece.extend_from_slice(path.as_bytes());
    piece.push(b'|');
    piece.extend_from_slice(itoa::Buffer::new().format(file.size).as_bytes());
    piece.push(b'|');
    let mut md5 = [0; 32];
    hex::encode_to_slice(file.md5.as_bytes(), &mut md5).expect("32 digits for 16 bytes");
    piece.extend_from_slice(&md5);
    piece.push(b'\n');
}

/// Calls `take` with one or more whole lines `<path>|<size>|<md5>` at a time, in the byte order of the
/// paths.
pub fn lines(source: &impl NodeSource, root: NodeId, mut take: impl FnMut(&[u8])) -> Result<()> {
    let mut piece = Vec::with_capacity(PIECE_BYTES + 8192);
    let _whole = walk::recursive(source, root, &mut String::new(), &mut |path, value| {
        if let Value::File(file) = value {
            push_line(&mut piece, path, file);
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

/// A digest, and states of the hash from its computation: another tree that is equal up to some path is
/// digested from the last state before that path.
#[derive(Clone, Debug)]
pub struct Digested {
    /// The digest.
    pub sha256: Sha256,
    root: NodeId,
    states: Vec<State>,
}

/// The hash before the line of a file.
#[derive(Clone, Debug)]
struct State {
    path: Arc<str>,
    hasher: sha2::Sha256,
}

impl Digested {
    /// Digests the tree with this root, beginning at the last kept state before its first difference to
    /// `known`.
    pub fn new(source: &impl NodeSource, root: NodeId, known: Option<&Self>) -> Result<Self> {
        let mut states = Vec::new();
        if let Some(known) = known {
            match diff::first(source, known.root, root)? {
                None => return Ok(known.clone()),
                Some(path) => {
                    let before = known.states.partition_point(|state| *state.path <= *path);
                    states.extend_from_slice(&known.states[..before]);
                }
            }
        }
        let (from, mut hasher) = match states.last() {
            Some(state) => (Arc::clone(&state.path), state.hasher.clone()),
            None => (Arc::from(""), sha2::Sha256::new()),
        };
        let mut piece = Vec::with_capacity(PIECE_BYTES + 8192);
        let _whole = walk::recursive_from(source, root, &from, &mut |path, value| {
            if let Value::File(file) = value {
                if piece.len() >= PIECE_BYTES {
                    hasher.update(&piece);
                    piece.clear();
                    states.push(State {
                        path: path.into(),
                        hasher: hasher.clone(),
                    });
                }
                push_line(&mut piece, path, file);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        hasher.update(&piece);
        Ok(Self {
            sha256: Sha256::from_bytes(hasher.finalize().into()),
            root,
            states,
        })
    }

    /// About how much memory it takes, in bytes.
    pub fn memory(&self) -> usize {
        let states: usize = self
            .states
            .iter()
            .map(|state| size_of::<State>() + 16 + state.path.len())
            .sum();
        size_of::<Self>() + states
    }
}

/// The digest of the tree with this root.
pub fn digest(source: &impl NodeSource, root: NodeId) -> Result<Sha256> {
    Ok(Digested::new(source, root, None)?.sha256)
}
