//! Projects, their branches, and what was deleted.

mod branches;
mod deleted;
pub(super) mod events;
mod projects;
mod rules;

use super::account::tokens;
use super::open::writer;
use super::payload::Payload;
use crate::access::{Caller, Right};
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::http::route::admin::project::Route;

/// Refuses what would be refused after the body, too.
pub(super) fn admit(context: &RequestContext, caller: &Caller, route: &Route) -> Result<(), Error> {
    match route {
        Route::CreateBranch { project } => {
            writer(context, caller, project, Right::Write)?;
        }
        Route::Change { project } | Route::SetRules { project } => {
            let gate = context.gate();
            gate.open_to_manage(caller, &params::repo_id(project)?)?;
        }
        _ => {}
    }
    Ok(())
}

/// The revision that a new branch is to begin at, where the body has one in its form.
pub(super) fn branch_begins_at(payload: &Payload) -> Option<String> {
    match payload {
        Payload::Json(json) => branches::begins_at(json),
        _ => None,
    }
}

pub(super) fn act(
    context: &RequestContext,
    caller: &Caller,
    route: &Route,
    payload: Payload,
) -> Result<Reply, Error> {
    match (route, payload) {
        (Route::List, _) => projects::list(context, caller),
        (Route::Create, Payload::Json(json)) => projects::create(context, caller, &json),
        (Route::Show { project }, _) => projects::show(context, caller, project),
        (Route::Change { project }, Payload::Json(json)) => {
            projects::change(context, caller, project, &json)
        }
        (Route::Delete { project }, _) => projects::delete(context, caller, project),
        (Route::Tokens { project }, _) => tokens::list_of_project(context, caller, project),
        (Route::Branches { project }, _) => branches::list(context, caller, project),
        (Route::CreateBranch { project }, Payload::Json(json)) => {
            branches::create(context, caller, project, &json)
        }
        (Route::Rules { project }, _) => rules::show(context, caller, project),
        (Route::SetRules { project }, Payload::Json(json)) => {
            rules::set(context, caller, project, &json)
        }
        (Route::Deleted, _) => deleted::list(context, caller),
        (Route::Restore { id }, Payload::Json(json)) => {
            deleted::restore(context, caller, id, Some(&json))
        }
        (Route::Restore { id }, _) => deleted::restore(context, caller, id, None),
        (
            Route::Create
            | Route::Change { .. }
            | Route::CreateBranch { .. }
            | Route::SetRules { .. }
            // It is no work: `events` waits for it.
            | Route::Events { .. },
            _,
        ) => Err(Payload::missing()),
    }
}
