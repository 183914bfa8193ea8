//! The Read API: GitLab's repository API in shape, opened by a token (specification section 4.1,
//! contract section 5).
//!
//! Only tokens count here; a session cookie is not looked at.

mod account;
mod archive;
mod base64_json;
mod blob;
mod branches;
mod commits;
mod compare;
mod diffs;
mod file;
mod projects;
mod stats;
mod token;
mod tree;

use hyper::StatusCode;
use serde::Serialize;

use super::error::Error;
use super::reply::Reply;
use super::request::body::{RequestBody, has_type};
use super::request::context::RequestContext;
use super::request::params;
use super::route::read::{Resource, Route};
use crate::base::limits::REQUEST_TARGET_BYTES_MAX;
use crate::base::may_block;
use crate::repo::Project;

/// The answer of the health check.
#[derive(Debug, Serialize)]
struct Health {
    status: &'static str,
    time: String,
}

/// Answers a request of the Read API.
pub(in crate::http) async fn respond(
    mut context: RequestContext,
    route: Route,
    body: &mut RequestBody,
) -> Result<Reply, Error> {
    merge_form(&mut context, body).await?;
    if is_short(&route) {
        // What is not in memory leaves this thread by itself.
        act(&context, &route)
    } else {
        may_block(|| act(&context, &route))
    }
}

/// True for an answer that takes microseconds when what it needs is in memory.
fn is_short(route: &Route) -> bool {
    match route {
        Route::Health => true,
        Route::Repository { resource, .. } => matches!(
            resource,
            Resource::Raw(_)
                | Resource::File(_)
                | Resource::Branch(_)
                | Resource::Branches
                | Resource::Tree
        ),
        _ => false,
    }
}

/// Authenticates, opens the project, acts.
fn act(context: &RequestContext, route: &Route) -> Result<Reply, Error> {
    if matches!(route, Route::Health) {
        let health = Health {
            status: "ok",
            time: context.service.clock.now().to_string(),
        };
        return Ok(Reply::json(StatusCode::OK, &health));
    }
    let holder = token::holder(context)?;
    let open = |project: &str| -> Result<_, Error> {
        Ok(context
            .gate()
            .open_by_token(&holder, &params::selector(project)?)?)
    };
    match route {
        Route::Health => Err(Error::NoRoute),
        Route::User => Ok(account::user(context, &holder)),
        Route::Token => Ok(account::token(context, &holder)),
        Route::Version => Ok(account::version(context)),
        Route::Projects => projects::list(context, &holder),
        Route::Project { project } => projects::show(context, &open(project)?),
        Route::Repository { project, resource } => show(context, &open(project)?, resource),
    }
}

/// Answers with something of a project's repository.
fn show(context: &RequestContext, project: &Project, resource: &Resource) -> Result<Reply, Error> {
    match resource {
        Resource::Branches => branches::list(context, project),
        Resource::Branch(name) => branches::show(context, project, name),
        Resource::Tree => tree::list(context, project),
        Resource::File(path) => file::show(context, project, path),
        Resource::Raw(path) => file::raw(context, project, path),
        Resource::Blob(sha) => blob::show(context, project, sha),
        Resource::RawBlob(sha) => blob::raw(context, project, sha),
        Resource::Archive(format) => archive::send(context, project, *format),
        Resource::Commits => commits::list(context, project),
        Resource::Commit(reference) => commits::show(context, project, reference),
        Resource::CommitDiff(reference) => commits::diff(context, project, reference),
        Resource::CommitRefs(reference) => commits::refs(context, project, reference),
        Resource::Compare => compare::show(context, project),
    }
}

/// Takes the parameters that some clients put into the body of a `GET`. A body of another type says
/// nothing, and is not looked at.
async fn merge_form(context: &mut RequestContext, body: &mut RequestBody) -> Result<(), Error> {
    if body.announced() == Some(0) || !has_type(&context.head, "application/x-www-form-urlencoded")
    {
        return Ok(());
    }
    let form = body.collect(REQUEST_TARGET_BYTES_MAX).await?;
    let form = std::str::from_utf8(&form).map_err(|_| Error::malformed("the form is not UTF-8"))?;
    context.query.merge_form(form)
}
