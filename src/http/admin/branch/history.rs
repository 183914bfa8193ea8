//! `GET …/history`

use std::io;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::access::Caller;
use crate::base::limits::{CHANGES_COUNTED_MS_MAX, HISTORY_PAGE_MAX, HISTORY_WHOLE_MAX};
use crate::base::snapshot_version::SnapshotVersion;
use crate::http::admin::open::open_branch;
use crate::http::error::Error;
use crate::http::list::stream::{self, Parts};
use crate::http::reply::json_text::EntriesText;
use crate::http::reply::{Reply, json};
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::http::route::admin::BranchAt;
use crate::repo::{Branch, BranchDigest, Change, ChangeCounts, ChangesPage, Revision};

/// A snapshot. `operation`, `path`, `message` and `changed` tell of the change that replaced the state it
/// holds.
#[derive(Debug, Serialize)]
struct SnapshotJson {
    version: SnapshotVersion,
    created_at: String,
    created_by: String,
    operation: String,
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    changed: Option<ChangedJson>,
    commit_id: Option<String>,
    short_id: Option<String>,
    files: u64,
    bytes: u64,
}

/// How many files a change changed.
#[derive(Debug, Serialize)]
struct ChangedJson {
    added: u64,
    modified: u64,
    deleted: u64,
}

impl SnapshotJson {
    fn new(change: Change, digest: Option<&BranchDigest>, counts: Option<ChangeCounts>) -> Self {
        let snapshot = change.snapshot;
        let totals = snapshot.revision.totals();
        Self {
            version: snapshot.version,
            created_at: snapshot.created_at.to_string(),
            created_by: snapshot.created_by,
            operation: snapshot.operation.to_string(),
            path: snapshot.path,
            message: snapshot.message,
            changed: counts.map(ChangedJson::from),
            commit_id: digest.map(|digest| digest.commit_id().to_owned()),
            short_id: digest.map(|digest| digest.short_id().to_owned()),
            files: totals.files,
            bytes: totals.bytes,
        }
    }

    /// With what can be told without a look into the trees, by any daemon.
    fn as_kept(change: Change) -> Result<Self, Error> {
        let counts = change.told_counts();
        let digest = change.snapshot.revision.kept_digest()?;
        Ok(Self::new(change, digest.as_ref(), counts))
    }
}

impl From<ChangeCounts> for ChangedJson {
    fn from(counts: ChangeCounts) -> Self {
        Self {
            added: counts.added,
            modified: counts.modified,
            deleted: counts.deleted,
        }
    }
}

/// Lists snapshots, newest first: all, or with `limit`, `before` or `path` a page; with `path` those
/// whose change touched what lies there. What follows a page is named by its `Link`.
///
/// # Limits
/// More than [`HISTORY_WHOLE_MAX`] without a page are made while they are sent. What a page computes of digests is
/// kept by one commit, which is waited for; changed files are counted for 200 ms. With `path` as
/// [`Branch::changes_of`].
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
    let limit = params::limit_of(&context.query, HISTORY_PAGE_MAX)?;
    let path = params::folder(context.query.text("path")?)?;
    let paged = before.is_some() || limit.is_some() || path.is_some();
    let branch = open_branch(context, caller, at)?;
    if !paged && branch.snapshot_count() > HISTORY_WHOLE_MAX {
        return Ok(stream::untagged(context, WholeHistory::of(branch)));
    }
    let most = limit.unwrap_or(HISTORY_PAGE_MAX);
    let found = match &path {
        Some(path) => branch.changes_of(path, before, most)?,
        None if paged => page_of(&branch, before, most)?,
        None => ChangesPage {
            changes: branch.changes(None, None)?,
            next: None,
        },
    };
    let shown = if paged {
        // States that lie far apart have no digest in common to go on from.
        computed(&branch, found.changes, path.is_none())?
    } else {
        let kept = found.changes.into_iter().map(SnapshotJson::as_kept);
        kept.collect::<Result<_, _>>()?
    };
    let next = found.next.map(|version| version.to_string());
    let next = next.as_deref().map(|before| ("before", before));
    json::page(context, &shown, next)
}

/// Entries of a page: changed files are counted, digests computed or as they are kept.
fn computed(
    branch: &Branch,
    changes: Vec<Change>,
    digests: bool,
) -> Result<Vec<SnapshotJson>, Error> {
    let states = changes.iter().map(|change| &change.snapshot.revision);
    let digests: Vec<_> = if digests {
        let published = branch.project().publish_ids(states)?;
        published.digests.into_iter().map(Some).collect()
    } else {
        states
            .map(Revision::kept_digest)
            .collect::<Result<_, _>>()?
    };
    let counted_until = Instant::now() + Duration::from_millis(CHANGES_COUNTED_MS_MAX);
    let entry = |(change, digest): (Change, Option<BranchDigest>)| {
        let counts = if Instant::now() < counted_until {
            change.counts()?
        } else {
            change.known_counts()
        };
        Ok(SnapshotJson::new(change, digest.as_ref(), counts))
    };
    changes.into_iter().zip(digests).map(entry).collect()
}

/// A long history from its newest snapshot to its first.
struct WholeHistory {
    branch: Branch,
    before: Option<SnapshotVersion>,
    ended: bool,
}

impl WholeHistory {
    fn of(branch: Branch) -> Self {
        Self {
            branch,
            before: None,
            ended: false,
        }
    }
}

impl Parts for WholeHistory {
    fn next_part(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.ended {
            return Ok(None);
        }
        let page =
            page_of(&self.branch, self.before, HISTORY_PAGE_MAX).map_err(io::Error::other)?;
        self.before = page.next;
        self.ended = page.next.is_none();
        let mut text = EntriesText::default();
        for change in page.changes {
            text.add(&SnapshotJson::as_kept(change).map_err(io::Error::other)?);
        }
        Ok(Some(text.end()).filter(|text| !text.is_empty()))
    }
}

/// So many changes, and where the next page begins.
fn page_of(
    branch: &Branch,
    before: Option<SnapshotVersion>,
    limit: usize,
) -> Result<ChangesPage, Error> {
    let mut changes = branch.changes(before, Some(limit + 1))?;
    let more = changes.len() > limit;
    changes.truncate(limit);
    let last = changes.last().map(|change| change.snapshot.version);
    Ok(ChangesPage {
        changes,
        next: last.filter(|_| more),
    })
}
