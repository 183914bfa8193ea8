//! Looking into a store, read-only: beside a daemon, and when it is damaged.
//!
//! These commands go below `repo` on purpose: what they meet is named, and the rest goes on.

mod check;
mod digest;
mod manifest;
mod object;
mod refs;
mod stats;

use super::args::DebugCommand;
use super::opened::Opened;
use super::{Error, Outcome, Result, Streams};
use crate::base::repo_id::RepoId;
use crate::repo::Revision;

/// Runs one of the commands.
pub(super) fn run(
    command: DebugCommand,
    opened: &Opened,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    match command {
        DebugCommand::Refs { json } => refs::run(opened, json, streams),
        DebugCommand::Manifest { target } => {
            manifest::run(opened, &revision(opened, &target)?, streams)
        }
        DebugCommand::Object { id, raw } => object::run(opened, &id, raw, streams),
        DebugCommand::Digest { target } => {
            digest::run(opened, &revision(opened, &target)?, streams)
        }
        DebugCommand::Stats { json } => stats::run(opened, json, streams),
        DebugCommand::Check { json } => check::run(opened, json, streams),
    }
}

/// What `REPO_ID:REVISION` names. Neither part can hold a colon.
fn revision(opened: &Opened, target: &str) -> Result<Revision> {
    let Some((repo_id, reference)) = target.split_once(':') else {
        let reason = format!("«{target}» must be REPO_ID:REVISION, as in acme/shop.erp:main");
        return Err(Error::Usage(reason));
    };
    let project = opened.repository.project(&RepoId::parse(repo_id)?)?;
    Ok(project.resolve(Some(reference))?)
}

/// Says on standard error what was found wrong.
fn report(findings: &[String], streams: &mut Streams<'_>) -> Result<Outcome> {
    for finding in findings {
        writeln!(streams.err, "siteconf: {finding}")?;
    }
    Ok(if findings.is_empty() {
        Outcome::Fine
    } else {
        Outcome::Findings
    })
}
