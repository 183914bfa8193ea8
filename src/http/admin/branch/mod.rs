//! One branch: its files, its history, its changes.

mod archive;
mod batch;
mod broken;
mod diff;
pub(super) mod events;
mod files;
mod history;
mod item;
mod packed;
mod rollback;
pub(super) mod shape;
mod state;
mod tree;
pub(super) mod watch;

use super::payload::Payload;
use crate::access::Caller;
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::request::context::RequestContext;
use crate::http::route::admin::BranchAt;
use crate::http::route::admin::branch::Route;

/// Refuses what would be refused after the body, too. What the branch holds is not asked when the body
/// is `short`: the change itself says the same.
pub(super) fn admit(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
    route: &Route,
    short: bool,
) -> Result<(), Error> {
    match route {
        Route::SaveFile { path } => files::admit(context, caller, at, path, short),
        Route::Batch => batch::admit(context, caller, at),
        Route::Rename => item::admit_rename(context, caller, at),
        _ => Ok(()),
    }
}

pub(super) fn act(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
    route: &Route,
    payload: Payload,
) -> Result<Reply, Error> {
    match (route, payload) {
        (Route::Show, _) => item::show(context, caller, at),
        (Route::Rename, Payload::Json(json)) => item::rename(context, caller, at, &json),
        (Route::Delete, _) => item::delete(context, caller, at),
        (Route::Tree { version }, _) => tree::list(context, caller, at, version.as_deref()),
        (Route::Archive { version, format }, _) => {
            archive::send(context, caller, at, version.as_deref(), *format)
        }
        (Route::File { version, path }, _) => {
            files::raw(context, caller, at, version.as_deref(), path)
        }
        (Route::SaveFile { path }, Payload::File(file)) => {
            files::save(context, caller, at, path, file)
        }
        (Route::DeleteFile { path }, _) => files::delete(context, caller, at, path),
        (Route::Batch, Payload::Json(json)) => batch::json(context, caller, at, json),
        (Route::Batch, Payload::Packed(mut body)) => batch::files(context, caller, at, &mut body),
        (Route::History, _) => history::list(context, caller, at),
        (Route::Diff, _) => diff::show(context, caller, at),
        (Route::Broken, _) => broken::list(context, caller, at),
        (Route::Rollback, _) => rollback::restore(context, caller, at),
        // Events are no work: `events` waits for them.
        (Route::SaveFile { .. } | Route::Batch | Route::Rename | Route::Events, _) => {
            Err(Payload::missing())
        }
    }
}
