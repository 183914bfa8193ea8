//! What may be opened for who is logged in.

use crate::access::{Caller, ProjectRights, Right};
use crate::http::error::Error;
use crate::http::reply::cache::ShownState;
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::http::route::admin::BranchAt;
use crate::repo::{Branch, Project, ProjectWriter, Revision};

/// Opens a project for reading.
pub(super) fn open(
    context: &RequestContext,
    caller: &Caller,
    project: &str,
) -> Result<Project, Error> {
    Ok(context.gate().open(caller, &params::repo_id(project)?)?)
}

/// All that an answer about the branches of a project depends on: what they are, and what who asks may do.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seen {
    branches: ShownState,
    rights: ProjectRights,
}

impl Seen {
    /// What a page that watches sees now.
    pub(super) fn now(context: &RequestContext, project: &str) -> Result<Self, Error> {
        let caller = context.watcher()?;
        let project = open(context, &caller, project)?;
        Ok(Self {
            branches: ShownState::of_branches(&project)?,
            rights: caller.rights_on(&project),
        })
    }
}

/// Opens the branch of a project for reading.
pub(super) fn open_branch(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
) -> Result<Branch, Error> {
    let name = params::branch(&at.branch)?;
    let project = open(context, caller, &at.project)?;
    Ok(project.branch(&name)?)
}

/// Opens a state of a branch for reading: its head, or the snapshot of a version.
pub(super) fn open_state(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
    version: Option<&str>,
) -> Result<Revision, Error> {
    let version = version.map(params::version).transpose()?;
    let branch = open_branch(context, caller, at)?;
    Ok(match version {
        Some(version) => branch.snapshot(version)?,
        None => branch.head(),
    })
}

/// True where a change passes over the rules for contents, which only the role for everything may.
pub(super) fn passes_over_rules(context: &RequestContext, caller: &Caller) -> Result<bool, Error> {
    let passes_over = context.query.flag("no_validate")?;
    if passes_over {
        context.gate().require_root(caller)?;
    }
    Ok(passes_over)
}

/// The same project, where changes pass over the rules for contents if that is asked for.
pub(super) fn by_rules(
    context: &RequestContext,
    caller: &Caller,
    project: ProjectWriter,
) -> Result<ProjectWriter, Error> {
    if passes_over_rules(context, caller)? {
        return Ok(context.gate().pass_over_rules(caller, project)?);
    }
    Ok(project)
}

/// Opens a project for a change.
pub(super) fn writer(
    context: &RequestContext,
    caller: &Caller,
    project: &str,
    action: Right,
) -> Result<ProjectWriter, Error> {
    Ok(context
        .gate()
        .open_to_change(caller, &params::repo_id(project)?, action)?)
}
