//! The files that differ between two revisions.

use serde::Serialize;

use super::args::Diff;
use crate::base::file_path::FilePath;
use crate::base::limits::TEXT_DIFF_BYTES_MAX;
use crate::cli::file::shown::File;
use crate::cli::open_store::OpenStore;
use crate::cli::output::{JsonArray, visible, visible_text};
use crate::cli::{Error, Outcome, Result, Streams, names};
use crate::repo;
use crate::repo::{FileDifference, FileView, Patch, Revision, patch, patch_names};

/// Bytes of text diffs after which no more are made.
const TEXT_DIFFS_BYTES_MAX: usize = 16 << 20;

/// A file that differs, as JSON.
#[derive(Serialize)]
pub(super) struct Row<'a> {
    path: &'a str,
    change: String,
    old: Option<File>,
    new: Option<File>,
}

impl<'a> From<&'a FileDifference> for Row<'a> {
    fn from(difference: &'a FileDifference) -> Self {
        Self {
            path: &difference.path,
            change: difference.kind().to_string(),
            old: difference.old.as_ref().map(File::from),
            new: difference.new.as_ref().map(File::from),
        }
    }
}

/// `diff`. Memory grows with how many files differ.
pub(in crate::cli) fn show(
    args: &Diff,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let repo_id = names::repo_id(&args.repo_id)?;
    let path = names::part(args.path.as_deref())?;
    let old = opened.revision(&repo_id, &args.old)?;
    let new = if let Some(new) = &args.new {
        opened.revision(&repo_id, new)?
    } else {
        let branch = old.branch()?;
        if !old.is_fixed() {
            return Err(Error::Usage(format!(
                "\"{}\" is compared with itself: name a state of before, as in {}@v0007, or another \
                 revision",
                args.old,
                branch.name()
            )));
        }
        // Several branches may have the state of a commit id.
        if !args.old.contains('@') {
            return Err(Error::Usage(format!(
                "\"{}\" belongs to no one branch: name the second revision, as in {}",
                args.old,
                branch.name()
            )));
        }
        branch.head()
    };
    let mut differences = repo::diff(&old, &new)?;
    if let Some(path) = path {
        if !has(&old, &path)? && !has(&new, &path)? {
            let other = args.new.as_deref().map_or_else(
                || new.branch().map(|branch| branch.name().to_string()),
                |new| Ok(new.to_owned()),
            )?;
            return Err(Error::Failed(format!(
                "there is no \"{path}\" in {}, nor in {other}; \"siteconf ls -r {repo_id} {other}\" lists \
                 what there is",
                args.old
            )));
        }
        differences.retain(|difference| path.is_or_holds(&difference.path));
    }
    if args.text {
        return show_text(&differences, streams);
    }
    show_names(&differences, args.json, streams)?;
    Ok(Outcome::Fine)
}

/// True if there is a file or a folder of this path.
fn has(state: &Revision, path: &FilePath) -> Result<bool> {
    Ok(repo::optional(state.file(path))?.is_some()
        || repo::optional(state.listing(Some(path), false))?.is_some())
}

/// Writes which files differ, and how.
pub(super) fn show_names(
    differences: &[FileDifference],
    json: bool,
    streams: &mut Streams<'_>,
) -> Result<()> {
    if json {
        let mut array = JsonArray::begin(streams.out)?;
        for difference in differences {
            array.item(&Row::from(difference))?;
        }
        return array.end();
    }
    for difference in differences {
        let size = |file: &Option<FileView>| file.as_ref().map(FileView::size);
        let sizes = match (size(&difference.old), size(&difference.new)) {
            (Some(old), Some(new)) => format!("{old} -> {new} bytes"),
            (old, new) => format!("{} bytes", old.or(new).unwrap_or(0)),
        };
        writeln!(
            streams.out,
            "{:8}  {}  ({sizes})",
            difference.kind().to_string(),
            visible(&difference.path)
        )?;
    }
    Ok(())
}

/// Writes the lines that differ. What is left out for its size is told, and is a finding.
fn show_text(differences: &[FileDifference], streams: &mut Streams<'_>) -> Result<Outcome> {
    let mut written = 0;
    for (index, difference) in differences.iter().enumerate() {
        if written > TEXT_DIFFS_BYTES_MAX {
            let left = differences.len() - index;
            streams.note(format_args!(
                "siteconf: {left} more files differ, and are left out; --path shows one of them"
            ))?;
            return Ok(Outcome::Findings);
        }
        let mut text = text_of(difference)?;
        if streams.out_is_terminal {
            text = visible_text(&text);
        }
        written += text.len();
        streams.out.write_all(text.as_bytes())?;
    }
    Ok(Outcome::Fine)
}

fn text_of(difference: &FileDifference) -> Result<String> {
    let FileDifference { path, old, new } = difference;
    let mut mode = String::new();
    if let (Some(old), Some(new)) = (old, new)
        && old.is_executable() != new.is_executable()
    {
        let (old, new) = (old.git_mode(), new.git_mode());
        mode = format!("Mode of {path} changed from {old} to {new}\n");
    }
    let kind = difference.kind();
    let text = match patch(old.as_ref(), new.as_ref())? {
        Patch::Text { hunks, .. } if hunks.is_empty() && old.is_some() && new.is_some() => hunks,
        Patch::Text { hunks, .. } => patch_names(path, old.is_some(), new.is_some()) + &hunks,
        Patch::Binary => format!("Binary file {path} {kind}\n"),
        Patch::TooLarge => format!(
            "File {path} {kind}; it is larger than {TEXT_DIFF_BYTES_MAX} bytes and is not compared\n"
        ),
    };
    Ok(mode + &text)
}
