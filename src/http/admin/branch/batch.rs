//! `POST …/batch`: several changes as one save, as JSON in the shape of GitLab's commits API or as many
//! files in one body.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::ETAG;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::packed;
use super::packed::check_count;
use super::state::{StateJson, digest_after_change, told_digest};
use crate::access;
use crate::access::Caller;
use crate::base::digest::byte_count;
use crate::base::file_path::FilePath;
use crate::base::limits::{BATCH_ACTIONS_MAX, BATCH_FOLDERS_MAX};
use crate::base::name_error::shortened;
use crate::base::snapshot_version::SnapshotVersion;
use crate::http::admin::open::{by_rules, passes_over_rules, writer};
use crate::http::admin::payload::Packed;
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::request::conditions::ETag;
use crate::http::request::context::RequestContext;
use crate::http::request::json_body::Object;
use crate::http::request::{conditions, json_body, params};
use crate::http::route::admin::BranchAt;
use crate::repo::{BatchAction, Condition, Message, NewFile};

/// About so many bytes are told of a file beside its path.
const TAG_BYTES: usize = 80;

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
                    return Err(A::Error::custom(Error::many_actions(
                        BATCH_ACTIONS_MAX as u64,
                    )));
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
struct BatchJson<'a> {
    snapshot: SnapshotVersion,
    actions: usize,
    /// The tags of the files that were saved or moved, by their paths.
    etags: BTreeMap<&'a str, ETag>,
    #[serde(flatten)]
    state: StateJson,
}

/// Refuses a batch before its body.
pub(super) fn admit(context: &RequestContext, caller: &Caller, at: &BranchAt) -> Result<(), Error> {
    let branch = params::branch(&at.branch)?;
    params::folder(context.query.text("path")?)?;
    let condition = conditions::condition(context.headers())?;
    let project = writer(context, caller, &at.project, access::Right::Write)?;
    passes_over_rules(context, caller)?;
    Ok(project.check_batch(&branch, &condition)?)
}

/// Saves a batch of JSON actions.
pub(super) fn json(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
    body: Bytes,
) -> Result<Reply, Error> {
    for key in ["path", "message"] {
        if context.query.text(key)?.is_some() {
            return Err(Error::Malformed(format!(
                "query parameter \"{key}\" is only for an archive or a form"
            )));
        }
    }
    let Batch { message, actions } = json_body::read_with_long(&body, "content")?;
    // What it says has been copied.
    drop(body);
    let message = params::message(message.as_deref())?;
    check_count(actions.len(), &context.settings().limits)?;
    let actions: Vec<_> = actions
        .into_iter()
        .enumerate()
        .map(|(index, Object(action))| {
            let path = shortened(&action.file_path).into_owned();
            action
                .read(context)
                .map_err(|error| in_action(index, &path, error))
        })
        .collect::<Result<_, _>>()?;
    save(context, caller, at, actions, message)
}

/// Saves many files of one body, laid under the folder of `?path=`. Folders need no entry.
pub(super) fn files(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
    body: &mut Packed,
) -> Result<Reply, Error> {
    let under = params::folder(context.query.text("path")?)?;
    let message = params::message(context.query.text("message")?)?;
    let files = packed::files(body, under.as_ref(), &context.settings().limits)?;
    let actions = files.into_iter().map(|file| {
        let content = new_file(context, file.path.as_str(), file.bytes)?;
        Ok(BatchAction::Put(file.path, content, file.executable))
    });
    let actions = actions.collect::<Result<_, Error>>()?;
    save(context, caller, at, actions, message)
}

fn save(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
    actions: Vec<BatchAction>,
    message: Option<Message>,
) -> Result<Reply, Error> {
    let branch = params::branch(&at.branch)?;
    check_folders(actions.iter().filter_map(BatchAction::puts))?;
    let project = writer(context, caller, &at.project, access::Right::Write)?;
    // A batch that removes needs the right to remove, too.
    if actions
        .iter()
        .any(|action| matches!(action, BatchAction::Delete(..) | BatchAction::Move { .. }))
    {
        writer(context, caller, &at.project, access::Right::Delete)?;
    }
    let condition = conditions::condition(context.headers())?;
    let count = actions.len();
    let put: Vec<_> = actions
        .iter()
        .filter_map(BatchAction::puts)
        .cloned()
        .collect();
    // Before the change: who is refused after it would make it again.
    let told = put.iter().map(|path| path.as_str().len() + TAG_BYTES);
    let room = context.room_to_answer(told.sum())?;
    let saved = by_rules(context, caller, project)?
        .saying(message)
        .batch(&branch, actions, &condition)?;
    let mut etags = BTreeMap::new();
    for path in &put {
        // A later action may have removed it; below a folder that moved there are many.
        if let Ok(file) = saved.revision.file(path) {
            etags.insert(path.as_str(), ETag::of_blob(file.blob()));
        }
    }
    let digest = if condition == Condition::None {
        told_digest(&saved.revision)
    } else {
        digest_after_change(&saved.revision)
    };
    let shown = BatchJson {
        snapshot: saved.snapshot,
        actions: count,
        etags,
        state: StateJson::new(digest.as_ref(), saved.unchanged),
    };
    let reply = Reply::json(StatusCode::OK, &shown).in_room(room);
    Ok(match digest {
        Some(digest) => reply.with(ETAG, ETag::of_commit(digest.commit_id()).header()),
        None => reply,
    })
}

/// Refuses paths that name too many folders, each counted once: a few MB of paths would have the store make
/// hundreds of thousands.
///
/// # Limits
/// [`BATCH_FOLDERS_MAX`].
fn check_folders<'p>(paths: impl Iterator<Item = &'p FilePath>) -> Result<(), Error> {
    let mut folders = HashSet::new();
    for path in paths {
        let mut here = path.as_str();
        // With a folder all that are above it were counted.
        while let Some((above, _)) = here.rsplit_once('/')
            && folders.insert(above)
        {
            here = above;
        }
        if folders.len() > BATCH_FOLDERS_MAX {
            return Err(Error::Malformed(format!(
                "the paths of a batch name at most {BATCH_FOLDERS_MAX} folders: save them in several batches"
            )));
        }
    }
    Ok(())
}

/// Takes the content of a file.
///
/// # Errors
/// [`Error::LargeFile`] above `file_bytes_max`; those of the store.
fn new_file(context: &RequestContext, path: &str, bytes: Bytes) -> Result<NewFile, Error> {
    let limit_bytes = context.settings().file_bytes_max;
    if byte_count(&bytes) > limit_bytes {
        let path = path.to_owned();
        return Err(Error::LargeFile { path, limit_bytes });
    }
    Ok(context.gate().uploads().new_file(bytes)?)
}

impl ActionJson {
    /// Checks an action by itself and takes its content.
    fn read(self, context: &RequestContext) -> Result<BatchAction, Error> {
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
            new_file(context, &self.file_path, bytes).map(Some)
        };
        let wanted = || Error::malformed("content is missing");
        if self.previous_path.is_some() && self.action != Verb::Move {
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
            (Verb::Move, None) => Err(Error::malformed("previous_path is missing")),
            (Verb::Move, Some(previous)) => Ok(BatchAction::Move {
                from: FilePath::parse(&previous)?,
                to: path,
                file: file(self.content)?,
                condition,
            }),
            (Verb::Create, _) => Ok(BatchAction::Create(
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
