//! `GET …/diff`

mod shown;
pub(super) mod whole;

use crate::access::Caller;
use crate::base::limits::DIFF_PAGE_MAX;
use crate::base::snapshot_version::SnapshotVersion;
use crate::http::admin::open::open_branch;
use crate::http::error::Error;
use crate::http::reply::{Reply, file, json};
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::http::route::admin::BranchAt;
use crate::repo;
use crate::repo::{Branch, Comparison, Revision};
use shown::shown;
use whole::Tagged;

/// Shows what differs between two revisions or versions of the branch; with `unified`, in one file,
/// as a text diff. With `limit` or `after` it is a page, and `Link` names the next.
pub(super) fn show(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
) -> Result<Reply, Error> {
    let query = &context.query;
    let from = query.required("from")?;
    let to = query.required("to")?;
    let unified = query.flag("unified")?;
    let path = query.text("path")?.map(params::file).transpose()?;
    let limit = params::limit_of(query, DIFF_PAGE_MAX)?;
    let after = query.text("after")?.map(params::file).transpose()?;
    let branch = open_branch(context, caller, at)?;
    let old = side(&branch, from)?;
    let new = side(&branch, to)?;
    let told = || -> Result<Reply, Error> {
        if unified {
            let path = path.ok_or_else(|| {
                Error::malformed("query parameter \"path\" is missing: a text diff is of one file")
            })?;
            return file::text(context, repo::text_diff(&old, &new, &path)?);
        }
        let comparison = Comparison::of(&old, &new)?;
        if limit.is_none() && after.is_none() {
            return whole::respond(context, comparison, path, Tagged::Yes);
        }
        let limit = limit.unwrap_or(DIFF_PAGE_MAX);
        let (differences, more) = comparison.page(path.as_ref(), after.as_ref(), limit)?;
        let shown = shown(&differences, 0..differences.len())?;
        let next = shown.last().filter(|_| more);
        json::page(context, &shown, next.map(|last| ("after", last.path)))
    };
    told().map_err(|error| error.map_repo(|error| old.or_pruned(new.or_pruned(error)).into()))
}

/// A version of the branch, or any revision of the project.
fn side(branch: &Branch, text: &str) -> Result<Revision, Error> {
    if let Ok(version) = SnapshotVersion::parse(text) {
        return Ok(branch.snapshot(version)?);
    }
    Ok(branch.project().resolve(params::reference(Some(text))?)?)
}
