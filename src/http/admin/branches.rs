//! Branches.

use hyper::StatusCode;
use hyper::header::ETAG;
use serde::{Deserialize, Serialize};

use super::{BranchAt, open, writer};
use crate::access::{Caller, Right};
use crate::http::error::Error;
use crate::http::reply::{Freshness, Reply, json};
use crate::http::request::conditions::ETag;
use crate::http::request::context::RequestContext;
use crate::http::request::{conditions, json_body, params};
use crate::http::shape::branch::BranchJson;
use crate::repo::{Branch, Project};

/// A branch: the Read API's, and what it holds.
#[derive(Debug, Serialize)]
struct AdminBranchJson {
    #[serde(flatten)]
    branch: BranchJson,
    files: u64,
    bytes: u64,
    snapshots: u64,
    updated_at: String,
}

impl AdminBranchJson {
    fn new(
        context: &RequestContext,
        project: &Project,
        branch: &Branch,
        default: Option<&Branch>,
    ) -> Result<Self, Error> {
        let is_default = default.is_some_and(|default| default.name() == branch.name());
        let totals = branch.totals();
        Ok(Self {
            branch: BranchJson::new(context, project, branch, is_default)?,
            files: totals.files,
            bytes: totals.bytes,
            snapshots: branch.snapshot_count(),
            updated_at: branch.updated_at().to_string(),
        })
    }
}

/// What a creation sends.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewBranch {
    name: String,
    /// A revision to start from; without one the branch is empty.
    #[serde(default)]
    from: Option<String>,
}

/// `GET /projects/<project>/branches`
pub(super) fn list(
    context: &RequestContext,
    caller: &Caller,
    project: &str,
) -> Result<Reply, Error> {
    let project = open(context, caller, project)?;
    let default = project.default_branch()?;
    let branches = project.branches()?;
    let shown: Vec<_> = branches
        .iter()
        .map(|branch| AdminBranchJson::new(context, &project, branch, default.as_ref()))
        .collect::<Result<_, _>>()?;
    Ok(json::respond(
        context.headers(),
        &shown,
        Freshness::Moving,
        &[],
    ))
}

/// `POST /projects/<project>/branches`
pub(super) fn create(
    context: &RequestContext,
    caller: &Caller,
    project: &str,
    body: &[u8],
) -> Result<Reply, Error> {
    conditions::check_new(context.headers())?;
    let NewBranch { name, from } = json_body::read(body)?;
    let name = params::branch(&name)?;
    let from = params::reference(from.as_deref())?;
    let project = writer(context, caller, project, Right::Write)?;
    let branch = project.create_branch(&name, from)?;
    shown(context, StatusCode::CREATED, &branch)
}

pub(super) fn shown(
    context: &RequestContext,
    status: StatusCode,
    branch: &Branch,
) -> Result<Reply, Error> {
    let project = branch.project();
    let default = project.default_branch()?;
    let shown = AdminBranchJson::new(context, project, branch, default.as_ref())?;
    let tag = ETag::of_commit(branch.head().digest()?.commit_id());
    Ok(Reply::json(status, &shown).with(ETAG, tag.header()))
}

/// `DELETE /projects/<project>/branches/<ref>`
pub(super) fn delete(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
) -> Result<Reply, Error> {
    let name = params::branch(&at.branch)?;
    let condition = conditions::condition(context.headers())?;
    let project = writer(context, caller, &at.project, Right::Delete)?;
    project.requiring(condition).delete_branch(&name)?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}
