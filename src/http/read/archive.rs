//! `GET /projects/<project>/repository/archive`

use hyper::StatusCode;
use hyper::header::CONTENT_DISPOSITION;

use crate::http::archive::{Archive, Format, Selection};
use crate::http::error::Error;
use crate::http::reply::disposition::Disposition;
use crate::http::reply::stream::ChunkStream;
use crate::http::reply::{Freshness, Reply};
use crate::http::request::conditions::ETag;
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::repo;
use crate::repo::{Missing, Project};

const ABSENT: &str = "404 File Not Found";

/// Sends a revision, or the folder or file of it that `path` names, as an archive. All lies in one
/// folder, named after the project and the commit, so that the bytes follow from the commit id alone.
///
/// # Errors
/// [`Error::LargeArchive`], before a byte is sent.
pub(super) fn send(
    context: &RequestContext,
    project: &Project,
    format: Format,
) -> Result<Reply, Error> {
    let reference = params::reference(context.query.text("sha")?)?;
    let path = params::folder(context.query.text("path")?)?;
    let revision = project
        .resolve(reference)
        .map_err(|error| Error::from(error).revision_as(ABSENT))?;
    let (selection, bytes) = match (revision.listing(path.as_ref(), true), &path) {
        (Ok(listing), _) => {
            let bytes = listing.totals()?.bytes;
            (Selection::Folder(listing), bytes)
        }
        (
            Err(repo::Error::NotFound {
                what: Missing::Folder,
            }),
            Some(path),
        ) => {
            let file = revision.file(path)?;
            let bytes = file.size();
            (Selection::File(path.to_string(), file), bytes)
        }
        (Err(failed), _) => return Err(failed.into()),
    };
    let limit_bytes = context.settings().archive_bytes_max;
    if bytes > limit_bytes {
        return Err(Error::LargeArchive { bytes, limit_bytes });
    }

    let digest = revision.digest()?;
    let id = project.repo_id().as_str();
    let folder = format!(
        "{}-{}",
        id.rsplit('/').next().unwrap_or(id),
        digest.commit_id()
    );
    let shown_path = path.as_ref().map_or("", |path| path.as_str());
    let extension = format.extension();
    let parts = [&folder, shown_path, extension].map(str::as_bytes);
    let tag = ETag::of_parts(&parts);
    let freshness = Freshness::of_reference(reference);
    if tag.is_known_to(context.headers()) {
        return Ok(Reply::empty(StatusCode::NOT_MODIFIED).validated(&tag, freshness));
    }
    let mut name = folder.clone();
    if !shown_path.is_empty() {
        name.push('-');
        name.push_str(&shown_path.replace('/', "-"));
    }
    let name = format!("{name}.{extension}");
    let archive = Archive::new(format, &folder, digest.commit_id(), selection);
    let body = ChunkStream::new(archive, None);
    Ok(Reply::pieces(StatusCode::OK, format.media_type(), body)
        .validated(&tag, freshness)
        .with(CONTENT_DISPOSITION, Disposition::Attachment.header(&name)))
}
