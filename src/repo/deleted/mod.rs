//! Deleted projects and branches: listed, restored, and forgotten when their time is over.
//!
//! A deletion moves one record (`deleted-project/…`, `deleted-branch/…`) and frees the name. What
//! belongs to the project or the branch stays where it is, under numbers that are never given twice, so
//! nothing that is made later under the same name meets it.

mod forget;
mod kept;
mod names_there;
mod restore;
mod shown;

use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

use serde::de::DeserializeOwned;

pub use forget::Forgotten;
pub use shown::ShownDeleted;

use super::{Error, Missing, Project, Projects, Result, optional};
use crate::base::branch_name::BranchName;
use crate::base::clock::{DAY_S, Timestamp};
use crate::base::limits::DELETED_READ_AT_ONCE;
use crate::base::repo_id::RepoId;
use crate::object::key;
use crate::object::record::{BranchRecord, DeletedRecord, ProjectRecord};
use crate::store::{Record, Scan, Values, Versioned};

/// Names what was deleted: `project-<number>` or `branch-<project's number>-<number>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletedId {
    /// A project by its number.
    Project(u64),
    /// A branch by the number of its project and its own.
    Branch(u64, u64),
}

/// A project or a branch that was deleted and can be restored.
#[derive(Clone, Debug)]
pub struct Deleted {
    id: DeletedId,
    repo_id: RepoId,
    owner: u64,
    branch: Option<BranchName>,
    at: Timestamp,
    by: String,
}

impl fmt::Display for DeletedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Project(number) => write!(f, "project-{number}"),
            Self::Branch(project, number) => write!(f, "branch-{project}-{number}"),
        }
    }
}

impl FromStr for DeletedId {
    type Err = Error;

    /// Reads the one spelling of an id.
    ///
    /// # Errors
    /// [`Missing::Deleted`]: another text names nothing.
    fn from_str(text: &str) -> Result<Self> {
        let number = |digits: &str| digits.parse::<u64>().ok();
        let id = match text.split_once('-') {
            Some(("project", rest)) => number(rest).map(Self::Project),
            Some(("branch", rest)) => rest.split_once('-').and_then(|(project, branch)| {
                Some(Self::Branch(number(project)?, number(branch)?))
            }),
            _ => None,
        };
        id.filter(|id| id.to_string() == text)
            .ok_or(Error::missing(Missing::Deleted))
    }
}

impl DeletedId {
    /// Its numbers, which rise as ids do: the project's, then the branch's, 0 for a project.
    pub fn numbers(self) -> (u64, u64) {
        match self {
            Self::Project(number) => (number, 0),
            Self::Branch(project, number) => (project, number),
        }
    }
}

impl Projects {
    /// What was deleted, can be restored and is wanted, the newest deletion first. The branches of a
    /// deleted project, and those that were deleted before it, come back with it and are not listed.
    ///
    /// # Limits
    /// Memory grows with what is wanted, not with what there is.
    pub fn deleted(&self, wanted: impl Fn(&Deleted) -> bool) -> Result<Vec<Deleted>> {
        self.deleted_while(|deleted| Ok::<_, Error>(wanted(deleted)))
    }

    /// As [`Projects::deleted`], until `wanted` refuses, which is asked before another is added.
    ///
    /// # Errors
    /// Those of `wanted`.
    pub fn deleted_while<E: From<Error>>(
        &self,
        mut wanted: impl FnMut(&Deleted) -> std::result::Result<bool, E>,
    ) -> std::result::Result<Vec<Deleted>, E> {
        let mut all = Vec::new();
        let mut add = |deleted: Deleted| {
            if wanted(&deleted)? {
                all.push(deleted);
            }
            Ok::<_, E>(())
        };
        self.each_deleted(key::DELETED_PROJECTS, |record, kept| {
            add(Deleted::project(record.number(), kept))
        })?;
        let mut last: Option<(u64, Option<Project>)> = None;
        self.each_deleted(key::DELETED_BRANCHES, |record, kept| {
            let (number, branch) = numbers_in(record);
            let project = match last.take() {
                Some((known, project)) if known == number => project,
                _ => self.sound_living(number)?,
            };
            if let Some(project) = &project {
                add(Deleted::branch(project, branch, kept))?;
            }
            last = Some((number, project));
            Ok::<_, E>(())
        })?;
        all.sort_by_key(|deleted| (Reverse(deleted.at), deleted.id.numbers()));
        Ok(all)
    }

    /// Calls with each deleted record under a prefix that can be restored. Some are read at a time.
    fn each_deleted<T, E>(
        &self,
        prefix: &str,
        mut act: impl FnMut(&Record, &DeletedRecord<T>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E>
    where
        T: DeserializeOwned + Send + Sync + 'static,
        E: From<Error>,
    {
        for records in self.store().pages(Scan {
            limit: DELETED_READ_AT_ONCE,
            values: Values::Sound,
            ..Scan::prefix(prefix)
        }) {
            for record in records.map_err(Error::from)? {
                let kept = record.decode_sound::<DeletedRecord<T>>();
                if let Some(kept) = kept.filter(|kept| !kept.value.forgetting) {
                    act(&record, &kept.value)?;
                }
            }
        }
        Ok(())
    }

    /// What has this id.
    ///
    /// # Errors
    /// [`Missing::Deleted`] when it is not deleted, is forgotten, or is a branch of a project that is not
    /// there.
    pub fn deleted_by_id(&self, id: DeletedId) -> Result<Deleted> {
        match id {
            DeletedId::Project(number) => {
                let kept = self.deleted_project(number)?;
                Ok(Deleted::project(number, &kept.value))
            }
            DeletedId::Branch(project, number) => {
                let kept = self.deleted_branch(project, number)?;
                let project = self.living(project)?;
                let project = project.ok_or(Error::missing(Missing::Deleted))?;
                Ok(Deleted::branch(&project, number, &kept.value))
            }
        }
    }

    fn deleted_project(&self, number: u64) -> Result<Versioned<DeletedRecord<ProjectRecord>>> {
        let kept = self.store().value(&key::deleted_project(number))?;
        kept.filter(|kept: &Versioned<DeletedRecord<_>>| !kept.value.forgetting)
            .ok_or(Error::missing(Missing::Deleted))
    }

    fn deleted_branch(
        &self,
        project: u64,
        number: u64,
    ) -> Result<Versioned<DeletedRecord<BranchRecord>>> {
        let kept = self.store().value(&key::deleted_branch(project, number))?;
        kept.filter(|kept: &Versioned<DeletedRecord<_>>| !kept.value.forgetting)
            .ok_or(Error::missing(Missing::Deleted))
    }

    /// The project of this number, `None` if there is none or it is deleted.
    fn living(&self, number: u64) -> Result<Option<Project>> {
        optional(self.project_by_number(number))
    }

    /// As [`Projects::living`], but `None` also for one whose record is damaged: that keeps no other.
    fn sound_living(&self, number: u64) -> Result<Option<Project>> {
        match self.living(number) {
            Err(error) if error.is_damage() => {
                tracing::error!(%error, "the deleted branches of a project have no name");
                Ok(None)
            }
            outcome => outcome,
        }
    }
}

/// The numbers of the project and the branch that end the key of a deleted branch.
fn numbers_in(record: &Record) -> (u64, u64) {
    let mut parts = record.key.rsplit('/').skip(1);
    let project = parts.next().unwrap_or_default();
    let project = u64::from_str_radix(project, 16).unwrap_or_default();
    (project, record.number())
}

impl Deleted {
    fn project(number: u64, kept: &DeletedRecord<ProjectRecord>) -> Self {
        Self {
            id: DeletedId::Project(number),
            repo_id: kept.record.repo_id.clone(),
            owner: kept.record.owner,
            branch: None,
            at: kept.deleted_at,
            by: kept.deleted_by.clone(),
        }
    }

    fn branch(project: &Project, number: u64, kept: &DeletedRecord<BranchRecord>) -> Self {
        Self {
            id: DeletedId::Branch(project.number(), number),
            repo_id: project.repo_id().clone(),
            owner: project.owner(),
            branch: Some(kept.record.name.clone()),
            at: kept.deleted_at,
            by: kept.deleted_by.clone(),
        }
    }

    /// Its id.
    pub fn id(&self) -> DeletedId {
        self.id
    }

    /// What it is: `project` or `branch`.
    pub fn kind(&self) -> &'static str {
        match self.id {
            DeletedId::Project(_) => "project",
            DeletedId::Branch(..) => "branch",
        }
    }

    /// Until when it can be restored, where that is so many days.
    pub fn kept_until(&self, keep_days: u64) -> Timestamp {
        self.at.plus_s(keep_days.saturating_mul(DAY_S))
    }

    /// The identifier of the project, or of the branch's project.
    pub fn repo_id(&self) -> &RepoId {
        &self.repo_id
    }

    /// The number of the account that owns the project.
    pub fn owner(&self) -> u64 {
        self.owner
    }

    /// The branch's name, `None` for a project.
    pub fn branch_name(&self) -> Option<&BranchName> {
        self.branch.as_ref()
    }

    /// When it was deleted.
    pub fn deleted_at(&self) -> Timestamp {
        self.at
    }

    /// Who deleted it.
    pub fn deleted_by(&self) -> &str {
        &self.by
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_spelling() {
        for (text, id) in [
            ("project-7", DeletedId::Project(7)),
            ("branch-7-12", DeletedId::Branch(7, 12)),
        ] {
            assert_eq!(text.parse::<DeletedId>().unwrap(), id);
            assert_eq!(id.to_string(), text);
        }
        for text in [
            "",
            "7",
            "project-",
            "project-07",
            "project-+7",
            "project-7-1",
            "branch-7",
            "branch-7-",
            "branch--1-2",
            "Project-7",
            "project-7 ",
            "project-18446744073709551616",
        ] {
            assert!(text.parse::<DeletedId>().is_err(), "{text}");
        }
    }
}
