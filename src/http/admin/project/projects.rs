//! Projects.

use hyper::StatusCode;
use serde::{Deserialize, Serialize};

use crate::access::{Caller, ProjectRights, Right};
use crate::base::repo_id::RepoId;
use crate::http::admin::open::{open, writer};
use crate::http::error::Error;
use crate::http::list::pagination;
use crate::http::list::pagination::Paging;
use crate::http::reply::{Reply, json};
use crate::http::request::context::RequestContext;
use crate::http::request::{conditions, json_body, params};
use crate::repo::Project;

/// About so many bytes are told of a project.
const PROJECT_BYTES: usize = 512;

/// A project.
#[derive(Debug, Serialize)]
struct ProjectJson {
    repo_id: String,
    id: u64,
    name: String,
    #[serde(rename = "type")]
    kind: String,
    owner: String,
    default_branch: Option<String>,
    branches: u64,
    files: u64,
    bytes: u64,
    created_at: String,
    updated_at: String,
    updated_by: Option<String>,
    permissions: ProjectRights,
}

impl ProjectJson {
    fn new(project: &Project, owner: String, permissions: ProjectRights) -> Result<Self, Error> {
        let id = project.repo_id();
        let overview = project.overview()?;
        Ok(Self {
            repo_id: id.to_string(),
            id: project.number(),
            name: id.name().to_owned(),
            kind: id.kind().to_owned(),
            owner,
            default_branch: overview.default_branch.map(|name| name.to_string()),
            branches: overview.branches,
            files: overview.files,
            bytes: overview.bytes,
            created_at: project.created_at().to_string(),
            updated_at: overview.updated_at.to_string(),
            updated_by: overview.updated_by,
            permissions,
        })
    }
}

/// What a creation sends.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewProject {
    name: String,
    #[serde(rename = "type")]
    kind: String,
}

/// `GET /projects`, whole or in GitLab's pages, by identifier. `search` is a part of that, in any case.
pub(super) fn list(context: &RequestContext, caller: &Caller) -> Result<Reply, Error> {
    let accessible = is_accessible(context)?;
    let paging = Paging::of(&context.query)?;
    let search = context.query.text("search")?.unwrap_or_default();
    let search = search.to_lowercase();
    let wanted =
        |id: &RepoId| search.is_empty() || id.as_str().to_lowercase().contains(search.as_str());
    let projects = context.gate().projects(caller, accessible, wanted)?;
    let list = format!("own projects/{accessible}/{search}");
    let place = |(project, _): &(Project, String)| project.repo_id().to_string();
    let (part, headers) = pagination::cut(context, &paging, &list, projects, place)?;
    let rights = caller.account().rights();
    let _room = context.room_to_list(part.len().saturating_mul(PROJECT_BYTES))?;
    let shown = part.into_iter().map(|(project, owner)| {
        let permissions = rights.on(project.owner(), project.repo_id());
        ProjectJson::new(&project, owner, permissions)
    });
    json::list_of(context, shown, headers.lines())
}

/// True if a list is wanted of all that the caller's roles open.
pub(super) fn is_accessible(context: &RequestContext) -> Result<bool, Error> {
    match context.query.text("scope")? {
        None => Ok(false),
        Some("accessible") => Ok(true),
        Some(_) => Err(Error::malformed(
            "scope is invalid: it can be \"accessible\"",
        )),
    }
}

/// `POST /projects`
pub(super) fn create(
    context: &RequestContext,
    caller: &Caller,
    body: &[u8],
) -> Result<Reply, Error> {
    conditions::check_new(context.headers())?;
    let NewProject { name, kind } = json_body::read(body)?;
    let project = context
        .gate()
        .create_project(caller, &RepoId::new(&name, &kind)?)?;
    shown(context, caller, StatusCode::CREATED, &project).map_err(Error::after_change)
}

/// `GET /projects/<project>`
pub(super) fn show(
    context: &RequestContext,
    caller: &Caller,
    project: &str,
) -> Result<Reply, Error> {
    let project = open(context, caller, project)?;
    shown(context, caller, StatusCode::OK, &project)
}

/// What a change sends: the name, the type or both; or the owner.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Changes {
    #[serde(default, deserialize_with = "json_body::given")]
    name: Option<String>,
    #[serde(default, rename = "type", deserialize_with = "json_body::given")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "json_body::given")]
    owner: Option<String>,
}

/// `PATCH /projects/<project>`
pub(super) fn change(
    context: &RequestContext,
    caller: &Caller,
    project: &str,
    body: &[u8],
) -> Result<Reply, Error> {
    conditions::check_untagged(context.headers())?;
    let id = params::repo_id(project)?;
    let gate = context.gate();
    let changed = match json_body::read(body)? {
        Changes {
            name: None,
            kind: None,
            owner: Some(owner),
        } => gate.transfer_project(caller, &id, &owner)?,
        Changes {
            name,
            kind,
            owner: None,
        } if name.is_some() || kind.is_some() => {
            let name = name.as_deref().unwrap_or(id.name());
            let new_id = RepoId::new(name, kind.as_deref().unwrap_or(id.kind()))?;
            gate.rename_project(caller, &id, &new_id)?
        }
        _ => {
            return Err(Error::malformed(
                "name, type or both must be given; or owner, by itself",
            ));
        }
    };
    shown(context, caller, StatusCode::OK, &changed).map_err(Error::after_change)
}

/// `DELETE /projects/<project>`
pub(super) fn delete(
    context: &RequestContext,
    caller: &Caller,
    project: &str,
) -> Result<Reply, Error> {
    let project = writer(context, caller, project, Right::Delete)?;
    conditions::check_untagged(context.headers())?;
    project.delete_project()?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

pub(super) fn shown(
    context: &RequestContext,
    caller: &Caller,
    status: StatusCode,
    project: &Project,
) -> Result<Reply, Error> {
    let owner = context.gate().owner_name(project)?;
    let shown = ProjectJson::new(project, owner, caller.rights_on(project))?;
    Ok(Reply::json(status, &shown))
}
