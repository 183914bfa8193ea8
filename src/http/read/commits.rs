//! `GET /projects/<project>/repository/commits` and `…/commits/<reference>`

use serde::Serialize;

use super::compare::stats;
use crate::base::clock::Timestamp;
use crate::base::file_path::FilePath;
use crate::base::limits::PAGE_ENTRIES_USUAL;
use crate::http::error::Error;
use crate::http::list::pagination::{PageHeaders, Paging};
use crate::http::reply::json;
use crate::http::reply::{Freshness, Reply};
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::http::request::query::Query;
use crate::http::shape::commit::CommitJson;
use crate::repo;
use crate::repo::{Commit, Missing, Project};

/// Which commits are listed.
#[derive(Debug)]
struct Filter {
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    author: Option<String>,
    path: Option<FilePath>,
}

impl Filter {
    fn read(query: &Query) -> Result<Self, Error> {
        let time = |key: &'static str| -> Result<Option<Timestamp>, Error> {
            let invalid = || Error::Malformed(format!("{key} is invalid"));
            let text = query.text(key)?;
            text.map(|text| Timestamp::parse(text).ok_or_else(invalid))
                .transpose()
        };
        Ok(Self {
            since: time("since")?,
            until: time("until")?,
            author: query.text("author")?.map(str::to_lowercase),
            path: params::folder(query.text("path")?)?,
        })
    }

    fn takes(&self, commit: &Commit) -> Result<bool, Error> {
        let is_by = |author: &String| commit.by.to_lowercase().contains(author);
        if self.until.is_some_and(|until| commit.at > until)
            || !self.author.as_ref().is_none_or(is_by)
        {
            return Ok(false);
        }
        match &self.path {
            Some(path) => Ok(commit.touches(path)?),
            None => Ok(true),
        }
    }
}

/// Lists the states of a branch as commits, newest first. It is always paged: each commit's id is a
/// digest, which may have to be computed first.
pub(super) fn list(context: &RequestContext, project: &Project) -> Result<Reply, Error> {
    let reference = params::reference(context.query.text("ref_name")?)?;
    let filter = Filter::read(&context.query)?;
    let (page, per_page) = match Paging::of(&context.query)? {
        Paging::Numbered { page, per_page } => (page, per_page),
        Paging::Whole => (1, PAGE_ENTRIES_USUAL),
        Paging::Plain | Paging::From { .. } => {
            return Err(Error::malformed("pagination does not have a valid value"));
        }
    };
    let mut skip = (page - 1).saturating_mul(per_page);
    let mut part: Vec<Commit> = Vec::new();
    let mut more = false;
    let commits = match project.commits(reference) {
        Ok(commits) => Some(commits),
        // A project without a branch has no commits.
        Err(repo::Error::NotFound {
            what: Missing::Branch,
        }) if reference.is_none() => None,
        Err(error) => return Err(Error::from(error).revision_as("404 Commit Not Found")),
    };
    for commit in commits.into_iter().flatten() {
        let commit = commit?;
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
    let shown = shown(context, project, &part)?;
    let headers = PageHeaders::numbered_open(context, page, per_page, more);
    Ok(json::respond(
        context.headers(),
        &shown,
        Freshness::Moving,
        headers.lines(),
    ))
}

/// Commits with their parents' ids.
pub(super) fn shown(
    context: &RequestContext,
    project: &Project,
    commits: &[Commit],
) -> Result<Vec<CommitJson>, Error> {
    let parents = commits.iter().filter_map(|commit| commit.parent.as_ref());
    project.publish_ids(commits.iter().map(|commit| &commit.revision).chain(parents))?;
    commits
        .iter()
        .map(|commit| CommitJson::new(context, project, commit))
        .collect()
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

/// Lines that a commit added and removed.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct StatsJson {
    pub(super) additions: u64,
    pub(super) deletions: u64,
    pub(super) total: u64,
}

/// Shows the commit that a commit id, a branch or a snapshot names, with how many lines it changed
/// unless `stats` says no.
pub(super) fn show(
    context: &RequestContext,
    project: &Project,
    reference: &str,
) -> Result<Reply, Error> {
    let reference = params::reference(Some(reference))?;
    let with_stats = context.query.text("stats")?.is_none() || context.query.flag("stats")?;
    let commit = project
        .commit(reference)
        .map_err(|error| Error::from(error).revision_as("404 Commit Not Found"))?;
    let shown = LoneCommitJson {
        commit: CommitJson::new(context, project, &commit)?,
        stats: with_stats.then(|| stats(&commit)).transpose()?,
        status: None,
        project_id: project.number(),
        last_pipeline: None,
    };
    // The same id can be reached again by another commit, so even a full one is no name of this answer.
    Ok(json::respond(
        context.headers(),
        &shown,
        Freshness::Moving,
        &[],
    ))
}
