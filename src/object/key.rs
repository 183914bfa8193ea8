//! The keys of records (`objects-layout.md`, "Records"). Numbers are eight hexadecimal digits or
//! more, so that keys of up to four thousand million compare as their numbers do.

use crate::base::id::{ManifestId, Sha256};

/// Digits of a commit id: the first of the branch digest.
pub const COMMIT_DIGITS: usize = 40;

/// The counter that gives projects their numbers.
pub const PROJECT_COUNTER: &str = "counter/project";
/// The counter that gives branches their numbers.
pub const BRANCH_COUNTER: &str = "counter/branch";
/// Above every project.
pub const PROJECTS: &str = "project/";
/// Above the index of projects by identifier.
pub const PROJECT_IDS: &str = "project-id/";

/// A project.
pub fn project(project: u64) -> String {
    format!("{PROJECTS}{project:08x}")
}

/// A project's number by its identifier.
pub fn project_id(repo_id: &str) -> String {
    format!("{PROJECT_IDS}{repo_id}")
}

/// Above every branch of a project.
pub fn branches(project: u64) -> String {
    format!("branch/{project:08x}/")
}

/// A branch.
pub fn branch(project: u64, branch: u64) -> String {
    format!("{}{branch:08x}", branches(project))
}

/// Above the index of a project's branches by name.
pub fn branch_names(project: u64) -> String {
    format!("branch-name/{project:08x}/")
}

/// A branch's number by its name.
pub fn branch_name(project: u64, name: &str) -> String {
    format!("{}{name}", branch_names(project))
}

/// Above every snapshot of a branch.
pub fn snapshots(branch: u64) -> String {
    format!("snapshot/{branch:08x}/")
}

/// A snapshot.
pub fn snapshot(branch: u64, number: u64) -> String {
    format!("{}{number:08x}", snapshots(branch))
}

/// The digest of a manifest.
pub fn digest(manifest: ManifestId) -> String {
    format!("digest/{manifest}")
}

/// Above the index of a project's states by commit id.
pub fn commits(project: u64) -> String {
    format!("commit/{project:08x}/")
}

/// A state by its commit id and the branch that has or had it.
pub fn commit(project: u64, digest: Sha256, branch: u64) -> String {
    let id = digest.to_string();
    format!("{}{}/{branch:08x}", commits(project), &id[..COMMIT_DIGITS])
}
