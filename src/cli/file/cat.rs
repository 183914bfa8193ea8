//! A file's bytes.

use super::args::Cat;
use super::nothing_at;
use crate::cli::open_store::OpenStore;
use crate::cli::output::shell_word;
use crate::cli::{Error, Result, Streams, names};
use crate::repo;

/// `cat`. The bytes go out as they are, also to a terminal.
pub(in crate::cli) fn write(
    args: &Cat,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let repo_id = names::repo_id(&args.repo_id)?;
    let path = names::file(&args.path)?;
    let revision = opened.revision(&repo_id, &args.revision)?;
    let file = match revision.file(&path) {
        Err(repo::Error::NotFound { .. }) if revision.listing(Some(&path), false).is_ok() => {
            return Err(Error::Failed(format!(
                "\"{path}\" is a folder; \"siteconf ls {repo_id} {} {}\" lists it",
                args.revision,
                shell_word(path.as_str())
            )));
        }
        Err(repo::Error::NotFound { .. }) => {
            return Err(nothing_at(&path, repo_id.as_str(), &args.revision));
        }
        found => found?,
    };
    let content = file.content()?;
    let unreadable = |e| Error::Failed(format!("reading the file: {e}"));
    // None is wrong: each piece is held against its hash before.
    content.body.each_piece(content.size, unreadable, |piece| {
        Ok(streams.out.write_all(piece)?)
    })
}
