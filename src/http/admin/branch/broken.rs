//! `GET …/validation`: the files of a branch that break the rules of its project.

use serde::Serialize;

use crate::access::Caller;
use crate::base::limits::BROKEN_PAGE_MAX;
use crate::http::admin::open::open_branch;
use crate::http::error::Error;
use crate::http::reply::{Reply, json};
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::http::route::admin::BranchAt;
use crate::repo::Broken;

/// A file that breaks a rule.
#[derive(Debug, Serialize)]
struct BrokenJson<'a> {
    path: &'a str,
    line: Option<usize>,
    column: Option<usize>,
    rule: usize,
    message: &'a str,
}

impl<'a> From<&'a Broken> for BrokenJson<'a> {
    fn from(broken: &'a Broken) -> Self {
        Self {
            path: &broken.path,
            line: broken.place.map(|place| place.line),
            column: broken.place.map(|place| place.column),
            rule: broken.rule,
            message: &broken.reason,
        }
    }
}

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
    let shown: Vec<_> = page.files.iter().map(BrokenJson::from).collect();
    let next = page.next.as_deref().map(|last| ("after", last));
    json::page(context, &shown, next)
}
