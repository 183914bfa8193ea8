//! The model: what a project holds, and who may do what to it.

use std::collections::BTreeMap;

use crate::harness::branch_digest;

/// The files of a state, by path.
pub(super) type Files = BTreeMap<String, String>;

/// What somebody may do to a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Right {
    Nothing,
    Read,
    Change,
}

/// Why something is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It cannot be done.
    Impossible = 400,
    /// Who asks may not.
    Forbidden = 403,
    /// What it is about is not there.
    Absent = 404,
    /// The state is not the one that was expected.
    Changed = 412,
}

/// A branch: its files, and the states before each change.
#[derive(Clone, Debug, Default)]
pub(super) struct Branch {
    pub(super) files: Files,
    pub(super) snapshots: Vec<Files>,
}

/// A project's branches, by name; `None` while the project is deleted.
#[derive(Clone, Debug, Default)]
pub(super) struct Project {
    pub(super) branches: Option<BTreeMap<String, Branch>>,
    /// How often it was made.
    pub(super) generation: u32,
}

/// What a batch does with a file.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Create(String, String),
    Update(String, String),
    Delete(String),
    Move(String, String),
}

impl Action {
    /// Where it puts something.
    pub(super) fn brings(&self) -> Option<&str> {
        match self {
            Self::Create(path, _) | Self::Update(path, _) | Self::Move(_, path) => Some(path),
            Self::Delete(_) => None,
        }
    }
}

impl Project {
    /// A branch for somebody with this right, who needs that one.
    pub(super) fn open(&mut self, has: Right, needs: Right) -> Result<&mut Branches, Refusal> {
        let branches = self.branches.as_mut().ok_or(Refusal::Absent)?;
        if has < needs {
            return Err(Refusal::Forbidden);
        }
        Ok(branches)
    }
}

pub(super) type Branches = BTreeMap<String, Branch>;

impl Branch {
    /// The branch digest, 64 digits.
    pub(super) fn digest(&self) -> String {
        let files = self.files.iter();
        let files: Vec<_> = files
            .map(|(path, body)| (path.as_str(), body.as_bytes()))
            .collect();
        branch_digest(&files)
    }

    /// Comes to another state, and says as which version the one before is kept and whether nothing changed.
    pub(super) fn come_to(&mut self, files: Files) -> (String, bool) {
        let unchanged = files == self.files;
        self.snapshots
            .push(std::mem::replace(&mut self.files, files));
        (version(self.snapshots.len()), unchanged)
    }

    /// The state that a version names.
    pub(super) fn state(&self, number: usize) -> Result<&Files, Refusal> {
        let before = number.checked_sub(1).ok_or(Refusal::Absent)?;
        self.snapshots.get(before).ok_or(Refusal::Absent)
    }

    /// All versions, newest first.
    pub(super) fn versions(&self) -> Vec<String> {
        (1..=self.snapshots.len()).rev().map(version).collect()
    }
}

pub(super) fn version(number: usize) -> String {
    format!("v{number:04}")
}

/// True if a file cannot be at the path: one of its folders is a file, or it is a folder.
pub(super) fn is_blocked(files: &Files, path: &str) -> bool {
    let above = path
        .match_indices('/')
        .any(|(slash, _)| files.contains_key(&path[..slash]));
    let below = format!("{path}/");
    above || files.keys().any(|other| other.starts_with(&below))
}

/// True if the path is one of these or lies below it.
fn lies_at(path: &str, at: &str) -> bool {
    path.strip_prefix(at)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What a list of actions makes of files. A folder is deleted and moved with all below it.
pub(super) fn act(files: &Files, actions: &[Action]) -> Result<Files, Refusal> {
    let mut files = files.clone();
    for action in actions {
        match action {
            Action::Create(path, body) | Action::Update(path, body) => {
                let must_exist = matches!(action, Action::Update(..));
                if files.contains_key(path) != must_exist || is_blocked(&files, path) {
                    return Err(Refusal::Impossible);
                }
                files.insert(path.clone(), body.clone());
            }
            Action::Delete(path) => {
                let before = files.len();
                files.retain(|other, _| !lies_at(other, path));
                if files.len() == before {
                    return Err(Refusal::Impossible);
                }
            }
            Action::Move(from, to) => {
                let (moved, stays): (Files, Files) =
                    files.into_iter().partition(|(path, _)| lies_at(path, from));
                if moved.is_empty() || stays.contains_key(to) || is_blocked(&stays, to) {
                    return Err(Refusal::Impossible);
                }
                files = stays;
                for (path, body) in moved {
                    files.insert(path.replacen(from, to, 1), body);
                }
            }
        }
    }
    Ok(files)
}

/// A state whose file or folder at a path is that of another state.
pub(super) fn restored(files: &Files, of: &Files, path: &str) -> Result<Files, Refusal> {
    let is_there = |files: &Files| files.keys().any(|other| lies_at(other, path));
    if !is_there(files) && !is_there(of) {
        return Err(Refusal::Absent);
    }
    let mut restored = files.clone();
    restored.retain(|other, _| !lies_at(other, path));
    for (other, body) in of.iter().filter(|(other, _)| lies_at(other, path)) {
        if is_blocked(&restored, other) {
            return Err(Refusal::Impossible);
        }
        restored.insert(other.clone(), body.clone());
    }
    Ok(restored)
}
