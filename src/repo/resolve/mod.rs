//! What a reference names (contract section 4).

mod absent_ids;
mod entered;
mod find_blob;
mod search;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Branch, Error, Missing, Project, Result, Revision, optional};
use crate::base::branch_name::BranchName;
use crate::base::id::{ManifestId, is_commit_abbreviation};
use crate::base::may_block;
use crate::base::snapshot_version::SnapshotVersion;
use crate::object::key;
use crate::object::node::Totals;
use crate::object::record::CommitRecord;
use crate::store::{Record, Scan};

pub(super) use absent_ids::AbsentIds;
pub(super) use entered::EnteredSnapshots;

/// Index entries looked at for one abbreviation; more cannot be unique in any real project.
const CANDIDATES_MAX: usize = 1000;

/// What a reference comes to before any history is looked at.
enum Named {
    State(Revision),
    /// No branch, and no commit id in the index, or on its way into it, begins with this text.
    Unknown(String),
}

/// What a reference may name beside the heads, as it was at one moment.
#[derive(Clone, Debug)]
pub struct Past {
    /// Where it lies in the store, each with a number for what lies there.
    folders: Vec<(String, u64)>,
}

impl Project {
    /// The state that a reference names: a branch's head by its name, or a snapshot as `<branch>@v0007`, also behind
    /// `refs/heads/` and `heads/`; a commit id in either case, whole or abbreviated to no less than eight digits;
    /// without one, or `HEAD`, the default branch's head.
    ///
    /// # Errors
    /// [`Missing::Revision`]; [`Missing::Branch`] when there is no default branch; [`Error::Unfinished`].
    ///
    /// # Limits
    /// A commit id that the index does not have is searched for among the heads, then among the newest
    /// 1,000 snapshots of each branch, 100,000 in all, for [`COMMIT_SEARCH_S_MAX`], or longer where it has entered
    /// nothing by then. The next search passes over the snapshots that one before has entered in the index, and there
    /// is none for a text that was searched for in vain since a branch last changed.
    ///
    /// [`COMMIT_SEARCH_S_MAX`]: crate::base::limits::COMMIT_SEARCH_S_MAX
    pub fn resolve(&self, reference: Option<&str>) -> Result<Revision> {
        match self.named(reference)? {
            Named::State(state) => Ok(state),
            Named::Unknown(text) => may_block(|| self.search(&text)),
        }
    }

    /// Opens a state again that was opened before, by what [`Revision::branch_number`] and
    /// [`Revision::manifest`] told. The caller answers for it that the branch had this state.
    ///
    /// # Errors
    /// [`Missing::Revision`] when the branch is gone, or the state was pruned and collected.
    pub fn reopen(&self, branch: u64, manifest: ManifestId) -> Result<Revision> {
        if self.branch_by_number(branch)?.is_none() {
            return Err(Error::missing(Missing::Revision));
        }
        self.state_of(branch, manifest)
    }

    /// The same of a branch that is there.
    pub(in crate::repo) fn state_of(&self, branch: u64, manifest: ManifestId) -> Result<Revision> {
        let state = |totals| Revision::new(self, branch, manifest, totals).fixed();
        match self.projects.nodes().manifest(manifest) {
            Ok(kept) => Ok(state(kept.totals)),
            Err(error) => Err(state(Totals::default()).or_pruned(error.into())),
        }
    }

    /// The same in microseconds, whatever writes or waits to: `None` for what [`Project::resolve`] would search for.
    ///
    /// # Errors
    /// As [`Project::resolve`].
    pub fn resolve_known(&self, reference: Option<&str>) -> Result<Option<Revision>> {
        match self.named(reference)? {
            Named::State(state) => Ok(Some(state)),
            Named::Unknown(_) => Ok(None),
        }
    }

    fn named(&self, reference: Option<&str>) -> Result<Named> {
        let Some(text) = reference.filter(|text| *text != "HEAD") else {
            let branch = self
                .default_branch()?
                .ok_or(Error::missing(Missing::Branch))?;
            return Ok(Named::State(branch.head()));
        };
        let Some((branch, version)) = self.branch_meant(text)? else {
            return self.by_commit(text.to_ascii_lowercase());
        };
        let state = version.map_or(Ok(branch.head()), |version| branch.snapshot(version));
        match state {
            Err(Error::NotFound { .. }) => Err(Error::missing(Missing::Revision)),
            other => other.map(Named::State),
        }
    }

    /// What this reference may name beside the heads of the branches, or of which an answer tells, as it is now: the
    /// snapshots of the branch, which say what last changed a file, and for a commit id the states by theirs.
    pub fn past(&self, reference: Option<&str>) -> Result<Past> {
        let mut past = Past {
            folders: Vec::new(),
        };
        let meant = match reference.filter(|text| *text != "HEAD") {
            Some(text) => self.branch_meant(text)?.map(|(branch, _)| branch),
            None => self.default_branch()?,
        };
        let branch = if let Some(branch) = meant {
            Some(branch.number)
        } else {
            self.add_to(&mut past, key::commits(self.number()))?;
            let state = optional(self.resolve_known(reference))?.flatten();
            state.map(|state| state.branch_number())
        };
        if let Some(branch) = branch {
            self.add_to(&mut past, key::snapshots(branch))?;
        }
        Ok(past)
    }

    fn add_to(&self, past: &mut Past, folder: String) -> Result<()> {
        let state = self.projects.store().folder_state(&folder)?;
        past.folders.push((folder, state));
        Ok(())
    }

    /// True as long as nothing is removed of this past. Saves may end it, too. A reference has it until a branch
    /// changes, is made or deleted.
    pub fn is_still(&self, past: &Past) -> Result<bool> {
        for (folder, state) in &past.folders {
            if self.projects.store().folder_state(folder)? != *state {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The branch of which a reference that is no commit id names the head, or the snapshot of a version; `None` if
    /// there is none.
    fn branch_meant(&self, reference: &str) -> Result<Option<(Branch, Option<SnapshotVersion>)>> {
        let names = match reference.strip_prefix("refs/heads/") {
            Some(name) => [Some(name), None],
            None => [Some(reference), reference.strip_prefix("heads/")],
        };
        for name in names.into_iter().flatten() {
            let snapshot = BranchName::split_snapshot(name);
            let (name, version) = match &snapshot {
                Some((branch, version)) => (branch.as_str(), Some(*version)),
                None => (name, None),
            };
            if let Some(branch) = self.found(name)? {
                return Ok(Some((branch, version)));
            }
        }
        Ok(None)
    }

    /// The branch of this name, `None` if there is none.
    fn found(&self, name: &str) -> Result<Option<Branch>> {
        let Ok(name) = BranchName::parse(name) else {
            return Ok(None);
        };
        optional(self.branch(&name))
    }

    /// The one state in the index, or on its way into it, whose commit id begins with this text.
    fn by_commit(&self, text: String) -> Result<Named> {
        if !is_commit_abbreviation(&text) {
            return Err(Error::missing(Missing::Revision));
        }
        let found = self.indexed(&text)?;
        if !found.is_empty() {
            return self.only(found).map(Named::State);
        }
        let absent = &self.projects.shared.absent_ids;
        if absent.has(self.number(), &text, self.branches_state()?) {
            return Err(Error::missing(Missing::Revision));
        }
        Ok(Named::Unknown(text))
    }

    /// The state that was found, if it is the only one. The files of another with its id may have other modes:
    /// where that is the head of the branch, the id is that of the head.
    fn only(&self, found: BTreeMap<String, (u64, ManifestId)>) -> Result<Revision> {
        let mut states = found.into_iter();
        let (Some((id, (branch, mut manifest))), None) = (states.next(), states.next()) else {
            return Err(Error::missing(Missing::Revision));
        };
        let Some(at) = self.branch_by_number(branch)? else {
            return Err(Error::missing(Missing::Revision));
        };
        let head = at.head();
        // Whoever was told its id had it kept.
        if head.manifest() != manifest
            && let Some(kept) = head.kept_digest()?
            && kept.commit_id() == id
        {
            manifest = head.manifest();
        }
        // The index may have an id a little longer than the branch has its state.
        self.state_of(branch, manifest)
    }

    /// The states whose commit ids begin with this text, among those in the index and on their way into it. Of an id
    /// that several branches have it is that of the oldest: a branch that is made from another has its id, too, and
    /// what led to it is in the history of the other.
    ///
    /// It does not wait until they are in the index: who reads waits for nobody who writes. All who ask in this
    /// process get the same nevertheless, whenever that is.
    fn indexed(&self, text: &str) -> Result<BTreeMap<String, (u64, ManifestId)>> {
        let all = key::commits(self.number());
        let prefix = format!("{all}{text}");
        // First: what is committed between the two is in the index.
        let on_their_way = self.projects.background().on_their_way(&prefix);
        let on_their_way = on_their_way.into_iter().filter_map(|entry| {
            // It has no version before it is committed.
            let record = Record::new(entry.key, 0, entry.value?);
            Some(Arc::new(record))
        });
        let scan = Scan {
            limit: CANDIDATES_MAX,
            ..Scan::prefix(&prefix)
        };
        let in_index = self.projects.store().scan(scan)?;
        let mut found: BTreeMap<String, (u64, ManifestId)> = BTreeMap::new();
        // One that is on its way comes before the one that it will replace.
        for record in on_their_way.chain(in_index) {
            let Some((id, branch)) = record.key[all.len()..].split_once('/') else {
                continue;
            };
            let branch = u64::from_str_radix(branch, 16).unwrap_or_default();
            if found.get(id).is_some_and(|(oldest, _)| *oldest <= branch) {
                continue;
            }
            // What was deleted with its branch is no longer a state of the project.
            if self.branch_by_number(branch)?.is_some() {
                let commit = record.decode::<CommitRecord>()?.value;
                found.insert(id.to_owned(), (branch, commit.manifest));
            }
        }
        Ok(found)
    }
}
