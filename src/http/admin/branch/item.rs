//! A branch by itself.

use hyper::StatusCode;
use serde::Deserialize;

use super::shape::{shown, tag_of};
use crate::access::{Caller, Right};
use crate::http::admin::open::{open_branch, writer};
use crate::http::error::Error;
use crate::http::reply::{Freshness, Reply};
use crate::http::request::context::RequestContext;
use crate::http::request::{conditions, json_body, params};
use crate::http::route::admin::BranchAt;

/// `GET /projects/<project>/branches/<ref>`. `etag` says the same as `If-None-Match`, for who cannot set a
/// header.
pub(super) fn show(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
) -> Result<Reply, Error> {
    let branch = open_branch(context, caller, at)?;
    let tag = tag_of(&branch)?;
    let known = context.query.text("etag")?;
    let is_known = known.is_some_and(|known| tag.is_quoted(known));
    let reply = if is_known || tag.is_known_to(context.headers()) {
        Reply::empty(StatusCode::NOT_MODIFIED)
    } else {
        shown(context, caller, StatusCode::OK, &branch)?
    };
    Ok(reply.validated(&tag, Freshness::Moving))
}

/// What a change sends.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Changes {
    name: String,
}

/// Refuses who may not rename a branch.
pub(super) fn admit_rename(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
) -> Result<(), Error> {
    writer(context, caller, &at.project, Right::Rollback)?;
    Ok(())
}

/// `PATCH /projects/<project>/branches/<ref>`
pub(super) fn rename(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
    body: &[u8],
) -> Result<Reply, Error> {
    let name = params::branch(&at.branch)?;
    let condition = conditions::condition(context.headers())?;
    let Changes { name: new_name } = json_body::read(body)?;
    let new_name = params::branch(&new_name)?;
    let project = writer(context, caller, &at.project, Right::Rollback)?;
    let renamed = project.rename_branch(&name, &new_name, &condition)?;
    shown(context, caller, StatusCode::OK, &renamed).map_err(Error::after_change)
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
    project.delete_branch(&name, &condition)?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}
