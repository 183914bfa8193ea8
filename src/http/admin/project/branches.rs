//! Branches.

use hyper::StatusCode;
use serde::Deserialize;

use crate::access::{Caller, Right};
use crate::http::admin::branch::shape::{AdminBranchJson, shown};
use crate::http::admin::open::{open, writer};
use crate::http::error::Error;
use crate::http::list::stream::{self, Each};
use crate::http::reply::json::ListText;
use crate::http::reply::{Freshness, Reply, json};
use crate::http::request::context::RequestContext;
use crate::http::request::{conditions, json_body, params};
use crate::repo::Branch;

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
    let project = open(context, caller, project)?;
    let permissions = caller.rights_on(&project);
    let names = project.branch_names()?;
    let _room = context.room_to_list(names.len().saturating_mul(BRANCH_BYTES))?;
    let branches = project.branches()?;
    let default = Branch::default_of(&branches).cloned();
    let shown = branches.iter().map(|branch| {
        AdminBranchJson::new(context, &project, branch, default.as_ref(), permissions)
    });
    let digest = match ListText::of(shown)? {
        ListText::Whole(text) => {
            return json::respond_text(context, text, Freshness::Moving, &[]);
        }
        ListText::Long(digest) => digest,
    };
    // Until they are sent no branches are held. One that has changed by then is shown as it is: the state that the tag
    // is of is over.
    let (again, places) = (context.clone(), 0..names.len());
    let shown = move |place| -> Result<Option<AdminBranchJson>, Error> {
        let branch = project.open_branches(&names, [place])?.pop();
        let shown = branch.map(|branch| {
            AdminBranchJson::new(&again, &project, &branch, default.as_ref(), permissions)
        });
        shown.transpose()
    };
    let entries = Each(places.filter_map(move |place| shown(place).transpose()));
    let made_of = vec![&digest.as_bytes()[..]];
    Ok(stream::tagged(
        context,
        made_of,
        entries,
        Freshness::Moving,
        &[],
    ))
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
