//! What was deleted long enough ago is forgotten: at the start, and every hour.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::common_settings::CommonSetting;
use crate::base::clock::DAY_S;
use crate::base::may_block;
use crate::repo::{Forgotten, Projects};

const PAUSE: Duration = Duration::from_hours(1);
/// Where a daemon had another setting it is looked again so soon: it may have been the one before this.
const PAUSE_WHILE_DIFFERENT: Duration = Duration::from_secs(5);

/// The task that forgets. Clones share the word to end.
#[derive(Clone)]
pub(super) struct Forget {
    projects: Projects,
    keep_s: u64,
    ended: Arc<AtomicBool>,
}

impl Forget {
    pub(super) fn new(projects: Projects, keep_days: u64) -> Self {
        Self {
            projects,
            keep_s: keep_days.saturating_mul(DAY_S),
            ended: Arc::default(),
        }
    }

    /// Ends it with the commit under way; the rest is for the next start.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Forgets as long as the service runs, but not while daemons differ in how long they keep what is deleted.
    pub(super) async fn run(self, days: CommonSetting) {
        let mut ticks = interval(PAUSE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            match may_block(|| days.is_common()) {
                // Another may come while it is under way.
                Ok(true) => may_block(|| self.once(&|| is_still_common(&days))),
                Ok(false) => ticks.reset_after(PAUSE_WHILE_DIFFERENT),
                Err(error) => tell(&error),
            }
        }
    }

    /// Forgets until it is done, is to end, or daemons differ.
    fn once(&self, is_common: &dyn Fn() -> bool) {
        let go_on = || !self.ended.load(Ordering::Relaxed) && is_common();
        match self.projects.forget_deleted(self.keep_s, &go_on) {
            Ok(Forgotten {
                projects: 0,
                branches: 0,
            }) => {}
            Ok(Forgotten { projects, branches }) => tracing::info!(
                projects,
                branches,
                "forgot what was deleted, after the time for which it is kept"
            ),
            Err(error) => tell(&error),
        }
    }
}

/// True while daemons have the same; false, and told in the log, where that cannot be known.
fn is_still_common(days: &CommonSetting) -> bool {
    days.is_common().unwrap_or_else(|error| {
        tell(&error);
        false
    })
}

fn tell(error: &impl std::fmt::Display) {
    tracing::warn!(%error, "what was deleted could not be forgotten");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::{ManualClock, Timestamp};
    use crate::base::repo_id::RepoId;
    use crate::repo::ProjectWriter;
    use crate::store::memory::MemoryStore;

    #[test]
    fn what_was_deleted_is_kept_for_its_days_and_while_daemons_differ() {
        let clock = Arc::new(ManualClock::new(Timestamp::parse("2026-11-01").unwrap()));
        let store = Arc::new(MemoryStore::default());
        let projects = Projects::new(store, Arc::clone(&clock) as Arc<_>);
        let repo_id = RepoId::parse("acme/shop.erp").unwrap();
        let project = projects.create_project(&repo_id, 1, "alice").unwrap();
        ProjectWriter::new(project, "alice")
            .delete_project()
            .unwrap();
        let forget = Forget::new(projects.clone(), 30);
        for (days, is_common, left) in [(29, true, 1), (2, false, 1), (0, true, 0)] {
            clock.advance_s(days * DAY_S);
            forget.once(&|| is_common);
            assert_eq!(projects.deleted(|_| true).unwrap().len(), left);
        }
    }
}
