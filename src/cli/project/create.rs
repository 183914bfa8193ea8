//! A project, made.

use super::owner::require_enabled;
use crate::cli::open_store::OpenStore;
use crate::cli::{Error, Result, Streams, names};
use crate::repo;

/// `project create`.
pub(super) fn create(
    repo_id: &str,
    owner: &str,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let repo_id = names::repo_id(repo_id)?;
    let account = opened.accounts.by_name(owner)?;
    require_enabled(&account)?;
    let made = opened
        .projects
        .create_project(&repo_id, account.number(), opened.actor.clone());
    made.map_err(|error| match error {
        repo::Error::Exists { .. } => Error::Failed(format!(
            "there is a project {repo_id} already; \"siteconf project show {repo_id}\" shows it"
        )),
        other => other.into(),
    })?;
    streams.tell_change(format_args!(
        "{repo_id} is made and owned by {owner}; make a branch with \"siteconf branch create {repo_id} \
         main\""
    ))
}
