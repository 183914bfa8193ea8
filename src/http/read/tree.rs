//! `GET /projects/<project>/repository/tree`

use super::json::EntryJson;
use crate::http::call::Call;
use crate::http::error::Error;
use crate::http::names;
use crate::http::reply::{Freshness, Reply};
use crate::repo::Project;

/// Lists a folder of a revision, or everything below it.
pub(super) fn list(call: &Call, project: &Project) -> Result<Reply, Error> {
    let reference = names::reference(call.query.text("ref")?)?;
    let folder = names::folder(call.query.text("path")?)?;
    let recursive = call.query.flag("recursive")?;
    let revision = project
        .resolve(reference)
        .map_err(|error| Error::from(error).revision_as("404 Tree Not Found"))?;
    let entries = revision.list(folder.as_ref(), recursive)?;
    let shown: Vec<_> = entries.iter().map(EntryJson::new).collect();
    Ok(Reply::list(
        &shown,
        Freshness::of_reference(reference),
        call.headers(),
    ))
}
