//! `GET /projects/<project>/repository/archive`

use std::collections::BTreeSet;

use crate::base::file_path::FilePath;
use crate::http::archive::Format;
use crate::http::archive::respond::respond;
use crate::http::error::Error;
use crate::http::reply::{Freshness, Reply};
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::repo::Project;

const ABSENT: &str = "404 File Not Found";

/// Sends a revision, or the folder or file of it that `path` names, as an archive, without what `exclude_paths` names.
///
/// # Errors
/// As [`respond`].
pub(super) fn send(
    context: &RequestContext,
    project: &Project,
    format: Format,
) -> Result<Reply, Error> {
    let reference = params::reference(context.query.text("sha")?)?;
    let path = params::folder_or_dot(context.query.text("path")?)?;
    let excluded = paths(context.query.text("exclude_paths")?.unwrap_or_default())?;
    let not_found = |error: Error| error.revision_as(ABSENT);
    let revision = project.resolve(reference).map_err(Error::from);
    let reply = respond(
        context,
        &revision.map_err(not_found)?,
        path.as_ref(),
        &excluded,
        format,
        Freshness::of_reference(reference),
    );
    reply.map_err(not_found)
}

/// Reads paths between commas, as GitLab does. They are whole paths of files and folders.
fn paths(list: &str) -> Result<BTreeSet<FilePath>, Error> {
    let each = list.split(',').map(str::trim);
    each.filter(|path| !path.is_empty())
        .map(|path| params::file(path.strip_suffix('/').unwrap_or(path)))
        .collect()
}
