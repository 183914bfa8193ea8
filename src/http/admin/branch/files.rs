//! Files of a branch, and of its snapshots.

use hyper::StatusCode;
use hyper::header::ETAG;
use serde::Serialize;

use super::state::{StateJson, told_digest};
use crate::access::{Caller, Right};
use crate::base::id::{GitId, Md5};
use crate::base::snapshot_version::SnapshotVersion;
use crate::http::admin::open::{open_branch, writer};
use crate::http::error::Error;
use crate::http::list::stream;
use crate::http::list::stream::Form;
use crate::http::reply::disposition::Disposition;
use crate::http::reply::file;
use crate::http::reply::{Freshness, Reply, json};
use crate::http::request::conditions::{ETag, condition};
use crate::http::request::context::RequestContext;
use crate::http::request::{cross_site, params};
use crate::http::route::admin::BranchAt;
use crate::http::shape::entry::EntryJson;
use crate::repo::{NewFile, Revision};

/// A save that was made.
#[derive(Debug, Serialize)]
struct SavedJson<'a> {
    path: &'a str,
    size: u64,
    md5: Md5,
    id: GitId,
    snapshot: SnapshotVersion,
    created: bool,
    etag: String,
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

/// `GET …/tree`
pub(super) fn tree(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
    version: Option<&str>,
) -> Result<Reply, Error> {
    let folder = params::folder(context.query.text("path")?)?;
    let recursive = context.query.flag("recursive")?;
    let revision = revision(context, caller, at, version)?;
    let listing = revision.listing(folder.as_ref(), recursive)?;
    if stream::is_long(&listing) {
        let freshness = Freshness::Moving;
        return Ok(stream::respond(
            context,
            listing,
            Form::Admin,
            freshness,
            &[],
        ));
    }
    let entries = listing.part(0, listing.total())?;
    let shown: Vec<_> = entries.iter().map(EntryJson::with_content).collect();
    Ok(json::respond(
        context.headers(),
        &shown,
        Freshness::Moving,
        &[],
    ))
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
    let file = revision(context, caller, at, version)?.file(&path)?;
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
    let saved = project
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
        etag: tag.text(),
        state: StateJson::new(told_digest(&saved.revision)?.as_ref(), saved.unchanged),
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
    let deleted = project.saying(message).delete(&branch, &path, condition)?;
    Ok(Reply::json(
        StatusCode::OK,
        &DeletedJson {
            path: path.as_str(),
            snapshot: deleted.snapshot,
            state: StateJson::new(told_digest(&deleted.revision)?.as_ref(), deleted.unchanged),
        },
    ))
}

/// The state that a path of the Admin API names.
fn revision(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
    version: Option<&str>,
) -> Result<Revision, Error> {
    let version = version.map(params::version).transpose()?;
    let (_, branch) = open_branch(context, caller, at)?;
    Ok(match version {
        Some(version) => branch.snapshot(version)?,
        None => branch.head(),
    })
}
