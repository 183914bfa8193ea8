//! A file or a folder, deleted.

use super::args::Rm;
use super::{expected, nothing_at};
use crate::cli::opened::Opened;
use crate::cli::output::shell_word;
use crate::cli::{Error, Result, Streams, names};
use crate::repo;
use crate::repo::{BatchAction, Missing};

/// `rm`.
pub(in crate::cli) fn delete(wish: &Rm, opened: &Opened, streams: &mut Streams<'_>) -> Result<()> {
    let repo_id = names::repo_id(&wish.repo_id)?;
    let branch = names::branch(&wish.branch)?;
    let path = names::file(wish.path.trim_end_matches('/'))?;
    let place = (&repo_id, &branch, &path);
    let writer = opened.writer(&repo_id, &branch)?;
    let condition = expected::condition(wish.expect.as_deref(), place, opened)?;
    let head = opened.branch(&repo_id, &branch)?.head();
    let below = match head.listing(Some(&path), true) {
        Ok(listing) => Some(listing.totals()?.files),
        Err(repo::Error::NotFound { .. }) => None,
        Err(failed) => return Err(failed.into()),
    };
    let message = wish.message.clone();
    let applied = match (below, wish.recursive, message) {
        (Some(files), false, _) => {
            return Err(Error::Failed(format!(
                "\"{path}\" is a folder with {files} files; -r deletes it with all of them"
            )));
        }
        (Some(_), true, message) => {
            let message = message.unwrap_or_else(|| format!("delete {path}/"));
            writer.delete_folder(&branch, &path, message)
        }
        (None, _, None) => writer.delete(&branch, &path, condition),
        // Only batches have messages.
        (None, _, message) => {
            let action = BatchAction::Delete(path.clone(), condition);
            let is_there = head.file(&path).map(drop);
            is_there.and_then(|()| writer.batch(&branch, vec![action], message))
        }
    };
    let applied = applied.map_err(|error| match error {
        repo::Error::NotFound {
            what: Missing::File | Missing::Folder,
        } => nothing_at(&path, repo_id.as_str(), branch.as_str()),
        other => expected::refusal(other, place, opened),
    })?;
    let snapshot = applied.snapshot;
    let what = below.map_or_else(String::new, |files| format!(" with {files} files"));
    streams.tell(format_args!(
        "{path}{what} deleted from {repo_id}:{branch}; undo it with \"siteconf rollback {repo_id} \
         {branch} {snapshot} --path={}\"",
        shell_word(path.as_str())
    ))
}
