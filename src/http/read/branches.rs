//! `GET /projects/<project>/repository/branches` and `…/branches/<name>`

use std::cmp::Reverse;

use regex::{Regex, RegexBuilder};

use crate::base::branch_name::BranchName;
use crate::base::limits::{REGEX_BYTES_MAX, REGEX_PROGRAM_BYTES_MAX};
use crate::http::error::Error;
use crate::http::list::cache::{RenderedKey, ShownState};
use crate::http::list::pagination::{self, Paging};
use crate::http::list::search::Search;
use crate::http::reply::json::JsonBody;
use crate::http::reply::{Freshness, Reply, gzip};
use crate::http::request::context::RequestContext;
use crate::http::shape::branch::BranchJson;
use crate::repo::{BranchNames, Project};

/// The order of a list of branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Name,
    Oldest,
    Newest,
}

impl Sort {
    fn parse(text: Option<&str>) -> Result<Self, Error> {
        match text {
            None | Some("name_asc") => Ok(Self::Name),
            Some("updated_asc") => Ok(Self::Oldest),
            Some("updated_desc") => Ok(Self::Newest),
            Some(_) => Err(Error::malformed("sort does not have a valid value")),
        }
    }
}

/// Lists branches by name or by when they changed; with `search` and `regex` those that match. An
/// exact match of `search` comes first.
pub(super) fn list(context: &RequestContext, project: &Project) -> Result<Reply, Error> {
    rendered(context, project, |gzip| render_list(context, project, gzip))
}

/// Shows one branch.
pub(super) fn show(
    context: &RequestContext,
    project: &Project,
    name: &str,
) -> Result<Reply, Error> {
    let name =
        BranchName::parse(name).map_err(|_| Error::malformed("The branch refname is invalid"))?;
    rendered(context, project, |gzip| {
        let branch = project.branch(&name)?;
        let is_default = project.default_branch_name()?.as_deref() == Some(name.as_str());
        let shown = BranchJson::alone(context, project, &branch, is_default)?;
        Ok(JsonBody::of(&shown, &[], Freshness::Moving, gzip))
    })
}

/// Answers with what is rendered once for the state that the project's branches are in.
fn rendered(
    context: &RequestContext,
    project: &Project,
    render: impl FnOnce(bool) -> Result<JsonBody, Error>,
) -> Result<Reply, Error> {
    let gzip = gzip::is_accepted(context.headers());
    let key = RenderedKey {
        // Read before the branches: a save between the two makes the next state.
        state: ShownState::Branches {
            project: project.repo_id().clone(),
            number: project.branches_state()?,
        },
        url: context.url(),
        gzip,
    };
    let body = context
        .service
        .rendered
        .get_or_render(&key, || render(gzip))?;
    Ok(body.reply(context.headers()))
}

fn render_list(context: &RequestContext, project: &Project, gzip: bool) -> Result<JsonBody, Error> {
    let query = &context.query;
    let paging = Paging::of(query)?;
    let sort = Sort::parse(query.text("sort")?)?;
    let search = query.text("search")?.map(Search::parse);
    let regex = query.text("regex")?.map(expression).transpose()?;

    let names = project.branch_names()?;
    let mut found = matching(&names, search.as_ref(), regex.as_ref());
    if sort != Sort::Name {
        let updated = |branch: &Found<'_>| -> Result<i64, Error> {
            let opened = project.open_branches(&names, [branch.place])?;
            Ok(opened.first().map_or(0, |branch| branch.updated_at().ms()))
        };
        for branch in &mut found {
            branch.rank = match sort {
                Sort::Newest => -updated(branch)?,
                _ => updated(branch)?,
            };
        }
    }
    // The names rise already: without a rank or a match there is nothing to sort.
    if sort != Sort::Name || search.is_some() {
        found.sort_by_key(Found::key);
    }
    let list = format!("branches/{}/{sort:?}", project.number());
    let (page, headers) = pagination::cut(context, &paging, &list, found, |found| {
        let (Reverse(exact), rank, name) = found.key();
        (!exact, rank, name.to_owned())
    })?;
    let branches = project.open_branches(&names, page.iter().map(|found| found.place))?;
    let default = project.default_branch_name()?;
    let shown: Vec<_> = branches
        .iter()
        .map(|branch| {
            let is_default = default.as_deref() == Some(branch.name().as_str());
            BranchJson::new(context, project, branch, is_default)
        })
        .collect::<Result<_, _>>()?;
    Ok(JsonBody::of(
        &shown,
        headers.lines(),
        Freshness::Moving,
        gzip,
    ))
}

/// A branch that belongs to the list.
#[derive(Debug)]
struct Found<'a> {
    /// Its place among all names.
    place: usize,
    name: &'a str,
    /// True if its name is what is searched for.
    exact: bool,
    /// Its place by time, lowest first.
    rank: i64,
}

impl<'a> Found<'a> {
    fn key(&self) -> (Reverse<bool>, i64, &'a str) {
        (Reverse(self.exact), self.rank, self.name)
    }
}

fn matching<'a>(
    names: &'a BranchNames,
    search: Option<&Search>,
    regex: Option<&Regex>,
) -> Vec<Found<'a>> {
    let fits = |name: &str| {
        search.is_none_or(|search| search.matches(name))
            && regex.is_none_or(|regex| regex.is_match(name))
    };
    let named = names.iter().enumerate();
    named
        .filter(|(_, name)| fits(name))
        .map(|(place, name)| Found {
            place,
            name,
            exact: search.is_some_and(|search| search.is_exactly(name)),
            rank: 0,
        })
        .collect()
}

/// Reads a regular expression. It is matched in linear time, and its program is bounded.
fn expression(text: &str) -> Result<Regex, Error> {
    let invalid = || Error::malformed("Regex is invalid");
    if text.len() > REGEX_BYTES_MAX {
        return Err(invalid());
    }
    RegexBuilder::new(text)
        .size_limit(REGEX_PROGRAM_BYTES_MAX)
        .dfa_size_limit(REGEX_PROGRAM_BYTES_MAX)
        .build()
        .map_err(|_| invalid())
}
