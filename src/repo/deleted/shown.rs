//! What was deleted as it is shown, by the API and by the command line.

use serde::Serialize;

use super::Deleted;

/// A deleted project or branch as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct ShownDeleted {
    /// What it is: `project` or `branch`.
    pub kind: &'static str,
    /// Its id, which a restore takes.
    pub id: String,
    /// The identifier of the project, or of the one that the branch is of.
    pub repo_id: String,
    /// The name of the branch, `None` for a project.
    pub branch: Option<String>,
    /// The name of the owner, `None` where no account has the owner's number.
    pub owner: Option<String>,
    /// When it was deleted, as RFC 3339.
    pub deleted_at: String,
    /// Who deleted it.
    pub deleted_by: String,
    /// Until when it can be restored.
    pub kept_until: String,
}

impl ShownDeleted {
    /// Shows what the account of this name owns, where what is deleted is kept for so many days.
    pub fn new(deleted: &Deleted, owner: Option<String>, keep_days: u64) -> Self {
        Self {
            kind: deleted.kind(),
            id: deleted.id().to_string(),
            repo_id: deleted.repo_id().to_string(),
            branch: deleted.branch_name().map(ToString::to_string),
            owner,
            deleted_at: deleted.deleted_at().to_string(),
            deleted_by: deleted.deleted_by().to_owned(),
            kept_until: deleted.kept_until(keep_days).to_string(),
        }
    }
}
