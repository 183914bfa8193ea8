//! What an older system's projects and branches are called here.

use crate::base::actor::Actor;
use crate::base::branch_name::BranchName;
use crate::base::clock::Timestamp;
use crate::base::repo_id::RepoId;
use crate::object::key;
use crate::object::record::{BranchRecord, ProjectRecord};
use crate::repo::{Branch, Error, Project, ProjectWriter, Projects, Result, optional};

impl Projects {
    /// The project that has this identifier in an older system: one that was brought from there, whatever
    /// it is called here, else one that was made here under this identifier.
    pub fn project_from(&self, id: &RepoId) -> Result<Option<Project>> {
        let named = optional(self.project(id))?;
        let is_it = |project: &Project| project.repo_id_there() == Some(id);
        if named.as_ref().is_some_and(is_it) {
            return Ok(named);
        }
        let mut others = self.all()?.into_iter();
        let migrated = others.find(is_it);
        Ok(migrated.or(named.filter(|project| project.repo_id_there().is_none())))
    }

    /// Makes a project that an older system has under this identifier, since this time.
    ///
    /// # Errors
    /// As [`Projects::create_project`].
    pub fn create_project_from(
        &self,
        id: &RepoId,
        owner: u64,
        created_at: Timestamp,
        actor: &Actor,
    ) -> Result<Project> {
        let record = ProjectRecord {
            repo_id: id.clone(),
            owner,
            created_at,
            keep: None,
            repo_id_there: Some(id.clone()),
            rules: Vec::new(),
        };
        self.create_project_as(&record, actor)
    }
}

impl Project {
    /// The branch that has this name in an older system: one that was brought from there, whatever it is called
    /// here, else that which has the name here.
    pub(super) fn branch_from(&self, there: &BranchName) -> Result<Option<Branch>> {
        let named = optional(self.branch(there))?;
        if named
            .as_ref()
            .is_some_and(|branch| branch.is_migrated() && branch.name_there() == there)
        {
            return Ok(named);
        }
        // One that has another name here keeps that which it has there.
        for record in self
            .projects
            .store()
            .folder(&key::branches(self.number()))?
            .iter()
        {
            let kept = record.decode::<BranchRecord>()?;
            if kept.value.other_name_there.as_ref() == Some(there) {
                return Ok(Some(self.branch_of(record.number(), kept)));
            }
        }
        Ok(named)
    }
}

impl ProjectWriter {
    /// Remembers that an older system has the project under this identifier, so that it is known again when
    /// it is renamed.
    ///
    /// # Errors
    /// [`Missing::Project`](crate::repo::Missing::Project).
    pub fn keep_identifier(&self, id: &RepoId) -> Result<()> {
        let store = self.projects.store().as_ref();
        store.commit_prepared(|batch| {
            let kept = self.require_project()?;
            if kept.value.repo_id_there.is_none() {
                let record = ProjectRecord {
                    repo_id_there: Some(id.clone()),
                    ..ProjectRecord::clone(&kept.value)
                };
                batch.write(key::project(self.number()), kept.expect(), &record);
            }
            Ok::<_, Error>(())
        })
    }
}
