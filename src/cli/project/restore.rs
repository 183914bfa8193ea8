//! Projects deleted, and restored.

use crate::cli::deleted::{RestoreArgs, advised, is_meant, only};
use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::{Result, Streams, names};
use crate::repo;
use crate::repo::{DeletedId, Missing, ProjectWriter};

/// `project delete`.
pub(in crate::cli) fn delete(
    repo_id: &str,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let project = opened.project(&names::repo_id(repo_id)?)?;
    let id = DeletedId::Project(project.number());
    ProjectWriter::new(project, opened.actor.clone()).delete_project()?;
    let undo = format!("\"siteconf project restore {id}\" brings it back");
    let told = writeln!(streams.out, "{repo_id} is deleted; {undo}");
    output::of_change(told, streams.out, Some(&undo))
}

/// `project restore`.
pub(in crate::cli) fn restore(
    args: &RestoreArgs,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let new_id = args.name.as_deref().map(names::repo_id).transpose()?;
    let found = opened.projects.deleted(|deleted| {
        deleted.branch_name().is_none() && is_meant(deleted, &args.what, deleted.repo_id().as_str())
    })?;
    let found = only(found, &format!("project {}", args.what))?;
    let restored = match found.id() {
        DeletedId::Project(number) => {
            opened
                .projects
                .restore_project(number, new_id.as_ref(), &opened.actor)
        }
        DeletedId::Branch(..) => Err(repo::Error::missing(Missing::Deleted)),
    };
    let project = restored.map_err(|error| advised(error, "acme/shop2.erp"))?;
    let told = writeln!(streams.out, "{} is there again", project.repo_id());
    output::of_change(told, streams.out, None)
}
