//! What came of a migration, told while it goes on and at its end.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

use crate::cli::Result;
use crate::cli::output;
use crate::cli::output::{counted, visible};
use crate::cli::running::progress::Progress;

/// What was done, or would be, and what was found.
pub(super) struct Report<'a> {
    pub(super) progress: Progress<'a>,
    content: ReportContent,
    /// Findings that are told already.
    shown: usize,
}

/// It is written as a whole, as JSON or in words.
#[derive(Debug, Default, Serialize)]
struct ReportContent {
    /// True if nothing was done.
    dry_run: bool,
    made: Counts,
    changed: Counts,
    unchanged: Counts,
    revoked: Counts,
    /// States that were compared.
    compared: u64,
    files: u64,
    bytes: u64,
    steps: Vec<Step>,
    findings: Vec<Finding>,
    remarks: Vec<Finding>,
}

/// How many of each kind.
#[derive(Debug, Default, Serialize)]
pub(super) struct Counts {
    pub(super) accounts: u64,
    pub(super) projects: u64,
    pub(super) branches: u64,
    pub(super) snapshots: u64,
    pub(super) tokens: u64,
}

/// What a step is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Account,
    Project,
    Branch,
    Token,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Done {
    Made,
    Changed,
    Unchanged,
    Revoked,
}

#[derive(Debug, Serialize)]
struct Step {
    done: Done,
    kind: Kind,
    name: String,
    #[serde(skip_serializing_if = "is_none")]
    snapshots: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

#[derive(Debug, Serialize)]
struct Finding {
    at: String,
    reason: String,
}

impl<'a> Report<'a> {
    pub(super) fn new(progress: Progress<'a>, dry_run: bool) -> Self {
        Self {
            progress,
            content: ReportContent {
                dry_run,
                ..ReportContent::default()
            },
            shown: 0,
        }
    }

    /// Something was left out, or differs.
    pub(super) fn leave_out(&mut self, at: &Path, reason: &str) {
        self.find(&at.to_string_lossy(), reason);
    }

    /// As [`Report::leave_out`], of what has another kind of place.
    pub(super) fn find(&mut self, at: &str, reason: &str) {
        self.content.findings.push(finding(at, reason));
    }

    /// Something is worth a look, and no fault.
    pub(super) fn remark(&mut self, at: &Path, reason: &str) {
        self.content
            .remarks
            .push(finding(&at.to_string_lossy(), reason));
    }

    /// Where the findings are, for [`Report::forget_since`].
    pub(super) fn mark(&self) -> usize {
        self.content.findings.len()
    }

    /// Takes findings back.
    pub(super) fn forget_since(&mut self, mark: usize) {
        self.content.findings.truncate(mark);
    }

    /// Tells what was found and is not told yet.
    pub(super) fn tell(&mut self) {
        for Finding { at, reason } in &self.content.findings[self.shown..] {
            let said = format!("siteconf: {}: {}", visible(at), visible(reason));
            self.progress.tell(&said);
        }
        self.shown = self.content.findings.len();
    }

    /// True if nothing was found.
    pub(super) fn is_clean(&self) -> bool {
        self.content.findings.is_empty()
    }

    /// True if something was done.
    pub(super) fn has_steps(&self) -> bool {
        !self.content.steps.is_empty()
    }

    /// Something was done.
    pub(super) fn step(&mut self, done: Done, kind: Kind, name: String, snapshots: u64) {
        let counts = match done {
            Done::Made => &mut self.content.made,
            Done::Changed => &mut self.content.changed,
            Done::Unchanged => &mut self.content.unchanged,
            Done::Revoked => &mut self.content.revoked,
        };
        *match kind {
            Kind::Account => &mut counts.accounts,
            Kind::Project => &mut counts.projects,
            Kind::Branch => &mut counts.branches,
            Kind::Token => &mut counts.tokens,
        } += 1;
        if done != Done::Unchanged {
            // A snapshot is made, whether its branch is new or goes on.
            self.content.made.snapshots += snapshots;
            self.content.steps.push(Step {
                done,
                kind,
                name,
                snapshots,
            });
        }
    }

    /// A state was compared.
    pub(super) fn compared(&mut self) {
        self.content.compared += 1;
    }

    /// A file was read.
    pub(super) fn file(&mut self, size: u64) {
        self.content.files += 1;
        self.content.bytes = self.content.bytes.saturating_add(size);
        let ReportContent { files, bytes, .. } = &self.content;
        self.progress
            .say(|| format!("{files} files, {bytes} bytes read"));
    }

    /// Writes the whole report.
    pub(super) fn write(self, json: bool, verify: bool, out: &mut dyn Write) -> Result<()> {
        let Self {
            progress, content, ..
        } = self;
        drop(progress);
        if json {
            return output::write_json(out, &content);
        }
        for Finding { at, reason } in &content.remarks {
            writeln!(out, "remark: {}: {reason}", visible(at))?;
        }
        let findings = counted(content.findings.len() as u64, "finding", "findings");
        if verify {
            let ReportContent {
                compared, files, ..
            } = content;
            writeln!(
                out,
                "{compared} states with {files} files and {} tokens compared; {findings}",
                content.unchanged.tokens
            )?;
            return Ok(());
        }
        let would = if content.dry_run { "would be " } else { "" };
        for step in &content.steps {
            let done = match step.done {
                Done::Made => "made",
                Done::Changed => "changed",
                Done::Unchanged => continue,
                Done::Revoked => "revoked",
            };
            let kind = match step.kind {
                Kind::Account => "account",
                Kind::Project => "project",
                Kind::Branch => "branch",
                Kind::Token => "token",
            };
            let name = visible(&step.name);
            let with = match step.snapshots {
                0 => String::new(),
                1 => ", with 1 old snapshot".to_owned(),
                count => format!(", with {count} old snapshots"),
            };
            writeln!(out, "{kind} {name} {would}{done}{with}")?;
        }
        for (would, done, counts) in [
            (would, "made", &content.made),
            (would, "changed", &content.changed),
            ("", "unchanged", &content.unchanged),
        ] {
            let Counts {
                accounts,
                projects,
                branches,
                snapshots,
                tokens,
            } = counts;
            let old = if done == "made" {
                format!("{snapshots} old snapshots, ")
            } else {
                String::new()
            };
            writeln!(
                out,
                "{would}{done}: {accounts} accounts, {projects} projects, {branches} branches, {old}\
                 {tokens} tokens"
            )?;
        }
        if content.revoked.tokens > 0 {
            writeln!(out, "{would}revoked: {} tokens", content.revoked.tokens)?;
        }
        writeln!(out, "{findings}")?;
        Ok(())
    }
}

fn finding(at: &str, reason: &str) -> Finding {
    Finding {
        at: at.to_owned(),
        reason: reason.to_owned(),
    }
}
