//! A folder, laid over a branch.

pub(super) mod args;
mod report;
mod skips;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::names;
use super::open_store::OpenStore;
use super::output;
use super::output::counted;
use super::project::owner::require_enabled;
use super::running::progress::Progress;
use super::running::stop::Stop;
use super::settings::Settings;
use super::{Error, Outcome, Result, Streams};
use crate::access::Account;
use crate::base::actor::Actor;
use crate::base::branch_name::BranchName;
use crate::base::clock::Timestamp;
use crate::base::repo_id::RepoId;
use crate::repo;
use crate::repo::{
    Branch, Exclude, ImportChanges, ImportFolder, ImportOptions, ImportPreview, ImportStep,
    Project, ProjectWriter, ReadFolder,
};
use crate::store::sqlite::Folder;
use args::Import;
use report::Report;
use skips::Skips;

/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// `import`. Files that cannot be taken are looked for before anything is written: they end it, unless
/// they are to be left out.
pub(super) fn import(
    args: &Import,
    settings: &Settings,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let repo_id = names::repo_id(&args.repo_id)?;
    let branch = names::branch(&args.branch)?;
    let options = options(args, settings, opened)?;
    let actor = author(args, opened)?;
    let data = opened.data_folder().map(Folder::root);
    let mut folder = ImportFolder::open(&args.dir, data)?;
    if args.follow_links {
        folder = folder.following_links()?;
    }
    let target = Target::find(&repo_id, args.owner.as_deref(), opened)?;
    let head = target.branch(&branch)?;
    // Before the folder is read, and a project made that would stay without a branch.
    if matches!(target, Target::Absent { .. }) {
        names::to_be_made("project", repo_id.as_str())?;
    }
    match &head {
        Some(head) => options.check(head)?,
        None => names::to_be_made("branch name", branch.as_str())?,
    }
    let import = Importing {
        args,
        folder,
        options,
        stop: Stop::watch(false)?,
    };
    let found = import.look(streams)?;
    let mut skips = Skips::new("skipped", args.verbose);
    let mut report = Report {
        project: repo_id.to_string(),
        branch: branch.to_string(),
        dry_run: args.dry_run,
        project_made: matches!(target, Target::Absent { .. }),
        branch_made: head.is_none(),
        files: 0,
        bytes: 0,
        changes: ImportChanges::default().into(),
        skipped: (&skips).into(),
        snapshot: None,
        short_id: None,
    };
    if args.dry_run {
        let preview = import.preview(head.as_ref(), found, &mut skips, streams)?;
        (report.files, report.bytes) = (preview.files, preview.bytes);
        report.changes = preview.changes.into();
        if let Some(head) = &head
            && preview.changes == ImportChanges::default()
        {
            report.short_id = Some(head.head().digest()?.short_id().to_owned());
        }
    } else {
        let read = import.read(opened, found, &mut skips, streams)?;
        let place = (&repo_id, &branch);
        import.save(&read, target, place, actor, opened, &mut report)?;
    }
    report.skipped = (&skips).into();
    let skipped = skips.summary();
    report.show(
        args.json,
        args.owner.as_deref(),
        skipped.as_deref(),
        streams,
    )?;
    Ok(Outcome::Fine)
}

/// What was asked for, and a folder that is held open for it.
struct Importing<'a> {
    args: &'a Import,
    folder: ImportFolder,
    options: ImportOptions,
    stop: Stop,
}

impl Importing<'_> {
    /// Counts what will be taken, and looks whether all can be.
    ///
    /// # Errors
    /// [`Error::Failed`] when not, unless that is to be left out.
    fn look(&self, streams: &mut Streams<'_>) -> Result<ImportPreview> {
        let mut progress = Progress::new(streams);
        let mut lost = Skips::new("cannot take", self.args.verbose);
        let mut files: u64 = 0;
        let found = self.folder.preview(None, &self.options, |step| {
            match step {
                ImportStep::Taken { .. } => {
                    files += 1;
                    progress.say(|| format!("{} found", counted(files, "file", "files")));
                }
                ImportStep::Skipped { skip, .. }
                    if skip.is_loss() && !self.args.skip_unreadable =>
                {
                    lost.meet(step, &mut progress);
                }
                _ => {}
            }
            self.stop.flow()
        })?;
        let found = found.ok_or_else(|| self.stop.nothing_saved())?;
        lost.summary().map_or(Ok(found), |lost| Err(refused(&lost)))
    }

    /// Tells what the import would do.
    fn preview(
        &self,
        head: Option<&Branch>,
        found: ImportPreview,
        skips: &mut Skips,
        streams: &mut Streams<'_>,
    ) -> Result<ImportPreview> {
        let mut walk = Walking::new(found, skips, streams);
        let head = head.map(Branch::head);
        let preview = self.folder.preview(head.as_ref(), &self.options, |step| {
            walk.step(step, &self.stop)
        })?;
        let preview = preview.ok_or_else(|| self.stop.nothing_saved())?;
        drop(walk);
        self.require_all(preview.lost, skips)?;
        Ok(preview)
    }

    /// Reads the folder into the store.
    fn read(
        &self,
        opened: &OpenStore,
        found: ImportPreview,
        skips: &mut Skips,
        streams: &mut Streams<'_>,
    ) -> Result<ReadFolder> {
        let mut walk = Walking::new(found, skips, streams);
        let read = opened
            .projects
            .read_folder(&self.folder, &self.options, |step| {
                walk.step(step, &self.stop)
            })?;
        drop(walk);
        match read {
            Some(read) if !self.stop.is_asked() => {
                self.require_all(read.lost(), skips)?;
                Ok(read)
            }
            _ => Err(self.stop.nothing_saved()),
        }
    }

    /// Lays what was read over the branch, which is made where it is absent, as is its project. Only now: an import
    /// that was refused or interrupted leaves neither behind.
    fn save(
        &self,
        read: &ReadFolder,
        target: Target,
        (repo_id, branch): (&RepoId, &BranchName),
        actor: Actor,
        opened: &OpenStore,
        report: &mut Report,
    ) -> Result<()> {
        let date = self.options.date;
        let date = date.unwrap_or_else(|| opened.projects.clock().now());
        let (project, is_made) = target.project(repo_id, date, &actor, opened)?;
        report.project_made = is_made;
        // Checking the rules may take long, too.
        let writer = ProjectWriter::new(project, actor)
            .while_as_opened()
            .passing_over_rules(self.args.no_validate);
        if report.branch_made {
            // A project that was made just now has no rules.
            if !is_made && !self.args.no_validate {
                writer.check_first_import(read)?;
            }
            let made = make_branch(&writer, branch, date);
            report.branch_made = made.map_err(|error| behind_making(error, is_made, false))?;
        }
        let done = writer.lay(branch, read);
        let done =
            done.map_err(|error| behind_making(error.into(), is_made, report.branch_made))?;
        (report.files, report.bytes) = (done.files, done.bytes);
        report.changes = done.changes.into();
        report.snapshot = done.snapshot;
        report.short_id = output::known_short_id(&done.revision);
        Ok(())
    }

    /// Refuses what has changed since the folder was looked through.
    fn require_all(&self, lost: u64, skips: &Skips) -> Result<()> {
        match skips.summary() {
            Some(summary) if lost > 0 && !self.args.skip_unreadable => Err(refused(&summary)),
            _ => Ok(()),
        }
    }
}

/// Files that are taken one after the other.
struct Walking<'a> {
    found: ImportPreview,
    files: u64,
    bytes: u64,
    skips: &'a mut Skips,
    progress: Progress<'a>,
}

impl<'a> Walking<'a> {
    fn new(found: ImportPreview, skips: &'a mut Skips, streams: &'a mut Streams<'_>) -> Self {
        Self {
            found,
            files: 0,
            bytes: 0,
            skips,
            progress: Progress::new(streams),
        }
    }

    fn step(&mut self, step: ImportStep<'_>, stop: &Stop) -> std::ops::ControlFlow<()> {
        match step {
            ImportStep::Reading { bytes } => self.bytes += bytes,
            ImportStep::Taken { .. } => self.files += 1,
            ImportStep::Skipped { .. } | ImportStep::Excluded { .. } => {
                self.skips.meet(step, &mut self.progress);
            }
        }
        let (files, bytes, found) = (self.files, self.bytes, self.found);
        self.progress.say(|| {
            format!(
                "{files} of {}, {} of {} MiB read",
                counted(found.files, "file", "files"),
                bytes / MIB,
                found.bytes.div_ceil(MIB)
            )
        });
        stop.flow()
    }
}

/// An import that would lose files.
fn refused(lost: &str) -> Error {
    Error::Failed(format!(
        "{lost}: nothing was saved; --skip-unreadable leaves them out"
    ))
}

fn options(args: &Import, settings: &Settings, opened: &OpenStore) -> Result<ImportOptions> {
    let exclude = Exclude::new(&args.exclude);
    let exclude = exclude.map_err(|e| Error::Usage(format!("--exclude {e}")))?;
    let date = args.date.as_deref().map(|text| {
        let date = Timestamp::parse(text).ok_or_else(|| {
            Error::Usage(format!(
                "--date \"{text}\" is no time: it must be as in 2026-11-21T14:30:00Z, or a day as in \
                 2026-11-21"
            ))
        })?;
        if date > opened.projects.clock().now() {
            return Err(Error::Usage(format!("--date {date} is in the future")));
        }
        Ok(date)
    });
    Ok(ImportOptions {
        mirror: args.mirror,
        may_empty: args.allow_empty,
        file_limit: opened.file_limit(settings)?,
        exclude,
        message: names::message(args.message.as_deref())?,
        date: date.transpose()?,
        ..ImportOptions::default()
    })
}

/// Who the history names.
fn author(args: &Import, opened: &OpenStore) -> Result<Actor> {
    let actor = opened.actor.clone();
    let Some(name) = &args.author else {
        return Ok(actor);
    };
    let account = opened.accounts.by_name(name)?;
    Ok(actor.acting_for(account.name()))
}

/// Where an import goes.
enum Target {
    /// With the account that must own it, if one must.
    Project(Project, Option<Arc<Account>>),
    /// There is none; it is to be made for this account.
    Absent { owner: Arc<Account> },
}

impl Target {
    fn find(repo_id: &RepoId, owner: Option<&str>, opened: &OpenStore) -> Result<Self> {
        let owner = owner
            .map(|name| opened.accounts.by_name(name))
            .transpose()?;
        let project = repo::optional(opened.projects.project(repo_id))?;
        match (project, owner) {
            (Some(project), Some(owner)) => Ok(Self::Project(owned(project, &owner)?, Some(owner))),
            (Some(project), None) => Ok(Self::Project(project, None)),
            (None, Some(owner)) => {
                require_enabled(&owner)?;
                Ok(Self::Absent { owner })
            }
            (None, None) => Err(Error::Failed(format!(
                "there is no project {repo_id}; with --owner NAME it is made"
            ))),
        }
    }

    /// The branch, if it is there.
    fn branch(&self, name: &BranchName) -> Result<Option<Branch>> {
        let Self::Project(project, _) = self else {
            return Ok(None);
        };
        Ok(repo::optional(project.branch(name))?)
    }

    /// The project, made where it is absent; true if it was. One that another has made meanwhile is as one that was
    /// there.
    ///
    /// # Errors
    /// Those of [`OpenStore::project_anew`].
    fn project(
        self,
        repo_id: &RepoId,
        date: Timestamp,
        actor: &Actor,
        opened: &OpenStore,
    ) -> Result<(Project, bool)> {
        let owner = match self {
            Self::Project(project, owner) => {
                let project = opened.project_anew(&project)?;
                let project = match owner {
                    Some(owner) => owned(project, &owner)?,
                    None => project,
                };
                return Ok((project, false));
            }
            Self::Absent { owner } => owner,
        };
        let projects = &opened.projects;
        match projects.create_project_at(repo_id, owner.number(), date, actor) {
            Ok(project) => Ok((project, true)),
            Err(repo::Error::Exists { .. }) => {
                Ok((owned(opened.project(repo_id)?, &owner)?, false))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The project, if it is owned by this account.
fn owned(project: Project, owner: &Account) -> Result<Project> {
    if project.owner() != owner.number() {
        return Err(Error::Failed(format!(
            "project {} is there already and is not owned by {}",
            project.repo_id(),
            owner.name()
        )));
    }
    Ok(project)
}

/// The error of an import, with what it has made for the folder before.
fn behind_making(error: Error, project: bool, branch: bool) -> Error {
    let made = match (project, branch) {
        (true, true) => "the project and an empty branch were made",
        (true, false) => "the project was made",
        (false, true) => "an empty branch was made",
        (false, false) => return error,
    };
    Error::AfterChange {
        source: Box::new(error),
        made: made.to_owned(),
    }
}

/// Makes the branch, unless another has made it meanwhile; true if it did.
fn make_branch(writer: &ProjectWriter, name: &BranchName, date: Timestamp) -> Result<bool> {
    match writer.create_branch_at(name, None, date) {
        Ok(_) => Ok(true),
        Err(repo::Error::Exists { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
