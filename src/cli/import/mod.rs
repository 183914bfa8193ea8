//! A folder, laid over a branch.

pub(super) mod args;

use crate::base::branch_name::BranchName;
use crate::base::repo_id::RepoId;
use crate::cli::opened::Opened;
use crate::cli::output::visible_path;
use crate::cli::progress::Progress;
use crate::cli::{Error, Outcome, Result, Streams};
use crate::repo;
use crate::repo::{ImportFolder, ImportOptions, ImportStep, Project, ProjectWriter};
use args::Import;

/// `import`. What could not be taken is named and does not stop the rest; what could not be read makes
/// it a finding.
pub(super) fn import(
    wish: &Import,
    file_bytes_max: u64,
    opened: &Opened,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let repo_id = RepoId::parse(&wish.repo_id)?;
    let branch = BranchName::parse(&wish.branch)?;
    let folder = ImportFolder::open(&wish.dir, Some(opened.store.data_folder().root()))?;
    let target = Target::find(&repo_id, wish.owner.as_deref(), opened)?;
    let options = ImportOptions {
        mirror: wish.mirror,
        may_empty: wish.allow_empty,
        file_bytes_max,
    };
    let mut progress = Progress::new(streams);
    let (mut files, mut bytes): (u64, u64) = (0, 0);
    let repository = &opened.repository;
    let read = repository.read_folder(&folder, options, |step| match step {
        ImportStep::Taken { size, .. } => {
            files += 1;
            bytes = bytes.saturating_add(size);
            progress.say(|| format!("{files} files, {bytes} bytes read"));
        }
        ImportStep::Skipped { path, reason } => {
            progress.tell(&format!("skipped {}: {reason}", visible_path(path)));
        }
    })?;
    drop(progress);
    // Only now: an import that was refused or interrupted leaves no project and no branch behind.
    let project = match target {
        Target::Project(project) => project,
        Target::Absent { owner } => {
            repository.create_project(&repo_id, owner, opened.actor.clone())?
        }
    };
    let writer = ProjectWriter::new(project, opened.actor.clone());
    match writer.create_branch(&branch, None) {
        Ok(_) | Err(repo::Error::Exists { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let report = writer.lay(&branch, &read)?;

    let (digest, now) = (report.revision.digest()?, report.revision.totals().files);
    let before = writer.branch(&branch)?.snapshot(report.snapshot)?;
    writeln!(
        streams.out,
        "{} files, {} bytes imported into {repo_id}:{branch}, {} skipped; the state before is {} with \
         {} files, the branch is now {} with {now}",
        report.files,
        report.bytes,
        report.skipped,
        report.snapshot,
        before.totals().files,
        digest.short_id()
    )?;
    if report.lost == 0 {
        return Ok(Outcome::Fine);
    }
    let lost = report.lost;
    writeln!(
        streams.err,
        "siteconf: {lost} of what was skipped could not be read, or was too large"
    )?;
    Ok(Outcome::Findings)
}

/// Where an import goes.
enum Target {
    Project(Project),
    /// There is none; it is to be made for this account.
    Absent {
        owner: u64,
    },
}

impl Target {
    fn find(repo_id: &RepoId, owner: Option<&str>, opened: &Opened) -> Result<Self> {
        let owner = owner
            .map(|name| opened.accounts.by_name(name))
            .transpose()?;
        let project = match opened.repository.project(repo_id) {
            Err(repo::Error::NotFound { .. }) => None,
            found => Some(found?),
        };
        match (project, owner) {
            (Some(project), Some(owner)) if project.owner() != owner.number() => {
                Err(Error::Failed(format!(
                    "project {repo_id} is there already and is not owned by {}",
                    owner.name()
                )))
            }
            (Some(project), _) => Ok(Self::Project(project)),
            (None, Some(owner)) => Ok(Self::Absent {
                owner: owner.number(),
            }),
            (None, None) => Err(Error::Failed(format!(
                "there is no project {repo_id}; with --owner NAME it is made"
            ))),
        }
    }
}
