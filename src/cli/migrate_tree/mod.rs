//! `migrate-tree`: moving in from an old tree (specification section 5.4), as often as wanted until the
//! day of the switch.

mod accounts;
pub(super) mod args;
mod bring;
mod bring_token;
mod groups;
mod names;
mod notes;
mod owners;
mod report;
mod tokens;
mod tree;
mod verify;
mod when;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::first_start::KeyState;
use super::open_store::OpenStore;
use super::output;
use super::running::progress::Progress;
use super::running::stop::Stop;
use super::settings::Settings;
use super::{Error, Outcome, Result, Streams};
use crate::access::{Account, OldToken};
use crate::base::id::Sha256;
use crate::base::repo_id::RepoId;
use crate::base::secret::ServerKey;
use crate::manifest::digest::digest;
use crate::repo;
use crate::repo::{DigestStep, FileLimit, ImportFolder, ImportStep, Revision};
use crate::store::sqlite::Folder;
use args::MigrateTree;
use owners::Owners;
use report::Report;
use tokens::TokenLine;
use tree::Tree;

/// A move that is under way, or is only looked at.
struct Migration<'a> {
    opened: &'a OpenStore,
    tree: Tree,
    owners: Owners,
    token_file: Option<PathBuf>,
    /// What owners have become, as far as they were met.
    accounts: BTreeMap<String, Option<Account>>,
    /// The numbers of the accounts that owners have become in earlier runs and by now: also of accounts that are
    /// gone.
    migrated: BTreeMap<String, u64>,
    /// The projects of the tree; in a dry run with the owners of those that would be here by now.
    planned: HashMap<RepoId, Option<String>>,
    /// In a dry run, how many tokens accounts would have by now, by their numbers.
    token_counts: HashMap<u64, usize>,
    /// In a comparison, the ids of the tokens that the file has.
    met_tokens: HashSet<String>,
    key_file: PathBuf,
    /// The server's key, once it was needed.
    key: Option<std::result::Result<ServerKey, String>>,
    dry_run: bool,
    renew: bool,
    file_limit: FileLimit,
    report: Report<'a>,
    stop: Stop,
}

/// `migrate-tree`.
pub(super) fn run(
    args: &MigrateTree,
    settings: &Settings,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let stop = Stop::watch(false)?;
    let owners = match &args.owner_map {
        Some(path) => Owners::read(path)?,
        None => Owners::default(),
    };
    let opened = if args.dry_run || args.verify {
        OpenStore::for_reading(settings)?
    } else {
        OpenStore::beside(settings)?
    };
    let Streams {
        out,
        err,
        err_is_terminal,
        ..
    } = streams;
    let progress = Progress::on(*err, *err_is_terminal);
    let mut report = Report::new(progress, args.dry_run);
    let data = opened.data_folder().map(Folder::root);
    let tree = Tree::read(&args.root, data, &mut report)?;
    report.tell();
    let planned = tree.projects.iter().map(|old| (old.repo_id.clone(), None));
    let planned: HashMap<_, _> = planned.collect();
    let mut migration = Migration {
        opened: &opened,
        planned,
        token_counts: HashMap::new(),
        tree,
        owners,
        token_file: args.tokens.clone(),
        accounts: BTreeMap::new(),
        migrated: opened.accounts.migrated()?,
        met_tokens: HashSet::new(),
        key_file: opened.key_file(settings)?,
        key: None,
        dry_run: args.dry_run,
        renew: args.renew,
        file_limit: opened.file_limit(settings)?,
        report,
        stop,
    };
    let done = if args.verify {
        migration.verify()
    } else {
        migration.bring()
    };
    let Migration {
        mut report, stop, ..
    } = migration;
    report.tell();
    if let Err(error) = done {
        if args.verify || args.dry_run {
            return Err(error);
        }
        // What came by then stays. That it cannot be told is the lesser failure.
        let _told = report.write(args.json, false, *out);
        return Err(match error {
            Error::Interrupted(_) => stop.paused(),
            error => error,
        });
    }
    let outcome = if report.is_clean() {
        Outcome::Fine
    } else {
        Outcome::Findings
    };
    let is_made = !args.verify && !args.dry_run && report.has_steps();
    let mut written = report.write(args.json, args.verify, *out);
    if is_made {
        written = output::of_change(written, *out, None);
    }
    written?;
    Ok(outcome)
}

impl Migration<'_> {
    /// Goes on, unless Ctrl-C was pressed. What came by then stays; repeated, the rest follows.
    fn go_on(&self) -> Result<()> {
        if self.stop.is_asked() {
            return Err(self.stop.name(Error::Failed("interrupted".to_owned())));
        }
        Ok(())
    }

    /// Reads a folder of the tree; what is left out is told. `None` if that is all of it.
    fn read<T>(
        &mut self,
        place: &Path,
        read: impl FnOnce(
            &ImportFolder,
            &mut dyn FnMut(ImportStep<'_>) -> ControlFlow<()>,
        ) -> repo::Result<Option<T>>,
    ) -> Result<Option<T>> {
        let folder = match self.tree.folder.below(place) {
            Ok(folder) => folder,
            Err(error) => {
                self.report.leave_out(place, &error.to_string());
                return Ok(None);
            }
        };
        let (root, report, stop) = (self.tree.folder.path(), &mut self.report, &self.stop);
        let done = read(&folder, &mut |step| {
            match step {
                ImportStep::Taken { size, .. } => report.file(size),
                ImportStep::Skipped { path, reason, .. } => {
                    report.leave_out(path.strip_prefix(root).unwrap_or(path), reason);
                }
                ImportStep::Reading { .. } | ImportStep::Excluded { .. } => {}
            }
            stop.flow()
        });
        match done {
            Err(repo::Error::Invalid { reason }) => {
                report.leave_out(place, &reason);
                Ok(None)
            }
            Ok(None) => {
                self.go_on()?;
                Ok(None)
            }
            done => Ok(done?),
        }
    }

    /// The digest of a folder of the tree; what no branch takes of it is told. `None` if that is all.
    fn digest(&mut self, place: &Path) -> Result<Option<String>> {
        let file_limit = self.file_limit;
        let digest = self.read(place, |folder, step| {
            folder.digest(file_limit, |met| {
                step(match met {
                    DigestStep::File { path, size, .. } => ImportStep::Taken { path, size },
                    DigestStep::Skipped { path, skip, reason } => {
                        ImportStep::Skipped { path, skip, reason }
                    }
                })
            })
        })?;
        Ok(digest.map(|of| of.digest.to_string()))
    }

    /// The digest of a state here, computed from its tree.
    fn digest_of(&self, state: &Revision) -> Result<String> {
        let nodes = self.opened.projects.nodes();
        let root = nodes.manifest(state.manifest())?.root;
        let sha256: Sha256 = digest(nodes.as_ref(), root)?;
        Ok(sha256.to_string())
    }

    /// Calls `take` with each token of the file; what is wrong with a line is told, also that it has the
    /// value of another: a token would silently get the rights of both.
    ///
    /// # Limits
    /// Memory of 40 bytes for each token.
    fn each_token(
        &mut self,
        mut take: impl FnMut(&mut Self, &str, &TokenLine, &OldToken) -> Result<()>,
    ) -> Result<()> {
        let Some(path) = self.token_file.clone() else {
            return Ok(());
        };
        let mut lines: HashMap<Sha256, u64> = HashMap::new();
        tokens::each(&path, |number, line| {
            self.go_on()?;
            let at = format!("{}:{number}", path.display());
            let now = self.opened.projects.clock().now();
            let token = line.and_then(|line| {
                let old = line.token(now, || self.key())?;
                let first = *lines.entry(old.digest).or_insert(number);
                if first != number {
                    return Err(format!("it has the value of line {first}"));
                }
                Ok((line, old))
            });
            match token {
                Ok((line, old)) => take(self, &at, &line, &old)?,
                Err(reason) => self.report.find(&at, &reason),
            }
            self.report
                .progress
                .say(|| format!("{number} lines of tokens read"));
            self.report.tell();
            Ok(())
        })
    }

    /// The key under which instances are kept.
    fn key(&mut self) -> std::result::Result<ServerKey, String> {
        let opened = self.opened;
        let read = || {
            let state = KeyState::read(self.key_file.clone(), &*opened.store, &opened.accounts);
            state.map_err(|e| e.to_string())?.into_key()
        };
        self.key.get_or_insert_with(read).clone()
    }
}
