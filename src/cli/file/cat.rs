//! A file's bytes.

use std::io;

use super::args::Cat;
use super::nothing_at;
use crate::base::digest::byte_count;
use crate::base::limits::READ_CHUNK_BYTES;
use crate::cli::opened::Opened;
use crate::cli::output::shell_word;
use crate::cli::{Error, Result, Streams, names};
use crate::repo;
use crate::repo::{Body, Content};

/// `cat`. The bytes go out as they are, also to a terminal.
pub(in crate::cli) fn write(wish: &Cat, opened: &Opened, streams: &mut Streams<'_>) -> Result<()> {
    let repo_id = names::repo_id(&wish.repo_id)?;
    let path = names::file(&wish.path)?;
    let revision = opened.revision(&repo_id, &wish.revision)?;
    let file = match revision.file(&path) {
        Err(repo::Error::NotFound { .. }) if revision.listing(Some(&path), false).is_ok() => {
            return Err(Error::Failed(format!(
                "\"{path}\" is a folder; \"siteconf ls {repo_id} {} {}\" lists it",
                wish.revision,
                shell_word(path.as_str())
            )));
        }
        Err(repo::Error::NotFound { .. }) => {
            return Err(nothing_at(&path, repo_id.as_str(), &wish.revision));
        }
        found => found?,
    };
    each_piece(&file.content()?, |piece| {
        Ok(streams.out.write_all(piece)?)
    })
}

/// Calls with all bytes of a file, in order. None is wrong: each piece is held against its hash before.
fn each_piece(content: &Content, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let large = match &content.body {
        Body::Inline(bytes) => return take(bytes),
        Body::Large(large) => large,
    };
    let failed = |e: io::Error| Error::Failed(format!("reading the file: {e}"));
    let mut chunk = vec![0; READ_CHUNK_BYTES];
    let mut offset = 0;
    while offset < content.size {
        let left = usize::try_from(content.size - offset).unwrap_or(usize::MAX);
        let piece = &mut chunk[..left.min(READ_CHUNK_BYTES)];
        large.read_exact_at(piece, offset).map_err(failed)?;
        take(piece)?;
        offset += byte_count(piece);
    }
    Ok(())
}
