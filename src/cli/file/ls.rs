//! A folder of a revision, listed.

use serde::Serialize;
use serde_json::Value;

use super::args::Ls;
use super::nothing_at;
use super::shown::File;
use crate::base::file_path::FilePath;
use crate::cli::open_store::OpenStore;
use crate::cli::output::{JsonArray, visible};
use crate::cli::{Result, Streams, names};
use crate::repo;
use crate::repo::{FileView, Revision};

/// Entries of the tree looked up at once.
const ENTRIES_AT_ONCE: u64 = 1000;

/// An entry as JSON.
#[derive(Serialize)]
struct Row {
    path: String,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    file: Option<File>,
    /// Only in a long list; null where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_at: Option<Value>,
}

/// `ls`.
pub(in crate::cli) fn list(args: &Ls, opened: &OpenStore, streams: &mut Streams<'_>) -> Result<()> {
    let repo_id = names::repo_id(&args.repo_id)?;
    let path = names::folder(args.path.as_deref())?;
    let revision = opened.revision_or_default(&repo_id, args.revision.as_deref())?;
    if let Some(path) = &path
        && let Ok(file) = revision.file(path)
    {
        let mut lines = Lines::begin(args.json, streams)?;
        lines.entry(args.long, &revision, path.to_string(), Some(&file))?;
        return lines.end();
    }
    let listing = match revision.listing(path.as_ref(), args.recursive) {
        Err(repo::Error::NotFound { .. }) if let Some(path) = &path => {
            let shown = args.revision.as_deref().unwrap_or("HEAD");
            return Err(nothing_at(path, repo_id.as_str(), shown));
        }
        found => found?,
    };
    let mut lines = Lines::begin(args.json, streams)?;
    let mut listed = 0;
    loop {
        let entries = listing.opened_part(listed, ENTRIES_AT_ONCE)?;
        if entries.is_empty() {
            return lines.end();
        }
        listed += ENTRIES_AT_ONCE;
        for (path, file) in entries {
            if file.is_some() || !args.recursive {
                lines.entry(args.long, &revision, path, file.as_ref())?;
            }
        }
    }
}

/// Where the entries go.
enum Lines<'a, 's> {
    Json(JsonArray<'a>),
    Text(&'a mut Streams<'s>),
}

impl<'a, 's> Lines<'a, 's> {
    fn begin(json: bool, streams: &'a mut Streams<'s>) -> Result<Self> {
        Ok(if json {
            Self::Json(JsonArray::begin(streams.out)?)
        } else {
            Self::Text(streams)
        })
    }

    fn entry(
        &mut self,
        long: bool,
        revision: &Revision,
        path: String,
        file: Option<&FileView>,
    ) -> Result<()> {
        let mut changed_at = None;
        if let (Some(_), true) = (file, long) {
            changed_at = revision
                .last_changed(&FilePath::parse(&path)?)?
                .map(|(at, _)| at);
        }
        match self {
            Self::Json(array) => array.item(&Row {
                path,
                kind: if file.is_some() { "file" } else { "folder" },
                file: file.map(File::from),
                changed_at: long
                    .then(|| changed_at.map_or(Value::Null, |at| at.to_string().into())),
            }),
            Self::Text(streams) => {
                let mut name = visible(&path);
                if file.is_none() {
                    name.push('/');
                }
                if long {
                    let mode = file.map_or("040000", FileView::git_mode);
                    let size = file.map_or_else(|| "-".to_owned(), |file| file.size().to_string());
                    let at = changed_at.map_or_else(|| "-".to_owned(), |at| at.to_string());
                    write!(streams.out, "{mode} {size:>11}  {at:24}  ")?;
                }
                writeln!(streams.out, "{name}")?;
                Ok(())
            }
        }
    }

    fn end(self) -> Result<()> {
        match self {
            Self::Json(array) => array.end(),
            Self::Text(_) => Ok(()),
        }
    }
}
