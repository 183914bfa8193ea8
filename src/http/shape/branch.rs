//! A branch as GitLab's object.

use serde::Serialize;

use super::commit::CommitJson;
use crate::http::error::Error;
use crate::http::list::links::tree_url;
use crate::http::request::context::RequestContext;
use crate::repo::{Branch, Project};

/// A branch, with all fields of GitLab's.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "they are GitLab's fields")]
pub(in crate::http) struct BranchJson {
    name: String,
    merged: bool,
    protected: bool,
    default: bool,
    developers_can_push: bool,
    developers_can_merge: bool,
    can_push: bool,
    web_url: String,
    commit: CommitJson,
}

impl BranchJson {
    /// A branch of a list, as it is now; the digest of its head is computed if it is not known.
    pub(in crate::http) fn new(
        context: &RequestContext,
        project: &Project,
        branch: &Branch,
        default: bool,
    ) -> Result<Self, Error> {
        let commit = CommitJson::without_parents(context, project, &branch.last_commit()?)?;
        Ok(Self::with(context, project, branch, default, commit))
    }

    /// A branch that was asked for by its name.
    pub(in crate::http) fn alone(
        context: &RequestContext,
        project: &Project,
        branch: &Branch,
        default: bool,
    ) -> Result<Self, Error> {
        let commit = CommitJson::new(context, project, &branch.last_commit_with_parent()?)?;
        Ok(Self::with(context, project, branch, default, commit))
    }

    /// The same, for somebody who may save in it.
    pub(in crate::http) fn pushable(self, can_push: bool) -> Self {
        Self { can_push, ..self }
    }

    fn with(
        context: &RequestContext,
        project: &Project,
        branch: &Branch,
        default: bool,
        commit: CommitJson,
    ) -> Self {
        Self {
            name: branch.name().to_string(),
            merged: false,
            protected: default,
            default,
            developers_can_push: false,
            developers_can_merge: false,
            can_push: false,
            web_url: tree_url(context, project, branch.name().as_str()),
            commit,
        }
    }
}
