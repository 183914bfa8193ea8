//! Rendered parts of trees, kept by what they show: a state of a branch never changes, so neither does
//! the text of a folder in it, whoever asks and under whatever name of the branch.

use std::sync::Arc;

use quick_cache::sync::Cache;

use super::error::Error;
use super::rendered::Text;
use crate::base::file_path::FilePath;
use crate::base::limits::LISTING_BYTES;
use crate::repo::RevisionId;

/// How many listings the table is laid out for at first.
const LISTINGS: usize = 32;

/// A part of a listing: all that its text depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Part {
    /// The state of the branch.
    pub(super) revision: RevisionId,
    /// `None` is the root.
    pub(super) folder: Option<FilePath>,
    /// True for everything below the folder.
    pub(super) recursive: bool,
    /// How many entries come before it.
    pub(super) skip: u64,
    /// How many it has at most.
    pub(super) take: u64,
}

#[derive(Clone, Debug)]
struct ByBytes;

impl quick_cache::Weighter<Part, Arc<Text>> for ByBytes {
    fn weight(&self, part: &Part, text: &Arc<Text>) -> u64 {
        let folder = part.folder.as_ref().map_or(0, |path| path.as_str().len());
        // The compressed form comes later: ids do not shrink below half of their text.
        let both = text.len() + text.len() / 2;
        256 + u64::try_from(folder + both).unwrap_or(u64::MAX)
    }
}

/// Texts of listings, within a bound of bytes; one that is longer is not kept.
#[derive(Debug)]
pub(super) struct Listings {
    texts: Cache<Part, Arc<Text>, ByBytes>,
}

impl Listings {
    pub(super) fn new() -> Self {
        Self {
            texts: Cache::with_weighter(LISTINGS, LISTING_BYTES, ByBytes),
        }
    }

    /// The text of a part; `render` makes it, once for all who ask at the same time.
    ///
    /// # Errors
    /// Those of `render`.
    pub(super) fn text(
        &self,
        part: &Part,
        render: impl FnOnce() -> Result<Text, Error>,
    ) -> Result<Arc<Text>, Error> {
        self.texts
            .get_or_insert_with(part, || render().map(Arc::new))
    }
}
