//! `GET /projects/<project>/repository/branches` and `…/branches/<name>`

use std::sync::Arc;
use std::time::{Duration, Instant};

use regex::{Regex, RegexBuilder};

use super::{kept, token};
use crate::access::ProjectSelector;
use crate::base::branch_name::BranchName;
use crate::base::limits::{BRANCHES_FILTER_MS_MAX, REGEX_BYTES_MAX, REGEX_PROGRAM_BYTES_MAX};
use crate::http::error::Error;
use crate::http::list::branches::{Audience, ListedBranches};
use crate::http::list::pagination::{self, PageHeaders, Paging};
use crate::http::list::search::Search;
use crate::http::list::stream;
use crate::http::reply::cache::RenderedKey;
use crate::http::reply::coding::Coding;
use crate::http::reply::rendered::Rendered;
use crate::http::reply::{Freshness, Reply, json};
use crate::http::request::context::RequestContext;
use crate::http::shape::branch::BranchJson;
use crate::repo::{Branch, BranchNames, Project};

/// About so many bytes are told of a branch.
const BRANCH_BYTES: usize = 1 << 10;

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

/// The answer of [`list`] if it is kept as a whole for the state that the project's branches are in.
pub(super) fn found_list(
    context: &RequestContext,
    project: &Project,
) -> Result<Option<Reply>, Error> {
    let kept = context.service.rendered.get(&list_key(context, project)?);
    Ok(kept.and_then(|kept| kept.whole_reply(context.headers())))
}

/// The answer of [`show`] if it is kept for that state.
pub(super) fn found(
    context: &RequestContext,
    project: &Project,
    name: &str,
) -> Result<Option<Reply>, Error> {
    kept::found(context, project, &key(context, project, name)?)
}

/// Lists branches by name or by the time of their commits; with `search` and `regex` those that match. An
/// exact match of `search` comes first.
///
/// # Limits
/// A list that is sent in more than [`BRANCHES_WHOLE_BYTES_MAX`](crate::base::limits::BRANCHES_WHOLE_BYTES_MAX) is made
/// once for its tag, which is kept, and for each client while it is sent.
pub(super) fn list(context: &RequestContext, project: &Project) -> Result<Reply, Error> {
    let key = list_key(context, project)?;
    let mut found = None;
    let rendered = context.service.rendered.get_or_render(&key, || {
        let mut listed = Listed::find(context, project)?;
        let rendered = listed.render(context, key.coding)?;
        found = Some(listed);
        Ok(rendered)
    })?;
    if let Some(reply) = rendered.whole_reply(context.headers()) {
        return Ok(reply);
    }
    let (listed, rendered) = if let Some(listed) = found {
        (listed, rendered)
    } else {
        let mut listed = Listed::find(context, project)?;
        // What is kept has the tag of what was found in the state of the key.
        let is_same = list_key(context, project)? == key;
        let rendered = if is_same {
            rendered
        } else {
            Arc::new(listed.render(context, key.coding)?)
        };
        (listed, rendered)
    };
    let whole = rendered.whole_reply(context.headers());
    Ok(whole.unwrap_or_else(|| {
        let body = stream::body(key.coding, listed.branches.into_parts(context));
        rendered.reply(context.headers()).with_pieces(body)
    }))
}

/// Shows one branch.
pub(super) fn show(
    context: &RequestContext,
    project: &Project,
    name: &str,
) -> Result<Reply, Error> {
    let key = key(context, project, name)?;
    let name =
        BranchName::parse(name).map_err(|_| Error::malformed("The branch refname is invalid"))?;
    kept::found_or_made(context, project, &key, || {
        let branch = project.branch(&name)?;
        let is_default = project.default_branch_name()?.as_deref() == Some(name.as_str());
        let shown = BranchJson::alone(context, project, &branch, is_default)?;
        json::shared(context, &shown, &[], Freshness::Moving, key.coding)
    })
}

/// By what a list is kept. One without pages has no links to others: whatever else is in its address, it is the same.
fn list_key(context: &RequestContext, project: &Project) -> Result<RenderedKey, Error> {
    let query = &context.query;
    let asked = match Paging::of(query)? {
        Paging::Whole | Paging::Plain => {
            let [sort, search, regex] = [
                query.text("sort")?,
                query.text("search")?,
                query.text("regex")?,
            ];
            format!(
                "branches {}\n{sort:?} {search:?} {regex:?}",
                context.mount_url()
            )
        }
        Paging::Numbered { .. } | Paging::From { .. } => context.url(),
    };
    kept::key(context, project, asked)
}

/// By what one branch is kept: nothing of the query is read for it.
fn key(context: &RequestContext, project: &Project, name: &str) -> Result<RenderedKey, Error> {
    let asked = format!("branch {}\n{name}", context.mount_url());
    kept::key(context, project, asked)
}

/// The branches of a list in its order, or those of a page of it.
struct Listed {
    branches: ListedBranches<Holders>,
    headers: PageHeaders,
}

impl Listed {
    fn find(context: &RequestContext, project: &Project) -> Result<Self, Error> {
        let query = &context.query;
        let paging = Paging::of(query)?;
        let sort = Sort::parse(query.text("sort")?)?;
        let search = query.text("search")?.map(Search::parse);
        let regex = query.text("regex")?.map(expression).transpose()?;

        let names = project.branch_names()?;
        let mut places = if search.is_none() && regex.is_none() {
            (0..names.len()).collect()
        } else {
            filtered(&names, |name| {
                search.as_ref().is_none_or(|search| search.matches(name))
                    && regex.as_ref().is_none_or(|regex| regex.is_match(name))
            })?
        };
        let mut ranks = Vec::new();
        if sort != Sort::Name {
            ranks.resize(names.len(), 0);
            for &place in &places {
                let branch = project.open_branches(&names, [place])?.pop();
                // By what is shown: a save of the same bytes is no commit.
                let commit = branch.map(|branch| branch.last_commit()).transpose()?;
                let at = commit.map_or(0, |commit| commit.at.ms());
                ranks[place] = if sort == Sort::Newest { -at } else { at };
            }
        }
        let key = |place: usize| {
            let name = names.name(place);
            let exact = search
                .as_ref()
                .is_some_and(|search| search.is_exactly(name));
            (!exact, ranks.get(place).copied().unwrap_or(0), name)
        };
        // The names rise already: without a rank or a match there is nothing to sort.
        if sort != Sort::Name || search.is_some() {
            places.sort_by_key(|&place| key(place));
        }
        let list = format!("branches/{}/{sort:?}", project.number());
        let (places, headers) = pagination::cut(context, &paging, &list, places, |&place| {
            let (other, rank, name) = key(place);
            (other, rank, name.to_owned())
        })?;
        let holders = Holders {
            default: project.default_among(&names)?,
        };
        Ok(Self {
            branches: ListedBranches::new(project.clone(), names, places, holders),
            headers,
        })
    }

    /// Makes it for its tag.
    fn render(&mut self, context: &RequestContext, coding: Coding) -> Result<Rendered, Error> {
        let room = context.room_to_list(self.branches.count().saturating_mul(BRANCH_BYTES))?;
        let list = self.branches.text(context, room, coding)?;
        json::shared_list(context, list, self.headers.lines(), coding)
    }
}

/// Who shows a token.
struct Holders {
    default: Option<Branch>,
}

impl Audience for Holders {
    type Shown = BranchJson;

    fn show(
        &self,
        context: &RequestContext,
        project: &Project,
        branch: &Branch,
    ) -> Result<BranchJson, Error> {
        let default = self.default.as_ref();
        let is_default = default.is_some_and(|default| default.name() == branch.name());
        BranchJson::new(context, project, branch, is_default)
    }

    /// Looks whether the token still counts, and opens the project.
    fn check(&self, context: &RequestContext, project: &Project) -> Result<(), Error> {
        let holder = token::known_holder(context)?.ok_or_else(Error::no_credential)?;
        let project = ProjectSelector::Number(project.number());
        context.gate().open_by_token(&holder, &project)?;
        Ok(())
    }
}

/// The places of the names that fit.
///
/// # Errors
/// [`Error::Overloaded`] after [`BRANCHES_FILTER_MS_MAX`].
fn filtered(names: &BranchNames, fits: impl Fn(&str) -> bool) -> Result<Vec<usize>, Error> {
    let until = Instant::now() + Duration::from_millis(BRANCHES_FILTER_MS_MAX);
    let mut places = Vec::new();
    for (place, name) in names.iter().enumerate() {
        if Instant::now() > until {
            return Err(Error::Overloaded("regex takes too long: use a simpler one"));
        }
        if fits(name) {
            places.push(place);
        }
    }
    Ok(places)
}

/// True for a list that may compute for long.
pub(super) fn list_takes_long(context: &RequestContext) -> Result<bool, Error> {
    Ok(context.query.text("regex")?.is_some())
}

/// Reads a regular expression. Its program is bounded, and goes over each letter of a name once.
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
