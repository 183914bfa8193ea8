//! `/livez` and `/readyz`, for everybody and under any name of the service.

use hyper::StatusCode;
use serde::Serialize;

use super::State;
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::route::probe::Route;

#[derive(Debug, Serialize)]
struct Well {
    status: &'static str,
}

/// Answers a probe. `state` is looked at only where it matters.
///
/// # Errors
/// [`Error::NotReady`] with all reasons.
pub(in crate::http) fn respond(
    route: Route,
    state: impl FnOnce() -> State,
) -> Result<Reply, Error> {
    let status = match route {
        Route::Live => "live",
        Route::Ready => {
            let hindrances = state().hindrances();
            if !hindrances.is_empty() {
                return Err(Error::NotReady(hindrances.join("; ")));
            }
            "ready"
        }
    };
    Ok(Reply::json(StatusCode::OK, &Well { status }))
}
