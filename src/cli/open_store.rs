//! The store of a command, opened, with what the commands need of it.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::getuid;

use super::settings::Settings;
use super::{Error, Result, engine};
use crate::access;
use crate::access::Accounts;
use crate::base::actor::Actor;
use crate::base::branch_name::BranchName;
use crate::base::clock::SystemClock;
use crate::base::repo_id::RepoId;
use crate::base::snapshot_version::SnapshotVersion;
use crate::repo;
use crate::repo::{
    Branch, CollectionStep, FileLimit, Project, ProjectWriter, Projects, Revision, Weights,
};
use crate::store;
use crate::store::Store;
use crate::store::engine::{Engine, Purpose};
use crate::store::inspection::Inspectable;
use crate::store::sqlite::{Folder, SqliteStore};

/// How many names a refusal tells at most.
const NAMES_TOLD: usize = 10;

/// An opened store.
pub(super) struct OpenStore {
    /// The store itself.
    pub(super) store: Arc<dyn Store>,
    engine: Engine,
    /// Its projects.
    pub(super) projects: Projects,
    /// Its accounts.
    pub(super) accounts: Accounts,
    /// Who runs the command.
    pub(super) actor: Actor,
}

impl OpenStore {
    /// Opens the store to change it, beside a daemon that may be running.
    pub(super) fn beside(settings: &Settings) -> Result<Self> {
        let engine = engine::open(settings, Purpose::Change)?;
        if let Some(store) = engine.embedded() {
            store.keep_free(settings.disk_free_min);
        }
        Ok(Self::of(engine))
    }

    /// Opens the store to look at it.
    pub(super) fn for_reading(settings: &Settings) -> Result<Self> {
        Ok(Self::of(engine::open(settings, Purpose::Read)?))
    }

    /// Opens it as the one or the other.
    pub(super) fn to(change: bool, settings: &Settings) -> Result<Self> {
        if change {
            Self::beside(settings)
        } else {
            Self::for_reading(settings)
        }
    }

    /// The project of this identifier.
    ///
    /// # Errors
    /// [`Error::Failed`] when there is none.
    pub(super) fn project(&self, repo_id: &RepoId) -> Result<Project> {
        match self.projects.project(repo_id) {
            Err(repo::Error::NotFound { .. }) => Err(Error::Failed(format!(
                "there is no project {repo_id}; \"siteconf project list\" names all"
            ))),
            found => Ok(found?),
        }
    }

    /// A project that was opened before something was read, which may take hours, as it is after that.
    ///
    /// # Errors
    /// [`Error::Failed`] where its name leads to it no more: what was read is for the project of that name.
    pub(super) fn project_anew(&self, before: &Project) -> Result<Project> {
        let repo_id = before.repo_id();
        let now = repo::optional(self.projects.project(repo_id))?;
        let same = now.filter(|now| now.number() == before.number());
        same.ok_or_else(|| {
            Error::Failed(format!(
                "project {repo_id} was renamed or deleted meanwhile; nothing was saved"
            ))
        })
    }

    /// A branch of a project.
    ///
    /// # Errors
    /// [`Error::Failed`] when there is none, with those that there are.
    pub(super) fn branch(&self, repo_id: &RepoId, name: &BranchName) -> Result<Branch> {
        let project = self.project(repo_id)?;
        match project.branch(name) {
            Err(repo::Error::NotFound { .. }) => Err(Error::Failed(format!(
                "there is no branch {name} in {repo_id}; {}",
                branches_of(&project)?
            ))),
            found => Ok(found?),
        }
    }

    /// The authority to change a project, of which this branch is there.
    ///
    /// # Errors
    /// As [`OpenStore::branch`].
    pub(super) fn writer(&self, repo_id: &RepoId, branch: &BranchName) -> Result<ProjectWriter> {
        let branch = self.branch(repo_id, branch)?;
        let project = branch.project().clone();
        Ok(ProjectWriter::new(project, self.actor.clone()))
    }

    /// What a reference names in a project; a snapshot also without its zeros, as in `main@v7`.
    ///
    /// # Errors
    /// [`Error::Failed`] when it names nothing, with some that would.
    pub(super) fn revision(&self, repo_id: &RepoId, reference: &str) -> Result<Revision> {
        let project = self.project(repo_id)?;
        let resolved = project.resolve(Some(&whole(reference)));
        if !matches!(resolved, Err(repo::Error::NotFound { .. })) {
            return Ok(resolved?);
        }
        if let Some((name, version)) = as_snapshot(reference) {
            return snapshot(&self.branch(repo_id, &name)?, version);
        }
        Err(Error::Failed(format!(
            "\"{reference}\" names nothing in {repo_id}: it must be a branch, a snapshot as in \
             main@v0007, or a commit id; {}",
            branches_of(&project)?
        )))
    }

    /// What a reference names, or without one the head of the default branch.
    ///
    /// # Errors
    /// As [`OpenStore::revision`]; [`Error::Failed`] for a project without a branch.
    pub(super) fn revision_or_default(
        &self,
        repo_id: &RepoId,
        reference: Option<&str>,
    ) -> Result<Revision> {
        if let Some(reference) = reference {
            return self.revision(repo_id, reference);
        }
        let project = self.project(repo_id)?;
        match project.default_branch()? {
            Some(branch) => Ok(branch.head()),
            None => Err(Error::Failed(format!(
                "there is nothing in {repo_id}; {}",
                branches_of(&project)?
            ))),
        }
    }

    /// The engine of the store.
    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The embedded engine's store.
    ///
    /// # Errors
    /// [`Error::not_offered`] where the store has another engine.
    pub(super) fn embedded(&self, what: &str, instead: &str) -> Result<&Arc<SqliteStore>> {
        let embedded = self.engine.embedded();
        embedded.ok_or_else(|| Error::not_offered(what, instead))
    }

    /// The store, to look into it.
    pub(super) fn inspectable(&self) -> &dyn Inspectable {
        self.engine.inspectable()
    }

    /// The largest file that is taken from a folder.
    ///
    /// # Errors
    /// Where the store has large files in a bucket that this command was not told of: without it, it would leave out
    /// what the service takes.
    pub(super) fn file_limit(&self, settings: &Settings) -> Result<FileLimit> {
        let store_bytes_max = self.store.body_bytes_max();
        if store_bytes_max < u64::MAX {
            self.inspectable().require_files()?;
        }
        Ok(if settings.file_bytes_max <= store_bytes_max {
            FileLimit {
                bytes_max: settings.file_bytes_max,
                hint: " (file_bytes_max)",
            }
        } else {
            FileLimit {
                bytes_max: store_bytes_max,
                hint: ", and the store has no bucket for such files (blobs)",
            }
        })
    }

    /// What is needed of the objects, and by what.
    pub(super) fn weigh(&self, step: impl FnMut(CollectionStep)) -> store::Result<Weights> {
        match &self.engine {
            Engine::Embedded(store) => self.projects.weigh(store.as_ref(), step),
            #[cfg(feature = "fleet")]
            Engine::Postgres(store) => self.projects.weigh(store.as_ref(), step),
        }
    }

    /// The folder that the store lies in, where it lies in one.
    pub(super) fn data_folder(&self) -> Option<&Folder> {
        self.engine.embedded().map(|store| store.data_folder())
    }

    /// The file of the server's key.
    ///
    /// # Errors
    /// [`Error::Usage`] where none is known.
    pub(super) fn key_file(&self, settings: &Settings) -> Result<PathBuf> {
        engine::key_file(self.data_folder(), settings)
    }

    /// Takes a store that is open.
    pub(super) fn of(engine: Engine) -> Self {
        let store = engine.store();
        let projects = access::projects(Arc::clone(&store), Arc::new(SystemClock));
        let actor = actor();
        let accounts = Accounts::new(&projects).acting(actor.clone());
        Self {
            store,
            engine,
            projects,
            accounts,
            actor,
        }
    }
}

/// The state that a snapshot of a branch holds.
///
/// # Errors
/// [`Error::Failed`] when there is none of this version, with what there is.
pub(super) fn snapshot(branch: &Branch, version: SnapshotVersion) -> Result<Revision> {
    match branch.snapshot(version) {
        Err(repo::Error::NotFound { .. }) => Err(no_snapshot(branch, version)),
        found => Ok(found?),
    }
}

/// The refusal of a version that a branch does not have.
pub(super) fn no_snapshot(branch: &Branch, version: SnapshotVersion) -> Error {
    let (repo_id, name) = (branch.project().repo_id(), branch.name());
    let newest = match branch.snapshot_count() {
        0 => "it has none yet".to_owned(),
        count => format!("the newest is {}", SnapshotVersion::new(count)),
    };
    Error::Failed(format!(
        "there is no snapshot {version} of {name} in {repo_id}; {newest}, and \"siteconf history \
         {repo_id} {name}\" lists all"
    ))
}

/// Reads a snapshot's version, also without its zeros.
///
/// # Errors
/// [`Error::Usage`].
pub(super) fn parse_version(text: &str) -> Result<SnapshotVersion> {
    let digits = text.strip_prefix('v').unwrap_or_default();
    let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
    match digits.parse() {
        Ok(number) if is_number => Ok(SnapshotVersion::new(number)),
        _ => Err(Error::Usage(format!(
            "malformed snapshot version \"{text}\": it must be \"v\" and a number, as in v0007"
        ))),
    }
}

/// The parts of `<branch>@v0007`.
fn as_snapshot(reference: &str) -> Option<(BranchName, SnapshotVersion)> {
    let (name, version) = reference.rsplit_once('@')?;
    Some((BranchName::parse(name).ok()?, parse_version(version).ok()?))
}

/// A reference as the repository reads it, with all zeros.
pub(super) fn whole(reference: &str) -> String {
    match as_snapshot(reference) {
        Some((name, version)) => format!("{name}@{version}"),
        None => reference.to_owned(),
    }
}

/// The branches of a project, or how one is made, for the end of a refusal.
fn branches_of(project: &Project) -> Result<String> {
    let names = project.branch_names()?;
    if names.is_empty() {
        let repo_id = project.repo_id();
        return Ok(format!(
            "it has no branch yet: \"siteconf branch create {repo_id} main\" makes one"
        ));
    }
    Ok(format!("its branches: {}", some_of(names.iter())))
}

/// Names for a refusal, not more of them than a person reads.
pub(super) fn some_of<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let are_all_told = names.len() <= NAMES_TOLD;
    let mut told = names.take(NAMES_TOLD).collect::<Vec<_>>().join(", ");
    if !are_all_told {
        told.push_str(", …");
    }
    told
}

/// Who runs this command: the user as whom the process runs, after the one who logged in to the machine
/// where that is another, as with sudo.
pub(super) fn actor() -> Actor {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let runs_as = getuid().as_raw();
    let logged_in = fs::read_to_string("/proc/self/loginuid").unwrap_or_default();
    let logged_in = logged_in.trim().parse().ok();
    // The system has the last number where nobody logged in, as under systemd.
    let logged_in = logged_in.filter(|user| *user != u32::MAX && *user != runs_as);
    let runs_as = name_of(&users, runs_as);
    Actor::command_line(match logged_in {
        Some(user) => format!("{} as {runs_as}", name_of(&users, user)),
        None => runs_as,
    })
}

/// The name of a user by the lines of `/etc/passwd`; the number where they have none.
fn name_of(users: &str, number: u32) -> String {
    let wanted = number.to_string();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == wanted).then_some(name)
    });
    name.map_or_else(|| format!("user {number}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_named_as_the_system_knows_it() {
        let users = "root:x:0:0:root:/root:/bin/sh\nconf:x:990:990::/:/bin/false\nodd:x\n";
        assert_eq!(name_of(users, 990), "conf");
        assert_eq!(name_of(users, 99), "user 99");
    }
}
