//! A branch, or a path of it, back in an earlier state.

use std::fmt;
use std::io::Write;

use serde::Serialize;

use super::args::Rollback;
use super::diff;
use super::diff::Row;
use crate::base::branch_name::BranchName;
use crate::base::file_path::FilePath;
use crate::base::repo_id::RepoId;
use crate::base::snapshot_version::SnapshotVersion;
use crate::cli::open_store::{OpenStore, no_snapshot, parse_version, snapshot};
use crate::cli::output;
use crate::cli::output::shell_word;
use crate::cli::{Error, Result, Streams, names};
use crate::repo;
use crate::repo::{
    Branch, ChangeKind, Condition, FileDifference, Missing, ProjectWriter, Revision,
};

/// What is to be as in which snapshot.
struct Target {
    repo_id: RepoId,
    branch: BranchName,
    /// `None` for the whole branch.
    path: Option<FilePath>,
    to: SnapshotVersion,
}

/// What came of it.
struct Restored {
    /// The snapshot taken just before; `None` where nothing had to be changed.
    before: Option<SnapshotVersion>,
    state: Revision,
    changes: Vec<FileDifference>,
}

/// The same as JSON.
#[derive(Serialize)]
struct RestoredJson<'a> {
    restored: SnapshotVersion,
    snapshot: Option<SnapshotVersion>,
    short_id: String,
    changes: Vec<Row<'a>>,
}

/// `rollback`. A branch that is in the wanted state already is left as it is.
pub(in crate::cli) fn run(
    wish: &Rollback,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let target = Target::of(wish)?;
    let branch = opened.branch(&target.repo_id, &target.branch)?;
    snapshot(&branch, target.to)?;
    let writer = opened.writer(&target.repo_id, &target.branch)?;
    let writer = writer.passing_over_rules(wish.no_validate);
    let paths = target.path.as_slice();
    let changes = branch.preview_rollback(target.to, paths, &Condition::None);
    let changes = changes
        .and_then(|changes| changes.part(None, usize::MAX))
        .map_err(|error| target.refusal(error, &branch))?;
    if wish.dry_run {
        if !wish.no_validate {
            branch.check_rollback(target.to, paths)?;
        }
        return preview(&target, &changes, wish.json, streams);
    }
    let restored = if changes.is_empty() {
        Restored {
            before: None,
            state: branch.head(),
            changes,
        }
    } else {
        restore(&target, &branch, &writer, opened)?
    };
    show(&target, &restored, wish.json, streams)
}

/// Says what would change.
fn preview(
    target: &Target,
    changes: &[FileDifference],
    json: bool,
    streams: &mut Streams<'_>,
) -> Result<()> {
    diff::show_names(changes, json, streams)?;
    if !json {
        let counted = counted(changes);
        streams.tell(format_args!(
            "{target} would be as in {}: {counted}; nothing was changed",
            target.to
        ))?;
    }
    Ok(())
}

/// Rolls back, and finds what was changed by that: another may have saved since it was looked at.
fn restore(
    target: &Target,
    branch: &Branch,
    writer: &ProjectWriter,
    opened: &OpenStore,
) -> Result<Restored> {
    let paths = target.path.as_slice();
    let done = writer.rollback(&target.branch, target.to, paths, &Condition::None);
    let done = done.map_err(|error| target.refusal(error, branch))?;
    let branch = opened.branch(&target.repo_id, &target.branch)?;
    let mut changes = repo::diff(&branch.snapshot(done.snapshot)?, &done.revision)?;
    changes.retain(|change| {
        let path = target.path.as_ref();
        path.is_none_or(|path| path.is_or_holds(&change.path))
    });
    Ok(Restored {
        before: Some(done.snapshot),
        state: done.revision,
        changes,
    })
}

/// Says what was changed.
fn show(target: &Target, restored: &Restored, json: bool, streams: &mut Streams<'_>) -> Result<()> {
    let undo = restored.before.map(|before| target.undo(before));
    let written = write(target, restored, undo.as_deref(), json, streams.out);
    if undo.is_none() {
        return written;
    }
    output::of_change(written, streams.out, undo.as_deref())
}

/// Writes the result; `undo` says how it is undone, where something was changed.
fn write(
    target: &Target,
    restored: &Restored,
    undo: Option<&str>,
    json: bool,
    out: &mut dyn Write,
) -> Result<()> {
    let to = target.to;
    if json {
        let shown = RestoredJson {
            restored: to,
            snapshot: restored.before,
            short_id: restored.state.digest()?.short_id().to_owned(),
            changes: restored.changes.iter().map(Row::from).collect(),
        };
        return output::write_json(out, &shown);
    }
    match undo {
        Some(undo) => {
            let counted = counted(&restored.changes);
            writeln!(out, "{target} is as in {to} again: {counted}; {undo}")?;
        }
        None => writeln!(out, "{target} is as in {to} already; nothing was changed")?,
    }
    Ok(())
}

impl Target {
    fn of(wish: &Rollback) -> Result<Self> {
        let repo_id = names::repo_id(&wish.repo_id)?;
        let branch = names::branch(&wish.branch)?;
        let path = names::part(wish.path.as_deref())?;
        let to = wish.to.strip_prefix(&format!("{branch}@"));
        Ok(Self {
            to: parse_version(to.unwrap_or(&wish.to))?,
            repo_id,
            branch,
            path,
        })
    }

    /// How it is undone, with the snapshot of before.
    fn undo(&self, before: SnapshotVersion) -> String {
        let (repo_id, branch) = (&self.repo_id, &self.branch);
        let limit = self.path.as_ref().map_or_else(String::new, |path| {
            format!(" --path={}", shell_word(path.as_str()))
        });
        format!("undo it with \"siteconf rollback {repo_id} {branch} {before}{limit}\"")
    }

    /// Why it cannot be as it is wanted.
    fn refusal(&self, error: repo::Error, branch: &Branch) -> Error {
        let (repo_id, name, to) = (&self.repo_id, &self.branch, self.to);
        match (error, &self.path) {
            (
                repo::Error::NotFound {
                    what: Missing::File,
                },
                Some(path),
            ) => Error::Failed(format!(
                "there is no \"{path}\" in {name}@{to}, nor in {name}; \"siteconf ls -r {repo_id} \
                 {name}@{to}\" lists what there was"
            )),
            (
                repo::Error::NotFound {
                    what: Missing::Snapshot,
                },
                _,
            ) => no_snapshot(branch, to),
            (other, _) => other.into(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{path} in ")?;
        }
        write!(f, "{}:{}", self.repo_id, self.branch)
    }
}

/// How many files change in which way.
fn counted(changes: &[FileDifference]) -> String {
    let count = |kind: ChangeKind| changes.iter().filter(|it| it.kind() == kind).count();
    format!(
        "{} files added, {} modified, {} deleted",
        count(ChangeKind::Added),
        count(ChangeKind::Modified),
        count(ChangeKind::Deleted)
    )
}
