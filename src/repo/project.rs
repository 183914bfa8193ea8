//! A project: made, found, listed.

use std::sync::Arc;

use bytes::Bytes;

use super::{CountLimits, Error, Missing, Permit, Projects, Result, audit};
use crate::base::actor::Actor;
use crate::base::branch_name::BranchName;
use crate::base::clock::Timestamp;
use crate::base::id::BlobId;
use crate::base::limits::CHECKED_BYTES_MAX;
use crate::base::name_error::check_new;
use crate::base::repo_id::RepoId;
use crate::object::audit::{Action, AuditRecord};
use crate::object::key;
use crate::object::record::ProjectRecord;
use crate::store::{Batch, Body, Expect, Record, Scan, StoreError, Values, Version, Versioned};

/// An opened project, for reading. A cheap handle.
#[derive(Clone, Debug)]
pub struct Project {
    pub(super) projects: Projects,
    number: u64,
    version: Version,
    pub(super) record: Arc<ProjectRecord>,
}

impl Projects {
    /// Makes a project for the account of this number.
    ///
    /// # Errors
    /// [`Error::Exists`] when the identifier is taken; [`Error::Invalid`] when the account is not there, or has
    /// as many projects as it may have; [`Error::TooManyDeleted`].
    pub fn create_project(
        &self,
        repo_id: &RepoId,
        owner: u64,
        actor: impl Into<Actor>,
    ) -> Result<Project> {
        self.create_project_at(repo_id, owner, self.clock().now(), &actor.into())
    }

    /// As [`Projects::create_project`], for one that has been there since this time.
    ///
    /// # Errors
    /// As there.
    pub fn create_project_at(
        &self,
        repo_id: &RepoId,
        owner: u64,
        created_at: Timestamp,
        actor: &Actor,
    ) -> Result<Project> {
        check_new("name", repo_id.name())?;
        let record = ProjectRecord {
            repo_id: repo_id.clone(),
            owner,
            created_at,
            keep: None,
            repo_id_there: None,
            rules: Vec::new(),
        };
        self.create_project_as(&record, actor)
    }

    /// Makes the project that a record describes.
    ///
    /// # Errors
    /// As [`Projects::create_project`].
    pub(super) fn create_project_as(
        &self,
        record: &ProjectRecord,
        actor: &Actor,
    ) -> Result<Project> {
        let store = self.store().as_ref();
        let repo_id = &record.repo_id;
        let id_key = key::project_id(repo_id.as_str());
        let exists = || Ok::<_, Error>(store.record(&id_key)?.is_some());
        // Before the commit: to count may take long, and must not be done again for each that commits meanwhile.
        if exists()? {
            return Err(Error::Exists { what: "project" });
        }
        self.check_project_count(record.owner)?;
        self.check_deleted_projects(record.owner)?;
        let number = store.commit_prepared(|batch| {
            self.permit.hold(record.owner, repo_id, batch)?;
            if exists()? {
                return Err(Error::Exists { what: "project" });
            }
            let number = store.next_number(key::PROJECT_COUNTER, batch)?;
            self.require_owner(record.owner, batch)?;
            if let Some(there) = &record.repo_id_there {
                self.make_anew(key::forgotten_project(there.as_str()), batch)?;
            }
            batch.write(id_key.clone(), Expect::Absent, &number);
            batch.write(key::project(number), Expect::Absent, record);
            let made = AuditRecord {
                project: Some((number, repo_id.to_string())),
                ..AuditRecord::new(self.clock().now(), actor, Action::ProjectCreated)
            };
            audit::add(batch, &made);
            Ok(number)
        })?;
        self.project_by_number(number).map_err(Error::after_change)
    }

    /// Refuses one project more than an account may have.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub(super) fn check_project_count(&self, owner: u64) -> Result<()> {
        if self.count_limits == CountLimits::NONE {
            return Ok(());
        }
        let mut count = 0;
        for record in self.store().folder(key::PROJECTS)?.iter() {
            // A damaged one of somebody else is no reason to refuse this one.
            let project = record.decode_sound::<ProjectRecord>();
            count += u64::from(project.is_some_and(|project| project.value.owner == owner));
        }
        self.count_limits.check_projects(count)
    }

    /// The project of this identifier.
    ///
    /// # Errors
    /// [`Missing::Project`].
    pub fn project(&self, repo_id: &RepoId) -> Result<Project> {
        let number = self
            .store()
            .value::<u64>(&key::project_id(repo_id.as_str()))?;
        let number = number.ok_or(Error::missing(Missing::Project))?.value;
        let project = self.project_by_number(*number)?;
        // One that was renamed since its identifier was read is there no more under this one.
        if project.repo_id() != repo_id {
            return Err(Error::missing(Missing::Project));
        }
        Ok(project)
    }

    /// The project of this number.
    ///
    /// # Errors
    /// [`Missing::Project`].
    pub fn project_by_number(&self, number: u64) -> Result<Project> {
        let record = self.store().value(&key::project(number))?;
        let record = record.ok_or(Error::missing(Missing::Project))?;
        Ok(self.opened(number, record))
    }

    /// All projects, in the byte order of their identifiers.
    pub fn all(&self) -> Result<Vec<Project>> {
        self.all_that(|_| true)
    }

    /// Those of all projects that are `wanted`, in the byte order of their identifiers.
    pub fn all_that(&self, wanted: impl Fn(&Project) -> bool) -> Result<Vec<Project>> {
        let mut projects = Vec::new();
        for record in self.store().folder(key::PROJECTS)?.iter() {
            let project = self.opened(record.number(), record.decode()?);
            if wanted(&project) {
                projects.push(project);
            }
        }
        projects.sort_by(|a, b| a.repo_id().cmp(b.repo_id()));
        Ok(projects)
    }

    /// Those of all projects whose records can be read; of the others the log of the service tells.
    pub(super) fn all_sound(&self) -> Result<Vec<Project>> {
        let records = self.store().scan(Scan {
            values: Values::Sound,
            ..Scan::prefix(key::PROJECTS)
        })?;
        let project =
            |record: &Arc<Record>| Some(self.opened(record.number(), record.decode_sound()?));
        Ok(records.iter().filter_map(project).collect())
    }

    fn opened(&self, number: u64, record: Versioned<ProjectRecord>) -> Project {
        Project {
            projects: self.clone(),
            number,
            version: record.version,
            record: record.value,
        }
    }
}

impl Project {
    /// The record as it is now.
    ///
    /// # Errors
    /// [`Missing::Project`] when it was deleted since it was opened.
    pub(super) fn require_project(&self) -> Result<Versioned<ProjectRecord>> {
        let record = self.projects.store().value(&key::project(self.number))?;
        record.ok_or(Error::missing(Missing::Project))
    }

    /// The project as it is now.
    ///
    /// # Errors
    /// [`Missing::Project`] when it was deleted since it was opened.
    pub(super) fn now(&self) -> Result<Self> {
        Ok(self.as_of(&self.require_project()?))
    }

    /// The project as its record says here.
    pub(super) fn as_of(&self, kept: &Versioned<ProjectRecord>) -> Self {
        Self {
            projects: self.projects.clone(),
            number: self.number,
            version: kept.version,
            record: Arc::clone(&kept.value),
        }
    }

    /// What a batch expects that is to be committed only while the project is as it was opened.
    pub(super) fn expected(&self) -> (String, Expect) {
        (key::project(self.number), Expect::Version(self.version))
    }

    /// Has a batch committed only if the project is not deleted before. For what adds to the project, so
    /// that nothing comes to a project whose records are being removed.
    ///
    /// # Errors
    /// [`Missing::Project`].
    pub(super) fn hold(&self, batch: &mut Batch) -> Result<()> {
        batch.expected.push(self.now()?.expected());
        Ok(())
    }

    /// Has a batch committed only while the project is as it is now, and who changes it may. Gives it as it is.
    ///
    /// # Errors
    /// [`Missing::Project`]; those of the permit.
    pub(super) fn hold_permitted(&self, permit: &Permit, batch: &mut Batch) -> Result<Self> {
        let now = self.now()?;
        permit.hold(now.owner(), now.repo_id(), batch)?;
        batch.expected.push(now.expected());
        Ok(now)
    }

    /// Its number, the `id` of the read API. Never used twice.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its identifier.
    pub fn repo_id(&self) -> &RepoId {
        &self.record.repo_id
    }

    /// The number of the account that owns it.
    pub fn owner(&self) -> u64 {
        self.record.owner
    }

    /// The identifier that it has in the older system which it was brought from.
    pub fn repo_id_there(&self) -> Option<&RepoId> {
        self.record.repo_id_there.as_ref()
    }

    /// A number that stays the same as long as nobody changes what is said of the project itself.
    pub fn state(&self) -> u64 {
        self.version
    }

    /// When it was made.
    pub fn created_at(&self) -> Timestamp {
        self.record.created_at
    }

    /// The first bytes of a blob, as many as are ever checked.
    pub(super) fn bytes_of(&self, blob: BlobId) -> Result<Bytes> {
        let blob = self.projects.nodes().objects().blob(blob)?;
        match blob.body {
            Body::Inline(bytes) => Ok(bytes),
            Body::Large(body) => {
                let size = blob.size.min(CHECKED_BYTES_MAX);
                let bytes = body.read_at(0, usize::try_from(size).unwrap_or(usize::MAX));
                Ok(bytes.map_err(|e| StoreError::io("reading a blob", e))?)
            }
        }
    }

    /// The audit record of what this actor does to it now.
    pub(super) fn audit_record(&self, actor: &Actor, action: Action) -> AuditRecord {
        AuditRecord {
            project: Some((self.number, self.repo_id().to_string())),
            ..AuditRecord::new(self.projects.clock().now(), actor, action)
        }
    }

    /// The same, done to the branch of this number and name.
    pub(super) fn branch_audit_record(
        &self,
        actor: &Actor,
        action: Action,
        (number, name): (u64, &BranchName),
    ) -> AuditRecord {
        AuditRecord {
            branch: Some((number, name.to_string())),
            ..self.audit_record(actor, action)
        }
    }
}
