//! The Read API: GitLab's repository API in shape, opened by a token (specification section 4.1,
//! contract section 5).
//!
//! Only tokens count here; a session cookie is not looked at.

mod branches;
mod file;
mod json;
mod route;
mod token;
mod tree;

use hyper::StatusCode;
use serde::Serialize;

pub(super) use json::{BranchJson, EntryJson, file_mode};
pub(super) use route::Route;

use super::blocking;
use super::body::{RequestBody, has_type};
use super::call::Call;
use super::error::Error;
use super::names;
use super::reply::Reply;
use crate::access::TokenHolder;
use crate::base::clock::Timestamp;
use crate::base::limits::REQUEST_TARGET_BYTES_MAX;

/// Longest time that an answer is kept though nothing was written, in seconds.
const KEPT_S_MAX: u64 = 5;

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
        route => blocking::run(move || act(&call, &route)).await,
    }
}

/// Authenticates, opens the project, acts.
fn act(call: &Call, route: &Route) -> Result<Reply, Error> {
    let holder = token::holder(call)?;
    let open = |project: &str| -> Result<_, Error> {
        Ok(call
            .gate()
            .open_by_token(&holder, &names::selector(project)?)?)
    };
    let reply = match route {
        Route::Health => Err(Error::NoRoute),
        Route::Branches { project } => branches::list(call, &open(project)?),
        Route::Tree { project } => tree::list(call, &open(project)?),
        Route::Raw { project, path } => file::raw(call, &open(project)?, path),
    }?;
    Ok(reply.kept_until(kept_until(call, &holder)))
}

/// How long an answer may be kept: the token must not outlive itself, and its use is noted now and
/// then.
fn kept_until(call: &Call, holder: &TokenHolder) -> Timestamp {
    let soon = call.service.clock.now().plus_s(KEPT_S_MAX);
    let expiry = holder.token().expires_at;
    expiry.map_or(soon, |expiry| expiry.min(soon))
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
