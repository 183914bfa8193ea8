//! How a file's text differs between two states.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use super::validation::declared_text;
use super::{Body, Error, FileView, Missing, Result, Revision, optional};
use crate::base::file_path::FilePath;
use crate::base::limits::{TEXT_DIFF_BYTES_MAX, TEXT_DIFF_MS_MAX};
use crate::store::StoreError;

/// How two files differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Patch {
    /// Both are text, or one is and the other is not there.
    Text {
        /// The hunks of a unified diff, without the two lines that name the files; empty when the
        /// bytes are the same. Of XML in another encoding than UTF-8 it is the text, and nothing to apply.
        hunks: String,
        /// Lines that only the new one has.
        added: u64,
        /// Lines that only the old one has.
        removed: u64,
    },
    /// One of them is not text, or they have the same text in other bytes.
    Binary,
    /// One of them is larger than 1 MiB.
    TooLarge,
}

/// Compares two files; `None` is one that is not there.
///
/// # Limits
/// Files of at most 1 MiB are compared, for half a second: after that the lines that are left count as
/// changed.
pub fn patch(old: Option<&FileView>, new: Option<&FileView>) -> Result<Patch> {
    let is_large = |file: &&FileView| file.size() > TEXT_DIFF_BYTES_MAX;
    if old.map(FileView::blob) == new.map(FileView::blob) {
        return Ok(Patch::Text {
            hunks: String::new(),
            added: 0,
            removed: 0,
        });
    }
    if old.iter().chain(new.iter()).any(is_large) {
        return Ok(Patch::TooLarge);
    }
    let (Some(before), Some(after)) = (text_of(old)?, text_of(new)?) else {
        return Ok(Patch::Binary);
    };
    // It is in two encodings; the lines would tell that the bytes are the same.
    if old.is_some() && new.is_some() && before == after {
        return Ok(Patch::Binary);
    }
    let diff = TextDiff::configure()
        .timeout(Duration::from_millis(TEXT_DIFF_MS_MAX))
        .diff_slices(&lines_of(&before), &lines_of(&after));
    let (mut added, mut removed) = (0, 0);
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => added += 1,
            ChangeTag::Delete => removed += 1,
            ChangeTag::Equal => {}
        }
    }
    Ok(Patch::Text {
        hunks: hunks_of(&diff),
        added,
        removed,
    })
}

/// The lines of a text with their ends, as git and `patch` count them: a carriage return alone ends none.
fn lines_of(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The hunks of a unified diff. Those that the library writes have a carriage return end the last line.
fn hunks_of(diff: &TextDiff<'_, '_, str>) -> String {
    let mut hunks = String::new();
    for hunk in diff.unified_diff().iter_hunks() {
        hunks += &hunk.header().to_string();
        hunks.push('\n');
        for change in hunk.iter_changes() {
            hunks += &change.tag().to_string();
            hunks += change.value();
            if !change.value().ends_with('\n') {
                hunks += "\n\\ No newline at end of file\n";
            }
        }
    }
    hunks
}

/// The two lines that begin a unified diff and name its files; `old` and `new` say which of them are
/// there. What is not there is `/dev/null`, by which `git apply` and `patch` know that a file is made
/// or removed. As in git a tab ends a name with a space, where `patch` would end it at the space.
pub fn patch_names(path: &str, old: bool, new: bool) -> String {
    let end = if path.contains(' ') { "\t" } else { "" };
    let name = |side: &str, is_there: bool| {
        if is_there {
            format!("{side}/{path}{end}")
        } else {
            "/dev/null".to_owned()
        }
    };
    format!("--- {}\n+++ {}\n", name("a", old), name("b", new))
}

/// The unified text diff of one file between two states; empty where it does not differ.
///
/// # Errors
/// [`Missing::File`] when it is in neither.
///
/// # Limits
/// As [`patch`]; larger files are [`Error::TooLarge`]. Of files that are not text it says only that
/// they differ.
pub fn text_diff(old: &Revision, new: &Revision, path: &FilePath) -> Result<String> {
    let (before, after) = (optional(old.file(path))?, optional(new.file(path))?);
    if before.is_none() && after.is_none() {
        return Err(Error::missing(Missing::File));
    }
    match patch(before.as_ref(), after.as_ref())? {
        Patch::Text { hunks, .. } if hunks.is_empty() => Ok(hunks),
        Patch::Text { hunks, .. } => {
            let names = patch_names(path.as_str(), before.is_some(), after.is_some());
            Ok(names + &hunks)
        }
        Patch::Binary => Ok("Binary files differ\n".to_owned()),
        Patch::TooLarge => Err(Error::TooLarge {
            limit_bytes: TEXT_DIFF_BYTES_MAX,
        }),
    }
}

/// The text of a file, empty for one that is not there; `None` when it is not text: UTF-8, or XML in another
/// encoding that it declares. Nothing is guessed.
fn text_of(file: Option<&FileView>) -> Result<Option<String>> {
    let Some(file) = file else {
        return Ok(Some(String::new()));
    };
    let content = file.content()?;
    let bytes = match content.body {
        Body::Inline(bytes) => bytes.to_vec(),
        Body::Large(large) => {
            let size = usize::try_from(content.size).unwrap_or(usize::MAX);
            let mut bytes = vec![0; size];
            let read = large.read_exact_at(&mut bytes, 0);
            read.map_err(|e| StoreError::io("reading a blob", e))?;
            bytes
        }
    };
    if bytes.contains(&0) {
        return Ok(None);
    }
    let text = String::from_utf8(bytes);
    Ok(text.map_or_else(|other| declared_text(other.as_bytes()), Some))
}
