//! Rendered parts of trees, kept by what they show: a state of a branch never changes, so neither does
//! the text of a folder in it, whoever asks and under whatever name of the branch.

use std::sync::Arc;

use quick_cache::sync::Cache;

use crate::base::file_path::FilePath;
use crate::base::limits::LISTING_BYTES;
use crate::http::error::Error;
use crate::http::reply::json::JsonBody;
use crate::repo::RevisionId;

/// How many listings the table is laid out for at first.
const LISTINGS: usize = 32;

/// A part of a listing: all that its text depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::http) struct ListingKey {
    /// The state of the branch.
    pub(in crate::http) revision: RevisionId,
    /// `None` is the root.
    pub(in crate::http) folder: Option<FilePath>,
    /// True for everything below the folder.
    pub(in crate::http) recursive: bool,
    /// How many entries come before it.
    pub(in crate::http) skip: u64,
    /// How many it has at most.
    pub(in crate::http) take: u64,
}

#[derive(Clone, Debug)]
struct ByBytes;

impl quick_cache::Weighter<ListingKey, Arc<JsonBody>> for ByBytes {
    fn weight(&self, part: &ListingKey, text: &Arc<JsonBody>) -> u64 {
        let folder = part.folder.as_ref().map_or(0, |path| path.as_str().len());
        // The compressed form comes later: ids do not shrink below half of their text.
        let both = text.len() + text.len() / 2;
        256 + u64::try_from(folder + both).unwrap_or(u64::MAX)
    }
}

/// The texts of listings, within a bound of bytes; one that is longer is not kept.
#[derive(Debug)]
pub(in crate::http) struct Listings {
    texts: Cache<ListingKey, Arc<JsonBody>, ByBytes>,
}

impl Listings {
    pub(in crate::http) fn new() -> Self {
        Self {
            texts: Cache::with_weighter(LISTINGS, LISTING_BYTES, ByBytes),
        }
    }

    /// The text of a part; `render` makes it, once for all who ask at the same time.
    ///
    /// # Errors
    /// Those of `render`.
    pub(in crate::http) fn text(
        &self,
        part: &ListingKey,
        render: impl FnOnce() -> Result<JsonBody, Error>,
    ) -> Result<Arc<JsonBody>, Error> {
        self.texts
            .get_or_insert_with(part, || render().map(Arc::new))
    }
}
