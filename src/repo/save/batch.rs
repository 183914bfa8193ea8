//! What the actions of a batch do to a tree.

use std::ops::ControlFlow;

use super::{BatchAction, Condition};
use crate::base::file_path::FilePath;
use crate::base::id::NodeId;
use crate::base::limits::{MOVED_ENTRIES_MAX, MOVED_NODES_BYTES_MAX};
use crate::base::name_error::check_new;
use crate::manifest::{Draft, Editor, walk};
use crate::object::node::Value;
use crate::repo::upload::NewFile;
use crate::repo::{Error, Result};
use crate::store::NewObject;

/// Applies actions in order, each to what those before it left. Gives the objects that they need.
///
/// # Errors
/// The first action that cannot be done, by its number and what it was to do.
///
/// # Limits
/// [`MOVED_ENTRIES_MAX`] and [`MOVED_NODES_BYTES_MAX`].
pub(super) fn apply(
    editor: &mut Editor,
    draft: &mut Draft<'_>,
    actions: &[BatchAction],
) -> Result<Vec<NewObject>> {
    let mut objects = Vec::new();
    let mut left = Left {
        entries: MOVED_ENTRIES_MAX,
        draft_bytes_max: draft.bytes() + MOVED_NODES_BYTES_MAX,
    };
    for (index, action) in actions.iter().enumerate() {
        let object = act(editor, draft, action, &mut left);
        objects.extend(object.map_err(|error| named(index, action, error))?);
    }
    Ok(objects)
}

/// What the moves of folders may still do: others wait for the branch.
struct Left {
    /// How many entries may be looked at.
    entries: usize,
    /// How large the draft may become.
    draft_bytes_max: usize,
}

fn act(
    editor: &mut Editor,
    draft: &mut Draft<'_>,
    action: &BatchAction,
    left: &mut Left,
) -> Result<Option<NewObject>> {
    let absent = || Error::invalid("the file does not exist");
    match action {
        BatchAction::Create(path, file) => {
            if editor.file(draft, path)?.is_some() {
                return Err(Error::invalid("the file exists already"));
            }
            check_new("path", path.as_str())?;
            editor.put_file(draft, path, file.entry(false))?;
            Ok(Some(file.object()))
        }
        BatchAction::Update(path, file, condition) => {
            let old = editor.file(draft, path)?;
            condition.require(path, old.as_ref())?;
            let old = old.ok_or_else(absent)?;
            editor.put_file(draft, path, file.entry(old.executable))?;
            Ok(Some(file.object()))
        }
        BatchAction::Put(path, file, mode) => {
            let old = editor.file(draft, path)?;
            if old.is_none() {
                check_new("path", path.as_str())?;
            }
            let old = old.is_some_and(|old| old.executable);
            editor.put_file(draft, path, file.entry(mode.unwrap_or(old)))?;
            Ok(Some(file.object()))
        }
        BatchAction::Delete(path, condition) => {
            if !editor.is_directory(draft, path)? {
                let old = editor.file(draft, path)?;
                condition.require(path, old.as_ref())?;
                old.ok_or_else(absent)?;
            } else if *condition != Condition::None {
                return Err(untagged());
            }
            editor.remove(draft, path)?;
            Ok(None)
        }
        BatchAction::Move {
            from,
            to,
            file,
            condition,
        } => {
            let from_directory = editor.is_directory(draft, from)?;
            let old = editor.file(draft, from)?;
            if !from_directory {
                condition.require(from, old.as_ref())?;
                old.ok_or_else(absent)?;
            }
            if editor.file(draft, to)?.is_some() {
                return Err(Error::invalid("a file exists at the new path already"));
            }
            check_new("path", to.as_str())?;
            if let Some(old) = old {
                editor.remove(draft, from)?;
                let entry = file.as_ref().map_or(old, |file| file.entry(old.executable));
                editor.put_file(draft, to, entry)?;
                return Ok(file.as_ref().map(NewFile::object));
            }
            if *condition != Condition::None {
                return Err(untagged());
            }
            if file.is_some() {
                return Err(Error::invalid("a folder has no content of its own"));
            }
            move_directory(editor, draft, from, to, left)?;
            Ok(None)
        }
    }
}

fn move_directory(
    editor: &mut Editor,
    draft: &mut Draft<'_>,
    from: &FilePath,
    to: &FilePath,
    left: &mut Left,
) -> Result<()> {
    if from.is_or_holds(to.as_str()) {
        return Err(Error::invalid("a folder cannot be moved into itself"));
    }
    if editor.is_directory(draft, to)? {
        return Err(Error::invalid("a folder exists at the new path already"));
    }
    let Some(directory) = editor.directory(draft, from)? else {
        return Err(Error::invalid("the file does not exist"));
    };
    // What is moved down, or to a longer name, may have too long a path there.
    let is_longer =
        to.as_str().len() > from.as_str().len() || to.segments().count() > from.segments().count();
    if is_longer {
        check_paths(draft, directory.root, to, left)?;
    }
    if draft.bytes() > left.draft_bytes_max {
        return Err(too_much());
    }
    editor.remove(draft, from)?;
    editor.put_directory(draft, to, directory)?;
    Ok(())
}

/// Refuses paths that a directory's files may not have below `to`.
fn check_paths(draft: &Draft<'_>, root: NodeId, to: &FilePath, left: &mut Left) -> Result<()> {
    let mut refused = None;
    let mut visit = |path: &str, _: &Value| {
        let Some(rest) = left.entries.checked_sub(1) else {
            refused = Some(too_much());
            return Ok(ControlFlow::Break(()));
        };
        left.entries = rest;
        refused = FilePath::parse(path).err().map(Error::from);
        Ok(if refused.is_some() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    };
    let _ = walk::recursive(draft, root, &mut format!("{to}/"), &mut visit)?;
    refused.map_or(Ok(()), Err)
}

fn too_much() -> Error {
    Error::invalid("the batch moves too much in folders; move them in several batches")
}

fn untagged() -> Error {
    Error::invalid("if_match is of a file; a folder has no tag")
}

/// Says which action of a batch could not be done.
fn named(index: usize, action: &BatchAction, error: Error) -> Error {
    let what = match action {
        BatchAction::Create(path, _) => format!("create \"{path}\""),
        BatchAction::Update(path, ..) => format!("update \"{path}\""),
        BatchAction::Put(path, ..) => format!("put \"{path}\""),
        BatchAction::Delete(path, _) => format!("delete \"{path}\""),
        BatchAction::Move { from, to, .. } => format!("move \"{from}\" to \"{to}\""),
    };
    let named = |reason| format!("action {} ({what}): {reason}", index + 1);
    match error {
        Error::Invalid { reason } => Error::invalid(named(reason)),
        Error::Precondition { reason, tag, file } => Error::Precondition {
            reason: named(reason),
            tag,
            file,
        },
        other => other,
    }
}
