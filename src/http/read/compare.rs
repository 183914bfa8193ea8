//! `GET /projects/<project>/repository/compare`

use serde::Serialize;

use super::diffs::DiffJson;
use super::{commits, diffs};
use crate::base::limits::{COMPARE_COMMITS_MAX, COMPARE_FILES_MAX};
use crate::http::error::Error;
use crate::http::list::links::project_url;
use crate::http::reply::json;
use crate::http::reply::{Freshness, Reply};
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::http::shape::commit::CommitJson;
use crate::repo;
use crate::repo::{Project, Revision};

/// What differs between two revisions.
#[derive(Debug, Serialize)]
struct ComparisonJson<'a> {
    commit: Option<&'a CommitJson>,
    commits: &'a [&'a CommitJson],
    diffs: Vec<DiffJson<'a>>,
    compare_timeout: bool,
    compare_same_ref: bool,
    web_url: String,
}

/// Shows what differs between two revisions, and the commits by which the second came from where their
/// histories part. From there it is compared, too, as at GitLab; with `straight`, or where the two
/// share no history, from the first revision as it is. With `unidiff` each diff begins with the lines
/// that name the files.
///
/// # Limits
/// The first 1,000 files and the newest 100 commits; diffs as [`diffs::shown`]. `compare_timeout` says
/// that files are missing.
pub(super) fn show(context: &RequestContext, project: &Project) -> Result<Reply, Error> {
    let from = params::reference(Some(required(context, "from")?))?;
    let to = params::reference(Some(required(context, "to")?))?;
    let unidiff = context.query.flag("unidiff")?;
    let straight = context.query.flag("straight")?;
    let not_found = |error| Error::from(error).revision_as("404 Ref Not Found");
    let old = project.resolve(from).map_err(not_found)?;
    let new = project.resolve(to).map_err(not_found)?;
    let compared = compare(context, project, [&old, &new], straight, unidiff);
    compared.map_err(|error| error.map_repo(|error| not_found(old.or_pruned(new.or_pruned(error)))))
}

fn compare(
    context: &RequestContext,
    project: &Project,
    [old, new]: [&Revision; 2],
    straight: bool,
    unidiff: bool,
) -> Result<Reply, Error> {
    let base = repo::merge_base(old, new)?.unwrap_or_else(|| old.clone());
    let between = commits::between(base.clone(), new)?.take(COMPARE_COMMITS_MAX);
    let between: Vec<_> = between.collect::<repo::Result<_>>()?;
    let commits = commits::shown(context, project, &between)?;
    let compared_with = if straight { old } else { &base };
    let mut differences = repo::diff_at_most(compared_with, new, COMPARE_FILES_MAX + 1)?;
    let cut = differences.len() > COMPARE_FILES_MAX;
    differences.truncate(COMPARE_FILES_MAX);
    let comparison = ComparisonJson {
        commit: commits.first(),
        // GitLab shows the oldest first.
        commits: &commits.iter().rev().collect::<Vec<_>>(),
        diffs: diffs::shown(&differences, unidiff)?,
        compare_timeout: cut,
        compare_same_ref: old.id() == new.id(),
        web_url: format!("{}/repository/compare", project_url(context, project)),
    };
    json::respond(context, &comparison, Freshness::Moving, &[])
}

fn required<'a>(context: &'a RequestContext, key: &str) -> Result<&'a str, Error> {
    let missing = || Error::Malformed(format!("{key} is missing"));
    context.query.text(key)?.ok_or_else(missing)
}
