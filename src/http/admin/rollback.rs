//! `POST …/rollback`

use hyper::StatusCode;
use serde::Serialize;

use super::diff::DifferenceJson;
use super::{BranchAt, writer};
use crate::access::{Caller, Right};
use crate::base::snapshot_version::SnapshotVersion;
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::request::context::RequestContext;
use crate::http::request::params;

/// A rollback that was made.
#[derive(Debug, Serialize)]
struct RolledBackJson {
    restored: SnapshotVersion,
    /// The pre-rollback snapshot.
    snapshot: SnapshotVersion,
    short_id: String,
}

/// Restores a snapshot, whole or only what is at `path`; with `dry_run` it shows what would change.
pub(super) fn restore(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
) -> Result<Reply, Error> {
    let name = params::branch(&at.branch)?;
    let to = params::version(context.query.required("to")?)?;
    let path = params::folder(context.query.text("path")?)?;
    let dry_run = context.query.flag("dry_run")?;
    let project = writer(context, caller, &at.project, Right::Rollback)?;
    if dry_run {
        let differences = project.preview_rollback(&name, to, path.as_ref())?;
        let shown: Vec<_> = differences.iter().map(DifferenceJson::new).collect();
        return Ok(Reply::json(StatusCode::OK, &shown));
    }
    let done = project.rollback(&name, to, path.as_ref())?;
    Ok(Reply::json(
        StatusCode::OK,
        &RolledBackJson {
            restored: done.restored,
            snapshot: done.snapshot,
            short_id: done.revision.digest()?.short_id().to_owned(),
        },
    ))
}
