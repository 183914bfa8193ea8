//! All that differs between two trees, however much that is.

use std::io;

use super::shown::{DifferenceJson, shown};
use crate::base::file_path::FilePath;
use crate::base::limits::{DIFF_PAGE_MAX, DIFF_WHOLE_MAX, LIST_PART_BYTES};
use crate::http::error::Error;
use crate::http::list::stream::{self, Parts};
use crate::http::reply::json_text::EntriesText;
use crate::http::reply::{Freshness, Reply, json};
use crate::http::request::context::RequestContext;
use crate::http::shape::patches::Budget;
use crate::repo::{Comparison, Survey};

/// Whether a client may ask for the list only if it has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http::admin::branch) enum Tagged {
    Yes,
    No,
}

/// Answers with the differences, or with those at or below a path; a file may have come from outside of it.
///
/// # Limits
/// Those of [`shown`]. More than [`DIFF_WHOLE_MAX`] differences are made while they are sent; what memory holds
/// of them then is a [`Survey`].
pub(in crate::http::admin::branch) fn respond(
    context: &RequestContext,
    comparison: Comparison,
    path: Option<FilePath>,
    tagged: Tagged,
) -> Result<Reply, Error> {
    let differences = comparison.part(None, DIFF_WHOLE_MAX + 1)?;
    if differences.len() <= DIFF_WHOLE_MAX {
        let asked =
            (0..differences.len()).filter(|at| is_asked(path.as_ref(), &differences[*at].path));
        let shown = shown(&differences, asked)?;
        return match tagged {
            Tagged::Yes => json::respond(context, &shown, Freshness::Moving, &[]),
            Tagged::No => json::untagged(context, &shown),
        };
    }
    drop(differences);
    let content = comparison.content();
    let below = path.as_ref().map_or("", FilePath::as_str).to_owned();
    let list = WholeDiff {
        survey: comparison.survey()?,
        comparison,
        path,
        budget: Budget::new(),
        seen: 0,
        last: None,
    };
    Ok(match tagged {
        Tagged::Yes => {
            let made_of = vec![&b"diff"[..], content.as_bytes(), below.as_bytes()];
            stream::tagged(context, made_of, list, Freshness::Moving, &[])
        }
        Tagged::No => stream::untagged(context, list),
    })
}

fn is_asked(path: Option<&FilePath>, here: &str) -> bool {
    path.is_none_or(|path| path.is_or_holds(here))
}

/// A long list from its first difference to its last.
struct WholeDiff {
    comparison: Comparison,
    survey: Survey,
    path: Option<FilePath>,
    budget: Budget,
    /// Differences that were looked at, and the path of the last one.
    seen: usize,
    last: Option<String>,
}

impl WholeDiff {
    /// The JSON of the next differences, empty where none of them is asked for; `None` at the end.
    fn part(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let differences = self.comparison.part(self.last.as_deref(), DIFF_PAGE_MAX)?;
        let Some(last) = differences.last() else {
            return Ok(None);
        };
        let (mut last, first) = (last, self.seen);
        let end = first + differences.len();
        let sources = self.comparison.sources(&self.survey, first..end)?;
        let mut text = EntriesText::default();
        for (at, difference) in (first..).zip(&differences) {
            if text.len() >= LIST_PART_BYTES {
                break;
            }
            (last, self.seen) = (difference, at + 1);
            if !is_asked(self.path.as_ref(), &difference.path) {
                continue;
            }
            let patch = self.budget.patch(difference)?;
            let source = sources.get(&at).map(String::as_str);
            text.add(&DifferenceJson::new(difference, patch.as_ref(), source));
        }
        self.last = Some(last.path.clone());
        Ok(Some(text.end()))
    }
}

impl Parts for WholeDiff {
    fn next_part(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let part = self.part().map_err(io::Error::other)?;
            if part.as_ref().is_none_or(|text| !text.is_empty()) {
                return Ok(part);
            }
        }
    }
}
