//! `POST …/batch`: several changes as one save, as JSON in the shape of GitLab's commits API or as a
//! tar archive.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::ETAG;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use tar::EntryType;

use super::state::{StateJson, told_digest};
use crate::access;
use crate::access::{Caller, Uploads};
use crate::base::file_path::FilePath;
use crate::base::limits::BATCH_ACTIONS_MAX;
use crate::base::snapshot_version::SnapshotVersion;
use crate::http::admin::open::writer;
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::request::conditions::ETag;
use crate::http::request::context::RequestContext;
use crate::http::request::json_body::Object;
use crate::http::request::{conditions, json_body, params};
use crate::http::route::admin::BranchAt;
use crate::repo::{BatchAction, Condition, NewFile};

const TOO_MANY_ACTIONS: &str = "there are more than 10000 actions";

/// A batch as JSON.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch {
    #[serde(default)]
    message: Option<String>,
    #[serde(deserialize_with = "actions")]
    actions: Vec<Object<ActionJson>>,
}

/// Reads the actions, and stops at the first one too many.
fn actions<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Object<ActionJson>>, D::Error> {
    struct Actions;

    impl<'de> Visitor<'de> for Actions {
        type Value = Vec<Object<ActionJson>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of actions")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut actions = Vec::new();
            while let Some(action) = list.next_element()? {
                if actions.len() == BATCH_ACTIONS_MAX {
                    return Err(A::Error::custom(TOO_MANY_ACTIONS));
                }
                actions.push(action);
            }
            Ok(actions)
        }
    }

    from.deserialize_seq(Actions)
}

/// An action of a batch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ActionJson {
    action: Verb,
    file_path: String,
    #[serde(default)]
    previous_path: Option<String>,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    encoding: Option<Encoding>,
    /// The entity tag of the file that is changed, or `*`.
    #[serde(default, deserialize_with = "json_body::given")]
    if_match: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Verb {
    Create,
    Update,
    Delete,
    Move,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    Text,
    Base64,
}

/// A batch that was saved.
#[derive(Debug, Serialize)]
struct BatchJson {
    snapshot: SnapshotVersion,
    actions: usize,
    /// The tags of the files that were saved or moved, by their paths.
    etags: BTreeMap<String, String>,
    #[serde(flatten)]
    state: StateJson,
}

/// Refuses a batch before its body.
pub(super) fn admit(context: &RequestContext, caller: &Caller, at: &BranchAt) -> Result<(), Error> {
    let branch = params::branch(&at.branch)?;
    params::folder(context.query.text("path")?)?;
    let condition = conditions::condition(context.headers())?;
    let project = writer(context, caller, &at.project, access::Right::Write)?;
    Ok(project.requiring(condition).check_required(&branch)?)
}

/// Saves a batch of JSON actions.
pub(super) fn json(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
    body: &[u8],
) -> Result<Reply, Error> {
    for key in ["path", "message"] {
        if context.query.text(key)?.is_some() {
            return Err(Error::Malformed(format!(
                "query parameter \"{key}\" is only for an archive"
            )));
        }
    }
    let Batch { message, actions } = json_body::read(body)?;
    let message = params::message(message.as_deref())?;
    check_count(actions.len())?;
    let uploads = context.gate().uploads();
    let actions: Vec<_> = actions
        .into_iter()
        .enumerate()
        .map(|(index, Object(action))| {
            let path = action.file_path.clone();
            action
                .read(&uploads)
                .map_err(|error| in_action(index, &path, error))
        })
        .collect::<Result<_, _>>()?;
    save(context, caller, at, actions, message)
}

/// Saves the files of an archive, laid under the folder of `?path=`. Folders need no entry.
pub(super) fn tar(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
    body: &[u8],
) -> Result<Reply, Error> {
    let under = params::folder(context.query.text("path")?)?;
    let uploads = context.gate().uploads();
    let actions: Vec<_> = files_of(body, under.as_ref())?
        .into_iter()
        .map(|(path, executable, bytes)| {
            Ok(BatchAction::Put(
                path,
                uploads.new_file(bytes)?,
                Some(executable),
            ))
        })
        .collect::<Result<_, Error>>()?;
    let message = params::message(context.query.text("message")?)?;
    save(context, caller, at, actions, message)
}

fn save(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
    actions: Vec<BatchAction>,
    message: Option<String>,
) -> Result<Reply, Error> {
    let branch = params::branch(&at.branch)?;
    let project = writer(context, caller, &at.project, access::Right::Write)?;
    // A batch that removes needs the right to remove, too.
    if actions
        .iter()
        .any(|action| matches!(action, BatchAction::Delete(..) | BatchAction::Move { .. }))
    {
        writer(context, caller, &at.project, access::Right::Delete)?;
    }
    let condition = conditions::condition(context.headers())?;
    let conditional = condition != Condition::None;
    let count = actions.len();
    let put: Vec<_> = actions
        .iter()
        .filter_map(BatchAction::puts)
        .cloned()
        .collect();
    let saved = project
        .requiring(condition)
        .saying(message)
        .batch(&branch, actions)?;
    let mut etags = BTreeMap::new();
    for path in put {
        // A later action may have removed it; below a folder that moved there are many.
        if let Ok(file) = saved.revision.file(&path) {
            etags.insert(path.to_string(), ETag::of_blob(file.blob()).text());
        }
    }
    let digest = if conditional {
        Some(saved.revision.digest()?)
    } else {
        told_digest(&saved.revision)?
    };
    let shown = BatchJson {
        snapshot: saved.snapshot,
        actions: count,
        etags,
        state: StateJson::new(digest.as_ref(), saved.unchanged),
    };
    let reply = Reply::json(StatusCode::OK, &shown);
    Ok(match digest {
        Some(digest) => reply.with(ETAG, ETag::of_commit(digest.commit_id()).header()),
        None => reply,
    })
}

impl ActionJson {
    /// Checks an action by itself and takes its content.
    fn read(self, uploads: &Uploads) -> Result<BatchAction, Error> {
        let path = FilePath::parse(&self.file_path)?;
        let file = |content: Option<String>| -> Result<Option<NewFile>, Error> {
            let bytes = match (content, self.encoding) {
                (None, _) => return Ok(None),
                (Some(text), None | Some(Encoding::Text)) => Bytes::from(text),
                (Some(text), Some(Encoding::Base64)) => STANDARD
                    .decode(text)
                    .map_err(|error| Error::Malformed(format!("content is not base64: {error}")))?
                    .into(),
            };
            Ok(Some(uploads.new_file(bytes)?))
        };
        let wanted = || Error::malformed("content is missing");
        if self.previous_path.is_some() != (self.action == Verb::Move) {
            return Err(Error::malformed(
                "previous_path belongs to a move and to nothing else",
            ));
        }
        if self.if_match.is_some() && self.action == Verb::Create {
            return Err(Error::malformed(
                "if_match belongs to a file that is there; a create has none",
            ));
        }
        let tag = self.if_match.as_deref();
        let condition = tag.map(conditions::tag_condition).unwrap_or_default();
        match (self.action, self.previous_path) {
            (Verb::Delete, _) if self.content.is_some() => {
                Err(Error::malformed("a delete has no content"))
            }
            (Verb::Delete, _) => Ok(BatchAction::Delete(path, condition)),
            (Verb::Update, _) => Ok(BatchAction::Update(
                path,
                file(self.content)?.ok_or_else(wanted)?,
                condition,
            )),
            (Verb::Move, Some(previous)) => Ok(BatchAction::Move {
                from: FilePath::parse(&previous)?,
                to: path,
                file: file(self.content)?,
                condition,
            }),
            (Verb::Create | Verb::Move, _) => Ok(BatchAction::Create(
                path,
                file(self.content)?.ok_or_else(wanted)?,
            )),
        }
    }
}

/// Says which action was refused.
fn in_action(index: usize, path: &str, error: Error) -> Error {
    match error {
        Error::Malformed(reason) => {
            Error::Malformed(format!("action {} (\"{path}\"): {reason}", index + 1))
        }
        other => other,
    }
}

fn check_count(actions: usize) -> Result<(), Error> {
    match actions {
        0 => Err(Error::malformed("there is nothing to change")),
        1..=BATCH_ACTIONS_MAX => Ok(()),
        _ => Err(Error::malformed(TOO_MANY_ACTIONS)),
    }
}

/// Path, executable bit and bytes of every file of an archive.
///
/// # Errors
/// An archive that is cut or damaged, a name that is malformed, and an entry that is neither a file
/// nor a folder.
fn files_of(
    archive: &[u8],
    under: Option<&FilePath>,
) -> Result<Vec<(FilePath, bool, Bytes)>, Error> {
    let damaged = |error: std::io::Error| Error::Malformed(format!("malformed archive: {error}"));
    let mut files = Vec::new();
    let mut archive = tar::Archive::new(archive);
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let name = entry.path_bytes().into_owned();
        let name = String::from_utf8(name)
            .map_err(|_| Error::malformed("malformed archive: a name is not UTF-8"))?;
        match entry.header().entry_type() {
            EntryType::Directory | EntryType::XGlobalHeader => continue,
            EntryType::Regular => {}
            _ => {
                return Err(Error::Malformed(format!(
                    "archive entry \"{name}\": only files and folders can be stored"
                )));
            }
        }
        let mode = entry.header().mode().map_err(damaged)?;
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(damaged)?;
        if bytes.len() as u64 != entry.size() {
            return Err(Error::malformed("malformed archive: it is cut short"));
        }
        let path = path_in_archive(&name, under)
            .map_err(|error| Error::Malformed(format!("archive entry \"{name}\": {error}")))?;
        files.push((path, mode & 0o111 != 0, bytes.into()));
        check_count(files.len())?;
    }
    check_count(files.len())?;
    Ok(files)
}

/// The path of an entry; `./` in front is how tar writes a folder's own content.
fn path_in_archive(name: &str, under: Option<&FilePath>) -> Result<FilePath, Error> {
    let path = FilePath::parse(name.trim_start_matches("./"))?;
    Ok(match under {
        Some(folder) => folder.join(&path)?,
        None => path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(entries: &[(&str, EntryType, u32, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, kind, mode, content) in entries {
            let mut header = tar::Header::new_ustar();
            // Written as it stands: the builder would refuse the names that must be refused here.
            header.as_ustar_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(*kind);
            header.set_mode(*mode);
            header.set_size(content.len() as u64);
            header.set_cksum();
            builder.append(&header, content.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn an_archive_is_laid_under_a_folder() {
        let archive = archive(&[
            ("./", EntryType::Directory, 0o755, ""),
            ("./a.xml", EntryType::Regular, 0o644, "<a/>"),
            ("bin/run", EntryType::Regular, 0o755, "#!"),
        ]);
        let under = FilePath::parse("x").unwrap();
        let files: Vec<_> = files_of(&archive, Some(&under))
            .unwrap()
            .into_iter()
            .map(|(path, executable, bytes)| (path.to_string(), executable, bytes))
            .collect();
        assert_eq!(
            files,
            [
                ("x/a.xml".to_owned(), false, Bytes::from("<a/>")),
                ("x/bin/run".to_owned(), true, Bytes::from("#!")),
            ]
        );
    }

    #[test]
    fn what_is_no_file_or_cut_or_outside_is_refused() {
        let file = |name| archive(&[(name, EntryType::Regular, 0o644, "x")]);
        let whole = archive(&[("a", EntryType::Regular, 0o644, "0123456789")]);
        for (what, body) in [
            ("a link", archive(&[("a", EntryType::Symlink, 0o777, "")])),
            ("a hard link", archive(&[("a", EntryType::Link, 0o644, "")])),
            ("a pipe", archive(&[("a", EntryType::Fifo, 0o644, "")])),
            ("outside", file("../a")),
            ("within", file("a/../b")),
            ("absolute", file("/etc/passwd")),
            ("git's folder", file(".git/config")),
            ("cut", whole[..515].to_vec()),
            ("empty", archive(&[])),
            ("no archive", vec![b'x'; 1024]),
        ] {
            assert!(files_of(&body, None).is_err(), "{what} was accepted");
        }
    }
}
