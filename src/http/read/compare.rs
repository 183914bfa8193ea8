//! `GET /projects/<project>/repository/compare`

use std::time::{Duration, Instant};

use serde::Serialize;

use super::commits;
use super::commits::StatsJson;
use crate::base::limits::{
    COMPARE_COMMITS_MAX, COMPARE_DIFF_BYTES_MAX, COMPARE_FILES_MAX, COMPARE_MS_MAX,
};
use crate::http::error::Error;
use crate::http::list::links::project_url;
use crate::http::reply::json;
use crate::http::reply::{Freshness, Reply};
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::http::shape::commit::CommitJson;
use crate::http::shape::entry::file_mode;
use crate::repo;
use crate::repo::{Commit, FileDifference, Patch, Project, Revision};

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

/// A file that differs.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "they are GitLab's fields")]
struct DiffJson<'a> {
    diff: String,
    collapsed: bool,
    too_large: bool,
    new_path: &'a str,
    old_path: &'a str,
    a_mode: &'static str,
    b_mode: &'static str,
    new_file: bool,
    renamed_file: bool,
    deleted_file: bool,
    generated_file: bool,
}

/// How much more text is compared for one answer.
struct Budget {
    until: Instant,
    bytes: usize,
}

impl Budget {
    fn new() -> Self {
        Self {
            until: Instant::now() + Duration::from_millis(COMPARE_MS_MAX),
            bytes: COMPARE_DIFF_BYTES_MAX,
        }
    }

    fn is_spent(&self) -> bool {
        self.bytes == 0 || Instant::now() >= self.until
    }

    /// The patch of a file, `None` when there is nothing left for it.
    fn patch(&mut self, difference: &FileDifference) -> Result<Option<Patch>, Error> {
        if self.is_spent() {
            return Ok(None);
        }
        let patch = repo::patch(difference.old.as_ref(), difference.new.as_ref())?;
        if let Patch::Text { hunks, .. } = &patch {
            self.bytes = self.bytes.saturating_sub(hunks.len());
        }
        Ok(Some(patch))
    }
}

/// Shows what differs between two revisions, and the commits by which the second came from the first.
/// The two are compared as they are, whether or not one comes from the other, so `straight` makes no
/// difference. With `unidiff` each diff begins with the lines that name the files.
///
/// # Limits
/// The first 1,000 files and the newest 100 commits; diffs of files up to 1 MiB, 4 MiB of them, 5
/// seconds. A file beyond that is shown without its diff, as `too_large` or `collapsed`;
/// `compare_timeout` says that files are missing.
pub(super) fn show(context: &RequestContext, project: &Project) -> Result<Reply, Error> {
    let from = params::reference(Some(required(context, "from")?))?;
    let to = params::reference(Some(required(context, "to")?))?;
    let unidiff = context.query.flag("unidiff")?;
    context.query.flag("straight")?;
    let not_found = |error| Error::from(error).revision_as("404 Ref Not Found");
    let old = project.resolve(from).map_err(not_found)?;
    let new = project.resolve(to).map_err(not_found)?;

    let commits = commits::shown(context, project, &commits_between(project, &old, to)?)?;
    let mut differences = repo::diff_at_most(&old, &new, COMPARE_FILES_MAX + 1)?;
    let cut = differences.len() > COMPARE_FILES_MAX;
    differences.truncate(COMPARE_FILES_MAX);
    let mut budget = Budget::new();
    let diffs = differences
        .iter()
        .map(|difference| {
            let patch = budget.patch(difference)?;
            Ok(DiffJson::new(difference, patch, unidiff))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let comparison = ComparisonJson {
        commit: commits.first(),
        // GitLab shows the oldest first.
        commits: &commits.iter().rev().collect::<Vec<_>>(),
        diffs,
        compare_timeout: cut,
        compare_same_ref: old.id() == new.id(),
        web_url: format!("{}/repository/compare", project_url(context, project)),
    };
    Ok(json::respond(
        context.headers(),
        &comparison,
        Freshness::Moving,
        &[],
    ))
}

fn required<'a>(context: &'a RequestContext, key: &str) -> Result<&'a str, Error> {
    let missing = || Error::Malformed(format!("{key} is missing"));
    context.query.text(key)?.ok_or_else(missing)
}

/// The commits from a reference back to a state, that one left out, newest first.
fn commits_between(
    project: &Project,
    old: &Revision,
    to: Option<&str>,
) -> Result<Vec<Commit>, Error> {
    let mut between = Vec::new();
    for commit in project.commits(to)? {
        let commit = commit?;
        if commit.revision.id() == old.id() || between.len() == COMPARE_COMMITS_MAX {
            break;
        }
        between.push(commit);
    }
    Ok(between)
}

impl<'a> DiffJson<'a> {
    fn new(difference: &'a FileDifference, patch: Option<Patch>, unidiff: bool) -> Self {
        let path = &difference.path;
        let mode = |file: &Option<repo::FileView>| {
            file.as_ref()
                .map_or("0", |file| file_mode(file.is_executable()))
        };
        let (collapsed, too_large) = (patch.is_none(), patch == Some(Patch::TooLarge));
        let (a_mode, b_mode) = (mode(&difference.old), mode(&difference.new));
        let diff = match patch {
            Some(Patch::Text { hunks, .. }) if unidiff && !hunks.is_empty() => {
                format!("--- a/{path}\n+++ b/{path}\n{hunks}")
            }
            Some(Patch::Text { hunks, .. }) => hunks,
            Some(Patch::Binary) => format!("Binary files a/{path} and b/{path} differ\n"),
            Some(Patch::TooLarge) | None => String::new(),
        };
        Self {
            diff,
            collapsed,
            too_large,
            new_path: path,
            old_path: path,
            a_mode,
            b_mode,
            new_file: difference.old.is_none(),
            renamed_file: false,
            deleted_file: difference.new.is_none(),
            generated_file: false,
        }
    }
}

/// How many lines a commit changed, as far as the limits of a comparison go. The first commit of a
/// branch changed none: what it begins with was made elsewhere.
pub(super) fn stats(commit: &Commit) -> Result<StatsJson, Error> {
    let mut stats = StatsJson::default();
    let Some(parent) = &commit.parent else {
        return Ok(stats);
    };
    let mut budget = Budget::new();
    for difference in repo::diff_at_most(parent, &commit.revision, COMPARE_FILES_MAX)? {
        if let Some(Patch::Text { added, removed, .. }) = budget.patch(&difference)? {
            stats.additions += added;
            stats.deletions += removed;
        }
    }
    stats.total = stats.additions + stats.deletions;
    Ok(stats)
}
