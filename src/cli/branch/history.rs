//! The states of a branch, newest first.

use serde::Serialize;

use super::args::History;
use crate::base::limits::CHANGES_COUNTED_MAX;
use crate::base::snapshot_version::SnapshotVersion;
use crate::cli::open_store::{OpenStore, parse_version};
use crate::cli::output::{JsonArray, visible};
use crate::cli::{Error, Result, Streams, names};
use crate::repo;
use crate::repo::{ChangeCounts, Commit, Operation};

/// States shown to a person who asked for no number.
const SHOWN_USUAL: usize = 50;

/// A state and what brought it about, as JSON.
#[derive(Serialize)]
struct Row {
    /// The snapshot that holds it; none holds the head.
    version: Option<SnapshotVersion>,
    short_id: String,
    commit_id: String,
    at: String,
    by: String,
    operation: Option<Operation>,
    path: Option<String>,
    message: Option<String>,
    /// `None` where it is not known what was before.
    changed_files: Option<u64>,
    files: u64,
    bytes: u64,
}

/// `history`. The first states show before the last are read.
pub(in crate::cli) fn show(
    args: &History,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let repo_id = names::repo_id(&args.repo_id)?;
    let name = names::branch(&args.branch)?;
    let path = names::part(args.path.as_deref())?;
    let before = args.before.as_deref().map(parse_version).transpose()?;
    let branch = opened.branch(&repo_id, &name)?;
    let usual = if streams.out_is_terminal {
        SHOWN_USUAL
    } else {
        0
    };
    let limit = match args.limit.unwrap_or(usual) {
        0 => usize::MAX,
        limit => limit,
    };
    let head = branch.head().place();
    let touched = |commit: &Commit| path.as_ref().map_or(Ok(true), |path| commit.touches(path));
    let states = branch.every_state(before)?;
    let states = states.filter_map(|commit| {
        let shown = commit.and_then(|commit| Ok(touched(&commit)?.then_some(commit)));
        shown.transpose()
    });
    let mut states = states.peekable();
    if let (Some(path), None) = (&path, states.peek()) {
        let earlier = before.map_or_else(String::new, |before| format!(" before {before}"));
        return Err(Error::Failed(format!(
            "no state of {name} in {repo_id}{earlier} has changed \"{path}\"; \"siteconf ls -r {repo_id} {name}\" \
             lists what there is"
        )));
    }
    let mut lines = Lines::begin(args.json, streams)?;
    let mut last = None;
    for commit in states.by_ref().take(limit) {
        let commit = commit?;
        let place = commit.revision.place();
        last = place.map(SnapshotVersion::new);
        lines.state(&commit, last.filter(|_| place != head))?;
    }
    lines.end()?;
    match states.next() {
        Some(_) => tell_rest(last, args, streams),
        None => Ok(()),
    }
}

/// Says to a person how to see the states before this one.
fn tell_rest(
    last: Option<SnapshotVersion>,
    args: &History,
    streams: &mut Streams<'_>,
) -> Result<()> {
    if let (true, Some(last)) = (streams.out_is_terminal && !args.json, last) {
        streams.note(format_args!(
            "older ones with --before {last}, all with --limit 0"
        ))?;
    }
    Ok(())
}

/// Where the states go.
enum Lines<'a> {
    Json(JsonArray<'a>),
    Text(&'a mut dyn std::io::Write),
}

impl<'a> Lines<'a> {
    fn begin(json: bool, streams: &'a mut Streams<'_>) -> Result<Self> {
        if json {
            return Ok(Self::Json(JsonArray::begin(streams.out)?));
        }
        writeln!(
            streams.out,
            "STATE   SHORT ID  SINCE                     CHANGED  BY, WHAT"
        )?;
        Ok(Self::Text(streams.out))
    }

    /// `version` is that of the snapshot that holds it; `None` for the head.
    fn state(&mut self, commit: &Commit, version: Option<SnapshotVersion>) -> Result<()> {
        let digest = commit.revision.digest()?;
        let changed = match &commit.before {
            Some(before) => {
                let counts = repo::changed_files(before, &commit.revision)?;
                // More are not worth the wait.
                Some(counts.map_or(CHANGES_COUNTED_MAX, ChangeCounts::all))
            }
            None => None,
        };
        match self {
            Self::Json(array) => {
                let totals = commit.revision.totals();
                array.item(&Row {
                    version,
                    short_id: digest.short_id().to_owned(),
                    commit_id: digest.commit_id().to_owned(),
                    at: commit.at.to_string(),
                    by: commit.by.clone(),
                    operation: commit.operation,
                    path: commit.path.clone(),
                    message: commit.message.clone(),
                    changed_files: changed,
                    files: totals.files,
                    bytes: totals.bytes,
                })
            }
            Self::Text(out) => {
                let state =
                    version.map_or_else(|| "head".to_owned(), |version| version.to_string());
                let changed = match changed {
                    None => "-".to_owned(),
                    Some(CHANGES_COUNTED_MAX) => format!("{CHANGES_COUNTED_MAX}+"),
                    Some(changed) => changed.to_string(),
                };
                writeln!(
                    out,
                    "{state:6}  {}  {}  {changed:>7}  {}: {}",
                    digest.short_id(),
                    commit.at,
                    visible(&commit.by),
                    visible(&commit.title())
                )?;
                Ok(())
            }
        }
    }

    fn end(self) -> Result<()> {
        match self {
            Self::Json(array) => array.end(),
            Self::Text(_) => Ok(()),
        }
    }
}
