//! `GET /projects` and `GET /projects/<project>`

use std::cmp::Reverse;

use serde::Serialize;

use super::kept;
use crate::access::TokenHolder;
use crate::base::repo_id::RepoId;
use crate::http::error::Error;
use crate::http::list::links::project_url;
use crate::http::list::pagination;
use crate::http::list::pagination::Paging;
use crate::http::reply::cache::RenderedKey;
use crate::http::reply::json;
use crate::http::reply::{Freshness, Reply};
use crate::http::request::context::RequestContext;
use crate::http::request::query::Query;
use crate::repo::Project;

/// A project, with the fields of GitLab's that clients read.
#[derive(Debug, Serialize)]
struct ProjectJson<'a> {
    id: u64,
    description: Option<&'static str>,
    name: &'a str,
    name_with_namespace: String,
    path: &'a str,
    path_with_namespace: &'a str,
    created_at: String,
    default_branch: Option<String>,
    tag_list: [&'static str; 0],
    topics: [&'static str; 0],
    ssh_url_to_repo: &'static str,
    http_url_to_repo: String,
    web_url: String,
    readme_url: Option<&'static str>,
    avatar_url: Option<&'static str>,
    forks_count: u32,
    star_count: u32,
    last_activity_at: String,
    namespace: NamespaceJson<'a>,
    empty_repo: bool,
    archived: bool,
    visibility: &'static str,
    creator_id: u64,
    permissions: PermissionsJson,
}

/// What the holder of the token may do.
#[derive(Debug, Serialize)]
struct PermissionsJson {
    project_access: AccessJson,
    /// There are no groups to be a member of.
    group_access: Option<AccessJson>,
}

#[derive(Debug, Serialize)]
struct AccessJson {
    access_level: u32,
    notification_level: u32,
}

/// GitLab's "Reporter", who may read everything: publishers see that they cannot push.
const READ_ONLY: PermissionsJson = PermissionsJson {
    project_access: AccessJson {
        access_level: 20,
        notification_level: 0,
    },
    group_access: None,
};

#[derive(Debug, Serialize)]
struct NamespaceJson<'a> {
    id: u64,
    name: &'a str,
    path: &'a str,
    kind: &'static str,
    full_path: &'a str,
    parent_id: Option<u64>,
    avatar_url: Option<&'static str>,
    web_url: String,
}

impl<'a> ProjectJson<'a> {
    fn new(context: &RequestContext, project: &'a Project, owner: &'a str) -> Result<Self, Error> {
        let id = project.repo_id();
        let default = project.default_branch()?;
        // What stands before the last slash of the name is GitLab's group; without one the project is
        // its owner's.
        let (group, path) = match id.as_str().rsplit_once('/') {
            Some((group, path)) => (Some(group), path),
            None => (None, id.as_str()),
        };
        let name = id.name().rsplit('/').next().unwrap_or(id.name());
        let namespace = group.unwrap_or(owner);
        let url = project_url(context, project);
        Ok(Self {
            id: project.number(),
            description: None,
            name,
            name_with_namespace: format!("{} / {name}", namespace.replace('/', " / ")),
            path,
            path_with_namespace: id.as_str(),
            created_at: project.created_at().to_string(),
            empty_repo: default
                .as_ref()
                .is_none_or(|branch| branch.totals().files == 0),
            default_branch: default.map(|branch| branch.name().to_string()),
            tag_list: [],
            topics: [],
            ssh_url_to_repo: "",
            http_url_to_repo: url.clone(),
            web_url: url,
            readme_url: None,
            avatar_url: None,
            forks_count: 0,
            star_count: 0,
            last_activity_at: project.updated_at()?.to_string(),
            namespace: NamespaceJson {
                id: group.map_or(project.owner(), group_number),
                name: namespace.rsplit('/').next().unwrap_or(namespace),
                path: namespace.rsplit('/').next().unwrap_or(namespace),
                kind: if group.is_some() { "group" } else { "user" },
                full_path: namespace,
                parent_id: None,
                avatar_url: None,
                web_url: context.mount_url(),
            },
            archived: false,
            visibility: visibility(id),
            creator_id: project.owner(),
            permissions: READ_ONLY,
        })
    }
}

/// The number of a group, which no account has: theirs count from 1. It follows from the path, as there is no record
/// of a group. Its 30 bits keep it in an `i32`, which some clients read it into; two of 100 groups share one with a
/// probability of 1 to 200,000, of 1,000 groups of 1 to 2,000. Clients find groups by their path.
fn group_number(path: &str) -> u64 {
    let mut first = [0; 4];
    first.copy_from_slice(&blake3::hash(path.as_bytes()).as_bytes()[..4]);
    u64::from(u32::from_le_bytes(first) >> 2) + (1 << 30)
}

/// The answer of [`show`] if it is kept for the state that the project and its branches are in.
pub(super) fn found(context: &RequestContext, project: &Project) -> Result<Option<Reply>, Error> {
    let owner = context.gate().owner_name(project)?;
    kept::found(context, project, &key(context, project, &owner)?)
}

/// Shows a project.
pub(super) fn show(context: &RequestContext, project: &Project) -> Result<Reply, Error> {
    let owner = context.gate().owner_name(project)?;
    let key = key(context, project, &owner)?;
    kept::found_or_made(context, project, &key, || {
        let shown = ProjectJson::new(context, project, &owner)?;
        json::shared(context, &shown, &[], Freshness::Moving, key.coding)
    })
}

/// By what a project is kept. The name of its owner is in it, and is no part of its state.
fn key(context: &RequestContext, project: &Project, owner: &str) -> Result<RenderedKey, Error> {
    let asked = format!("project {}\n{owner}", context.mount_url());
    kept::key(context, project, asked)
}

/// What is told of who sees a project: one that is public is for all who have an account.
fn visibility(id: &RepoId) -> &'static str {
    if id.is_public() {
        "internal"
    } else {
        "private"
    }
}

/// Which projects of a list are wanted.
struct Filter<'a> {
    /// What their identifiers have in them, whatever its case.
    search: Option<String>,
    /// Their numbers lie beyond these.
    id_after: Option<u64>,
    id_before: Option<u64>,
    visibility: Option<&'a str>,
    /// The account that owns them.
    owner: Option<u64>,
    /// Only those that are archived, which none is.
    archived: bool,
}

impl<'a> Filter<'a> {
    fn of(query: &'a Query, holder: &TokenHolder) -> Result<Self, Error> {
        let number = |key: &'static str| -> Result<Option<u64>, Error> {
            let invalid = |_| Error::Malformed(format!("{key} is invalid"));
            let text = query.text(key)?;
            text.map(|text| text.parse().map_err(invalid)).transpose()
        };
        let visibility = query.text("visibility")?;
        if visibility.is_some_and(|text| !["public", "internal", "private"].contains(&text)) {
            return Err(Error::malformed("visibility does not have a valid value"));
        }
        Ok(Self {
            search: query.text("search")?.map(str::to_lowercase),
            id_after: number("id_after")?,
            id_before: number("id_before")?,
            visibility,
            owner: query.flag("owned")?.then(|| holder.owner().number()),
            archived: query.flag("archived")?,
        })
    }

    fn takes(&self, project: &Project) -> bool {
        let id = project.repo_id();
        let name = id.as_str().to_lowercase();
        self.search.as_ref().is_none_or(|part| name.contains(part))
            && self.id_after.is_none_or(|after| project.number() > after)
            && self
                .id_before
                .is_none_or(|before| project.number() < before)
            && self
                .visibility
                .is_none_or(|wanted| wanted == visibility(id))
            && self.owner.is_none_or(|owner| project.owner() == owner)
            && !self.archived
    }
}

/// About so many bytes are told of a project.
const PROJECT_BYTES: usize = 1 << 10;

/// What a list of projects is ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Number,
    Name,
    Path,
    Made,
    Activity,
    /// How much of the identifier is what was searched for: the shorter it is, the more.
    Similarity,
}

impl Order {
    fn parse(text: &str) -> Result<Self, Error> {
        match text {
            // Nobody gives stars.
            "id" | "star_count" => Ok(Self::Number),
            "name" => Ok(Self::Name),
            "path" => Ok(Self::Path),
            "created_at" => Ok(Self::Made),
            "updated_at" | "last_activity_at" => Ok(Self::Activity),
            "similarity" => Ok(Self::Similarity),
            _ => Err(Error::malformed("order_by does not have a valid value")),
        }
    }

    /// The place of a project in a list that rises.
    fn place(self, project: &Project) -> Result<Place, Error> {
        let id = project.repo_id();
        let (text, rank) = match self {
            Self::Number => (String::new(), 0),
            Self::Name => (id.name().to_lowercase(), 0),
            Self::Path => (id.to_string(), 0),
            Self::Made => (String::new(), project.created_at().ms()),
            Self::Activity => (String::new(), project.updated_at()?.ms()),
            Self::Similarity => {
                let letters = i64::try_from(id.as_str().chars().count()).unwrap_or(i64::MAX);
                (String::new(), -letters)
            }
        };
        Ok((text, rank, project.number()))
    }
}

/// A place in the list: what it is ordered by, a text or a number, then the project's number.
type Place = (String, i64, u64);

/// Lists the projects that the token opens, of which a [`Filter`] may take some. As at GitLab the newest comes first,
/// unless `order_by` and `sort` say otherwise, and also where they are ordered by their similarity to a search that is
/// not there. `membership` and `simple` make no difference: the holder may read all of them, and the short form is a
/// part of the long one.
pub(super) fn list(context: &RequestContext, holder: &TokenHolder) -> Result<Reply, Error> {
    let query = &context.query;
    let paging = Paging::of(query)?;
    let order_by = match query.text("order_by")? {
        Some("similarity") if query.text("search")?.is_none() => "created_at",
        given => given.unwrap_or("created_at"),
    };
    let order = Order::parse(order_by)?;
    let falling = match query.text("sort")? {
        None | Some("desc") => true,
        Some("asc") => false,
        Some(_) => return Err(Error::malformed("sort does not have a valid value")),
    };
    let filter = Filter::of(query, holder)?;
    let found = context
        .gate()
        .projects_by_token(holder, |project| filter.takes(project))?;
    let room_for = |projects: usize| context.room_to_list(projects.saturating_mul(PROJECT_BYTES));
    // By their activity the branches of all are read before a page is cut.
    let room = match order {
        Order::Activity => room_for(found.len())?,
        _ => None,
    };
    let mut projects = Vec::with_capacity(found.len());
    for project in found {
        projects.push((order.place(&project)?, project));
    }
    let list = format!("projects/{order_by}/{falling}");
    projects.sort_by(|(a, _), (b, _)| if falling { b.cmp(a) } else { a.cmp(b) });
    let (part, headers) = if falling {
        let place = |(place, _): &(Place, Project)| Reverse(place.clone());
        pagination::cut(context, &paging, &list, projects, place)?
    } else {
        pagination::cut(context, &paging, &list, projects, |(place, _)| {
            place.clone()
        })?
    };
    let _room = match room {
        None => room_for(part.len())?,
        room => room,
    };
    let mut owners = Vec::with_capacity(part.len());
    for (_, project) in &part {
        owners.push(context.gate().owner_name(project)?);
    }
    let shown: Vec<_> = part
        .iter()
        .zip(&owners)
        .map(|((_, project), owner)| ProjectJson::new(context, project, owner))
        .collect::<Result<_, _>>()?;
    json::respond(context, &shown, Freshness::Moving, headers.lines())
}
