//! A branch, or a path of it, back in an earlier state.

use serde::Serialize;

use super::args::Rollback;
use super::diff;
use super::diff::Row;
use crate::base::snapshot_version::SnapshotVersion;
use crate::cli::opened::{Opened, no_snapshot, parse_version, snapshot};
use crate::cli::output;
use crate::cli::output::shell_word;
use crate::cli::{Error, Result, Streams, names};
use crate::repo;
use crate::repo::{ChangeKind, Condition, FileDifference, Missing};

/// A rollback that was made, as JSON.
#[derive(Serialize)]
struct RolledBack<'a> {
    restored: SnapshotVersion,
    /// The snapshot taken just before; `None` where nothing had to be changed.
    snapshot: Option<SnapshotVersion>,
    short_id: String,
    changes: Vec<Row<'a>>,
}

/// `rollback`. A branch that is in the wanted state already is left as it is.
pub(in crate::cli) fn run(
    wish: &Rollback,
    opened: &Opened,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let repo_id = names::repo_id(&wish.repo_id)?;
    let name = names::branch(&wish.branch)?;
    let path = names::part(wish.path.as_deref())?;
    let to = parse_version(
        wish.to
            .strip_prefix(&format!("{name}@"))
            .unwrap_or(&wish.to),
    )?;
    let branch = opened.branch(&repo_id, &name)?;
    snapshot(&branch, to)?;
    let writer = opened.writer(&repo_id, &name)?;
    let writer = writer.passing_over_rules(wish.no_validate);
    let refusal = |error| match (error, &path) {
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
        ) => no_snapshot(&branch, to),
        (other, _) => other.into(),
    };
    let paths = path.as_slice();
    let changes = branch.preview_rollback(to, paths, &Condition::None);
    let mut changes = changes
        .and_then(|changes| changes.part(None, usize::MAX))
        .map_err(refusal)?;
    let what = match &path {
        Some(path) => format!("{path} in {repo_id}:{name}"),
        None => format!("{repo_id}:{name}"),
    };
    if wish.dry_run {
        if !wish.no_validate {
            branch.check_rollback(to, paths)?;
        }
        diff::show_names(&changes, wish.json, streams)?;
        if !wish.json {
            streams.tell(format_args!(
                "{what} would be as in {to}: {}; nothing was changed",
                counted(&changes)
            ))?;
        }
        return Ok(());
    }
    let (mut before, mut state) = (None, branch.head());
    if !changes.is_empty() {
        let done = writer.rollback(&name, to, paths);
        let done = done.map_err(refusal)?;
        (before, state) = (Some(done.snapshot), done.revision);
        // Another may have saved since the preview.
        changes = repo::diff(
            &opened.branch(&repo_id, &name)?.snapshot(done.snapshot)?,
            &state,
        )?;
        changes.retain(|change| {
            path.as_ref()
                .is_none_or(|path| path.is_or_holds(&change.path))
        });
    }
    if wish.json {
        let done = RolledBack {
            restored: to,
            snapshot: before,
            short_id: state.digest()?.short_id().to_owned(),
            changes: changes.iter().map(Row::from).collect(),
        };
        return output::write_json(streams.out, &done);
    }
    let Some(before) = before else {
        writeln!(
            streams.out,
            "{what} is as in {to} already; nothing was changed"
        )?;
        return Ok(());
    };
    let limit = path.map_or_else(String::new, |path| {
        format!(" --path={}", shell_word(path.as_str()))
    });
    writeln!(
        streams.out,
        "{what} is as in {to} again: {}; undo it with \"siteconf rollback {repo_id} {name} {before}{limit}\"",
        counted(&changes)
    )?;
    Ok(())
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
