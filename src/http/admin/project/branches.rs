//! Branches.

use std::sync::Arc;

use hyper::StatusCode;
use serde::Deserialize;

use crate::access::{self, Caller, ProjectRights, Right};
use crate::http::admin::branch::shape::{AdminBranchJson, shown};
use crate::http::admin::open::{open, writer};
use crate::http::error::Error;
use crate::http::list::stream::{self, Each, Parts};
use crate::http::reply::coding::Coding;
use crate::http::reply::json::ListText;
use crate::http::reply::{Reply, json};
use crate::http::request::context::RequestContext;
use crate::http::request::{conditions, json_body, params};
use crate::repo::{Branch, BranchNames, Project};

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
    let permissions = caller.rights_on(&opened);
    let names = opened.branch_names()?;
    let room = context.room_to_list(names.len().saturating_mul(BRANCH_BYTES))?;
    let branches = opened.branches()?;
    let mut listed = Listed {
        default: Branch::default_of(&branches).cloned(),
        project: opened,
        permissions,
        names,
        places: Vec::new(),
    };
    let coding = Coding::accepted(context.headers());
    let mut passed = 0;
    let shown = branches.iter().map(|branch| -> Result<_, Error> {
        let stamp = match listed.place_of(branch, &mut passed) {
            Some(place) => {
                listed.places.push(place);
                branch.stamp()
            }
            None => json::PASSING,
        };
        Ok((listed.show(context, branch)?, stamp))
    });
    let list = ListText::of(context, room, coding, shown)?;
    json::respond_list(context, list, coding, || {
        stream::body(coding, listed.into_parts(context, project))
    })
}

/// The branches of a project.
struct Listed {
    project: Project,
    permissions: ProjectRights,
    default: Option<Branch>,
    names: BranchNames,
    /// Those that may be shown again, by their places among the names.
    places: Vec<usize>,
}

impl Listed {
    fn show(&self, context: &RequestContext, branch: &Branch) -> Result<AdminBranchJson, Error> {
        let default = self.default.as_ref();
        AdminBranchJson::new(context, &self.project, branch, default, self.permissions)
    }

    /// The place of a branch among the names, which were read before it. Those before were `passed`.
    fn place_of(&self, branch: &Branch, passed: &mut usize) -> Option<usize> {
        let name = branch.name().as_str();
        while *passed < self.names.len() && self.names.name(*passed) < name {
            *passed += 1;
        }
        let is_there = *passed < self.names.len() && self.names.is_of(*passed, branch);
        is_there.then_some(*passed)
    }

    /// The same list, made while it is sent: until then no branches are held. One that has changed by then is shown as
    /// it is, and one that was renamed not at all: the state that the tag is of is over.
    fn into_parts(mut self, context: &RequestContext, project: &str) -> impl Parts + use<> {
        let context = Arc::new(context.clone());
        let places = std::mem::take(&mut self.places).into_iter();
        let (asked, project) = (Arc::clone(&context), project.to_owned());
        let number = self.project.number();
        Each {
            entries: places.filter_map(move |place| self.show_again(&context, place).transpose()),
            check: move || -> Result<(), Error> {
                let caller = asked.watcher()?;
                // Another may have the name by now, which says nothing of this one.
                let is_same = open(&asked, &caller, &project)?.number() == number;
                is_same
                    .then_some(())
                    .ok_or(access::Error::NoSuchProject.into())
            },
        }
    }

    fn show_again(
        &self,
        context: &RequestContext,
        place: usize,
    ) -> Result<Option<AdminBranchJson>, Error> {
        let branch = self.project.open_branches(&self.names, [place])?.pop();
        let branch = branch.filter(|branch| self.names.is_of(place, branch));
        branch.map(|branch| self.show(context, &branch)).transpose()
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
