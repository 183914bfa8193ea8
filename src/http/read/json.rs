//! GitLab's objects as this service fills them (contract section 5).

use percent_encoding::utf8_percent_encode;
use serde::Serialize;

use super::commit_json::CommitJson;
use crate::base::id::{GitId, Md5};
use crate::http::call::Call;
use crate::http::error::Error;
use crate::http::links::UNRESERVED;
use crate::repo::{Branch, EntryKind, Project, TreeEntry};

/// A branch, with all fields of GitLab's.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "they are GitLab's fields")]
pub(in crate::http) struct BranchJson {
    name: String,
    merged: bool,
    protected: bool,
    default: bool,
    developers_can_push: bool,
    developers_can_merge: bool,
    can_push: bool,
    web_url: String,
    commit: CommitJson,
}

impl BranchJson {
    /// A branch of a list, as it is now; the digest of its head is computed if it is not known.
    pub(in crate::http) fn new(
        call: &Call,
        project: &Project,
        branch: &Branch,
        default: bool,
    ) -> Result<Self, Error> {
        let commit = CommitJson::without_parents(call, project, &branch.last_commit()?)?;
        Ok(Self::with(call, project, branch, default, commit))
    }

    /// A branch that was asked for by its name.
    pub(super) fn alone(
        call: &Call,
        project: &Project,
        branch: &Branch,
        default: bool,
    ) -> Result<Self, Error> {
        let commit = CommitJson::new(call, project, &branch.last_commit()?)?;
        Ok(Self::with(call, project, branch, default, commit))
    }

    fn with(
        call: &Call,
        project: &Project,
        branch: &Branch,
        default: bool,
        commit: CommitJson,
    ) -> Self {
        Self {
            name: branch.name().to_string(),
            merged: false,
            protected: default,
            default,
            developers_can_push: false,
            developers_can_merge: false,
            can_push: false,
            web_url: tree_url(call, project, branch.name().as_str()),
            commit,
        }
    }
}

/// An entry of a tree.
#[derive(Debug, Serialize)]
pub(in crate::http) struct EntryJson<'a> {
    id: GitId,
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    path: &'a str,
    mode: &'static str,
    /// Of files on the Admin API.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// Of files on the Admin API.
    #[serde(skip_serializing_if = "Option::is_none")]
    md5: Option<Md5>,
}

impl<'a> EntryJson<'a> {
    /// An entry as GitLab shows it.
    pub(in crate::http) fn new(entry: &'a TreeEntry) -> Self {
        let (kind, mode) = match entry.kind {
            EntryKind::File { executable, .. } => ("blob", file_mode(executable)),
            EntryKind::Folder => ("tree", "040000"),
        };
        Self {
            id: entry.git_id,
            name: entry.name(),
            kind,
            path: &entry.path,
            mode,
            size: None,
            md5: None,
        }
    }

    /// An entry with what the Admin API tells besides.
    pub(in crate::http) fn with_content(entry: &'a TreeEntry) -> Self {
        let (size, md5) = match entry.kind {
            EntryKind::File { size, md5, .. } => (Some(size), Some(md5)),
            EntryKind::Folder => (None, None),
        };
        Self {
            size,
            md5,
            ..Self::new(entry)
        }
    }
}

/// The mode of a file as git writes it.
pub(in crate::http) const fn file_mode(executable: bool) -> &'static str {
    if executable { "100755" } else { "100644" }
}

/// Where a revision can be looked at.
pub(super) fn tree_url(call: &Call, project: &Project, reference: &str) -> String {
    let project = project_url(call, project);
    let reference = utf8_percent_encode(reference, UNRESERVED);
    format!("{project}/repository/tree?ref={reference}")
}

/// Where a project can be looked at.
pub(super) fn project_url(call: &Call, project: &Project) -> String {
    let mount = call.mount_url();
    let project = utf8_percent_encode(project.repo_id().as_str(), UNRESERVED);
    format!("{mount}/projects/{project}")
}
