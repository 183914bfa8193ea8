//! The commits that a list is of, before any is left out.

use std::iter;

use super::filter::Filter;
use crate::base::limits::PROJECT_SNAPSHOTS_SEARCHED_MAX;
use crate::http::error::Error;
use crate::http::request::params;
use crate::http::request::query::Query;
use crate::repo;
use crate::repo::{Commit, Missing, Project, Revision};

/// Commits one after the other.
type Walk = Box<dyn Iterator<Item = repo::Result<Commit>>>;

/// What a list of commits is of. A state is named by a reference; `None` is the head of the default branch.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source<'a> {
    /// All branches.
    All,
    /// A branch, from this state on.
    From(Option<&'a str>),
    /// The history of the second state, without what is in that of the first: `<first>..<second>`.
    Range(Option<&'a str>, Option<&'a str>),
}

impl<'a> Source<'a> {
    /// Reads what is asked for.
    ///
    /// # Errors
    /// A reference that is malformed; a range with three dots.
    pub(super) fn read(query: &'a Query) -> Result<Self, Error> {
        let named = query.text("ref_name")?;
        let end = |text: &'a str| params::reference(Some(text).filter(|text| !text.is_empty()));
        let source = match named.and_then(|text| text.split_once("..")) {
            None => Self::From(params::reference(named)?),
            Some((_, second)) if second.starts_with('.') => {
                return Err(Error::malformed(
                    "ref_name is invalid: of ranges only those with two dots are listed",
                ));
            }
            Some((first, second)) => Self::Range(end(first)?, end(second)?),
        };
        Ok(if query.flag("all")? {
            Self::All
        } else {
            source
        })
    }

    /// The commits, newest first. Where those of a path can be looked for, the path is taken out of the filter.
    ///
    /// # Limits
    /// Of a range the newest [`PROJECT_SNAPSHOTS_SEARCHED_MAX`].
    pub(super) fn commits(self, project: &Project, filter: &mut Filter) -> Result<Walk, Error> {
        let walk: Walk = match self {
            Self::All => Box::new(project.all_commits(filter.since)?),
            Self::From(reference) => match project.commits(reference) {
                Ok(commits) => match filter.path.take() {
                    Some(path) => Box::new(commits.of_path(path)?),
                    None => Box::new(commits),
                },
                // A project without a branch has no commits.
                Err(repo::Error::NotFound {
                    what: Missing::Branch,
                }) if reference.is_none() => Box::new(iter::empty()),
                Err(error) => return Err(not_found(error)),
            },
            Self::Range(first, second) => {
                let first = project.resolve(first).map_err(not_found)?;
                let second = project.resolve(second).map_err(not_found)?;
                let (old, new) = (first.clone(), second.clone());
                let or_pruned = move |error| old.or_pruned(new.or_pruned(error));
                let base = repo::merge_base(&first, &second);
                let base = base.map_err(|error| not_found(or_pruned(error)))?;
                let base = base.unwrap_or(first);
                let range = between(base, &second)?.take(PROJECT_SNAPSHOTS_SEARCHED_MAX);
                Box::new(range.map(move |commit| commit.map_err(&or_pruned)))
            }
        };
        Ok(walk)
    }
}

/// A commit that is not there, or not any more.
pub(super) fn not_found(error: repo::Error) -> Error {
    Error::from(error).revision_as("404 Commit Not Found")
}

/// The commits from a state back to an older one, that one left out, newest first. Where a mode changed it
/// is met under its commit id in another state.
pub(in crate::http::read) fn between(
    old: Revision,
    new: &Revision,
) -> Result<impl Iterator<Item = repo::Result<Commit>> + use<>, Error> {
    let mut commits = new.commits()?;
    let if_newer = move |commit: Commit| -> repo::Result<Option<Commit>> {
        let is_old = commit.revision.has_commit_id_of(&old)?;
        Ok((!is_old).then_some(commit))
    };
    Ok(iter::from_fn(move || {
        commits.next()?.and_then(&if_newer).transpose()
    }))
}
