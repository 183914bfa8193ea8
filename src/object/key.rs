//! The keys of records (`objects-layout.md`, "Records"). Numbers are eight hexadecimal digits or
//! more, so that keys of up to four thousand million compare as their numbers do.

use crate::base::hex_number::numbered;
use crate::base::id::{COMMIT_DIGITS, ManifestId, Sha256};

/// The counter that gives projects their numbers.
pub const PROJECT_COUNTER: &str = "counter/project";
/// The counter that gives branches their numbers.
pub const BRANCH_COUNTER: &str = "counter/branch";
/// The highest time that was seen.
pub const CLOCK: &str = "clock";
/// What the clock has skipped.
pub const CLOCK_SKIPPED: &str = "clock-skipped";
/// The audit log. A record's key has the version of its write, in 16 digits.
pub const AUDIT: &str = "audit/";
/// Above every pack of records of the audit log.
pub const AUDIT_PACKS: &str = "audit-pack/";
/// Above every project.
pub const PROJECTS: &str = "project/";
/// Above the index of projects by identifier.
pub const PROJECT_IDS: &str = "project-id/";

/// Above every deleted project.
pub const DELETED_PROJECTS: &str = "deleted-project/";
/// Above every deleted branch.
pub const DELETED_BRANCHES: &str = "deleted-branch/";
/// Above the identifiers in an older system of projects that came from there and are forgotten here.
pub const FORGOTTEN_PROJECTS: &str = "forgotten-project/";
/// Above the names there of branches that came from there and are forgotten here.
pub const FORGOTTEN_BRANCHES: &str = "forgotten-branch/";
/// Above every branch, also those of deleted projects.
pub const BRANCHES: &str = "branch/";
/// Above every record that keeps states: what no manifest in one of these leads to is removed by a
/// collection.
pub const STATES: [&str; 3] = [BRANCHES, DELETED_BRANCHES, SNAPSHOTS];
/// Above every snapshot.
pub const SNAPSHOTS: &str = "snapshot/";
/// Above every digest.
pub const DIGESTS: &str = "digest/";
/// Above every commit id.
pub const COMMITS: &str = "commit/";

/// A record of the audit log by its version.
pub fn audit(version: u64) -> String {
    format!("{AUDIT}{version:016x}")
}

/// A pack of records of the audit log by the version of the first.
pub fn audit_pack(first: u64) -> String {
    format!("{AUDIT_PACKS}{first:016x}")
}

/// A project.
pub fn project(project: u64) -> String {
    numbered(PROJECTS, project)
}

/// A project's number by its identifier.
pub fn project_id(repo_id: &str) -> String {
    [PROJECT_IDS, repo_id].concat()
}

/// A deleted project.
pub fn deleted_project(project: u64) -> String {
    numbered(DELETED_PROJECTS, project)
}

/// Says that a project which came from an older system, where it has this identifier, is forgotten.
pub fn forgotten_project(repo_id: &str) -> String {
    [FORGOTTEN_PROJECTS, repo_id].concat()
}

/// Above the names of a project's branches that came from an older system and are forgotten.
pub fn forgotten_branches(project: u64) -> String {
    folder(FORGOTTEN_BRANCHES, project)
}

/// Says that a branch of a project which came from an older system, where it has this name, is forgotten.
pub fn forgotten_branch(project: u64, name: &str) -> String {
    forgotten_branches(project) + name
}

/// Above every branch of a project.
pub fn branches(project: u64) -> String {
    folder(BRANCHES, project)
}

/// A branch.
pub fn branch(project: u64, branch: u64) -> String {
    numbered(&branches(project), branch)
}

/// Above every deleted branch of a project.
pub fn deleted_branches(project: u64) -> String {
    folder(DELETED_BRANCHES, project)
}

/// A deleted branch.
pub fn deleted_branch(project: u64, branch: u64) -> String {
    numbered(&deleted_branches(project), branch)
}

/// Above the index of a project's branches by name.
pub fn branch_names(project: u64) -> String {
    folder("branch-name/", project)
}

/// A branch's number by its name.
pub fn branch_name(project: u64, name: &str) -> String {
    branch_names(project) + name
}

/// Above every snapshot of a branch.
pub fn snapshots(branch: u64) -> String {
    folder(SNAPSHOTS, branch)
}

/// A snapshot.
pub fn snapshot(branch: u64, number: u64) -> String {
    numbered(&snapshots(branch), number)
}

/// The digest of a manifest.
pub fn digest(manifest: ManifestId) -> String {
    format!("{DIGESTS}{manifest}")
}

/// Above the index of a project's states by commit id.
pub fn commits(project: u64) -> String {
    folder(COMMITS, project)
}

/// A state by its commit id and the branch that has or had it.
pub fn commit(project: u64, digest: Sha256, branch: u64) -> String {
    let id = digest.to_string();
    format!("{}{}/{branch:08x}", commits(project), &id[..COMMIT_DIGITS])
}

fn folder(prefix: &str, number: u64) -> String {
    let mut folder = numbered(prefix, number);
    folder.push('/');
    folder
}
