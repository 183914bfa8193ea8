//! Branches from the command line: made, listed, deleted, restored, compared, rolled back.

pub(super) mod args;
pub(super) mod diff;
pub(super) mod history;
mod list;
pub(super) mod rollback;

#[cfg(test)]
mod tests;

use crate::cli::deleted::{RestoreArgs, advised, is_meant, only};
use crate::cli::open_store::{OpenStore, whole};
use crate::cli::output;
use crate::cli::{Error, Result, Streams, names};
use crate::repo;
use crate::repo::{Condition, DeletedId, Missing, ProjectWriter};
use args::BranchCommand;

/// Runs one of the commands of `branch`.
pub(super) fn run(
    command: &BranchCommand,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    match command {
        BranchCommand::List { repo_id, json } => list::list(repo_id, *json, opened, streams),
        BranchCommand::Create {
            repo_id,
            branch,
            from,
        } => create(repo_id, branch, from.as_deref(), opened, streams),
        BranchCommand::Delete { repo_id, branch } => delete(repo_id, branch, opened, streams),
        BranchCommand::Restore { repo_id, args } => restore(repo_id, args, opened, streams),
    }
}

fn create(
    repo_id: &str,
    branch: &str,
    from: Option<&str>,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let repo_id = names::repo_id(repo_id)?;
    let name = names::branch(branch)?;
    let project = opened.project(&repo_id)?;
    let from = from.map(whole);
    if let Some(from) = &from {
        // Refuses what names nothing, with what would.
        opened.revision(&repo_id, from)?;
    }
    let made =
        ProjectWriter::new(project, opened.actor.clone()).create_branch(&name, from.as_deref());
    let made = made.map_err(|error| match error {
        repo::Error::Exists { .. } => Error::Failed(format!(
            "there is a branch {name} in {repo_id} already; \"siteconf branch list {repo_id}\" lists all"
        )),
        other => other.into(),
    })?;
    streams.tell_change(format_args!(
        "{repo_id}:{name} is made, with {} files",
        made.totals().files
    ))
}

fn delete(
    repo_id: &str,
    branch: &str,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let name = names::branch(branch)?;
    let writer = opened.writer(&names::repo_id(repo_id)?, &name)?;
    let number = writer.number();
    writer.delete_branch(&name, &Condition::None)?;
    // The newest of the name is the one that was there just now. Where it cannot be read any more, its name restores
    // it, too, or says which ids it may have.
    let of_name = output::known(opened.projects.deleted(|deleted| {
        matches!(deleted.id(), DeletedId::Branch(of, _) if of == number)
            && deleted.branch_name() == Some(&name)
    }));
    let id = of_name.as_deref().and_then(<[_]>::first);
    let id = id.map_or_else(|| branch.to_owned(), |deleted| deleted.id().to_string());
    let undo = format!("\"siteconf branch restore {repo_id} {id}\" brings it back");
    let told = writeln!(streams.out, "{repo_id}:{branch} is deleted; {undo}");
    output::of_change(told, streams.out, Some(&undo))
}

fn restore(
    repo_id: &str,
    args: &RestoreArgs,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let new_name = args.name.as_deref().map(names::branch).transpose()?;
    let project = opened.project(&names::repo_id(repo_id)?)?;
    let found = opened.projects.deleted(|deleted| {
        deleted.repo_id() == project.repo_id()
            && deleted
                .branch_name()
                .is_some_and(|name| is_meant(deleted, &args.what, name.as_str()))
    })?;
    let found = only(found, &format!("branch {} of {repo_id}", args.what))?;
    let restored = match found.id() {
        DeletedId::Branch(project, number) => {
            opened
                .projects
                .restore_branch(project, number, new_name.as_ref(), &opened.actor)
        }
        DeletedId::Project(_) => Err(repo::Error::missing(Missing::Deleted)),
    };
    let branch = restored.map_err(|error| advised(error, "main2"))?;
    let told = writeln!(streams.out, "{repo_id}:{} is there again", branch.name());
    output::of_change(told, streams.out, None)
}
