//! What is known of an old snapshot beside its files: `v0001.json`.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;

use serde::Deserialize;

use super::when::When;
use crate::base::limits::PATH_BYTES_MAX;
use crate::repo::{Author, ImportFolder, Message, Operation};

/// Longest such file, in bytes.
const NOTES_BYTES_MAX: u64 = 64 << 10;
/// Longest name of an author, in bytes.
const AUTHOR_BYTES_MAX: usize = 255;

/// What is known of a snapshot.
#[derive(Clone, Debug)]
pub(super) struct Notes {
    /// When it was taken, and by whom.
    pub(super) replaced: Author,
    pub(super) operation: Option<Operation>,
    pub(super) path: Option<String>,
    pub(super) message: Option<Message>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    created_at: Option<When>,
    created_by: Option<String>,
    operation: Option<Operation>,
    path: Option<String>,
    message: Option<String>,
}

/// What is wrong with a snapshot.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// With its folder.
    Folder(String),
    /// With what is written beside it.
    Notes(String),
}

/// What is known of the snapshot in this folder of the tree, whose owner is this account; what is not
/// written is told by the folder itself.
///
/// # Errors
/// What is wrong with the one or the other.
pub(super) fn of_snapshot(
    tree: &ImportFolder,
    place: &Path,
    account: &str,
) -> Result<Notes, Fault> {
    let own = tree.below(place).and_then(|folder| folder.modified_at());
    let own = own.map_err(|e| Fault::Folder(e.to_string()))?;
    let written = written(tree, place).map_err(Fault::Notes)?;
    let message = written.message.as_deref().map(Message::parse_old);
    let message = message.transpose();
    let message = message.map_err(|error| Fault::Notes(format!("message {error}")))?;
    Ok(Notes {
        replaced: Author {
            at: written.created_at.map_or(own, |When(at)| at),
            by: written.created_by.unwrap_or_else(|| account.to_owned()),
        },
        operation: written.operation,
        path: written.path,
        message,
    })
}

fn written(tree: &ImportFolder, place: &Path) -> Result<Written, String> {
    let (Some(above), Some(name)) = (place.parent(), place.file_name()) else {
        return Ok(Written::default());
    };
    let name = OsString::from_iter([name, ".json".as_ref()]);
    let read = tree
        .below(above)
        .and_then(|folder| folder.small_file(&name, NOTES_BYTES_MAX));
    let text = match read {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Written::default()),
        Err(error) => return Err(error.to_string()),
    };
    let written: Written = serde_json::from_slice(&text).map_err(|e| e.to_string())?;
    for (field, text, bytes_max) in [
        ("created_by", &written.created_by, AUTHOR_BYTES_MAX),
        ("path", &written.path, PATH_BYTES_MAX),
    ] {
        let fine = |text: &String| {
            (1..=bytes_max).contains(&text.len()) && !text.chars().any(char::is_control)
        };
        if !text.as_ref().is_none_or(fine) {
            return Err(format!(
                "{field} must have 1 to {bytes_max} bytes, and no control characters"
            ));
        }
    }
    Ok(written)
}
