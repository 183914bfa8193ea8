//! `GET …/diff`

use hyper::header::LINK;
use serde::Serialize;

use crate::access::Caller;
use crate::base::id::{GitId, Md5};
use crate::base::limits::DIFF_PAGE_MAX;
use crate::base::snapshot_version::SnapshotVersion;
use crate::http::admin::open::open_branch;
use crate::http::error::Error;
use crate::http::list::links;
use crate::http::reply::{Reply, file, json};
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::http::route::admin::BranchAt;
use crate::http::shape::entry::file_mode;
use crate::http::shape::patches::Budget;
use crate::repo;
use crate::repo::{Branch, FileDifference, FileView, Patch, Project, Revision};

/// A path that differs.
#[derive(Debug, Serialize)]
pub(super) struct DifferenceJson<'a> {
    path: &'a str,
    change: String,
    /// The deleted file whose bytes this added one has.
    renamed_from: Option<&'a str>,
    /// Lines; `None` where they are not counted.
    additions: Option<u64>,
    deletions: Option<u64>,
    /// `None` where that was not looked at.
    binary: Option<bool>,
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

/// Those of the differences at these places as they are shown.
///
/// # Limits
/// Lines are counted of files up to 1 MiB, until the text diffs of an answer have 4 MiB, and for 5
/// seconds.
pub(super) fn shown(
    differences: &[FileDifference],
    places: impl IntoIterator<Item = usize>,
) -> Result<Vec<DifferenceJson<'_>>, Error> {
    let renames = repo::renames(differences);
    let mut budget = Budget::new();
    let shown = places.into_iter().map(|at| {
        let difference = &differences[at];
        let patch = budget.patch(difference)?;
        let renamed_from = renames.get(&at);
        let renamed_from = renamed_from.map(|from| differences[*from].path.as_str());
        Ok(DifferenceJson::new(
            difference,
            patch.as_ref(),
            renamed_from,
        ))
    });
    shown.collect()
}

impl<'a> DifferenceJson<'a> {
    fn new(
        difference: &'a FileDifference,
        patch: Option<&Patch>,
        renamed_from: Option<&'a str>,
    ) -> Self {
        let side = |file: &FileView| SideJson {
            id: file.git_id(),
            size: file.size(),
            md5: file.md5(),
            mode: file_mode(file.is_executable()),
        };
        let (additions, deletions, binary) = match patch {
            Some(Patch::Text { added, removed, .. }) => (Some(*added), Some(*removed), Some(false)),
            Some(Patch::Binary) => (None, None, Some(true)),
            Some(Patch::TooLarge) | None => (None, None, None),
        };
        Self {
            path: &difference.path,
            change: difference.kind().to_string(),
            renamed_from,
            additions,
            deletions,
            binary,
            old: difference.old.as_ref().map(side),
            new: difference.new.as_ref().map(side),
        }
    }
}

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
    let limit = query
        .text("limit")?
        .map(|text| params::limit(text, DIFF_PAGE_MAX))
        .transpose()?;
    let after = query.text("after")?.map(params::file).transpose()?;
    let (project, branch) = open_branch(context, caller, at)?;
    let old = side(&project, &branch, from)?;
    let new = side(&project, &branch, to)?;
    if unified {
        let path = path.ok_or_else(|| {
            Error::malformed("query parameter \"path\" is missing: a text diff is of one file")
        })?;
        return file::text(context, repo::text_diff(&old, &new, &path)?);
    }
    let is_page = limit.is_some() || after.is_some();
    let (differences, more) = if is_page {
        let limit = limit.unwrap_or(usize::MAX);
        repo::diff_page(&old, &new, path.as_ref(), after.as_ref(), limit)?
    } else {
        (repo::diff(&old, &new)?, false)
    };
    // A file may have come from outside of what is asked for.
    let asked = |at: &usize| {
        let here = differences[*at].path.as_str();
        path.as_ref().is_none_or(|path| path.is_or_holds(here))
    };
    let shown = shown(&differences, (0..differences.len()).filter(asked))?;
    let next = shown.last().filter(|_| more);
    let next = next.map(|last| (LINK, links::next(context, &[("after", last.path)])));
    let lines: Vec<_> = next.into_iter().collect();
    json::list(context, &shown, &lines)
}

/// A version of the branch, or any revision of the project.
fn side(project: &Project, branch: &Branch, text: &str) -> Result<Revision, Error> {
    if let Ok(version) = SnapshotVersion::parse(text) {
        return Ok(branch.snapshot(version)?);
    }
    Ok(project.resolve(params::reference(Some(text))?)?)
}
