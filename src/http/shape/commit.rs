//! A state of a branch as GitLab's commit object.

use serde::Serialize;

use crate::http::error::Error;
use crate::http::list::links::tree_url;
use crate::http::request::context::RequestContext;
use crate::repo::{Commit, Project};

/// A state of a branch as a commit.
#[derive(Debug, Serialize)]
pub(in crate::http) struct CommitJson {
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
    pub(in crate::http) fn new(
        context: &RequestContext,
        project: &Project,
        commit: &Commit,
    ) -> Result<Self, Error> {
        let parent_ids = match &commit.parent {
            Some(parent) => vec![parent.digest()?.commit_id().to_owned()],
            None => Vec::new(),
        };
        Ok(Self {
            parent_ids,
            ..Self::without_parents(context, project, commit)?
        })
    }

    /// The commit without its parent's id. The compact form of a list of branches: a client asks for it
    /// after every save, and a digest of each replaced state would double what that costs.
    pub(in crate::http) fn without_parents(
        context: &RequestContext,
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
            web_url: tree_url(context, project, digest.commit_id()),
        })
    }
}
