//! Rendered answers, kept by the state that they show: whoever asks for the same address in the same
//! state of the same project gets the same bytes, and what another project does changes nothing.

use std::sync::Arc;

use super::coding::Coding;
use super::rendered::Rendered;
use crate::base::cache::{ByteCache, CacheUse, byte_cache, get_or_make};
use crate::base::limits::{RENDERED_BYTES, RENDERED_USUAL_BYTES};
use crate::http::error::Error;
use crate::repo::{Project, Revision, RevisionId};

/// All that a rendered answer depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::http) struct RenderedKey {
    /// The state that it shows.
    pub(in crate::http) state: ShownState,
    /// What was asked for: the address with all parameters, where links and pages are made of it.
    pub(in crate::http) asked: String,
    /// The coding that the client takes; the answer has it where it is worth it.
    pub(in crate::http) coding: Coding,
}

/// What an answer shows. An equal value shows the same for ever.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::http) enum ShownState {
    /// A state of a branch.
    Revision {
        /// The number of the branch, which links name.
        branch: u64,
        /// The state.
        id: RevisionId,
    },
    /// All branches of a project.
    Branches {
        /// The project's number.
        project: u64,
        /// The state of what is said of it, as of its identifier.
        project_state: u64,
        /// Their state, as [`crate::repo::Project::branches_state`] gives it.
        state: u64,
    },
}

/// The states are asked for before what they show is read: a save between the two makes the next state.
impl ShownState {
    /// This state.
    pub(in crate::http) fn of_revision(revision: &Revision) -> Self {
        Self::Revision {
            branch: revision.branch_number(),
            id: revision.id(),
        }
    }

    /// The state that all branches of a project are in.
    pub(in crate::http) fn of_branches(project: &Project) -> Result<Self, Error> {
        Ok(Self::Branches {
            project: project.number(),
            project_state: project.state(),
            state: project.branches_state()?,
        })
    }
}

/// Rendered answers within a bound of bytes; one that is longer than a share of it is not kept.
#[derive(Debug)]
pub(in crate::http) struct RenderedCache {
    answers: ByteCache<RenderedKey, Arc<Rendered>>,
}

impl RenderedCache {
    pub(in crate::http) fn new() -> Self {
        let usual = RENDERED_BYTES / RENDERED_USUAL_BYTES;
        Self {
            answers: byte_cache(RENDERED_BYTES, usual, |key, answer| {
                256 + key.asked.len() + answer.memory()
            }),
        }
    }

    /// What is kept, and how often it was what was wanted.
    pub(in crate::http) fn cache_use(&self) -> CacheUse {
        CacheUse::weighed("rendered", &self.answers)
    }

    /// The answer if it is kept.
    pub(in crate::http) fn get(&self, key: &RenderedKey) -> Option<Arc<Rendered>> {
        self.answers.get(key)
    }

    /// Keeps an answer that was made for the state of its key.
    pub(in crate::http) fn keep(&self, key: RenderedKey, answer: Rendered) {
        self.answers.insert(key, Arc::new(answer));
    }

    /// The answer; `render` makes it, once for all who ask at the same time.
    ///
    /// # Errors
    /// Those of `render`.
    pub(in crate::http) fn get_or_render(
        &self,
        key: &RenderedKey,
        render: impl FnOnce() -> Result<Rendered, Error>,
    ) -> Result<Arc<Rendered>, Error> {
        get_or_make(&self.answers, key, || render().map(Arc::new))
    }
}
