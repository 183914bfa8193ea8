//! Projects and branches deleted, listed and restored, by whoever runs the service.

use std::collections::HashMap;

use serde::Serialize;

use super::args::{BranchCommand, RestoreWish};
use super::opened::Opened;
use super::output;
use super::output::{Listed, visible};
use super::{Error, Result, Streams};
use crate::base::branch_name::BranchName;
use crate::base::repo_id::RepoId;
use crate::repo;
use crate::repo::{Deleted, DeletedId, Missing, ProjectWriter};

/// What was deleted, with the names of the Admin API.
#[derive(Serialize)]
struct Row {
    kind: &'static str,
    id: String,
    repo_id: String,
    branch: Option<String>,
    owner: Option<String>,
    deleted_at: String,
    deleted_by: String,
    kept_until: String,
}

impl Listed for Row {
    const HEADINGS: &'static [&'static str] = &[
        "ID",
        "REPO ID",
        "BRANCH",
        "OWNER",
        "DELETED",
        "BY",
        "KEPT UNTIL",
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.id.clone(),
            self.repo_id.clone(),
            self.branch.clone().unwrap_or_default(),
            self.owner.clone().unwrap_or_default(),
            self.deleted_at.clone(),
            self.deleted_by.clone(),
            self.kept_until.clone(),
        ]
    }
}

/// `project list --deleted`.
pub(super) fn list(
    opened: &Opened,
    keep_days: u64,
    json: bool,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let accounts = opened.accounts.list()?;
    let names: HashMap<u64, &str> = accounts.iter().map(|a| (a.number(), a.name())).collect();
    let rows: Vec<_> = opened
        .repository
        .deleted()?
        .into_iter()
        .map(|deleted| Row {
            kind: deleted.kind(),
            id: deleted.id().to_string(),
            repo_id: deleted.repo_id().to_string(),
            branch: deleted.branch_name().map(ToString::to_string),
            owner: names.get(&deleted.owner()).map(|name| (*name).to_owned()),
            deleted_at: deleted.deleted_at().to_string(),
            deleted_by: deleted.deleted_by().to_owned(),
            kept_until: deleted.kept_until(keep_days).to_string(),
        })
        .collect();
    output::list(streams.out, json, &rows)
}

/// `project delete`.
pub(super) fn delete_project(
    repo_id: &str,
    opened: &Opened,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let project = opened.project(&RepoId::parse(repo_id)?)?;
    let id = DeletedId::Project(project.number());
    ProjectWriter::new(project, opened.actor.clone()).delete_project()?;
    writeln!(
        streams.out,
        "{repo_id} is deleted; \"siteconf project restore {id}\" brings it back"
    )?;
    Ok(())
}

/// `project restore`.
pub(super) fn restore_project(
    wish: &RestoreWish,
    opened: &Opened,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let new_id = wish.name.as_deref().map(RepoId::parse).transpose()?;
    let found = opened.repository.deleted()?.into_iter().filter(|deleted| {
        deleted.branch_name().is_none() && is_meant(deleted, &wish.what, deleted.repo_id().as_str())
    });
    let found = only(found.collect(), &format!("project {}", wish.what))?;
    let restored = match found.id() {
        DeletedId::Project(number) => {
            opened
                .repository
                .restore_project(number, new_id.as_ref(), &opened.actor)
        }
        DeletedId::Branch(..) => Err(repo::Error::missing(Missing::Deleted)),
    };
    let project = restored.map_err(|error| advised(error, "acme/shop2.erp"))?;
    writeln!(streams.out, "{} is there again", project.repo_id())?;
    Ok(())
}

/// Runs one of the commands of `branch`.
pub(super) fn branch(
    command: &BranchCommand,
    opened: &Opened,
    streams: &mut Streams<'_>,
) -> Result<()> {
    match command {
        BranchCommand::Delete { repo_id, branch } => {
            delete_branch(repo_id, branch, opened, streams)
        }
        BranchCommand::Restore { repo_id, wish } => restore_branch(repo_id, wish, opened, streams),
    }
}

fn delete_branch(
    repo_id: &str,
    branch: &str,
    opened: &Opened,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let project = opened.project(&RepoId::parse(repo_id)?)?;
    let name = BranchName::parse(branch)?;
    let number = project.number();
    let deleted = ProjectWriter::new(project, opened.actor.clone()).delete_branch(&name);
    deleted.map_err(|error| match error {
        repo::Error::NotFound {
            what: Missing::Branch,
        } => Error::Failed(format!("there is no branch {branch} in {repo_id}")),
        other => other.into(),
    })?;
    // The newest of the name is the one that was there just now.
    let id = opened.repository.deleted()?.into_iter().find(|deleted| {
        matches!(deleted.id(), DeletedId::Branch(of, _) if of == number)
            && deleted.branch_name() == Some(&name)
    });
    let id = id.map_or_else(|| branch.to_owned(), |deleted| deleted.id().to_string());
    writeln!(
        streams.out,
        "{repo_id}:{branch} is deleted; \"siteconf branch restore {repo_id} {id}\" brings it back"
    )?;
    Ok(())
}

fn restore_branch(
    repo_id: &str,
    wish: &RestoreWish,
    opened: &Opened,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let new_name = wish.name.as_deref().map(BranchName::parse).transpose()?;
    let project = opened.project(&RepoId::parse(repo_id)?)?;
    let found = opened.repository.deleted()?.into_iter().filter(|deleted| {
        deleted.repo_id() == project.repo_id()
            && deleted
                .branch_name()
                .is_some_and(|name| is_meant(deleted, &wish.what, name.as_str()))
    });
    let found = only(
        found.collect(),
        &format!("branch {} of {repo_id}", wish.what),
    )?;
    let restored = match found.id() {
        DeletedId::Branch(project, number) => {
            opened
                .repository
                .restore_branch(project, number, new_name.as_ref(), &opened.actor)
        }
        DeletedId::Project(_) => Err(repo::Error::missing(Missing::Deleted)),
    };
    let branch = restored.map_err(|error| advised(error, "main2"))?;
    writeln!(streams.out, "{repo_id}:{} is there again", branch.name())?;
    Ok(())
}

/// True if a command means this by the name that it had, or by its id.
fn is_meant(deleted: &Deleted, what: &str, name: &str) -> bool {
    name == what || deleted.id().to_string() == what
}

/// The only one that is meant.
fn only(found: Vec<Deleted>, what: &str) -> Result<Deleted> {
    let what = visible(what);
    let ids: Vec<_> = found
        .iter()
        .map(|deleted| deleted.id().to_string())
        .collect();
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(Error::Failed(format!(
            "there is no deleted {what}; \"siteconf project list --deleted\" names all that can be \
             restored"
        ))),
        _ => Err(Error::Failed(format!(
            "{what} was deleted more than once; name one by its id: {}",
            ids.join(", ")
        ))),
    }
}

/// Says what to do about a name that is taken.
fn advised(error: repo::Error, example: &str) -> Error {
    match error {
        repo::Error::Exists { what } => Error::Failed(format!(
            "a {what} of this name exists already; restore the deleted one under another, as with \
             --as {example}"
        )),
        other => other.into(),
    }
}
