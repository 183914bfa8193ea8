//! `GET /projects/<project>/repository/branches` and `…/branches/<name>`

use regex::RegexBuilder;

use crate::base::branch_name::BranchName;
use crate::base::limits::{REGEX_BYTES_MAX, REGEX_PROGRAM_BYTES_MAX};
use crate::http::error::Error;
use crate::http::list::pagination;
use crate::http::list::pagination::Paging;
use crate::http::list::search::Search;
use crate::http::reply::json;
use crate::http::reply::{Freshness, Reply};
use crate::http::request::context::RequestContext;
use crate::http::shape::branch::BranchJson;
use crate::repo::{Branch, Project};

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
    let query = &context.query;
    let paging = Paging::of(query)?;
    let sort = Sort::parse(query.text("sort")?)?;
    let search = query.text("search")?.map(Search::parse);
    let regex = query.text("regex")?.map(expression).transpose()?;

    let mut branches = project.branches()?;
    let default = default_name(project)?;
    if let Some(search) = &search {
        branches.retain(|branch| search.matches(branch.name().as_str()));
    }
    if let Some(regex) = &regex {
        branches.retain(|branch| regex.is_match(branch.name().as_str()));
    }
    let place = |branch: &Branch| {
        let name = branch.name().as_str();
        let exact = search
            .as_ref()
            .is_some_and(|search| search.is_exactly(name));
        let at = branch.updated_at().ms();
        let rank = match sort {
            Sort::Name => 0,
            Sort::Oldest => at,
            Sort::Newest => -at,
        };
        (!exact, rank, name.to_owned())
    };
    let list = format!("branches/{}/{sort:?}", project.number());
    let (part, headers) = pagination::cut(context, &paging, &list, branches, place)?;
    let shown: Vec<_> = part
        .iter()
        .map(|branch| {
            let is_default = default.as_deref() == Some(branch.name().as_str());
            BranchJson::new(context, project, branch, is_default)
        })
        .collect::<Result<_, _>>()?;
    Ok(json::list(context, &shown, Freshness::Moving, &headers))
}

/// Shows one branch.
pub(super) fn show(
    context: &RequestContext,
    project: &Project,
    name: &str,
) -> Result<Reply, Error> {
    let name =
        BranchName::parse(name).map_err(|_| Error::malformed("The branch refname is invalid"))?;
    let branch = project.branch(&name)?;
    let is_default = default_name(project)?.as_deref() == Some(name.as_str());
    let shown = BranchJson::alone(context, project, &branch, is_default)?;
    Ok(json::object(context, &shown, Freshness::Moving))
}

/// Reads a regular expression. It is matched in linear time, and its program is bounded.
fn expression(text: &str) -> Result<regex::Regex, Error> {
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

fn default_name(project: &Project) -> Result<Option<String>, Error> {
    let default = project.default_branch()?;
    Ok(default.map(|branch| branch.name().to_string()))
}
