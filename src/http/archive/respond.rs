//! A folder or a file of a revision as an answer.

use hyper::StatusCode;
use hyper::header::CONTENT_DISPOSITION;

use super::{Archive, Format, Selection};
use crate::base::file_path::FilePath;
use crate::base::repo_id::RepoId;
use crate::http::error::Error;
use crate::http::reply::disposition::Disposition;
use crate::http::reply::stream::ChunkStream;
use crate::http::reply::{Freshness, Reply};
use crate::http::request::conditions::ETag;
use crate::http::request::context::RequestContext;
use crate::repo;
use crate::repo::{Missing, Revision};

/// Sends a revision, or the folder or file of it at `path`, as an archive. All lies in one folder, named
/// after the project and the commit, so that the bytes follow from the commit id, the project's name and the modes of
/// the files, of which a commit id says nothing. The tag is of all three.
///
/// # Errors
/// [`Error::LargeArchive`], and that the revision is not there any more, before a byte is sent.
pub(in crate::http) fn respond(
    context: &RequestContext,
    project: &RepoId,
    revision: &Revision,
    path: Option<&FilePath>,
    format: Format,
    freshness: Freshness,
) -> Result<Reply, Error> {
    let unless_pruned = |error| Error::from(revision.or_pruned(error));
    let (selection, content, bytes) = match (revision.listing(path, true), path) {
        (Ok(listing), _) => {
            let bytes = listing.totals().map_err(unless_pruned)?.bytes;
            let content = listing.content();
            (Selection::Folder(listing), content, bytes)
        }
        (
            Err(repo::Error::NotFound {
                what: Missing::Folder,
            }),
            Some(path),
        ) => {
            let file = revision.file(path).map_err(unless_pruned)?;
            let bytes = file.size();
            let content = format!("{}\n{}", file.blob(), file.is_executable());
            (Selection::File(path.to_string(), file), content, bytes)
        }
        (Err(failed), _) => return Err(unless_pruned(failed)),
    };
    let limit_bytes = context.settings().archive_bytes_max;
    if bytes > limit_bytes {
        return Err(Error::LargeArchive { bytes, limit_bytes });
    }

    let digest = revision.digest().map_err(unless_pruned)?;
    let id = project.as_str();
    let folder = format!(
        "{}-{}",
        id.rsplit('/').next().unwrap_or(id),
        digest.commit_id()
    );
    let shown_path = path.map_or("", |path| path.as_str());
    let extension = format.extension();
    let parts = [&folder, shown_path, extension, &content].map(str::as_bytes);
    let tag = ETag::of_parts(&parts);
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
    let body = ChunkStream::new(archive);
    Ok(Reply::pieces(StatusCode::OK, format.media_type(), body)
        .validated(&tag, freshness)
        .with(CONTENT_DISPOSITION, Disposition::Archive.header(&name)))
}
