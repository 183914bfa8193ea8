//! The records of the audit log (`objects-layout.md`, "Audit log").

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::record::Operation;
use crate::base::actor::Actor;
use crate::base::clock::Timestamp;
use crate::base::limits::AUDIT_DETAIL_BYTES_MAX;

/// What was done, or refused. Names go with numbers where a later thing may have the same name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// When, by the machine's clock.
    pub at: Timestamp,
    /// The account that did it, or the command line and the system's user.
    pub by: String,
    /// The client's address, where it came over the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<IpAddr>,
    /// What.
    pub action: Action,
    /// The project, by number and identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<(u64, String)>,
    /// Its branch, by number and name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<(u64, String)>,
    /// The path that was saved, deleted or restored, where it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The number of the snapshot that was taken just before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<u64>,
    /// The number of the snapshot that was restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<u64>,
    /// Of how much: the actions of a batch, what a collection removed, old snapshots that came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The account that it was done to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The token, by number and the last digits of its secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<(u64, String)>,
    /// How many sessions it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u64>,
    /// What else is to be known: a role, what of a token changed, why and what was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Refusals before this one that left no record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<u64>,
}

impl AuditRecord {
    /// What this actor did, about nothing in particular.
    pub fn new(at: Timestamp, actor: &Actor, action: Action) -> Self {
        Self {
            at,
            by: actor.full_name(),
            from: actor.address(),
            action,
            project: None,
            branch: None,
            path: None,
            snapshot: None,
            restored: None,
            count: None,
            account: None,
            token: None,
            sessions: None,
            detail: None,
            left_out: None,
        }
    }
}

/// A text for [`AuditRecord::detail`], cut to the length that it may have; `None` for an empty one.
pub fn detail(mut text: String) -> Option<String> {
    text.truncate(text.floor_char_boundary(AUDIT_DETAIL_BYTES_MAX));
    Some(text).filter(|text| !text.is_empty())
}

/// Declares [`Action`] with the names that records and answers have for its variants.
macro_rules! actions {
    ($(#[doc = $doc:literal] $action:ident = $name:literal,)+) => {
        /// What was done, or refused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Action {
            $(#[doc = $doc] #[serde(rename = $name)] $action,)+
        }

        impl Action {
            /// Every action.
            pub const ALL: &[Self] = &[$(Self::$action),+];

            /// The name that records and answers have for it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$action => $name,)+
                }
            }
        }
    };
}

actions! {
    /// Somebody logged in.
    Login = "login",
    /// Somebody logged out.
    Logout = "logout",
    /// Somebody ended one of its own sessions.
    SessionEnded = "session-ended",
    /// A login was refused for its name or its password.
    LoginRefused = "login-refused",
    /// A login was refused because there were too many.
    LoginThrottled = "login-throttled",
    /// A token was refused: unknown, expired, of a disabled account, or of another instance.
    TokenRefused = "token-refused",
    /// Somebody known was refused for want of a right.
    Forbidden = "forbidden",
    /// An account was made.
    AccountCreated = "account-created",
    /// An account was given another name.
    AccountRenamed = "account-renamed",
    /// An account was removed with its sessions and its tokens.
    AccountRemoved = "account-removed",
    /// An account was given another password; its sessions ended.
    PasswordSet = "password-set",
    /// An account was shut; its sessions ended.
    AccountDisabled = "account-disabled",
    /// An account was opened again.
    AccountEnabled = "account-enabled",
    /// An account was given a role.
    RoleAdded = "role-added",
    /// A role was taken from an account.
    RoleRemoved = "role-removed",
    /// A token was made.
    TokenCreated = "token-created",
    /// A token was changed.
    TokenChanged = "token-changed",
    /// A token was given another value.
    TokenRotated = "token-rotated",
    /// A token was revoked.
    TokenRevoked = "token-revoked",
    /// A token was bound to the first instance that used it.
    TokenBound = "token-bound",
    /// A project was made.
    ProjectCreated = "project-created",
    /// A project was given another identifier.
    ProjectRenamed = "project-renamed",
    /// A project was given another owner.
    ProjectTransferred = "project-transferred",
    /// A project was deleted.
    ProjectDeleted = "project-deleted",
    /// A deleted project was restored.
    ProjectRestored = "project-restored",
    /// The time of a deleted project was over.
    ProjectForgotten = "project-forgotten",
    /// A branch was made.
    BranchCreated = "branch-created",
    /// A branch was given another name.
    BranchRenamed = "branch-renamed",
    /// A branch was deleted.
    BranchDeleted = "branch-deleted",
    /// A deleted branch was restored.
    BranchRestored = "branch-restored",
    /// The time of a deleted branch was over.
    BranchForgotten = "branch-forgotten",
    /// A file was saved.
    Save = "save",
    /// A file was deleted.
    Delete = "delete",
    /// Several changes were made at once.
    Batch = "batch",
    /// A snapshot was restored, whole or in part.
    Rollback = "rollback",
    /// A folder was imported.
    Import = "import",
    /// A project was given a rule of which snapshots stay, or its own was taken away.
    ProjectRetention = "project-retention",
    /// A project was given rules for its contents.
    ProjectRules = "project-rules",
    /// Snapshots of a branch were pruned.
    Prune = "prune",
    /// What nothing led to was removed.
    Gc = "gc",
    /// The data folder was given a later format, or the database a later schema.
    Upgrade = "upgrade",
    /// The store took note of its server key, the first or another.
    ServerKeySet = "server-key-set",
    /// The time that the store knew of was put back to a machine's clock: what had expired by it may count again.
    ClockTrusted = "clock-trusted",
}

impl From<Operation> for Action {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::Save => Self::Save,
            Operation::Delete => Self::Delete,
            Operation::Batch => Self::Batch,
            Operation::Rollback => Self::Rollback,
            Operation::Import => Self::Import,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
