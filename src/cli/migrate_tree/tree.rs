//! What an old tree holds, by the names of its folders. No file of a branch is read.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::report::Report;
use crate::base::branch_name::BranchName;
use crate::base::repo_id::{RepoId, check_name};
use crate::base::snapshot_version::SnapshotVersion;
use crate::cli::{Error, Result};
use crate::repo::{ImportFolder, LyingKind};

/// The owner of what lies in `public`.
pub(super) const PUBLIC: &str = "public";
/// The folder of a project that holds old snapshots.
const SNAPSHOTS: &str = ".snapshots";

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
#[derive(Debug, Default)]
pub(super) struct OldBranch {
    /// Where its files lie in the tree.
    pub(super) place: PathBuf,
    /// Where each old snapshot lies, by its number.
    pub(super) snapshots: BTreeMap<u64, PathBuf>,
}

impl Tree {
    /// Looks through a tree. What does not belong there is told to the report.
    ///
    /// # Errors
    /// [`Error::Failed`] when the root is no such tree, or is not apart from the data folder.
    pub(super) fn read(root: &Path, data: &Path, report: &mut Report<'_>) -> Result<Self> {
        let folder = base(ImportFolder::open(root, Some(data))?)?;
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
                        self.group(&owner, &place, "");
                    }
                }
                PUBLIC => {
                    self.owners.push(PUBLIC.to_owned());
                    self.group(PUBLIC, &place, "");
                }
                _ => self
                    .report
                    .leave_out(&place, "only user and public belong here"),
            }
        }
    }

    /// Looks for projects in a folder of an owner, whose names begin so.
    fn group(&mut self, owner: &str, place: &Path, before: &str) {
        for (name, place) in self.folders(place, "it is no project's folder") {
            let name = format!("{before}{}", decoded(&name));
            let whole = if owner == PUBLIC && !name.starts_with("public/") {
                format!("public/{name}")
            } else {
                name.clone()
            };
            match RepoId::parse(&whole) {
                Ok(repo_id) => self.project(owner, repo_id, place),
                Err(refused) if check_name(&whole).is_err() => {
                    self.report.leave_out(&place, &refused.to_string());
                }
                Err(refused) => {
                    // A part of a project's name, or a project without a type: then what is in it is
                    // not worth a word each.
                    let (known, told) = (self.met, self.report.mark());
                    self.group(owner, &place, &format!("{name}/"));
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
        let mut branches = BTreeMap::new();
        let mut histories = None;
        for (name, place) in self.folders(&place, "it is no branch's folder") {
            if name == SNAPSHOTS {
                histories = Some(place);
                continue;
            }
            match BranchName::parse(&decoded(&name)) {
                Ok(name) => {
                    let branch = OldBranch {
                        place: place.clone(),
                        ..OldBranch::default()
                    };
                    if branches.insert(name, branch).is_some() {
                        self.report.leave_out(&place, "two folders are this branch");
                    }
                }
                Err(refused) => self.report.leave_out(&place, &refused.to_string()),
            }
        }
        if let Some(place) = histories {
            self.histories(&place, &mut branches);
        }
        self.projects.push(OldProject {
            owner: owner.to_owned(),
            repo_id,
            place,
            branches,
        });
    }

    fn histories(&mut self, place: &Path, branches: &mut BTreeMap<BranchName, OldBranch>) {
        for (name, place) in self.folders(place, "it is no branch's folder of snapshots") {
            let parsed = BranchName::parse(&decoded(&name));
            let Some(branch) = parsed.ok().and_then(|name| branches.get_mut(&name)) else {
                self.report
                    .leave_out(&place, "the project has no branch of this name");
                continue;
            };
            for (name, kind, place) in self.entries(&place) {
                let notes = name.strip_suffix(".json");
                let version = SnapshotVersion::parse(notes.unwrap_or(&name));
                match (version.map(SnapshotVersion::number), kind) {
                    (Ok(1..), LyingKind::File) if notes.is_some() => {}
                    (Ok(number @ 1..), LyingKind::Folder) if notes.is_none() => {
                        branch.snapshots.insert(number, place);
                    }
                    (_, LyingKind::LeftOut(reason)) => self.report.leave_out(&place, &reason),
                    _ => self.report.leave_out(
                        &place,
                        "it is neither an old snapshot, as v0001, nor what is known of one, as \
                         v0001.json",
                    ),
                }
            }
            let numbers: Vec<_> = branch.snapshots.keys().copied().collect();
            for pair in numbers.windows(2).filter(|pair| pair[0] + 1 < pair[1]) {
                let lacking = SnapshotVersion::new(pair[0] + 1);
                let before = SnapshotVersion::new(pair[1]);
                self.report
                    .remark(&place, &format!("there is no {lacking} before {before}"));
            }
        }
    }

    /// The folders in a folder; everything else is told with this reason.
    fn folders(&mut self, place: &Path, reason: &str) -> Vec<(String, PathBuf)> {
        let mut folders = Vec::new();
        for (name, kind, place) in self.entries(place) {
            match kind {
                LyingKind::Folder => folders.push((name, place)),
                LyingKind::File => self.report.leave_out(&place, reason),
                LyingKind::LeftOut(reason) => self.report.leave_out(&place, &reason),
            }
        }
        folders
    }

    /// What is in a folder, by UTF-8 names.
    fn entries(&mut self, place: &Path) -> Vec<(String, LyingKind, PathBuf)> {
        let below = self.folder.below(place).map_err(|e| e.to_string());
        let contents = below.and_then(|folder| folder.contents().map_err(|e| e.to_string()));
        let contents = match contents {
            Ok(contents) => contents,
            Err(reason) => {
                self.report.leave_out(place, &reason);
                return Vec::new();
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
        entries
    }
}

/// A folder's name with its slashes.
fn decoded(name: &str) -> String {
    name.replace("%2F", "/").replace("%2f", "/")
}
