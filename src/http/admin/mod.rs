//! The Admin API: what the web application does for somebody who is logged in (specification section
//! 4.2, contract section 6).
//!
//! Only the session cookie counts here; a token is not looked at. A change is checked twice: before
//! its body is read, so that a refusal costs nothing, and right before it is made, because a right may
//! have gone while the body came.

mod account;
mod branch;
mod form;
mod open;
mod payload;
mod project;
mod receive;
mod unzip;

use payload::Payload;

use super::admission::long::LongPermit;
use super::blocking::Kind;
use super::error::Error;
use super::login;
use super::reply::Reply;
use super::request::body::RequestBody;
use super::request::context::RequestContext;
use super::request::{cross_site, params};
use super::route::admin::{Route, branch as branch_route, project as project_route};
use crate::base::limits::{COMMITS_PASSED_MAX, INLINE_BYTES_MAX};
use crate::repo::Project;

/// Answers a request of the Admin API.
pub(in crate::http) async fn respond(
    context: &mut RequestContext,
    route: Route,
    body: &mut RequestBody,
) -> Result<Reply, Error> {
    cross_site::check(context.headers(), context.peer, context.settings())?;
    context.query.only(route.parameters())?;
    login::look_first(context).await?;
    let payload = receive::receive(context, &route, body).await?;
    let route = match route {
        Route::Branch(at, branch_route::Route::Show) if branch::watch::is_asked(context) => {
            return branch::watch::respond(context, at).await;
        }
        Route::Branch(at, branch_route::Route::Events) => {
            return branch::events::respond(context, at).await;
        }
        Route::Project(project_route::Route::Events { project }) => {
            return project::events::respond(context, project).await;
        }
        route => route,
    };
    let context = &*context;
    let takes_long = takes_long(context, &route, &payload).await?;
    let is_batch = matches!(route, Route::Branch(_, branch_route::Route::Batch));
    let kind = if is_batch && payload.bytes() > INLINE_BYTES_MAX as u64 {
        Kind::LargeBatch
    } else {
        Kind::Admin
    };
    let threads = &context.service.threads;
    let _place = if route.hashes() {
        let caller = threads.look(|| context.caller()).await?;
        Some(login::enter(context, caller.account().name()).await?)
    } else {
        None
    };
    // Nothing is awaited between the check and the reply: a client that leaves cuts no change in two.
    let act = || act(context, &route, payload);
    if takes_long {
        let place = long_place(context).await?;
        return Ok(place.run(act).await?.in_turns(place));
    }
    let asker = context.found_asker(route.is_watched()).await?;
    let reply = threads.run(kind, asker, act).await?;
    if reply.is_made_while_sent() {
        let place = long_place(context).await?;
        return Ok(reply.in_turns(place));
    }
    Ok(reply)
}

/// A place among the long requests for who asks.
async fn long_place(context: &RequestContext) -> Result<LongPermit, Error> {
    let service = &context.service;
    let caller = service.threads.look(|| context.caller()).await?;
    let long = &service.long;
    long.enter(caller.account(), None, &context.connection)
}

/// True for what may search or compare for seconds.
async fn takes_long(
    context: &RequestContext,
    route: &Route,
    payload: &Payload,
) -> Result<bool, Error> {
    match route {
        // A rehearsal compares as a diff does.
        Route::Branch(_, branch_route::Route::Rollback) if context.query.flag("dry_run")? => {
            Ok(true)
        }
        Route::Branch(at, branch_route::Route::Rollback | branch_route::Route::Batch) => {
            is_of_project(context, &at.project, Project::has_rules).await
        }
        Route::Project(project_route::Route::CreateBranch { project }) => {
            let Some(from) = project::branch_begins_at(payload) else {
                return Ok(false);
            };
            let is_sought = |project: &Project| is_sought(project, &from);
            is_of_project(context, project, is_sought).await
        }
        Route::Branch(at, branch_route::Route::SaveFile { path }) => {
            let is_large =
                matches!(payload, Payload::File(file) if file.size() > INLINE_BYTES_MAX as u64);
            let checks_long = |project: &Project| {
                if is_large {
                    return project.has_rules();
                }
                let path = params::file(path).ok();
                path.is_some_and(|path| project.needs_schema(&path).unwrap_or(true))
            };
            is_of_project(context, &at.project, checks_long).await
        }
        Route::Branch(_, branch_route::Route::Tree { .. }) => {
            let query = &context.query;
            Ok(query.text("with")?.is_some() || query.text("search")?.is_some())
        }
        // A page has digests and counts, which may be computed first.
        Route::Branch(_, branch_route::Route::History) => {
            Ok(context.query.pairs().next().is_some())
        }
        route => Ok(route.takes_long()),
    }
}

/// True if the state that a reference names has to be searched for, by its commit id or for where in the history of its
/// branch it is. Of what is not there the answer says so.
fn is_sought(project: &Project, reference: &str) -> bool {
    match project.resolve_known(Some(reference)) {
        Ok(Some(state)) => {
            state.place().is_none()
                && state
                    .states_after()
                    .is_ok_and(|states| states > COMMITS_PASSED_MAX)
        }
        Ok(None) => true,
        Err(_) => false,
    }
}

/// True if something is true of a project, as far as who asks may see it.
async fn is_of_project(
    context: &RequestContext,
    project: &str,
    is_true: impl FnOnce(&Project) -> bool,
) -> Result<bool, Error> {
    let look = || {
        let project = context
            .caller()
            .and_then(|caller| open::open(context, &caller, project));
        // Who may not is told by the change itself.
        Ok(project.is_ok_and(|project| is_true(&project)))
    };
    context.service.threads.look(look).await
}

/// Authenticates, opens, acts.
fn act(context: &RequestContext, route: &Route, payload: Payload) -> Result<Reply, Error> {
    let caller = &if route.is_watched() {
        context.watcher()?
    } else {
        context.caller()?
    };
    match route {
        Route::Project(route) => project::act(context, caller, route, payload),
        Route::Branch(at, route) => branch::act(context, caller, at, route, payload),
        Route::Account(route) => account::act(context, caller, route, payload),
    }
}
