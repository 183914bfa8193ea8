//! What an import did, or would do, in words or as JSON.

use std::io::Write;

use serde::Serialize;

use super::skips::Skips;
use crate::base::snapshot_version::SnapshotVersion;
use crate::cli::output;
use crate::cli::output::counted;
use crate::cli::{Error, Result, Streams};
use crate::repo::{ImportChanges, Skip};

/// What an import did, or would do.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) project: String,
    pub(super) branch: String,
    pub(super) dry_run: bool,
    /// True if the project or the branch had to be made.
    pub(super) project_made: bool,
    pub(super) branch_made: bool,
    pub(super) files: u64,
    pub(super) bytes: u64,
    #[serde(flatten)]
    pub(super) changes: Changes,
    pub(super) skipped: Skipped,
    /// The snapshot taken just before; `None` where nothing changed.
    pub(super) snapshot: Option<SnapshotVersion>,
    /// The state of the branch then; `None` where it would be another, or cannot be read any more.
    pub(super) short_id: Option<String>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Changes {
    added: u64,
    changed: u64,
    removed: u64,
}

impl From<ImportChanges> for Changes {
    fn from(changes: ImportChanges) -> Self {
        let ImportChanges {
            added,
            changed,
            removed,
        } = changes;
        Self {
            added,
            changed,
            removed,
        }
    }
}

/// What was left out, by kind.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Skipped {
    symbolic_links: u64,
    special_files: u64,
    impossible_names: u64,
    too_large: u64,
    unreadable: u64,
    excluded: u64,
}

impl From<&Skips> for Skipped {
    fn from(skips: &Skips) -> Self {
        Self {
            symbolic_links: skips.count(Skip::Link),
            special_files: skips.count(Skip::Special),
            impossible_names: skips.count(Skip::Name),
            too_large: skips.count(Skip::TooLarge),
            unreadable: skips.count(Skip::Unreadable),
            excluded: skips.excluded(),
        }
    }
}

impl Report {
    /// True if the branch is as it was.
    fn is_unchanged(&self) -> bool {
        let Changes {
            added,
            changed,
            removed,
        } = self.changes;
        added + changed + removed == 0
    }

    /// Shows it; `owner` is who owns a project that had to be made, `skipped` what was left out.
    pub(super) fn show(
        &self,
        json: bool,
        owner: Option<&str>,
        skipped: Option<&str>,
        streams: &mut Streams<'_>,
    ) -> Result<()> {
        let noted = skipped.map_or(Ok(()), |skipped| {
            writeln!(streams.err, "skipped: {skipped}")
        });
        let written = self.write(json, owner, streams.out);
        let written = written.and(noted.map_err(Error::from));
        let is_made = self.project_made || self.branch_made || self.snapshot.is_some();
        if self.dry_run || !is_made {
            return written;
        }
        let undo = self.snapshot.map(|before| {
            let (project, branch) = (&self.project, &self.branch);
            format!("undo it with \"siteconf rollback {project} {branch} {before}\"")
        });
        output::of_change(written, streams.out, undo.as_deref())
    }

    fn write(&self, json: bool, owner: Option<&str>, out: &mut dyn Write) -> Result<()> {
        if json {
            return output::write_json(out, self);
        }
        let Self {
            project, branch, ..
        } = self;
        let would_be = if self.dry_run { "would be " } else { "" };
        if let (true, Some(owner)) = (self.project_made, owner) {
            writeln!(out, "project {project} {would_be}made, owned by {owner}")?;
        }
        if self.branch_made {
            writeln!(out, "branch {branch} {would_be}made")?;
        }
        let files = counted(self.files, "file", "files");
        let bytes = counted(self.bytes, "byte", "bytes");
        if self.is_unchanged() {
            let would_be = if self.dry_run { "would be" } else { "was" };
            writeln!(
                out,
                "unchanged: {project}:{branch} has what was taken, {files} of {bytes}; no snapshot \
                 {would_be} taken"
            )?;
            return Ok(());
        }
        let now = match &self.short_id {
            Some(id) => format!(", now {id}"),
            None => String::new(),
        };
        let Changes {
            added,
            changed,
            removed,
        } = self.changes;
        writeln!(
            out,
            "{files}, {bytes} {would_be}imported into {project}:{branch}{now}: {added} added, {changed} \
             changed, {removed} removed"
        )?;
        match self.snapshot {
            Some(before) => writeln!(out, "undo: siteconf rollback {project} {branch} {before}")?,
            None => writeln!(out, "dry run: nothing was saved")?,
        }
        Ok(())
    }
}
