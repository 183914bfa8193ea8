//! `GET /projects/<project>/repository/files/<path>/raw`

use hyper::header::{HeaderName, HeaderValue};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::http::call::Call;
use crate::http::disposition::Disposition;
use crate::http::error::Error;
use crate::http::reply::{Freshness, Reply};
use crate::http::{names, raw};
use crate::repo::Project;

/// The bytes of a file, with what GitLab tells about it in headers.
pub(super) fn raw(call: &Call, project: &Project, path: &str) -> Result<Reply, Error> {
    let path = names::file(path)?;
    let reference = names::reference(call.query.text("ref")?)?;
    let revision = project
        .resolve(reference)
        .map_err(|error| Error::from(error).revision_as("404 Commit Not Found"))?;
    let file = revision.file(&path)?;
    let freshness = Freshness::of_reference(reference);
    if let Some(reply) = raw::unchanged(call, &file, freshness)? {
        return Ok(reply);
    }
    let content = file.content()?;
    let sha256 = content.sha256;
    let reply = raw::answer(call, &path, &file, content, freshness, Disposition::Inline)?;

    let digest = revision.digest()?;
    let text = |text: String| header(&text);
    let commit_id = header(digest.commit_id());
    Ok(reply
        .with(named("x-gitlab-file-name"), header(path.name()))
        .with(named("x-gitlab-file-path"), header(path.as_str()))
        .with(named("x-gitlab-size"), file.size().into())
        .with(named("x-gitlab-encoding"), header("base64"))
        .with(named("x-gitlab-content-sha256"), text(sha256.to_string()))
        .with(named("x-gitlab-ref"), header(reference.unwrap_or("HEAD")))
        .with(named("x-gitlab-blob-id"), text(file.git_id().to_string()))
        .with(named("x-gitlab-commit-id"), commit_id.clone())
        .with(named("x-gitlab-last-commit-id"), commit_id)
        .with(
            named("x-gitlab-execute-filemode"),
            header(if file.is_executable() {
                "true"
            } else {
                "false"
            }),
        ))
}

const fn named(name: &'static str) -> HeaderName {
    HeaderName::from_static(name)
}

/// A value in raw UTF-8, as clients read it; escaped where a header cannot hold it.
fn header(text: &str) -> HeaderValue {
    HeaderValue::from_bytes(text.as_bytes()).unwrap_or_else(|_| {
        HeaderValue::try_from(utf8_percent_encode(text, NON_ALPHANUMERIC).to_string())
            .expect("escaped text is visible ASCII")
    })
}
