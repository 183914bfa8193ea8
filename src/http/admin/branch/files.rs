//! Files of a branch, and of its snapshots.

use hyper::StatusCode;
use hyper::header::ETAG;
use serde::Serialize;

use super::state::{StateJson, told_digest};
use crate::access::{Caller, Right};
use crate::base::id::{GitId, Md5};
use crate::base::snapshot_version::SnapshotVersion;
use crate::http::admin::open::{by_rules, open_state, passes_over_rules, writer};
use crate::http::error::Error;
use crate::http::reply::disposition::Disposition;
use crate::http::reply::file;
use crate::http::reply::{Freshness, Reply};
use crate::http::request::conditions::{ETag, condition};
use crate::http::request::context::RequestContext;
use crate::http::request::{cross_site, params};
use crate::http::route::admin::BranchAt;
use crate::repo::NewFile;

/// A save that was made.
#[derive(Debug, Serialize)]
struct SavedJson<'a> {
    path: &'a str,
    size: u64,
    md5: Md5,
    id: GitId,
    snapshot: SnapshotVersion,
    created: bool,
    etag: ETag,
    #[serde(flatten)]
    state: StateJson,
}

/// A deletion that was made.
#[derive(Debug, Serialize)]
struct DeletedJson<'a> {
    path: &'a str,
    snapshot: SnapshotVersion,
    #[serde(flatten)]
    state: StateJson,
}

/// `GET …/files/<path>`
pub(super) fn raw(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
    version: Option<&str>,
    path: &str,
) -> Result<Reply, Error> {
    cross_site::check_file_use(context.headers())?;
    let path = params::file(path)?;
    let revision = open_state(context, caller, at, version)?;
    let file = revision.file(&path)?;
    if let Some(reply) = file::unchanged(context, &file, Freshness::Moving)? {
        return Ok(reply);
    }
    let content = file.content()?;
    file::respond(
        context,
        &path,
        &file,
        content,
        Freshness::Moving,
        Disposition::Attachment,
    )
}

/// Refuses a save before its body. What the branch holds is not asked when the body is `short`: the
/// save itself says the same.
pub(super) fn admit(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
    path: &str,
    short: bool,
) -> Result<(), Error> {
    let (branch, path) = (params::branch(&at.branch)?, params::file(path)?);
    let condition = condition(context.headers())?;
    params::message(context.query.text("message")?)?;
    let project = writer(context, caller, &at.project, Right::Write)?;
    passes_over_rules(context, caller)?;
    if short {
        return Ok(());
    }
    Ok(project.check_save(&branch, &path, &condition)?)
}

/// `PUT …/files/<path>`
pub(super) fn save(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
    path: &str,
    file: NewFile,
) -> Result<Reply, Error> {
    let (branch, path) = (params::branch(&at.branch)?, params::file(path)?);
    let condition = condition(context.headers())?;
    let project = writer(context, caller, &at.project, Right::Write)?;
    let message = params::message(context.query.text("message")?)?;
    let saved = by_rules(context, caller, project)?
        .saying(message)
        .save(&branch, &path, file, condition)?;
    let tag = ETag::of_blob(saved.blob);
    let status = if saved.created {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let shown = SavedJson {
        path: path.as_str(),
        size: saved.size,
        md5: saved.md5,
        id: saved.git_id,
        snapshot: saved.snapshot,
        created: saved.created,
        etag: tag.clone(),
        state: StateJson::new(told_digest(&saved.revision).as_ref(), saved.unchanged),
    };
    Ok(Reply::json(status, &shown).with(ETAG, tag.header()))
}

/// `DELETE …/files/<path>`
pub(super) fn delete(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
    path: &str,
) -> Result<Reply, Error> {
    let (branch, path) = (params::branch(&at.branch)?, params::file(path)?);
    let condition = condition(context.headers())?;
    let project = writer(context, caller, &at.project, Right::Delete)?;
    let message = params::message(context.query.text("message")?)?;
    let deleted = by_rules(context, caller, project)?
        .saying(message)
        .delete(&branch, &path, condition)?;
    Ok(Reply::json(
        StatusCode::OK,
        &DeletedJson {
            path: path.as_str(),
            snapshot: deleted.snapshot,
            state: StateJson::new(told_digest(&deleted.revision).as_ref(), deleted.unchanged),
        },
    ))
}
