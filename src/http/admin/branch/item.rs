//! A branch by itself.

use hyper::StatusCode;

use crate::access::{Caller, Right};
use crate::http::admin::open::writer;
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::request::context::RequestContext;
use crate::http::request::{conditions, params};
use crate::http::route::admin::BranchAt;

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
