//! `GET /projects/<project>/repository/commits`, `…/commits/<reference>`, and its `/diff` and `/refs`

mod filter;
mod source;

use serde::Serialize;

use super::stats::{LineCounter, StatsJson};
use super::{diffs, kept};
use crate::base::limits::{COMMITS_FILES_MAX, COMMITS_PASSED_MAX, COMPARE_FILES_MAX};
use crate::http::error::Error;
use crate::http::list::pagination;
use crate::http::list::pagination::{PageHeaders, Paging};
use crate::http::reply::cache::RenderedKey;
use crate::http::reply::coding::Coding;
use crate::http::reply::json;
use crate::http::reply::rendered::Rendered;
use crate::http::reply::{Freshness, Reply};
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::http::shape::commit::CommitJson;
use crate::repo;
use crate::repo::{Branch, Commit, FileDifference, Project, Revision};
use filter::Filter;
use source::Source;
pub(super) use source::between;

/// A commit of a list.
#[derive(Debug, Serialize)]
struct ListedCommitJson {
    #[serde(flatten)]
    commit: CommitJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<StatsJson>,
}

/// The answer of [`list`] if it is kept for the state that the project's branches are in.
pub(super) fn found_list(
    context: &RequestContext,
    project: &Project,
) -> Result<Option<Reply>, Error> {
    if !matches!(Source::read(&context.query)?, Source::From(_)) {
        // It is never kept.
        return Ok(None);
    }
    kept::found(context, project, &list_key(context, project)?)
}

/// Lists the states of a branch as commits, or those of a range, with `all` those of all branches, newest first; with
/// `with_stats` each tells how many lines it changed. It is always paged: each commit's id is a digest, which may have
/// to be computed first.
pub(super) fn list(context: &RequestContext, project: &Project) -> Result<Reply, Error> {
    let source = Source::read(&context.query)?;
    let Source::From(reference) = source else {
        // It tells of the snapshots of several branches, and a past is that of one: what is pruned would stay in it.
        let page = Page::of(context, project, source)?;
        return json::respond(
            context,
            &page.commits,
            Freshness::Moving,
            page.headers.lines(),
        );
    };
    let key = list_key(context, project)?;
    kept::found_or_made(context, project, &key, || {
        // First: what is removed while it is read ends the answer.
        let past = project.past(reference)?;
        let page = Page::of(context, project, source)?;
        let lines = page.headers.lines();
        let rendered = json::shared(context, &page.commits, lines, Freshness::Moving, key.coding)?;
        let rendered = rendered.telling_of(past);
        Ok(if page.is_whole {
            rendered
        } else {
            rendered.for_once()
        })
    })
}

/// By what a page of a list is kept: it has links, in which all of its address is.
fn list_key(context: &RequestContext, project: &Project) -> Result<RenderedKey, Error> {
    kept::key(context, project, context.url())
}

/// A page of a list.
struct Page {
    commits: Vec<ListedCommitJson>,
    headers: PageHeaders,
    /// False where the next one may tell more: there was no time to count all lines, or the ids could not be entered in
    /// the index.
    is_whole: bool,
}

impl Page {
    fn of(context: &RequestContext, project: &Project, source: Source<'_>) -> Result<Self, Error> {
        let mut filter = Filter::read(&context.query)?;
        let with_stats = context.query.flag("with_stats")?;
        let (page, per_page) = Paging::by_number(&context.query)?;
        let mut skip = (page - 1).saturating_mul(per_page);
        let mut part: Vec<Commit> = Vec::new();
        let mut more = false;
        for commit in source.commits(project, &mut filter)? {
            let commit = commit.map_err(source::not_found)?;
            if filter.since.is_some_and(|since| commit.at < since) {
                break;
            }
            if !filter.takes(&commit)? {
                continue;
            }
            if skip > 0 {
                skip -= 1;
            } else if part.len() as u64 == per_page {
                more = true;
                break;
            } else {
                part.push(commit);
            }
        }
        let are_entered = enter(project, &part)?;
        let mut counter = LineCounter::new();
        let commits = part
            .iter()
            .map(|commit| {
                Ok(ListedCommitJson {
                    commit: CommitJson::new(context, project, commit)?,
                    stats: with_stats.then(|| counter.count(commit)).transpose()?,
                })
            })
            .collect::<Result<_, Error>>()?;
        Ok(Self {
            commits,
            headers: PageHeaders::numbered_open(context, page, per_page, more),
            is_whole: are_entered && !counter.is_over(),
        })
    }
}

/// Commits with their parents' ids.
pub(super) fn shown(
    context: &RequestContext,
    project: &Project,
    commits: &[Commit],
) -> Result<Vec<CommitJson>, Error> {
    enter(project, commits)?;
    commits
        .iter()
        .map(|commit| CommitJson::new(context, project, commit))
        .collect()
}

/// Has commits found by their ids, and by those of their parents, which are told with them; false where the store
/// refuses to note them.
fn enter(project: &Project, commits: &[Commit]) -> Result<bool, Error> {
    let parents = commits.iter().filter_map(|commit| commit.parent.as_ref());
    let states = commits.iter().map(|commit| &commit.revision).chain(parents);
    Ok(project.publish_ids(states)?.are_entered())
}

/// A commit that was asked for alone.
#[derive(Debug, Serialize)]
struct LoneCommitJson {
    #[serde(flatten)]
    commit: CommitJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<StatsJson>,
    status: Option<&'static str>,
    project_id: u64,
    last_pipeline: Option<&'static str>,
}

/// The answer of [`show`] if it is kept for the state that the project's branches are in.
pub(super) fn found(
    context: &RequestContext,
    project: &Project,
    reference: &str,
) -> Result<Option<Reply>, Error> {
    kept::found(context, project, &lone_key(context, project, reference)?)
}

/// Shows the commit that a commit id, a branch or a snapshot names, with how many lines it changed
/// unless `stats` says no.
pub(super) fn show(
    context: &RequestContext,
    project: &Project,
    reference: &str,
) -> Result<Reply, Error> {
    let key = lone_key(context, project, reference)?;
    kept::found_or_made(context, project, &key, || {
        render(context, project, reference, key.coding)
    })
}

/// By what a commit alone is kept: of its address nothing but these is in it.
fn lone_key(
    context: &RequestContext,
    project: &Project,
    reference: &str,
) -> Result<RenderedKey, Error> {
    let (with_stats, mount) = (wants_stats(context)?, context.mount_url());
    let asked = format!("commit {with_stats} {mount}\n{reference}");
    kept::key(context, project, asked)
}

/// An answer in which lines are missing that were not counted in time is kept, too, until a branch changes: who asks
/// next would be as long about them.
fn render(
    context: &RequestContext,
    project: &Project,
    reference: &str,
    coding: Coding,
) -> Result<Rendered, Error> {
    let with_stats = wants_stats(context)?;
    // First: what is removed while it is read ends the answer.
    let past = project.past(params::reference(Some(reference))?)?;
    let commit = named(project, reference)?;
    let shown = LoneCommitJson {
        commit: CommitJson::new(context, project, &commit)?,
        stats: with_stats
            .then(|| LineCounter::new().count(&commit))
            .transpose()?,
        status: None,
        project_id: project.number(),
        last_pipeline: None,
    };
    // The same id can be reached again by another commit, so even a full one is no name of this answer.
    let rendered = json::shared(context, &shown, &[], Freshness::Moving, coding)?;
    Ok(rendered.telling_of(past))
}

/// True if the commits that are asked for lie far from the head of their branch, or have to be looked for
/// among others, in all branches or between two states, or their diffs are counted, or their states hold so many files
/// that their ids may take long.
pub(super) fn list_takes_long(context: &RequestContext, project: &Project) -> Result<bool, Error> {
    for key in ["path", "author", "until"] {
        if context.query.text(key)?.is_some() {
            return Ok(true);
        }
    }
    if context.query.flag("with_stats")? {
        return Ok(true);
    }
    let Source::From(reference) = Source::read(&context.query)? else {
        return Ok(true);
    };
    let (page, per_page) = Paging::by_number(&context.query)?;
    Ok(is_costly(project, reference, page, per_page))
}

/// True if a commit lies far from the head of its branch, or its diff has to be counted.
pub(super) fn takes_long(
    context: &RequestContext,
    project: &Project,
    reference: &str,
) -> Result<bool, Error> {
    let is_to_count = wants_stats(context)? && !is_counted(project, reference);
    Ok(is_to_count || is_costly(project, Some(reference), 1, 1))
}

/// True if a reference names the head of a branch, and it is kept how many lines its commit changed. Of what is not
/// there the answer says so.
fn is_counted(project: &Project, reference: &str) -> bool {
    let known =
        params::reference(Some(reference)).map(|reference| project.resolve_known(reference));
    let Ok(Ok(Some(state))) = known else {
        return false;
    };
    is_head_counted(&state).unwrap_or(false)
}

fn is_head_counted(state: &Revision) -> repo::Result<bool> {
    let branch = state.branch()?;
    Ok(branch.head().id() == state.id() && branch.last_commit()?.known_lines().is_some())
}

/// True if more than some hundred states are read for a page of those from a revision on, or those that it shows hold
/// more than [`COMMITS_FILES_MAX`] and have no id yet, or the revision has to be searched for. Of what is not there the
/// answer says so.
fn is_costly(project: &Project, reference: Option<&str>, page: u64, per_page: u64) -> bool {
    let known = params::reference(reference).map(|reference| project.resolve_known(reference));
    match known {
        Ok(Ok(Some(state))) => {
            let costs = costs(&state, page, per_page);
            costs.is_ok_and(|[states, files]| {
                states > COMMITS_PASSED_MAX || files > COMMITS_FILES_MAX
            })
        }
        Ok(Ok(None)) => true,
        Ok(Err(_)) | Err(_) => false,
    }
}

/// How many states of its branch are read for a page of those from a revision on, and about how many files those hold
/// that it shows, all together, but for states whose ids are kept.
fn costs(from: &Revision, page: u64, per_page: u64) -> repo::Result<[u64; 2]> {
    let all = from.branch()?.snapshot_count().saturating_add(1);
    let asked = page.saturating_mul(per_page);
    let read = from.states_after()?.saturating_add(asked).min(all);
    let files = |states: u64| from.totals().files.saturating_mul(states);
    let shown = per_page.min(all);
    if read > COMMITS_PASSED_MAX || files(shown) <= COMMITS_FILES_MAX {
        return Ok([read, files(shown)]);
    }
    let asked = usize::try_from(asked.min(all)).unwrap_or(usize::MAX);
    let undigested = from.undigested(asked)? as u64;
    Ok([read, files(undigested.min(shown))])
}

/// True if a commit is asked for with how many lines it changed.
fn wants_stats(context: &RequestContext) -> Result<bool, Error> {
    Ok(context.query.text("stats")?.is_none() || context.query.flag("stats")?)
}

/// The commit that a reference names.
fn named(project: &Project, reference: &str) -> Result<Commit, Error> {
    let commit = project.commit(params::reference(Some(reference))?);
    commit.map_err(|error| Error::from(error).revision_as("404 Commit Not Found"))
}

/// Lists the files that a commit changed, with their diffs. The first commit of a branch changed none,
/// as its lines are [counted](LineCounter).
///
/// # Limits
/// The first 1,000 files; diffs as [`diffs::shown`].
pub(super) fn diff(
    context: &RequestContext,
    project: &Project,
    reference: &str,
) -> Result<Reply, Error> {
    let paging = Paging::of(&context.query)?;
    let unidiff = context.query.flag("unidiff")?;
    let commit = named(project, reference)?;
    let differences = match &commit.before {
        Some(before) => repo::diff_at_most(before, &commit.revision, COMPARE_FILES_MAX)?,
        None => Vec::new(),
    };
    let list = format!("diff/{}/{}", project.number(), commit.revision.id());
    let place = |difference: &FileDifference| difference.path.clone();
    let (part, headers) = pagination::cut(context, &paging, &list, differences, place)?;
    let shown = diffs::shown(&part, unidiff)?;
    json::respond(context, &shown, Freshness::Moving, headers.lines())
}

/// A branch or tag that a commit is in.
#[derive(Debug, Serialize)]
struct RefJson<'a> {
    r#type: &'static str,
    name: &'a str,
}

/// Lists the branches whose history a commit is in, by name; with `type=tag` none, for there are none.
pub(super) fn refs(
    context: &RequestContext,
    project: &Project,
    reference: &str,
) -> Result<Reply, Error> {
    let paging = Paging::of(&context.query)?;
    let with_branches = match context.query.text("type")? {
        None | Some("all" | "branch") => true,
        Some("tag") => false,
        Some(_) => return Err(Error::malformed("type does not have a valid value")),
    };
    let commit = named(project, reference)?;
    let branches = if with_branches {
        project.branches_with(&commit.revision)?
    } else {
        Vec::new()
    };
    let list = format!("refs/{}/{}", project.number(), commit.revision.id());
    let place = |branch: &Branch| branch.name().to_string();
    let (part, headers) = pagination::cut(context, &paging, &list, branches, place)?;
    let shown: Vec<_> = part
        .iter()
        .map(|branch| RefJson {
            r#type: "branch",
            name: branch.name().as_str(),
        })
        .collect();
    json::respond(context, &shown, Freshness::Moving, headers.lines())
}
