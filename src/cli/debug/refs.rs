//! Every project, branch and head, read record by record, so that a damaged one hides no other.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::readable::{each_named, each_numbered, unreadable};
use super::report;
use crate::base::branch_name::BranchName;
use crate::base::clock::Timestamp;
use crate::base::id::ManifestId;
use crate::base::repo_id::RepoId;
use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::output::Listed;
use crate::cli::{Outcome, Result, Streams};
use crate::object::key;
use crate::object::node::Totals;
use crate::object::record::{
    BranchRecord, DeletedRecord, ParentRecord, ProjectRecord, SnapshotRecord,
};
use crate::store::inspection::Inspectable;

/// A project and one of its branches; a project without any stands alone.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Reference {
    project: u64,
    repo_id: String,
    branch: Option<String>,
    #[serde(skip)]
    standing: Standing,
    #[serde(skip)]
    number: u64,
    manifest: Option<ManifestId>,
    snapshots: u64,
    #[serde(skip)]
    last_there: u64,
    /// The state that its last change replaced.
    #[serde(skip)]
    parent: Option<ParentRecord>,
    files: u64,
    bytes: u64,
}

/// Whether a project or a branch is in use. That of a branch is no better than that of its project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// It is.
    #[default]
    Living,
    /// It is deleted and can be restored.
    Deleted,
    /// It is deleted for good, and some of what belongs to it may be gone.
    Forgotten,
}

/// What a project is called.
#[derive(Debug)]
struct Named {
    repo_id: String,
    standing: Standing,
}

/// A state that a record keeps.
pub(super) struct State {
    /// Its manifest.
    pub(super) manifest: ManifestId,
    /// What its record says that is in it.
    pub(super) totals: Totals,
    /// What kind of record keeps it.
    pub(super) kept_as: KeptAs,
    /// The standing of its branch.
    pub(super) standing: Standing,
}

/// As what a state is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeptAs {
    /// The head of a branch.
    Head,
    /// A snapshot.
    Snapshot,
    /// What the last change of a branch replaced, and no snapshot of it keeps any more.
    Parent,
}

/// Everything that keeps a state, and what could not be read.
#[derive(Debug, Default)]
pub(super) struct Refs {
    /// Projects and branches of every standing.
    references: Vec<Reference>,
    /// Projects by their numbers.
    projects: BTreeMap<u64, Named>,
    /// What is wrong, a sentence each.
    pub(super) findings: Vec<String>,
}

/// What was met of the snapshots of a branch, in the order of their numbers.
#[derive(Debug, Default)]
struct Chain {
    /// The number of the last, 0 before the first.
    last: u64,
    /// When its state was replaced, and by whom.
    replaced: Option<(Timestamp, String)>,
    has_gap: bool,
    has_parent: bool,
}

impl Listed for Reference {
    const HEADINGS: &'static [&'static str] = &[
        "PROJECT",
        "REPO ID",
        "BRANCH",
        "SNAPSHOTS",
        "FILES",
        "BYTES",
        "MANIFEST",
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.project.to_string(),
            self.repo_id.clone(),
            self.branch.clone().unwrap_or_default(),
            self.snapshots.to_string(),
            self.files.to_string(),
            self.bytes.to_string(),
            self.manifest.map(|id| id.to_string()).unwrap_or_default(),
        ]
    }
}

/// `debug refs`.
pub(super) fn run(opened: &OpenStore, json: bool, streams: &mut Streams<'_>) -> Result<Outcome> {
    let mut refs = Refs::read(opened.inspectable())?;
    refs.references.retain(|at| at.standing == Standing::Living);
    // Of each those that are there. Where they cannot be counted the number of the last stays, as the record has it.
    for at in refs.references.iter_mut().filter(|at| at.snapshots > 0) {
        let snapshots = key::snapshots(at.number);
        match opened.inspectable().count_records(&snapshots) {
            Ok(count) => at.snapshots = count,
            Err(error) => refs.findings.push(unreadable(&snapshots, error)?),
        }
    }
    output::list(streams.out, json, &refs.references)?;
    report(&refs.findings, streams)
}

impl Refs {
    /// Reads them all. Branches are found by their own keys, also where their project cannot be read.
    pub(super) fn read(store: &dyn Inspectable) -> Result<Self> {
        let mut refs = Self::default();
        refs.read_projects(store)?;
        let Self {
            references,
            projects,
            findings,
        } = &mut refs;
        let mut add = |project: u64, number: u64, branch: &BranchRecord, own: Standing| {
            let (repo_id, standing) = match projects.get(&project) {
                Some(named) => (named.repo_id.clone(), named.standing.max(own)),
                None => (format!("project {project}"), own),
            };
            references.push(Reference::new(project, repo_id, number, branch, standing));
        };
        each_numbered(
            store,
            key::BRANCHES,
            findings,
            |[project, number], branch: BranchRecord| {
                add(project, number, &branch, Standing::Living);
            },
        )?;
        each_numbered(
            store,
            key::DELETED_BRANCHES,
            findings,
            |[project, number], kept: DeletedRecord<BranchRecord>| {
                add(project, number, &kept.record, Standing::of_deleted(&kept));
            },
        )?;
        refs.add_projects_without_branches();
        refs.references
            .sort_by(|a, b| (&a.repo_id, &a.branch).cmp(&(&b.repo_id, &b.branch)));
        Ok(refs)
    }

    fn read_projects(&mut self, store: &dyn Inspectable) -> Result<()> {
        let Self {
            projects, findings, ..
        } = self;
        let mut name = |project: u64, repo_id: String, standing: Standing| {
            projects.insert(project, Named { repo_id, standing });
        };
        // This tells also what a project is called whose own record cannot be read.
        each_named(store, key::PROJECT_IDS, findings, |repo_id, project| {
            name(project, repo_id.to_owned(), Standing::Living);
            Ok(())
        })?;
        each_numbered(
            store,
            key::PROJECTS,
            findings,
            |[project], record: ProjectRecord| {
                name(project, record.repo_id.to_string(), Standing::Living);
            },
        )?;
        each_numbered(
            store,
            key::DELETED_PROJECTS,
            findings,
            |[project], kept: DeletedRecord<ProjectRecord>| {
                let standing = Standing::of_deleted(&kept);
                name(project, kept.record.repo_id.to_string(), standing);
            },
        )
    }

    fn add_projects_without_branches(&mut self) {
        let living = self
            .references
            .iter()
            .filter(|at| at.standing == Standing::Living);
        let with_branch: BTreeSet<_> = living.map(|at| at.project).collect();
        let alone = self.projects.iter().filter(|(project, named)| {
            named.standing == Standing::Living && !with_branch.contains(project)
        });
        self.references
            .extend(alone.map(|(project, named)| Reference {
                project: *project,
                repo_id: named.repo_id.clone(),
                ..Reference::default()
            }));
    }

    /// How many projects there are of this standing.
    pub(super) fn projects(&self, standing: Standing) -> u64 {
        let all = self.projects.values();
        all.map(|named| u64::from(named.standing == standing)).sum()
    }

    /// The number of a branch, also of one whose own record cannot be read.
    pub(super) fn branch(
        &mut self,
        store: &dyn Inspectable,
        repo_id: &RepoId,
        name: &BranchName,
    ) -> Result<Option<u64>> {
        let mut living = self
            .references
            .iter()
            .filter(|at| at.standing == Standing::Living && at.repo_id == repo_id.as_str());
        if let Some(at) = living.find(|at| at.branch.as_deref() == Some(name.as_str())) {
            return Ok(Some(at.number));
        }
        let mut projects = self.projects.iter();
        let project = projects.find(|(_, named)| {
            named.standing == Standing::Living && named.repo_id == repo_id.as_str()
        });
        let Some((project, _)) = project else {
            return Ok(None);
        };
        let names = key::branch_names(*project);
        let mut found = None;
        each_named(store, &names, &mut self.findings, |other, number| {
            if other == name.as_str() {
                found = Some(number);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// The snapshots of a branch with their numbers, which rise.
    pub(super) fn snapshots(
        &mut self,
        store: &dyn Inspectable,
        branch: u64,
    ) -> Result<Vec<(u64, SnapshotRecord)>> {
        let mut snapshots = Vec::new();
        let prefix = key::snapshots(branch);
        each_numbered(store, &prefix, &mut self.findings, |[number], snapshot| {
            snapshots.push((number, snapshot));
        })?;
        Ok(snapshots)
    }

    /// Every state that a record keeps, also of what is deleted, and of branches that cannot be read.
    pub(super) fn states(&mut self, store: &dyn Inspectable) -> Result<Vec<State>> {
        let mut states = Vec::new();
        let branches = self.references.iter().filter(|at| at.branch.is_some());
        let by_number: BTreeMap<_, _> = branches.clone().map(|at| (at.number, at)).collect();
        let mut chains: BTreeMap<u64, Chain> = BTreeMap::new();
        each_numbered(
            store,
            key::SNAPSHOTS,
            &mut self.findings,
            |[branch, number], snapshot: SnapshotRecord| {
                let at = by_number.get(&branch).copied();
                states.push(State {
                    manifest: snapshot.manifest,
                    totals: snapshot.totals.into(),
                    kept_as: KeptAs::Snapshot,
                    standing: at.map_or(Standing::Living, |at| at.standing),
                });
                chains.entry(branch).or_default().add(at, number, snapshot);
            },
        )?;
        let empty = Chain::default();
        for at in branches {
            let chain = chains.get(&at.number).unwrap_or(&empty);
            states.extend(at.states(chain));
            let is_whole = chain.last == at.snapshots && !chain.has_gap;
            if !is_whole && at.standing != Standing::Forgotten && !at.is_moving(store, chain)? {
                self.findings.push(format!(
                    "branch {}: its snapshots are not all up to the {} it counts",
                    at.number, at.snapshots
                ));
            }
        }
        Ok(states)
    }
}

impl Standing {
    fn of_deleted<T>(kept: &DeletedRecord<T>) -> Self {
        if kept.forgetting {
            Self::Forgotten
        } else {
            Self::Deleted
        }
    }
}

impl Reference {
    fn new(
        project: u64,
        repo_id: String,
        number: u64,
        branch: &BranchRecord,
        standing: Standing,
    ) -> Self {
        let totals = Totals::from(branch.totals);
        Self {
            project,
            repo_id,
            branch: Some(branch.name.to_string()),
            standing,
            number,
            manifest: Some(branch.manifest),
            snapshots: branch.snapshots,
            last_there: branch.last_there(),
            parent: branch.last.as_ref().and_then(|last| last.parent),
            files: totals.files,
            bytes: totals.bytes,
        }
    }

    /// The states that the record of the branch keeps beside its snapshots.
    fn states(&self, snapshots: &Chain) -> impl Iterator<Item = State> + use<> {
        let standing = self.standing;
        let head = self.manifest.map(|manifest| State {
            manifest,
            totals: self.totals(),
            kept_as: KeptAs::Head,
            standing,
        });
        let parent = self.parent.filter(|_| !snapshots.has_parent);
        let parent = parent.map(|parent| State {
            manifest: parent.manifest,
            totals: parent.totals.into(),
            kept_as: KeptAs::Parent,
            standing,
        });
        head.into_iter().chain(parent)
    }

    fn totals(&self) -> Totals {
        Totals {
            files: self.files,
            bytes: self.bytes,
            ..Totals::default()
        }
    }

    /// True if these snapshots of the branch are what saves have made of them since it was read, or it
    /// was deleted, restored or forgotten meanwhile.
    fn is_moving(&self, store: &dyn Inspectable, snapshots: &Chain) -> Result<bool> {
        let deleted = store.record(&key::deleted_branch(self.project, self.number))?;
        let deleted = deleted.and_then(|record| {
            serde_json::from_slice::<DeletedRecord<BranchRecord>>(&record.value).ok()
        });
        let living = store.record(&key::branch(self.project, self.number))?;
        let now = match (living, deleted) {
            (None, None) => return Ok(true),
            (None, Some(kept)) if kept.forgetting => return Ok(true),
            (None, Some(kept)) => kept.record.snapshots,
            (Some(record), _) => {
                serde_json::from_slice::<BranchRecord>(&record.value).map_or(0, |now| now.snapshots)
            }
        };
        Ok((self.snapshots..=now).contains(&snapshots.last) && !snapshots.has_gap)
    }
}

impl Chain {
    /// Adds the next snapshot, of this branch if its record can be read.
    fn add(&mut self, at: Option<&Reference>, number: u64, snapshot: SnapshotRecord) {
        // Of those that came from an older system some may not have been there: then the one state came
        // when the other was replaced.
        if let Some(replaced) = &self.replaced
            && number != self.last + 1
        {
            let came = (snapshot.reached_at, snapshot.reached_by);
            let is_from_there = at.is_some_and(|at| number <= at.last_there);
            self.has_gap |= !is_from_there || *replaced != came;
        }
        let parent = at.and_then(|at| at.parent);
        self.has_parent |= parent.is_some_and(|parent| parent.manifest == snapshot.manifest);
        self.last = number;
        self.replaced = Some((snapshot.created_at, snapshot.created_by));
    }
}
