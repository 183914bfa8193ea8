//! What was deleted long enough ago, removed from the records, some at a time.
//!
//! What is to go is marked first: from then on it cannot be restored, and is found again by its mark
//! after a crash. Its own record goes last.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::names_there::{keep_branch, keep_project};
use super::numbers_in;
use crate::base::actor::Actor;
use crate::base::clock::Timestamp;
use crate::base::limits::{DELETED_READ_AT_ONCE, FORGOTTEN_RECORDS_PER_COMMIT};
use crate::object::audit::{Action, AuditRecord};
use crate::object::key;
use crate::object::record::{BranchRecord, DeletedRecord, ProjectRecord};
use crate::repo::{Patience, Projects, Result, audit};
use crate::store::collection::Pace;
use crate::store::{self, Batch, Expect, Record, Scan, Store, StoreError, Values, retry};

/// How long entries on their way are waited for: nobody waits for who forgets, but a stop.
const ENTERED_WITHIN: Duration = Duration::from_secs(10);

/// What was forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Projects, with all their branches.
    pub projects: u64,
    /// Branches of other projects.
    pub branches: u64,
}

impl Projects {
    /// The time up to which deletions are over, where what is deleted is kept for so many seconds. By the steady clock:
    /// a machine's clock that jumps ahead ends nothing. Where nothing is kept, no clock is asked.
    pub fn deletions_over_at(&self, keep_s: u64) -> Timestamp {
        match keep_s {
            0 => Timestamp::MAX,
            _ => self.steady_clock().ago(keep_s),
        }
    }

    /// Forgets what was deleted so many seconds ago or earlier, by [`Projects::deletions_over_at`]. Snapshots,
    /// names and commit ids go with it; what the snapshots held is left to the collection of garbage. While others
    /// save, it pauses after each commit that removes records, as a collection does. Before each commit it asks
    /// `go_on`, and ends when told so; the rest is for the next time, also after a crash.
    ///
    /// # Errors
    /// Those of the store. A record that is damaged is left out and told in the log.
    pub fn forget_deleted(&self, keep_s: u64, go_on: &dyn Fn() -> bool) -> Result<Forgotten> {
        let last = self.deletions_over_at(keep_s);
        let pace = Pace::new(Patience::default().pause_times);
        let mut forgotten = Forgotten::default();
        let mut after = None;
        while go_on()
            && let Some(projects) = self.over(
                key::DELETED_PROJECTS,
                &mut after,
                last,
                go_on,
                |batch, record, project, is_first| {
                    if is_first {
                        audit::add(batch, &self.project_forgotten(record, project));
                    }
                    keep_project(batch, record.number(), project);
                    Ok(())
                },
            )?
        {
            for number in projects.iter().map(|record| record.number()) {
                if !go_on() {
                    return Ok(forgotten);
                }
                forgotten.projects += u64::from(self.forget_project(number, &pace, go_on)?);
            }
        }
        let mut after = None;
        while go_on()
            && let Some(over) = self.over(
                key::DELETED_BRANCHES,
                &mut after,
                last,
                go_on,
                |batch, record, branch, is_first| {
                    if is_first {
                        audit::add(batch, &self.branch_forgotten(record, branch)?);
                    }
                    let (project, number) = numbers_in(record);
                    keep_branch(batch, project, number, branch);
                    Ok(())
                },
            )?
        {
            let mut branches: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
            for record in over {
                let (project, branch) = numbers_in(&record);
                branches.entry(project).or_default().insert(branch);
            }
            for (project, branches) in branches {
                if !go_on() {
                    return Ok(forgotten);
                }
                forgotten.branches += self.forget_branches(project, &branches, &pace, go_on)?;
            }
        }
        Ok(forgotten)
    }

    /// The next deleted records under a prefix, beyond the key `after`, whose time is over. Each is marked, in the
    /// commit that also holds what `more` adds for it; `more` is told whether it had no mark yet. A commit marks a
    /// bounded number of them, and `go_on` is asked before each commit but the first: a mark is for good. What somebody
    /// restores first is not among them. `None` where there are no more.
    fn over<T>(
        &self,
        prefix: &str,
        after: &mut Option<String>,
        last: Timestamp,
        go_on: &dyn Fn() -> bool,
        more: impl Fn(&mut Batch, &Record, &T, bool) -> Result<()>,
    ) -> Result<Option<Vec<Arc<Record>>>>
    where
        T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
    {
        let store = self.store().as_ref();
        let mut found = store.scan(Scan {
            after: after.as_deref(),
            limit: DELETED_READ_AT_ONCE,
            values: Values::Sound,
            ..Scan::prefix(prefix)
        })?;
        let Some(end) = found.last() else {
            return Ok(None);
        };
        *after = Some(end.key.clone());
        found.retain(|record| {
            let kept = record.decode_sound::<DeletedRecord<T>>();
            kept.is_some_and(|kept| kept.value.is_over(last))
        });
        let mut all = Vec::with_capacity(found.len());
        for (nth, some) in found.chunks(FORGOTTEN_RECORDS_PER_COMMIT).enumerate() {
            if nth > 0 && !go_on() {
                break;
            }
            all.extend(store.commit_prepared(|batch| mark_over(store, batch, some, last, &more))?);
        }
        Ok(Some(all))
    }

    fn project_forgotten(&self, record: &Record, project: &ProjectRecord) -> AuditRecord {
        AuditRecord {
            project: Some((record.number(), project.repo_id.to_string())),
            ..AuditRecord::new(
                self.clock().now(),
                &Actor::service(),
                Action::ProjectForgotten,
            )
        }
    }

    fn branch_forgotten(&self, record: &Record, branch: &BranchRecord) -> Result<AuditRecord> {
        let (number, _) = numbers_in(record);
        let project = match self.sound_living(number)? {
            Some(project) => project.repo_id().to_string(),
            // It is deleted itself, or damaged.
            None => String::new(),
        };
        Ok(AuditRecord {
            project: Some((number, project)),
            branch: Some((record.number(), branch.name.to_string())),
            ..AuditRecord::new(
                self.clock().now(),
                &Actor::service(),
                Action::BranchForgotten,
            )
        })
    }

    /// Removes a marked project with everything in it; true if it was removed to the end.
    fn forget_project(&self, number: u64, pace: &Pace, go_on: &dyn Fn() -> bool) -> Result<bool> {
        let store = self.store().as_ref();
        // A save that began before the deletion may just have been made.
        let done = retry::until_committed(store, StoreError::conflict, || {
            self.sweep_project(number, Sweep::new(store, pace, go_on))
        });
        Ok(done?)
    }

    fn sweep_project(&self, number: u64, mut sweep: Sweep<'_>) -> store::Result<bool> {
        let commits = key::commits(number);
        // Entries on their way would be left behind.
        self.background().flush_within(&commits, ENTERED_WITHIN);
        sweep.folder(&commits, |_| true)?;
        sweep.folder(&key::branch_names(number), |_| true)?;
        for branches in [key::branches(number), key::deleted_branches(number)] {
            sweep.each(&branches, &mut |sweep, branch| {
                sweep.folder(&key::snapshots(branch.number()), |_| true)?;
                // With the version: a save adds a snapshot, which must go, too.
                sweep.delete(branch.key.clone(), Expect::Version(branch.version))
            })?;
        }
        // While a deleted branch is there, another process may keep its name.
        sweep.commit()?;
        sweep.folder(&key::forgotten_branches(number), |_| true)?;
        sweep.delete(key::deleted_project(number), Expect::Anything)?;
        sweep.finish()
    }

    /// Removes marked branches of one project; how many were removed.
    fn forget_branches(
        &self,
        project: u64,
        branches: &BTreeSet<u64>,
        pace: &Pace,
        go_on: &dyn Fn() -> bool,
    ) -> Result<u64> {
        let mut sweep = Sweep::new(self.store().as_ref(), pace, go_on);
        let commits = key::commits(project);
        self.background().flush_within(&commits, ENTERED_WITHIN);
        sweep.folder(&commits, |commit| branches.contains(&commit.number()))?;
        for &branch in branches {
            sweep.folder(&key::snapshots(branch), |_| true)?;
            sweep.delete(key::deleted_branch(project, branch), Expect::Anything)?;
        }
        Ok(if sweep.finish()? {
            branches.len() as u64
        } else {
            0
        })
    }
}

/// Has a batch mark those of these deleted records whose time is over, and do `more` for each. Gives them.
fn mark_over<T>(
    store: &dyn Store,
    batch: &mut Batch,
    found: &[Arc<Record>],
    last: Timestamp,
    more: &dyn Fn(&mut Batch, &Record, &T, bool) -> Result<()>,
) -> Result<Vec<Arc<Record>>>
where
    T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
{
    batch.uses_reserve = true;
    let mut marked = Vec::with_capacity(found.len());
    for record in found {
        let kept = store.value::<DeletedRecord<T>>(&record.key)?;
        let Some(kept) = kept.filter(|kept| kept.value.is_over(last)) else {
            continue;
        };
        let is_first = !kept.value.forgetting;
        if is_first {
            let mark = DeletedRecord {
                forgetting: true,
                ..DeletedRecord::clone(&kept.value)
            };
            batch.write(record.key.clone(), kept.expect(), &mark);
        } else {
            // Another process may have removed it by now, with all that was added for it.
            batch.expected.push((record.key.clone(), kept.expect()));
        }
        // Also for one that an earlier version has marked, which added less.
        more(batch, record, &kept.value.record, is_first)?;
        marked.push(Arc::clone(record));
    }
    Ok(marked)
}

impl<T> DeletedRecord<T> {
    /// True if it was deleted at this time or before, or its forgetting has begun.
    fn is_over(&self, last: Timestamp) -> bool {
        self.forgetting || self.deleted_at <= last
    }
}

/// Deletions that are committed a bounded number at a time, in their order.
struct Sweep<'a> {
    store: &'a dyn Store,
    pace: &'a Pace,
    go_on: &'a dyn Fn() -> bool,
    batch: Batch,
    /// True after the word to end: nothing more is deleted.
    ended: bool,
}

impl<'a> Sweep<'a> {
    fn new(store: &'a dyn Store, pace: &'a Pace, go_on: &'a dyn Fn() -> bool) -> Self {
        Self {
            store,
            pace,
            go_on,
            batch: Batch::with_reserve(),
            ended: false,
        }
    }

    fn delete(&mut self, key: String, expect: Expect) -> store::Result<()> {
        self.batch.delete(key, expect);
        if self.batch.writes.len() >= FORGOTTEN_RECORDS_PER_COMMIT {
            self.commit()?;
        }
        Ok(())
    }

    /// Deletes the records under a prefix of which this is true.
    fn folder(&mut self, prefix: &str, mut goes: impl FnMut(&Record) -> bool) -> store::Result<()> {
        self.each(prefix, &mut |sweep, record| {
            if goes(record) {
                sweep.delete(record.key.clone(), Expect::Anything)?;
            }
            Ok(())
        })
    }

    /// Calls with every record under a prefix, in order, without its value: what is damaged goes, too,
    /// or nothing would lead to it any more.
    fn each(
        &mut self,
        prefix: &str,
        act: &mut dyn FnMut(&mut Self, &Record) -> store::Result<()>,
    ) -> store::Result<()> {
        for records in self.store.pages(Scan {
            limit: DELETED_READ_AT_ONCE,
            values: Values::Unread,
            ..Scan::prefix(prefix)
        }) {
            // Where nothing is deleted nothing is committed either.
            self.ended |= !(self.go_on)();
            for record in records? {
                if self.ended {
                    return Ok(());
                }
                act(self, &record)?;
            }
        }
        Ok(())
    }

    /// Commits what is left; true if nothing was left out.
    fn finish(mut self) -> store::Result<bool> {
        self.commit()?;
        Ok(!self.ended)
    }

    fn commit(&mut self) -> store::Result<()> {
        let batch = std::mem::replace(&mut self.batch, Batch::with_reserve());
        self.ended |= !(self.go_on)();
        if !self.ended {
            self.pace.commit(self.store, self.store, batch)?;
        }
        Ok(())
    }
}
