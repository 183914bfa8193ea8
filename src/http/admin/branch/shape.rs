//! A branch as the Admin API shows it.

use hyper::StatusCode;
use hyper::header::ETAG;
use serde::Serialize;

use crate::access::{Caller, ProjectRights};
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::request::conditions::ETag;
use crate::http::request::context::RequestContext;
use crate::http::shape::branch::BranchJson;
use crate::repo::{Branch, Project};

/// A branch: the Read API's, and what it holds.
#[derive(Debug, Serialize)]
pub(in crate::http::admin) struct AdminBranchJson {
    #[serde(flatten)]
    branch: BranchJson,
    files: u64,
    bytes: u64,
    snapshots: u64,
    updated_at: String,
    permissions: ProjectRights,
}

impl AdminBranchJson {
    /// A branch, as somebody with these rights on its project sees it.
    pub(in crate::http::admin) fn new(
        context: &RequestContext,
        project: &Project,
        branch: &Branch,
        default: Option<&Branch>,
        permissions: ProjectRights,
    ) -> Result<Self, Error> {
        let is_default = default.is_some_and(|default| default.name() == branch.name());
        let totals = branch.totals();
        Ok(Self {
            branch: BranchJson::new(context, project, branch, is_default)?
                .pushable(permissions.write),
            files: totals.files,
            bytes: totals.bytes,
            snapshots: branch.kept_snapshots()?,
            updated_at: branch.updated_at().to_string(),
            permissions,
        })
    }
}

/// An answer with one branch and its tag.
pub(in crate::http::admin) fn shown(
    context: &RequestContext,
    caller: &Caller,
    status: StatusCode,
    branch: &Branch,
) -> Result<Reply, Error> {
    let shown = of(context, caller, branch)?;
    let tag = tag_of(branch)?;
    Ok(Reply::json(status, &shown).with(ETAG, tag.header()))
}

/// One branch, as this caller sees it.
pub(super) fn of(
    context: &RequestContext,
    caller: &Caller,
    branch: &Branch,
) -> Result<AdminBranchJson, Error> {
    let project = branch.project();
    let default = project.default_branch()?;
    let permissions = caller.rights_on(project);
    AdminBranchJson::new(context, project, branch, default.as_ref(), permissions)
}

/// The tag of a branch: the commit id of its head.
pub(super) fn tag_of(branch: &Branch) -> Result<ETag, Error> {
    Ok(ETag::of_commit(branch.head().digest()?.commit_id()))
}
