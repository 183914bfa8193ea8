//! `/livez` and `/readyz`, for everybody and under any name of the service.

use hyper::StatusCode;
use serde::Serialize;

use super::State;
use crate::http::error::Error;
use crate::http::reply::Reply;

#[derive(Debug, Serialize)]
struct Well {
    status: &'static str,
}

/// Answers whoever asks whether the service lives.
pub(in crate::http) fn live() -> Reply {
    well("live")
}

/// Answers whoever asks whether requests should be sent.
///
/// # Errors
/// [`Error::NotReady`] with all reasons.
pub(in crate::http) fn ready(state: &State) -> Result<Reply, Error> {
    let hindrances = state.hindrances();
    if !hindrances.is_empty() {
        return Err(Error::NotReady(hindrances.join("; ")));
    }
    Ok(well("ready"))
}

fn well(status: &'static str) -> Reply {
    Reply::json(StatusCode::OK, &Well { status })
}
