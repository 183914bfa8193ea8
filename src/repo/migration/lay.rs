//! Laying the states of an older system into a branch.

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::{Author, OldSnapshot, OldState, Standing};
use crate::base::branch_name::BranchName;
use crate::base::clock::Timestamp;
use crate::base::id::{ManifestId, ObjectId};
use crate::base::limits::SNAPSHOTS_MIGRATED_PER_COMMIT;
use crate::base::snapshot_version::SnapshotVersion;
use crate::manifest::diff::diff_at_most;
use crate::manifest::{Draft, Editor};
use crate::object::audit::{Action, AuditRecord};
use crate::object::key;
use crate::object::record::{BranchRecord, LastChange, Operation, ParentRecord, SnapshotRecord};
use crate::repo::save::rebase::PreparedImport;
use crate::repo::{
    Branch, Error, FileLimit, ImportFolder, ImportOptions, ImportStep, Message, ProjectWriter,
    ReadFolder, Result, Revision, audit,
};
use crate::store::{Batch, Expect, Pin};

/// A branch that is being moved in: its old snapshots from the oldest on, then its head.
#[derive(Debug)]
pub struct BranchMove<'a> {
    writer: &'a ProjectWriter,
    /// The name that it has here; that of one that is not here yet is the older system's.
    name: BranchName,
    per_commit: usize,
    /// Those that are not laid yet.
    waiting: Vec<OldSnapshot>,
    laid: u64,
    /// The number of the branch, as soon as it is here.
    number: Option<u64>,
    /// True if it may be made although it was deleted here.
    renews: bool,
    /// Keeps what is read until it is laid.
    pin: Box<dyn Pin>,
}

/// What moving a branch in did.
#[derive(Clone, Debug)]
pub struct Laid {
    /// Old snapshots that came.
    pub snapshots: u64,
    /// True when anything was written.
    pub changed: bool,
}

impl ProjectWriter {
    /// Begins to move the branch in that has this name in the older system, and that stands here as
    /// [`crate::repo::Project::standing`] said. Nothing is written to the branch before there is a state for it. With
    /// [`Standing::Deleted`] it is made anew.
    pub fn move_branch(&self, there: &BranchName, standing: &Standing) -> Result<BranchMove<'_>> {
        self.move_branch_by(there, standing, SNAPSHOTS_MIGRATED_PER_COMMIT)
    }

    /// As [`ProjectWriter::move_branch`], with so many old snapshots in a commit.
    pub fn move_branch_by(
        &self,
        there: &BranchName,
        standing: &Standing,
        per_commit: usize,
    ) -> Result<BranchMove<'_>> {
        let found = standing.branch();
        Ok(BranchMove {
            writer: self,
            name: found.map_or(there, Branch::name).clone(),
            per_commit,
            waiting: Vec::new(),
            laid: 0,
            number: found.map(|found| found.number),
            renews: matches!(standing, Standing::Deleted),
            pin: self.projects.store().pin()?,
        })
    }
}

impl BranchMove<'_> {
    /// Reads a folder as a state of the branch; `step` is called as by
    /// [`crate::repo::Projects::read_folder`]. What is skipped is in the state as `kept` has it. `None`
    /// when a step asked to end.
    ///
    /// # Errors
    /// Those of [`crate::repo::Projects::read_folder`].
    pub fn read(
        &self,
        folder: &ImportFolder,
        file_limit: FileLimit,
        kept: Option<&Revision>,
        step: impl FnMut(ImportStep<'_>) -> ControlFlow<()>,
    ) -> Result<Option<(OldState, ReadFolder)>> {
        let options = ImportOptions {
            mirror: true,
            may_empty: true,
            file_limit,
            ..ImportOptions::default()
        };
        let projects = &self.writer.projects;
        let Some(read) = projects.read_folder(folder, &options, step)? else {
            return Ok(None);
        };
        let nodes = projects.nodes();
        let base = if let Some(kept) = kept {
            kept.manifest()
        } else {
            let mut draft = Draft::new(nodes);
            let (empty, _) = Editor::empty().finish(&mut draft)?;
            draft.spill_all()?;
            empty
        };
        let (id, manifest) = PreparedImport::new(nodes, base, None, read.tree())?.result();
        let base = kept.cloned();
        Ok(Some((OldState { id, manifest, base }, read)))
    }

    /// Adds the next old snapshot.
    ///
    /// # Errors
    /// [`Error::Invalid`] as for [`BranchMove::finish`]: many are laid before the last is there.
    ///
    /// # Limits
    /// At most [`SNAPSHOTS_MIGRATED_PER_COMMIT`] wait in memory, unless another number was asked for.
    pub fn add(&mut self, snapshot: OldSnapshot) -> Result<()> {
        if let Some(last) = self.waiting.last()
            && self.waiting.len() >= self.per_commit
        {
            let head = last.replaced.clone();
            self.lay(&snapshot.state, &head)?;
        }
        self.waiting.push(snapshot);
        Ok(())
    }

    /// Lays what was added and the head, in one commit. `head` is when the branch came into its state
    /// and by whom, where no old snapshot says it. A head that is new without a new old snapshot
    /// takes a snapshot of the one before, as any change does; its number is none of the older system's. One
    /// that differs in modes alone is not new: its modes come with the next old snapshot.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the branch was changed here, when it was made, renamed or deleted here since the move
    /// began, or when the old snapshots do not follow on those that it has;
    /// [`Missing::Project`](crate::repo::Missing::Project). What was laid by then stays, and can be gone on from.
    pub fn finish(&mut self, state: &OldState, head: &Author) -> Result<Laid> {
        let changed = self.lay(state, head)?;
        Ok(Laid {
            snapshots: self.laid,
            changed: changed || self.laid > 0,
        })
    }

    /// How many old snapshots came so far. They stay, whatever follows.
    pub fn laid(&self) -> u64 {
        self.laid
    }

    /// Lays what waits and a head; false if all of it was there.
    fn lay(&mut self, state: &OldState, head: &Author) -> Result<bool> {
        let projects = &self.writer.projects;
        let store = projects.store().as_ref();
        let snapshots = self.snapshot_records(state)?;
        let name_key = key::branch_name(self.writer.number(), self.name.as_str());
        let (number, changed) = store.commit_prepared(|batch| -> Result<(u64, bool)> {
            // The branches of a deleted project stay where they are.
            self.writer.hold(batch)?;
            let known = store.value::<u64>(&name_key)?;
            let found = match known {
                Some(number) => self.writer.branch_by_number(*number.value)?,
                None => None,
            };
            if found.as_ref().map(|found| found.number) != self.number {
                return Err(changed_meanwhile());
            }
            let steps = Steps {
                name: &self.name,
                snapshots: &snapshots,
                state,
                head,
            };
            let (number, expect, record, action) = if let Some(branch) = found {
                let Some(record) = steps.after(&branch, batch)? else {
                    return Ok((branch.number, false));
                };
                let expect = Expect::Version(branch.version);
                (branch.number, expect, record, Action::Import)
            } else {
                // First: whoever makes one after this takes the number as well, and then all is asked again.
                let number = store.next_number(key::BRANCH_COUNTER, batch)?;
                self.require_absent()?;
                let forgotten = key::forgotten_branch(self.writer.number(), self.name.as_str());
                projects.make_anew(forgotten, batch)?;
                batch.write(name_key.clone(), Expect::Absent, &number);
                let record = steps.new_branch(number, batch);
                (number, Expect::Absent, record, Action::BranchCreated)
            };
            let states = snapshots.iter().map(|(_, record)| record.manifest);
            let states: HashSet<_> = states.chain([state.id]).collect();
            batch
                .required
                .extend(states.into_iter().map(ObjectId::from));
            batch.pins.extend(self.pin.name());
            let branch_key = key::branch(self.writer.number(), number);
            self.require_bases(state, &branch_key, batch)?;
            batch.write(branch_key, expect, &record);
            let told = AuditRecord {
                branch: Some((number, self.name.to_string())),
                count: u64::try_from(snapshots.len()).ok(),
                snapshot: Some(record.snapshots).filter(|number| *number > 0),
                detail: Some("moved in from an old tree".to_owned()),
                ..self.writer.audit_record(self.writer.actor(), action)
            };
            audit::add(batch, &told);
            Ok((number, true))
        })?;
        self.number = Some(number);
        self.laid += u64::try_from(snapshots.len()).unwrap_or(0);
        self.waiting.clear();
        Ok(changed)
    }

    /// Refuses a new branch where that of the older system is here by now, under whatever name, or was deleted here
    /// since the move began.
    fn require_absent(&self) -> Result<()> {
        match self.writer.standing(&self.name)? {
            Standing::Absent => Ok(()),
            Standing::Deleted if self.renews => Ok(()),
            _ => Err(changed_meanwhile()),
        }
    }

    /// Has a batch, which writes the branch, committed only while the states are kept that have parts in common with
    /// what waits and this one.
    fn require_bases(&self, state: &OldState, branch_key: &str, batch: &mut Batch) -> Result<()> {
        let waiting = self.waiting.iter().map(|old| &old.state);
        let states = waiting.chain([state]);
        for base in states.filter_map(|state| state.base.as_ref()) {
            let kept = base.kept_by()?.ok_or_else(|| {
                Error::invalid(
                    "what was passed over was pruned or deleted in the branch meanwhile: run the same again",
                )
            })?;
            // By the branch itself: it is written, and so compared.
            if kept.0 != branch_key {
                batch.expect(kept);
            }
        }
        Ok(())
    }

    /// The records of what waits, all but how the first of their states was reached.
    fn snapshot_records(&self, state: &OldState) -> Result<Vec<(u64, SnapshotRecord)>> {
        let mut told = Vec::with_capacity(self.waiting.len());
        let mut reached: Option<&Author> = None;
        for (index, old) in self.waiting.iter().enumerate() {
            let next = self
                .waiting
                .get(index + 1)
                .map_or(state, |next| &next.state);
            let (operation, path) = self.change(old, next)?;
            let reached_by = reached.unwrap_or(&old.replaced);
            let record = SnapshotRecord {
                manifest: old.state.id,
                totals: old.state.manifest.totals.into(),
                reached_at: reached_by.at,
                reached_by: reached_by.by.clone(),
                created_at: old.replaced.at,
                replaced_at: None,
                created_by: old.replaced.by.clone(),
                operation,
                path,
                message: old.message.as_ref().map(Message::to_string),
            };
            told.push((old.version.number(), record));
            reached = Some(&old.replaced);
        }
        Ok(told)
    }

    /// What replaced a state, and where. A path that is not the only one which differs would lead who
    /// looks for the last change of a file astray.
    fn change(&self, old: &OldSnapshot, next: &OldState) -> Result<(Operation, Option<String>)> {
        let is_one = matches!(
            old.operation,
            None | Some(Operation::Save | Operation::Delete)
        );
        if !is_one {
            return Ok((old.operation.unwrap_or(Operation::Batch), old.path.clone()));
        }
        let nodes = self.writer.projects.nodes();
        let (from, to) = (old.state.manifest.root, next.manifest.root);
        let mut changes = diff_at_most(nodes.as_ref(), from, to, 2)?;
        if changes.len() > 1 {
            return Ok((old.operation.unwrap_or(Operation::Batch), None));
        }
        let Some(change) = changes.pop() else {
            // The bytes that were there were saved again.
            return Ok((old.operation.unwrap_or(Operation::Save), old.path.clone()));
        };
        let made = match change.new {
            Some(_) => Operation::Save,
            None => Operation::Delete,
        };
        Ok((old.operation.unwrap_or(made), Some(change.path)))
    }
}

/// The refusal of a branch that is not where it was when the move began.
fn changed_meanwhile() -> Error {
    Error::invalid("the branch was made, renamed or deleted here meanwhile: run the same again")
}

/// True if a state has the same files as the branch's head; their modes may differ.
fn is_same(branch: &Branch, state: ManifestId) -> Result<bool> {
    let digests = &branch.project.projects.shared.digests;
    let head = branch.record.manifest;
    Ok(head == state
        || digests.compute(branch.number, head)? == digests.compute(branch.number, state)?)
}

/// What a branch is to get.
struct Steps<'a> {
    name: &'a BranchName,
    snapshots: &'a [(u64, SnapshotRecord)],
    state: &'a OldState,
    head: &'a Author,
}

impl Steps<'_> {
    /// The record of a new branch; its snapshots go into the batch.
    fn new_branch(&self, number: u64, batch: &mut Batch) -> BranchRecord {
        let first = self.snapshots.first();
        let created_at = first.map_or(self.head.at, |(_, first)| first.reached_at);
        let Author { at, by } = self.head;
        let (name, state) = (self.name.clone(), self.state);
        let new = BranchRecord::new(name, state.id, state.manifest.totals, *at, by.clone());
        let record = BranchRecord { created_at, ..new };
        self.put(number, record, batch)
    }

    /// The record of a branch that goes on; `None` if it has all of it.
    fn after(&self, branch: &Branch, batch: &mut Batch) -> Result<Option<BranchRecord>> {
        let name = self.name;
        let old = &branch.record;
        if old.migrated_snapshots != Some(old.snapshots) {
            return Err(Error::invalid(format!(
                "branch {name} was changed here since it was moved in"
            )));
        }
        let next = old.snapshots + 1;
        let mut snapshots = self.snapshots.to_vec();
        match snapshots.first_mut() {
            // What differs in modes alone is no state of its own there.
            None if is_same(branch, self.state.id)? => return Ok(None),
            None => {
                let at = self.head.at.in_order_after(old.updated_at);
                let replaced = self.replacing(old, at);
                let changed = Steps {
                    snapshots: &[(next, replaced)],
                    ..*self
                };
                let record = changed.put(branch.number, BranchRecord::clone(old), batch);
                return Ok(Some(BranchRecord {
                    snapshots_there: Some(old.last_there()),
                    ..record
                }));
            }
            // The older system may have lost some before.
            Some((number, first)) if *number >= next && is_same(branch, first.manifest)? => {
                // Who has read the head knows this state by this place.
                first.manifest = old.manifest;
                first.totals = old.totals;
                first.reached_at = old.updated_at;
                first.reached_by.clone_from(&old.updated_by);
            }
            Some((number, _)) => {
                let found = SnapshotVersion::new(*number);
                return Err(Error::invalid(format!(
                    "its old snapshot {found} does not follow: the first that is new must hold the state \
                     which was moved in last"
                )));
            }
        }
        let following = Steps {
            snapshots: &snapshots,
            ..*self
        };
        Ok(Some(following.put(
            branch.number,
            BranchRecord::clone(old),
            batch,
        )))
    }

    /// The snapshot of a head that the older system replaced without one.
    fn replacing(&self, old: &BranchRecord, at: Timestamp) -> SnapshotRecord {
        SnapshotRecord {
            manifest: old.manifest,
            totals: old.totals,
            reached_at: old.updated_at,
            reached_by: old.updated_by.clone(),
            created_at: at,
            replaced_at: None,
            created_by: self.head.by.clone(),
            operation: Operation::Import,
            path: None,
            message: None,
        }
    }

    /// Brings a record to the new head and has the batch write the snapshots.
    fn put(&self, number: u64, record: BranchRecord, batch: &mut Batch) -> BranchRecord {
        for (version, snapshot) in self.snapshots {
            let key = key::snapshot(number, *version);
            batch.write(key, Expect::Absent, snapshot);
        }
        let Some((last, newest)) = self.snapshots.last() else {
            return BranchRecord {
                migrated_snapshots: Some(record.snapshots),
                snapshots_there: None,
                ..record
            };
        };
        let following = self.snapshots.iter().skip(1);
        let following = following
            .map(|(_, next)| next.manifest)
            .chain([self.state.id]);
        let changes = self.snapshots.iter().zip(following);
        let changed = changes
            .filter(|((_, snapshot), next)| snapshot.manifest != *next)
            .last();
        let change = changed.map(|((_, snapshot), _)| LastChange {
            at: snapshot.created_at,
            by: snapshot.created_by.clone(),
            operation: Some(snapshot.operation),
            path: snapshot.path.clone(),
            message: snapshot.message.clone(),
            parent: Some(ParentRecord {
                manifest: snapshot.manifest,
                totals: snapshot.totals,
            }),
        });
        BranchRecord {
            manifest: self.state.id,
            totals: self.state.manifest.totals.into(),
            snapshots: *last,
            updated_at: newest.created_at,
            updated_by: newest.created_by.clone(),
            last: change.or(record.last),
            migrated_snapshots: Some(*last),
            snapshots_there: None,
            ..record
        }
    }
}
