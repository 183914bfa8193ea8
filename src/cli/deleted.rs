//! What was deleted and can be restored: listed, and found by the name or id that a command was given.

use std::collections::HashMap;

use clap::Args;

use super::open_store::OpenStore;
use super::output;
use super::output::{Listed, visible};
use super::{Error, Result, Streams};
use crate::repo;
use crate::repo::{Deleted, ShownDeleted};

#[derive(Debug, Args)]
pub(super) struct RestoreArgs {
    /// Its name, or its id, as `project list --deleted` shows it
    #[arg(value_name = "NAME|ID")]
    pub(super) what: String,
    /// Restore it under this name
    #[arg(long = "as", value_name = "NAME")]
    pub(super) name: Option<String>,
}

impl Listed for ShownDeleted {
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
    opened: &OpenStore,
    keep_days: u64,
    json: bool,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let accounts = opened.accounts.list()?;
    let names: HashMap<u64, &str> = accounts.iter().map(|a| (a.number(), a.name())).collect();
    let rows: Vec<_> = opened
        .projects
        .deleted(|_| true)?
        .iter()
        .map(|deleted| {
            let owner = names.get(&deleted.owner()).map(|name| (*name).to_owned());
            ShownDeleted::new(deleted, owner, keep_days)
        })
        .collect();
    output::list(streams.out, json, &rows)
}

/// True if a command means this by the name that it had, or by its id.
pub(super) fn is_meant(deleted: &Deleted, what: &str, name: &str) -> bool {
    name == what || deleted.id().to_string() == what
}

/// The only one that is meant.
pub(super) fn only(found: Vec<Deleted>, what: &str) -> Result<Deleted> {
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
pub(super) fn advised(error: repo::Error, example: &str) -> Error {
    match error {
        repo::Error::Exists { what } => Error::Failed(format!(
            "a {what} of this name exists already; restore the deleted one under another, as with \
             --as {example}"
        )),
        other => other.into(),
    }
}
