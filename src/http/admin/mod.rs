//! The Admin API: what the web application does for somebody who is logged in (specification section
//! 4.2, contract section 6).
//!
//! Only the session cookie counts here; a token is not looked at. A change is checked twice: before
//! its body is read, so that a refusal costs nothing, and right before it is made, because a right may
//! have gone while the body came.

mod batch;
mod branches;
mod diff;
mod files;
mod history;
mod projects;
mod rollback;
mod route;
mod tokens;

use std::sync::Arc;

use bytes::Bytes;

pub(super) use route::Route;
use route::{BranchAt, Takes};

use super::body::{RequestBody, check_encoding, check_json, has_type};
use super::call::Call;
use super::error::Error;
use super::reply::Reply;
use super::{blocking, cross_site, names, upload};
use crate::access::{Action, Caller};
use crate::base::at_hand;
use crate::base::limits::{BATCH_BYTES_MAX, JSON_BYTES_MAX};
use crate::repo::{Branch, NewFile, Project, ProjectWriter};

/// A body as its route takes it.
#[derive(Debug)]
enum Payload {
    None,
    Json(Bytes),
    Tar(Bytes),
    File(NewFile),
}

/// Answers a request of the Admin API.
pub(super) async fn answer(
    call: Call,
    route: Route,
    body: &mut RequestBody,
) -> Result<Reply, Error> {
    cross_site::check(call.headers(), call.settings().external_url.as_deref())?;
    call.query.only(route.parameters())?;
    let (call, route) = (Arc::new(call), Arc::new(route));
    let payload = payload(&call, &route, body).await?;
    blocking::run(move || act(&call, &route, payload)).await
}

/// Reads the body that the route takes, if the caller may do there what the route does.
async fn payload(
    call: &Arc<Call>,
    route: &Arc<Route>,
    body: &mut RequestBody,
) -> Result<Payload, Error> {
    let admitted = async || {
        if let Some(admitted) = at_hand::only(|| admit(call, route)) {
            return admitted;
        }
        let (call, route) = (Arc::clone(call), Arc::clone(route));
        blocking::run(move || admit(&call, &route)).await
    };
    match route.takes() {
        Takes::NothingOfInterest => Ok(Payload::None),
        Takes::Nothing => {
            body.refuse()?;
            Ok(Payload::None)
        }
        Takes::Json => {
            admitted().await?;
            check_json(&call.head)?;
            check_encoding(&call.head)?;
            Ok(Payload::Json(body.collect(JSON_BYTES_MAX).await?))
        }
        Takes::File => {
            admitted().await?;
            check_encoding(&call.head)?;
            Ok(Payload::File(upload::receive(call, body).await?))
        }
        Takes::Batch => {
            admitted().await?;
            check_encoding(&call.head)?;
            let is_tar = has_type(&call.head, "application/x-tar");
            if !is_tar {
                check_json(&call.head).map_err(|_| {
                    Error::MediaType("the body must be application/json or application/x-tar")
                })?;
            }
            let bytes = body.collect(BATCH_BYTES_MAX).await?;
            Ok(if is_tar {
                Payload::Tar(bytes)
            } else {
                Payload::Json(bytes)
            })
        }
    }
}

/// Refuses what would be refused after the body, too.
fn admit(call: &Call, route: &Route) -> Result<(), Error> {
    let caller = caller(call)?;
    match route {
        Route::CreateBranch { project } => {
            writer(call, &caller, project, Action::Write)?;
        }
        Route::SaveFile { at, path } => files::admit(call, &caller, at, path)?,
        Route::Batch { at } => batch::admit(call, &caller, at)?,
        _ => {}
    }
    Ok(())
}

/// Authenticates, opens, acts.
fn act(call: &Call, route: &Route, payload: Payload) -> Result<Reply, Error> {
    let caller = &caller(call)?;
    match (route, payload) {
        (Route::Projects, _) => projects::list(call, caller),
        (Route::CreateProject, Payload::Json(json)) => projects::create(call, caller, &json),
        (Route::Project { project }, _) => projects::show(call, caller, project),
        (Route::DeleteProject { project }, _) => projects::delete(call, caller, project),
        (Route::Branches { project }, _) => branches::list(call, caller, project),
        (Route::CreateBranch { project }, Payload::Json(json)) => {
            branches::create(call, caller, project, &json)
        }
        (Route::DeleteBranch { at }, _) => branches::delete(call, caller, at),
        (Route::Tree { state }, _) => files::tree(call, caller, state),
        (Route::File { state, path }, _) => files::raw(call, caller, state, path),
        (Route::SaveFile { at, path }, Payload::File(file)) => {
            files::save(call, caller, at, path, file)
        }
        (Route::DeleteFile { at, path }, _) => files::delete(call, caller, at, path),
        (Route::Batch { at }, Payload::Json(json)) => batch::json(call, caller, at, &json),
        (Route::Batch { at }, Payload::Tar(tar)) => batch::tar(call, caller, at, &tar),
        (Route::History { at }, _) => history::list(call, caller, at),
        (Route::Diff { at }, _) => diff::show(call, caller, at),
        (Route::Rollback { at }, _) => rollback::restore(call, caller, at),
        (Route::Tokens, _) => tokens::list(call, caller),
        (Route::CreateToken, Payload::Json(json)) => tokens::create(call, caller, &json),
        (Route::ChangeToken { id }, Payload::Json(json)) => tokens::change(call, caller, id, &json),
        (Route::RevokeToken { id }, _) => tokens::revoke(call, caller, id),
        (
            Route::CreateProject
            | Route::CreateBranch { .. }
            | Route::SaveFile { .. }
            | Route::Batch { .. }
            | Route::CreateToken
            | Route::ChangeToken { .. },
            _,
        ) => Err(Error::malformed("the body is missing")),
    }
}

/// Who is logged in.
fn caller(call: &Call) -> Result<Caller, Error> {
    let cookie = call.service.cookie.read(call.headers());
    let cookie = cookie.ok_or_else(Error::no_credential)?;
    Ok(call.gate().session(&cookie)?)
}

/// Opens a project for reading.
fn open(call: &Call, caller: &Caller, project: &str) -> Result<Project, Error> {
    Ok(call.gate().open(caller, &names::repo_id(project)?)?)
}

/// Opens the branch of a project for reading.
fn open_branch(call: &Call, caller: &Caller, at: &BranchAt) -> Result<(Project, Branch), Error> {
    let name = names::branch(&at.branch)?;
    let project = open(call, caller, &at.project)?;
    let branch = project.branch(&name)?;
    Ok((project, branch))
}

/// Opens a project for a change.
fn writer(
    call: &Call,
    caller: &Caller,
    project: &str,
    action: Action,
) -> Result<ProjectWriter, Error> {
    Ok(call
        .gate()
        .open_to_change(caller, &names::repo_id(project)?, action)?)
}
