//! Projects, and folders in and out of them.

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;

use super::args::{Export, Import};
use super::opened::Opened;
use super::output;
use super::output::{Listed, visible};
use super::progress::Progress;
use super::{Error, Outcome, Result, Streams};
use crate::base::branch_name::BranchName;
use crate::base::repo_id::RepoId;
use crate::repo;
use crate::repo::{ImportFolder, ImportOptions, ImportStep, Project, ProjectWriter};

/// A project as it is listed.
#[derive(Serialize)]
struct Row {
    repo_id: String,
    id: u64,
    owner: Option<String>,
    default_branch: Option<String>,
    created_at: String,
    updated_at: String,
}

impl Listed for Row {
    const HEADINGS: &'static [&'static str] = &[
        "REPO ID",
        "ID",
        "OWNER",
        "DEFAULT BRANCH",
        "CREATED",
        "UPDATED",
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.repo_id.clone(),
            self.id.to_string(),
            self.owner.clone().unwrap_or_default(),
            self.default_branch.clone().unwrap_or_default(),
            self.created_at.clone(),
            self.updated_at.clone(),
        ]
    }
}

/// `project list`.
pub(super) fn list_projects(opened: &Opened, json: bool, streams: &mut Streams<'_>) -> Result<()> {
    let accounts = opened.accounts.list()?;
    let names: HashMap<u64, &str> = accounts.iter().map(|a| (a.number(), a.name())).collect();
    let mut rows = Vec::new();
    for project in opened.repository.all()? {
        let default = project.default_branch()?;
        rows.push(Row {
            repo_id: project.repo_id().to_string(),
            id: project.number(),
            owner: names.get(&project.owner()).map(|name| (*name).to_owned()),
            default_branch: default.map(|branch| branch.name().to_string()),
            created_at: project.created_at().to_string(),
            updated_at: project.updated_at()?.to_string(),
        });
    }
    output::list(streams.out, json, &rows)
}

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
            progress.tell(&format!("skipped {}: {reason}", shown(path)));
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

/// `export`.
pub(super) fn export(wish: &Export, opened: &Opened, streams: &mut Streams<'_>) -> Result<()> {
    let repo_id = RepoId::parse(&wish.repo_id)?;
    let revision = opened.revision(&repo_id, &wish.revision)?;
    let total = revision.totals().files;
    let mut progress = Progress::new(streams);
    let mut written: u64 = 0;
    let files = repo::export(&revision, &wish.dir, |_| {
        written += 1;
        progress.say(|| format!("{written} of {total} files written"));
    })?;
    drop(progress);
    writeln!(
        streams.out,
        "{files} files exported to {}",
        shown(&wish.dir)
    )?;
    Ok(())
}

fn shown(path: &Path) -> String {
    visible(&path.to_string_lossy())
}
