//! `GET …/history`

use hyper::StatusCode;
use serde::Serialize;

use crate::access::Caller;
use crate::base::limits::HISTORY_PAGE_MAX;
use crate::base::snapshot_version::SnapshotVersion;
use crate::http::admin::open::open_branch;
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::http::route::admin::BranchAt;
use crate::repo::Snapshot;

/// A snapshot. `operation` and `path` say what replaced the state it holds.
#[derive(Debug, Serialize)]
struct SnapshotJson {
    version: SnapshotVersion,
    created_at: String,
    created_by: String,
    operation: String,
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    commit_id: Option<String>,
    short_id: Option<String>,
    files: u64,
    bytes: u64,
}

impl SnapshotJson {
    /// `computed` makes digests known that are not.
    fn new(snapshot: Snapshot, computed: bool) -> Result<Self, Error> {
        let digest = if computed {
            Some(snapshot.revision.digest()?)
        } else {
            snapshot.revision.known_digest()?
        };
        let totals = snapshot.revision.totals();
        Ok(Self {
            version: snapshot.version,
            created_at: snapshot.created_at.to_string(),
            created_by: snapshot.created_by,
            operation: snapshot.operation.to_string(),
            path: snapshot.path,
            message: snapshot.message,
            commit_id: digest.map(|digest| digest.commit_id().to_owned()),
            short_id: digest.map(|digest| digest.short_id().to_owned()),
            files: totals.files,
            bytes: totals.bytes,
        })
    }
}

/// Lists snapshots, newest first: all, or with `limit` or `before` a page.
pub(super) fn list(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
) -> Result<Reply, Error> {
    let before = context
        .query
        .text("before")?
        .map(params::version)
        .transpose()?;
    let limit = context.query.text("limit")?.map(page).transpose()?;
    let paged = before.is_some() || limit.is_some();
    let limit = limit.or(paged.then_some(HISTORY_PAGE_MAX));
    let (_, branch) = open_branch(context, caller, at)?;
    let shown: Vec<_> = branch
        .history(before, limit)?
        .into_iter()
        .map(|snapshot| SnapshotJson::new(snapshot, paged))
        .collect::<Result<_, _>>()?;
    Ok(Reply::json(StatusCode::OK, &shown))
}

fn page(text: &str) -> Result<usize, Error> {
    match text.parse() {
        Ok(limit) if (1..=HISTORY_PAGE_MAX).contains(&limit) => Ok(limit),
        _ => Err(Error::malformed("limit is invalid: it must be 1 to 100")),
    }
}
