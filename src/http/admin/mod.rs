//! The Admin API: what the web application does for somebody who is logged in (specification section
//! 4.2, contract section 6).
//!
//! Only the session cookie counts here; a token is not looked at. A change is checked twice: before
//! its body is read, so that a refusal costs nothing, and right before it is made, because a right may
//! have gone while the body came.

mod audit;
mod batch;
mod branches;
mod deleted;
mod diff;
mod files;
mod history;
mod projects;
mod rollback;
mod tokens;

use bytes::Bytes;

use super::route::admin::Route;
use super::route::admin::{BranchAt, Takes};

use super::blocking;
use super::error::Error;
use super::reply::Reply;
use super::request::body::{RequestBody, check_encoding, check_json, has_type};
use super::request::context::{RequestContext, Who};
use super::request::{cross_site, params, upload};
use crate::access::{Caller, Right};
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
pub(in crate::http) async fn respond(
    context: RequestContext,
    route: Route,
    body: &mut RequestBody,
) -> Result<Reply, Error> {
    cross_site::check(context.headers(), context.peer, context.settings())?;
    context.query.only(route.parameters())?;
    let payload = payload(&context, &route, body).await?;
    // Nothing is awaited between the check and the reply: a client that leaves cuts no change in two.
    let act = || act(&context, &route, payload);
    let long = &context.service.long;
    if let Route::Diff { .. } | Route::Audit | Route::Deleted = route {
        let place = long.enter(caller(&context)?.account(), None)?;
        return place.run(act).await;
    }
    let reply = blocking::in_place(&context.service.threads, act).await?;
    if reply.is_made_while_sent() {
        let place = long.enter(caller(&context)?.account(), None)?;
        return Ok(reply.in_turns(place));
    }
    Ok(reply)
}

/// Reads the body that the route takes, if the caller may do there what the route does.
async fn payload(
    context: &RequestContext,
    route: &Route,
    body: &mut RequestBody,
) -> Result<Payload, Error> {
    match route.takes() {
        Takes::NothingOfInterest => Ok(Payload::None),
        Takes::Nothing => {
            body.refuse()?;
            Ok(Payload::None)
        }
        Takes::JsonOrNothing if body.announced() == Some(0) => Ok(Payload::None),
        Takes::Json | Takes::JsonOrNothing => {
            admit(context, route, body)?;
            check_json(&context.head)?;
            check_encoding(&context.head)?;
            Ok(Payload::Json(body.collect_soon(JSON_BYTES_MAX).await?))
        }
        Takes::File => {
            admit(context, route, body)?;
            check_encoding(&context.head)?;
            Ok(Payload::File(upload::receive(context, body).await?))
        }
        Takes::Batch => {
            admit(context, route, body)?;
            check_encoding(&context.head)?;
            let is_tar = has_type(&context.head, "application/x-tar");
            if !is_tar {
                check_json(&context.head).map_err(|_| {
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
fn admit(context: &RequestContext, route: &Route, body: &mut RequestBody) -> Result<(), Error> {
    let caller = caller(context)?;
    body.count_for(&context.service.bodies, caller.account());
    match route {
        Route::CreateBranch { project } => {
            writer(context, &caller, project, Right::Write)?;
        }
        Route::SaveFile { at, path } => {
            files::admit(context, &caller, at, path, body.is_short())?;
        }
        Route::Batch { at } => batch::admit(context, &caller, at)?,
        _ => {}
    }
    Ok(())
}

/// Authenticates, opens, acts.
fn act(context: &RequestContext, route: &Route, payload: Payload) -> Result<Reply, Error> {
    let caller = &caller(context)?;
    match (route, payload) {
        (Route::Projects, _) => projects::list(context, caller),
        (Route::CreateProject, Payload::Json(json)) => projects::create(context, caller, &json),
        (Route::Project { project }, _) => projects::show(context, caller, project),
        (Route::DeleteProject { project }, _) => projects::delete(context, caller, project),
        (Route::Branches { project }, _) => branches::list(context, caller, project),
        (Route::CreateBranch { project }, Payload::Json(json)) => {
            branches::create(context, caller, project, &json)
        }
        (Route::DeleteBranch { at }, _) => branches::delete(context, caller, at),
        (Route::Tree { state }, _) => files::tree(context, caller, state),
        (Route::File { state, path }, _) => files::raw(context, caller, state, path),
        (Route::SaveFile { at, path }, Payload::File(file)) => {
            files::save(context, caller, at, path, file)
        }
        (Route::DeleteFile { at, path }, _) => files::delete(context, caller, at, path),
        (Route::Batch { at }, Payload::Json(json)) => batch::json(context, caller, at, &json),
        (Route::Batch { at }, Payload::Tar(tar)) => batch::tar(context, caller, at, &tar),
        (Route::History { at }, _) => history::list(context, caller, at),
        (Route::Diff { at }, _) => diff::show(context, caller, at),
        (Route::Rollback { at }, _) => rollback::restore(context, caller, at),
        (Route::Audit, _) => audit::list(context, caller),
        (Route::Tokens, _) => tokens::list(context, caller),
        (Route::CreateToken, Payload::Json(json)) => tokens::create(context, caller, &json),
        (Route::ChangeToken { id }, Payload::Json(json)) => {
            tokens::change(context, caller, id, &json)
        }
        (Route::Deleted, _) => deleted::list(context, caller),
        (Route::Restore { id }, Payload::Json(json)) => {
            deleted::restore(context, caller, id, Some(&json))
        }
        (Route::Restore { id }, _) => deleted::restore(context, caller, id, None),
        (Route::RevokeToken { id }, _) => tokens::revoke(context, caller, id),
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
fn caller(context: &RequestContext) -> Result<Caller, Error> {
    let cookie = context.cookie().read(context.headers());
    let cookie = cookie.ok_or_else(Error::no_credential)?;
    let caller = context.gate().session(&cookie)?.at(context.client);
    context.note(Who::Caller(caller.clone()));
    Ok(caller)
}

/// Opens a project for reading.
fn open(context: &RequestContext, caller: &Caller, project: &str) -> Result<Project, Error> {
    Ok(context.gate().open(caller, &params::repo_id(project)?)?)
}

/// Opens the branch of a project for reading.
fn open_branch(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
) -> Result<(Project, Branch), Error> {
    let name = params::branch(&at.branch)?;
    let project = open(context, caller, &at.project)?;
    let branch = project.branch(&name)?;
    Ok((project, branch))
}

/// Opens a project for a change.
fn writer(
    context: &RequestContext,
    caller: &Caller,
    project: &str,
    action: Right,
) -> Result<ProjectWriter, Error> {
    Ok(context
        .gate()
        .open_to_change(caller, &params::repo_id(project)?, action)?)
}
