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
    /// `None` where they cannot be read any more.
    changes: Option<Vec<FileDifference>>,
}

/// The same as JSON.
#[derive(Serialize)]
struct RestoredJson<'a> {
    restored: SnapshotVersion,
    snapshot: Option<SnapshotVersion>,
    short_id: Option<String>,
    changes: Option<Vec<Row<'a>>>,
}

/// `rollback`. A branch that is in the wanted state already is left as it is.
pub(in crate::cli) fn run(
    args: &Rollback,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let target = Target::of(args)?;
    let branch = opened.branch(&target.repo_id, &target.branch)?;
    snapshot(&branch, target.to)?;
    let writer = opened.writer(&target.repo_id, &target.branch)?;
    let writer = writer.passing_over_rules(args.no_validate);
    let paths = target.path.as_slice();
    let changes = branch.preview_rollback(target.to, paths, &Condition::None);
    let changes = changes
        .and_then(|changes| changes.part(None, usize::MAX))
        .map_err(|error| target.refusal(error, &branch))?;
    if args.dry_run {
        if !args.no_validate {
            branch.check_rollback(target.to, paths)?;
        }
        return preview(&target, &changes, args.json, streams);
    }
    let restored = if changes.is_empty() {
        Restored {
            before: None,
            state: branch.head(),
            changes: Some(changes),
        }
    } else {
        restore(&target, &branch, &writer, opened)?
    };
    show(&target, &restored, args.json, streams)
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

/// Rolls back, and finds what was changed by that.
fn restore(
    target: &Target,
    branch: &Branch,
    writer: &ProjectWriter,
    opened: &OpenStore,
) -> Result<Restored> {
    let paths = target.path.as_slice();
    let done = writer.rollback(&target.branch, target.to, paths, &Condition::None);
    let done = done.map_err(|error| target.refusal(error, branch))?;
    let changes = changes(target, done.snapshot, &done.revision, opened);
    Ok(Restored {
        before: Some(done.snapshot),
        state: done.revision,
        changes: output::known(changes),
    })
}

/// What differs between a snapshot and the state that it was taken for: another may have saved since the rollback was
/// looked at.
fn changes(
    target: &Target,
    before: SnapshotVersion,
    state: &Revision,
    opened: &OpenStore,
) -> Result<Vec<FileDifference>> {
    let branch = opened.branch(&target.repo_id, &target.branch)?;
    let mut changes = repo::diff(&branch.snapshot(before)?, state)?;
    changes.retain(|change| {
        let path = target.path.as_ref();
        path.is_none_or(|path| path.is_or_holds(&change.path))
    });
    Ok(changes)
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
    let changes = restored.changes.as_deref();
    if json {
        let shown = RestoredJson {
            restored: to,
            snapshot: restored.before,
            short_id: output::known_short_id(&restored.state),
            changes: changes.map(|changes| changes.iter().map(Row::from).collect()),
        };
        return output::write_json(out, &shown);
    }
    match undo {
        Some(undo) => {
            let unknown = || "which files that has changed cannot be read now".to_owned();
            let counted = changes.map_or_else(unknown, counted);
            writeln!(out, "{target} is as in {to} again: {counted}; {undo}")?;
        }
        None => writeln!(out, "{target} is as in {to} already; nothing was changed")?,
    }
    Ok(())
}

impl Target {
    fn of(args: &Rollback) -> Result<Self> {
        let repo_id = names::repo_id(&args.repo_id)?;
        let branch = names::branch(&args.branch)?;
        let path = names::part(args.path.as_deref())?;
        let to = args.to.strip_prefix(&format!("{branch}@"));
        Ok(Self {
            to: parse_version(to.unwrap_or(&args.to))?,
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::tests::Desk;
    use crate::store::engine::{Engine, Purpose, StoreAddress};

    #[test]
    fn a_rollback_whose_changes_cannot_be_read_is_told_without_them() {
        let desk = Desk::with_project();
        let data = StoreAddress::Folder(desk.path("data"));
        let opened = OpenStore::of(Engine::open(&data, None, Purpose::Read).unwrap());
        let target = Target {
            repo_id: RepoId::parse("acme/shop.erp").unwrap(),
            branch: BranchName::parse("main").unwrap(),
            path: None,
            to: SnapshotVersion::new(1),
        };
        let head = opened.branch(&target.repo_id, &target.branch);
        let restored = Restored {
            before: Some(SnapshotVersion::new(2)),
            state: head.unwrap().head(),
            changes: None,
        };
        let shown = |json| {
            let mut out = Vec::new();
            write(&target, &restored, Some("undo it so"), json, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            shown(false),
            "acme/shop.erp:main is as in v0001 again: which files that has changed cannot be read now; undo it \
             so\n"
        );
        let shown: Value = serde_json::from_str(&shown(true)).unwrap();
        assert_eq!(
            [&shown["snapshot"], &shown["changes"]],
            [&json!("v0002"), &Value::Null]
        );
    }
}
