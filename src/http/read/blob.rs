//! `GET /projects/<project>/repository/blobs/<sha>` and `…/blobs/<sha>/raw`

use serde::Serialize;

use super::base64_json;
use crate::base::file_path::FilePath;
use crate::base::id::GitId;
use crate::http::error::Error;
use crate::http::reply::disposition::Disposition;
use crate::http::reply::file;
use crate::http::reply::{Freshness, Reply};
use crate::http::request::context::RequestContext;
use crate::repo::{FileView, Project};

/// A blob as GitLab's object.
#[derive(Debug, Serialize)]
struct BlobJson {
    size: u64,
    encoding: &'static str,
    sha: GitId,
}

/// A blob as a JSON object.
pub(super) fn show(context: &RequestContext, project: &Project, sha: &str) -> Result<Reply, Error> {
    let (id, file) = find(project, sha)?;
    let blob = BlobJson {
        size: file.size(),
        encoding: "base64",
        sha: id,
    };
    let content = file.content()?;
    base64_json::respond(context, &blob, content, Freshness::Fixed)
}

/// The bytes of a blob.
pub(super) fn raw(context: &RequestContext, project: &Project, sha: &str) -> Result<Reply, Error> {
    let (id, file) = find(project, sha)?;
    if let Some(reply) = file::unchanged(context, &file, Freshness::Fixed)? {
        return Ok(reply);
    }
    let name = FilePath::parse(&id.to_string())?;
    let content = file.content()?;
    file::respond(
        context,
        &name,
        &file,
        content,
        Freshness::Fixed,
        Disposition::Inline,
    )
}

/// The file with this git blob id in any state of the project, and of no other project.
fn find(project: &Project, sha: &str) -> Result<(GitId, FileView), Error> {
    let absent = || Error::NotThere("404 Blob Not Found");
    let id: GitId = sha.to_ascii_lowercase().parse().map_err(|_| absent())?;
    let file = project.find_blob(id)?.ok_or_else(absent)?;
    Ok((id, file))
}
