//! Entries as they are shown, by the API and by the command line.

use serde::Serialize;

use super::entry::Entry;
use crate::base::snapshot_version::SnapshotVersion;

/// An entry as JSON: what it does not speak of is not there.
#[derive(Clone, Debug, Serialize)]
pub struct Shown<'a> {
    /// Its place in the log.
    pub id: u64,
    /// When, as RFC 3339.
    pub at: String,
    /// Who.
    pub by: &'a str,
    /// The client's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What.
    pub action: &'static str,
    /// The project's identifier then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<&'a str>,
    /// The project's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<u64>,
    /// The branch's name then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<&'a str>,
    /// The path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<&'a str>,
    /// The snapshot that was taken just before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotVersion>,
    /// The snapshot that was restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored: Option<SnapshotVersion>,
    /// Of how much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// To which account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<&'a str>,
    /// The token's id.
    #[serde(rename = "tokenId", skip_serializing_if = "Option::is_none")]
    pub token_id: Option<String>,
    /// The end of the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suffix: Option<&'a str>,
    /// How many sessions it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u64>,
    /// What else is to be known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<&'a str>,
    /// Refusals before this one that left no record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<u64>,
}

impl<'a> Shown<'a> {
    /// Shows an entry.
    pub fn new(entry: &'a Entry) -> Self {
        let record = entry.record.as_ref();
        let (project, branch, token) = (&record.project, &record.branch, &record.token);
        Self {
            id: entry.id,
            at: record.at.to_string(),
            by: &record.by,
            from: record.from.map(|from| from.to_string()),
            action: record.action.name(),
            project: project.as_ref().map(|(_, id)| id.as_str()),
            project_id: project.as_ref().map(|(number, _)| *number),
            branch: branch.as_ref().map(|(_, name)| name.as_str()),
            path: record.path.as_deref(),
            snapshot: record.snapshot.map(SnapshotVersion::new),
            restored: record.restored.map(SnapshotVersion::new),
            count: record.count,
            account: record.account.as_deref(),
            token_id: token.as_ref().map(|(number, _)| number.to_string()),
            suffix: token.as_ref().map(|(_, suffix)| suffix.as_str()),
            sessions: record.sessions,
            detail: record.detail.as_deref(),
            left_out: record.left_out,
        }
    }
}
