//! A state of a branch as GitLab's commit object.

use serde::Serialize;

use super::json::tree_url;
use crate::http::call::Call;
use crate::http::error::Error;
use crate::repo::{Commit, Project};

/// A state of a branch as a commit.
#[derive(Debug, Serialize)]
pub(super) struct CommitJson {
    id: String,
    short_id: String,
    created_at: String,
    parent_ids: Vec<String>,
    title: String,
    message: String,
    author_name: String,
    author_email: &'static str,
    authored_date: String,
    committer_name: String,
    committer_email: &'static str,
    committed_date: String,
    trailers: Empty,
    extended_trailers: Empty,
    web_url: String,
}

/// `{}`
#[derive(Debug, Serialize)]
struct Empty {}

impl CommitJson {
    /// The commit with its parent's id, whose digest is computed if it is not known.
    pub(super) fn new(call: &Call, project: &Project, commit: &Commit) -> Result<Self, Error> {
        let parent_ids = match &commit.parent {
            Some(parent) => vec![parent.digest()?.commit_id().to_owned()],
            None => Vec::new(),
        };
        Ok(Self {
            parent_ids,
            ..Self::without_parents(call, project, commit)?
        })
    }

    /// The commit without its parent's id. The compact form of a list of branches: a client asks for it
    /// after every save, and a digest of each replaced state would double what that costs.
    pub(super) fn without_parents(
        call: &Call,
        project: &Project,
        commit: &Commit,
    ) -> Result<Self, Error> {
        let digest = commit.revision.digest()?;
        let at = commit.at.to_string();
        Ok(Self {
            id: digest.commit_id().to_owned(),
            short_id: digest.short_id().to_owned(),
            created_at: at.clone(),
            parent_ids: Vec::new(),
            title: commit.title(),
            message: commit.message(),
            author_name: commit.by.clone(),
            author_email: "",
            authored_date: at.clone(),
            committer_name: commit.by.clone(),
            committer_email: "",
            committed_date: at,
            trailers: Empty {},
            extended_trailers: Empty {},
            web_url: tree_url(call, project, digest.commit_id()),
        })
    }
}
