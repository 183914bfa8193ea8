//! Which snapshots of a branch stay, and removing the others.
//!
//! Snapshots go from the oldest on, so what stays has no gaps; their numbers are not given again, because
//! the branch counts on. What only they led to is removed by the next collection.

use std::collections::HashSet;
use std::sync::Arc;

use super::mark::mark_new;
use super::{Amount, CollectionStep, Patience, Projects};
use crate::base::actor::Actor;
use crate::base::branch_name::BranchName;
use crate::base::clock::DAY_S;
use crate::base::id::ManifestId;
use crate::base::limits::SNAPSHOTS_PRUNED_PER_COMMIT;
use crate::base::repo_id::RepoId;
use crate::object::audit::{Action, AuditRecord};
use crate::object::key;
use crate::object::record::{CommitRecord, DigestRecord, ProjectRecord, Retention, SnapshotRecord};
use crate::repo::{Branch, Error, Execution, Missing, Project, Result, audit, optional};
use crate::store::collection::{Collectable, Need, Pace};
use crate::store::retry::Attempts;
use crate::store::{self, Batch, Expect, Record, Scan, StoreError, Versioned};

/// Snapshots read at once.
const READ_AT_ONCE: usize = 1000;
/// Snapshots that are read first of a branch: where pruning is done every night, few are outdated, or none.
const READ_AT_FIRST: usize = 16;
/// By how much more are read next, while all of them are outdated.
const READ_MORE: usize = 8;

/// What pruning did.
#[derive(Clone, Debug, Default)]
pub struct Pruning {
    /// The branches of which it removed snapshots, or would.
    pub branches: Vec<Pruned>,
    /// The first damage that it met: what is damaged keeps its snapshots, and the others do not. Or what has ended it
    /// before its end.
    pub failed: Option<Error>,
}

/// What pruning removed of a branch, or would remove.
#[derive(Clone, Debug)]
pub struct Pruned {
    /// The project.
    pub repo_id: RepoId,
    /// The branch.
    pub branch: BranchName,
    /// How many snapshots.
    pub snapshots: u64,
    /// What the next collection removes for it at most: other branches may need some. Only a preview
    /// works it out.
    pub frees: Amount,
}

/// A snapshot that is to go.
struct Old {
    key: String,
    expect: Expect,
    manifest: ManifestId,
}

impl Projects {
    /// Removes the snapshots that no rule keeps, of every branch: the rule of its project, else `usual`.
    /// Others may save meanwhile. A preview says what that would free.
    /// `store` is the store of these projects.
    ///
    /// # Errors
    /// Those of the store, where nothing was removed before. What is no damage ends it also later, and is told beside
    /// what was removed by then: see [`Pruning::failed`].
    pub fn prune(
        &self,
        store: &impl Collectable,
        usual: Retention,
        execution: Execution,
        actor: &Actor,
        mut step: impl FnMut(CollectionStep),
    ) -> Result<Pruning> {
        let pace = Pace::new(Patience::default().pause_times);
        let mut pruning = Pruning::default();
        let projects = pruning.or_else(self.all(), || self.all_sound())?;
        let ended = pruning.each(projects, usual, |branch, retention, pruned| {
            let old = branch.outdated(retention)?;
            if old.is_empty() {
                return Ok(());
            }
            let snapshots = old.len() as u64;
            step(CollectionStep::Pruning(snapshots));
            match execution {
                Execution::Preview => {
                    pruned.frees = branch.only_in(store, &old)?;
                    pruned.snapshots = snapshots;
                    Ok(())
                }
                Execution::Apply => branch.forget(store, &pace, &old, actor, &mut pruned.snapshots),
            }
        });
        match ended {
            Err(error) if pruning.branches.is_empty() => Err(error),
            // What is gone is gone: who was told of the error alone would not know it.
            Err(error) => {
                pruning.failed = Some(error);
                Ok(pruning)
            }
            Ok(()) => Ok(pruning),
        }
    }
}

impl Pruning {
    /// Prunes each branch of these projects, and notes what that has removed, or would. What it removed before it
    /// failed counts, too.
    ///
    /// # Errors
    /// The first that is no damage.
    fn each(
        &mut self,
        projects: Vec<Project>,
        usual: Retention,
        mut prune: impl FnMut(&Branch, Retention, &mut Pruned) -> Result<()>,
    ) -> Result<()> {
        for project in projects {
            // Those before may have taken hours.
            let now = self.or_else(optional(project.now()), || Ok(None))?;
            let Some(project) = now else {
                continue;
            };
            let retention = project.retention().unwrap_or(usual);
            if retention == Retention::default() {
                continue;
            }
            let branches = self.or_else(project.branches(), || project.branches_sound())?;
            for branch in branches {
                let mut pruned = Pruned {
                    repo_id: project.repo_id().clone(),
                    branch: branch.name().clone(),
                    snapshots: 0,
                    frees: Amount::default(),
                };
                let outcome = prune(&branch, retention, &mut pruned);
                if pruned.snapshots > 0 {
                    self.branches.push(pruned);
                }
                self.or_else(outcome, || Ok(()))?;
            }
        }
        Ok(())
    }

    /// The outcome, or in place of one that damage prevented what can be had without it.
    fn or_else<T>(&mut self, outcome: Result<T>, without: impl FnOnce() -> Result<T>) -> Result<T> {
        match outcome {
            Err(error) if error.is_damage() => {
                tracing::error!(%error, "it is not pruned");
                self.failed.get_or_insert(error);
                without()
            }
            outcome => outcome,
        }
    }
}

impl Project {
    /// The rule of the project itself, `None` where that of the service holds.
    pub fn retention(&self) -> Option<Retention> {
        self.record.keep
    }

    /// Gives the project a rule of its own, or takes it away. On a full disk, too: one that keeps less lets room be
    /// made, and one that keeps more protects from who makes room.
    ///
    /// # Errors
    /// [`Missing::Project`].
    pub fn set_retention(&self, keep: Option<Retention>, actor: &Actor) -> Result<()> {
        let store = self.projects.store().as_ref();
        let key = key::project(self.number());
        store.commit_prepared(|batch| {
            let found: Option<Versioned<ProjectRecord>> = store.value(&key)?;
            let found = found.ok_or(Error::missing(Missing::Project))?;
            let record = ProjectRecord {
                keep,
                ..ProjectRecord::clone(&found.value)
            };
            batch.uses_reserve = true;
            batch.write(key.clone(), found.expect(), &record);
            // By the name that it has by now.
            let project = self.as_of(&found);
            let record = AuditRecord {
                detail: Some(keep.map_or("as the service".to_owned(), |keep| keep.to_string())),
                ..project.audit_record(actor, Action::ProjectRetention)
            };
            audit::add(batch, &record);
            Ok(())
        })
    }
}

impl Branch {
    /// The oldest snapshots that no rule keeps. The newest one stays.
    fn outdated(&self, retention: Retention) -> Result<Vec<Old>> {
        let projects = &self.project.projects;
        // By no clock that is doubted: it could make everything old.
        let now = projects.steady_clock().believed();
        let young = projects
            .steady_clock()
            .ago(retention.days.saturating_mul(DAY_S));
        let first_kept = self
            .oldest_of_newest(retention.snapshots)?
            .min(self.snapshot_count());
        let mut old = Vec::new();
        // So many of them are: what a clock dates that was ahead is as old as the next one, or older.
        let mut sure = 0;
        let prefix = key::snapshots(self.number);
        let (mut after, mut limit) = (None::<String>, READ_AT_FIRST);
        'all: loop {
            let records = projects.store().scan(Scan {
                after: after.as_deref(),
                limit,
                ..Scan::prefix(&prefix)
            })?;
            for record in &records {
                let snapshot = record.decode::<SnapshotRecord>()?;
                // A date that was given makes nothing old: an undo of today is kept as others are.
                let at = snapshot.value.replaced_at;
                let at = at.unwrap_or(snapshot.value.created_at);
                let is_to_come = retention.days > 0 && at > now;
                let is_young = retention.days > 0 && at >= young && !is_to_come;
                if record.number() >= first_kept || is_young {
                    break 'all;
                }
                old.push(Old {
                    key: record.key.clone(),
                    expect: snapshot.expect(),
                    manifest: snapshot.value.manifest,
                });
                if !is_to_come {
                    sure = old.len();
                }
            }
            if records.len() < limit {
                break;
            }
            after = records.last().map(|last| last.key.clone());
            limit = READ_AT_ONCE.min(READ_MORE * limit);
        }
        old.truncate(sure);
        Ok(old)
    }

    /// The records of the snapshots behind this key, from the oldest on, [`READ_AT_ONCE`] at a time.
    fn snapshots_after<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
    ) -> impl Iterator<Item = store::Result<Vec<Arc<Record>>>> + 'a {
        self.project.projects.store().pages(Scan {
            after,
            limit: READ_AT_ONCE,
            ..Scan::prefix(prefix)
        })
    }

    /// The states that are still kept when these are gone.
    fn kept_beside(&self, old: &[Old]) -> Result<HashSet<ManifestId>> {
        let mut kept = HashSet::from([self.record.manifest]);
        let parent = self.record.last.as_ref().and_then(|last| last.parent);
        kept.extend(parent.map(|parent| parent.manifest));
        let prefix = key::snapshots(self.number);
        let last_old = old.last().map(|last| last.key.as_str());
        for records in self.snapshots_after(&prefix, last_old) {
            for record in records? {
                kept.insert(record.decode::<SnapshotRecord>()?.value.manifest);
            }
        }
        Ok(kept)
    }

    /// What only these states of the branch lead to.
    fn only_in<S: Collectable>(&self, store: &S, old: &[Old]) -> Result<Amount> {
        let nodes = self.project.projects.nodes();
        let mut marks = S::Marks::default();
        for state in self.kept_beside(old)? {
            mark_new(store, nodes, &mut marks, state, Need::Live, &mut |_| Ok(()))?;
        }
        let mut frees = Amount::default();
        for state in old {
            mark_new(
                store,
                nodes,
                &mut marks,
                state.manifest,
                Need::Old,
                &mut |id| {
                    frees.add(store.size_of(id)?);
                    Ok(())
                },
            )?;
        }
        Ok(frees)
    }

    /// Removes snapshots, some in each commit, with the commit ids that nothing else in the branch has.
    /// Counts those that are `removed`, also before an error.
    fn forget(
        &self,
        store: &impl Collectable,
        pace: &Pace,
        old: &[Old],
        actor: &Actor,
        removed: &mut u64,
    ) -> Result<()> {
        let projects = &self.project.projects;
        let mut kept = self.kept_beside(old)?;
        let snapshots = key::snapshots(self.number);
        for some in old.chunks(SNAPSHOTS_PRUNED_PER_COMMIT) {
            // Once for each state.
            let states = some.iter().map(|one| one.manifest);
            let gone: Vec<_> = states.filter(|state| kept.insert(*state)).collect();
            let mut attempts = Attempts::default();
            loop {
                let mut batch = Batch::with_reserve();
                // Where another rule was given meanwhile, the next time goes by it.
                let now = optional(self.project.now())?;
                let Some(project) = now.filter(|now| now.retention() == self.project.retention())
                else {
                    return Ok(());
                };
                // Where it was deleted, its snapshots stay: it may be restored.
                let Some(branch) = project.branch_by_number(self.number)? else {
                    return Ok(());
                };
                batch.expected.push(project.expected());
                batch.expected.push(branch.expected_in_place()?);
                for one in some {
                    batch.delete(one.key.clone(), one.expect);
                }
                for &state in &gone {
                    self.forget_id(&mut batch, state)?;
                }
                let of_branch = (self.number, branch.name());
                let record = AuditRecord {
                    count: Some(some.len() as u64),
                    ..project.branch_audit_record(actor, Action::Prune, of_branch)
                };
                audit::add(&mut batch, &record);
                match pace.commit(store, projects.store().as_ref(), batch) {
                    // The branch was forgotten, or another prunes it: the rest is for the next time.
                    Err(StoreError::Conflict { key }) if key.starts_with(&snapshots) => {
                        return Ok(());
                    }
                    // Somebody who reads the branch has had a commit id entered anew, or the project or the name of the
                    // branch was changed.
                    Err(StoreError::Conflict { key }) => {
                        attempts.lost(projects.store().as_ref(), &key)?;
                    }
                    outcome => break outcome?,
                }
            }
            *removed += some.len() as u64;
        }
        Ok(())
    }

    /// What a batch expects that is to be committed only while the branch is there under its name. It may be saved to
    /// meanwhile.
    fn expected_in_place(&self) -> Result<(String, Expect)> {
        let project = self.project.number();
        let name_key = key::branch_name(project, self.name().as_str());
        let store = self.project.projects.store();
        let named = store.sound_value::<u64>(&name_key)?;
        Ok(match named.filter(|named| *named.value == self.number) {
            Some(named) => (name_key, named.expect()),
            // It was renamed just now, which has changed its record. Or the index of names is damaged, which keeps no
            // snapshot.
            None => (
                key::branch(project, self.number),
                Expect::Version(self.version),
            ),
        })
    }

    /// Has a batch remove the commit id of a state from the index of the branch. One that a damaged record
    /// hides goes with the next collection.
    fn forget_id(&self, batch: &mut Batch, manifest: ManifestId) -> Result<()> {
        let store = self.project.projects.store();
        let Some(digest) = store.sound_value::<DigestRecord>(&key::digest(manifest))? else {
            return Ok(());
        };
        let key = key::commit(self.project.number(), digest.value.sha256, self.number);
        let entry = store.sound_value::<CommitRecord>(&key)?;
        if let Some(entry) = entry.filter(|entry| entry.value.manifest == manifest) {
            batch.delete(key, entry.expect());
        }
        Ok(())
    }
}
