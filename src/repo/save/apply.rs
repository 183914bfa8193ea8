//! What each change does to a branch's head, and the one commit that makes them.

use std::ops::ControlFlow;
use std::slice;
use std::sync::Arc;

use super::batch;
use super::date::{date_of, in_order, replaced_at};
use super::missing::MissingObjects;
use super::rebase::PreparedImport;
use super::{Change, Condition, Job, Outcome, Proven, WholeChange};
use crate::base::file_path::FilePath;
use crate::base::id::{ManifestId, NodeId};
use crate::base::name_error::check_new;
use crate::base::snapshot_version::SnapshotVersion;
use crate::manifest::lookup;
use crate::manifest::lookup::{Found, Place};
use crate::manifest::{Draft, EditError, Editor};
use crate::object::audit::{Action, AuditRecord};
use crate::object::key;
use crate::object::manifest::Manifest;
use crate::object::record::{BranchRecord, LastChange, Operation, ParentRecord, SnapshotRecord};
use crate::repo::validation::demand::Demand;
use crate::repo::validation::rules::Rules;
use crate::repo::{Branch, Comparison, Error, Missing, Project, Result, audit};
use crate::store::retry::Attempts;
use crate::store::{Batch, Expect, StoreError, Version};

/// Makes the changes in order and in one commit. Returns an outcome for each: one that is refused does
/// not touch the others.
pub(in crate::repo) fn run(project: &Project, branch: u64, jobs: &[Job]) -> Vec<Result<Outcome>> {
    let refuse = |error: Error| jobs.iter().map(|_| Err(error.clone())).collect();
    let mut attempts = Attempts::default();
    let mut missing = MissingObjects::default();
    let head = key::branch(project.number(), branch);
    let store = project.projects.store();
    let mut lane = None;
    loop {
        lane = lane.or_else(|| {
            if attempts.are_crowded() {
                store.lane(&head)
            } else {
                store.lane_if_shared(&head)
            }
        });
        let error = match attempt(project, branch, jobs, missing.is_damage()) {
            Ok(outcomes) => return outcomes,
            Err(error) => error,
        };
        if error.lacks_object() && !missing.is_damage() {
            missing.met();
            continue;
        }
        let Some(key) = error.conflict() else {
            if jobs.len() > 1 && error.may_be_of_one() {
                drop(lane);
                let alone = |job| run(project, branch, slice::from_ref(job));
                return jobs.iter().flat_map(alone).collect();
            }
            return refuse(error);
        };
        // Another process moved the head: read it again and repeat.
        let again = attempts.lost(store.as_ref(), key);
        if let Err(error) = again {
            tracing::error!(branch = %head, %error, "the branch cannot be saved to");
            return refuse(error.into());
        }
    }
}

/// Makes the changes once. Where an object is missing, none is made, unless that `is_damage`: then those
/// are made that need it not.
fn attempt(
    project: &Project,
    branch: u64,
    jobs: &[Job],
    is_damage: bool,
) -> Result<Vec<Result<Outcome>>> {
    // The branches of a deleted project stay where they are.
    let kept = project.require_project()?;
    let project = &project.as_of(&kept);
    let branch = project
        .branch_by_number(branch)?
        .ok_or(Error::missing(Missing::Branch))?;
    let projects = &project.projects;
    let mut head = Head::of(&branch)?;
    let rules = projects.shared.validation.rules(project.number(), &kept)?;
    head.rules = rules.map(|rules| (kept.version, rules));
    let outcomes: Vec<Result<Outcome>> = (jobs.iter())
        .map(|job| {
            let expected = job.permit.require(project.owner(), project.repo_id())?;
            // Another may have the name by now.
            if job.branch != *branch.name() {
                return Err(Error::missing(Missing::Branch));
            }
            let outcome = head.apply(job)?;
            // Where a record was judged by in two versions both are expected, and the commit is refused.
            for judged in expected {
                head.batch.expect(judged);
            }
            Ok(outcome)
        })
        .collect();
    let lacking = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
    if let Some(error) = lacking.into_iter().find(|error| error.lacks_object())
        && !is_damage
    {
        return Err(error.clone());
    }
    if outcomes.iter().any(Result::is_ok) {
        let Head {
            mut draft,
            mut batch,
            record,
            ..
        } = head;
        batch.objects.extend(draft.take_objects());
        // The rules that were asked are those that hold: whoever sets others has looked at this head.
        batch.expected.push(project.expected());
        batch.write(
            key::branch(project.number(), branch.number),
            Expect::Version(branch.version),
            &record,
        );
        batch.uses_reserve = jobs.iter().all(|job| job.change.only_deletes());
        projects.store().commit(batch)?;
        draft.publish();
        for (job, outcome) in jobs.iter().zip(&outcomes) {
            if outcome.is_ok() {
                projects.shared.save_counts.of(&job.change).up();
            }
            if let (Change::Put { file, .. }, Ok(_)) = (&*job.change, outcome)
                && let Some((blob, bytes)) = file.small()
            {
                projects
                    .nodes()
                    .objects()
                    .remember_blob(blob, file.digests.sha256, bytes);
            }
        }
        projects
            .shared
            .digests
            .schedule(branch.number, record.manifest);
    }
    Ok(outcomes)
}

/// Says whether a file could be put there now, before its bytes are read.
pub(in crate::repo) fn may_put_file(
    branch: &Branch,
    path: &FilePath,
    condition: &Condition,
) -> Result<()> {
    let head = branch.head();
    let place = lookup::place(head.nodes(), head.root()?, path)?;
    let old = match &place {
        Place::File(file) => Some(file),
        _ => None,
    };
    condition.require(path, old)?;
    match place {
        Place::Free => Ok(check_new("path", path.as_str())?),
        Place::File(_) => Ok(()),
        Place::BelowFile(path) => Err(EditError::NotDirectory { path }.into()),
        Place::Directory => Err(EditError::IsDirectory {
            path: path.to_string(),
        }
        .into()),
    }
}

impl Branch {
    /// Says what [`crate::repo::ProjectWriter::rollback`] would change while a condition holds of the
    /// branch, and changes nothing.
    ///
    /// # Errors
    /// Those of the rollback.
    pub fn preview_rollback(
        &self,
        to: SnapshotVersion,
        paths: &[FilePath],
        condition: &Condition,
    ) -> Result<Comparison> {
        self.require(condition)?;
        let mut head = Head::of(self)?;
        let before = head.manifest.root;
        let (_, after) = head.rolled_back(to, paths)?;
        let project = &self.project;
        Ok(Comparison::drafted(project, head.draft, before, after.root))
    }
}

/// A head that is being changed: each change sees those before it.
pub(super) struct Head<'a> {
    branch: &'a Branch,
    /// The rules that changes must keep to; `None` where there are none, or nobody asks.
    rules: Option<(Version, Arc<Rules>)>,
    pub(super) draft: Draft<'a>,
    batch: Batch,
    record: BranchRecord,
    pub(super) manifest: Manifest,
}

impl<'a> Head<'a> {
    pub(super) fn of(branch: &'a Branch) -> Result<Self> {
        let nodes = branch.project.projects.nodes();
        let record = BranchRecord::clone(&branch.record);
        let manifest = nodes.manifest(record.manifest)?;
        Ok(Self {
            branch,
            rules: None,
            draft: Draft::new(nodes),
            batch: Batch::default(),
            record,
            manifest,
        })
    }

    /// Applies one change, or refuses it and leaves the state as it is. What a refused one expected of records may
    /// stay in the batch: where that does not hold, the others are tried again.
    pub(super) fn apply(&mut self, job: &Job) -> Result<Outcome> {
        if job.head.is_some_and(|head| head != self.record.manifest) {
            return Err(self.conflict());
        }
        let mut editor = Editor::new(&self.manifest);
        let mut created = false;
        let mut objects = Vec::new();
        let (operation, path) = match &*job.change {
            Change::Put {
                path,
                file,
                condition,
            } => {
                let old = editor.file(&self.draft, path)?;
                condition.require(path, old.as_ref())?;
                created = old.is_none();
                if created {
                    check_new("path", path.as_str())?;
                }
                editor.put_file(
                    &self.draft,
                    path,
                    file.entry(old.is_some_and(|old| old.executable)),
                )?;
                objects.push(file.object());
                (Operation::Save, Some(path))
            }
            Change::Delete { path, condition } => {
                let old = editor.file(&self.draft, path)?;
                condition.require(path, old.as_ref())?;
                if old.is_none() {
                    return Err(Error::missing(Missing::File));
                }
                editor.remove(&self.draft, path)?;
                (Operation::Delete, Some(path))
            }
            Change::DeleteFolder { path } => {
                match lookup::path(&self.draft, self.manifest.root, path)? {
                    Some(Found::Directory(_)) => editor.remove(&self.draft, path)?,
                    _ => return Err(Error::missing(Missing::Folder)),
                };
                // Of a save and a deletion with a path it is known that no other file changed.
                (Operation::Batch, None)
            }
            Change::Batch { actions } => {
                objects.extend(batch::apply(&mut editor, &mut self.draft, actions)?);
                (Operation::Batch, None)
            }
            Change::Import { import, date } => {
                in_order(*date, self.record.updated_at)?;
                self.require_base(import)?;
                let rebased =
                    import.rebase_onto(&mut self.draft, self.record.manifest, &self.manifest)?;
                // A branch that has come to hold just this needs no snapshot.
                let changes = |to: &(ManifestId, Manifest)| to.0 != self.record.manifest;
                let rebased = rebased.filter(changes).ok_or_else(|| self.conflict())?;
                self.require_proven(job, rebased.1.root)?;
                self.batch.required.push(rebased.0.into());
                self.batch.pins.extend(import.pin());
                return Ok(self.replace(job, rebased, Operation::Import, None, false));
            }
            Change::Rollback { to, paths } => {
                let restored = self.rolled_back(*to, paths)?;
                self.require_proven(job, restored.1.root)?;
                self.batch.required.push(restored.0.into());
                let path = match &paths[..] {
                    [path] => Some(path),
                    _ => None,
                };
                return Ok(self.replace(job, restored, Operation::Rollback, path, false));
            }
        };
        let written = editor.finish(&mut self.draft)?;
        self.require_proven(job, written.1.root)?;
        self.batch.objects.extend(objects);
        Ok(self.replace(job, written, operation, path, created))
    }

    /// Refuses a change of which not all is proven that the rules demand, because the rules or the branch
    /// have changed since.
    fn require_proven(&self, job: &Job, root: NodeId) -> Result<()> {
        let (Some((version, rules)), Proven::These(proofs, whole)) = (&self.rules, &job.proven)
        else {
            return Ok(());
        };
        let before = self.manifest.root;
        let change = WholeChange {
            rules: *version,
            old: before,
            new: root,
        };
        if *whole == Some(change) {
            return Ok(());
        }
        let mut visit = |demand| match demand {
            Demand::Check { proof, .. } if proofs.have(proof) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        };
        if rules
            .demands(&self.draft, before, root, &mut visit)?
            .is_break()
        {
            let key = key::project(self.branch.project.number());
            return Err(StoreError::Conflict { key }.into());
        }
        Ok(())
    }

    /// Takes a snapshot of the head and puts a new state in its place.
    fn replace(
        &mut self,
        job: &Job,
        (id, manifest): (ManifestId, Manifest),
        operation: Operation,
        path: Option<&FilePath>,
        created: bool,
    ) -> Outcome {
        let project = &self.branch.project;
        let date = date_of(&job.change);
        let now = date.unwrap_or_else(|| {
            let now = project.projects.clock().now();
            now.in_order_after(self.record.updated_at)
        });
        let number = self.record.snapshots + 1;
        let snapshot = SnapshotRecord {
            manifest: self.record.manifest,
            totals: self.record.totals,
            reached_at: self.record.updated_at,
            reached_by: std::mem::replace(&mut self.record.updated_by, job.actor.name().to_owned()),
            created_at: now,
            replaced_at: replaced_at(date, project.projects.steady_clock()),
            created_by: job.actor.name().to_owned(),
            operation,
            path: path.map(FilePath::to_string),
            message: job.message.clone(),
        };
        self.batch.write(
            key::snapshot(self.branch.number, number),
            Expect::Absent,
            &snapshot,
        );
        self.add_audit_record(job, &snapshot, number);
        let unchanged = id == self.record.manifest;
        if !unchanged {
            self.record.last = Some(LastChange {
                at: now,
                by: snapshot.created_by,
                operation: Some(operation),
                path: snapshot.path,
                message: snapshot.message,
                parent: Some(ParentRecord {
                    manifest: self.record.manifest,
                    totals: self.record.totals,
                }),
            });
        }
        self.record.snapshots = number;
        self.record.manifest = id;
        self.record.totals = manifest.totals.into();
        self.record.updated_at = now;
        self.manifest = manifest;
        Outcome {
            snapshot: SnapshotVersion::new(number),
            created,
            unchanged,
            manifest: id,
            totals: manifest.totals,
        }
    }

    /// Has the change told in the audit log.
    fn add_audit_record(&mut self, job: &Job, snapshot: &SnapshotRecord, number: u64) {
        let (restored, count) = match &*job.change {
            // One path is told by itself.
            Change::Rollback { to, paths } => {
                let count = u64::try_from(paths.len()).ok();
                (Some(to.number()), count.filter(|count| *count > 1))
            }
            Change::Batch { actions, .. } => (None, u64::try_from(actions.len()).ok()),
            Change::Put { .. }
            | Change::Delete { .. }
            | Change::DeleteFolder { .. }
            | Change::Import { .. } => (None, None),
        };
        let action = Action::from(snapshot.operation);
        let record = self.branch.project.audit_record(&job.actor, action);
        let date = date_of(&job.change);
        let record = AuditRecord {
            // Of an import with a date of its own, when it was really made.
            at: date.map_or(snapshot.created_at, |_| record.at),
            detail: audit::detail(self.remarks(job).join("; ")),
            branch: Some((self.branch.number, self.record.name.to_string())),
            path: match &*job.change {
                Change::DeleteFolder { path, .. } => Some(path.to_string()),
                _ => snapshot.path.clone(),
            },
            snapshot: Some(number),
            restored,
            count,
            ..record
        };
        audit::add(&mut self.batch, &record);
    }

    /// What the audit log says of a change beside what it did.
    fn remarks(&self, job: &Job) -> Vec<String> {
        let dated = date_of(&job.change).map(|date| format!("dated {date}"));
        let passes_over = self.rules.is_some() && matches!(job.proven, Proven::PassesOver);
        let passed_over = passes_over.then(|| "passed over the rules for contents".to_owned());
        dated.into_iter().chain(passed_over).collect()
    }

    /// Has the commit require that the state which an import was laid over is still kept.
    fn require_base(&mut self, import: &PreparedImport) -> Result<()> {
        let (base, place) = import.base();
        if base == self.branch.record.manifest {
            return Ok(());
        }
        let key = key::snapshot(self.branch.number, place.unwrap_or_default());
        let store = self.branch.project.projects.store();
        match store.value::<SnapshotRecord>(&key)? {
            Some(kept) if kept.value.manifest == base => {
                self.batch.expected.push((key, kept.expect()));
                Ok(())
            }
            _ => Err(self.conflict()),
        }
    }

    /// The head with a snapshot restored: whole, or only what is at these paths.
    pub(super) fn rolled_back(
        &mut self,
        to: SnapshotVersion,
        paths: &[FilePath],
    ) -> Result<(ManifestId, Manifest)> {
        let project = &self.branch.project;
        let snapshot_key = key::snapshot(self.branch.number, to.number());
        let record = project
            .projects
            .store()
            .value::<SnapshotRecord>(&snapshot_key)?;
        let record = record.ok_or(Error::missing(Missing::Snapshot))?;
        self.batch.expected.push((snapshot_key, record.expect()));
        let id = record.value.manifest;
        let old = project.projects.nodes().manifest(id)?;
        if paths.is_empty() {
            return Ok((id, old));
        }
        let mut editor = Editor::new(&self.manifest);
        for path in paths {
            match lookup::path(&self.draft, old.root, path)? {
                // What lies there now may be of the other kind.
                Some(Found::File(file)) => {
                    if editor.is_directory(&self.draft, path)? {
                        editor.remove(&self.draft, path)?;
                    }
                    editor.put_file(&self.draft, path, file)?;
                }
                Some(Found::Directory(directory)) => {
                    if editor.file(&self.draft, path)?.is_some() {
                        editor.remove(&self.draft, path)?;
                    }
                    editor.put_directory(&self.draft, path, directory)?;
                }
                None if lookup::path(&self.draft, self.manifest.root, path)?.is_none() => {
                    return Err(Error::missing(Missing::File));
                }
                None => drop(editor.remove(&self.draft, path)?),
            }
        }
        Ok(editor.finish(&mut self.draft)?)
    }

    /// The head is not, or is too far from, the state that a change was prepared for.
    fn conflict(&self) -> Error {
        let key = key::branch(self.branch.project.number(), self.branch.number);
        StoreError::Conflict { key }.into()
    }
}
