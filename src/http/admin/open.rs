//! Who is logged in, and what may be opened for them.

use crate::access::{Caller, Right};
use crate::http::error::Error;
use crate::http::request::context::{RequestContext, Who};
use crate::http::request::params;
use crate::http::route::admin::BranchAt;
use crate::repo::{Branch, Project, ProjectWriter, Revision};

/// Who is logged in.
pub(super) fn caller(context: &RequestContext) -> Result<Caller, Error> {
    let cookie = context.cookie().read(context.headers());
    let cookie = cookie.ok_or_else(Error::no_credential)?;
    let caller = context.gate().session(&cookie)?.at(context.client);
    context.note(Who::Caller(caller.clone()));
    Ok(caller)
}

/// Who is logged in, for a request that a page sends by itself again and again: it is no use of the
/// session, which ends as if it had not come.
pub(super) fn watcher(context: &RequestContext) -> Result<Caller, Error> {
    let cookie = context.cookie().read(context.headers());
    let cookie = cookie.ok_or_else(Error::no_credential)?;
    let caller = context.gate().session_unused(&cookie)?.at(context.client);
    context.note(Who::Caller(caller.clone()));
    Ok(caller)
}

/// Opens a project for reading.
pub(super) fn open(
    context: &RequestContext,
    caller: &Caller,
    project: &str,
) -> Result<Project, Error> {
    Ok(context.gate().open(caller, &params::repo_id(project)?)?)
}

/// Opens the branch of a project for reading.
pub(super) fn open_branch(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
) -> Result<(Project, Branch), Error> {
    let name = params::branch(&at.branch)?;
    let project = open(context, caller, &at.project)?;
    let branch = project.branch(&name)?;
    Ok((project, branch))
}

/// Opens a state of a branch for reading: its head, or the snapshot of a version.
pub(super) fn open_state(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
    version: Option<&str>,
) -> Result<(Project, Revision), Error> {
    let version = version.map(params::version).transpose()?;
    let (project, branch) = open_branch(context, caller, at)?;
    let revision = match version {
        Some(version) => branch.snapshot(version)?,
        None => branch.head(),
    };
    Ok((project, revision))
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
