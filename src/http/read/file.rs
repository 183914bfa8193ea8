//! `GET /projects/<project>/repository/files/<path>` and `…/files/<path>/raw`

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use super::base64_json;
use crate::base::file_path::FilePath;
use crate::base::id::{GitId, Sha256};
use crate::http::error::Error;
use crate::http::reply::cache::{RenderedKey, ShownState};
use crate::http::reply::coding::Coding;
use crate::http::reply::disposition::Disposition;
use crate::http::reply::file;
use crate::http::reply::{Freshness, Reply};
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::repo;
use crate::repo::{Body, FileView, Project, Revision};

/// What a request names: a file, and the revision where it lies.
struct Named<'a> {
    path: FilePath,
    reference: Option<&'a str>,
}

impl<'a> Named<'a> {
    fn by(context: &'a RequestContext, path: &str) -> Result<Self, Error> {
        Ok(Self {
            path: params::file(path)?,
            reference: params::reference(context.query.text("ref")?)?,
        })
    }

    /// The file. Its revision is searched for where that is needed.
    fn open(self, project: &Project) -> Result<NamedFile<'a>, Error> {
        let revision = project.resolve(self.reference).map_err(not_found)?;
        self.at(revision)
    }

    /// The file, `None` where its revision has to be searched for.
    fn open_known(self, project: &Project) -> Result<Option<NamedFile<'a>>, Error> {
        let revision = project.resolve_known(self.reference).map_err(not_found)?;
        revision.map(|revision| self.at(revision)).transpose()
    }

    fn at(self, revision: Revision) -> Result<NamedFile<'a>, Error> {
        let file = revision.file(&self.path)?;
        Ok(NamedFile {
            path: self.path,
            reference: self.reference,
            revision,
            file,
        })
    }
}

fn not_found(error: repo::Error) -> Error {
    Error::from(error).revision_as("404 Commit Not Found")
}

/// A file of a revision, as a request names it.
struct NamedFile<'a> {
    path: FilePath,
    reference: Option<&'a str>,
    revision: Revision,
    file: FileView,
}

impl NamedFile<'_> {
    fn freshness(&self) -> Freshness {
        Freshness::of_reference(self.reference)
    }

    /// The answer with what GitLab tells about a file in headers.
    fn described(&self, reply: Reply, sha256: Sha256) -> Result<Reply, Error> {
        let digest = self.revision.digest()?;
        let last_change = self.revision.last_change(&self.path)?;
        let text = |text: String| header(&text);
        let (path, file) = (&self.path, &self.file);
        Ok(reply
            .with(named("x-gitlab-file-name"), header(path.name()))
            .with(named("x-gitlab-file-path"), header(path.as_str()))
            .with(named("x-gitlab-size"), file.size().into())
            .with(named("x-gitlab-encoding"), header("base64"))
            .with(named("x-gitlab-content-sha256"), text(sha256.to_string()))
            .with(
                named("x-gitlab-ref"),
                header(self.reference.unwrap_or("HEAD")),
            )
            .with(named("x-gitlab-blob-id"), text(file.git_id().to_string()))
            .with(named("x-gitlab-commit-id"), header(digest.commit_id()))
            .with(
                named("x-gitlab-last-commit-id"),
                header(last_change.commit_id()),
            )
            .with(
                named("x-gitlab-execute-filemode"),
                header(if file.is_executable() {
                    "true"
                } else {
                    "false"
                }),
            ))
    }
}

/// The bytes of a file, with what GitLab tells about it in headers. A short file is kept as it is
/// answered, for all who ask while no branch of the project changes, nor the past that the request names. `None`
/// where the revision has to be searched for.
pub(super) fn raw_at_once(
    context: &RequestContext,
    project: &Project,
    path: &str,
) -> Result<Option<Reply>, Error> {
    let open = || Named::by(context, path)?.open_known(project);
    if !file::is_for_whole(context.headers()) {
        return open()?
            .map(|opened| read(context, &opened, |_, _| {}))
            .transpose();
    }
    // What a reference names beside the heads is the same until a branch changes.
    let key = RenderedKey {
        state: ShownState::of_branches(project)?,
        url: context.target(),
        coding: Coding::Identity,
    };
    let rendered = &context.service.rendered;
    if let Some(kept) = rendered.get(&key)
        && kept.holds_in(project)?
    {
        return Ok(Some(kept.reply(context.headers())));
    }
    // Before what is read: what is removed between the two ends it.
    let past = project.past(params::reference(context.query.text("ref")?)?)?;
    let Some(opened) = open()? else {
        return Ok(None);
    };
    let reply = read(context, &opened, |bytes, reply| {
        let answer = file::rendered(reply, &opened.file, bytes, opened.freshness());
        rendered.keep(key, answer.telling_of(past));
    })?;
    Ok(Some(reply))
}

/// The same, with a search for the revision where that is needed.
pub(super) fn raw(context: &RequestContext, project: &Project, path: &str) -> Result<Reply, Error> {
    let opened = Named::by(context, path)?.open(project)?;
    read(context, &opened, |_, _| {})
}

/// Answers with a file's bytes. `keep` gets the bytes of a short file and the answer.
fn read(
    context: &RequestContext,
    opened: &NamedFile<'_>,
    keep: impl FnOnce(Bytes, &Reply),
) -> Result<Reply, Error> {
    let (file, freshness) = (&opened.file, opened.freshness());
    if let Some(reply) = file::unchanged(context, file, freshness)? {
        return Ok(reply);
    }
    let content = file.content()?;
    let sha256 = content.sha256;
    let short = match &content.body {
        Body::Inline(bytes) => Some(bytes.clone()),
        Body::Large(_) => None,
    };
    let reply = file::respond(
        context,
        &opened.path,
        file,
        content,
        freshness,
        Disposition::Inline,
    )?;
    let reply = opened.described(reply, sha256)?;
    if let Some(bytes) = short {
        keep(bytes, &reply);
    }
    Ok(reply)
}

/// A file as GitLab's object; its bytes come last, in base64.
#[derive(Debug, Serialize)]
struct FileJson<'a> {
    file_name: &'a str,
    file_path: &'a str,
    size: u64,
    encoding: &'static str,
    content_sha256: Sha256,
    r#ref: &'a str,
    blob_id: GitId,
    commit_id: &'a str,
    /// The commit that changed the file last.
    last_commit_id: &'a str,
    execute_filemode: bool,
}

/// A file as a JSON object. GitLab wants a `ref`; here it is the default branch when there is none. `None`
/// where the revision has to be searched for.
pub(super) fn show_at_once(
    context: &RequestContext,
    project: &Project,
    path: &str,
) -> Result<Option<Reply>, Error> {
    let opened = Named::by(context, path)?.open_known(project)?;
    opened.map(|opened| object(context, &opened)).transpose()
}

/// The same, with a search for the revision where that is needed.
pub(super) fn show(
    context: &RequestContext,
    project: &Project,
    path: &str,
) -> Result<Reply, Error> {
    object(context, &Named::by(context, path)?.open(project)?)
}

fn object(context: &RequestContext, opened: &NamedFile<'_>) -> Result<Reply, Error> {
    let content = opened.file.content()?;
    let sha256 = content.sha256;
    let digest = opened.revision.digest()?;
    let last_change = opened.revision.last_change(&opened.path)?;
    let object = FileJson {
        file_name: opened.path.name(),
        file_path: opened.path.as_str(),
        size: content.size,
        encoding: "base64",
        content_sha256: sha256,
        r#ref: opened.reference.unwrap_or("HEAD"),
        blob_id: opened.file.git_id(),
        commit_id: digest.commit_id(),
        last_commit_id: last_change.commit_id(),
        execute_filemode: opened.file.is_executable(),
    };
    // The branch can come back to the state later, and then another commit was the last to change the file.
    let reply = base64_json::respond(context, &object, content, Freshness::Moving)?;
    opened.described(reply, sha256)
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
