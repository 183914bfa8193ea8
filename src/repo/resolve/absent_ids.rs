//! What is kept in memory of ids that were searched for in vain.

use quick_cache::sync::Cache;

use crate::base::cache::CacheUse;
use crate::base::limits::ABSENT_IDS_KEPT;

/// By project and text, the state of the project's branches in which no commit id began with it; with `blob ` before
/// the text, in which no file had it as git's id.
///
/// A project's states become more only with a change of its branches, so what was absent stays so as long
/// as their state is the same.
#[derive(Debug)]
pub(in crate::repo) struct AbsentIds {
    absent: Cache<(u64, String), u64>,
}

impl Default for AbsentIds {
    fn default() -> Self {
        Self {
            absent: Cache::new(ABSENT_IDS_KEPT),
        }
    }
}

impl AbsentIds {
    /// True if nothing in the project has an id that begins with this text while its branches are in this state.
    pub(in crate::repo) fn has(&self, project: u64, text: &str, state: u64) -> bool {
        self.absent.get(&(project, text.to_owned())) == Some(state)
    }

    /// Keeps that nothing did. The state was asked for before the search began.
    pub(in crate::repo) fn keep(&self, project: u64, text: &str, state: u64) {
        self.absent.insert((project, text.to_owned()), state);
    }

    /// What is kept in memory, and how often it was what was wanted.
    pub(in crate::repo) fn cache_use(&self) -> CacheUse {
        CacheUse::counted("absent_ids", &self.absent)
    }
}
