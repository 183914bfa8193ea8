//! `POST …/rollback`

use hyper::StatusCode;
use hyper::header::ETAG;
use serde::Serialize;

use super::diff::whole::{self, Tagged};
use super::state::{StateJson, digest_after_change};
use crate::access::{Caller, Right};
use crate::base::id::is_commit_id;
use crate::base::snapshot_version::SnapshotVersion;
use crate::http::admin::open::{by_rules, open_branch, passes_over_rules, writer};
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::request::conditions::ETag;
use crate::http::request::context::RequestContext;
use crate::http::request::{conditions, params};
use crate::http::route::admin::BranchAt;
use crate::repo::Condition;

/// A rollback that was made.
#[derive(Debug, Serialize)]
struct RolledBackJson {
    restored: SnapshotVersion,
    /// The pre-rollback snapshot.
    snapshot: SnapshotVersion,
    #[serde(flatten)]
    state: StateJson,
}

/// Restores a snapshot, whole or only what is at each `path`; with `dry_run` it shows what would change,
/// to whoever may read.
pub(super) fn restore(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
) -> Result<Reply, Error> {
    let name = params::branch(&at.branch)?;
    let to = params::version(context.query.required("to")?)?;
    let paths = context.query.texts("path");
    let paths = paths.map(|path| params::folder(Some(path)));
    let paths: Vec<_> = paths.collect::<Result<_, _>>()?;
    // The root is everything, whatever else is named.
    let paths: Vec<_> = paths.into_iter().collect::<Option<_>>().unwrap_or_default();
    let dry_run = context.query.flag("dry_run")?;
    let condition = expected(
        conditions::condition(context.headers())?,
        context.query.value("expect")?,
    )?;
    let passes_over = passes_over_rules(context, caller)?;
    if dry_run {
        let branch = open_branch(context, caller, at)?;
        let changes = branch.preview_rollback(to, &paths, &condition)?;
        if !passes_over {
            branch.check_rollback(to, &paths)?;
        }
        return whole::respond(context, changes, None, Tagged::No);
    }
    let project = writer(context, caller, &at.project, Right::Rollback)?;
    let project = by_rules(context, caller, project)?;
    let done = project.rollback(&name, to, &paths, &condition)?;
    let digest = digest_after_change(&done.revision);
    let shown = RolledBackJson {
        restored: to,
        snapshot: done.snapshot,
        state: StateJson::new(digest.as_ref(), done.unchanged),
    };
    let reply = Reply::json(StatusCode::OK, &shown);
    Ok(match digest {
        Some(digest) => reply.with(ETAG, ETag::of_commit(digest.commit_id()).header()),
        None => reply,
    })
}

/// What the headers demand, and that the branch has the commit id of `expect`.
///
/// # Errors
/// An `expect` that is no commit id.
fn expected(condition: Condition, expect: Option<&str>) -> Result<Condition, Error> {
    let Some(expect) = expect else {
        return Ok(condition);
    };
    if !is_commit_id(expect) {
        return Err(Error::malformed(
            "query parameter \"expect\" must be a commit id, 40 hexadecimal digits",
        ));
    }
    let expect = expect.to_ascii_lowercase();
    Ok(match condition {
        Condition::None => Condition::IfMatch(vec![expect]),
        Condition::IfMatch(tags) if tags.iter().any(|tag| *tag == expect || tag == "*") => {
            Condition::IfMatch(vec![expect])
        }
        // Two demands that no state fulfils together.
        Condition::IfMatch(_) | Condition::IfAbsent => Condition::IfMatch(Vec::new()),
    })
}
