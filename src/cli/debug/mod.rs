//! Looking into a store, read-only: beside a daemon, and when it is damaged.
//!
//! These commands go below `repo` on purpose: what they meet is named, and the rest goes on.

pub(super) mod args;
mod check;
mod diff;
mod digest;
mod history;
mod manifest;
mod measure;
mod object;
mod readable;
mod refs;
mod shown;
mod stats;
mod tolerant;

#[cfg(test)]
mod tests;

use super::open_store::OpenStore;
use super::settings::Settings;
use super::{Error, Outcome, Result, Streams, names};
use crate::base::repo_id::RepoId;
use crate::repo::Revision;
use args::DebugCommand;

/// Runs one of the commands.
pub(super) fn run(
    command: DebugCommand,
    settings: &Settings,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    match command {
        DebugCommand::Refs { json } => refs::run(opened, json, streams),
        DebugCommand::History { target, json } => history::run(opened, &target, json, streams),
        DebugCommand::Manifest { target, json } => {
            manifest::run(opened, &revision(opened, &target)?, json, streams)
        }
        DebugCommand::Object { id, raw: true, .. } => object::write_raw(opened, &id, streams),
        DebugCommand::Object { id, json, .. } => object::run(opened, &id, json, streams),
        DebugCommand::Digest { target, json } => {
            digest::run(opened, &revision(opened, &target)?, json, streams)
        }
        DebugCommand::Diff { old, new, json } => {
            let (old, new) = (revision(opened, &old)?, revision(opened, &new)?);
            diff::run(opened, &old, &new, json, streams)
        }
        DebugCommand::Stats { json } => stats::run(opened, json, streams),
        DebugCommand::Check { deep, json } => check::run(opened, settings, deep, json, streams),
    }
}

/// The parts of `REPO_ID:REVISION`. Neither can hold a colon.
fn parts<'t>(target: &'t str, second: &str) -> Result<(RepoId, &'t str)> {
    match target.split_once(':') {
        Some((repo_id, rest)) if !rest.is_empty() => Ok((names::repo_id(repo_id)?, rest)),
        _ => Err(Error::Usage(format!(
            "\"{target}\" must be REPO_ID:{second}, as in acme/shop.erp:main"
        ))),
    }
}

/// What `REPO_ID:REVISION` names.
fn revision(opened: &OpenStore, target: &str) -> Result<Revision> {
    let (repo_id, reference) = parts(target, "REVISION")?;
    opened.revision(&repo_id, reference)
}

/// Says on standard error what was found wrong.
fn report(findings: &[String], streams: &mut Streams<'_>) -> Result<Outcome> {
    for finding in findings {
        streams.note(format_args!("siteconf: {finding}"))?;
    }
    Ok(outcome(findings.is_empty()))
}

fn outcome(fine: bool) -> Outcome {
    if fine {
        Outcome::Fine
    } else {
        Outcome::Findings
    }
}
