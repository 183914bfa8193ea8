//! A project under another name, and in other hands.

use super::owner::require_enabled;
use crate::cli::open_store::OpenStore;
use crate::cli::{Error, Result, Streams, names};
use crate::repo;
use crate::repo::ProjectWriter;

/// `project rename`.
pub(super) fn rename(
    repo_id: &str,
    new_id: &str,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let new_id = names::repo_id(new_id)?;
    let project = opened.project(&names::repo_id(repo_id)?)?;
    let renamed = ProjectWriter::new(project, opened.actor.clone()).rename_project(&new_id);
    renamed.map_err(|error| match error {
        repo::Error::Exists { .. } => Error::Failed(format!(
            "there is a project {new_id} already; rename that one first, or take another name"
        )),
        other => other.into(),
    })?;
    streams.tell_change(format_args!(
        "{repo_id} is {new_id} now; clients that ask for it by name must ask for the new one, and roles \
         for the old one do not open it"
    ))
}

/// `project transfer`.
pub(super) fn transfer(
    repo_id: &str,
    owner: &str,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let account = opened.accounts.by_name(owner)?;
    let project = opened.project(&names::repo_id(repo_id)?)?;
    if project.owner() == account.number() {
        return streams.tell(format_args!("{owner} owns {repo_id} already"));
    }
    require_enabled(&account)?;
    ProjectWriter::new(project, opened.actor.clone())
        .transfer_project(account.number(), account.name())?;
    streams.tell_change(format_args!(
        "{owner} owns {repo_id} now; tokens of the owner before read it on only if a role of that \
         account opens it"
    ))
}
