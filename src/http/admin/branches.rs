//! Branches.

use hyper::StatusCode;
use serde::{Deserialize, Serialize};

use super::{BranchAt, open, writer};
use crate::access::{Action, Caller};
use crate::http::call::Call;
use crate::http::error::Error;
use crate::http::read::BranchJson;
use crate::http::reply::{Freshness, Reply};
use crate::http::{json, names};
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
        call: &Call,
        project: &Project,
        branch: &Branch,
        default: Option<&Branch>,
    ) -> Result<Self, Error> {
        let is_default = default.is_some_and(|default| default.name() == branch.name());
        let totals = branch.totals();
        Ok(Self {
            branch: BranchJson::new(call, project, branch, is_default)?,
            files: totals.files,
            bytes: totals.bytes,
            snapshots: branch.snapshots(),
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
pub(super) fn list(call: &Call, caller: &Caller, project: &str) -> Result<Reply, Error> {
    let project = open(call, caller, project)?;
    let default = project.default_branch()?;
    let branches = project.branches()?;
    let shown: Vec<_> = branches
        .iter()
        .map(|branch| AdminBranchJson::new(call, &project, branch, default.as_ref()))
        .collect::<Result<_, _>>()?;
    Ok(Reply::list(&shown, Freshness::Moving, call.headers()))
}

/// `POST /projects/<project>/branches`
pub(super) fn create(
    call: &Call,
    caller: &Caller,
    project: &str,
    body: &[u8],
) -> Result<Reply, Error> {
    let NewBranch { name, from } = json::read(body)?;
    let name = names::branch(&name)?;
    let from = names::reference(from.as_deref())?;
    let project = writer(call, caller, project, Action::Write)?;
    let branch = project.create_branch(&name, from)?;
    let default = project.default_branch()?;
    let shown = AdminBranchJson::new(call, &project, &branch, default.as_ref())?;
    Ok(Reply::json(StatusCode::CREATED, &shown))
}

/// `DELETE /projects/<project>/branches/<ref>`
pub(super) fn delete(call: &Call, caller: &Caller, at: &BranchAt) -> Result<Reply, Error> {
    let name = names::branch(&at.branch)?;
    writer(call, caller, &at.project, Action::Delete)?.delete_branch(&name)?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}
