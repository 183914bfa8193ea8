//! `GET …/validation`: the files of a branch that break the rules of its project.

use crate::access::Caller;
use crate::base::limits::BROKEN_PAGE_MAX;
use crate::http::admin::open::open_branch;
use crate::http::error::Error;
use crate::http::reply::{Reply, json};
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::http::route::admin::BranchAt;
use crate::repo::ShownBroken;

/// Lists the first break of each file, by path. `Link` names the next page, if not all was looked at.
pub(super) fn list(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
) -> Result<Reply, Error> {
    let limit = params::limit_of(&context.query, BROKEN_PAGE_MAX)?;
    let after = context.query.text("after")?.map(params::file).transpose()?;
    let branch = open_branch(context, caller, at)?;
    let page = branch
        .head()
        .broken(None, after.as_ref(), limit.unwrap_or(BROKEN_PAGE_MAX))?;
    let shown: Vec<_> = page.files.iter().map(ShownBroken::from).collect();
    let next = page.next.as_deref().map(|last| ("after", last));
    json::page(context, &shown, next)
}
