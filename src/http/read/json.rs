//! GitLab's objects as this service fills them (contract section 5).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use crate::base::id::{GitId, Md5};
use crate::http::call::Call;
use crate::http::error::Error;
use crate::repo::{Branch, EntryKind, Project, TreeEntry};

/// What a segment of a path and a value of a query hold unescaped.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

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

/// The state of a branch as a commit.
#[derive(Debug, Serialize)]
struct CommitJson {
    id: String,
    short_id: String,
    created_at: String,
    parent_ids: [String; 0],
    title: String,
    message: String,
    author_name: String,
    author_email: &'static str,
    authored_date: String,
    committer_name: String,
    committer_email: &'static str,
    committed_date: String,
    trailers: Empty,
    extended_trailers: Empty,
    web_url: String,
}

/// `{}`
#[derive(Debug, Serialize)]
struct Empty {}

impl BranchJson {
    /// A branch as it is now; the digest of its head is computed if it is not known.
    pub(in crate::http) fn new(
        call: &Call,
        project: &Project,
        branch: &Branch,
        default: bool,
    ) -> Result<Self, Error> {
        Ok(Self {
            name: branch.name().to_string(),
            merged: false,
            protected: default,
            default,
            developers_can_push: false,
            developers_can_merge: false,
            can_push: false,
            web_url: tree_url(call, project, branch.name().as_str()),
            commit: CommitJson::of_head(call, project, branch)?,
        })
    }
}

impl CommitJson {
    /// The head of a branch.
    fn of_head(call: &Call, project: &Project, branch: &Branch) -> Result<Self, Error> {
        let digest = branch.head().digest()?;
        let at = branch.updated_at().to_string();
        let by = branch.updated_by();
        let verb = if branch.snapshots() == 0 {
            "Created"
        } else {
            "Changed"
        };
        let title = format!("{verb} by {by}");
        Ok(Self {
            id: digest.commit_id().to_owned(),
            short_id: digest.short_id().to_owned(),
            created_at: at.clone(),
            parent_ids: [],
            message: title.clone(),
            title,
            author_name: by.to_owned(),
            author_email: "",
            authored_date: at.clone(),
            committer_name: by.to_owned(),
            committer_email: "",
            committed_date: at,
            trailers: Empty {},
            extended_trailers: Empty {},
            web_url: tree_url(call, project, digest.commit_id()),
        })
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
    pub(super) fn new(entry: &'a TreeEntry) -> Self {
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
fn tree_url(call: &Call, project: &Project, reference: &str) -> String {
    let base = call.base_url();
    let project = utf8_percent_encode(project.repo_id().as_str(), UNRESERVED);
    let reference = utf8_percent_encode(reference, UNRESERVED);
    format!("{base}/site-builder/api/erp-config/projects/{project}/repository/tree?ref={reference}")
}
