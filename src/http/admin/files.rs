//! Files of a branch, and of its snapshots.

use hyper::HeaderMap;
use hyper::StatusCode;
use hyper::header::ETAG;
use serde::Serialize;

use super::route::StateAt;
use super::{BranchAt, open_branch, writer};
use crate::access::{Action, Caller};
use crate::base::id::{GitId, Md5};
use crate::base::snapshot_version::SnapshotVersion;
use crate::http::call::Call;
use crate::http::disposition::Disposition;
use crate::http::error::Error;
use crate::http::etag::{ETag, IfMatch, if_match, only_if_absent};
use crate::http::long_list::{self, Form};
use crate::http::read::EntryJson;
use crate::http::reply::{Freshness, Reply};
use crate::http::{cross_site, names, raw};
use crate::repo::{Condition, NewFile, Revision};

/// A save that was made.
#[derive(Debug, Serialize)]
struct SavedJson<'a> {
    path: &'a str,
    size: u64,
    md5: Md5,
    id: GitId,
    snapshot: SnapshotVersion,
    created: bool,
}

/// A deletion that was made.
#[derive(Debug, Serialize)]
struct DeletedJson<'a> {
    path: &'a str,
    snapshot: SnapshotVersion,
}

/// `GET …/tree`
pub(super) fn tree(call: &Call, caller: &Caller, state: &StateAt) -> Result<Reply, Error> {
    let folder = names::folder(call.query.text("path")?)?;
    let recursive = call.query.flag("recursive")?;
    let revision = revision(call, caller, state)?;
    let listing = revision.listing(folder.as_ref(), recursive)?;
    if long_list::is_long(&listing) {
        let freshness = Freshness::Moving;
        return Ok(long_list::answer(
            call,
            listing,
            Form::Admin,
            freshness,
            &[],
        ));
    }
    let entries = listing.part(0, listing.total())?;
    let shown: Vec<_> = entries.iter().map(EntryJson::with_content).collect();
    Ok(Reply::list(&shown, Freshness::Moving, call.headers()))
}

/// `GET …/files/<path>`
pub(super) fn raw(
    call: &Call,
    caller: &Caller,
    state: &StateAt,
    path: &str,
) -> Result<Reply, Error> {
    cross_site::check_file_use(call.headers())?;
    let path = names::file(path)?;
    let file = revision(call, caller, state)?.file(&path)?;
    if let Some(reply) = raw::unchanged(call, &file, Freshness::Moving)? {
        return Ok(reply);
    }
    let content = file.content()?;
    raw::answer(
        call,
        &path,
        &file,
        content,
        Freshness::Moving,
        Disposition::Attachment,
    )
}

/// Refuses a save before its body.
pub(super) fn admit(call: &Call, caller: &Caller, at: &BranchAt, path: &str) -> Result<(), Error> {
    let (branch, path) = (names::branch(&at.branch)?, names::file(path)?);
    let condition = condition(call.headers())?;
    let project = writer(call, caller, &at.project, Action::Write)?;
    Ok(project.check_save(&branch, &path, &condition)?)
}

/// `PUT …/files/<path>`
pub(super) fn save(
    call: &Call,
    caller: &Caller,
    at: &BranchAt,
    path: &str,
    file: NewFile,
) -> Result<Reply, Error> {
    let (branch, path) = (names::branch(&at.branch)?, names::file(path)?);
    let condition = condition(call.headers())?;
    let project = writer(call, caller, &at.project, Action::Write)?;
    let saved = project.save(&branch, &path, file, condition)?;
    let status = if saved.created {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let reply = Reply::json(
        status,
        &SavedJson {
            path: path.as_str(),
            size: saved.size,
            md5: saved.md5,
            id: saved.git_id,
            snapshot: saved.snapshot,
            created: saved.created,
        },
    );
    // The save stands, whether or not its tag can be read.
    Ok(match saved.revision.file(&path) {
        Ok(file) => reply.with(ETAG, ETag::of_blob(file.blob()).header()),
        Err(_) => reply,
    })
}

/// `DELETE …/files/<path>`
pub(super) fn delete(
    call: &Call,
    caller: &Caller,
    at: &BranchAt,
    path: &str,
) -> Result<Reply, Error> {
    let (branch, path) = (names::branch(&at.branch)?, names::file(path)?);
    let condition = condition(call.headers())?;
    let project = writer(call, caller, &at.project, Action::Delete)?;
    let deleted = project.delete(&branch, &path, condition)?;
    Ok(Reply::json(
        StatusCode::OK,
        &DeletedJson {
            path: path.as_str(),
            snapshot: deleted.snapshot,
        },
    ))
}

/// The state that a path of the Admin API names.
fn revision(call: &Call, caller: &Caller, state: &StateAt) -> Result<Revision, Error> {
    let version = state.version.as_deref().map(names::version).transpose()?;
    let (_, branch) = open_branch(call, caller, &state.at)?;
    Ok(match version {
        Some(version) => branch.snapshot(version)?,
        None => branch.head(),
    })
}

/// What `If-Match` and `If-None-Match` demand of a change.
fn condition(headers: &HeaderMap) -> Result<Condition, Error> {
    Ok(match (if_match(headers), only_if_absent(headers)?) {
        (None, false) => Condition::None,
        (None, true) => Condition::IfAbsent,
        (Some(IfMatch::Any), false) => Condition::IfMatch(vec!["*".to_owned()]),
        (Some(IfMatch::OneOf(tags)), false) => Condition::IfMatch(tags),
        // There and not there at once: no state of the file is both.
        (Some(_), true) => Condition::IfMatch(Vec::new()),
    })
}
