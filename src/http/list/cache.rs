//! Rendered answers, kept by the state that they show: whoever asks for the same address in the same
//! state of the same project gets the same bytes, and what another project does changes nothing.

use std::sync::Arc;

use quick_cache::sync::Cache;

use crate::base::limits::{RENDERED_BYTES, RENDERED_USUAL_BYTES};
use crate::base::may_block;
use crate::base::repo_id::RepoId;
use crate::http::error::Error;
use crate::http::reply::json::JsonBody;
use crate::repo::RevisionId;

/// All that a rendered answer depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::http) struct RenderedKey {
    /// The state that it shows.
    pub(in crate::http) state: ShownState,
    /// The address that was asked for, with all parameters: links and pages are made of it.
    pub(in crate::http) url: String,
    /// True for an answer that may be compressed.
    pub(in crate::http) gzip: bool,
}

/// What an answer shows. An equal value shows the same for ever.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::http) enum ShownState {
    /// A state of a branch.
    Revision(RevisionId),
    /// All branches of a project, in the state of this number.
    Branches {
        /// The project.
        project: RepoId,
        /// Their state, as [`crate::repo::Project::branches_state`] gives it.
        number: u64,
    },
}

#[derive(Clone, Debug)]
struct ByMemory;

impl quick_cache::Weighter<RenderedKey, Arc<JsonBody>> for ByMemory {
    fn weight(&self, key: &RenderedKey, body: &Arc<JsonBody>) -> u64 {
        u64::try_from(256 + key.url.len() + body.memory()).unwrap_or(u64::MAX)
    }
}

/// Rendered answers within a bound of bytes; one that is longer than a share of it is not kept.
#[derive(Debug)]
pub(in crate::http) struct RenderedCache {
    bodies: Cache<RenderedKey, Arc<JsonBody>, ByMemory>,
}

impl RenderedCache {
    pub(in crate::http) fn new() -> Self {
        let usual = usize::try_from(RENDERED_BYTES / RENDERED_USUAL_BYTES).unwrap_or(usize::MAX);
        Self {
            bodies: Cache::with_weighter(usual, RENDERED_BYTES, ByMemory),
        }
    }

    /// The answer if it is kept.
    pub(in crate::http) fn get(&self, key: &RenderedKey) -> Option<Arc<JsonBody>> {
        self.bodies.get(key)
    }

    /// The answer; `render` makes it, once for all who ask at the same time.
    ///
    /// # Errors
    /// Those of `render`.
    pub(in crate::http) fn get_or_render(
        &self,
        key: &RenderedKey,
        render: impl FnOnce() -> Result<JsonBody, Error>,
    ) -> Result<Arc<JsonBody>, Error> {
        if let Some(body) = self.get(key) {
            return Ok(body);
        }
        may_block(|| {
            self.bodies
                .get_or_insert_with(key, || render().map(Arc::new))
        })
    }
}
