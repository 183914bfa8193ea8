//! A folder or a file of a revision as an answer.

use std::collections::BTreeSet;

use hyper::StatusCode;
use hyper::header::CONTENT_DISPOSITION;

use super::left_out::LeftOut;
use super::{Archive, Format, Selection};
use crate::base::file_path::FilePath;
use crate::http::error::Error;
use crate::http::reply::disposition::Disposition;
use crate::http::reply::stream::ChunkStream;
use crate::http::reply::{Freshness, Reply};
use crate::http::request::conditions::ETag;
use crate::http::request::context::RequestContext;
use crate::repo;
use crate::repo::{Missing, Revision};

/// Sends a revision, or the folder or file of it at `path`, as an archive, without what is at the paths that are
/// excluded. All lies in one folder, named after the project and the commit, so that the bytes follow from the commit
/// id, the project's name, what is excluded and the modes of the files, of which a commit id says nothing. The tag is
/// of all four.
///
/// # Errors
/// [`Error::Malformed`] where nothing is left of what `path` names; [`Error::LargeArchive`], and that the revision is
/// not there any more, before a byte is sent.
pub(in crate::http) fn respond(
    context: &RequestContext,
    revision: &Revision,
    path: Option<&FilePath>,
    excluded: &BTreeSet<FilePath>,
    format: Format,
    freshness: Freshness,
) -> Result<Reply, Error> {
    let unless_pruned = |error| Error::from(revision.or_pruned(error));
    let selected = select(revision, path, excluded);
    let (selection, content, bytes) = selected.map_err(|error| error.map_repo(unless_pruned))?;
    let limit_bytes = context.settings().archive_bytes_max;
    if bytes > limit_bytes {
        return Err(Error::LargeArchive { bytes, limit_bytes });
    }

    let digest = revision.digest().map_err(unless_pruned)?;
    let id = revision.project().repo_id().as_str();
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

/// What goes into the archive, a text that is another one for other content, and how many bytes the files have.
fn select(
    revision: &Revision,
    path: Option<&FilePath>,
    excluded: &BTreeSet<FilePath>,
) -> Result<(Selection, String, u64), Error> {
    let is_excluded = |path: &FilePath| excluded.iter().any(|it| it.is_or_holds(path.as_str()));
    if path.is_some_and(is_excluded) {
        return Err(Error::malformed(
            "exclude_paths leaves nothing of what path names",
        ));
    }
    match (revision.listing(path, true), path) {
        (Ok(listing), _) => {
            let left_out = LeftOut::find(revision, path, excluded)?;
            let bytes = listing.totals()?.bytes.saturating_sub(left_out.bytes());
            let mut content = listing.content();
            for path in left_out.paths() {
                // No path holds a line break.
                content.push('\n');
                content.push_str(path.as_str());
            }
            Ok((Selection::Folder(listing, left_out), content, bytes))
        }
        (
            Err(repo::Error::NotFound {
                what: Missing::Folder,
            }),
            Some(path),
        ) => {
            let file = revision.file(path)?;
            let bytes = file.size();
            let content = format!("{}\n{}", file.blob(), file.is_executable());
            Ok((Selection::File(path.to_string(), file), content, bytes))
        }
        (Err(failed), _) => Err(failed.into()),
    }
}
