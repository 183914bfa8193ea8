//! A file or a folder, deleted.

use super::args::Rm;
use super::{expected, nothing_at};
use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::output::{counted, shell_word};
use crate::cli::{Error, Result, Streams, names};
use crate::repo;
use crate::repo::{Message, Missing};

/// `rm`.
pub(in crate::cli) fn delete(
    args: &Rm,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let repo_id = names::repo_id(&args.repo_id)?;
    let branch = names::branch(&args.branch)?;
    let path = names::file(args.path.trim_end_matches('/'))?;
    let place = (&repo_id, &branch, &path);
    let message = names::message(args.message.as_deref())?;
    let writer = opened.writer(&repo_id, &branch)?;
    let writer = writer.passing_over_rules(args.no_validate);
    let condition = expected::condition(args.expect.as_deref(), place, opened)?;
    let head = opened.branch(&repo_id, &branch)?.head();
    let folder = repo::optional(head.listing(Some(&path), true))?;
    let below = folder.map(|folder| Ok::<_, Error>(folder.totals()?.files));
    let below = below.transpose()?;
    let applied = match below {
        Some(files) if !args.recursive => {
            return Err(Error::Failed(format!(
                "\"{path}\" is a folder with {}; -r deletes it with all of them",
                counted(files, "file", "files")
            )));
        }
        Some(_) => {
            // Of a folder whose path is as long as a message may be, the history says less.
            let message = message.or_else(|| Message::parse(&format!("delete {path}/")).ok());
            writer.saying(message).delete_folder(&branch, &path)
        }
        // Who ends a path with a slash means a folder: a file that lies there instead is not to be lost.
        None if args.path.ends_with('/') => {
            return Err(match repo::optional(head.file(&path))? {
                Some(_) => Error::Failed(format!(
                    "\"{path}\" is a file, not a folder; without the slash at its end it is deleted"
                )),
                None => nothing_at(&path, repo_id.as_str(), branch.as_str()),
            });
        }
        None => writer.saying(message).delete(&branch, &path, condition),
    };
    let applied = applied.map_err(|error| match error {
        repo::Error::NotFound {
            what: Missing::File | Missing::Folder,
        } => nothing_at(&path, repo_id.as_str(), branch.as_str()),
        other => expected::refusal(other, place, opened),
    })?;
    let snapshot = applied.snapshot;
    let what = below.map_or_else(String::new, |files| {
        format!(" with {}", counted(files, "file", "files"))
    });
    let undo = format!(
        "undo it with \"siteconf rollback {repo_id} {branch} {snapshot} --path={}\"",
        shell_word(path.as_str())
    );
    let told = streams.tell(format_args!(
        "{path}{what} deleted from {repo_id}:{branch}; {undo}"
    ));
    output::of_change(told, streams.out, Some(&undo))
}
