//! `GET /projects/<project>/repository/files/<path>` and `…/files/<path>/raw`

use hyper::header::{HeaderName, HeaderValue};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use super::{base64_json, kept};
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
use crate::repo::{Body, BranchDigest, Content, FileView, Past, Project, Revision};

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
        let file = revision.file(&self.path);
        let file = file.map_err(|error| not_found(revision.or_pruned(error)))?;
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

/// The commits that an answer with a file tells of.
struct Commits {
    /// That of the revision.
    shown: BranchDigest,
    /// The one that changed the file last.
    last: BranchDigest,
}

impl NamedFile<'_> {
    /// Its commits. They are computed and searched for where that is needed.
    fn commits(&self) -> Result<Commits, Error> {
        let unless_pruned = |error| self.unless_pruned(error);
        let shown = self.revision.digest().map_err(unless_pruned)?;
        let last = self.revision.last_change(&self.path);
        let last = last.map_err(unless_pruned)?;
        Ok(Commits { shown, last })
    }

    /// Its bytes.
    fn content(&self) -> Result<Content, Error> {
        let content = self.file.content();
        content.map_err(|error| self.unless_pruned(error))
    }

    /// What an error of reading it comes to: what was pruned is not found.
    fn unless_pruned(&self, error: repo::Error) -> Error {
        not_found(self.revision.or_pruned(error))
    }

    /// Its commits where memory has them, `None` else.
    fn known_commits(&self) -> Result<Option<Commits>, Error> {
        let Some(shown) = self.revision.known_digest()? else {
            return Ok(None);
        };
        let last = self.revision.known_last_change(&self.path)?;
        Ok(last.map(|last| Commits { shown, last }))
    }

    fn freshness(&self) -> Freshness {
        Freshness::of_reference(self.reference)
    }

    /// The answer with what GitLab tells about a file in headers.
    fn described(&self, reply: Reply, sha256: Sha256, commits: &Commits) -> Reply {
        let text = |text: String| header(&text);
        let (path, file) = (&self.path, &self.file);
        reply
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
            .with(
                named("x-gitlab-commit-id"),
                header(commits.shown.commit_id()),
            )
            .with(
                named("x-gitlab-last-commit-id"),
                header(commits.last.commit_id()),
            )
            .with(
                named("x-gitlab-execute-filemode"),
                header(if file.is_executable() {
                    "true"
                } else {
                    "false"
                }),
            )
    }
}

/// The bytes of a file, with what GitLab tells about it in headers, where that takes microseconds. A short file is
/// kept as it is answered, for all who ask while no branch of the project changes, nor the past that the request
/// names. `None` where the revision has to be searched for, or something to be computed of it.
pub(super) fn raw_at_once(
    context: &RequestContext,
    project: &Project,
    path: &str,
) -> Result<Option<Reply>, Error> {
    let key = rendered_key(context, project, path)?;
    if let Some(key) = &key
        && let Some(reply) = kept::found(context, project, key)?
    {
        return Ok(Some(reply));
    }
    let keeping = Keeping::by(key, context, project)?;
    let Some(opened) = Named::by(context, path)?.open_known(project)? else {
        return Ok(None);
    };
    if let Some(reply) = file::unchanged(context, &opened.file, opened.freshness())? {
        return Ok(Some(reply));
    }
    let commits = opened.known_commits()?;
    commits
        .map(|commits| read(context, &opened, &commits, keeping))
        .transpose()
}

/// The same, however long it takes.
pub(super) fn raw(context: &RequestContext, project: &Project, path: &str) -> Result<Reply, Error> {
    let keeping = Keeping::by(rendered_key(context, project, path)?, context, project)?;
    let opened = Named::by(context, path)?.open(project)?;
    if let Some(reply) = file::unchanged(context, &opened.file, opened.freshness())? {
        return Ok(reply);
    }
    read(context, &opened, &opened.commits()?, keeping)
}

/// True if the revision that a request names has to be searched for.
pub(super) fn searches(context: &RequestContext, project: &Project) -> Result<bool, Error> {
    let reference = params::reference(context.query.text("ref")?)?;
    let known = project.resolve_known(reference).map_err(not_found)?;
    Ok(known.is_none())
}

/// What the answer with a whole short file is kept by; `None` for a request that may get another one. What a reference
/// names beside the heads is the same until a branch changes, and there are no links: nothing else of the address
/// is in the answer.
fn rendered_key(
    context: &RequestContext,
    project: &Project,
    path: &str,
) -> Result<Option<RenderedKey>, Error> {
    if !file::is_for_whole(context.headers()) {
        return Ok(None);
    }
    let reference = context.query.text("ref")?.unwrap_or("HEAD");
    Ok(Some(RenderedKey {
        state: ShownState::of_branches(project)?,
        // Of what is kept neither holds a line break: both were in their form.
        asked: format!("raw {reference}\n{path}"),
        coding: Coding::Identity,
    }))
}

/// By what an answer is kept, and the past that it tells of.
struct Keeping {
    key: RenderedKey,
    past: Past,
}

impl Keeping {
    /// With the past as it is before anything is read: what is removed between the two ends the answer.
    fn by(
        key: Option<RenderedKey>,
        context: &RequestContext,
        project: &Project,
    ) -> Result<Option<Self>, Error> {
        let Some(key) = key else { return Ok(None) };
        let past = project.past(params::reference(context.query.text("ref")?)?)?;
        Ok(Some(Self { key, past }))
    }
}

/// Answers with a file's bytes, and keeps the answer with a short file.
fn read(
    context: &RequestContext,
    opened: &NamedFile<'_>,
    commits: &Commits,
    keeping: Option<Keeping>,
) -> Result<Reply, Error> {
    let (file, freshness) = (&opened.file, opened.freshness());
    let content = opened.content()?;
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
    let reply = opened.described(reply, sha256, commits);
    if let (Some(bytes), Some(Keeping { key, past })) = (short, keeping) {
        let answer = file::rendered(&reply, file, bytes, freshness);
        context.service.rendered.keep(key, answer.telling_of(past));
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

/// A file as a JSON object, where that takes microseconds. GitLab wants a `ref`; here it is the default branch when
/// there is none. `None` where the revision has to be searched for, or something to be computed of it.
pub(super) fn show_at_once(
    context: &RequestContext,
    project: &Project,
    path: &str,
) -> Result<Option<Reply>, Error> {
    let Some(opened) = Named::by(context, path)?.open_known(project)? else {
        return Ok(None);
    };
    let commits = opened.known_commits()?;
    commits
        .map(|commits| object(context, &opened, &commits))
        .transpose()
}

/// The same, however long it takes.
pub(super) fn show(
    context: &RequestContext,
    project: &Project,
    path: &str,
) -> Result<Reply, Error> {
    let opened = Named::by(context, path)?.open(project)?;
    object(context, &opened, &opened.commits()?)
}

fn object(
    context: &RequestContext,
    opened: &NamedFile<'_>,
    commits: &Commits,
) -> Result<Reply, Error> {
    let content = opened.content()?;
    let sha256 = content.sha256;
    let object = FileJson {
        file_name: opened.path.name(),
        file_path: opened.path.as_str(),
        size: content.size,
        encoding: "base64",
        content_sha256: sha256,
        r#ref: opened.reference.unwrap_or("HEAD"),
        blob_id: opened.file.git_id(),
        commit_id: commits.shown.commit_id(),
        last_commit_id: commits.last.commit_id(),
        execute_filemode: opened.file.is_executable(),
    };
    // The branch can come back to the state later, and then another commit was the last to change the file.
    let reply = base64_json::respond(context, &object, content, Freshness::Moving)?;
    Ok(opened.described(reply, sha256, commits))
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
