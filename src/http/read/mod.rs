//! The Read API: GitLab's repository API in shape, opened by a token (specification section 4.1,
//! contract section 5).
//!
//! Only tokens count here; a session cookie is not looked at.

mod account;
mod archive;
mod base64_json;
mod blob;
mod branches;
mod commit_json;
mod commits;
mod compare;
mod file;
mod json;
mod projects;
mod route;
mod token;
mod tree;

use hyper::StatusCode;
use serde::Serialize;

pub(super) use json::{BranchJson, EntryJson, file_mode};
use route::Resource;
pub(super) use route::Route;

use super::blocking;
use super::body::{RequestBody, has_type};
use super::call::Call;
use super::error::Error;
use super::names;
use super::reply::Reply;
use crate::base::at_hand;
use crate::base::limits::REQUEST_TARGET_BYTES_MAX;
use crate::repo::Project;

/// The answer of the health check.
#[derive(Debug, Serialize)]
struct Health {
    status: &'static str,
    time: String,
}

/// Answers a request of the Read API.
pub(super) async fn answer(
    mut call: Call,
    route: Route,
    body: &mut RequestBody,
) -> Result<Reply, Error> {
    merge_form(&mut call, body).await?;
    match route {
        Route::Health => {
            let health = Health {
                status: "ok",
                time: call.service.clock.now().to_string(),
            };
            Ok(Reply::json(StatusCode::OK, &health))
        }
        route => {
            // Moving to another thread and back costs several times what a short answer does.
            if is_short(&route)
                && let Some(reply) = at_hand::only(|| act(&call, &route))
            {
                return reply;
            }
            blocking::run(move || act(&call, &route)).await
        }
    }
}

/// True for an answer that costs about the same however large the branch is, so that it holds nobody
/// up when it can be made of what is in memory.
fn is_short(route: &Route) -> bool {
    let Route::Repository { resource, .. } = route else {
        return false;
    };
    matches!(
        resource,
        Resource::Raw(_) | Resource::File(_) | Resource::Branch(_)
    )
}

/// Authenticates, opens the project, acts.
fn act(call: &Call, route: &Route) -> Result<Reply, Error> {
    let holder = token::holder(call)?;
    let open = |project: &str| -> Result<_, Error> {
        Ok(call
            .gate()
            .open_by_token(&holder, &names::selector(project)?)?)
    };
    match route {
        Route::Health => Err(Error::NoRoute),
        Route::User => Ok(account::user(call, &holder)),
        Route::Token => Ok(account::token(call, &holder)),
        Route::Version => Ok(account::version(call)),
        Route::Projects => projects::list(call, &holder),
        Route::Project { project } => projects::show(call, &open(project)?),
        Route::Repository { project, resource } => show(call, &open(project)?, resource),
    }
}

/// Answers with something of a project's repository.
fn show(call: &Call, project: &Project, resource: &Resource) -> Result<Reply, Error> {
    match resource {
        Resource::Branches => branches::list(call, project),
        Resource::Branch(name) => branches::show(call, project, name),
        Resource::Tree => tree::list(call, project),
        Resource::File(path) => file::show(call, project, path),
        Resource::Raw(path) => file::raw(call, project, path),
        Resource::Blob(sha) => blob::show(call, project, sha),
        Resource::RawBlob(sha) => blob::raw(call, project, sha),
        Resource::Archive(format) => archive::send(call, project, *format),
        Resource::Commits => commits::list(call, project),
        Resource::Commit(reference) => commits::show(call, project, reference),
        Resource::Compare => compare::show(call, project),
    }
}

/// Takes the parameters that some clients put into the body of a `GET`.
async fn merge_form(call: &mut Call, body: &mut RequestBody) -> Result<(), Error> {
    if body.announced() == Some(0) {
        return Ok(());
    }
    if !has_type(&call.head, "application/x-www-form-urlencoded") {
        return body.refuse();
    }
    let form = body.collect(REQUEST_TARGET_BYTES_MAX).await?;
    let form = std::str::from_utf8(&form).map_err(|_| Error::malformed("the form is not UTF-8"))?;
    call.query.merge_form(form)
}
