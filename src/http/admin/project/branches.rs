//! Branches.

use hyper::StatusCode;
use serde::Deserialize;

use crate::access::{self, Caller, ProjectRights, Right};
use crate::http::admin::branch::shape::{AdminBranchJson, shown};
use crate::http::admin::open::{open, writer};
use crate::http::error::Error;
use crate::http::list::branches::{Audience, ListedBranches};
use crate::http::list::stream;
use crate::http::reply::coding::Coding;
use crate::http::reply::{Reply, json};
use crate::http::request::context::RequestContext;
use crate::http::request::{conditions, json_body, params};
use crate::repo::{Branch, Project};

/// About so many bytes are told of a branch.
const BRANCH_BYTES: usize = 2 << 10;

/// What a creation sends.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewBranch {
    name: String,
    /// A revision to start from; without one the branch is empty.
    #[serde(default)]
    from: Option<String>,
}

/// `GET /projects/<project>/branches`. A long list is made once for its tag, and once more while it is sent.
pub(super) fn list(
    context: &RequestContext,
    caller: &Caller,
    project: &str,
) -> Result<Reply, Error> {
    let opened = open(context, caller, project)?;
    let names = opened.branch_names()?;
    let room = context.room_to_list(names.len().saturating_mul(BRANCH_BYTES))?;
    let branches = opened.branches()?;
    let caller = Callers {
        asked: project.to_owned(),
        permissions: caller.rights_on(&opened),
        default: Branch::default_of(&branches).cloned(),
    };
    let mut listed = ListedBranches::new(opened, names, Vec::new(), caller);
    let coding = Coding::accepted(context.headers());
    let list = listed.text_of(context, room, coding, &branches)?;
    json::respond_list(context, list, coding, || {
        stream::body(coding, listed.into_parts(context))
    })
}

/// Who is logged in.
struct Callers {
    /// The name by which they asked for the project.
    asked: String,
    permissions: ProjectRights,
    default: Option<Branch>,
}

impl Audience for Callers {
    type Shown = AdminBranchJson;

    fn show(
        &self,
        context: &RequestContext,
        project: &Project,
        branch: &Branch,
    ) -> Result<AdminBranchJson, Error> {
        let default = self.default.as_ref();
        AdminBranchJson::new(context, project, branch, default, self.permissions)
    }

    fn check(&self, context: &RequestContext, project: &Project) -> Result<(), Error> {
        let caller = context.watcher()?;
        // Another may have the name by now, which says nothing of this one.
        let is_same = open(context, &caller, &self.asked)?.number() == project.number();
        is_same
            .then_some(())
            .ok_or(access::Error::NoSuchProject.into())
    }
}

/// The revision that a body names as the beginning of a branch, `None` where there is none in its form.
pub(super) fn begins_at(body: &[u8]) -> Option<String> {
    let NewBranch { from, .. } = json_body::read(body).ok()?;
    let from = params::reference(from.as_deref()).ok()??;
    Some(from.to_owned())
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
    let from = params::reference(from.as_deref())
        .map_err(|refused| Error::Malformed(format!("from: {refused}")))?;
    let project = writer(context, caller, project, Right::Write)?;
    let branch = project.create_branch(&name, from)?;
    shown(context, caller, StatusCode::CREATED, &branch).map_err(Error::after_change)
}
