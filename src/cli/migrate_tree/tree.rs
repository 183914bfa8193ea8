//! What an old tree holds, by the names of its folders. No file of a branch is read.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::groups::{Nature, SNAPSHOTS, decoded, nature};
use super::report::Report;
use crate::base::branch_name::BranchName;
use crate::base::limits::MIGRATED_SNAPSHOT_NUMBER_MAX;
use crate::base::repo_id::{RepoId, check_name};
use crate::base::snapshot_version::SnapshotVersion;
use crate::cli::{Error, Result};
use crate::repo;
use crate::repo::{ImportFolder, LyingKind};

/// The owner of what lies in `public`.
pub(super) const PUBLIC: &str = "public";

/// An old tree.
#[derive(Debug)]
pub(super) struct Tree {
    /// The folder that holds `user` and `public`.
    pub(super) folder: ImportFolder,
    /// In the order of their names. One that has no project is one, too.
    pub(super) owners: Vec<String>,
    pub(super) projects: Vec<OldProject>,
}

/// A project of the tree.
#[derive(Debug)]
pub(super) struct OldProject {
    pub(super) owner: String,
    pub(super) repo_id: RepoId,
    /// Where it lies in the tree.
    pub(super) place: PathBuf,
    pub(super) branches: BTreeMap<BranchName, OldBranch>,
}

/// A branch of the tree.
#[derive(Debug)]
pub(super) struct OldBranch {
    /// Where its files lie in the tree.
    pub(super) place: PathBuf,
    /// Where its old snapshots lie, or would lie.
    history: PathBuf,
    /// False if there are old snapshots, or something in their place, that cannot be listed: when the
    /// branch came without them, later ones would not follow.
    pub(super) is_listed: bool,
    /// Where each old snapshot lies, by its number.
    pub(super) snapshots: BTreeMap<u64, PathBuf>,
}

impl Tree {
    /// Looks through a tree. What does not belong there is told to the report.
    ///
    /// # Errors
    /// [`Error::Failed`] when the root is no such tree, or is not apart from the data folder.
    pub(super) fn read(root: &Path, data: Option<&Path>, report: &mut Report<'_>) -> Result<Self> {
        let folder = base(ImportFolder::open(root, data)?)?;
        let mut reading = Reading {
            folder: &folder,
            report,
            owners: Vec::new(),
            projects: Vec::new(),
            met: 0,
        };
        reading.all();
        let Reading {
            mut owners,
            mut projects,
            ..
        } = reading;
        owners.sort();
        projects.sort_by(|a, b| a.repo_id.cmp(&b.repo_id));
        Ok(Self {
            folder,
            owners,
            projects,
        })
    }
}

impl Tree {
    /// True if a branch has other old snapshots now than when the tree was read.
    ///
    /// # Errors
    /// [`repo::Error::Invalid`] when they cannot be listed now.
    pub(super) fn has_moved_on(&self, branch: &OldBranch) -> repo::Result<bool> {
        let contents = match self.folder.below(&branch.history) {
            Ok(folder) => folder.contents()?,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                let reason = format!("its old snapshots cannot be listed: {error}");
                return Err(repo::Error::invalid(reason));
            }
        };
        let numbers = contents.iter().filter_map(|(name, kind)| {
            let is_folder = *kind == LyingKind::Folder;
            name.to_str().and_then(number_of).filter(|_| is_folder)
        });
        let now: BTreeSet<_> = numbers.collect();
        Ok(!now.iter().eq(branch.snapshots.keys()))
    }
}

/// The folder that holds `user` and `public`.
fn base(root: ImportFolder) -> Result<ImportFolder> {
    let is_base = |folder: &ImportFolder| -> Result<bool> {
        let contents = folder.contents()?;
        let known = |name: &OsStr| name == "user" || name == PUBLIC;
        Ok(contents
            .iter()
            .any(|(name, kind)| known(name) && *kind == LyingKind::Folder))
    };
    if is_base(&root)? {
        return Ok(root);
    }
    if let Ok(below) = root.below(Path::new("apps/site-builder"))
        && is_base(&below)?
    {
        return Ok(below);
    }
    Err(Error::Failed(format!(
        "{} is no old tree: neither it nor apps/site-builder in it holds a folder user or public",
        root.path().display()
    )))
}

struct Reading<'a, 'r> {
    folder: &'a ImportFolder,
    report: &'a mut Report<'r>,
    owners: Vec<String>,
    projects: Vec<OldProject>,
    /// How many folders of projects were met.
    met: usize,
}

impl Reading<'_, '_> {
    fn all(&mut self) {
        for (name, place) in self.folders(Path::new(""), "only user and public belong here") {
            match name.as_str() {
                "user" => {
                    for (owner, place) in self.folders(&place, "it is no owner's folder") {
                        self.owners.push(owner.clone());
                        self.group(&owner, &place, "", false);
                    }
                }
                PUBLIC => {
                    self.owners.push(PUBLIC.to_owned());
                    self.group(PUBLIC, &place, "", true);
                }
                _ => self
                    .report
                    .leave_out(&place, "only user and public belong here"),
            }
        }
    }

    /// Looks for projects in a folder of an owner, or in the public one, whose names begin so.
    fn group(&mut self, owner: &str, place: &Path, before: &str, is_public: bool) {
        for (folder, place) in self.folders(place, "it is no project's folder") {
            let name = format!("{before}{}", decoded(&folder));
            let whole = if is_public && !name.starts_with("public/") {
                format!("public/{name}")
            } else {
                name.clone()
            };
            match RepoId::parse(&whole) {
                Ok(repo_id) if repo_id.is_public() && !is_public => {
                    self.met += 1;
                    let reason = format!(
                        "{repo_id} would be readable for every account: only what lies in the folder \
                         public is"
                    );
                    self.report.leave_out(&place, &reason);
                }
                // A name that is one folder with its slashes is whole.
                Ok(repo_id) if decoded(&folder) != folder => {
                    self.project(owner, repo_id, place);
                }
                Ok(repo_id) => match nature(self.folder, &place, &repo_id) {
                    Nature::Project => self.project(owner, repo_id, place),
                    Nature::Group => self.group(owner, &place, &format!("{name}/"), is_public),
                    Nature::Unclear(reason) => {
                        self.met += 1;
                        self.report.leave_out(&place, &reason);
                    }
                },
                Err(refused) if check_name(&whole).is_err() => {
                    self.report.leave_out(&place, &refused.to_string());
                }
                Err(refused) => {
                    // A part of a project's name, or a project without a type: then what is in it is
                    // not worth a word each.
                    let (known, told) = (self.met, self.report.mark());
                    self.group(owner, &place, &format!("{name}/"), is_public);
                    if self.met == known {
                        self.report.forget_since(told);
                        self.report.leave_out(&place, &refused.to_string());
                    }
                }
            }
        }
    }

    fn project(&mut self, owner: &str, repo_id: RepoId, place: PathBuf) {
        self.met += 1;
        if let Some(other) = self.projects.iter().find(|other| other.repo_id == repo_id) {
            let reason = format!(
                "project {repo_id} is {}, too, and there is one of each name",
                other.place.display()
            );
            self.report.leave_out(&place, &reason);
            return;
        }
        let mut branches: BTreeMap<BranchName, OldBranch> = BTreeMap::new();
        let mut histories = None;
        let above = place.join(SNAPSHOTS);
        for (folder, kind, place) in self.entries(&place).unwrap_or_default() {
            if folder == SNAPSHOTS {
                histories = Some(kind);
                continue;
            }
            if !self.is_folder(&place, kind, "it is no branch's folder") {
                continue;
            }
            match BranchName::parse(&decoded(&folder)).map(|name| branches.entry(name)) {
                Ok(Entry::Vacant(entry)) => {
                    entry.insert(OldBranch {
                        place,
                        history: above.join(folder),
                        is_listed: true,
                        snapshots: BTreeMap::new(),
                    });
                }
                Ok(Entry::Occupied(entry)) => {
                    let (name, first) = (entry.key(), entry.get().place.display());
                    let reason = format!("it is branch {name}, too, as {first} is");
                    self.report.leave_out(&place, &reason);
                }
                Err(refused) => self.report.leave_out(&place, &refused.to_string()),
            }
        }
        if let Some(kind) = histories
            && !self.histories(&above, kind, &mut branches)
        {
            for branch in branches.values_mut() {
                branch.is_listed = false;
            }
        }
        self.projects.push(OldProject {
            owner: owner.to_owned(),
            repo_id,
            place,
            branches,
        });
    }

    /// Looks for the old snapshots of branches; false if their folder cannot be listed.
    fn histories(
        &mut self,
        place: &Path,
        kind: LyingKind,
        branches: &mut BTreeMap<BranchName, OldBranch>,
    ) -> bool {
        if !self.is_folder(place, kind, "it is no folder of old snapshots") {
            return false;
        }
        let Some(entries) = self.entries(place) else {
            return false;
        };
        let mut met: HashMap<BranchName, PathBuf> = HashMap::new();
        for (name, kind, place) in entries {
            let is_folder = self.is_folder(&place, kind, "it is no branch's folder of snapshots");
            let parsed = BranchName::parse(&decoded(&name)).ok();
            let known = parsed.and_then(|name| Some((branches.get_mut(&name)?, name)));
            let Some((branch, name)) = known else {
                if is_folder {
                    self.report
                        .leave_out(&place, "the project has no branch of this name");
                }
                continue;
            };
            if let Some(first) = met.get(&name) {
                if is_folder {
                    let first = first.display();
                    let reason = format!("it holds old snapshots of {name}, too, as {first} does");
                    self.report.leave_out(&place, &reason);
                }
                continue;
            }
            met.insert(name, place.clone());
            branch.is_listed = is_folder && self.history(&place, &mut branch.snapshots);
            branch.history = place;
        }
        true
    }

    /// Looks for the old snapshots of a branch; false if their folder cannot be listed.
    fn history(&mut self, place: &Path, snapshots: &mut BTreeMap<u64, PathBuf>) -> bool {
        let Some(entries) = self.entries(place) else {
            return false;
        };
        for (name, kind, place) in entries {
            let notes = name.strip_suffix(".json");
            match (number_of(notes.unwrap_or(&name)), kind) {
                (Some(_), LyingKind::File) if notes.is_some() => {}
                (Some(number), LyingKind::Folder) if notes.is_none() => {
                    snapshots.insert(number, place);
                }
                (_, LyingKind::LeftOut(reason)) => self.report.leave_out(&place, &reason),
                _ => self.report.leave_out(
                    &place,
                    "it is neither an old snapshot, as v0001, nor what is known of one, as v0001.json; \
                     the highest is v999999999",
                ),
            }
        }
        let numbers: Vec<_> = snapshots.keys().copied().collect();
        for pair in numbers.windows(2).filter(|pair| pair[0] + 1 < pair[1]) {
            let lacking = SnapshotVersion::new(pair[0] + 1);
            let before = SnapshotVersion::new(pair[1]);
            self.report
                .remark(place, &format!("there is no {lacking} before {before}"));
        }
        true
    }

    /// The folders in a folder; everything else is told with this reason.
    fn folders(&mut self, place: &Path, reason: &str) -> Vec<(String, PathBuf)> {
        let mut folders = Vec::new();
        for (name, kind, place) in self.entries(place).unwrap_or_default() {
            if self.is_folder(&place, kind, reason) {
                folders.push((name, place));
            }
        }
        folders
    }

    /// True for a folder; everything else is told, a file with this reason.
    fn is_folder(&mut self, place: &Path, kind: LyingKind, reason: &str) -> bool {
        match kind {
            LyingKind::Folder => return true,
            LyingKind::File => self.report.leave_out(place, reason),
            LyingKind::LeftOut(reason) => self.report.leave_out(place, &reason),
        }
        false
    }

    /// What is in a folder, by UTF-8 names. `None` if it cannot be listed, which is told.
    fn entries(&mut self, place: &Path) -> Option<Vec<(String, LyingKind, PathBuf)>> {
        let below = self.folder.below(place).map_err(|e| e.to_string());
        let contents = below.and_then(|folder| folder.contents().map_err(|e| e.to_string()));
        let contents = match contents {
            Ok(contents) => contents,
            Err(reason) => {
                self.report.leave_out(place, &reason);
                return None;
            }
        };
        let mut entries = Vec::new();
        for (name, kind) in contents {
            let place = place.join(&name);
            match name.into_string() {
                Ok(name) => entries.push((name, kind, place)),
                Err(_) => self.report.leave_out(&place, "its name is not UTF-8"),
            }
        }
        Some(entries)
    }
}

/// The number of the old snapshot that is called so.
fn number_of(name: &str) -> Option<u64> {
    let number = SnapshotVersion::parse(name).ok()?.number();
    (1..=MIGRATED_SNAPSHOT_NUMBER_MAX)
        .contains(&number)
        .then_some(number)
}
