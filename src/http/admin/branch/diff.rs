//! `GET …/diff`

use hyper::StatusCode;
use serde::Serialize;

use crate::access::Caller;
use crate::base::id::{GitId, Md5};
use crate::base::snapshot_version::SnapshotVersion;
use crate::http::admin::open::open_branch;
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::reply::file;
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::http::route::admin::BranchAt;
use crate::http::shape::entry::file_mode;
use crate::repo;
use crate::repo::{Branch, FileDifference, FileView, Project, Revision};

/// A path that differs.
#[derive(Debug, Serialize)]
pub(super) struct DifferenceJson<'a> {
    path: &'a str,
    change: String,
    old: Option<SideJson>,
    new: Option<SideJson>,
}

/// A file on one side.
#[derive(Debug, Serialize)]
struct SideJson {
    id: GitId,
    size: u64,
    md5: Md5,
    mode: &'static str,
}

impl<'a> DifferenceJson<'a> {
    /// A difference as it is shown.
    pub(super) fn new(difference: &'a FileDifference) -> Self {
        let side = |file: &FileView| SideJson {
            id: file.git_id(),
            size: file.size(),
            md5: file.md5(),
            mode: file_mode(file.is_executable()),
        };
        Self {
            path: &difference.path,
            change: difference.kind().to_string(),
            old: difference.old.as_ref().map(side),
            new: difference.new.as_ref().map(side),
        }
    }
}

/// Shows what differs between two revisions or versions of the branch; with `unified`, in one file,
/// as a text diff.
pub(super) fn show(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
) -> Result<Reply, Error> {
    let from = context.query.required("from")?;
    let to = context.query.required("to")?;
    let unified = context.query.flag("unified")?;
    let path = context.query.text("path")?.map(params::file).transpose()?;
    let (project, branch) = open_branch(context, caller, at)?;
    let old = side(&project, &branch, from)?;
    let new = side(&project, &branch, to)?;
    if unified {
        let path = path.ok_or_else(|| {
            Error::malformed("query parameter \"path\" is missing: a text diff is of one file")
        })?;
        return Ok(file::text(repo::text_diff(&old, &new, &path)?));
    }
    let mut differences = repo::diff(&old, &new)?;
    if let Some(path) = path {
        let below = format!("{path}/");
        differences.retain(|difference| {
            difference.path == path.as_str() || difference.path.starts_with(&below)
        });
    }
    let shown: Vec<_> = differences.iter().map(DifferenceJson::new).collect();
    Ok(Reply::json(StatusCode::OK, &shown))
}

/// A version of the branch, or any revision of the project.
fn side(project: &Project, branch: &Branch, text: &str) -> Result<Revision, Error> {
    if let Ok(version) = SnapshotVersion::parse(text) {
        return Ok(branch.snapshot(version)?);
    }
    Ok(project.resolve(params::reference(Some(text))?)?)
}
