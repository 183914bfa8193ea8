//! `GET …/archive.zip` and the other forms, of a branch and of its snapshots.

use std::collections::BTreeSet;

use crate::access::Caller;
use crate::http::admin::open::open_state;
use crate::http::archive::Format;
use crate::http::archive::respond::respond;
use crate::http::error::Error;
use crate::http::reply::{Freshness, Reply};
use crate::http::request::context::RequestContext;
use crate::http::request::{cross_site, params};
use crate::http::route::admin::BranchAt;

/// Sends a state, or the folder or file of it that `path` names, as an archive.
///
/// # Errors
/// As [`respond`].
pub(super) fn send(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
    version: Option<&str>,
    format: Format,
) -> Result<Reply, Error> {
    cross_site::check_file_use(context.headers())?;
    let path = params::folder(context.query.text("path")?)?;
    let revision = open_state(context, caller, at, version)?;
    respond(
        context,
        &revision,
        path.as_ref(),
        &BTreeSet::new(),
        format,
        Freshness::Moving,
    )
}
