//! The audit log kept small: what is not new is packed every hour, what is old is removed every day.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, sleep};

use super::common_settings::CommonSetting;
use crate::base::clock::DAY_S;
use crate::base::may_block;
use crate::repo::Projects;

/// Between two commits: saves come first.
const PAUSE: Duration = Duration::from_millis(100);

/// Packs, now and every hour; removes, now and every day, what was kept for so many days, where 0 keeps
/// all. While daemons differ in these days, that waits.
pub(super) async fn run(projects: Projects, days: u64, common: CommonSetting) {
    let mut ticks = interval(Duration::from_hours(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let is_common = || match common.is_common() {
        Ok(is_common) => is_common,
        Err(error) => {
            tracing::warn!(%error, "the audit log keeps what it should forget");
            false
        }
    };
    let mut is_due = false;
    for hour in 0_u64.. {
        ticks.tick().await;
        is_due |= hour.is_multiple_of(24);
        if is_due {
            is_due = !forget(&projects, days, &is_common).await;
        }
        pack(&projects).await;
    }
}

/// Removes what is older than so many days, and nothing where they are 0. False where daemons differ in them, or
/// do so meanwhile: the rest is for later.
async fn forget(projects: &Projects, days: u64, is_common: &(dyn Fn() -> bool + Sync)) -> bool {
    if days == 0 {
        return true;
    }
    // A clock that is doubted removes nothing.
    let before = projects.steady_clock().ago(days.saturating_mul(DAY_S));
    let (mut total, mut place) = (0, None);
    let is_over = loop {
        if !may_block(is_common) {
            break false;
        }
        match may_block(|| projects.forget_audit(before, place)) {
            Ok((removed, next)) => {
                total += removed;
                place = next;
                if place.is_none() {
                    break true;
                }
                if removed > 0 {
                    sleep(PAUSE).await;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "the audit log keeps what it should forget");
                break true;
            }
        }
    };
    if total > 0 {
        tracing::info!(
            records = total,
            days,
            "the audit log has forgotten what is old"
        );
    }
    is_over
}

async fn pack(projects: &Projects) {
    loop {
        match may_block(|| projects.pack_audit()) {
            Ok(true) => sleep(PAUSE).await,
            Ok(false) => break,
            Err(error) => {
                tracing::warn!(%error, "the audit log could not be packed");
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::clock::{ManualClock, Timestamp};
    use crate::repo::audit::{Action, AuditRecord, Filter};
    use crate::store::memory::MemoryStore;

    #[tokio::test(start_paused = true)]
    async fn the_log_is_kept_for_its_days_and_where_they_are_none_for_ever() {
        let clock = Arc::new(ManualClock::new(Timestamp::parse("2026-11-01").unwrap()));
        let store = Arc::new(MemoryStore::default());
        let projects = Projects::new(store, Arc::clone(&clock) as Arc<_>);
        let record = AuditRecord::new(projects.clock().now(), &"eve".into(), Action::Login);
        projects.tell(&record).unwrap();
        for (pass, days, is_common, left) in [
            (399, 400, true, 1),
            (2, 0, true, 1),
            (0, 400, false, 1),
            (0, 400, true, 0),
        ] {
            clock.advance_s(pass * DAY_S);
            assert_eq!(forget(&projects, days, &|| is_common).await, is_common);
            let kept = projects.audit_page(&Filter::default(), None, 10).unwrap();
            assert_eq!(kept.entries.len(), left, "{pass} days later, of {days}");
        }
    }
}
