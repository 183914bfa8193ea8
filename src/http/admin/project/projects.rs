//! Projects.

use hyper::StatusCode;
use serde::{Deserialize, Serialize};

use crate::access::{Caller, Right};
use crate::base::repo_id::RepoId;
use crate::http::admin::open::{open, writer};
use crate::http::error::Error;
use crate::http::list::pagination;
use crate::http::list::pagination::Paging;
use crate::http::reply::Reply;
use crate::http::request::context::RequestContext;
use crate::http::request::{conditions, json_body};
use crate::repo::Project;

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
    created_at: String,
    updated_at: String,
}

impl ProjectJson {
    fn new(project: &Project, owner: String) -> Result<Self, Error> {
        let id = project.repo_id();
        let default = project.default_branch()?;
        Ok(Self {
            repo_id: id.to_string(),
            id: project.number(),
            name: id.name().to_owned(),
            kind: id.kind().to_owned(),
            owner,
            default_branch: default.map(|branch| branch.name().to_string()),
            created_at: project.created_at().to_string(),
            updated_at: project.updated_at()?.to_string(),
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

/// `GET /projects`, whole or in GitLab's pages, by identifier.
pub(super) fn list(context: &RequestContext, caller: &Caller) -> Result<Reply, Error> {
    let accessible = is_accessible(context)?;
    let paging = Paging::of(&context.query)?;
    let projects = context.gate().projects(caller, accessible)?;
    let list = format!("own projects/{accessible}");
    let place = |(project, _): &(Project, String)| project.repo_id().to_string();
    let (part, headers) = pagination::cut(context, &paging, &list, projects, place)?;
    let shown: Vec<_> = part
        .into_iter()
        .map(|(project, owner)| ProjectJson::new(&project, owner))
        .collect::<Result<_, _>>()?;
    let mut reply = Reply::json(StatusCode::OK, &shown);
    for (name, value) in headers.lines() {
        reply = reply.with(name.clone(), value.clone());
    }
    Ok(reply)
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
    shown(context, StatusCode::CREATED, &project)
}

/// `GET /projects/<project>`
pub(super) fn show(
    context: &RequestContext,
    caller: &Caller,
    project: &str,
) -> Result<Reply, Error> {
    shown(context, StatusCode::OK, &open(context, caller, project)?)
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
    status: StatusCode,
    project: &Project,
) -> Result<Reply, Error> {
    let owner = context.gate().owner_name(project)?;
    Ok(Reply::json(status, &ProjectJson::new(project, owner)?))
}
